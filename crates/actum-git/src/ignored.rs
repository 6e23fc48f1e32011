//! Determines which directories git ignores (gitignore(5)), without running git.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Name of the files that contain ignore patterns.
const FILE: &str = ".gitignore";

/// Ignore patterns of a work tree. The user's own patterns (`core.excludesFile`) are not considered.
pub struct IgnoredDirectories<R> {
    /// Reads a file below the root. Returns `None` if the file is missing or unreadable.
    read: R,
    /// Patterns of each directory that was already checked.
    patterns: HashMap<Vec<u8>, Gitignore>,
}

impl<R: Fn(&[u8]) -> Option<Vec<u8>>> IgnoredDirectories<R> {
    /// Creates an empty cache of patterns. Pattern files are read with `read`, which receives paths relative to the
    /// root.
    pub fn new(read: R) -> Self {
        Self { read, patterns: HashMap::new() }
    }

    /// Returns true if git ignores `directory`. The caller must have checked that none of its parents is ignored.
    pub fn has(&mut self, directory: &[u8]) -> bool {
        let mut end = directory.len();
        // Patterns in nearer directories take precedence.
        loop {
            end = directory
                .get(..end)
                .unwrap_or_default()
                .iter()
                .rposition(|it| *it == b'/')
                .unwrap_or(0);
            let above = directory.get(..end).unwrap_or_default();
            let below = directory.get(end..).unwrap_or_default();
            let below = below.strip_prefix(b"/").unwrap_or(below);
            match self.patterns_of(above).matched(Path::new(OsStr::from_bytes(below)), true) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None if above.is_empty() => return false,
                Match::None => {}
            }
        }
    }

    fn patterns_of(&mut self, directory: &[u8]) -> &Gitignore {
        let Self { read, patterns } = self;
        patterns.entry(directory.to_vec()).or_insert_with(|| {
            let mut builder = GitignoreBuilder::new("");
            let mut add = |file: &[u8]| {
                let text = read(file).unwrap_or_default();
                for line in String::from_utf8_lossy(&text).lines() {
                    drop(builder.add_line(None, line)); // git also ignores invalid patterns
                }
            };
            if directory.is_empty() {
                add(b".git/info/exclude");
                add(FILE.as_bytes());
            } else {
                add(&[directory, b"/", FILE.as_bytes()].concat());
            }
            builder.build().unwrap_or_else(|_| Gitignore::empty())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 27: the nearest matching pattern decides whether a directory is ignored.
    #[test]
    fn nearest_pattern_decides_whether_a_directory_is_ignored() {
        let files = |path: &[u8]| {
            let text = match path {
                b".git/info/exclude" => "private/\n",
                b".gitignore" => "# built\ntarget/\n/dist\n*.cache\n[bad\nkeep.cache/\n",
                b"app/.gitignore" => "!keep.cache\n/out\n",
                _ => return None,
            };
            Some(text.as_bytes().to_vec())
        };
        let mut ignored = IgnoredDirectories::new(files);
        for directory in ["target", "a/b/target", "dist", "private", "x.cache", "app/out"] {
            assert!(ignored.has(directory.as_bytes()), "{directory}");
        }
        for directory in ["app", "a/dist", "app/keep.cache", "out", "app/src/out"] {
            assert!(!ignored.has(directory.as_bytes()), "{directory}");
        }
    }
}
