//! File modes: permission bits, or the marker for a symbolic link. Documents contain four octal digits, or `120000`.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::path::Cut;

/// Maximum number of bytes of an invalid mode that an error message quotes.
const SHOWN_BYTES_MAX: usize = 20;

/// Permission bits of a file or directory, which are the lower twelve bits of `st_mode` (inode(7)).
///
/// The permission bits of a symbolic link have no effect (symlink(7)), so its mode is always [`FileMode::LINK`], as in
/// git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileMode(u32);

impl FileMode {
    /// Mode `rw-r--r--` of a regular file.
    pub const REGULAR: Self = Self(0o644);
    /// Mode `rwxr-xr-x` of an executable file.
    pub const EXECUTABLE: Self = Self(0o755);

    /// Mode `rw-------` of a file that only its owner can access.
    pub const PRIVATE: Self = Self(0o600);
    /// Mode `rwx------` of a directory that only its owner can access.
    pub const PRIVATE_DIRECTORY: Self = Self(0o700);

    /// Mode of a symbolic link (`S_IFLNK`). The content of a link is its target.
    pub const LINK: Self = Self(0o120_000);

    /// Creates a mode from the permission bits of `mode`, ignoring the file type.
    pub fn new(mode: u32) -> Self {
        Self(mode & 0o7777)
    }

    /// Creates a mode from the value returned by [`bits`](Self::bits).
    pub fn from_bits(bits: u32) -> Self {
        if bits == Self::LINK.0 { Self::LINK } else { Self::new(bits) }
    }

    /// Returns whether this is the mode of a symbolic link.
    pub fn is_link(self) -> bool {
        self == Self::LINK
    }

    /// Returns the permission bits, which are at most `0o7777`, or `0o120000` for a symbolic link.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Returns whether the set-group-ID bit is set (inode(7)).
    pub fn is_set_group_id(self) -> bool {
        self.0 & 0o2000 != 0
    }

    /// Returns whether this mode grants a permission that `other` does not grant.
    pub fn permits_more_than(self, other: Self) -> bool {
        self.0 & !other.0 & 0o777 != 0
    }

    /// Returns whether the file can be written by users other than its owner and group.
    pub fn is_world_writable(self) -> bool {
        self.0 & 0o002 != 0
    }

    /// Returns this mode with the executable bit set wherever the read bit is set, or cleared everywhere.
    ///
    /// Git applies the file modes `100755` and `100644` in the same way.
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
                    "`{given}` is not a file mode: expected four octal digits, or 120000 for a symbolic link"
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
