//! Commit of exactly a run's files.

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

/// Path with the file that a run left, if any. A renamed file is two of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<'a> {
    /// The path.
    pub path: &'a RelPath,
    /// The file, or `None` if it is gone.
    pub after: Option<NewFile<'a>>,
}

/// File as a run left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewFile<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its mode; git keeps only the owner's executable bit.
    pub mode: FileMode,
}

/// Outcome of a commit.
#[derive(Debug)]
#[must_use = "it says whether there is a commit"]
pub enum Outcome {
    /// The branch is at a new commit, which is on the disk.
    Committed(Committed),
    /// The files equal those of HEAD, as git sees them; no commit was made.
    Unchanged,
}

/// Commit that was made.
#[derive(Debug)]
pub struct Committed {
    /// Its id.
    pub id: CommitId,
    /// Outcome for the user's index.
    pub index: IndexOutcome,
}

impl Repository {
    /// Makes a commit that holds exactly these files on top of the HEAD that was checked, and moves the branch to it.
    /// The reflog entry is `actum: run` and the run that `message` names. When this returns, the commit and the branch
    /// are on the disk.
    ///
    /// The bytes are those that are given; the files themselves are not opened. The entries of these files in the
    /// user's index are updated, and everything else that is staged remains so. Nothing is signed, since that would run
    /// a program.
    ///
    /// # Errors
    /// [`GitProblem::HeadMoved`] if HEAD differs from the checked one; [`GitProblem::Dirty`] if one of the files was
    /// staged meanwhile; [`GitProblem::Unfit`] if git would not store new bytes unchanged; [`GitProblem::NotChecked`]
    /// for a file that was not checked. Only [`GitProblem::NotDurable`] leaves a branch that was moved.
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
        // libgit2 releases the lock of HEAD a moment before it moves the branch.
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
    /// Writes the commit and its trees, whose blobs are written; `None` if its tree is that of HEAD.
    fn write_commit(
        &self,
        head: &Head,
        files: &[Moved<'_>],
        message: &Message,
        author: &Author,
    ) -> Result<Option<Oid>, GitProblem> {
        const DOING: &str = "making the commit";
        // New objects are in memory at first, and are gone with this handle.
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

/// Returns the new entry of each path, and the blobs of the new files, after all were checked.
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

/// Sets the mode of the file that is about to replace that of a reference to the old mode, whatever the umask is. A
/// reference in `packed-refs` has no file yet.
fn keep_mode(reference: &Path) -> std::io::Result<()> {
    let mut lock = reference.as_os_str().to_owned();
    lock.push(".lock");
    match fs::symlink_metadata(reference) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if found.is_file() => {
            // The lock belongs to this process, so no other process replaces it.
            OpenOptions::new().write(true).open(lock)?.set_permissions(found.permissions())
        }
        Ok(_) => Ok(()),
    }
}

/// Moves the branch from the commit that was checked to the new one, while no other process can move it or HEAD.
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
    let said = format!("actum: run {}", message.run());
    transaction.set_target(&head.branch, to, Some(&author.signature()?), &said).doing(DOING)?;
    keep_mode(&raw.commondir().join(&head.branch)).doing(DOING)?;
    let moved = transaction.commit().doing(DOING);
    match moved {
        Ok(()) => Ok(()),
        // The name may be there although the disk did not confirm it.
        Err(source) if Head::read(raw).is_ok_and(|now| now.commit == to) => {
            let (commit, source) = (CommitId::from_oid(to), Box::new(source));
            Err(GitProblem::NotDurable { branch, commit, source })
        }
        Err(problem) => Err(problem),
    }
}
