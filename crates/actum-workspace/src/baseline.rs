//! Baselines record the state of every file in the workspace when a turn of an agent's client begins. Any difference at
//! the end of the turn that no run explains was made by a command or by the user.
//!
//! The baseline is stored in the file `.actum/baseline`. It contains the stamp of each file and the source of its
//! content, which is a Git repository or a copy in `.actum/contents`. The file is not synced. A baseline that a power
//! cut removed or damaged is treated as missing.

mod codec;
mod compare;
mod contents;
mod scan;

use std::collections::{BTreeMap, BTreeSet};

use actum_core::{Digest, FileMode, RelPath};

use crate::disk::{Disk, Kind, Rename, Stat, Time};
use crate::error::{Result, ResultExt};
use crate::history::view::View;
use crate::home::Home;
use crate::journal::sector::{Framed, frame, unframe};
use crate::tree::{read_whole, stamp_is_fresh};
use crate::workspace::Workspace;

pub(crate) use compare::{Before, kind_of};
pub use compare::{NotAdoptable, Undeclared, UndeclaredChange};
pub(crate) use contents::contents_left;

const FILE: &[u8] = b"baseline";
const FILE_NEW: &[u8] = b"baseline.new";
const SEQUENCE: u64 = 1;
/// Maximum size of a baseline file in bytes (256 MiB).
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Maximum number of files and directories in a workspace for which a baseline is taken.
pub const BASELINE_FILES_MAX: usize = 200_000;
/// Maximum number of turns recorded in a baseline.
const TURNS_MAX: usize = 64;
/// Time in nanoseconds after which an open turn is considered abandoned, for example because its client was killed
/// (6 hours).
const TURN_MAX: i64 = 6 * 3_600_000_000_000;

/// ID of a blob in a Git repository (SHA-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobId(pub [u8; 20]);

/// Source of information about files in a workspace, such as a Git repository.
pub trait KnownFiles {
    /// Returns true if a directory is excluded from baselines with all its files, such as a cache or build output.
    fn leaves_out(&mut self, directory: &RelPath) -> bool;
    /// Returns the blob with the content of a file, if one is known for its current metadata.
    fn blob(&mut self, path: &RelPath, stat: &Stat) -> Option<BlobId>;
    /// Returns the content of a blob, or `None` if it cannot be read.
    fn read(&mut self, blob: BlobId) -> Option<Vec<u8>>;
}

/// Source without any information. A baseline with this source searches every directory, and copies every file that is
/// not too large.
pub struct NoKnownFiles;

impl KnownFiles for NoKnownFiles {
    fn leaves_out(&mut self, _directory: &RelPath) -> bool {
        false
    }

    fn blob(&mut self, _path: &RelPath, _stat: &Stat) -> Option<BlobId> {
        None
    }

    fn read(&mut self, _blob: BlobId) -> Option<Vec<u8>> {
        None
    }
}

/// Outcome of beginning a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStart {
    /// A new baseline was taken.
    Taken,
    /// Another turn of this or another session is in progress, so its baseline is kept.
    Joined,
    /// No baseline was taken because the workspace has more than [`BASELINE_FILES_MAX`] files and directories.
    TooManyFiles,
}

/// Changes that were made during a turn but not by a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    /// Changes that have not been reported before.
    pub new: Vec<Undeclared>,
    /// Number of changes that were reported earlier and have not been adopted yet.
    pub earlier: usize,
}

/// Turn of a session, which lasts from a prompt until the agent stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Digest of the name of the session.
    pub session: Digest,
    /// Digest of the name of the prompt, if the client provides one.
    pub prompt: Option<Digest>,
    /// Time at which the turn began.
    pub since: Time,
    /// Sequence number of the last run before the turn.
    pub sequence: u64,
    /// True if the turn has not ended yet.
    pub is_open: bool,
}

/// Metadata of a file or directory, with which changes are detected without reading its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) kind: Kind,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) mode: FileMode,
    pub(crate) user: u32,
    pub(crate) group: u32,
    pub(crate) modified: Time,
    pub(crate) changed: Time,
}

impl From<&Stat> for Stamp {
    fn from(stat: &Stat) -> Self {
        let Stat { kind, device: _, inode, links: _, size, mode, user, group, modified, changed } =
            *stat;
        Self { kind, inode, size, mode, user, group, modified, changed }
    }
}

impl Stamp {
    /// Returns true if the two stamps are of different states of an object. Adding or removing entries of a directory
    /// does not make it different.
    fn differs(&self, other: &Self) -> bool {
        match (self.kind, other.kind) {
            (Kind::Directory, Kind::Directory) => {
                (self.mode, self.user, self.group) != (other.mode, other.user, other.group)
            }
            _ => self != other,
        }
    }
}

/// Location of a copy of the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// No copy exists, because the file is too large or cannot be read, or because the object is not a file or
    /// symbolic link.
    Nowhere,
    /// The content is a blob in the Git repository.
    Blob(BlobId),
    /// The content is a file in `.actum/contents`, named after this digest.
    Copy(Digest),
}

/// State of a file or directory in a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) stamp: Stamp,
    pub(crate) source: Source,
    /// True if the file was modified so recently that a further change might not have changed its stamp.
    pub(crate) is_fresh: bool,
}

/// State of a workspace at the beginning of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Baseline {
    /// Sequence number of the last run whose changes the baseline includes.
    pub(crate) sequence: u64,
    /// Most recent turn of each session.
    pub(crate) turns: Vec<Turn>,
    /// True if the files were recorded, and false if the workspace had too many.
    pub(crate) is_whole: bool,
    pub(crate) files: BTreeMap<RelPath, Known>,
    /// Directories that were not searched.
    pub(crate) left_out: BTreeSet<RelPath>,
    /// Undeclared changes that were reported, with the stamp of each path at that time. The stamp is `None` if the path
    /// did not exist.
    pub(crate) reported: BTreeMap<RelPath, Option<Stamp>>,
}

/// State of each path before its reported change, and its stamp when the change was reported.
type Reported = BTreeMap<RelPath, (Option<Known>, Option<Stamp>)>;

impl Baseline {
    /// Returns a baseline of only the directories above reported changes, so that the next scan searches them as well.
    fn looked_into(&self) -> Self {
        let above = self.reported.keys().flat_map(|path| {
            std::iter::successors(path.parent(), RelPath::parent).collect::<Vec<_>>()
        });
        let known = above.filter_map(|path| {
            let file = *self.files.get(&path)?;
            Some((path, file))
        });
        Self { files: known.collect(), ..Self::default() }
    }

    /// Carries reported changes over to this baseline, with the states that their paths had before. A state that
    /// conflicts with other paths, such as a file below another file, is dropped. The change is then treated as the
    /// user's own.
    fn keep_reported(&mut self, mut earlier: Reported) {
        loop {
            let conflicting = self.conflicting(&earlier);
            if conflicting.is_empty() {
                break;
            }
            earlier.retain(|path, _| !conflicting.contains(path));
        }
        for (path, (known, stamp)) in earlier {
            match known {
                Some(known) => drop(self.files.insert(path.clone(), known)),
                None => drop(self.files.remove(&path)),
            }
            self.reported.insert(path, stamp);
        }
    }

    /// Returns the paths whose earlier states cannot exist together with the states of the other paths.
    fn conflicting(&self, earlier: &Reported) -> BTreeSet<RelPath> {
        let known_at = |path: &RelPath| match earlier.get(path) {
            Some((known, _)) => known.as_ref(),
            None => self.files.get(path),
        };
        let is_directory = |known: &Known| known.stamp.kind == Kind::Directory;
        let present = self.files.keys().chain(earlier.keys());
        let present = present.filter(|path| known_at(path).is_some());
        let parents: BTreeSet<RelPath> = present.filter_map(RelPath::parent).collect();
        let is_in_conflict = |path: &RelPath, known: &Known| {
            let mut above = std::iter::successors(path.parent(), RelPath::parent);
            let is_reachable = above.all(|path| {
                self.left_out.contains(&path) || known_at(&path).is_some_and(is_directory)
            });
            !is_reachable || !is_directory(known) && parents.contains(path)
        };
        let states = earlier.iter().filter_map(|(path, (known, _))| Some((path, known.as_ref()?)));
        let conflicting = states.filter(|(path, known)| is_in_conflict(path, known));
        conflicting.map(|(path, _)| path.clone()).collect()
    }

    /// Returns true if a turn is in progress.
    pub(crate) fn is_open(&self) -> bool {
        self.turns.iter().any(|turn| turn.is_open)
    }

    /// Returns true if a path has not changed since its change was reported.
    pub(crate) fn is_as_reported(&self, path: &RelPath, now: Option<&Stamp>) -> bool {
        match (self.reported.get(path), now) {
            (Some(Some(then)), Some(now)) => !then.differs(now),
            (Some(None), None) => true,
            (Some(_) | None, _) => false,
        }
    }
}

impl<D: Disk> Workspace<D> {
    /// Begins a turn of a session, and takes a new baseline unless another turn is in progress.
    ///
    /// Undeclared changes that were already reported stay undeclared if their paths have not changed since. All other
    /// changes are treated as the user's own. If the session already has an open turn for the same prompt, no new turn
    /// begins.
    ///
    /// # Errors
    /// `Busy`, `Poisoned`, `Io`, or an error of recovery.
    pub fn begin_turn(
        &mut self,
        session: Digest,
        prompt: Option<Digest>,
        known: &mut dyn KnownFiles,
    ) -> Result<TurnStart> {
        let _lock = self.lock(true, "begin a turn")?;
        let previous = self.read_baseline()?;
        let (since, sequence) = (self.disk.now(), self.last_sequence()?);
        let mut turns = previous.as_ref().map_or(Vec::new(), |baseline| baseline.turns.clone());
        let is_under_way =
            |turn: &Turn| turn.is_open && since.0.saturating_sub(turn.since.0) < TURN_MAX;
        let is_joined = turns.iter().any(is_under_way);
        let is_same = |turn: &Turn| {
            turn.session == session && turn.is_open && prompt.is_some() && turn.prompt == prompt
        };
        if turns.iter().any(is_same) {
            return Ok(TurnStart::Joined);
        }
        turns.retain(|turn| turn.session != session);
        let surplus = (turns.len() + 1).saturating_sub(TURNS_MAX);
        turns.drain(..surplus);
        turns.push(Turn { session, prompt, since, sequence, is_open: true });
        let empty = Baseline::default();
        let before = previous.unwrap_or_default();
        if is_joined {
            self.write_baseline(&Baseline { turns, ..before })?;
            return Ok(TurnStart::Joined);
        }
        let Some(scan) = self.scan(&before.looked_into(), known)? else {
            // The turn is recorded even without files.
            self.write_baseline(&Baseline { sequence, turns, ..empty })?;
            return Ok(TurnStart::TooManyFiles);
        };
        let left_out = scan.left_out.clone();
        let mut baseline =
            Baseline { sequence, turns, left_out, is_whole: true, ..Baseline::default() };
        let mut contents = self.contents()?;
        let files = scan.found.iter().map(|(path, stat)| {
            let file = self.known(path, (stat, since), &before, (&mut contents, &mut *known))?;
            Ok((path.clone(), file))
        });
        baseline.files = files.collect::<Result<Vec<_>>>()?.into_iter().collect();
        for directory in &scan.unreadable {
            // While a directory cannot be listed, its contents are assumed to be unchanged.
            let below = before.files.iter().filter(|(path, _)| path.starts_with(directory));
            let below: Vec<_> = below.map(|(path, file)| (path.clone(), *file)).collect();
            if !below.is_empty() {
                baseline.left_out.remove(directory);
                baseline.files.extend(below);
            }
        }
        if !before.reported.is_empty() {
            let mut earlier = Reported::new();
            for change in self.compare(&before, &scan, known)? {
                let stamp = scan.found.get(&change.path).map(Stamp::from);
                // Skip a change that a run includes, or whose path changed again after it was reported.
                if change.before == Before::Buried
                    || !before.is_as_reported(&change.path, stamp.as_ref())
                {
                    continue;
                }
                let known = self.known_before(&change, &before, &mut contents)?;
                earlier.insert(change.path, (known, stamp));
            }
            baseline.keep_reported(earlier);
        }
        self.write_baseline(&baseline)?;
        contents.sweep(&self.disk, &baseline)?;
        Ok(TurnStart::Taken)
    }

    /// Ends the open turn of a session, and returns the differences from the baseline that no run made. Returns `None` if
    /// the session has no open turn.
    ///
    /// # Errors
    /// `Busy`, `Poisoned`, `Io`, or an error of recovery.
    pub fn end_turn(
        &mut self,
        session: Digest,
        known: &mut dyn KnownFiles,
    ) -> Result<Option<TurnEnd>> {
        let _lock = self.lock(true, "end a turn")?;
        let Some(mut baseline) = self.read_baseline()? else { return Ok(None) };
        let is_own = |turn: &&mut Turn| turn.session == session && turn.is_open;
        let Some(turn) = baseline.turns.iter_mut().find(is_own) else { return Ok(None) };
        turn.is_open = false;
        let mut end = TurnEnd { new: Vec::new(), earlier: 0 };
        if let Some(scan) = self.scan(&baseline, known)?.filter(|_| baseline.is_whole) {
            let mut reported = BTreeMap::new();
            for change in self.compare(&baseline, &scan, known)? {
                let stamp = scan.found.get(&change.path).map(Stamp::from);
                match baseline.is_as_reported(&change.path, stamp.as_ref()) {
                    true => end.earlier += 1,
                    false => end.new.push(change.clone()),
                }
                reported.insert(change.path, stamp);
            }
            baseline.reported = reported;
        }
        self.write_baseline(&baseline)?;
        Ok(Some(end))
    }

    /// Returns the sequence number of the last run, or 0 if there are no runs.
    fn last_sequence(&self) -> Result<u64> {
        Ok(self.runs()?.refs().last().map_or(0, |run| run.sequence))
    }

    /// Returns the state of a file for a new baseline, copying its content if necessary.
    fn known(
        &self,
        path: &RelPath,
        (stat, now): (&Stat, Time),
        before: &Baseline,
        (contents, known): (&mut contents::Contents<D::Handle>, &mut dyn KnownFiles),
    ) -> Result<Known> {
        let stamp = Stamp::from(stat);
        let is_fresh = stamp_is_fresh(stat.last_change(), now);
        let same = before.files.get(path).filter(|file| file.stamp == stamp && !file.is_fresh);
        let source = match same.map(|file| file.source) {
            Some(source @ Source::Blob(_)) => source,
            Some(source @ Source::Copy(digest)) if contents.has(digest, stamp.size) => source,
            Some(_) | None => match stamp.kind {
                Kind::Directory | Kind::Special => Source::Nowhere,
                Kind::File | Kind::Symlink => match known.blob(path, stat) {
                    Some(blob) => Source::Blob(blob),
                    None => {
                        contents.copy(self, path, &stamp)?.map_or(Source::Nowhere, Source::Copy)
                    }
                },
            },
        };
        Ok(Known { stamp, source, is_fresh })
    }

    pub(crate) fn read_baseline(&self) -> Result<Option<Baseline>> {
        read(&self.disk, &self.home)
    }

    fn write_baseline(&self, baseline: &Baseline) -> Result<()> {
        let (disk, state) = (&self.disk, &self.home.state);
        let doing = || "write the baseline to `.actum/baseline`".to_owned();
        self.remove(state, FILE_NEW); // left by a process that was killed
        let file = disk.create(state, FILE_NEW, FileMode::PRIVATE).doing(doing)?;
        let written = disk.write_at(&file, &frame(SEQUENCE, &[&baseline.encode()]), 0);
        let written =
            written.and_then(|()| disk.rename(state, FILE_NEW, state, FILE, Rename::Replace));
        if written.is_err() {
            self.remove(state, FILE_NEW); // free the space, as the disk may be full
        }
        written.doing(doing)
    }
}

impl<D: Disk> View<D> {
    /// Returns the most recent turn of each session of an agent's client, ordered from oldest to newest.
    ///
    /// # Errors
    /// `Io` if the baseline cannot be read.
    pub fn turns(&self) -> Result<Vec<Turn>> {
        Ok(read(&self.disk, &self.home)?.map_or(Vec::new(), |baseline| baseline.turns))
    }
}

/// Reads the baseline. Returns `None` if the file is missing, damaged or only partly written.
fn read<D: Disk>(disk: &D, home: &Home<D::Handle>) -> Result<Option<Baseline>> {
    let doing = || "read the baseline from `.actum/baseline`".to_owned();
    let file = match disk.open_file(&home.state, FILE) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.doing(doing)?,
    };
    let size = disk.stat(&file).doing(doing)?.size.min(FILE_BYTES_MAX);
    let framed = read_whole(disk, &file, size).doing(doing)?;
    let mut record = Vec::new();
    Ok(match unframe(&framed, SEQUENCE, &mut record) {
        Framed::Whole(_) => Baseline::decode(&record).ok(),
        Framed::Missing | Framed::Torn | Framed::Damaged(_) => None,
    })
}
