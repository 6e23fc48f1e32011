//! Snapshots of files with undeclared changes, so that a run can adopt those changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use actum_core::{Digest, RelPath};

use crate::attributes::Attributes;
use crate::baseline::{
    Baseline, Before, KnownFiles, NotAdoptable, Stamp, Undeclared, UndeclaredChange, kind_of,
};
use crate::content::Bytes;
use crate::disk::{Disk, Stat, Time};
use crate::error::{Error, Result, ResultExt};
use crate::journal::record::{Image, Outcome};
use crate::snapshot::SnapshotId;
use crate::transaction::Transaction;
use crate::transaction::node::{Node, Post, Pre, PreFile};
use crate::tree::{Found, Tree};

/// Maximum number of recent runs whose results are compared with the current files if a path has no baseline.
const RUNS_MAX: usize = 100;

/// Undeclared changes, grouped by how they can be handled.
#[derive(Debug, Default)]
pub struct UndeclaredChanges {
    /// Changes that are included in the snapshot and can be adopted.
    pub adoptable: Vec<Undeclared>,
    /// Changes that cannot be adopted, with the reason.
    pub others: Vec<(Undeclared, NotAdoptable)>,
    /// All changes made since the turn ended, including those at paths that were not selected. They may be the user's
    /// own.
    pub later: Vec<Undeclared>,
}

/// Selection of undeclared changes.
pub enum UndeclaredSelection<'m> {
    /// Changes made during a turn, at the selected paths. Once the turn has ended, only changes that were reported for
    /// it are included.
    OfTurns(&'m dyn Fn(&RelPath) -> bool),
    /// All changes at the selected paths, including changes to files that a run left before the baseline.
    At(&'m dyn Fn(&RelPath) -> bool),
}

impl<D: Disk> Transaction<'_, D> {
    /// Takes a snapshot under `id` of all files with undeclared changes, which are the differences from the baseline.
    /// If paths are named or there is no baseline, files are also compared with the results of the newest runs. Parent
    /// directories that were created or removed are included. No snapshot is taken if there are no adoptable changes.
    /// The transaction cannot be used for anything else afterwards.
    ///
    /// # Errors
    /// `SnapshotTooLarge`, `Io`.
    pub fn snapshot_undeclared(
        &mut self,
        id: SnapshotId,
        selection: &UndeclaredSelection<'_>,
        known: &mut dyn KnownFiles,
    ) -> Result<UndeclaredChanges> {
        let baseline = self.workspace.read_baseline()?.unwrap_or_default();
        let mut changes = UndeclaredChanges::default();
        let (is_selected, is_named) = match selection {
            UndeclaredSelection::OfTurns(is_selected) => (is_selected, false),
            UndeclaredSelection::At(is_selected) => (is_selected, true),
        };
        let mut found = self.undeclared(&baseline, is_named, known)?;
        if !is_named && baseline.is_whole && !baseline.is_open() {
            let is_reported = |change: &Undeclared| {
                let now = self.workspace.stamp_at(&change.path)?;
                Ok::<_, Error>(baseline.is_as_reported(&change.path, now.as_ref()))
            };
            let (mut reported, mut later) = (Vec::new(), Vec::new());
            for change in found {
                let is_reported = is_reported(&change)?;
                if is_reported { &mut reported } else { &mut later }.push(change);
            }
            (found, changes.later) = (reported, later);
        }
        let mut selected: BTreeSet<RelPath> = BTreeSet::new();
        for change in found.iter().filter(|change| is_selected(&change.path)) {
            let above = std::iter::successors(change.path.parent(), RelPath::parent);
            selected.extend(above.chain([change.path.clone()]));
        }
        let lost: Vec<RelPath> = found
            .iter()
            .filter(|change| self.is_in_the_way(change))
            .map(|change| change.path.clone())
            .collect();
        for change in found.into_iter().filter(|change| selected.contains(&change.path)) {
            let is_lost =
                lost.iter().any(|path| change.path.starts_with(path) || change.path == *path);
            let obstacle = change.obstacle().or(is_lost.then_some(NotAdoptable::InTheWay));
            let pre = match obstacle {
                None => self.pre_of_change(&change, known)?.ok_or(NotAdoptable::ContentUnknown),
                Some(obstacle) => Err(obstacle),
            };
            match pre {
                Ok(pre) => {
                    self.nodes.insert(change.path.clone(), Node { pre, post: Post::Absent });
                    changes.adoptable.push(change);
                }
                Err(obstacle) => changes.others.push((change, obstacle)),
            }
        }
        if !changes.adoptable.is_empty() {
            self.take_snapshot(id)?;
        }
        Ok(changes)
    }

    /// Returns true if a run could not restore the previous state at a path. This is so if the path cannot be accessed
    /// or read, or if its type changed between file and directory.
    fn is_in_the_way(&self, change: &Undeclared) -> bool {
        let was_directory =
            matches!(change.before, Before::Directory(_) | Before::Run(_, _, Image::Directory(_)));
        let tree = Tree::new(&self.workspace.disk, &self.workspace.home.root);
        match tree.find(&change.path) {
            Ok(Found::Nothing) => false,
            Ok(Found::Directory) => !was_directory && change.change != UndeclaredChange::Created,
            Ok(Found::File(..)) => was_directory,
            Ok(Found::Other(_)) | Err(_) => true,
        }
    }

    /// Returns the undeclared changes, ordered by path.
    fn undeclared(
        &self,
        baseline: &Baseline,
        with_runs_before: bool,
        known: &mut dyn KnownFiles,
    ) -> Result<Vec<Undeclared>> {
        let workspace = &*self.workspace;
        let mut found = Vec::new();
        if baseline.is_whole
            && let Some(scan) = workspace.scan(baseline, known)?
        {
            found = workspace.compare(baseline, &scan, known)?;
        }
        if baseline.is_whole && !with_runs_before {
            return Ok(found); // changes that the user made between turns do not belong to a turn
        }
        // Add the files that were left by runs before the baseline and have changed since.
        let runs = workspace.runs()?;
        let mut seen: BTreeSet<RelPath> = found.iter().map(|it| it.path.clone()).collect();
        let newest = runs.refs().iter().rev().take(RUNS_MAX);
        for known_run in newest.filter(|run| run.outcome != Outcome::RolledBack) {
            let Ok((intent, _)) = runs.read_found(known_run) else { continue };
            for (index, entry) in intent.entries.iter().enumerate() {
                let is_newest = seen.insert(entry.path.clone());
                // Skip directories, because they are created and removed along with the files in them.
                if !is_newest || matches!(entry.post, Image::Directory(_)) {
                    continue;
                }
                let before = Before::Run(known_run.run, index, entry.post.clone());
                found.extend(workspace.drifted(&entry.path, before, known)?);
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// Returns the state of a path before a change, or `None` if its old content is not available.
    fn pre_of_change(
        &self,
        change: &Undeclared,
        known: &mut dyn KnownFiles,
    ) -> Result<Option<Pre<D::Handle>>> {
        let path = &change.path;
        let (inode, attributes) = match &change.before {
            Before::Absent | Before::Run(_, _, Image::Absent) => return Ok(Some(Pre::Absent)),
            Before::Other(_) | Before::Buried => return Ok(None),
            Before::Directory(stamp) => {
                return Ok(Some(Pre::Directory(self.attributes_of(path, stamp)?)));
            }
            Before::Run(_, _, Image::Directory(attributes)) => {
                return Ok(Some(Pre::Directory(attributes.clone())));
            }
            Before::Run(_, _, Image::File(file)) => (file.inode, file.attributes.clone()),
            Before::File(stamp, _) => (stamp.inode, self.attributes_of(path, stamp)?),
        };
        let Some(bytes) = self.workspace.bytes_before(&change.before, known)? else {
            return Ok(None);
        };
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let stat = Stat {
            kind: kind_of(&attributes),
            device: 0,
            inode,
            links: 1,
            size,
            mode: attributes.mode,
            user: attributes.user,
            group: attributes.group,
            modified: Time::default(),
            changed: Time::default(),
        };
        let (digest, lines) = (Digest::of(&bytes), actum_core::text::lines(&bytes));
        let (own_names, read_at) = (0, Time::default());
        let bytes = Bytes::Memory(Arc::new(bytes));
        Ok(Some(Pre::File(PreFile { stat, own_names, attributes, digest, lines, bytes, read_at })))
    }

    /// Returns the attributes that a path had at the baseline. A baseline has no extended attributes, so the current
    /// ones are used.
    fn attributes_of(&self, path: &RelPath, stamp: &Stamp) -> Result<Attributes> {
        let tree = Tree::new(&self.workspace.disk, &self.workspace.home.root);
        let doing = || format!("inspect `{path}`");
        let xattrs = match tree.find(path) {
            Ok(Found::File(stat, file)) => tree.attributes(&file, &stat).doing(doing)?.xattrs,
            Ok(Found::Directory) => tree.directory_attributes(path)?.xattrs,
            Ok(Found::Nothing | Found::Other(_)) | Err(_) => Vec::new(),
        };
        Ok(Attributes { mode: stamp.mode, user: stamp.user, group: stamp.group, xattrs })
    }
}
