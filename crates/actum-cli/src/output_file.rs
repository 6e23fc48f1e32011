//! Result files: the only module that writes a file named on the command line.
//!
//! A result file is no part of a run: no gate judges it, and no undo removes it. So it is new, or replaces an earlier
//! result if that was requested. It follows no symbolic link. It is never written where the policy in force would deny
//! a change, among ledgers, keys and the operator's configuration, or where other programs act on files by themselves.

use std::borrow::Borrow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use actum::RootState;
use actum::reason::Reason;
use actum_api::written::{Written, WrittenKind};
use actum_core::RelPath;
use actum_core::path::Quoted;
use actum_gate::{OutputContent, Verdict, refuses_output, refuses_result};
use actum_record::receipt::EffectKind;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::count::number;
use crate::failure::{Failure, FailureKind};
use crate::home::Tenant;
use crate::output::Document;
use crate::own_format::WholeResult;
use crate::private_place::{self, ActedPlace, Holds};
use crate::session::Session;
use crate::{home, policy, records, root, shown_path};

/// Mode of a file that the umask alone restricts.
const PUBLIC: Mode = Mode::from_raw_mode(0o666);
/// Mode of a file that its owner alone can read.
const SECRET: Mode = Mode::from_raw_mode(0o600);

/// Handling of a regular file at the path.
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

/// Target of a result, as given.
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
    /// Returns the named file, and the handling of an existing one.
    pub(crate) fn file(&self) -> Option<(&Path, Existing)> {
        Some((self.output.as_deref()?, Existing::forced(self.force)))
    }
}

/// Path at which no result file is written.
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
    #[error(
        "the result there is of another installation, run or key, or newer, and may be kept as evidence; delete it first \
         to replace it"
    )]
    NotContinued,
    #[error("{0}")]
    Protected(String),
    #[error(
        "the rules that hold in `{}` do not allow it: {ground}",
        Quoted(root.as_os_str().as_bytes())
    )]
    NotAllowed { root: PathBuf, ground: String },
    #[error(
        "`{}` holds ledgers, keys or the operator's policy",
        Quoted(.0.as_os_str().as_bytes())
    )]
    OperatorsOwn(PathBuf),
    #[error("`{}` is closed to result files: {what}", Quoted(place.as_os_str().as_bytes()))]
    ActionOutcome { place: PathBuf, what: &'static str },
    #[error("it names no file")]
    NoName,
}

/// Result file that is not written.
#[derive(Debug, thiserror::Error)]
#[error("will not write `{}`: {why}", Quoted(path.as_os_str().as_bytes()))]
pub(crate) struct OutputFailure {
    path: PathBuf,
    why: OutputRefused,
}

impl FailureKind for OutputFailure {
    fn reason(&self) -> Reason {
        Reason::OutputRefused
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self.why {
            OutputRefused::Exists => {
                "name a new file, or use `--force` where the command has it: it replaces an earlier result of actum"
            }
            OutputRefused::Link(_) => "give the path behind the link",
            OutputRefused::NotAFile
            | OutputRefused::NotOurs
            | OutputRefused::NotContinued
            | OutputRefused::NoName => "name a new file",
            OutputRefused::Protected(_)
            | OutputRefused::NotAllowed { .. }
            | OutputRefused::OperatorsOwn(_)
            | OutputRefused::ActionOutcome { .. } => "name a file elsewhere",
        };
        vec![hint.to_owned()]
    }

    fn state(&self) -> Option<String> {
        Some("nothing was written there".to_owned())
    }
}

/// Result file that is being written. Without [`OutputFile::finish`] nothing of it remains.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    directory: OwnedFd,
    /// Final name in `directory`.
    name: OsString,
    /// Temporary name and earlier result, if it replaces one.
    replaces: Option<(OsString, WholeResult)>,
    file: File,
    is_finished: bool,
}

impl OutputFile {
    /// Writes these bytes to the file at `path`, which is absolute.
    ///
    /// # Errors
    /// `OUTPUT_REFUSED` if no result file may be written, `RESULT_UNWRITTEN` if the system refuses.
    pub(crate) fn write(
        path: &Path,
        existing: Existing,
        bytes: &[u8],
        tenant: &Tenant,
    ) -> Result<(), Failure> {
        let mut file = Self::create(path, existing, OutputContent::Whole(bytes), tenant)?;
        file.write_all(bytes).map_err(|source| unwritten(&file.path, source))?;
        file.finish()
    }

    /// Creates the file at `path`, which is absolute, for content that is written piece by piece.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn stream(
        path: &Path,
        existing: Existing,
        tenant: &Tenant,
    ) -> Result<Self, Failure> {
        Self::create(path, existing, OutputContent::Streamed, tenant)
    }

    /// Creates the file at `path`, which is absolute, for a secret: it is new, and its owner alone can read it.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn secret(path: &Path, tenant: &Tenant) -> Result<Self, Failure> {
        Self::open(path, Existing::Refuse, OutputContent::Streamed, SECRET, tenant)
    }

    fn create(
        path: &Path,
        existing: Existing,
        content: OutputContent<'_>,
        tenant: &Tenant,
    ) -> Result<Self, Failure> {
        Self::open(path, existing, content, PUBLIC, tenant)
    }

    fn open(
        path: &Path,
        existing: Existing,
        content: OutputContent<'_>,
        mode: Mode,
        tenant: &Tenant,
    ) -> Result<Self, Failure> {
        let path = lexical(path);
        let Some(name) = path.file_name().map(OsStr::to_owned) else {
            return Err(refused(&path, OutputRefused::NoName));
        };
        check_names(&path, Some(content))?;
        check_place(&path, &path, tenant)?;
        let directory = open_parent(&path, tenant)?;
        let found = found(&path, &directory, &name)?;
        let effect = if found.is_some() { EffectKind::Modified } else { EffectKind::Created };
        check_policy(&path, effect, tenant)?;
        let replaces = match (found, existing) {
            (None, _) => None,
            (Some(FileType::RegularFile), Existing::Replace) => {
                let earlier = result(&path, &directory, &name)?;
                let earlier = earlier.ok_or_else(|| refused(&path, OutputRefused::NotOurs))?;
                Some((temporary_name(&name), earlier))
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
            replaces.as_ref().map_or(&name, |(temporary, _)| temporary),
            flags | OFlags::CLOEXEC,
            mode,
        );
        match made {
            Ok(file) => {
                let file = File::from(file);
                Ok(Self { path, directory, name, replaces, file, is_finished: false })
            }
            // Another process created it meanwhile.
            Err(Errno::EXIST) => Err(refused(&path, OutputRefused::Exists)),
            Err(error) => Err(unwritten(&path, error.into())),
        }
    }

    /// Creates the missing directories above the file at `path`, under the same rules.
    pub(crate) fn create_directories(path: &Path, tenant: &Tenant) -> Result<(), Failure> {
        Self::check(path, tenant)?;
        walk(&lexical(path), Missing::Create, tenant).map(drop)
    }

    /// Checks that a new directory may be made at `path`, which is absolute, as for a result file; creates nothing.
    pub(crate) fn check(path: &Path, tenant: &Tenant) -> Result<(), Failure> {
        let path = lexical(path);
        check_names(&path, None)?;
        check_place(&path, &path, tenant)?;
        check_policy(&path, EffectKind::Created, tenant)
    }

    /// Checks that a file with unknown content may be written at `path`, which is absolute; writes nothing.
    pub(crate) fn check_file(path: &Path, tenant: &Tenant) -> Result<(), Failure> {
        check_names(&lexical(path), Some(OutputContent::Streamed))?;
        Self::check(path, tenant)
    }

    /// Completes the file, under its final name.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        if let Some((temporary, earlier)) = &self.replaces {
            let new = result(&self.path, &self.directory, temporary)?;
            if !new.is_some_and(|new| new.continues(earlier)) {
                return Err(refused(&self.path, OutputRefused::NotContinued));
            }
            rustix::fs::renameat(&self.directory, temporary, &self.directory, &self.name)
                .map_err(|error| unwritten(&self.path, error.into()))?;
        }
        self.is_finished = true;
        Ok(())
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
            let name = self.replaces.as_ref().map_or(&self.name, |(temporary, _)| temporary);
            // It may be gone already, and a cut result is worth nothing.
            let removed = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
            drop(removed.map_err(io::Error::from));
        }
    }
}

/// Handling of a missing parent directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Fail,
    Create,
}

/// Rejects a path by its names, and that of a file by its content, too.
fn check_names(path: &Path, content: Option<OutputContent<'_>>) -> Result<(), Failure> {
    let names: Vec<&[u8]> = names(path).map(OsStrExt::as_bytes).collect();
    let why = match content {
        Some(content) => refuses_result(&names, content),
        None => refuses_output(&names),
    };
    if let Some(why) = why {
        return Err(refused(path, OutputRefused::Protected(why)));
    }
    // A directory that does not exist yet is known by its name alone.
    let named = home::operators_own().into_iter().find(|own| path.starts_with(lexical(own)));
    match named.or_else(|| home::holding(path)) {
        Some(own) => Err(refused(path, OutputRefused::OperatorsOwn(own))),
        None => Ok(()),
    }
}

/// Rejects a path in a place on whose files programs act, unless it lies in a workspace there that the operator
/// allowed. `real` is the path by which the place is known.
fn check_place(path: &Path, real: &Path, tenant: &Tenant) -> Result<(), Failure> {
    for ActedPlace { place, what, holds } in private_place::closed_to_results(real) {
        if let (Holds::Other, Some(root)) = (holds, workspace(path))
            && root.starts_with(&place)
            && RootState::inspect(root) == RootState::Made
        {
            records::check_own(root, tenant)?;
        } else {
            return Err(refused(path, OutputRefused::ActionOutcome { place, what }));
        }
    }
    Ok(())
}

/// Returns the root of the workspace that a path lies in.
fn workspace(path: &Path) -> Option<&Path> {
    let above = path.ancestors().skip(1).find(|above| above.is_dir())?;
    Some(root::existing(above)).filter(|root| root::is_made(root))
}

/// Rejects a path in a workspace of another ledger, and one for which the gates would reject this change. Checks each
/// workspace around it, also beyond the limits of discovery, and each repository around it there.
fn check_policy(path: &Path, effect: EffectKind, tenant: &Tenant) -> Result<(), Failure> {
    let nearest = workspace(path);
    let is_root =
        |above: &&Path| nearest == Some(*above) || RootState::inspect(above) == RootState::Made;
    let roots: Vec<&Path> = path.ancestors().skip(1).filter(is_root).collect();
    let Some(outermost) = roots.last() else { return Ok(()) };
    roots.iter().try_for_each(|root| records::check_own(root, tenant))?;
    let within = path.ancestors().skip(1).take_while(|above| above != outermost);
    let is_repository = |above: &&Path| above.join(".git").symlink_metadata().is_ok();
    let repositories = within.filter(is_repository).filter(|above| !roots.contains(above));
    let mut judged = repositories.chain(roots.iter().copied());
    judged.try_for_each(|root| check_rules(root, path, effect, tenant))
}

/// Rejects a path for which the rules below `root` would reject this change.
fn check_rules(
    root: &Path,
    path: &Path,
    effect: EffectKind,
    tenant: &Tenant,
) -> Result<(), Failure> {
    let below = path.strip_prefix(root).map(|below| RelPath::new(below.as_os_str().as_bytes()));
    // A path with a name that no change may have was rejected by its names.
    let Ok(Ok(below)) = below else { return Ok(()) };
    let in_force = policy::in_force(root)?;
    let decision = policy::decide_effect(&in_force, below, effect, tenant)?;
    if decision.verdict == Verdict::Allow {
        return Ok(());
    }
    let mut gates = decision.gates.into_iter();
    let ground = gates.find(|gate| gate.verdict == decision.verdict);
    let ground = ground.map(|gate| gate.ground.to_string()).unwrap_or_default();
    Err(refused(path, OutputRefused::NotAllowed { root: root.to_owned(), ground }))
}

/// Reads a regular file that is a whole result of this program.
fn result(path: &Path, directory: &OwnedFd, name: &OsStr) -> Result<Option<WholeResult>, Failure> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, name, flags, Mode::empty());
    let opened = opened.map_err(|error| unwritten(path, error.into()))?;
    WholeResult::read(&mut File::from(opened)).map_err(|source| unwritten(path, source))
}

fn open_parent(path: &Path, tenant: &Tenant) -> Result<OwnedFd, Failure> {
    walk(path, Missing::Fail, tenant)
}

/// Opens the directory of `path`, name by name and without following symbolic links.
fn walk(path: &Path, missing: Missing, tenant: &Tenant) -> Result<OwnedFd, Failure> {
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
        // Compared by identity, whatever path led to it.
        let here = identity(&stat(&directory)?);
        if let Some((own, _)) = own.iter().find(|(_, it)| *it == here) {
            return Err(refused(path, OutputRefused::OperatorsOwn(own.clone())));
        }
        let rest = path.strip_prefix(&seen).unwrap_or(Path::new(""));
        for (place, _) in places.iter().filter(|(_, it)| *it == here) {
            check_place(path, &place.join(rest), tenant)?;
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

/// Returns the type of an entry in a directory; no link is followed.
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

/// Returns the path without `.` and `..`. No link is followed on the way, so each `..` is the parent by name.
pub(crate) fn lexical(path: &Path) -> PathBuf {
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
    OutputFailure { path: path.to_owned(), why }.into()
}

/// Makes the failure to write the file at `path`.
pub(crate) fn unwritten(path: &Path, source: io::Error) -> Failure {
    Failure::PageUnwritten { path: path.to_owned(), source }
}

/// Result file that was written.
struct ShownFile {
    document: Written,
    shown_file: String,
}

/// Writes the result file that `target` names, relative to the directory of the command, and reports it.
pub(crate) fn write(
    session: &Session,
    (file, existing): (&Path, Existing),
    what: WrittenKind,
    bytes: &[u8],
) -> Result<(), Failure> {
    OutputFile::write(&session.start.join(file), existing, bytes, &session.tenant)?;
    let name = file.as_os_str().as_bytes();
    let (file, shown_file) = (shown_path::text(name), Quoted(name).to_string());
    let document = Written { what, file, bytes: number(bytes.len()) };
    session.screen.show(&ShownFile { document, shown_file })
}

impl Document for ShownFile {
    type Api = Written;

    fn document(&self) -> impl Borrow<Written> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "wrote the {} to {}", self.document.what.as_str(), self.shown_file)
    }
}
