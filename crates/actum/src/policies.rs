//! The files that policies are written in: the operator's, with access policies beside it, and that of the
//! workspace.

mod access;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use actum_access::Cedar;
use actum_core::{Digest, PathRule, RelPath};
use actum_gate::policy::{
    DeclaredPipeline, Ignored, POLICY_BYTES_MAX, PluginAllowance, Profile, SandboxAllowance,
    Source, SqlSettings, TaskEnvelopes, Trust,
};
use actum_gate::{Policy, PolicyFile};
use actum_ledger::{LOG_BYTES_MAX, LedgerHome};
use actum_record::ledger::Retention;
use rustix::fs::OFlags;

use crate::error::{Error, Result};
use crate::place::{Place, enclosing, escaped};

pub use crate::error::{PolicyError, PolicyProblem};
use crate::plugin::PluginCode;
use crate::real_path::real;
use crate::records::Clock;

pub use access::ReadAccess;

/// Where the policies are that are in force.
#[derive(Debug, Clone)]
pub struct PolicyFiles {
    /// The machine administrator's, which only tightens; it must belong to root, and need not exist.
    pub system: Option<PathBuf>,
    /// The operator's; it need not be there. Access policies are the files `access/*.cedar` beside it.
    ///
    /// A path without links: it is read several times, and a link could change between them.
    pub operator: Option<PathBuf>,
    /// Directory of the operator's files as the environment names it, links and all. It is protected as they are.
    pub named: Option<PathBuf>,
    /// The home of ledger and keys, which says whose policies are trusted; it need not be there.
    pub home: PathBuf,
    /// What reads access policies, and keeps those that it read last.
    pub cedar: Cedar,
    /// Clock that tells whether trust that waits is in effect.
    pub clock: Clock,
    /// Whether a directory, a path without links, is where the system knows this user's configuration. What loosens rules or
    /// lets programs do more counts only there, since an environment leads anywhere; it is asked only where the
    /// operator's policy says such a thing.
    pub is_known_place: fn(&Path) -> bool,
}

/// What is in force in a workspace.
#[derive(Debug, Clone)]
pub struct PolicyInForce {
    /// All of it.
    pub policy: Policy,
    /// The files that it was read from.
    pub files: Vec<ReadPolicy>,
    /// What the workspace's policy asks for and does not get.
    pub ignored: Vec<Ignored>,
    /// The command that tells the operator of a plan that waits.
    pub notify: Option<Vec<String>>,
    /// Keys of the operator's policy that do not count, or only as far as they tighten, since it lies where only the
    /// environment leads.
    pub set_aside: Vec<&'static str>,
    /// What commands may see and pass through besides.
    pub sandbox: SandboxAllowance,
    /// Whether the code of plugin packages may be run.
    pub plugins: PluginAllowance,
    /// Directories in which a workspace may be made although programs act on what they hold.
    pub roots: Vec<String>,
    /// History that is kept for undo.
    pub retention: Retention,
    /// The most bytes of the ledger before it takes no new run, plan, action, lease or file task.
    pub ledger_bytes: u64,
    /// Task envelopes that are accepted: the strictest that any of the files sets.
    pub task_envelopes: TaskEnvelopes,
    /// Directories in which file tasks act. Where the system's policy lists some, the operator's can only leave some out.
    pub base_directories: Vec<String>,
    /// Pipelines that task plans may run. Only the operator's own policy declares them.
    pub pipelines: Vec<DeclaredPipeline>,
    /// Library and limits of SQL steps: of each limit the smallest that the system's or the operator's policy sets.
    pub sql: SqlSettings,
    /// The files of access policies, in the order of their names.
    pub access: Vec<ReadAccess>,
    /// What tells what these policies say.
    pub cedar: Cedar,
    /// The root of the workspace.
    pub root: PathBuf,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPolicy {
    /// Whose it is.
    pub source: Source,
    /// Where it is.
    pub path: PathBuf,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Whether what it widens counts.
    pub trust: Trust,
    /// The digest that was trusted in its place, where it is another: the file changed since.
    pub trusted_before: Option<Digest>,
}

impl PolicyInForce {
    /// What is in force in the workspace at `root` where nobody wrote a policy.
    pub fn built_in(root: &Path) -> Self {
        Self {
            policy: Policy::default(),
            files: Vec::new(),
            ignored: Vec::new(),
            notify: None,
            set_aside: Vec::new(),
            sandbox: SandboxAllowance::default(),
            plugins: PluginAllowance::default(),
            roots: Vec::new(),
            retention: Retention::default(),
            ledger_bytes: LOG_BYTES_MAX,
            task_envelopes: TaskEnvelopes::default(),
            base_directories: Vec::new(),
            pipelines: Vec::new(),
            sql: SqlSettings::default(),
            access: Vec::new(),
            cedar: Cedar::default(),
            root: root.to_owned(),
        }
    }

    /// Where the workspace is, as the gates are told.
    pub fn place(&self) -> Place {
        Place::of(&self.root)
    }

    /// The same where what a profile protects is protected besides.
    #[must_use]
    pub fn guarded(mut self, profile: Profile) -> Self {
        self.policy = self.policy.guarding(profile);
        self
    }

    /// A policy that is from no file, in force in the workspace at `root`.
    pub(crate) fn fixed(policy: Policy, cedar: Cedar, root: &Path) -> Self {
        Self {
            policy,
            files: Vec::new(),
            ignored: Vec::new(),
            notify: None,
            set_aside: Vec::new(),
            sandbox: SandboxAllowance::default(),
            plugins: PluginAllowance::default(),
            roots: Vec::new(),
            retention: Retention::default(),
            ledger_bytes: LOG_BYTES_MAX,
            task_envelopes: TaskEnvelopes::default(),
            base_directories: Vec::new(),
            pipelines: Vec::new(),
            sql: SqlSettings::default(),
            access: Vec::new(),
            cedar,
            root: root.to_owned(),
        }
    }

    /// That the operator lets the code of plugin packages run, where that is so (AA-9).
    pub fn plugin_code(&self) -> Option<PluginCode> {
        PluginCode::allowed(self.plugins.code_execution == Some(true))
    }
}

impl PolicyFiles {
    /// The name of a workspace's policy in its root.
    pub const IN_WORKSPACE: &str = "actum.toml";
    /// The name of the directory of access policies beside the operator's policy.
    pub const ACCESS: &str = access::DIRECTORY;

    /// Reads what is in force in the workspace at `root`. Files that are not there say nothing.
    ///
    /// # Errors
    /// `Policy` where one cannot be read or is none: nothing may be done then. `Home`.
    pub fn read(&self, root: &Path) -> Result<PolicyInForce> {
        self.check_directory()?;
        let operator = self.operator.as_deref().map(|path| read(Source::Operator, path));
        let operator = operator.transpose()?.flatten();
        let own = read(Source::Workspace, &root.join(Self::IN_WORKSPACE))?;
        let mut files = Vec::new();
        let system = self.system.as_deref().map(|path| read(Source::System, path));
        let system = system.transpose()?.flatten();
        let system = system.map(|(file, read)| -> Result<_> {
            check_own(&file, &read)?;
            files.push(read);
            Ok(file)
        });
        let system = system.transpose()?;
        let set_aside = operator.as_ref().map_or(Vec::new(), |(file, _)| self.set_aside(file));
        let counts_in_full = set_aside.is_empty();
        let trust = if counts_in_full { Trust::Trusted } else { Trust::Untrusted };
        let operator = operator.map(|(file, read)| {
            files.push(ReadPolicy { trust, ..read });
            file
        });
        let widening = operator.as_ref().filter(|_| counts_in_full);
        let notify = widening.and_then(|file| file.notify.clone());
        let mut sandbox = widening.map(|file| file.sandbox.clone()).unwrap_or_default();
        // A cache counts from the outermost root: what it names in a nested one may be an ordinary file of the outer.
        if !sandbox.caches.is_empty() && !Place::of(root).enclosing.is_empty() {
            sandbox.caches.clear();
        }
        let plugins = widening.map(|file| file.plugins).unwrap_or_default();
        let roots = widening.map(|file| file.roots.clone()).unwrap_or_default();
        let pipelines = widening.map(|file| file.pipelines.clone()).unwrap_or_default();
        let set = || [&system, &operator].into_iter().flatten();
        let listed =
            |file: &PolicyFile| Some(file.base_directories.clone()).filter(|it| !it.is_empty());
        let base_directories = match (system.as_ref().and_then(listed), widening.and_then(listed)) {
            (Some(system), Some(operator)) => {
                operator.into_iter().filter(|directory| system.contains(directory)).collect()
            }
            (listed, None) | (None, listed) => listed.unwrap_or_default(),
        };
        let least = (!counts_in_full).then(Retention::default);
        let retention =
            set().filter_map(|file| file.retention).chain(least).reduce(Retention::longer);
        let retention = retention.unwrap_or_default();
        let most = (!counts_in_full).then_some(LOG_BYTES_MAX);
        let ledger_bytes = set().filter_map(|file| file.ledger_bytes).chain(most).min();
        let ledger_bytes = ledger_bytes.unwrap_or(LOG_BYTES_MAX);
        let held = |file: &PolicyFile| match counts_in_full {
            true => file.sql.clone(),
            false => file.sql.held(),
        };
        let sql = operator.as_ref().map(held).unwrap_or_default();
        let sql = sql.tightened(system.as_ref().map(|file| file.sql.clone()).unwrap_or_default());
        let own = match own {
            None => None,
            Some((file, read)) => {
                check_own(&file, &read)?;
                let (trust, trusted_before) = match self.trusted(root)? {
                    Some(digest) if digest == read.digest => (Trust::Trusted, None),
                    before => (Trust::Untrusted, before),
                };
                files.push(ReadPolicy { trust, trusted_before, ..read });
                Some((file, trust))
            }
        };
        let place = real(root);
        let enclosing = self.enclosing(&place, &mut files)?;
        let written = [&operator, &system].into_iter().flatten();
        let written = written.chain(own.iter().map(|(file, _)| file));
        let written = written.chain(enclosing.iter().map(|(file, _)| file));
        let task_envelopes = written.map(|file| file.task_envelopes).max().unwrap_or_default();
        let (operator, named) = if counts_in_full { (operator, None) } else { (None, operator) };
        let (policy, ignored) = Policy::of(operator, own);
        let policy = policy.enclosed(enclosing).tightened(Source::Operator, named);
        let policy = policy.tightened(Source::System, system);
        let beside = self.operator.as_deref();
        let (texts, access) = beside.map_or_else(
            || Ok((Vec::new(), Vec::new())),
            |operator| access::read(operator, &self.cedar),
        )?;
        let policy = policy.with_access(texts).protecting(self.own_places(&place, &access));
        let cedar = self.cedar.clone();
        let root = root.to_owned();
        Ok(PolicyInForce {
            policy,
            files,
            ignored,
            notify,
            set_aside,
            sandbox,
            plugins,
            roots,
            retention,
            ledger_bytes,
            task_envelopes,
            base_directories,
            pipelines,
            sql,
            access,
            cedar,
            root,
        })
    }

    /// The policies of the directories that the workspace at `root`, a path without links, lies in, outermost first, each with its directory: a
    /// root that is chosen deeper does not leave them behind. Each only narrows. A directory in which other users may put
    /// files is no place for one.
    fn enclosing(
        &self,
        root: &Path,
        files: &mut Vec<ReadPolicy>,
    ) -> Result<Vec<(PolicyFile, String)>> {
        let operators = self.operator.as_deref().and_then(Path::parent).map(real);
        let mut found = Vec::new();
        for directory in enclosing(root).filter(|it| operators.as_deref() != Some(*it)) {
            let path = directory.join(PolicyFiles::IN_WORKSPACE);
            let is_missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
            if fs::symlink_metadata(&path).is_err_and(is_missing) || is_shared(directory) {
                continue;
            }
            if let Some((file, read)) = read(Source::Enclosing, &path)? {
                check_own(&file, &read)?;
                files.push(read);
                found.push((file, escaped(directory)));
            }
        }
        found.reverse();
        Ok(found)
    }

    /// What the operator's policy says in vain, since it lies where only the environment leads.
    fn set_aside(&self, file: &PolicyFile) -> Vec<&'static str> {
        let ledger = file.ledger_bytes.filter(|bytes| *bytes > LOG_BYTES_MAX).map(|_| "ledger");
        let widening = widening(file).map(|(key, _)| key);
        let bases = (!file.base_directories.is_empty()).then_some(FILE.0);
        let sql = file.sql.loosens().then_some(SQL.0);
        let keys = widening.chain(file.loosening()).chain(ledger).chain(bases).chain(sql);
        let keys: Vec<_> = keys.collect();
        let directory = self.operator.as_deref().and_then(Path::parent);
        let is_known = || directory.is_some_and(self.is_known_place);
        if keys.is_empty() || is_known() { Vec::new() } else { keys }
    }

    /// Refuses a directory of the operator's in which others can put files in the place of these.
    fn check_directory(&self) -> Result<()> {
        let Some(directory) = self.operator.as_deref().and_then(Path::parent) else {
            return Ok(());
        };
        let failed = |problem| {
            Error::from(PolicyError {
                whose: Source::Operator,
                path: directory.to_owned(),
                problem,
            })
        };
        match fs::metadata(directory) {
            Ok(found) => {
                let too_open = |mode| PolicyProblem::DirectoryTooOpen { mode };
                check_closed(&found, too_open).map_err(failed)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(PolicyProblem::Unreadable(error))),
        }
    }

    /// The rules that speak of the operator's own files and their directory, where these lie in the workspace or
    /// it lies in them: no change touches what it is judged by. `root` is a path without links.
    fn own_places(&self, root: &Path, access: &[ReadAccess]) -> Vec<PathRule> {
        let Some(operator) = &self.operator else { return Vec::new() };
        let directory = operator.parent().unwrap_or(operator);
        let beside = directory.join(access::DIRECTORY);
        let files = access.iter().map(|read| &*read.path);
        // Each as it is named, and where a link in its place leads to.
        let mut parents = BTreeMap::new();
        let mut places = BTreeSet::new();
        let named = self.named.as_deref();
        for path in [operator, directory, &beside].into_iter().chain(named).chain(files) {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                places.extend([path.to_owned(), real(path)]);
                continue;
            };
            let named = parents.entry(parent).or_insert_with(|| real(parent)).join(name);
            if fs::symlink_metadata(&named).is_ok_and(|found| found.is_symlink()) {
                places.insert(real(&named));
            }
            places.insert(named);
        }
        places.iter().filter_map(|place| rule_of(place, root)).collect()
    }

    /// The digest of the policy that the operator trusts in the workspace at `root`.
    fn trusted(&self, root: &Path) -> Result<Option<Digest>> {
        let Some(home) = LedgerHome::open_existing(&self.home)? else { return Ok(None) };
        // What cannot be found is trusted by nobody.
        let Ok(root) = fs::canonicalize(root) else { return Ok(None) };
        let trusted = home.trusted(&root)?.filter(|trusted| trusted.from <= self.clock.now());
        Ok(trusted.map(|trusted| trusted.policy))
    }
}

/// Whether other users may put files into a directory, as into that of temporary files.
fn is_shared(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|found| found.mode() & 0o002 != 0)
}

/// Refuses a policy that sets what only another one may set: the operator's, and for the limits of what is kept that of
/// the machine's administrator.
fn check_own(file: &PolicyFile, read: &ReadPolicy) -> Result<()> {
    let is_kept = read.source != Source::System;
    let kept = [
        (!file.except.is_empty(), "protected.except", "which excepts paths from protection"),
        (is_kept && file.retention.is_some(), "retention", "which says what `actum gc` keeps"),
        (is_kept && file.ledger_bytes.is_some(), "ledger", "which limits the ledger"),
        (is_kept && !file.base_directories.is_empty(), FILE.0, FILE.1),
        (is_kept && !file.sql.is_empty(), SQL.0, SQL.1),
        (file.sql.library.is_some(), LIBRARY.0, LIBRARY.1),
    ];
    let kept = kept.into_iter().filter(|(is_set, ..)| *is_set).map(|(_, key, what)| (key, what));
    let Some((key, what)) = widening(file).chain(kept).next() else { return Ok(()) };
    let problem = PolicyProblem::OperatorsOwn { key, what };
    Err(PolicyError { whose: read.source, path: read.path.clone(), problem }.into())
}

/// Key of the base directories of file tasks, and what it is.
const FILE: (&str, &str) = ("file", "which says where file tasks act");

/// Key of the library and the limits of SQL steps, and what it is.
const SQL: (&str, &str) = ("sql", "which says what SQL steps may use");
/// Key of the library of SQL steps, and what it is.
const LIBRARY: (&str, &str) = ("sql.library", "which is code that would be loaded");

/// The keys of a policy by which programs may do more, each with what it is.
fn widening(file: &PolicyFile) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = [
        (file.notify.is_some(), "approvals.notify", "a command that would be run"),
        (!file.sandbox.is_empty(), "sandbox", "which lets commands do more"),
        (!file.plugins.is_empty(), "plugins", "which lets the code of plugins run"),
        (!file.roots.is_empty(), "workspaces", "which lets workspaces be made in more places"),
        (!file.pipelines.is_empty(), "pipeline", "which lets task plans run programs"),
    ];
    all.into_iter().filter(|(is_set, ..)| *is_set).map(|(_, key, what)| (key, what))
}

/// The rule that speaks of a place in the workspace at `root`, or of all of it where it lies in that place.
fn rule_of(place: &Path, root: &Path) -> Option<PathRule> {
    let all = || PathRule::new(EVERYTHING).ok();
    if root.starts_with(place) {
        return all();
    }
    let within = place.strip_prefix(root).ok()?;
    // What no change can touch anyway is no path of one.
    let path = RelPath::new(within.as_os_str().as_bytes()).ok()?;
    PathRule::exactly(&path).or_else(all)
}

/// The rule that speaks of every path.
const EVERYTHING: &str = "**";

/// Reads the policy at `path`, if there is one.
fn read(whose: Source, path: &Path) -> Result<Option<(PolicyFile, ReadPolicy)>> {
    let failed = |problem| PolicyError { whose, path: path.to_owned(), problem };
    let bytes = bytes(whose, path).map_err(failed)?;
    let Some(bytes) = bytes else { return Ok(None) };
    let file = PolicyFile::read(&bytes).map_err(|error| failed(error.into()))?;
    let (path, digest) = (path.to_owned(), Digest::of(&bytes));
    let trust = match whose {
        Source::System | Source::Operator => Trust::Trusted,
        Source::Workspace | Source::Enclosing => Trust::Untrusted,
    };
    Ok(Some((file, ReadPolicy { source: whose, path, digest, trust, trusted_before: None })))
}

/// What stands there.
fn bytes(whose: Source, path: &Path) -> std::result::Result<Option<Vec<u8>>, PolicyProblem> {
    // Operators keep their configuration elsewhere and link to it; a workspace has no reason to.
    let found = match whose {
        Source::Operator => fs::metadata(path),
        Source::System | Source::Workspace | Source::Enclosing => fs::symlink_metadata(path),
    };
    let found = match found {
        Ok(found) => found,
        // A link that leads nowhere was meant to lead to a policy.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && (whose != Source::Operator || fs::symlink_metadata(path).is_err()) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(PolicyProblem::Unreadable(error)),
    };
    if !found.is_file() {
        return Err(PolicyProblem::NoFile);
    }
    // A pipe that was put there meanwhile is not waited for, and a link not followed.
    let flags = match whose {
        Source::Operator => OFlags::NONBLOCK,
        Source::System | Source::Workspace | Source::Enclosing => {
            OFlags::NONBLOCK | OFlags::NOFOLLOW
        }
    };
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let opened = fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(PolicyProblem::Unreadable)?;
    let opened = file.metadata().map_err(PolicyProblem::Unreadable)?;
    // Another one may have been put there meanwhile.
    if !opened.is_file() || (opened.dev(), opened.ino()) != (found.dev(), found.ino()) {
        return Err(PolicyProblem::NoFile);
    }
    match whose {
        Source::Operator => check_closed(&opened, |mode| PolicyProblem::TooOpen { mode })?,
        Source::System if opened.uid() != 0 => {
            return Err(PolicyProblem::OfAnother { uid: opened.uid() });
        }
        Source::System => check_closed(&opened, |mode| PolicyProblem::TooOpen { mode })?,
        Source::Workspace | Source::Enclosing => {}
    }
    let mut bytes = Vec::new();
    // One byte more than a policy may have tells that it is too long.
    let read = file.take(POLICY_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(PolicyProblem::Unreadable)?;
    Ok(Some(bytes))
}

/// Refuses what another user than this one and root owns, or may write to.
fn check_closed(
    found: &fs::Metadata,
    too_open: fn(u32) -> PolicyProblem,
) -> std::result::Result<(), PolicyProblem> {
    let us = rustix::process::geteuid();
    if found.uid() != 0 && found.uid() != us.as_raw() {
        return Err(PolicyProblem::OfAnother { uid: found.uid() });
    }
    match found.mode() & 0o7777 {
        mode if mode & 0o022 != 0 => Err(too_open(mode)),
        _ => Ok(()),
    }
}
