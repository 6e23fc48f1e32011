//! The policy of a command: from a file, or the one for trying something out, and what the command
//! line adds to it.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::path::Quoted;
use actum_sandbox::{Net, SandboxPolicy, Stdin, Tier, View};
use toml::Table;

use super::run::Arguments;

/// What programs of the system read and execute.
const PROGRAMS: [&str; 8] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"];
/// What they read besides.
const SETTINGS: [&str; 15] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/npmrc",
    "/etc/passwd",
    "/etc/protocols",
    "/etc/ssl",
];
/// Variables that come from outside where nothing is said.
const PASSED: [&str; 4] = ["PATH", "LANG", "LC_ALL", "TERM"];
/// Where programs are sought where nothing is said.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const GIB: u64 = 1 << 30;

/// Why there is no policy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PolicyFileError {
    #[error("cannot read the policy `{}`: {source}", Quoted(file.as_os_str().as_bytes()))]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("the policy `{}` is not valid: {message}", Quoted(file.as_os_str().as_bytes()))]
    Malformed { file: PathBuf, message: String },
    #[error("`--cache` is for `--capture`, or for a policy with a view")]
    CacheWithoutView,
    #[error("the policy cannot be written as TOML: {0}")]
    Unwritable(#[from] toml::ser::Error),
}

/// The policy that the arguments describe, for a command that starts in `start`.
pub(super) fn read(arguments: &Arguments, start: &Path) -> Result<SandboxPolicy, PolicyFileError> {
    let mut policy = match &arguments.policy {
        Some(file) => from_file(&start.join(file), start)?,
        None => for_trying(start),
    };
    let absolute = |path: &PathBuf| typed(path, start);
    policy.read.extend(arguments.read.iter().chain(&arguments.exec).map(absolute));
    policy.exec.extend(arguments.exec.iter().map(absolute));
    policy.write.extend(arguments.write.iter().map(absolute));
    policy.deny_write.extend(arguments.deny_write.iter().map(absolute));
    if arguments.capture && policy.view.is_none() {
        let (base, caches) = (start.to_owned(), Vec::new());
        policy.view = Some(View { base, staged: None, caches, max: GIB });
    }
    match &mut policy.view {
        Some(view) => view.caches.extend(arguments.cache.iter().map(absolute)),
        None if arguments.cache.is_empty() => {}
        None => return Err(PolicyFileError::CacheWithoutView),
    }
    if arguments.loopback {
        (policy.net, policy.floor) = (Net::PrivateLoopback, Tier::N);
    }
    if let Some(floor) = arguments.floor {
        policy.floor = policy.floor.max(floor.into());
    }
    for limit in &arguments.limit {
        policy.limits = policy.limits.with(limit.resource, limit.max, limit.require);
    }
    for variable in &arguments.env {
        match variable.split_once('=') {
            Some((name, value)) => policy.env.insert(name.to_owned(), value.to_owned()),
            None => {
                inherited(variable).and_then(|value| policy.env.insert(variable.clone(), value))
            }
        };
    }
    if arguments.policy.is_none() {
        keep_what_it_can_run(&mut policy);
    }
    policy.stdin = Stdin::Inherited;
    Ok(policy)
}

/// As the file for `--policy` has it.
pub(super) fn to_text(policy: &SandboxPolicy) -> Result<String, PolicyFileError> {
    let mut table = Table::try_from(policy)?;
    table.remove("stdin"); // it is always that of `actum`
    Ok(toml::to_string_pretty(&table)?)
}

/// A policy for trying something out: the programs of the system, the directory to read, scratch, no
/// network.
fn for_trying(start: &Path) -> SandboxPolicy {
    let paths = |names: &[&str]| -> Vec<PathBuf> {
        let paths = names.iter().map(PathBuf::from);
        paths.filter(|path| path.symlink_metadata().is_ok()).collect()
    };
    let programs = [paths(&PROGRAMS), vec![start.to_owned()]].concat();
    let mut env: BTreeMap<String, String> =
        PASSED.iter().filter_map(|name| Some(((*name).to_owned(), inherited(name)?))).collect();
    env.entry("PATH".to_owned()).or_insert_with(|| PATH.to_owned());
    SandboxPolicy {
        read: [programs.clone(), paths(&SETTINGS)].concat(),
        exec: programs,
        env,
        scratch: Some(GIB),
        ..SandboxPolicy::new(start)
    }
}

/// A path as it was typed: what is there is meant, wherever links lead.
fn typed(path: &Path, start: &Path) -> PathBuf {
    std::fs::canonicalize(start.join(path)).unwrap_or_else(|_| plain(&start.join(path)))
}

/// A path without each `.` in it.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Leaves out of `PATH` what is not there in the sandbox, so that a program is found where it is.
fn keep_what_it_can_run(policy: &mut SandboxPolicy) {
    let exec = policy.exec.clone();
    let runs = |directory: &&str| exec.iter().any(|tree| Path::new(directory).starts_with(tree));
    if let Some(path) = policy.env.get_mut("PATH") {
        *path = path.split(':').filter(runs).collect::<Vec<_>>().join(":");
    }
}

#[expect(clippy::disallowed_methods, reason = "what comes from outside is asked for by name")]
fn inherited(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Reads a policy. Paths in it are seen from `start`, which is also where the command starts if it
/// says nothing else.
fn from_file(file: &Path, start: &Path) -> Result<SandboxPolicy, PolicyFileError> {
    #[expect(clippy::disallowed_methods, reason = "the file was named on the command line")]
    let text = std::fs::read_to_string(file)
        .map_err(|source| PolicyFileError::Unreadable { file: file.to_owned(), source })?;
    let malformed = |error: toml::de::Error| PolicyFileError::Malformed {
        file: file.to_owned(),
        message: error.to_string().trim_end().to_owned(),
    };
    let mut policy: SandboxPolicy = toml::from_str(&text).map_err(malformed)?;
    for list in [&mut policy.read, &mut policy.write, &mut policy.deny_write, &mut policy.exec] {
        list.iter_mut().for_each(|path| *path = plain(&start.join(&*path)));
    }
    if let Some(View { base, staged, caches, .. }) = &mut policy.view {
        let paths = std::iter::once(base).chain(staged).chain(caches);
        paths.for_each(|path| *path = plain(&start.join(&*path)));
    }
    // With nothing said this is `start` itself.
    policy.cwd = plain(&start.join(&policy.cwd));
    Ok(policy)
}
