//! Transactions. Steps are computed in order, each on top of the result of the previous ones, and nothing becomes
//! visible until the transaction commits.

pub(crate) mod acl;
pub(crate) mod adopt;
mod begin;
pub(crate) mod changes;
pub(crate) mod commit;
mod cost;
pub(crate) mod directory;
mod edit;
pub(crate) mod ending;
pub(crate) mod inherit;
mod keep;
pub(crate) mod new_content;
pub(crate) mod node;
pub(crate) mod observe;
mod private_place;
mod savepoint;
pub(crate) mod stage;
mod stage_content;
pub(crate) mod staged_directory;
pub(crate) mod staged_file;
mod steps;
pub(crate) mod take;
mod take_snapshot;
pub(crate) mod undeclared;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use actum_core::{Digest, FileMode, FileState, RelPath, RunId};
use actum_edit::edit::EditWork;
use actum_edit::hunk::MovedHunk;
use actum_edit::{EmptyParents, ModeChange, Operation};

use crate::attributes::Attributes;
use crate::content::Sink;
use crate::disk::Disk;
use crate::error::{Error, ErrorKind, NeededFor, Result, ResultExt};
use crate::file_by_path::OpenedDirectory;
use crate::home::Lock;
use crate::journal::record::RunKind;
use crate::recovery_report::Recovery;
use crate::snapshot::SnapshotId;
use crate::transaction::adopt::Adoption;
use crate::transaction::changes::Outcome;
use crate::transaction::inherit::Inherited;
use crate::transaction::keep::StoredDelta;
use crate::transaction::node::{Content, New, Nodes, Post, PostFile, Pre};
use crate::transaction::observe::under;
use crate::transaction::savepoint::UndoLog;
use crate::transaction::take::{Taken, TakenFrom};
use crate::tree::{Parents, Tree};
use crate::workspace::{ExistingFiles, Limits, Workspace};

/// Maximum length of a symbolic link target in bytes (`PATH_MAX` without the terminating NUL, symlink(2)).
pub(crate) const LINK_BYTES_MAX: usize = 4095;

/// Number of bytes of small files that a transaction caches in memory. Files beyond that are opened again when they are
/// needed.
const READ_BYTES_MAX: u64 = 64 << 20;

/// Set of changes that is being composed. A transaction holds the workspace lock, and dropping it without a commit
/// leaves no trace.
pub struct Transaction<'w, D: Disk> {
    pub(crate) workspace: &'w mut Workspace<D>,
    /// Workspace lock, held until the transaction is dropped.
    _lock: Lock<D>,
    /// Set if staged files must be removed when the transaction ends.
    pub(crate) sweep: bool,
    pub(crate) run: RunId,
    pub(crate) kind: RunKind,
    pub(crate) label: String,
    pub(crate) limits: Limits,
    pub(crate) nodes: Nodes<D::Handle>,
    pub(crate) broken_links: Vec<RelPath>,
    /// Set once the extra hard links created by actum were removed.
    pub(crate) is_swept: bool,
    moved_hunks: Vec<(RelPath, MovedHunk)>,
    /// Editing work done so far, which is limited.
    edit_work: EditWork,
    pub(crate) kept_edits: Vec<RelPath>,
    pub(crate) as_before: Vec<RelPath>,
    /// Contents, by digest, that an undo falls back to if the workspace has lost its own copies.
    pub(crate) images: BTreeMap<Digest, Vec<u8>>,
    /// Umask applied to the mode of new files.
    pub(crate) umask: u32,
    /// Cached changes that the steps would make. Reset by every step.
    outcome: Option<Outcome>,
    /// Undo log of the open savepoints.
    undo_log: UndoLog<D::Handle>,
    /// Set if the transaction undoes a change, as opposed to undoing an undo.
    pub(crate) undoes_change: bool,
    staged: u32,
    /// Deltas of changed files that the caller had written to a directory outside of `.actum`.
    pub(crate) deltas: BTreeMap<RelPath, StoredDelta<D::Handle>>,
    /// Open directories of the files that were read. Publishing opens its own.
    pub(crate) parents: Parents<D::Handle>,
    /// Directories already checked and found not to be a home of ledgers and keys.
    pub(crate) looked_at: BTreeSet<RelPath>,
    /// Names that each listed directory would contain after the steps so far.
    names: HashMap<RelPath, BTreeSet<Vec<u8>>>,
    /// Adopted change, set if another program has already published the files.
    pub(crate) adoption: Option<Adoption>,
    /// Files taken from captures, by the id of the capture. The commit removes them from the captures.
    captures: BTreeMap<RunId, TakenFrom<D::Handle>>,
    /// Open workspace root, set once a file has to be opened by its path.
    root: Option<Arc<OpenedDirectory<D::Handle>>>,
    /// Remaining number of bytes of small workspace files that may be cached in memory.
    read_bytes_left: u64,
    /// Queued plan that the transaction carries out.
    plan: Option<RunId>,
    /// Remaining number of bytes of captured contents that may be held in memory.
    captured_bytes_left: u64,
    /// Snapshot that the transaction restores. The commit removes it.
    pub(crate) restored_snapshot: Option<SnapshotId>,
    /// Attributes that new entries inherit, by directory: the group of a set-group-ID directory, and the default ACL.
    pub(crate) inherited: RefCell<HashMap<Option<RelPath>, Arc<Inherited>>>,
}

impl<'w, D: Disk> Transaction<'w, D> {
    pub(crate) fn new(
        workspace: &'w mut Workspace<D>,
        lock: Lock<D>,
        kind: RunKind,
        label: String,
        limits: Limits,
    ) -> Result<Self> {
        let random = workspace.disk.random().doing(|| "generate a run id".to_owned())?;
        Ok(Self {
            umask: workspace.umask,
            workspace,
            _lock: lock,
            sweep: false,
            run: RunId::from_random(random),
            kind,
            label,
            limits,
            nodes: BTreeMap::new(),
            broken_links: Vec::new(),
            is_swept: false,
            edit_work: EditWork::default(),
            moved_hunks: Vec::new(),
            kept_edits: Vec::new(),
            images: BTreeMap::new(),
            as_before: Vec::new(),
            outcome: None,
            undo_log: UndoLog::default(),
            undoes_change: false,
            staged: 0,
            deltas: BTreeMap::new(),
            parents: Parents::default(),
            looked_at: BTreeSet::new(),
            names: HashMap::new(),
            adoption: None,
            captures: BTreeMap::new(),
            plan: None,
            root: None,
            read_bytes_left: READ_BYTES_MAX,
            captured_bytes_left: take::CAPTURED_BYTES_MAX,
            restored_snapshot: None,
            inherited: RefCell::default(),
        })
    }

    /// Returns the id of the run that this transaction becomes when it commits.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Returns the recovery performed since the workspace was opened, if there was one.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.workspace.recovery()
    }

    /// Returns the one-line label that describes the run in the log.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Carries out one step.
    ///
    /// # Errors
    /// Any [`ErrorKind`] that concerns the step. The transaction cannot be used after an error.
    pub fn operate(&mut self, operation: &Operation) -> Result<()> {
        match operation {
            Operation::Patch { path, hunks, expected } => self.patch(path, hunks, *expected),
            Operation::Edit { path, edit, expected } => self.edit(path, edit, *expected),
            Operation::Write { path, content, expected } => self.write(path, content, *expected),
            Operation::Create { path, content, mode } => self.create(path, content, *mode),
            Operation::Take { path, capture, sha256, size, mode, expected } => {
                let taken = Taken { capture: *capture, sha256: *sha256, size: *size };
                self.take(path, taken, *mode, *expected)
            }
            Operation::Delete { path, expected, parents } => self.delete(path, *expected, *parents),
            Operation::Rename { from, to, parents } => self.rename(from, to, *parents),
            Operation::Copy { from, to } => self.copy(from, to),
            Operation::Chmod { path, mode } => self.chmod(path, *mode),
            Operation::ChmodDirectory { path, mode, expected } => {
                self.chmod_directory(path, *mode, *expected)
            }
            Operation::MakeDirectory { path, mode } => self.make_directory(path, *mode),
            Operation::RemoveDirectory { path } => self.remove_directory(path),
            Operation::Link { path, target, expected } => self.link(path, target, *expected),
        }
    }

    /// Reads a whole file into memory, with the steps so far applied.
    ///
    /// # Errors
    /// `Missing`, `NotAFile`, `Io`.
    pub fn read(&mut self, path: &RelPath) -> Result<Vec<u8>> {
        let file = self.file(path)?;
        let mut content = Vec::new();
        self.each_piece(path, &file, |piece| {
            content.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(content)
    }

    /// Returns the target of a symbolic link, with the steps so far applied.
    ///
    /// # Errors
    /// `Missing`; `NotAFile` if the path is a directory; `Exists` if it is a regular file; `Io`.
    pub fn link_target(&mut self, path: &RelPath) -> Result<Arc<Vec<u8>>> {
        let link = self.file_or_link(path)?;
        if !link.attributes.mode.is_link() {
            return Err(ErrorKind::Exists { path: path.clone() }.into());
        }
        self.whole(path, &link)
    }

    /// Returns the digest, size and mode of a file, with the steps so far applied.
    ///
    /// # Errors
    /// Same errors as [`read`](Self::read).
    pub fn file_state(&mut self, path: &RelPath) -> Result<FileState> {
        let PostFile { attributes, digest, size, .. } = self.file(path)?;
        Ok(FileState { sha256: digest, size, mode: attributes.mode })
    }

    /// Returns the [`file_state`](Self::file_state), but stops reading a large file as soon as `is_stopped` returns
    /// true. The callback is invoked before each 256 KiB.
    ///
    /// # Errors
    /// Same errors as [`file_state`](Self::file_state); `Io` with the kind `Interrupted` if reading was stopped.
    pub fn file_state_unless(
        &mut self,
        path: &RelPath,
        mut is_stopped: impl FnMut() -> bool,
    ) -> Result<FileState> {
        self.node_unless(path, &mut is_stopped)?;
        self.file_state(path)
    }

    /// Replaces the entire content of an existing file.
    pub fn write(
        &mut self,
        path: &RelPath,
        content: &[u8],
        expected: Option<Digest>,
    ) -> Result<()> {
        self.in_scope(path)?;
        let file = self.expected_file(path, expected)?;
        let origin = file.content.origin(path).cloned();
        let post = self.stage(path, content, file.attributes, origin)?;
        self.set(path, post)
    }

    /// Creates a file at an unused path, together with any missing parent directories.
    pub fn create(
        &mut self,
        path: &RelPath,
        content: &[u8],
        mode: Option<ModeChange>,
    ) -> Result<()> {
        self.in_scope(path)?;
        if self.replaces(path)? {
            self.write(path, content, None)?;
            return mode.map_or(Ok(()), |mode| self.chmod(path, mode));
        }
        self.check_absent(path)?;
        self.make_parents(path)?;
        let attributes = self.fresh_attributes(path, mode)?;
        let post = self.stage(path, content, attributes, None)?;
        self.set(path, post)
    }

    /// Creates a symbolic link at an unused path, together with any missing parent directories. If `expected` is given,
    /// an existing link whose target has that digest is retargeted instead. The link is never followed.
    ///
    /// # Errors
    /// `LinkTarget` if the target is not valid for a symbolic link; `Exists` if the path is in use by something else;
    /// `Expected`, `Missing`, `Scope`, `Blocked`, `Io`.
    pub fn link(&mut self, path: &RelPath, target: &[u8], expected: Option<Digest>) -> Result<()> {
        self.in_scope(path)?;
        if target.is_empty() || target.contains(&0) || target.len() > LINK_BYTES_MAX {
            return Err(ErrorKind::LinkTarget { path: path.clone(), bytes: target.len() }.into());
        }
        let (attributes, origin) = match expected {
            None => {
                if !matches!(self.node(path)?.post, Post::Absent) {
                    return Err(ErrorKind::Exists { path: path.clone() }.into());
                }
                self.make_parents(path)?;
                let fresh = self.fresh_attributes(path, None)?;
                (Attributes { mode: FileMode::LINK, xattrs: Vec::new(), ..fresh }, None)
            }
            Some(_) => {
                let link = self.expected_file_or_link(path, expected)?;
                if !link.attributes.mode.is_link() {
                    return Err(ErrorKind::Exists { path: path.clone() }.into());
                }
                let origin = link.content.origin(path).cloned();
                (link.attributes, origin)
            }
        };
        let post = self.stage(path, target, attributes, origin)?;
        self.set(path, post)
    }

    /// Deletes a file or a symbolic link.
    pub fn delete(
        &mut self,
        path: &RelPath,
        expected: Option<Digest>,
        parents: EmptyParents,
    ) -> Result<()> {
        self.in_scope(path)?;
        self.expected_file_or_link(path, expected)
            .map_err(|error| error.needed_for(NeededFor::Delete))?;
        self.set(path, Post::Absent)?;
        self.prune(path, parents)
    }

    /// Moves a file or a symbolic link to an unused path. The inode itself moves, so it keeps all of its attributes.
    ///
    /// # Errors
    /// `Missing`, `Exists`, `NotAFile`, `UnderAFile`, `Scope`, `Blocked`, `Io`.
    pub fn rename(&mut self, from: &RelPath, to: &RelPath, parents: EmptyParents) -> Result<()> {
        self.in_scope(from)?;
        self.in_scope(to)?;
        let missing = |error: Error| error.needed_for(NeededFor::Rename);
        let mut file = self.file_or_link(from).map_err(missing)?;
        let nested = from != to && (to.starts_with(from) || from.starts_with(to));
        if nested {
            // One path is a parent of the other, so the file must first be removed from its old path.
            self.set(from, Post::Absent)?;
            self.prune(from, parents)?;
        }
        self.make_room(from, to)?;
        file.content = match file.content {
            Content::Untouched => Content::Moved(from.clone()),
            Content::Moved(origin) if origin == *to => Content::Untouched,
            Content::Moved(origin) => Content::Moved(origin),
            // The splices are relative to the content at the old path, so they no longer apply.
            Content::New(new) => Content::New(New { splices: None, ..new }),
        };
        if !nested {
            self.set(from, Post::Absent)?;
        }
        self.set(to, Post::File(file))?;
        if nested { Ok(()) } else { self.prune(from, parents) }
    }

    /// Copies a file with its mode and extended attributes, or a symbolic link with its target, to an unused path. The
    /// copy belongs to the current user, like any other new file.
    pub fn copy(&mut self, from: &RelPath, to: &RelPath) -> Result<()> {
        self.in_scope(to)?;
        let file = self.file_or_link(from).map_err(|error| error.needed_for(NeededFor::Copy))?;
        if file.attributes.mode.is_link() {
            let target = self.whole(from, &file)?;
            return self.link(to, &target, None);
        }
        self.make_room(from, to)?;
        let fresh = self.fresh_attributes(to, Some(ModeChange::Exact(file.attributes.mode)))?;
        let name = self.stage_name();
        let mut sink = Sink::new(&self.workspace.disk, &self.workspace.home.stage, name);
        let doing = || format!("stage `{to}`");
        self.each_piece(from, &file, |piece| {
            sink.write(piece);
            Ok(())
        })?;
        let written = sink.finish().doing(doing)?;
        let attributes = Attributes { xattrs: file.attributes.xattrs.clone(), ..fresh };
        self.set(to, Post::File(PostFile::written(written, attributes, None)))
    }

    /// Changes the permission bits of a file or directory without replacing it.
    pub fn chmod(&mut self, path: &RelPath, mode: ModeChange) -> Result<()> {
        self.in_scope(path)?;
        if let Post::Directory(attributes) = &self.node(path)?.post {
            let before = attributes.mode;
            return self.chmod_directory(path, mode.apply(before), before);
        }
        let mut file = self.file(path)?;
        file.attributes.mode = mode.apply(file.attributes.mode);
        self.set(path, Post::File(file))
    }

    /// Returns true if `path` has a file that the limits allow to be replaced.
    fn replaces(&mut self, path: &RelPath) -> Result<bool> {
        let may = self.limits.existing_files == ExistingFiles::Replace;
        Ok(may && matches!(self.node(path)?.post, Post::File(_)))
    }

    /// Ensures that the file at `from` can be moved or copied to `to`, and creates any missing parent directories.
    fn make_room(&mut self, from: &RelPath, to: &RelPath) -> Result<()> {
        if from != to && self.replaces(to)? {
            return self.delete(to, None, EmptyParents::Keep);
        }
        self.check_absent(to)?;
        self.make_parents(to)
    }

    /// Returns the paths of files with several hard links. The commit separates these paths from the other links.
    pub fn broken_links(&self) -> &[RelPath] {
        &self.broken_links
    }

    /// Returns true if the transaction does nothing except restore the state before a change. This is the case for the
    /// undo of a change in which no file keeps later edits, but not for the undo of an undo.
    pub fn restores(&self) -> bool {
        self.undoes_change && self.kept_edits.is_empty()
    }

    /// Returns the paths that an undo leaves alone because they are already in the state from before the undone run.
    pub fn as_before(&self) -> &[RelPath] {
        &self.as_before
    }

    /// Returns the files that were edited after the undone run and keep those edits.
    pub fn kept_edits(&self) -> &[RelPath] {
        &self.kept_edits
    }

    /// Returns the hunks that apply at a different line than stated, which the limits can allow.
    pub fn moved_hunks(&self) -> &[(RelPath, MovedHunk)] {
        &self.moved_hunks
    }

    /// Discards the changes and removes the staged files.
    pub fn abort(self) {}

    pub(crate) fn set(&mut self, path: &RelPath, post: Post<D::Handle>) -> Result<()> {
        if let Some(names) = path.parent().and_then(|parent| self.names.get_mut(&parent)) {
            note_name(names, path, &post);
        }
        let before = std::mem::replace(&mut self.node(path)?.post, post);
        self.record_change(path, before);
        Ok(())
    }

    /// Returns a new name in the stage directory, used for content that is too large for memory.
    pub(crate) fn stage_name(&mut self) -> Vec<u8> {
        self.staged += 1;
        self.sweep = true;
        format!("{}.s{}", self.run, self.staged).into_bytes()
    }

    /// Stages new content that replaces the content of the file originally at `origin`.
    fn stage(
        &mut self,
        path: &RelPath,
        content: &[u8],
        attributes: Attributes,
        origin: Option<RelPath>,
    ) -> Result<Post<D::Handle>> {
        let name = self.stage_name();
        let mut sink = Sink::new(&self.workspace.disk, &self.workspace.home.stage, name);
        let doing = || format!("stage `{path}`");
        sink.write(content);
        let written = sink.finish().doing(doing)?;
        Ok(Post::File(PostFile::written(written, attributes, origin)))
    }

    /// Creates the missing parent directories of `path`.
    pub(crate) fn make_parents(&mut self, path: &RelPath) -> Result<()> {
        let Some(parent) = path.parent() else { return Ok(()) };
        match &self.node(&parent)?.post {
            Post::Directory(_) => return Ok(()),
            Post::File(file) => return Err(under(path, &parent, file)),
            Post::Absent => {}
        }
        self.make_parents(&parent)?;
        let attributes = match &self.node(&parent)?.pre {
            // The directory exists on disk and was only removed by an earlier step.
            Pre::Directory(attributes) => attributes.clone(),
            Pre::Absent | Pre::File(_) => self.fresh_directory_attributes(&parent, None)?,
        };
        self.set(&parent, Post::Directory(attributes))
    }

    /// Removes the parent directories of `path` that have become empty.
    fn prune(&mut self, path: &RelPath, parents: EmptyParents) -> Result<()> {
        let mut above = path.parent().filter(|_| parents == EmptyParents::Remove);
        while let Some(directory) = above {
            if !self.is_empty_directory(&directory)? {
                return Ok(());
            }
            self.set(&directory, Post::Absent)?;
            above = directory.parent();
        }
        Ok(())
    }

    /// Returns true if `directory` would be an empty directory after the steps so far.
    pub(crate) fn is_empty_directory(&mut self, directory: &RelPath) -> Result<bool> {
        let node = self.node(directory)?;
        if !matches!(node.post, Post::Directory(_)) {
            return Ok(false);
        }
        let is_on_disk = matches!(node.pre, Pre::Directory(_));
        if let Some(names) = self.names.get(directory) {
            return Ok(names.is_empty());
        }
        let mut names = BTreeSet::new();
        if is_on_disk {
            let tree = Tree::new(&self.workspace.disk, &self.workspace.home.root);
            names.extend(tree.names(directory)?);
        }
        for (path, node) in self.nodes.range(directory.clone()..) {
            if !path.starts_with(directory) {
                // Skip names such as `d.txt` that sort between `d` and `d/` but are not inside `d`.
                if path.as_bytes().starts_with(directory.as_bytes()) {
                    continue;
                }
                break;
            }
            if path.parent().as_ref() == Some(directory) {
                note_name(&mut names, path, &node.post);
            }
        }
        let is_empty = names.is_empty();
        self.names.insert(directory.clone(), names);
        Ok(is_empty)
    }
}

fn note_name<H>(names: &mut BTreeSet<Vec<u8>>, path: &RelPath, post: &Post<H>) {
    match post {
        Post::Absent => {
            names.remove(path.name());
        }
        Post::File(_) | Post::Directory(_) => {
            names.insert(path.name().to_vec());
        }
    }
}

impl<D: Disk> Drop for Transaction<'_, D> {
    /// Removes staged files that were not committed. Any that cannot be removed now are swept later.
    fn drop(&mut self) {
        // Release the open files first, because the process may have reached its limit of file descriptors.
        self.nodes.clear();
        self.parents.borrow_mut().clear();
        if self.sweep {
            self.workspace.sweep_run(self.run);
        }
    }
}
