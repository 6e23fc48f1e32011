//! Writes binary hunks as git does, of any content and with any size announced.

/// The letters of base 85 by their value.
const LETTERS: &[u8] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// A whole content.
pub(crate) fn literal(content: &[u8]) -> String {
    hunk("literal", content.len(), &packed(content))
}

/// A delta.
pub(crate) fn delta(instructions: &[u8]) -> String {
    hunk("delta", instructions.len(), &packed(instructions))
}

pub(crate) fn packed(content: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(content, 6)
}

/// A hunk that announces `size` and holds `packed`, with its blank line.
pub(crate) fn hunk(form: &str, size: usize, packed: &[u8]) -> String {
    let mut text = format!("{form} {size}\n");
    for line in packed.chunks(52) {
        let length = u8::try_from(line.len()).unwrap();
        text.push(char::from(if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 }));
        for group in line.chunks(4) {
            let mut bytes = [0; 4];
            bytes[..group.len()].copy_from_slice(group);
            let word = u32::from_be_bytes(bytes);
            let letter = |power| LETTERS[usize::try_from(word / 85u32.pow(power) % 85).unwrap()];
            text.extend([4, 3, 2, 1, 0].map(|power| char::from(letter(power))));
        }
        text.push('\n');
    }
    text + "\n"
}
