//! Absolute paths in a task manifest, which are checked and normalised once.

use std::fmt;

use actum_core::path::{Cut, NAME_BYTES_MAX, PATH_BYTES_MAX};

/// Absolute, normalised path of a regular file (FE-3). It is valid UTF-8, and has no `.`, `..` or empty components and no control
/// characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FilePath(String);

/// Reason why a path in a task manifest is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FilePathProblem {
    /// The path does not start with `/`.
    #[error("it is not absolute")]
    Relative,
    /// The path contains a `..` component.
    #[error("it contains `..`")]
    Parent,
    /// The path ends with `/` or `/.`, or is the root.
    #[error("it names a directory")]
    Directory,
    /// The path contains a NUL byte.
    #[error("it contains a NUL byte")]
    Nul,
    /// The path contains another control character.
    #[error("it contains a control character")]
    Control,
    /// The path or one of its components is longer than the kernel accepts.
    #[error(
        "it is longer than the file system allows ({NAME_BYTES_MAX} bytes per name, {PATH_BYTES_MAX} in total)"
    )]
    TooLong,
}

/// Error for a rejected path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the path `{}` cannot be used: {problem}", Cut(given.as_bytes(), 200))]
pub struct FilePathError {
    /// Path from the manifest.
    pub given: String,
    /// Reason why the path is rejected.
    pub problem: FilePathProblem,
}

impl FilePath {
    /// Checks a path, and removes `.` components and repeated slashes.
    ///
    /// # Errors
    /// Returns [`FilePathError`] with the first problem that is found.
    pub fn new(given: &str) -> Result<Self, FilePathError> {
        normalize(given)
            .map(Self)
            .map_err(|problem| FilePathError { given: given.to_owned(), problem })
    }

    /// Returns the path as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Iterates over the components of the path, starting after the root.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').skip(1)
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Cut(self.0.as_bytes(), PATH_BYTES_MAX).fmt(f)
    }
}

fn normalize(given: &str) -> Result<String, FilePathProblem> {
    if !given.starts_with('/') {
        return Err(FilePathProblem::Relative);
    }
    if given.contains('\0') {
        return Err(FilePathProblem::Nul);
    }
    if given.contains(char::is_control) {
        return Err(FilePathProblem::Control);
    }
    if given.split('/').any(|name| name == "..") {
        return Err(FilePathProblem::Parent);
    }
    if given.ends_with('/') || given.ends_with("/.") {
        return Err(FilePathProblem::Directory);
    }
    let names: Vec<&str> = given.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let path = format!("/{}", names.join("/"));
    let is_long = |name: &&str| name.len() > NAME_BYTES_MAX;
    if path.len() > PATH_BYTES_MAX || names.iter().any(is_long) {
        return Err(FilePathProblem::TooLong);
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(given: &str) -> Option<FilePathProblem> {
        FilePath::new(given).err().map(|error| error.problem)
    }

    /// FE-3
    #[test]
    fn dots_and_doubled_slashes_are_normalised() {
        for given in ["/a/b", "//a/b", "/a//b", "/./a/./b", "///a/.//b", "/a/b"] {
            assert_eq!(FilePath::new(given).unwrap().as_str(), "/a/b", "{given}");
        }
        assert_eq!(FilePath::new("/a/...").unwrap().as_str(), "/a/...");
    }

    /// FE-3, FE-7
    #[test]
    fn relative_unsafe_or_overlong_path_is_rejected() {
        use FilePathProblem::{Control, Directory, Nul, Parent, Relative, TooLong};
        for (given, expected) in [
            ("", Relative),
            ("a", Relative),
            ("./a", Relative),
            ("~/a", Relative),
            ("/..", Parent),
            ("/a/../b", Parent),
            ("/a/b/..", Parent),
            ("/../a", Parent),
            ("/", Directory),
            ("//", Directory),
            ("/.", Directory),
            ("/a/", Directory),
            ("/a/.", Directory),
            ("/a\0b", Nul),
            ("/a\nb", Control),
            ("/a\x1b[2J", Control),
            ("/a\u{85}b", Control),
        ] {
            assert_eq!(problem(given), Some(expected), "{given:?}");
        }
        assert_eq!(problem(&format!("/{}", "n".repeat(NAME_BYTES_MAX))), None);
        assert_eq!(problem(&format!("/{}", "n".repeat(NAME_BYTES_MAX + 1))), Some(TooLong));
        let long = "/nnnn".repeat(PATH_BYTES_MAX / 5);
        assert_eq!((long.len(), problem(&long)), (PATH_BYTES_MAX, None));
        assert_eq!(problem(&format!("{long}n")), Some(TooLong));
    }

    /// FE-3
    #[test]
    fn error_message_escapes_the_path() {
        let error = FilePath::new("/a\x1b[2J").unwrap_err();
        assert!(!error.to_string().contains('\x1b'), "{error}");
    }
}
