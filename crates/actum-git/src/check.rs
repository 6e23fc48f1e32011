//! Checks before a run whether its files can be committed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use actum_core::{Digest, FileMode, FileState, RelPath};
use git2::{Index, ObjectType, Tree};

use crate::bounded::Bounded;
use crate::conversion::ContentRules;
use crate::head::Head;
use crate::problem::{Dirt, GitProblem, ResultExt};
use crate::repository::{Handle, Repository};
use crate::tree::{EXECUTABLE, Entry, REGULAR};
use crate::unfit::Unfit;

/// Path that a run will change, with the file's state before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// Path of the file.
    pub path: RelPath,
    /// State of the file before the run, or `None` if it does not exist.
    pub state: Option<FileState>,
}

/// Files that can be committed on top of the HEAD that they were checked against. The check is not valid for any other
/// HEAD.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the result is needed to create the commit"]
pub struct Checked {
    pub(crate) head: Head,
    /// Entry in HEAD for each path, if there is one.
    pub(crate) files: BTreeMap<RelPath, Option<Entry>>,
}

impl Checked {
    /// Returns the short name of the branch to commit to, such as `main`.
    pub fn branch(&self) -> String {
        self.head.branch_name()
    }
}

impl Repository {
    /// Checks that the files of a run can be committed. Each file must be in HEAD and in the index exactly as it is
    /// before the run, and git must be able to store its bytes unchanged.
    ///
    /// Reads only the repository, `.gitattributes` and `.gitignore`. The files themselves are not opened.
    ///
    /// # Errors
    /// Returns [`GitProblem::Dirty`] or [`GitProblem::Unfit`] for the first file that cannot be committed. If there is
    /// no branch to commit to, the error is [`GitProblem::InProgress`], [`GitProblem::DetachedHead`] or
    /// [`GitProblem::UnbornHead`]. All errors of [`Repository::open`] are also possible.
    pub fn check(&self, files: &[Before]) -> Result<Checked, GitProblem> {
        let handle = self.handle()?;
        handle.is_at_rest()?;
        let head = Head::read(&handle.raw)?;
        let view = View::new(&handle, &head)?;
        let mut checked = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for Before { path, state } in files {
            view.accepts(path, &mut seen)?;
            let entry = view.entry_before(path, state.as_ref())?;
            if checked.insert(path.clone(), entry).is_some() {
                return Err(GitProblem::NotChecked { path: path.clone() });
            }
        }
        Ok(Checked { head, files: checked })
    }
}

/// Tree of HEAD and the index, for lookups by path.
pub(crate) struct View<'h> {
    handle: &'h Handle,
    pub(crate) tree: Tree<'h>,
    index: Index,
}

const DOING: &str = "reading HEAD and the index";

impl<'h> View<'h> {
    pub(crate) fn new(handle: &'h Handle, head: &Head) -> Result<Self, GitProblem> {
        let raw = &handle.raw;
        let tree = raw.bounded_commit(head.commit).doing(DOING)?.tree_id();
        let tree = raw.bounded_tree(tree).doing(DOING)?;
        let index = raw.index().doing(DOING)?;
        if index.has_conflicts() {
            return Err(GitProblem::InProgress {
                what: "the resolution of conflicts in the index",
            });
        }
        Ok(Self { handle, tree, index })
    }

    /// Returns the entry at a path if HEAD, the index and the file before the run are equal. Otherwise it returns an
    /// error.
    fn entry_before(
        &self,
        path: &RelPath,
        state: Option<&FileState>,
    ) -> Result<Option<Entry>, GitProblem> {
        let dirty = |dirt| GitProblem::Dirty { path: path.clone(), dirt };
        let unfit = |unfit| GitProblem::Unfit { path: path.clone(), unfit };
        let rules = ContentRules::new(&self.handle.raw, as_path(path))?;
        if let Some(conversion) = rules.always() {
            return Err(unfit(Unfit::Converted(conversion)));
        }
        let in_head = self.in_head(path)?;
        let is_ignored = || self.handle.raw.is_path_ignored(as_path(path)).doing(DOING);
        let (state, entry) = match (state, in_head) {
            (None, None) if is_ignored()? => return Err(unfit(Unfit::Ignored)),
            (None, None) => {
                self.is_unstaged(path, None)?;
                return Ok(None);
            }
            (None, Some(_)) => return Err(dirty(Dirt::Removed)),
            (Some(_), None) if is_ignored()? => return Err(unfit(Unfit::Ignored)),
            (Some(_), None) => return Err(dirty(Dirt::Untracked)),
            (Some(state), Some(entry)) => (state, entry),
        };
        let blob = self.handle.raw.bounded_blob(entry.blob).doing("reading a file of HEAD")?;
        if let Some(conversion) = rules.converts(blob.content()) {
            return Err(unfit(Unfit::Converted(conversion)));
        }
        if Digest::of(blob.content()) != state.sha256 {
            return Err(dirty(Dirt::Content));
        }
        if git_mode(state.mode) != entry.mode {
            return Err(dirty(Dirt::Mode));
        }
        self.is_unstaged(path, Some(entry))?;
        Ok(Some(entry))
    }

    fn in_head(&self, path: &RelPath) -> Result<Option<Entry>, GitProblem> {
        let found = match self.tree.get_path(as_path(path)) {
            Ok(found) => found,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            Err(source) => return Err(GitProblem::Git { doing: DOING, source }),
        };
        let mode = found.filemode();
        if mode == REGULAR || mode == EXECUTABLE {
            return Ok(Some(Entry { blob: found.id(), mode }));
        }
        if found.kind() == Some(ObjectType::Tree) {
            // The run has to remove this directory first, which is checked when the commit's tree is built.
            return Ok(None);
        }
        Err(GitProblem::Dirty { path: path.clone(), dirt: Dirt::Kind })
    }

    /// Returns an error if the index entry of a path differs from HEAD.
    pub(crate) fn is_unstaged(
        &self,
        path: &RelPath,
        in_head: Option<Entry>,
    ) -> Result<(), GitProblem> {
        if is_staged(&self.index, path, in_head) {
            return Err(GitProblem::Dirty { path: path.clone(), dirt: Dirt::Staged });
        }
        Ok(())
    }

    /// Rejects paths that git does not accept, and paths in other repositories. Directories in `seen` were accepted
    /// before and are not checked again.
    fn accepts(&self, path: &RelPath, seen: &mut BTreeSet<RelPath>) -> Result<(), GitProblem> {
        let unfit = |unfit| GitProblem::Unfit { path: path.clone(), unfit };
        let raw = &self.handle.raw;
        let mut builder = raw.treebuilder(None).doing(DOING)?;
        for name in path.components() {
            // The builder is only used to check which names git accepts. Nothing is written.
            if builder.insert(name, self.tree.id(), 0o040_000).is_err() {
                return Err(unfit(Unfit::Name));
            }
        }
        self.rules_are_files(None).map_err(unfit)?;
        let mut at = Some(path.clone());
        while let Some(place) = at {
            let parent = place.parent();
            if !seen.contains(&place) {
                let is_itself = &place == path;
                self.is_in_this_repository(&place, is_itself).map_err(unfit)?;
                if !is_itself {
                    self.rules_are_files(Some(&place)).map_err(unfit)?;
                    seen.insert(place);
                }
            }
            at = parent;
        }
        Ok(())
    }

    fn is_in_this_repository(&self, place: &RelPath, is_itself: bool) -> Result<(), Unfit> {
        let in_head = self.tree.get_path(as_path(place)).ok();
        let is_link = in_head.is_some_and(|entry| entry.kind() == Some(ObjectType::Commit));
        let in_index = self.index.get_path(as_path(place), 0);
        let is_staged_link = in_index.is_some_and(|entry| entry.mode == 0o160_000);
        if is_link || is_staged_link {
            return Err(Unfit::Submodule { at: place.clone() });
        }
        let git = self.handle.root.join(as_path(place)).join(".git");
        if !is_itself && fs::symlink_metadata(git).is_ok() {
            return Err(Unfit::Nested { at: place.clone() });
        }
        Ok(())
    }

    /// Checks that `.gitattributes` and `.gitignore` in a directory are regular files, if they exist. libgit2 would
    /// block on a FIFO, and git does not follow symbolic links there.
    fn rules_are_files(&self, directory: Option<&RelPath>) -> Result<(), Unfit> {
        for name in [".gitattributes", ".gitignore"] {
            let at = match directory {
                Some(directory) => [directory.as_bytes(), b"/", name.as_bytes()].concat(),
                None => name.as_bytes().to_vec(),
            };
            let place = self.handle.root.join(OsStr::from_bytes(&at));
            let is_other = fs::symlink_metadata(place).is_ok_and(|found| !found.is_file());
            if let (true, Ok(at)) = (is_other, RelPath::new(&at)) {
                return Err(Unfit::Rules { at });
            }
        }
        Ok(())
    }
}

/// Returns true if the index entry of a path differs from HEAD.
pub(crate) fn is_staged(index: &Index, path: &RelPath, in_head: Option<Entry>) -> bool {
    let staged = index.get_path(as_path(path), 0);
    let staged = staged.map(|entry| (entry.id, i32::try_from(entry.mode).unwrap_or(0)));
    staged != in_head.map(|entry| (entry.blob, entry.mode))
}

/// Returns the mode that git stores for a file.
pub(crate) fn git_mode(mode: FileMode) -> i32 {
    if mode.bits() & 0o100 == 0 { REGULAR } else { EXECUTABLE }
}

pub(crate) fn as_path(path: &RelPath) -> &Path {
    Path::new(OsStr::from_bytes(path.as_bytes()))
}
