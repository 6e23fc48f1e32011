//! Captures the changes that a command made in its view, and converts them to operations.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use actum_core::{Digest, FileMode, Hasher, RelPath, RunId};
use actum_edit::{EmptyParents, ModeChange, Operation};
use actum_sandbox::{Change, Layer, LayerError, Node};

use crate::error::{CAPTURED_BYTES_MAX, CAPTURED_ON_DISK_BYTES_MAX, Unkept, WhyUnkept};
use crate::path_selection::{Effect, PathSelection, Selectable};

/// Changes of a command, captured from its view.
#[derive(Debug, Default)]
pub struct Captured {
    /// Operations that make the same changes in the workspace, in an order in which they can be applied.
    pub operations: Vec<Operation>,
    /// Changes that cannot be part of a run, such as creating a socket.
    pub unkept: Vec<Unkept>,
    /// Changes to links and to permissions of directories, which some entry points cannot keep.
    not_content: Vec<Unkept>,
    /// Number of changed paths that were left out because the caller did not select them.
    pub(crate) left_out: usize,
    /// Id of the on-disk capture that contains the file contents. If `None`, they are in memory.
    capture: Option<RunId>,
}

/// Selects the part of a change to capture.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Part<'p> {
    pub(crate) paths: PathSelection<'p>,
    /// Whether to leave out pipes, sockets and devices.
    pub(crate) drops_special: bool,
}

impl Part<'_> {
    /// Removes the changes that are not in this part, and returns their number.
    fn keep(&self, changes: &mut Vec<Change>) -> usize {
        let all = changes.len();
        changes.retain(|it| !(self.drops_special && why_unkept(it) == Some(WhyUnkept::Special)));
        *changes = self.paths.select(std::mem::take(changes), selectable).kept;
        all - changes.len()
    }
}

fn selectable(change: &Change) -> Option<Selectable> {
    let path = RelPath::new(change.path.as_os_str().as_bytes()).ok()?;
    let effect = match (&change.before, &change.after) {
        (None, Some(Node::Directory { .. })) => Effect::MakesDirectory,
        (Some(Node::Directory { .. }), None) => Effect::RemovesDirectory,
        _ => Effect::Other,
    };
    Some(Selectable { paths: vec![path], effect })
}

/// Mode bits for set-user-ID and set-group-ID, see inode(7).
const SET_ID: u32 = 0o6000;

impl Captured {
    /// Reads the changes of a layer, except those in the `forgotten` directories. If the layer belongs to an on-disk
    /// capture, file contents stay there; otherwise they are read into memory.
    pub(crate) fn new(
        layer: &Layer,
        forgotten: &[&Path],
        (capture, part): (Option<RunId>, Part<'_>),
    ) -> Result<Self, LayerError> {
        let mut captured = Self { capture, ..Self::default() };
        let mut changes = changes(layer, forgotten)?;
        captured.left_out = part.keep(&mut changes);
        // Check sizes first: a large sparse file takes no space in a layer, but reading it takes a long time.
        if let Some(too_large) = too_large(&changes, capture) {
            captured.unkept.push(too_large);
            return Ok(captured);
        }
        for change in changes {
            let path = match RelPath::new(change.path.as_os_str().as_bytes()) {
                Ok(path) => path,
                Err(_) if change.path == Path::new(".") => {
                    captured.refuse(change.path, WhyUnkept::RootMode);
                    continue;
                }
                Err(error) => {
                    captured.refuse(change.path, WhyUnkept::Path(error.problem));
                    continue;
                }
            };
            if let Some(why) = why_unkept(&change) {
                captured.refuse(change.path, why);
                continue;
            }
            captured.not_content.extend(why_not_content(&change).map(|why| {
                let path = change.path.clone();
                Unkept { path, why }
            }));
            captured.take(layer, path, change)?;
        }
        Ok(captured)
    }

    /// Moves changes to links (D-6) and to permissions of directories into `unkept`, for entry points that cannot keep
    /// them.
    pub(crate) fn of_content(mut self) -> Self {
        self.unkept.append(&mut self.not_content);
        self
    }

    /// Returns whether the capture contains no changes at all.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.unkept.is_empty()
    }

    fn refuse(&mut self, path: PathBuf, why: WhyUnkept) {
        self.unkept.push(Unkept { path, why });
    }

    fn take(&mut self, layer: &Layer, path: RelPath, change: Change) -> Result<(), LayerError> {
        let Change { path: at, before, after, is_disturbed: _ } = change;
        let same_kind = matches!(
            (&before, &after),
            (Some(Node::File { .. }), Some(Node::File { .. }))
                | (Some(Node::Directory { .. }), Some(Node::Directory { .. }))
                | (Some(Node::Symlink { .. }), Some(Node::Symlink { .. }))
        );
        let expected = match &before {
            Some(Node::File { .. }) => match self.digest_before(layer, &at)? {
                Some(digest) => Some(digest),
                None => return Ok(()),
            },
            Some(Node::Symlink { target }) => Some(Digest::of(target.as_os_str().as_bytes())),
            Some(Node::Directory { .. } | Node::Special { .. }) | None => None,
        };
        let operations = &mut self.operations;
        if !same_kind {
            match before {
                Some(Node::File { .. } | Node::Symlink { .. }) => {
                    let (path, parents) = (path.clone(), EmptyParents::Keep);
                    operations.push(Operation::Delete { path, expected, parents });
                }
                Some(Node::Directory { .. }) => {
                    operations.push(Operation::RemoveDirectory { path: path.clone() });
                }
                Some(Node::Special { .. }) | None => {}
            }
        }
        match after {
            Some(Node::File { mode, .. }) => {
                let (content, mode) =
                    (Content::new(layer, &at, self.capture)?, FileMode::new(mode));
                match before.filter(|_| same_kind) {
                    Some(Node::File { mode: before, .. }) => {
                        if expected != Some(content.digest()) {
                            operations.push(content.written(path.clone(), expected));
                        }
                        if FileMode::new(before) != mode {
                            let mode = ModeChange::Exact(mode);
                            operations.push(Operation::Chmod { path, mode });
                        }
                    }
                    Some(_) | None => operations.push(content.created(path, mode)),
                }
            }
            Some(Node::Directory { mode }) => operations.push(match before {
                Some(Node::Directory { mode: before }) => {
                    let (mode, expected) = (FileMode::new(mode), FileMode::new(before));
                    Operation::ChmodDirectory { path, mode, expected }
                }
                Some(_) | None => {
                    let mode = Some(FileMode::new(mode & !SET_ID));
                    Operation::MakeDirectory { path, mode }
                }
            }),
            Some(Node::Symlink { target }) => {
                let target = target.into_os_string().into_vec();
                let expected = expected.filter(|_| same_kind);
                operations.push(Operation::Link { path, target, expected });
            }
            Some(Node::Special { .. }) | None => {}
        }
        Ok(())
    }

    /// Returns the digest of a file as it was when the command started. If the file in the workspace has changed since
    /// then, adds it to `unkept` and returns `None`.
    fn digest_before(&mut self, layer: &Layer, path: &Path) -> Result<Option<Digest>, LayerError> {
        let io = |why| LayerError::Io { step: "read", path: path.to_owned(), why };
        let mut file = layer.open_before(path)?;
        let digest = digest(&mut file).map_err(io)?;
        if layer.changed_meanwhile(&file).map_err(io)? {
            self.refuse(path.to_owned(), WhyUnkept::ChangedMeanwhile);
            return Ok(None);
        }
        Ok(Some(digest))
    }
}

/// Returns the changes of a layer, except those in the `forgotten` directories.
pub(super) fn changes(layer: &Layer, forgotten: &[&Path]) -> Result<Vec<Change>, LayerError> {
    let mut changes = layer.changes()?;
    changes.retain(|change| !forgotten.iter().any(|cache| change.path.starts_with(cache)));
    Ok(changes)
}

/// Returns the largest file if the total size of all files exceeds the limit.
fn too_large(changes: &[Change], capture: Option<RunId>) -> Option<Unkept> {
    let max = match capture {
        Some(_) => CAPTURED_ON_DISK_BYTES_MAX,
        None => CAPTURED_BYTES_MAX,
    };
    let size = |change: &&Change| match change.after {
        Some(Node::File { size, .. }) => size,
        Some(_) | None => 0,
    };
    let sum = changes.iter().map(|change| size(&change)).fold(0, u64::saturating_add);
    let largest = changes.iter().filter(|_| sum > max).max_by_key(size)?;
    Some(Unkept { path: largest.path.clone(), why: WhyUnkept::TooLarge { max } })
}

/// Returns the reason why an entry point that keeps only file contents cannot make the change, if there is one.
fn why_not_content(change: &Change) -> Option<WhyUnkept> {
    let mut nodes = [&change.before, &change.after].into_iter().flatten();
    if nodes.any(|node| matches!(node, Node::Symlink { .. })) {
        return Some(WhyUnkept::Symlink);
    }
    let is_directory = |node: &Option<Node>| matches!(node, Some(Node::Directory { .. }));
    let stays = is_directory(&change.before) && is_directory(&change.after);
    stays.then_some(WhyUnkept::DirectoryMode)
}

/// Returns the reason why a change cannot be part of a run, if there is one.
fn why_unkept(change: &Change) -> Option<WhyUnkept> {
    let Change { before, after, is_disturbed, .. } = change;
    if *is_disturbed {
        return Some(WhyUnkept::ChangedMeanwhile);
    }
    let nodes = || before.iter().chain(after);
    if nodes().any(|node| matches!(node, Node::Special { .. })) {
        return Some(WhyUnkept::Special);
    }
    match (before, after) {
        (_, Some(Node::File { mode, .. })) if mode & SET_ID != 0 => Some(WhyUnkept::SetId),
        (Some(Node::Directory { mode: before }), Some(Node::Directory { mode: after })) => {
            ((before ^ after) & SET_ID != 0).then_some(WhyUnkept::SetId)
        }
        _ => None,
    }
}

/// Computes the digest of a file without holding its content in memory.
pub(crate) fn digest(file: &mut impl Read) -> std::io::Result<Digest> {
    const STEP: usize = 64 << 10;
    let (mut hasher, mut piece) = (Hasher::new(), vec![0; STEP]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finish()),
            read => hasher.update(piece.get(..read).unwrap_or_default()),
        }
    }
}

/// Captured content of a file, either in memory or in an on-disk capture.
enum Content {
    Memory(Vec<u8>),
    /// Content in an on-disk capture, identified by the capture's id, with the digest and size of the file.
    Captured(RunId, Digest, u64),
}

impl Content {
    fn new(layer: &Layer, path: &Path, capture: Option<RunId>) -> Result<Self, LayerError> {
        let io = |why| LayerError::Io { step: "read", path: path.to_owned(), why };
        let mut file = layer.open(path)?;
        match capture {
            Some(capture) => {
                let mut counted = Counted { file: &mut file, bytes: 0 };
                let digest = digest(&mut counted).map_err(io)?;
                Ok(Self::Captured(capture, digest, counted.bytes))
            }
            None => {
                let mut content = Vec::new();
                file.read_to_end(&mut content).map_err(io)?;
                Ok(Self::Memory(content))
            }
        }
    }

    fn digest(&self) -> Digest {
        match self {
            Self::Memory(content) => Digest::of(content),
            Self::Captured(_, digest, _) => *digest,
        }
    }

    /// Returns the operation that replaces the content of an existing file.
    fn written(self, path: RelPath, expected: Option<Digest>) -> Operation {
        match self {
            Self::Memory(content) => Operation::Write { path, content, expected },
            Self::Captured(capture, sha256, size) => {
                Operation::Take { path, capture, sha256, size, mode: None, expected }
            }
        }
    }

    /// Returns the operation that creates a file with this content.
    fn created(self, path: RelPath, mode: FileMode) -> Operation {
        let mode = Some(ModeChange::Exact(mode));
        match self {
            Self::Memory(content) => Operation::Create { path, content, mode },
            Self::Captured(capture, sha256, size) => {
                Operation::Take { path, capture, sha256, size, mode, expected: None }
            }
        }
    }
}

/// Reader that counts the bytes read from a file.
struct Counted<'f> {
    file: &'f mut File,
    bytes: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes = self.bytes.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}
