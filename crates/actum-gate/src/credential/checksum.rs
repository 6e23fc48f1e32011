//! Verifies the checksums of token formats, which distinguish a real token from similar text.

/// Digits of base 62 in the order that GitHub uses.
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BECH32: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Number of characters at the end of a token that encode its CRC-32.
const CRC32_CHARACTERS: usize = 6;

/// Returns true if the last six characters are the CRC-32 of the preceding characters in base 62. GitHub tokens have had
/// this format since 2021.
pub(super) fn crc32_holds(text: &[u8]) -> bool {
    let Some((random, checksum)) = text.split_last_chunk::<CRC32_CHARACTERS>() else {
        return false;
    };
    let mut rest = crc32(random);
    checksum.iter().rev().all(|&character| {
        let digit = usize::try_from(rest % 62).ok().and_then(|at| BASE62.get(at));
        rest /= 62;
        digit == Some(&character)
    })
}

/// Computes the CRC-32 of ISO 3309, with the least significant bit first. It uses no table, because tokens are short.
fn crc32(bytes: &[u8]) -> u32 {
    let remainder = bytes.iter().fold(u32::MAX, |remainder, &byte| {
        (0..8).fold(remainder ^ u32::from(byte), |remainder, _| {
            (remainder >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(remainder & 1))
        })
    });
    !remainder
}

/// Returns true if `data` has a valid Bech32 checksum (BIP 173) for the human-readable part `prefix`, which must be
/// lowercase. `data` may be in either case.
pub(super) fn bech32_holds(prefix: &[u8], data: &[u8]) -> bool {
    let data = data.iter().map(|byte| {
        let lower = byte.to_ascii_lowercase();
        BECH32.iter().zip(0_u32..).find_map(|(&known, value)| (known == lower).then_some(value))
    });
    let Some(data) = data.collect::<Option<Vec<u32>>>() else { return false };
    let high = prefix.iter().map(|&byte| u32::from(byte) >> 5);
    let low = prefix.iter().map(|&byte| u32::from(byte) & 31);
    high.chain([0]).chain(low).chain(data).fold(1, bech32_step) == 1
}

fn bech32_step(state: u32, value: u32) -> u32 {
    let generators = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let shifted = ((state & 0x01ff_ffff) << 5) ^ value;
    generators
        .iter()
        .zip(25..)
        .fold(shifted, |state_now, (generator, bit)| state_now ^ (generator * ((state >> bit) & 1)))
}

#[cfg(test)]
pub(super) fn with_crc32(random: &str) -> String {
    let mut rest = crc32(random.as_bytes());
    let mut checksum = [0; CRC32_CHARACTERS];
    for character in checksum.iter_mut().rev() {
        *character = BASE62[usize::try_from(rest % 62).unwrap()];
        rest /= 62;
    }
    format!("{random}{}", str::from_utf8(&checksum).unwrap())
}

#[cfg(test)]
pub(super) fn with_bech32(prefix: &str, data: &str) -> String {
    // The checksum is chosen so that replacing the six final zeroes with it gives the result 1.
    let values = |text: &str| -> Vec<u32> {
        let value = |byte| BECH32.iter().position(|&known| known == byte).unwrap();
        text.bytes().map(|byte| u32::try_from(value(byte)).unwrap()).collect()
    };
    let high = prefix.bytes().map(|byte| u32::from(byte) >> 5);
    let low = prefix.bytes().map(|byte| u32::from(byte) & 31);
    let all = high.chain([0]).chain(low).chain(values(data)).chain([0; 6]);
    let state = all.fold(1, bech32_step) ^ 1;
    let checksum = (0..6).map(|at| ((state >> (5 * (5 - at))) & 31) as usize);
    let checksum: String = checksum.map(|at| char::from(BECH32[at])).collect();
    format!("{data}{checksum}").to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-20: uses the check value of the CRC catalogue, and a token that was published to explain the format. The token
    /// expired in 2021.
    #[test]
    fn crc32_matches_published_values() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert!(crc32_holds(concat!("zQWBuTSOoRi4A9spHc", "VY5ncnsDkxkJ", "0mLq17").as_bytes()));
        assert!(!crc32_holds(concat!("zQWBuTSOoRi4A9spHc", "VY5ncnsDkxkj", "0mLq17").as_bytes()));
        assert!(!crc32_holds(b"short"));
    }

    /// EX-20: uses the test vectors of BIP 173.
    #[test]
    fn bech32_matches_the_bip_173_test_vectors() {
        assert!(bech32_holds(b"a", b"2UEL5L"));
        assert!(bech32_holds(b"abcdef", b"qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"));
        assert!(!bech32_holds(b"abcdef", b"qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxq"));
        assert!(!bech32_holds(b"a", b"2UEL5B"));
        assert_eq!(with_bech32("abcdef", "qpzry9x8gf2tvdw0s3jn54khce6mua7l").len(), 38);
        let made = with_bech32("abcdef", "qpzry9x8gf2tvdw0s3jn54khce6mua7l");
        assert!(made.ends_with("MQQQXW"), "{made}");
    }
}
