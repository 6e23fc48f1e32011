//! Base directories, the static list of directories in which file tasks may change files (FE-6).

use std::collections::BTreeSet;

use actum_core::RelPath;
use actum_core::path::{Cut, PathError};
use actum_record::lease::{BaseDirectory, LeaseTermError};

use crate::path::FilePath;

/// Maximum number of base directories in a policy.
pub const BASE_DIRECTORIES_MAX: usize = 64;

/// Base directories from the policy of an operator. Each of them is the root of a separate workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseDirectories(BTreeSet<BaseDirectory>);

/// Location of a file: its base directory, and its path relative to this directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Base directory that contains the file.
    pub base: BaseDirectory,
    /// Path relative to the base directory.
    pub path: RelPath,
}

/// Reason why a list of base directories is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseDirectoriesError {
    /// A path is not a valid base directory.
    #[error(transparent)]
    Path(#[from] LeaseTermError),
    /// A path is a state directory of actum or git, or is inside one.
    #[error(transparent)]
    State(#[from] PathError),
    /// The root of the file system is listed.
    #[error("`/` cannot be a base directory because every path would be below it")]
    Root,
    /// The list has more than [`BASE_DIRECTORIES_MAX`] directories.
    #[error("{count} base directories are listed, but at most {BASE_DIRECTORIES_MAX} are allowed")]
    TooMany {
        /// Number of listed directories.
        count: usize,
    },
}

/// Reason why a file task cannot use a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// The path is not below any base directory.
    #[error("`{}` is not below any base directory in the operator's policy", Cut(path.as_str().as_bytes(), 200))]
    Outside {
        /// Absolute path from the manifest.
        path: FilePath,
    },
    /// The path is part of the state of actum or git, which must not be changed.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Error from opening the engine of a base directory, with only its message.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct OpenError {
    /// Message of the original error.
    pub message: String,
}

impl From<actum::Error> for OpenError {
    fn from(error: actum::Error) -> Self {
        Self { message: error.to_string() }
    }
}

impl BaseDirectories {
    /// Parses the list of base directories from a policy.
    ///
    /// # Errors
    /// Returns [`BaseDirectoriesError`] if a directory is not allowed or the list is too long.
    pub fn new<'t>(
        listed: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self, BaseDirectoriesError> {
        let mut directories = BTreeSet::new();
        for text in listed {
            let directory: BaseDirectory = text.parse()?;
            if directory.names().next().is_none() {
                return Err(BaseDirectoriesError::Root);
            }
            // A lease can only be checked for paths that are valid in a workspace.
            RelPath::new(directory.as_str().trim_matches('/'))?;
            directories.insert(directory);
        }
        match directories.len() {
            count if count > BASE_DIRECTORIES_MAX => Err(BaseDirectoriesError::TooMany { count }),
            _ => Ok(Self(directories)),
        }
    }

    /// Iterates over the directories, ordered by path.
    pub fn iter(&self) -> impl Iterator<Item = &BaseDirectory> {
        self.0.iter()
    }

    /// Finds the deepest base directory that contains a path. Paths are compared by whole components.
    ///
    /// # Errors
    /// Returns [`LocateError`] if no base directory contains the path, or if the path must not be changed.
    pub fn locate(&self, path: &FilePath) -> Result<Located, LocateError> {
        let holding = self.0.iter().filter_map(|base| Some((base, below(base, path)?)));
        let deepest = holding.max_by_key(|(base, _)| base.names().count());
        let (base, below) = deepest.ok_or_else(|| LocateError::Outside { path: path.clone() })?;
        Ok(Located { base: base.clone(), path: RelPath::new(below)? })
    }
}

/// Returns the path relative to a base directory, or `None` if the path is not below it.
fn below(base: &BaseDirectory, path: &FilePath) -> Option<String> {
    let mut names = path.names();
    for name in base.names() {
        if names.next() != Some(name) {
            return None;
        }
    }
    let below: Vec<&str> = names.collect();
    (!below.is_empty()).then(|| below.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(bases: &[&str], path: &str) -> Option<(String, String)> {
        let bases = BaseDirectories::new(bases.iter().copied()).unwrap();
        let Located { base, path } = bases.locate(&FilePath::new(path).unwrap()).ok()?;
        Some((base.to_string(), String::from_utf8_lossy(path.as_bytes()).into_owned()))
    }

    /// FE-6
    #[test]
    fn path_belongs_to_its_deepest_base_directory() {
        let bases = ["/srv/data", "/srv/data/inner/", "/base"];
        let found = |path| located(&bases, path);
        let place = |base: &str, path: &str| Some((base.to_owned(), path.to_owned()));
        assert_eq!(found("/srv/data/f"), place("/srv/data/", "f"));
        assert_eq!(found("/srv/data/inner/f"), place("/srv/data/inner/", "f"));
        assert_eq!(found("/srv/data/inner-evil/f"), place("/srv/data/", "inner-evil/f"));
        assert_eq!(found("//base//./a"), place("/base/", "a"));
        for outside in ["/base-evil/f", "/bas/e", "/base", "/srv/data", "/srv/dat/f", "/f"] {
            assert_eq!(found(outside), None, "{outside}");
        }
        assert_eq!(located(&[], "/a"), None);
    }

    /// FE-6
    #[test]
    fn task_cannot_target_the_state_of_actum_or_git() {
        for path in ["/base/.actum/journal", "/base/a/.git/config", "/base/.ACTUM/x"] {
            assert_eq!(located(&["/base"], path), None, "{path}");
        }
    }

    /// FE-6
    #[test]
    fn invalid_base_directory_list_is_rejected() {
        for wrong in ["/", "a", "/a/../b", "/a//b", "/a/.", "", "/a\n", "/a/.git/b", "/.actum"] {
            assert!(BaseDirectories::new([wrong]).is_err(), "{wrong:?}");
        }
        let many: Vec<String> = (0..=BASE_DIRECTORIES_MAX).map(|n| format!("/d{n}")).collect();
        let list = |count: usize| BaseDirectories::new(many.iter().take(count).map(|it| &**it));
        assert!(list(BASE_DIRECTORIES_MAX).is_ok());
        assert!(matches!(
            list(BASE_DIRECTORIES_MAX + 1),
            Err(BaseDirectoriesError::TooMany { .. })
        ));
    }
}
