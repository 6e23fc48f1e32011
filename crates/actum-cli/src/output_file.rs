//! Writes result files. No other module writes a file that is named on the command line.
//!
//! A result file is not part of a run, so no gate judges it and no undo removes it. It must therefore be a new file, or
//! replace an earlier result if the user requested that. Symbolic links are never followed. A result file is never written
//! to a directory of ledgers, keys or the operator's configuration. Nor is it written where the policy in force would deny a
//! change, or where other programs run or load files automatically.

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

/// Mode of a new result file, which only the umask restricts further.
const PUBLIC: Mode = Mode::from_raw_mode(0o666);
/// Mode of a new file with a secret, which only its owner can read and write.
const SECRET: Mode = Mode::from_raw_mode(0o600);

/// Whether an existing regular file at the path may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Refuse,
    Replace,
}

impl Existing {
    /// Returns `Replace` if `--force` was given, and `Refuse` otherwise.
    pub(crate) fn forced(force: bool) -> Self {
        if force { Self::Replace } else { Self::Refuse }
    }
}

/// Command-line options for the file to which a result is written.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// Write the result to FILE, which must not exist
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace FILE if it is a result that actum wrote
    #[arg(long, requires = "output")]
    force: bool,
}

impl Target {
    /// Returns the file from `--output`, if any, and whether it may be replaced.
    pub(crate) fn file(&self) -> Option<(&Path, Existing)> {
        Some((self.output.as_deref()?, Existing::forced(self.force)))
    }
}

/// Reason why no result file is written at a path.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputRefused {
    #[error("the file already exists")]
    Exists,
    #[error("`{}` is a symbolic link, and symbolic links are not followed", Quoted(.0.as_os_str().as_bytes()))]
    Link(PathBuf),
    #[error("the existing file is not a regular file")]
    NotAFile,
    #[error("the existing file was not written by actum; delete it first to replace it")]
    NotOurs,
    #[error(
        "the existing result is newer or belongs to a different installation, run or key, and may be evidence; delete it \
         first to replace it"
    )]
    NotContinued,
    #[error("{0}")]
    Protected(String),
    #[error(
        "the rules in force in `{}` do not allow it: {ground}",
        Quoted(root.as_os_str().as_bytes())
    )]
    NotAllowed { root: PathBuf, ground: String },
    #[error(
        "`{}` holds ledgers, keys or the operator's policy",
        Quoted(.0.as_os_str().as_bytes())
    )]
    OperatorsOwn(PathBuf),
    #[error("`{}` is not allowed for result files: {what}", Quoted(place.as_os_str().as_bytes()))]
    ActionOutcome { place: PathBuf, what: &'static str },
    #[error("the path does not name a file")]
    NoName,
}

/// Refusal to write a result file, with its path.
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
                "choose a new file, or replace an earlier result of actum with `--force` if the command supports it"
            }
            OutputRefused::Link(_) => "use the path that the link points to",
            OutputRefused::NotAFile
            | OutputRefused::NotOurs
            | OutputRefused::NotContinued
            | OutputRefused::NoName => "choose a new file",
            OutputRefused::Protected(_)
            | OutputRefused::NotAllowed { .. }
            | OutputRefused::OperatorsOwn(_)
            | OutputRefused::ActionOutcome { .. } => "choose a file in a different directory",
        };
        vec![hint.to_owned()]
    }

    fn state(&self) -> Option<String> {
        Some("the file was not written".to_owned())
    }
}

/// Result file that is being written. It is removed when dropped, unless [`OutputFile::finish`] was called.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    directory: OwnedFd,
    /// Final name of the file in `directory`.
    name: OsString,
    /// Temporary name of the new file and the earlier result, if the file replaces one.
    replaces: Option<(OsString, WholeResult)>,
    file: File,
    is_finished: bool,
}

impl OutputFile {
    /// Writes a complete result file at the absolute `path`.
    ///
    /// # Errors
    /// `OUTPUT_REFUSED` if no result file may be written there, and `RESULT_UNWRITTEN` if the write fails.
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

    /// Creates a result file at the absolute `path`, for content that is written in pieces.
    ///
    /// # Errors
    /// Same as for [`Self::write`].
    pub(crate) fn stream(
        path: &Path,
        existing: Existing,
        tenant: &Tenant,
    ) -> Result<Self, Failure> {
        Self::create(path, existing, OutputContent::Streamed, tenant)
    }

    /// Creates a file for a secret at the absolute `path`. It must not exist yet, and only its owner can read it.
    ///
    /// # Errors
    /// Same as for [`Self::write`].
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
            // Another process created the file after the check above.
            Err(Errno::EXIST) => Err(refused(&path, OutputRefused::Exists)),
            Err(error) => Err(unwritten(&path, error.into())),
        }
    }

    /// Creates the missing parent directories of the file at `path`, under the same rules as for result files.
    pub(crate) fn create_directories(path: &Path, tenant: &Tenant) -> Result<(), Failure> {
        Self::check(path, tenant)?;
        walk(&lexical(path), Missing::Create, tenant).map(drop)
    }

    /// Checks that a directory may be created at the absolute `path`, under the same rules as for result files. Creates
    /// nothing.
    pub(crate) fn check(path: &Path, tenant: &Tenant) -> Result<(), Failure> {
        let path = lexical(path);
        check_names(&path, None)?;
        check_place(&path, &path, tenant)?;
        check_policy(&path, EffectKind::Created, tenant)
    }

    /// Checks that a file with unknown content may be written at the absolute `path`. Writes nothing.
    pub(crate) fn check_file(path: &Path, tenant: &Tenant) -> Result<(), Failure> {
        check_names(&lexical(path), Some(OutputContent::Streamed))?;
        Self::check(path, tenant)
    }

    /// Completes the file and gives it its final name. An earlier result is replaced only if no evidence is lost.
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
            // An incomplete result is useless. An error is ignored, because the file may already have been removed.
            let removed = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
            drop(removed.map_err(io::Error::from));
        }
    }
}

/// Whether missing parent directories are created or reported as an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Fail,
    Create,
}

/// Rejects a path because of the names in it. For a file, its content is checked as well.
fn check_names(path: &Path, content: Option<OutputContent<'_>>) -> Result<(), Failure> {
    let names: Vec<&[u8]> = names(path).map(OsStrExt::as_bytes).collect();
    let why = match content {
        Some(content) => refuses_result(&names, content),
        None => refuses_output(&names),
    };
    if let Some(why) = why {
        return Err(refused(path, OutputRefused::Protected(why)));
    }
    // A directory that does not exist yet can only be recognised by its path.
    let named = home::operators_own().into_iter().find(|own| path.starts_with(lexical(own)));
    match named.or_else(|| home::holding(path)) {
        Some(own) => Err(refused(path, OutputRefused::OperatorsOwn(own))),
        None => Ok(()),
    }
}

/// Rejects a path in a location whose files programs run or load automatically, unless it is in a workspace there that the
/// operator allowed. `real` is the same path with the location spelled as it is known.
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

/// Returns the root of the workspace that contains a path.
fn workspace(path: &Path) -> Option<&Path> {
    let above = path.ancestors().skip(1).find(|above| above.is_dir())?;
    Some(root::existing(above)).filter(|root| root::is_made(root))
}

/// Rejects a path that is in a workspace of a different ledger, or for which the gates would reject the change. Checks all
/// workspaces around the path, even beyond the limits of discovery, and all repositories between them.
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

/// Rejects a path if the rules that apply in `root` would not allow the change.
fn check_rules(
    root: &Path,
    path: &Path,
    effect: EffectKind,
    tenant: &Tenant,
) -> Result<(), Failure> {
    let below = path.strip_prefix(root).map(|below| RelPath::new(below.as_os_str().as_bytes()));
    // A path that is not valid in a change was already rejected because of its names.
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

/// Reads a regular file. Returns `None` if its whole content is not a result of actum.
fn result(path: &Path, directory: &OwnedFd, name: &OsStr) -> Result<Option<WholeResult>, Failure> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, name, flags, Mode::empty());
    let opened = opened.map_err(|error| unwritten(path, error.into()))?;
    WholeResult::read(&mut File::from(opened)).map_err(|source| unwritten(path, source))
}

fn open_parent(path: &Path, tenant: &Tenant) -> Result<OwnedFd, Failure> {
    walk(path, Missing::Fail, tenant)
}

/// Opens the parent directory of `path` one component at a time, without following symbolic links.
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
        // Compare by device and inode, because different paths can lead to the same directory.
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

/// Returns the directories that exist, each with its device and inode number.
fn identified(directories: Vec<PathBuf>) -> Vec<(PathBuf, (u64, u64))> {
    let identified = directories.into_iter().filter_map(|directory| {
        let found = rustix::fs::stat(&directory).ok()?;
        Some((directory, identity(&found)))
    });
    identified.collect()
}

/// Returns the type of an entry in a directory without following symbolic links, or `None` if it does not exist.
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

/// Returns the path with `.` and `..` resolved lexically. This is correct because symbolic links are never followed.
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

/// Returns the failure for a file that could not be written.
pub(crate) fn unwritten(path: &Path, source: io::Error) -> Failure {
    Failure::PageUnwritten { path: path.to_owned(), source }
}

/// Confirmation that a result file was written.
struct ShownFile {
    document: Written,
    shown_file: String,
}

/// Writes a result file, whose path is relative to the directory of the command, and prints a confirmation.
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
