//! The mode of a file: its permission bits, or the mark of a symbolic link. Documents have four octal digits, or `120000`.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::path::Cut;

/// Bytes of an invalid mode that an error shows at most.
const SHOWN_BYTES_MAX: usize = 20;

/// The permission bits of a file or directory: the lower twelve bits of `st_mode` (inode(7)). Those of a symbolic link have no
/// effect (symlink(7)); its mode is [`FileMode::LINK`], as in git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileMode(u32);

impl FileMode {
    /// `rw-r--r--`.
    pub const REGULAR: Self = Self(0o644);
    /// `rwxr-xr-x`.
    pub const EXECUTABLE: Self = Self(0o755);

    /// `rw-------`.
    pub const PRIVATE: Self = Self(0o600);
    /// `rwx------`.
    pub const PRIVATE_DIRECTORY: Self = Self(0o700);

    /// A symbolic link, whose content is its target (`S_IFLNK`).
    pub const LINK: Self = Self(0o120_000);

    /// Keeps the permission bits of `mode` and drops the file type.
    pub fn new(mode: u32) -> Self {
        Self(mode & 0o7777)
    }

    /// A mode from its [`bits`](Self::bits).
    pub fn from_bits(bits: u32) -> Self {
        if bits == Self::LINK.0 { Self::LINK } else { Self::new(bits) }
    }

    /// Returns true for the mode of a symbolic link.
    pub fn is_link(self) -> bool {
        self == Self::LINK
    }

    /// The bits, at most `0o7777`; `0o120000` for a symbolic link.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Returns true if the set-group-ID bit is set (inode(7)).
    pub fn is_set_group_id(self) -> bool {
        self.0 & 0o2000 != 0
    }

    /// Tests if a permission bit is set here and not in `other`.
    pub fn permits_more_than(self, other: Self) -> bool {
        self.0 & !other.0 & 0o777 != 0
    }

    /// Returns true if users other than owner and group may write.
    pub fn is_world_writable(self) -> bool {
        self.0 & 0o002 != 0
    }

    /// This mode with the executable bit set wherever the read bit is, or cleared everywhere:
    /// how git applies the `100755` and `100644` it knows.
    #[must_use]
    pub fn with_executable(self, executable: bool) -> Self {
        if executable { Self(self.0 | ((self.0 & 0o444) >> 2)) } else { Self(self.0 & !0o111) }
    }
}

impl fmt::Display for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04o}", self.bits())
    }
}

impl Serialize for FileMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FileMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_octal = text.bytes().all(|b| matches!(b, b'0'..=b'7'));
        match u32::from_str_radix(&text, 8) {
            Ok(bits) if is_octal && text.len() == 4 => Ok(Self::new(bits)),
            Ok(bits) if is_octal && text.len() == 6 && bits == Self::LINK.0 => Ok(Self::LINK),
            Ok(_) | Err(_) => {
                let given = Cut(text.as_bytes(), SHOWN_BYTES_MAX);
                let problem = format_args!(
                    "`{given}` is no mode: expected four octal digits, or 120000 for a link"
                );
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
    fn a_mode_is_four_octal_digits_or_120000() {
        assert_eq!(serde_json::to_string(&FileMode::LINK).unwrap(), "\"120000\"");
        assert_eq!(serde_json::from_str::<FileMode>("\"120000\"").unwrap(), FileMode::LINK);
        for (mode, json) in [(0, "\"0000\""), (0o644, "\"0644\""), (0o7777, "\"7777\"")] {
            assert_eq!(serde_json::to_string(&FileMode::new(mode)).unwrap(), json);
            assert_eq!(serde_json::from_str::<FileMode>(json).unwrap(), FileMode::new(mode));
        }
        for json in [
            "\"\"",
            "\"644\"",
            "\"00644\"",
            "\"+644\"",
            "\"0648\"",
            "\"10000\"",
            "\"120777\"",
            "420",
        ] {
            assert!(serde_json::from_str::<FileMode>(json).is_err(), "{json}");
        }
    }
}
