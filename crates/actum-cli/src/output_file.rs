//! Result files: the only place that writes a file named on the command line.
//!
//! A result file takes no part in a run: no gate judges it, and no undo takes it back. So it is new, or replaces an
//! earlier result where that was asked for; it follows no symbolic link, and is never written where a change would be
//! denied, by the policy in force where it lies in a workspace, nor among ledgers, keys and the operator's
//! configuration, nor where other programs act on files by themselves.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use actum::RootState;
use actum_core::RelPath;
use actum_core::path::Quoted;
use actum_core::receipt::EffectKind;
use actum_gate::{Verdict, refuses_output};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Document;
use crate::private_place::{self, ActedPlace, Holds};
use crate::verb::Session;
use crate::{home, own_format, policy, records, root, shown_path};

/// What happens to a regular file at the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Refuse,
    Replace,
}

impl Existing {
    /// Reads `--force`.
    pub(crate) fn forced(force: bool) -> Self {
        if force { Self::Replace } else { Self::Refuse }
    }
}

/// Where a result goes, as it is typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// Write to FILE, which is new
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace FILE, where it is a result that actum wrote
    #[arg(long, requires = "output")]
    force: bool,
}

impl Target {
    /// The file that was named, and what happens to one that is there.
    pub(crate) fn file(&self) -> Option<(&Path, Existing)> {
        Some((self.output.as_deref()?, Existing::forced(self.force)))
    }
}

/// A path at which no result file is written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputRefused {
    #[error("a file is there already")]
    Exists,
    #[error("`{}` is a symbolic link, and none is followed", Quoted(.0.as_os_str().as_bytes()))]
    Link(PathBuf),
    #[error("something is there that is not a regular file")]
    NotAFile,
    #[error("it was not written by actum; delete it first to replace it")]
    NotOurs,
    #[error("{0}")]
    Protected(String),
    #[error(
        "it lies in the workspace `{}`, whose gates do not allow the path: {ground}",
        Quoted(root.as_os_str().as_bytes())
    )]
    NotAllowed { root: PathBuf, ground: String },
    #[error(
        "`{}` holds ledgers, keys or the operator's policy",
        Quoted(.0.as_os_str().as_bytes())
    )]
    OperatorsOwn(PathBuf),
    #[error("`{}` is closed to result files: {what}", Quoted(place.as_os_str().as_bytes()))]
    Acted { place: PathBuf, what: &'static str },
    #[error("it names no file")]
    NoName,
}

impl OutputRefused {
    /// What the reader can do.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Exists => {
                "name a new file, or use `--force` where the command has it: it replaces an earlier result of actum"
            }
            Self::Link(_) => "give the path behind the link",
            Self::NotAFile | Self::NotOurs | Self::NoName => "name a new file",
            Self::Protected(_)
            | Self::NotAllowed { .. }
            | Self::OperatorsOwn(_)
            | Self::Acted { .. } => "name a file elsewhere",
        }
    }
}

/// A result file that is being written. Without [`OutputFile::finish`] nothing of it remains.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    directory: OwnedFd,
    /// The name in `directory` that it gets at the end.
    name: OsString,
    /// The name until then, where it replaces a file.
    temporary: Option<OsString>,
    file: File,
    is_finished: bool,
}

impl OutputFile {
    /// Creates the file at `path`, which is absolute.
    ///
    /// # Errors
    /// `OUTPUT_REFUSED` where no result file may be written, `RESULT_UNWRITTEN` where the system refuses.
    pub(crate) fn create(path: &Path, existing: Existing) -> Result<Self, Failure> {
        let path = lexical(path);
        let Some(name) = path.file_name().map(OsStr::to_owned) else {
            return Err(refused(&path, OutputRefused::NoName));
        };
        check_names(&path)?;
        check_place(&path, &path)?;
        let directory = open_parent(&path)?;
        let found = found(&path, &directory, &name)?;
        let effect = if found.is_some() { EffectKind::Modified } else { EffectKind::Created };
        check_policy(&path, effect)?;
        let temporary = match (found, existing) {
            (None, _) => None,
            (Some(FileType::RegularFile), Existing::Replace) => {
                check_result(&path, &directory, &name)?;
                Some(temporary_name(&name))
            }
            (Some(FileType::RegularFile), Existing::Refuse) => {
                return Err(refused(&path, OutputRefused::Exists));
            }
            (Some(FileType::Symlink), _) => {
                return Err(refused(&path, OutputRefused::Link(path.clone())));
            }
            (Some(_), _) => return Err(refused(&path, OutputRefused::NotAFile)),
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let made = rustix::fs::openat(
            &directory,
            temporary.as_ref().unwrap_or(&name),
            flags | OFlags::CLOEXEC,
            Mode::from_raw_mode(0o666),
        );
        match made {
            Ok(file) => {
                let file = File::from(file);
                Ok(Self { path, directory, name, temporary, file, is_finished: false })
            }
            // It appeared meanwhile.
            Err(Errno::EXIST) => Err(refused(&path, OutputRefused::Exists)),
            Err(error) => Err(unwritten(&path, error.into())),
        }
    }

    /// Creates the directories that lead to the file at `path`, as far as they are missing; the same rules hold.
    pub(crate) fn create_directories(path: &Path) -> Result<(), Failure> {
        let path = lexical(path);
        check_names(&path)?;
        check_place(&path, &path)?;
        check_policy(&path, EffectKind::Created)?;
        walk(&path, Missing::Create).map(drop)
    }

    /// Ends it, under its name.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        if let Some(temporary) = &self.temporary {
            rustix::fs::renameat(&self.directory, temporary, &self.directory, &self.name)
                .map_err(|error| unwritten(&self.path, error.into()))?;
        }
        self.is_finished = true;
        Ok(())
    }

    /// Writes all of `bytes`, and ends it.
    pub(crate) fn fill(mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_all(bytes).map_err(|source| unwritten(&self.path, source))?;
        self.finish()
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if !self.is_finished {
            let name = self.temporary.as_ref().unwrap_or(&self.name);
            // It may be gone already, and a cut result is worth nothing.
            let removed = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
            drop(removed.map_err(io::Error::from));
        }
    }
}

/// What happens where a directory on the way is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Fail,
    Create,
}

/// Refuses a path by its names.
fn check_names(path: &Path) -> Result<(), Failure> {
    let names: Vec<&[u8]> = names(path).map(OsStrExt::as_bytes).collect();
    if let Some(why) = refuses_output(&names) {
        return Err(refused(path, OutputRefused::Protected(why)));
    }
    // A directory that is not made yet is known by its name alone.
    let named = home::operators_own().into_iter().find(|own| path.starts_with(lexical(own)));
    match named.or_else(|| home::holding(path)) {
        Some(own) => Err(refused(path, OutputRefused::OperatorsOwn(own))),
        None => Ok(()),
    }
}

/// Refuses a path in a place on whose files programs act, unless it lies in a workspace there, which the operator
/// allowed. `real` is the path by which the place is known.
fn check_place(path: &Path, real: &Path) -> Result<(), Failure> {
    let Some(ActedPlace { place, what, holds }) = private_place::closed_to_results(real) else {
        return Ok(());
    };
    if let (Holds::Other, Some(root)) = (holds, workspace(path))
        && root.starts_with(&place)
        && RootState::of(root) == RootState::Made
    {
        return records::check_own(root);
    }
    Err(refused(path, OutputRefused::Acted { place, what }))
}

/// The root of the workspace that a path lies in.
fn workspace(path: &Path) -> Option<&Path> {
    let above = path.ancestors().skip(1).find(|above| above.is_dir())?;
    Some(root::existing(above)).filter(|root| root::is_made(root))
}

/// Refuses a path in a workspace of another ledger, and one to which the gates would not let a change do the same.
fn check_policy(path: &Path, effect: EffectKind) -> Result<(), Failure> {
    let Some(root) = workspace(path) else { return Ok(()) };
    records::check_own(root)?;
    let below = path.strip_prefix(root).map(|below| RelPath::new(below.as_os_str().as_bytes()));
    // A path with a name that no change may have was refused by its names.
    let Ok(Ok(below)) = below else { return Ok(()) };
    let in_force = policy::in_force(root)?;
    let decision = policy::decide_effect(&in_force, below, effect)?;
    if decision.verdict == Verdict::Allow {
        return Ok(());
    }
    let mut gates = decision.gates.into_iter();
    let ground = gates.find(|gate| gate.verdict == decision.verdict.as_str());
    let ground = ground.map(|gate| gate.ground).unwrap_or_default();
    Err(refused(path, OutputRefused::NotAllowed { root: root.to_owned(), ground }))
}

/// Refuses to replace a file that this program did not write as a result.
fn check_result(path: &Path, directory: &OwnedFd, name: &OsStr) -> Result<(), Failure> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, name, flags, Mode::empty());
    let opened = opened.map_err(|error| unwritten(path, error.into()))?;
    let is_result = own_format::is_result(&mut File::from(opened));
    match is_result.map_err(|source| unwritten(path, source))? {
        true => Ok(()),
        false => Err(refused(path, OutputRefused::NotOurs)),
    }
}

fn open_parent(path: &Path) -> Result<OwnedFd, Failure> {
    walk(path, Missing::Fail)
}

/// Opens the directory of `path`, name by name and through no symbolic link.
fn walk(path: &Path, missing: Missing) -> Result<OwnedFd, Failure> {
    let failed = |error: Errno| unwritten(path, error.into());
    let stat = |directory: &OwnedFd| rustix::fs::fstat(directory).map_err(failed);
    let own = identified(home::operators_own());
    let places = identified(private_place::roots_of_places());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut directory = rustix::fs::openat(CWD, "/", flags, Mode::empty()).map_err(failed)?;
    let mut seen = PathBuf::from("/");
    for name in names(path.parent().unwrap_or(Path::new("/"))) {
        seen.push(name);
        let open = |directory: &OwnedFd| rustix::fs::openat(directory, name, flags, Mode::empty());
        let opened = match (open(&directory), missing) {
            (Err(Errno::NOENT), Missing::Create) => {
                let mode = Mode::from_raw_mode(0o777);
                match rustix::fs::mkdirat(&directory, name, mode) {
                    Ok(()) | Err(Errno::EXIST) => open(&directory),
                    Err(error) => Err(error),
                }
            }
            (opened, Missing::Fail | Missing::Create) => opened,
        };
        directory = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let found = self::found(path, &directory, name)?;
                return Err(match found {
                    Some(FileType::Symlink) => refused(path, OutputRefused::Link(seen)),
                    Some(_) | None => failed(error),
                });
            }
        };
        // By whatever path it was reached.
        let here = identity(&stat(&directory)?);
        if let Some((own, _)) = own.iter().find(|(_, it)| *it == here) {
            return Err(refused(path, OutputRefused::OperatorsOwn(own.clone())));
        }
        let rest = path.strip_prefix(&seen).unwrap_or(Path::new(""));
        for (place, _) in places.iter().filter(|(_, it)| *it == here) {
            check_place(path, &place.join(rest))?;
        }
    }
    Ok(directory)
}

/// Directories that exist, with their identities.
fn identified(directories: Vec<PathBuf>) -> Vec<(PathBuf, (u64, u64))> {
    let identified = directories.into_iter().filter_map(|directory| {
        let found = rustix::fs::stat(&directory).ok()?;
        Some((directory, identity(&found)))
    });
    identified.collect()
}

/// What is at a name in a directory; no link is followed.
fn found(path: &Path, directory: &OwnedFd, name: &OsStr) -> Result<Option<FileType>, Failure> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(unwritten(path, error.into())),
    }
}

#[allow(clippy::useless_conversion, reason = "the types differ between systems")]
fn identity(stat: &Stat) -> (u64, u64) {
    (u64::from(stat.st_dev), u64::from(stat.st_ino))
}

fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    })
}

/// The path without `.` and `..`. No link is followed on the way, so that each `..` means what it says.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::Prefix(_) | Component::RootDir => {}
        }
    }
    plain
}

fn temporary_name(name: &OsStr) -> OsString {
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.new", std::process::id()));
    temporary
}

fn refused(path: &Path, why: OutputRefused) -> Failure {
    Failure::Output { path: path.to_owned(), why: Box::new(why) }
}

fn unwritten(path: &Path, source: io::Error) -> Failure {
    Failure::PageUnwritten { path: path.to_owned(), source }
}

/// A result file that was written.
#[derive(Serialize)]
struct Written {
    what: &'static str,
    file: String,
    bytes: usize,
    #[serde(skip)]
    shown_file: String,
}

/// Writes the result file that `target` names, seen from where the command was started, and says so.
pub(crate) fn write(
    session: &Session,
    (file, existing): (&Path, Existing),
    what: &'static str,
    bytes: &[u8],
) -> Result<(), Failure> {
    OutputFile::create(&session.start.join(file), existing)?.fill(bytes)?;
    let name = file.as_os_str().as_bytes();
    let (file, shown_file) = (shown_path::text(name), Quoted(name).to_string());
    session.screen.show(&Written { what, file, bytes: bytes.len(), shown_file })
}

impl Document for Written {
    fn format(&self) -> &'static str {
        "actum.written/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "wrote the {} to {}", self.what, self.shown_file)
    }
}
