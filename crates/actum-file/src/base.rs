//! Base directories: the static list of directories in which file tasks act (FE-6).

use std::collections::BTreeSet;

use actum_core::RelPath;
use actum_core::path::{Cut, PathError};
use actum_record::lease::{BaseDirectory, LeaseTermError};

use crate::path::FilePath;

/// Most base directories of an operator.
pub const BASE_DIRECTORIES_MAX: usize = 64;

/// Base directories of an operator. Each is the root of a workspace of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseDirectories(BTreeSet<BaseDirectory>);

/// Base directory of a path, and the path below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Base directory.
    pub base: BaseDirectory,
    /// Path below it.
    pub path: RelPath,
}

/// List that is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseDirectoriesError {
    /// A path that cannot be one.
    #[error(transparent)]
    Path(#[from] LeaseTermError),
    /// A directory of state of actum or git, or below one.
    #[error(transparent)]
    State(#[from] PathError),
    /// The root of the file system.
    #[error("`/` cannot be a base directory: everything would lie below it")]
    Root,
    /// More than [`BASE_DIRECTORIES_MAX`].
    #[error("{count} base directories are listed, and {BASE_DIRECTORIES_MAX} is the most")]
    TooMany {
        /// Count.
        count: usize,
    },
}

/// Reason why a path lies in no base directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// No base directory holds it.
    #[error("`{}` lies below no base directory of the operator's policy", Cut(path.as_str().as_bytes(), 200))]
    Outside {
        /// Path.
        path: FilePath,
    },
    /// The path below the base directory cannot be changed: state of actum or git.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Reason why the engine of a base directory was not opened, as a sentence.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct OpenError {
    /// Sentence.
    pub message: String,
}

impl From<actum::Error> for OpenError {
    fn from(error: actum::Error) -> Self {
        Self { message: error.to_string() }
    }
}

impl BaseDirectories {
    /// Reads the list of a policy.
    ///
    /// # Errors
    /// [`BaseDirectoriesError`]
    pub fn new<'t>(
        listed: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self, BaseDirectoriesError> {
        let mut directories = BTreeSet::new();
        for text in listed {
            let directory: BaseDirectory = text.parse()?;
            if directory.names().next().is_none() {
                return Err(BaseDirectoriesError::Root);
            }
            // Otherwise no lease could be judged for a file in it.
            RelPath::new(directory.as_str().trim_matches('/'))?;
            directories.insert(directory);
        }
        match directories.len() {
            count if count > BASE_DIRECTORIES_MAX => Err(BaseDirectoriesError::TooMany { count }),
            _ => Ok(Self(directories)),
        }
    }

    /// The directories, ordered by path.
    pub fn iter(&self) -> impl Iterator<Item = &BaseDirectory> {
        self.0.iter()
    }

    /// Finds the deepest base directory above a path, compared name by name.
    ///
    /// # Errors
    /// [`LocateError`]
    pub fn locate(&self, path: &FilePath) -> Result<Located, LocateError> {
        let holding = self.0.iter().filter_map(|base| Some((base, below(base, path)?)));
        let deepest = holding.max_by_key(|(base, _)| base.names().count());
        let (base, below) = deepest.ok_or_else(|| LocateError::Outside { path: path.clone() })?;
        Ok(Located { base: base.clone(), path: RelPath::new(below)? })
    }
}

/// Returns the path below a base directory; `None` if it is not a descendant.
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
    fn a_path_belongs_to_the_deepest_base_directory_by_names() {
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
    fn state_of_actum_and_git_is_no_place_of_a_task() {
        for path in ["/base/.actum/journal", "/base/a/.git/config", "/base/.ACTUM/x"] {
            assert_eq!(located(&["/base"], path), None, "{path}");
        }
    }

    /// FE-6
    #[test]
    fn a_list_that_is_not_plain_is_rejected() {
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
