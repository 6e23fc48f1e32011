//! Edits of a client's tools, as operations of actum.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use actum::real_path;
use actum_core::{PathError, RelPath};
use actum_edit::Operation;
use actum_edit::edit::{Edit as FileEdit, Occurrences, Replacement};
use actum_edit::format::{Format, Reading, parse};
use serde_json::Value;

use crate::client::{Paths, Tool};
use crate::error::EventError;

/// Edit that a tool of a client is about to make, or made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// The whole content of a file.
    Write {
        /// The file.
        path: PathBuf,
        /// Its new content.
        content: String,
    },
    /// A text of a file is replaced.
    Replace {
        /// The file.
        path: PathBuf,
        /// The text.
        old: String,
        /// What takes its place.
        new: String,
        /// Whether each occurrence is replaced.
        all: bool,
    },
    /// A patch in the format of Codex.
    Patch {
        /// Its text.
        text: String,
    },
    /// A file changes in a way that cannot be computed.
    Opaque {
        /// The file.
        path: PathBuf,
    },
}

/// Lines of a patch that name a file.
const PATCH_HEADERS: [&str; 4] =
    ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Reads the paths that an event has, as its client does.
pub(crate) struct PathReader<'a> {
    pub(crate) paths: Paths,
    /// From which relative paths count.
    pub(crate) directory: &'a Path,
    /// Home of the user, for which `~` stands.
    pub(crate) home: Option<&'a Path>,
}

impl PathReader<'_> {
    /// The file that a path leads to, without links as far as it exists.
    fn real(&self, path: &Path) -> PathBuf {
        match self.paths {
            Paths::System => real_path(&self.directory.join(path)),
            Paths::Text => {
                let from_home = self.home.zip(path.strip_prefix("~").ok());
                let whole = match from_home {
                    Some((home, below)) => home.join(below),
                    None => self.directory.join(path),
                };
                real_path(&without_parents(&whole))
            }
        }
    }
}

/// The path without `.` and `..`, by its text.
fn without_parents(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                whole.push(component)
            }
        }
    }
    whole
}

/// Where the files of an edit are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Located {
    /// Files in the workspace.
    pub(crate) inside: Vec<RelPath>,
    /// Files outside of it.
    pub(crate) outside: Vec<PathBuf>,
    /// The edit as operations; `None` where it cannot be computed.
    pub(crate) operations: Option<Vec<Operation>>,
}

impl Edit {
    pub(crate) fn read(tool: Tool, input: &Value) -> Result<Self, EventError> {
        let text = |field: &'static str| {
            let found = input.get(field).and_then(Value::as_str);
            found.map(str::to_owned).ok_or(EventError::Field { field })
        };
        let path = |field: &'static str| text(field).map(PathBuf::from);
        Ok(match tool {
            Tool::Write { path: field, content } => {
                Self::Write { path: path(field)?, content: text(content)? }
            }
            Tool::Replace { path: field, old, new, all } => Self::Replace {
                path: path(field)?,
                old: text(old)?,
                new: text(new)?,
                all: input.get(all).and_then(Value::as_bool).unwrap_or(false),
            },
            Tool::Patch { text: field } => Self::Patch { text: text(field)? },
            Tool::Opaque { path: field } => Self::Opaque { path: path(field)? },
        })
    }

    /// The files, without links.
    pub(crate) fn files(&self, reader: &PathReader<'_>) -> Vec<PathBuf> {
        let named: Vec<&Path> = match self {
            Self::Write { path, .. } | Self::Replace { path, .. } | Self::Opaque { path } => {
                vec![path]
            }
            Self::Patch { text } => text.lines().filter_map(named_file).map(Path::new).collect(),
        };
        named.into_iter().map(|path| reader.real(path)).collect()
    }

    /// Finds the files of the edit. Links are resolved, as the client does.
    ///
    /// # Errors
    /// A path below `root` that no change may name, such as one in `.actum`.
    pub(crate) fn locate(
        &self,
        root: &Path,
        reader: &PathReader<'_>,
    ) -> Result<Located, PathError> {
        let find = |path: &Path| {
            let real = reader.real(path);
            match real.strip_prefix(root) {
                Ok(below) => RelPath::new(below.as_os_str().as_bytes()).map(Ok),
                Err(_) => Ok(Err(real)),
            }
        };
        let path = match self {
            Self::Write { path, .. } | Self::Replace { path, .. } | Self::Opaque { path } => path,
            Self::Patch { text } => return locate_patch(text, find),
        };
        Ok(match find(path)? {
            Err(outside) => Located { outside: vec![outside], ..Located::default() },
            Ok(path) => Located {
                inside: vec![path.clone()],
                operations: self.operation(path).map(|operation| vec![operation]),
                ..Located::default()
            },
        })
    }

    /// The edit of one file.
    fn operation(&self, path: RelPath) -> Option<Operation> {
        let create = |content: &str| Operation::Create {
            path: path.clone(),
            content: content.into(),
            mode: None,
        };
        match self {
            Self::Write { content, .. } => Some(create(content)),
            // So a file is made.
            Self::Replace { old, new, .. } if old.is_empty() => Some(create(new)),
            Self::Replace { old, new, all, .. } => {
                let occurrences = if *all { Occurrences::All } else { Occurrences::One };
                let (old, new) = (old.clone().into_bytes(), new.clone().into_bytes());
                let edit = FileEdit::Replace(Replacement { old, new, occurrences });
                Some(Operation::Edit { path, edit, expected: None })
            }
            Self::Patch { .. } | Self::Opaque { .. } => None,
        }
    }
}

/// The file that a line of a patch names.
fn named_file(line: &str) -> Option<&str> {
    PATCH_HEADERS.iter().find_map(|header| line.strip_prefix(header)).map(str::trim)
}

/// Finds the files of a patch, and reads it with their paths from the root of the workspace.
fn locate_patch(
    text: &str,
    find: impl Fn(&Path) -> Result<Result<RelPath, PathBuf>, PathError>,
) -> Result<Located, PathError> {
    let mut located = Located::default();
    let mut from_root = Vec::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let named =
            PATCH_HEADERS.iter().find_map(|header| Some((*header, line.strip_prefix(header)?)));
        let Some((header, path)) = named else {
            from_root.extend_from_slice(line.as_bytes());
            continue;
        };
        match find(Path::new(path.trim()))? {
            Err(outside) => located.outside.push(outside),
            Ok(path) => {
                from_root.extend_from_slice(header.as_bytes());
                from_root.extend_from_slice(path.as_bytes());
                from_root.push(b'\n');
                located.inside.push(path);
            }
        }
    }
    let reading = Reading { format: Some(Format::CodexPatch), ..Reading::default() };
    // What actum cannot place the client may: it places hunks more loosely.
    located.operations = parse(&from_root, &reading).ok().filter(|_| located.outside.is_empty());
    Ok(located)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes links")]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    fn reader(paths: Paths) -> PathReader<'static> {
        let (directory, home) = (Path::new("/no/such/root/sub"), Some(Path::new("/no/such/home")));
        PathReader { paths, directory, home }
    }

    fn locate(edit: &Edit) -> Located {
        edit.locate(Path::new("/no/such/root"), &reader(Paths::Text)).unwrap()
    }

    /// Issue 27: a client that reads paths by their text, and one that has the system read them, name their files differently.
    #[test]
    fn a_path_is_read_as_the_client_reads_it() {
        let directory = std::env::temp_dir().join(format!("actum-hook-{}", std::process::id()));
        let root = directory.join("root");
        std::fs::create_dir_all(root.join("a/deep")).unwrap();
        std::os::unix::fs::symlink("a/deep", root.join("link")).unwrap();
        let root = root.canonicalize().unwrap();
        let edit = Edit::Opaque { path: "link/../f".into() };
        let inside = |paths| {
            let reader = PathReader { paths, directory: &root, home: None };
            edit.locate(&root, &reader).unwrap().inside
        };
        assert_eq!(inside(Paths::Text), [path("f")]);
        assert_eq!(inside(Paths::System), [path("a/f")]);
        std::fs::remove_dir_all(&directory).unwrap();
        let home = Edit::Opaque { path: "~/f".into() };
        assert_eq!(locate(&home).outside, [PathBuf::from("/no/such/home/f")]);
    }

    /// Issue 27: paths count from the directory of the client, and are named from the root of the workspace.
    #[test]
    fn a_patch_is_read_from_the_directory_of_the_client() {
        let text = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Delete File: /no/such/root/b\n*** End Patch\n";
        let located = locate(&Edit::Patch { text: text.to_owned() });
        assert_eq!(located.inside, [path("sub/a.txt"), path("b")]);
        assert_eq!(located.operations.unwrap().len(), 2);
    }

    /// Issue 27: a patch that reaches outside is not computed in part.
    #[test]
    fn a_file_outside_of_the_workspace_is_told_apart() {
        let text =
            "*** Begin Patch\n*** Add File: a\n+one\n*** Add File: ../../x\n+two\n*** End Patch\n";
        let located = locate(&Edit::Patch { text: text.to_owned() });
        assert_eq!((located.outside.len(), located.operations), (1, None));
        let write = Edit::Write { path: "/etc/passwd".into(), content: String::new() };
        assert_eq!(locate(&write).outside, [PathBuf::from("/etc/passwd")]);
    }

    /// Issue 27
    #[test]
    fn a_patch_that_cannot_be_read_still_names_its_files() {
        let located = locate(&Edit::Patch { text: "*** Update File: a\n@@ nonsense".to_owned() });
        assert_eq!((located.inside, located.operations), (vec![path("sub/a")], None));
    }

    /// Issue 27: the state of actum is no file of an edit.
    #[test]
    fn a_path_that_no_change_may_name_is_an_error() {
        let write =
            Edit::Write { path: "/no/such/root/.actum/journal".into(), content: String::new() };
        assert!(write.locate(Path::new("/no/such/root"), &reader(Paths::Text)).is_err());
        assert!(write.locate(Path::new("/no/such/root"), &reader(Paths::System)).is_err());
    }
}
