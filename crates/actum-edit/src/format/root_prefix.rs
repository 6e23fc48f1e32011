//! Support for absolute paths in an input, which some agents write instead of relative ones.

/// Root directory of a workspace, which allows an input to name files below it by absolute paths. Paths are compared byte for
/// byte, without resolving symbolic links or `..`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RootPrefix {
    /// Absolute path without a final `/`, or `None` if absolute paths are rejected.
    root: Option<Vec<u8>>,
}

impl RootPrefix {
    /// Accepts no absolute paths.
    pub const NONE: &'static Self = &Self { root: None };

    /// Accepts absolute paths below `root`. If `root` itself is not absolute, no absolute paths are accepted.
    pub fn new(root: &[u8]) -> Self {
        let root = root.starts_with(b"/").then(|| root.strip_suffix(b"/").unwrap_or(root));
        Self { root: root.map(<[u8]>::to_vec) }
    }

    /// Strips the root from an absolute path below it, and returns any other path unchanged. The result is not validated;
    /// [`RelPath::new`](actum_core::RelPath::new) does that.
    pub fn relative<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        let below = |root: &Vec<u8>| path.strip_prefix(root.as_slice())?.strip_prefix(b"/");
        match self.root.as_ref().and_then(below) {
            Some(below) if !below.is_empty() => below,
            Some(_) | None => path,
        }
    }

    /// Strips the root from a path that is a string, like [`relative`](Self::relative).
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
    fn root_prefix_is_removed_by_comparing_bytes_only() {
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
