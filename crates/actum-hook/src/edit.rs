//! Translates the edits of a client's tools to operations of actum.

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

/// Edit that a client's tool is about to make or has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Writes the complete content of a file.
    Write {
        /// Path of the file as the client sent it.
        path: PathBuf,
        /// New content of the file.
        content: String,
    },
    /// Replaces a text in a file.
    Replace {
        /// Path of the file as the client sent it.
        path: PathBuf,
        /// Text to replace. If it is empty, the edit creates the file.
        old: String,
        /// Replacement text.
        new: String,
        /// Whether every occurrence is replaced.
        all: bool,
    },
    /// Applies a patch in the Codex format.
    Patch {
        /// Text of the patch.
        text: String,
    },
    /// Changes a file in a way that actum cannot compute in advance.
    Opaque {
        /// Path of the file as the client sent it.
        path: PathBuf,
    },
}

/// Maximum number of symbolic links to follow for one path, the same limit that Linux uses (path_resolution(7)).
const LINKS_MAX: usize = 40;

/// Reason why actum cannot determine the files of an edit. The tool must not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The path is inside the workspace, but no change may name it.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The path has no unique meaning, because clients and systems resolve it in different ways.
    #[error("the path `{}` cannot be used: {why}; name the file by its absolute path", Quoted(path.as_os_str().as_bytes()))]
    Ambiguous {
        /// Path as the client sent it.
        path: PathBuf,
        /// Reason why the path is ambiguous.
        why: &'static str,
    },
    /// The patch names no file, or has a line that might name one in an unknown form.
    #[error("the patch cannot be read: {what}")]
    Patch {
        /// Reason why the patch cannot be read.
        what: &'static str,
    },
}

/// Resolves the paths in an event in the same way as the client does.
pub(crate) struct PathReader<'a> {
    pub(crate) client: Client,
    /// Directory to which relative paths are relative.
    pub(crate) directory: &'a Path,
    /// Home directory of the user, to which some clients expand `~`.
    pub(crate) home: Option<&'a Path>,
}

impl PathReader<'_> {
    /// Returns the file that a path refers to, with all symbolic links resolved. The file need not exist.
    fn real(&self, path: &Path) -> Result<PathBuf, EditError> {
        let ambiguous = |why| EditError::Ambiguous { path: path.to_owned(), why };
        let bytes = path.as_os_str().as_bytes();
        if bytes.trim_ascii() != bytes || bytes.contains(&0) {
            return Err(ambiguous("it starts or ends with whitespace, or contains a NUL byte"));
        }
        if ["/proc", "/dev/fd"].iter().any(|place| path.starts_with(place)) {
            return Err(ambiguous("it refers to a different file in each process"));
        }
        let has_parents = path.components().any(|part| part == Component::ParentDir);
        let from_home = path.strip_prefix("~").ok();
        if from_home.is_some() && has_parents {
            return Err(ambiguous("it combines `~` and `..`"));
        }
        let home = self.home.filter(|_| self.client.protocol().expands_home);
        let whole = match home.zip(from_home) {
            Some((home, below)) => home.join(below),
            None => self.directory.join(path),
        };
        let loops = || ambiguous("its symlinks form a loop or cannot be read");
        let real = resolve_links(&whole).ok_or_else(loops)?;
        // Some clients remove `..` from the text of the path. Others leave it to the system, which resolves it
        // after following symbolic links.
        if resolve_links(&without_parents(&whole)).ok_or_else(loops)? != real {
            return Err(ambiguous("it uses `..` after a symlink"));
        }
        Ok(real)
    }
}

/// Resolves all symbolic links in a path, including links whose target does not exist yet. Returns `None`
/// if the links form a loop or cannot be read.
pub fn resolve_links(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let real = real_path(&path);
        let is_link = |part: &&Path| part.symlink_metadata().is_ok_and(|found| found.is_symlink());
        let Some(link) = real.ancestors().find(is_link) else {
            // A `..` after a missing directory can be resolved in the text, as there is no link to follow.
            return Some(without_parents(&real));
        };
        let target = std::fs::read_link(link).ok()?;
        let below = real.strip_prefix(link).ok()?;
        path = link.parent()?.join(target).join(below);
    }
    None
}

/// Removes `.` and `..` from the text of a path, without looking at the file system.
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

/// Files of an edit, separated into those inside and outside of the workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Located {
    /// Files inside the workspace, relative to its root.
    pub(crate) inside: Vec<RelPath>,
    /// Files outside of the workspace.
    pub(crate) outside: Vec<PathBuf>,
    /// Operations that make the same edit, or `None` if the edit cannot be computed.
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

    /// Returns the files of the edit, with all symbolic links resolved.
    ///
    /// # Errors
    /// Returns [`EditError`] if the files cannot be determined for certain.
    pub(crate) fn files(&self, reader: &PathReader<'_>) -> Result<Vec<PathBuf>, EditError> {
        match self {
            Self::Write { path, .. } | Self::Opaque { path } => Ok(vec![reader.real(path)?]),
            Self::Replace { path, .. } => {
                let corrects = reader.client.protocol().corrects_paths && path.is_relative();
                let real = reader.real(path)?;
                if corrects && real.symlink_metadata().is_err() {
                    let (path, why) = (
                        path.clone(),
                        "the file does not exist, and the client would search for it elsewhere",
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

    /// Determines which files of the edit are inside the workspace at `root`, and translates the edit to
    /// operations if possible. Symbolic links are resolved as the client resolves them.
    ///
    /// # Errors
    /// Returns [`EditError`] if the files cannot be determined for certain. The edit must not be made.
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

    /// Translates an edit of a single file, or returns `None` if its result cannot be computed.
    fn operation(&self, path: RelPath) -> Option<Operation> {
        let create = |content: &str| Operation::Create {
            path: path.clone(),
            content: content.into(),
            mode: None,
        };
        match self {
            Self::Write { content, .. } => Some(create(content)),
            // Clients create a file if the text to replace is empty.
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

/// Header of a patch in its canonical spelling, and the file that it names.
type Header<'t> = (&'static str, &'t str);

/// Splits a patch into lines, and parses the lines that are headers. Clients accept whitespace around a
/// header and do not require a space after its colon.
fn patch_lines(text: &str) -> Result<Vec<(&str, Option<Header<'_>>)>, EditError> {
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let header = header(line);
        let marker = line.trim_end();
        let is_known = header.is_some() || OTHER_MARKERS.contains(&marker);
        if line.starts_with("***") && !is_known {
            let what = "a line that starts with `***` is not a known header";
            return Err(EditError::Patch { what });
        }
        lines.push((line, header));
    }
    match lines.iter().any(|(_, header)| header.is_some()) {
        true => Ok(lines),
        false => Err(EditError::Patch { what: "it names no file" }),
    }
}

/// Lines that start with `***` but do not name a file.
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

/// Locates the files of a patch, and parses the patch with its paths rewritten relative to the workspace root.
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
    // If actum cannot parse the patch, the client may still apply it, because it matches hunks less strictly.
    located.operations = parse(&from_root, &reading).ok().filter(|_| located.outside.is_empty());
    Ok(located)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test creates symbolic links")]
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

    /// Issue 27: a path that clients resolve in different ways is refused, and a dangling link is followed.
    #[test]
    fn ambiguous_paths_are_rejected_and_dangling_links_followed() {
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

    /// Issue 27: a patch header is recognized in every spelling that clients accept, and a line that might
    /// be a header is refused.
    #[test]
    fn patch_headers_are_recognized_in_every_spelling() {
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

    /// Issue 27: paths in a patch are relative to the client's directory and are reported relative to the workspace root.
    #[test]
    fn patch_paths_are_relative_to_the_client_directory() {
        let text = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Delete File: /no/such/root/b\n*** End Patch\n";
        let located = locate(&Edit::Patch { text: text.to_owned() });
        assert_eq!(located.inside, [path("sub/a.txt"), path("b")]);
        assert_eq!(located.operations.unwrap().len(), 2);
    }

    /// Issue 27: a patch with a file outside of the workspace is not translated at all, not even in part.
    #[test]
    fn patch_with_a_file_outside_the_workspace_is_not_translated() {
        let text =
            "*** Begin Patch\n*** Add File: a\n+one\n*** Add File: ../../x\n+two\n*** End Patch\n";
        let located = locate(&Edit::Patch { text: text.to_owned() });
        assert_eq!((located.outside.len(), located.operations), (1, None));
        let write = Edit::Write { path: "/etc/passwd".into(), content: String::new() };
        assert_eq!(locate(&write).outside, [PathBuf::from("/etc/passwd")]);
    }

    /// Issue 27: the files of a patch are found even if its hunks are malformed.
    #[test]
    fn files_of_a_malformed_patch_are_found() {
        let located = locate(&Edit::Patch { text: "*** Update File: a\n@@ nonsense".to_owned() });
        assert_eq!((located.inside, located.operations), (vec![path("sub/a")], None));
    }

    /// Issue 27: an edit cannot change a file in actum's state directory `.actum`.
    #[test]
    fn edit_of_the_state_directory_is_an_error() {
        let write =
            Edit::Write { path: "/no/such/root/.actum/journal".into(), content: String::new() };
        assert!(write.locate(Path::new("/no/such/root"), &reader(Client::Claude)).is_err());
        assert!(write.locate(Path::new("/no/such/root"), &reader(Client::Codex)).is_err());
    }
}
