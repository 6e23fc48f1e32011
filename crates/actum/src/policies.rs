//! Reads the policy files that apply to a workspace. They are the policies of the system, the operator, the workspace
//! and its enclosing directories, and the operator's access policies.

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

/// Locations of the policy files, with everything that is needed to read them.
#[derive(Debug, Clone)]
pub struct PolicyFiles {
    /// System policy, set by the administrator of the machine. It can only tighten the rules, must be owned by root, and
    /// may be missing.
    pub system: Option<PathBuf>,
    /// Operator's policy, which may be missing. Access policies are the files `access/*.cedar` in the same directory.
    ///
    /// The path must not contain symbolic links, because the path is used several times and a link could change in between.
    pub operator: Option<PathBuf>,
    /// Directory of the operator's files as named by the environment, without resolving symbolic links. It is protected
    /// from changes like the files themselves.
    pub named: Option<PathBuf>,
    /// Home directory of the ledger and keys, which also records the trusted policies. It may be missing.
    pub home: PathBuf,
    /// Parser for access policies, which caches the most recently parsed policies.
    pub cedar: Cedar,
    /// Clock that decides if pending trust has taken effect.
    pub clock: Clock,
    /// Returns true if a directory is the system's standard location for this user's configuration. The path must not
    /// contain symbolic links.
    ///
    /// The environment can name any directory, so permissive rules take effect only in the standard location. The
    /// function is called only if the operator's policy contains such rules.
    pub is_known_place: fn(&Path) -> bool,
}

/// Combined policy that is in force in a workspace.
#[derive(Debug, Clone)]
pub struct PolicyInForce {
    /// Rules combined from all policy files.
    pub policy: Policy,
    /// Policy files that were read.
    pub files: Vec<ReadPolicy>,
    /// Rules of the workspace's policy that have no effect, because they would loosen the policy without being trusted.
    pub ignored: Vec<Ignored>,
    /// Command that notifies the operator about a pending plan.
    pub notify: Option<Vec<String>>,
    /// Keys of the operator's policy whose permissive parts are ignored, because the environment placed that policy outside
    /// the standard location.
    pub set_aside: Vec<&'static str>,
    /// Additional files that commands may access, and environment variables that they inherit.
    pub sandbox: SandboxAllowance,
    /// Permission to run the code of plugin packages.
    pub plugins: PluginAllowance,
    /// Directories that may contain a workspace although other programs act on files there.
    pub roots: Vec<String>,
    /// Limits for the history that is kept for undo.
    pub retention: Retention,
    /// Ledger size in bytes above which no new run, plan, action, lease or file task is accepted.
    pub ledger_bytes: u64,
    /// Accepted task envelopes, which is the strictest setting among all policy files.
    pub task_envelopes: TaskEnvelopes,
    /// Base directories in which file tasks may act. If the system policy lists any, the operator's policy can only remove
    /// some of them.
    pub base_directories: Vec<String>,
    /// Pipelines that task plans may run. Only the operator's policy can declare them.
    pub pipelines: Vec<DeclaredPipeline>,
    /// Library and limits for SQL steps. Each limit is the smaller one of the system's and the operator's policy.
    pub sql: SqlSettings,
    /// Access policy files that were read, sorted by name.
    pub access: Vec<ReadAccess>,
    /// Evaluator of the access policies.
    pub cedar: Cedar,
    /// Root directory of the workspace.
    pub root: PathBuf,
}

/// Facts about a policy file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPolicy {
    /// Source of the policy, such as the operator or the workspace.
    pub source: Source,
    /// Path of the policy file.
    pub path: PathBuf,
    /// Digest of the file's content.
    pub digest: Digest,
    /// Trust in the policy, which decides if its permissive rules take effect.
    pub trust: Trust,
    /// Digest of the content that the operator trusted earlier, if the file has changed since then.
    pub trusted_before: Option<Digest>,
}

impl PolicyInForce {
    /// Returns the built-in policy, which applies to the workspace at `root` if there are no policy files.
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

    /// Determines the location of the workspace, which the gates take into account.
    pub fn place(&self) -> Place {
        Place::new(&self.root)
    }

    /// Adds the protected paths of a profile to the policy.
    #[must_use]
    pub fn guarded(mut self, profile: Profile) -> Self {
        self.policy = self.policy.guarding(profile);
        self
    }

    /// Creates a policy in force at `root` from the given rules, without reading any file.
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

    /// Returns the permission to run plugin code, if the operator granted it (AA-9).
    pub fn plugin_code(&self) -> Option<PluginCode> {
        PluginCode::allowed(self.plugins.code_execution == Some(true))
    }
}

impl PolicyFiles {
    /// Name of the policy file in the root of a workspace.
    pub const IN_WORKSPACE: &str = "actum.toml";
    /// Name of the access policy directory next to the operator's policy.
    pub const ACCESS: &str = access::DIRECTORY;

    /// Reads and combines all policy files that apply to the workspace at `root`. A missing file counts as one without
    /// rules.
    ///
    /// # Errors
    /// Returns `Policy` if a file is unreadable or invalid, or `Home`. After an error, the caller must not change anything.
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
        // Cache paths are relative to the outermost root. In a nested workspace, such a path could be an ordinary file of
        // the enclosing one, so ignore the caches there.
        if !sandbox.caches.is_empty() && !Place::new(root).enclosing.is_empty() {
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
        let (policy, ignored) = Policy::new(operator, own);
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

    /// Reads the policies of all directories that enclose the workspace at `root`, so that choosing a deeper root does not
    /// escape them. Returns each policy with its directory, outermost first.
    ///
    /// The path `root` must not contain symbolic links. These policies can only tighten the rules. Directories in which
    /// other users may create files are ignored.
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

    /// Returns the permissive keys of the operator's policy that are ignored. In the standard location, no key is ignored.
    /// A policy at any other path is known only from the environment, which an agent may control.
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

    /// Checks that no other user can replace files in the directory of the operator's policy.
    fn check_directory(&self) -> Result<()> {
        let Some(directory) = self.operator.as_deref().and_then(Path::parent) else {
            return Ok(());
        };
        let failed = |problem| {
            Error::from(PolicyError {
                origin: Source::Operator,
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

    /// Returns rules that protect the operator's policy files and their directory if they overlap with the workspace. A
    /// change must not modify the policy that judges it. The path `root` must not contain symbolic links.
    fn own_places(&self, root: &Path, access: &[ReadAccess]) -> Vec<PathRule> {
        let Some(operator) = &self.operator else { return Vec::new() };
        let directory = operator.parent().unwrap_or(operator);
        let beside = directory.join(access::DIRECTORY);
        let files = access.iter().map(|read| &*read.path);
        // Protect each path under its own name and, if it is a symbolic link, also the target.
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

    /// Returns the digest of the workspace policy that the operator trusts at `root`, if that trust is in effect.
    fn trusted(&self, root: &Path) -> Result<Option<Digest>> {
        let Some(home) = LedgerHome::open_existing(&self.home)? else { return Ok(None) };
        // Treat a root that cannot be resolved as untrusted.
        let Ok(root) = fs::canonicalize(root) else { return Ok(None) };
        let trusted = home.trusted(&root)?.filter(|trusted| trusted.from <= self.clock.now());
        Ok(trusted.map(|trusted| trusted.policy))
    }
}

/// Returns true if any user may create files in the directory, as in `/tmp`.
fn is_shared(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|found| found.mode() & 0o002 != 0)
}

/// Rejects a policy that sets a key reserved for the operator's policy. Some of these keys, such as `retention`, are
/// also allowed in the system's policy.
fn check_own(file: &PolicyFile, read: &ReadPolicy) -> Result<()> {
    let is_kept = read.source != Source::System;
    let kept = [
        (!file.except.is_empty(), "protected.except", "which removes the protection from paths"),
        (is_kept && file.retention.is_some(), "retention", "which sets what `actum gc` keeps"),
        (is_kept && file.ledger_bytes.is_some(), "ledger", "which limits the ledger"),
        (is_kept && !file.base_directories.is_empty(), FILE.0, FILE.1),
        (is_kept && !file.sql.is_empty(), SQL.0, SQL.1),
        (file.sql.library.is_some(), LIBRARY.0, LIBRARY.1),
    ];
    let kept = kept.into_iter().filter(|(is_set, ..)| *is_set).map(|(_, key, what)| (key, what));
    let Some((key, what)) = widening(file).chain(kept).next() else { return Ok(()) };
    let problem = PolicyProblem::OperatorsOwn { key, what };
    Err(PolicyError { origin: read.source, path: read.path.clone(), problem }.into())
}

/// Key for the base directories of file tasks, with its description for error messages.
const FILE: (&str, &str) = ("file", "which selects the directories for file tasks");

/// Key for the library and limits of SQL steps, with its description for error messages.
const SQL: (&str, &str) = ("sql", "which configures SQL steps");
/// Key for the library of SQL steps, with its description for error messages.
const LIBRARY: (&str, &str) = ("sql.library", "which names code that actum would load");

/// Returns the keys of a policy that grant programs additional permissions, each with its description.
fn widening(file: &PolicyFile) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = [
        (file.notify.is_some(), "approvals.notify", "which is a command that actum would run"),
        (!file.sandbox.is_empty(), "sandbox", "which lets commands do more"),
        (!file.plugins.is_empty(), "plugins", "which lets plugin code run"),
        (!file.roots.is_empty(), "workspaces", "which allows workspaces in more directories"),
        (!file.pipelines.is_empty(), "pipeline", "which lets task plans run programs"),
    ];
    all.into_iter().filter(|(is_set, ..)| *is_set).map(|(_, key, what)| (key, what))
}

/// Returns the rule that matches `place` if it is in the workspace at `root`. If the workspace itself is in `place`, the
/// rule matches every path.
fn rule_of(place: &Path, root: &Path) -> Option<PathRule> {
    let all = || PathRule::new(EVERYTHING).ok();
    if root.starts_with(place) {
        return all();
    }
    let within = place.strip_prefix(root).ok()?;
    // A path that is not a valid `RelPath` cannot be changed by a run, so it needs no rule.
    let path = RelPath::new(within.as_os_str().as_bytes()).ok()?;
    PathRule::exactly(&path).or_else(all)
}

/// Path pattern that matches every path.
const EVERYTHING: &str = "**";

/// Reads and parses the policy at `path`. Returns `None` if the file does not exist.
fn read(origin: Source, path: &Path) -> Result<Option<(PolicyFile, ReadPolicy)>> {
    let failed = |problem| PolicyError { origin, path: path.to_owned(), problem };
    let bytes = bytes(origin, path).map_err(failed)?;
    let Some(bytes) = bytes else { return Ok(None) };
    let file = PolicyFile::read(&bytes).map_err(|error| failed(error.into()))?;
    let (path, digest) = (path.to_owned(), Digest::of(&bytes));
    let trust = match origin {
        Source::System | Source::Operator => Trust::Trusted,
        Source::Workspace | Source::Enclosing => Trust::Untrusted,
    };
    Ok(Some((file, ReadPolicy { source: origin, path, digest, trust, trusted_before: None })))
}

/// Reads the policy file at `path` after checking its owner and permissions. Returns `None` if the file does not exist.
fn bytes(origin: Source, path: &Path) -> std::result::Result<Option<Vec<u8>>, PolicyProblem> {
    // Follow symbolic links only for the operator, who may manage configuration files in another directory.
    let found = match origin {
        Source::Operator => fs::metadata(path),
        Source::System | Source::Workspace | Source::Enclosing => fs::symlink_metadata(path),
    };
    let found = match found {
        Ok(found) => found,
        // A dangling link of the operator is an error, because it was intended to lead to a policy.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && (origin != Source::Operator || fs::symlink_metadata(path).is_err()) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(PolicyProblem::Unreadable(error)),
    };
    if !found.is_file() {
        return Err(PolicyProblem::NoFile);
    }
    // Do not block on a pipe, or follow a link, that has replaced the file in the meantime.
    let flags = match origin {
        Source::Operator => OFlags::NONBLOCK,
        Source::System | Source::Workspace | Source::Enclosing => {
            OFlags::NONBLOCK | OFlags::NOFOLLOW
        }
    };
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let opened = fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(PolicyProblem::Unreadable)?;
    let opened = file.metadata().map_err(PolicyProblem::Unreadable)?;
    // Check that the opened file is still the one that was inspected.
    if !opened.is_file() || (opened.dev(), opened.ino()) != (found.dev(), found.ino()) {
        return Err(PolicyProblem::NoFile);
    }
    match origin {
        Source::Operator => check_closed(&opened, |mode| PolicyProblem::TooOpen { mode })?,
        Source::System if opened.uid() != 0 => {
            return Err(PolicyProblem::OfAnother { uid: opened.uid() });
        }
        Source::System => check_closed(&opened, |mode| PolicyProblem::TooOpen { mode })?,
        Source::Workspace | Source::Enclosing => {}
    }
    let mut bytes = Vec::new();
    // Read one byte past the limit to detect a file that is too large.
    let read = file.take(POLICY_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(PolicyProblem::Unreadable)?;
    Ok(Some(bytes))
}

/// Rejects a file that is owned by a user other than root and the current user, or that other users may write to.
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
