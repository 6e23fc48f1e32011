//! Writes binary hunks as git does, for any content and with any announced size.

/// Base-85 digits in the order of their values.
const LETTERS: &[u8] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// Writes a hunk with the complete content.
pub(crate) fn literal(content: &[u8]) -> String {
    hunk("literal", content.len(), &packed(content))
}

/// Writes a delta hunk.
pub(crate) fn delta(instructions: &[u8]) -> String {
    hunk("delta", instructions.len(), &packed(instructions))
}

pub(crate) fn packed(content: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(content, 6)
}

/// Writes a hunk that announces `size` and contains `packed`, followed by its blank line.
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
