//! Permission bits in documents: four octal digits.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::FileMode;
use crate::path::Cut;

/// How much of what is no mode an error shows.
const SHOWN_BYTES_MAX: usize = 20;

impl Serialize for FileMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:04o}", self.bits()))
    }
}

impl<'de> Deserialize<'de> for FileMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_sound = text.len() == 4 && text.bytes().all(|b| matches!(b, b'0'..=b'7'));
        match u32::from_str_radix(&text, 8) {
            Ok(bits) if is_sound => Ok(Self::new(bits)),
            Ok(_) | Err(_) => {
                let given = Cut(text.as_bytes(), SHOWN_BYTES_MAX);
                let problem = format_args!("`{given}` is no mode: expected four octal digits");
                Err(D::Error::custom(problem))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-4
    #[test]
    fn a_mode_is_four_octal_digits_and_nothing_else() {
        for (mode, json) in [(0, "\"0000\""), (0o644, "\"0644\""), (0o7777, "\"7777\"")] {
            assert_eq!(serde_json::to_string(&FileMode::new(mode)).unwrap(), json);
            assert_eq!(serde_json::from_str::<FileMode>(json).unwrap(), FileMode::new(mode));
        }
        for json in ["\"\"", "\"644\"", "\"00644\"", "\"+644\"", "\"0648\"", "\"10000\"", "420"] {
            assert!(serde_json::from_str::<FileMode>(json).is_err(), "{json}");
        }
    }
}
