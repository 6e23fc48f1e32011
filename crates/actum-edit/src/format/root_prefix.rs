//! Absolute paths in an input, as agents write them.

/// Absolute path of the root of a workspace, below which an input may name its files by absolute paths too. The
/// comparison is one of bytes, so a path through a symbolic link or `..` is not below the root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RootPrefix {
    /// Without a final `/`; `None` where absolute paths are refused.
    root: Option<Vec<u8>>,
}

impl RootPrefix {
    /// No root: each absolute path is refused.
    pub const NONE: &'static Self = &Self { root: None };

    /// Takes the absolute path of a root. Any other path accepts no absolute path.
    pub fn new(root: &[u8]) -> Self {
        let root = root.starts_with(b"/").then(|| root.strip_suffix(b"/").unwrap_or(root));
        Self { root: root.map(<[u8]>::to_vec) }
    }

    /// The part of `path` below the root, if it lies there, or else all of `path`. What remains is still to be checked
    /// ([`RelPath::new`](actum_core::RelPath::new)).
    pub fn relative<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        let below = |root: &Vec<u8>| path.strip_prefix(root.as_slice())?.strip_prefix(b"/");
        match self.root.as_ref().and_then(below) {
            Some(below) if !below.is_empty() => below,
            Some(_) | None => path,
        }
    }

    /// [`relative`](Self::relative) for text.
    pub fn relative_text<'p>(&self, path: &'p str) -> &'p str {
        let below = self.relative(path.as_bytes()).len();
        path.get(path.len().saturating_sub(below)..).unwrap_or(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FO-7
    #[test]
    fn a_path_is_below_the_root_by_its_bytes_alone() {
        let relative = |root: &str, path: &str| {
            let relative = RootPrefix::new(root.as_bytes()).relative(path.as_bytes()).to_vec();
            String::from_utf8(relative).unwrap()
        };
        for root in ["/w/r", "/w/r/"] {
            assert_eq!(relative(root, "/w/r/src/a.rs"), "src/a.rs");
            for path in ["/w/r", "/w/r/", "/w/root/a", "/w/a", "src/a.rs", "w/r/a", ""] {
                assert_eq!(relative(root, path), path);
            }
        }
        assert_eq!(relative("/", "/a"), "a");
        for root in ["", "w/r"] {
            assert_eq!(relative(root, "/w/r/a"), "/w/r/a");
        }
    }
}
