//! What a command changed in its view, as operations.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use actum_core::{Digest, FileMode, Hasher, PathRule, RelPath};
use actum_edit::{EmptyParents, ModeChange, Operation};
use actum_sandbox::{Change, Layer, LayerError, Node};

use crate::error::{CAPTURED_BYTES_MAX, Unkept, WhyUnkept};

/// What a command changed.
#[derive(Debug, Default)]
pub struct Captured {
    /// What would change the workspace in the same way, in an order in which it can be done.
    pub operations: Vec<Operation>,
    /// What no run can do.
    pub unkept: Vec<Unkept>,
    /// What a door that changes the content of files alone cannot keep: links, and permissions of directories.
    not_content: Vec<Unkept>,
    /// The bytes of the files that it left.
    bytes: u64,
}

/// Set-user-id and set-group-id (inode(7)).
const SET_ID: u32 = 0o6000;

impl Captured {
    /// Reads what a layer holds, but for what lies in the places that are forgotten.
    pub(crate) fn of(layer: &Layer, forgotten: &[&Path]) -> Result<Self, LayerError> {
        let mut captured = Self::default();
        for change in changes(layer, forgotten)? {
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
            if let Some(why) = why_unkept(&change).or_else(|| captured.too_large(&change)) {
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

    /// Leaves out what none of these rules speaks of, unless there is none. Gives how many paths.
    pub(crate) fn keep_only(&mut self, rules: &[PathRule]) -> usize {
        if rules.is_empty() {
            return 0;
        }
        let mut left_out = BTreeSet::new();
        let mut is_kept = |path: &[u8]| {
            let kept = RelPath::new(path)
                .is_ok_and(|it| rules.iter().any(|rule| rule.covers(&it) || rule.leads_below(&it)));
            if !kept {
                left_out.insert(path.to_vec());
            }
            kept
        };
        self.operations.retain(|operation| operation.paths().all(|path| is_kept(path.as_bytes())));
        self.unkept.retain(|unkept| is_kept(unkept.path.as_os_str().as_bytes()));
        left_out.len()
    }

    /// Leaves out pipes, sockets and devices. Gives how many.
    pub(crate) fn drop_special(&mut self) -> usize {
        let before = self.unkept.len();
        self.unkept.retain(|unkept| unkept.why != WhyUnkept::Special);
        before - self.unkept.len()
    }

    /// The same for a door that changes no links (D-6) and no permissions of directories: what does is none that can be kept.
    pub(crate) fn of_content(mut self) -> Self {
        self.unkept.append(&mut self.not_content);
        self
    }

    /// Counts the file that a change leaves. A file of holes takes no room in a layer.
    fn too_large(&mut self, change: &Change) -> Option<WhyUnkept> {
        let Some(Node::File { size, .. }) = change.after else { return None };
        self.bytes = self.bytes.saturating_add(size);
        (self.bytes > CAPTURED_BYTES_MAX).then_some(WhyUnkept::TooLarge)
    }

    /// Whether nothing was changed.
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
                let content = read(layer, &at)?;
                let mode = FileMode::new(mode);
                match before.filter(|_| same_kind) {
                    Some(Node::File { mode: before, .. }) => {
                        if expected != Some(Digest::of(&content)) {
                            let path = path.clone();
                            operations.push(Operation::Write { path, content, expected });
                        }
                        if FileMode::new(before) != mode {
                            let mode = ModeChange::Exact(mode);
                            operations.push(Operation::Chmod { path, mode });
                        }
                    }
                    Some(_) | None => {
                        let mode = Some(ModeChange::Exact(mode));
                        operations.push(Operation::Create { path, content, mode });
                    }
                }
            }
            Some(Node::Directory { mode }) if same_kind => {
                let mode = ModeChange::Exact(FileMode::new(mode));
                operations.push(Operation::Chmod { path, mode });
            }
            Some(Node::Directory { mode }) => {
                let mode = Some(FileMode::new(mode & !SET_ID));
                operations.push(Operation::MakeDirectory { path, mode });
            }
            Some(Node::Symlink { target }) => {
                let target = target.into_os_string().into_vec();
                let expected = expected.filter(|_| same_kind);
                operations.push(Operation::Link { path, target, expected });
            }
            Some(Node::Special { .. }) | None => {}
        }
        Ok(())
    }

    /// The digest of a file as it was when the command began; nothing where that cannot be known, which is
    /// noted.
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

/// What a layer holds, but for what lies in the places that are forgotten.
pub(super) fn changes(layer: &Layer, forgotten: &[&Path]) -> Result<Vec<Change>, LayerError> {
    let mut changes = layer.changes()?;
    changes.retain(|change| !forgotten.iter().any(|cache| change.path.starts_with(cache)));
    Ok(changes)
}

/// Why a door that changes the content of files alone could not do it.
fn why_not_content(change: &Change) -> Option<WhyUnkept> {
    let mut nodes = [&change.before, &change.after].into_iter().flatten();
    if nodes.any(|node| matches!(node, Node::Symlink { .. })) {
        return Some(WhyUnkept::Symlink);
    }
    let is_directory = |node: &Option<Node>| matches!(node, Some(Node::Directory { .. }));
    let stays = is_directory(&change.before) && is_directory(&change.after);
    stays.then_some(WhyUnkept::DirectoryMode)
}

/// Why no run could do it.
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

/// The digest of all that a file holds.
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

fn read(layer: &Layer, path: &Path) -> Result<Vec<u8>, LayerError> {
    let mut content = Vec::new();
    let read = layer.open(path)?.read_to_end(&mut content);
    read.map_err(|why| LayerError::Io { step: "read", path: path.to_owned(), why })?;
    Ok(content)
}
