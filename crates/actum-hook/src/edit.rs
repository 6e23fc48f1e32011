//! Edits of a client's tools, as operations of actum.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use actum::real_path;
use actum_core::path::Quoted;
use actum_core::{PathError, RelPath};
use actum_edit::Operation;
use actum_edit::edit::{Edit as FileEdit, Occurrences, Replacement};
use actum_edit::format::{Format, Reading, parse};
use serde_json::Value;

use crate::client::{Client, Tool};
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
        /// Replacement.
        new: String,
        /// True if each occurrence is replaced.
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

/// Links that are followed at most for one path, as the system does (path_resolution(7)).
const LINKS_MAX: usize = 40;

/// Edit whose files actum cannot determine. The tool must not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// A path of the workspace that no change may name.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A path that clients and systems read in different ways.
    #[error("the path `{}` cannot be used: {why}; name the file by its absolute path", Quoted(path.as_os_str().as_bytes()))]
    Ambiguous {
        /// Path as it was given.
        path: PathBuf,
        /// Problem of the path.
        why: &'static str,
    },
    /// A patch that names no file, or has a line that may name one in a form that is not known.
    #[error("the patch cannot be read: {what}")]
    Patch {
        /// Problem of the patch.
        what: &'static str,
    },
}

/// Reads the paths that an event has, as its client does.
pub(crate) struct PathReader<'a> {
    pub(crate) client: Client,
    /// Directory that relative paths start from.
    pub(crate) directory: &'a Path,
    /// Home of the user, for which some clients take `~`.
    pub(crate) home: Option<&'a Path>,
}

impl PathReader<'_> {
    /// The file that a path leads to, without links as far as it exists.
    fn real(&self, path: &Path) -> Result<PathBuf, EditError> {
        let ambiguous = |why| EditError::Ambiguous { path: path.to_owned(), why };
        let bytes = path.as_os_str().as_bytes();
        if bytes.trim_ascii() != bytes || bytes.contains(&0) {
            return Err(ambiguous("it begins or ends with a blank, or has a NUL"));
        }
        if ["/proc", "/dev/fd"].iter().any(|place| path.starts_with(place)) {
            return Err(ambiguous("what it leads to depends on the process"));
        }
        let has_parents = path.components().any(|part| part == Component::ParentDir);
        let from_home = path.strip_prefix("~").ok();
        if from_home.is_some() && has_parents {
            return Err(ambiguous("it has `~` and `..`"));
        }
        let home = self.home.filter(|_| self.client.protocol().expands_home);
        let whole = match home.zip(from_home) {
            Some((home, below)) => home.join(below),
            None => self.directory.join(path),
        };
        let loops = || ambiguous("its links lead nowhere");
        let real = resolve_links(&whole).ok_or_else(loops)?;
        // Some clients take `..` away by the text, and others let the system go up behind a link.
        if resolve_links(&without_parents(&whole)).ok_or_else(loops)? != real {
            return Err(ambiguous("it goes through a link and back with `..`"));
        }
        Ok(real)
    }
}

/// Resolves all links of a path, also one that leads to nothing yet; `None` if they lead in a
/// circle.
pub fn resolve_links(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let real = real_path(&path);
        let is_link = |part: &&Path| part.symlink_metadata().is_ok_and(|found| found.is_symlink());
        let Some(link) = real.ancestors().find(is_link) else {
            // A missing directory goes up by its text, as there is nothing behind it.
            return Some(without_parents(&real));
        };
        let target = std::fs::read_link(link).ok()?;
        let below = real.strip_prefix(link).ok()?;
        path = link.parent()?.join(target).join(below);
    }
    None
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

/// Files of an edit, located.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Located {
    /// Files in the workspace.
    pub(crate) inside: Vec<RelPath>,
    /// Files outside of it.
    pub(crate) outside: Vec<PathBuf>,
    /// The edit as operations; `None` if it cannot be computed.
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
    ///
    /// # Errors
    /// [`EditError`].
    pub(crate) fn files(&self, reader: &PathReader<'_>) -> Result<Vec<PathBuf>, EditError> {
        match self {
            Self::Write { path, .. } | Self::Opaque { path } => Ok(vec![reader.real(path)?]),
            Self::Replace { path, .. } => {
                let corrects = reader.client.protocol().corrects_paths && path.is_relative();
                let real = reader.real(path)?;
                if corrects && real.symlink_metadata().is_err() {
                    let (path, why) = (
                        path.clone(),
                        "there is no such file, and the client would look for another",
                    );
                    return Err(EditError::Ambiguous { path, why });
                }
                Ok(vec![real])
            }
            Self::Patch { text } => {
                let named = patch_lines(text)?;
                let files = named.into_iter().filter_map(|(_, file)| file);
                files.map(|(_, file)| reader.real(Path::new(file))).collect()
            }
        }
    }

    /// Finds the files of the edit. Links are resolved, as the client does.
    ///
    /// # Errors
    /// [`EditError`]: the edit must not be made.
    pub(crate) fn locate(
        &self,
        root: &Path,
        reader: &PathReader<'_>,
    ) -> Result<Located, EditError> {
        let place = |real: PathBuf| match real.strip_prefix(root) {
            Ok(below) => RelPath::new(below.as_os_str().as_bytes()).map(Ok),
            Err(_) => Ok(Err(real)),
        };
        if let Self::Patch { text } = self {
            return locate_patch(text, |path| Ok(place(reader.real(path)?)?));
        }
        let mut located = Located::default();
        for file in self.files(reader)? {
            match place(file)? {
                Err(outside) => located.outside.push(outside),
                Ok(path) => {
                    located.operations = self.operation(path.clone()).map(|it| vec![it]);
                    located.inside.push(path);
                }
            }
        }
        Ok(located)
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
            // An empty old text makes a file.
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

/// A header of a patch, as actum reads it, and the file that it names.
type Header<'t> = (&'static str, &'t str);

/// The lines of a patch, each with the file that it names, if it does. Clients take blanks around a
/// header, and none behind its colon.
fn patch_lines(text: &str) -> Result<Vec<(&str, Option<Header<'_>>)>, EditError> {
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let header = header(line);
        let marker = line.trim_end();
        let is_known = header.is_some() || OTHER_MARKERS.contains(&marker);
        if line.starts_with("***") && !is_known {
            let what = "a line that begins with `***` is no header that actum knows";
            return Err(EditError::Patch { what });
        }
        lines.push((line, header));
    }
    match lines.iter().any(|(_, header)| header.is_some()) {
        true => Ok(lines),
        false => Err(EditError::Patch { what: "it names no file" }),
    }
}

/// Markers that name no file.
const OTHER_MARKERS: [&str; 3] = ["*** Begin Patch", "*** End Patch", "*** End of File"];

fn header(line: &str) -> Option<Header<'_>> {
    let (words, file) = line.trim().strip_prefix("***")?.split_once(':')?;
    let words: Vec<_> = words.split_whitespace().map(str::to_lowercase).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let header = match *words.as_slice() {
        ["add", "file"] => "*** Add File: ",
        ["update", "file"] => "*** Update File: ",
        ["delete", "file"] => "*** Delete File: ",
        ["move", "to"] => "*** Move to: ",
        _ => return None,
    };
    Some((header, file.trim()))
}

/// Finds the files of a patch, and reads it with their paths from the root of the workspace.
fn locate_patch(
    text: &str,
    find: impl Fn(&Path) -> Result<Result<RelPath, PathBuf>, EditError>,
) -> Result<Located, EditError> {
    let mut located = Located::default();
    let mut from_root = Vec::with_capacity(text.len());
    for (line, header) in patch_lines(text)? {
        let Some((header, path)) = header else {
            from_root.extend_from_slice(line.as_bytes());
            continue;
        };
        match find(Path::new(path))? {
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
    // The client may place a hunk that actum cannot: it places hunks more loosely.
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

    fn reader(client: Client) -> PathReader<'static> {
        let (directory, home) = (Path::new("/no/such/root/sub"), Some(Path::new("/no/such/home")));
        PathReader { client, directory, home }
    }

    fn locate(edit: &Edit) -> Located {
        edit.locate(Path::new("/no/such/root"), &reader(Client::Claude)).unwrap()
    }

    /// Issue 27: a path that clients read in different ways is refused; a link that leads to nothing yet is followed.
    #[test]
    fn a_path_that_is_read_in_two_ways_is_refused_and_links_are_followed() {
        let directory = std::env::temp_dir().join(format!("actum-hook-{}", std::process::id()));
        let root = directory.join("root");
        std::fs::create_dir_all(root.join("a/deep")).unwrap();
        let link =
            |target: &str, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        [
            ("a/deep", "link"),
            (".env", "dangling"),
            ("dangling", "twice"),
            ("loop", "loop"),
            ("gone", "way"),
        ]
        .iter()
        .for_each(|(target, name)| link(target, name));
        let root = root.canonicalize().unwrap();
        let located = |client, path: &str| {
            let reader = PathReader { client, directory: &root, home: Some(&directory) };
            Edit::Opaque { path: path.into() }.locate(&root, &reader)
        };
        let inside = |path: &str| located(Client::OpenCode, path).unwrap().inside;
        assert_eq!(inside("dangling"), [path(".env")]);
        assert_eq!(inside("twice"), [path(".env")]);
        assert_eq!(inside("way/f"), [path("gone/f")]);
        assert_eq!(inside("a/../f"), [path("f")]);
        assert_eq!(inside("none/../f"), [path("f")]);
        assert_eq!(inside("~/f"), [path("~/f")]);
        for given in ["link/../f", "loop", " f", "f ", "~/../f", "/proc/self/cwd/f", "/dev/fd/3"] {
            let found = located(Client::Claude, given);
            assert!(matches!(found, Err(EditError::Ambiguous { .. })), "{given}: {found:?}");
        }
        assert_eq!(located(Client::Claude, "~/f").unwrap().outside.len(), 1);
        let edit = Edit::Replace {
            path: "settings.json".into(),
            old: "a".into(),
            new: "b".into(),
            all: false,
        };
        let reader = PathReader { client: Client::Gemini, directory: &root, home: None };
        assert!(edit.locate(&root, &reader).is_err());
        std::fs::remove_dir_all(&directory).unwrap();
    }

    /// Issue 27: a header of a patch is seen in each spelling of its client, and a possible one is
    /// refused.
    #[test]
    fn headers_of_patches_are_seen_in_each_spelling() {
        let spellings = [
            " *** Update File: .env",
            "\t*** Update File:.env",
            "\u{a0}*** Add File:\t.env",
            "*** Move to:.env",
            "***Delete File : .env ",
        ];
        for header in spellings {
            let text = format!("*** Begin Patch\n{header}\n*** End Patch\n");
            assert_eq!(locate(&Edit::Patch { text }).inside, [path("sub/.env")], "{header}");
        }
        for text in [
            "",
            "*** Begin Patch\n*** End Patch\n",
            "*** Rename File: .env\n",
            "*** Add File: a\n*** Copy to: b\n",
        ] {
            let edit = Edit::Patch { text: text.to_owned() };
            let found = edit.locate(Path::new("/no/such/root"), &reader(Client::Codex));
            assert!(matches!(found, Err(EditError::Patch { .. })), "{text}: {found:?}");
        }
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

    /// Issue 27: an edit cannot name the state of actum.
    #[test]
    fn a_path_that_no_change_may_name_is_an_error() {
        let write =
            Edit::Write { path: "/no/such/root/.actum/journal".into(), content: String::new() };
        assert!(write.locate(Path::new("/no/such/root"), &reader(Client::Claude)).is_err());
        assert!(write.locate(Path::new("/no/such/root"), &reader(Client::Codex)).is_err());
    }
}
