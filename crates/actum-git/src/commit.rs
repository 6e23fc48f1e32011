//! Creates a commit of exactly the files that a run changed.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::path::Path;

use actum_core::{FileMode, RelPath};
use git2::Oid;

use crate::author::Author;
use crate::bounded::Bounded;
use crate::check::{Checked, View, as_path, git_mode};
use crate::conversion::ContentRules;
use crate::head::Head;
use crate::id::CommitId;
use crate::index::{IndexOutcome, IndexProblem, Moved, NotReady, Pending};
use crate::message::Message;
use crate::objects::{self, Object};
use crate::problem::{GitProblem, ResultExt};
use crate::repository::{Handle, Repository};
use crate::tree::{self, Entry};
use crate::unfit::Unfit;

/// Path that a run changed, with its new content. A renamed file is represented by two changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<'a> {
    /// Path of the file.
    pub path: &'a RelPath,
    /// File after the run, or `None` if the run removed it.
    pub after: Option<NewFile<'a>>,
}

/// Content and mode of a file after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewFile<'a> {
    /// Content of the file.
    pub bytes: &'a [u8],
    /// Mode of the file. git only stores the owner's executable bit.
    pub mode: FileMode,
}

/// Outcome of [`Repository::commit`].
#[derive(Debug)]
#[must_use = "the outcome states whether a commit was created"]
pub enum Outcome {
    /// The branch points to a new commit, which was synced to disk.
    Committed(Committed),
    /// No commit was created, because git sees no difference between the files and HEAD.
    Unchanged,
}

/// Commit that was created.
#[derive(Debug)]
pub struct Committed {
    /// Id of the commit.
    pub id: CommitId,
    /// Result of updating the user's index.
    pub index: IndexOutcome,
}

impl Repository {
    /// Creates a commit with exactly these files on top of the HEAD that was checked, and moves the branch to it. The
    /// reflog message is `actum: run` followed by the run that `message` names. When this method returns, the commit
    /// and the branch have been synced to disk.
    ///
    /// The content comes from `files`, and the files in the work tree are not opened. The user's index is updated for
    /// these files, and all other staged changes are kept. The commit is not signed, because signing would run a
    /// program.
    ///
    /// # Errors
    /// Returns [`GitProblem::HeadMoved`] if HEAD is not the one that was checked, and [`GitProblem::NotChecked`] if a
    /// file was not checked. Returns [`GitProblem::Dirty`] if a file has been staged since the check, and
    /// [`GitProblem::Unfit`] if git would not store the new bytes unchanged. If an error is returned, the branch was
    /// not moved, except for [`GitProblem::NotDurable`].
    pub fn commit(
        &self,
        checked: &Checked,
        files: &[Change<'_>],
        message: &Message,
        author: &Author,
    ) -> Result<Outcome, GitProblem> {
        let handle = self.handle()?;
        handle.is_at_rest()?;
        if Head::read(&handle.raw)? != checked.head {
            return Err(GitProblem::HeadMoved { branch: checked.branch() });
        }
        let view = View::new(&handle, &checked.head)?;
        let (new, blobs) = judged(&handle, &view, checked, files)?;
        objects::write(self, &blobs)?;
        let Some(id) = self.write_commit(&checked.head, &new, message, author)? else {
            return Ok(Outcome::Unchanged);
        };
        let pending = match Pending::prepare(&handle.raw, &new) {
            Ok(pending) => Ok(pending),
            Err(NotReady::Index(problem)) => Err(problem),
            Err(NotReady::Stop(problem)) => return Err(problem),
        };
        move_branch(&handle, &checked.head, id, message, author)?;
        // Read HEAD again, because libgit2 releases the lock on HEAD shortly before it moves the branch.
        let is_head = Head::read(&handle.raw)
            .is_ok_and(|now| now.branch == checked.head.branch && now.commit == id);
        let pending = pending.and_then(|ready| match is_head {
            true => Ok(ready),
            false => Err(IndexProblem::HeadMoved),
        });
        let index = match pending.and_then(Pending::publish) {
            Ok(()) => IndexOutcome::Updated,
            Err(problem) => IndexOutcome::NotUpdated(problem),
        };
        Ok(Outcome::Committed(Committed { id: CommitId::from_oid(id), index }))
    }
}

impl Repository {
    /// Writes the commit and its trees. The blobs must already be written. Returns `None` if the tree is the same as in
    /// HEAD.
    fn write_commit(
        &self,
        head: &Head,
        files: &[Moved<'_>],
        message: &Message,
        author: &Author,
    ) -> Result<Option<Oid>, GitProblem> {
        const DOING: &str = "creating the commit";
        // New objects are first kept in memory, and are discarded together with this handle.
        let Handle { raw, .. } = &self.handle()?;
        let odb = raw.odb().doing(DOING)?;
        let _memory = odb.add_new_mempack_backend(i32::MAX).doing(DOING)?;
        let parent = raw.bounded_commit(head.commit).doing(DOING)?;
        let base = raw.bounded_tree(parent.tree_id()).doing(DOING)?;
        let wanted: Vec<_> = files.iter().map(|file| (file.path.as_bytes(), file.new)).collect();
        let trees = tree::build(raw, &base, &wanted)?;
        let Some(tree) = trees.last().copied().filter(|tree| *tree != base.id()) else {
            return Ok(None);
        };
        let (tree, author) = (raw.bounded_tree(tree).doing(DOING)?, author.signature()?);
        let bytes = raw.commit_create_buffer(&author, &author, message.text(), &tree, &[&parent]);
        let bytes = bytes.doing(DOING)?;
        let commit = Object::commit(&bytes)?;
        let id = commit.id;
        let trees = trees.into_iter().map(|tree| Object::tree(&odb, tree));
        objects::write(self, &trees.chain([Ok(commit)]).collect::<Result<Vec<_>, _>>()?)?;
        Ok(Some(id))
    }
}

/// Checks all files, and returns the new entry of each path and the blobs of the new files.
fn judged<'a>(
    handle: &Handle,
    view: &View<'_>,
    checked: &Checked,
    files: &[Change<'a>],
) -> Result<(Vec<Moved<'a>>, Vec<Object<'a>>), GitProblem> {
    let (mut moved, mut blobs, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for Change { path, after } in files {
        let path = *path;
        let (Some(old), true) = (checked.files.get(path).copied(), seen.insert(path)) else {
            return Err(GitProblem::NotChecked { path: path.clone() });
        };
        view.is_unstaged(path, old)?;
        let mut new = None;
        if let Some(NewFile { bytes, mode }) = *after {
            if let Some(conversion) = ContentRules::new(&handle.raw, as_path(path))?.converts(bytes)
            {
                let unfit = Unfit::Converted(conversion);
                return Err(GitProblem::Unfit { path: path.clone(), unfit });
            }
            let blob = Object::blob(bytes)?;
            new = Some(Entry { blob: blob.id, mode: git_mode(mode) });
            blobs.push(blob);
        }
        moved.push(Moved { path, old, new });
    }
    Ok((moved, blobs))
}

/// Copies the mode of a reference to its `.lock` file, which will replace it, so that the umask has no effect. Does
/// nothing for a reference that only exists in `packed-refs`.
fn keep_mode(reference: &Path) -> std::io::Result<()> {
    let mut lock = reference.as_os_str().to_owned();
    lock.push(".lock");
    match fs::symlink_metadata(reference) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if found.is_file() => {
            // This process holds the lock, so no other process replaces the file.
            OpenOptions::new().write(true).open(lock)?.set_permissions(found.permissions())
        }
        Ok(_) => Ok(()),
    }
}

/// Moves the branch from the commit that was checked to the new one. A lock prevents other processes from moving the
/// branch or HEAD at the same time.
fn move_branch(
    handle: &Handle,
    head: &Head,
    to: Oid,
    message: &Message,
    author: &Author,
) -> Result<(), GitProblem> {
    const DOING: &str = "moving the branch";
    let (raw, branch) = (&handle.raw, head.branch_name());
    let mut transaction = raw.transaction().doing(DOING)?;
    for name in ["HEAD", &head.branch] {
        transaction.lock_ref(name).map_err(|source| {
            match source.code() == git2::ErrorCode::Locked {
                true => GitProblem::Busy { branch: branch.clone() },
                false => GitProblem::Git { doing: DOING, source },
            }
        })?;
    }
    if Head::read(raw)? != *head {
        return Err(GitProblem::HeadMoved { branch });
    }
    let reflog_message = format!("actum: run {}", message.run());
    transaction
        .set_target(&head.branch, to, Some(&author.signature()?), &reflog_message)
        .doing(DOING)?;
    keep_mode(&raw.commondir().join(&head.branch)).doing(DOING)?;
    let moved = transaction.commit().doing(DOING);
    match moved {
        Ok(()) => Ok(()),
        // The branch may have been moved even if the disk did not confirm it.
        Err(source) if Head::read(raw).is_ok_and(|now| now.commit == to) => {
            let (commit, source) = (CommitId::from_oid(to), Box::new(source));
            Err(GitProblem::NotDurable { branch, commit, source })
        }
        Err(problem) => Err(problem),
    }
}
