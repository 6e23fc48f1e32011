//! Builds the sandbox policy of a command from a policy file or the defaults, and the options of the command line.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use actum_core::path::Quoted;
use actum_core::place::Place;
use actum_gate::policy::SandboxAllowance;
use actum_sandbox::{Limits, Net, SandboxPolicy, Stdin, View};
use toml::Table;

use super::allowed::{Allowed, NotAllowed};
use super::confinement::Confinement;
use super::run::Arguments;
use crate::snippet::Quote;
use crate::{home, input, look_alike, root};

/// Paths of system programs and libraries, which every command may read and execute.
pub(super) const PROGRAMS: [&str; 8] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"];
/// Paths of system settings, which every command may read.
pub(super) const SETTINGS: [&str; 16] = [
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
    "/etc/os-release",
    "/etc/passwd",
    "/etc/protocols",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];
/// Environment variables that are passed on to every command.
pub(super) const PASSED: [&str; 4] = ["PATH", "LANG", "LC_ALL", "TERM"];
/// Value of `PATH` for a command if the environment has none.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Directories in which a command cannot start without a policy file, because the sandbox has its own version of them or
/// they contain all files.
const NOT_HERE: [&str; 5] = ["/", "/dev", "/proc", "/sys", "/tmp"];
/// Variables that prevent git from updating its index in read-only commands, because users do not expect such a change
/// (git(1), git-config(1)).
const GIT_ONLY_LOOKS: [(&str, &str); 4] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "diff.autoRefreshIndex"),
    ("GIT_CONFIG_VALUE_0", "false"),
];
/// Maximum size of a policy file, in bytes.
const POLICY_MAX: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Failure to read or build the sandbox policy of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PolicyFileError {
    #[error("cannot read the policy `{}`: {source}", Quoted(file.as_os_str().as_bytes()))]
    Unreadable { file: PathBuf, source: io::Error },
    #[error(
        "the policy `{}` is not valid: {}",
        Quoted(file.as_os_str().as_bytes()),
        quote.message(message, "it is not TOML with the keys of a policy")
    )]
    Malformed { file: PathBuf, message: String, quote: Quote },
    #[error(
        "the policy `{}` sets `view.staged`, which only actum itself can use",
        Quoted(.0.as_os_str().as_bytes())
    )]
    Staged(PathBuf),
    #[error("cannot allow `{}` with {option}: {source}", Quoted(path.as_os_str().as_bytes()))]
    NotThere { option: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "cannot allow `{}` with {option}: it leads through a symbolic link to `{}`; use that path",
        Quoted(path.as_os_str().as_bytes()),
        Quoted(real.as_os_str().as_bytes())
    )]
    Elsewhere { option: &'static str, path: PathBuf, real: PathBuf },
    #[error(
        "a sandbox needs `{}` for itself; change to a directory below it, or pass `--policy FILE`",
        Quoted(start.as_os_str().as_bytes())
    )]
    Here { start: PathBuf },
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    #[error("`--cache` requires `--capture` or a policy with a view")]
    CacheWithoutView,
    #[error("the policy cannot be written as TOML: {0}")]
    Unwritable(#[from] toml::ser::Error),
}

/// Builds the policy of a command that starts in `start` from the arguments of `actum sandbox run`. Returns an error if it
/// would allow more than the default access and the operator's lists.
pub(super) fn read(
    arguments: &Arguments,
    allowance: &SandboxAllowance,
    start: &Path,
) -> Result<SandboxPolicy, PolicyFileError> {
    let allowed = Allowed::new(allowance, root::existing_or_new(start));
    let mut policy = match &arguments.policy {
        Some(file) => from_file(&start.join(file), start)?,
        None => for_trying(start)?,
    };
    confine(&mut policy, (&arguments.confinement, &allowed), start)?;
    let there = |option: &'static str, paths: &[PathBuf]| all_typed(option, paths, start);
    policy.write.extend(there("`--write`", &arguments.write)?);
    // Do not resolve symbolic links here, because their targets may change before the command runs.
    policy.deny_write.extend(arguments.deny_write.iter().map(|path| lexical(&start.join(path))));
    if arguments.capture && policy.view.is_none() {
        let (base, caches) = (root::existing_or_new(start).to_owned(), Vec::new());
        policy.view =
            Some(View { base, staged: None, caches, before: None, upper: None, max: GIB });
    }
    match &mut policy.view {
        Some(view) => view.caches.extend(there("`--cache`", &arguments.cache)?),
        None if arguments.cache.is_empty() => {}
        None => return Err(PolicyFileError::CacheWithoutView),
    }
    if let Some(floor) = arguments.floor {
        policy.floor = policy.floor.max(floor.into());
    }
    if arguments.policy.is_none() {
        retain_executable_path_entries(&mut policy);
    }
    allowed.confine(&mut policy)?;
    policy.stdin = Stdin::Inherited;
    Ok(policy)
}

/// Builds the policy of a command whose changes are captured. It allows the default access, everything that the operator
/// lists for reading and execution, and the additions of the command line.
pub(crate) fn for_captured(
    confinement: &Confinement,
    allowance: &SandboxAllowance,
    start: &Path,
) -> Result<SandboxPolicy, PolicyFileError> {
    let allowed = Allowed::new(allowance, root::existing_or_new(start));
    let mut policy = for_trying(start)?;
    for (name, value) in GIT_ONLY_LOOKS {
        policy.env.insert(name.to_owned(), value.to_owned());
    }
    let paths = |paths: &[String]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    allow(
        &mut policy,
        all_typed("`read` in the operator's policy", &paths(&allowance.read), start)?,
        all_typed("`exec` in the operator's policy", &paths(&allowance.exec), start)?,
    );
    for variable in &allowance.env {
        set(&mut policy, &allowed, variable)?;
    }
    confine(&mut policy, (confinement, &allowed), start)?;
    allowed.confine(&mut policy)?;
    retain_executable_path_entries(&mut policy);
    policy.stdin = Stdin::Inherited;
    Ok(policy)
}

/// Adds the access and the limits that the command line requests.
fn confine(
    policy: &mut SandboxPolicy,
    (confinement, allowed): (&Confinement, &Allowed<'_>),
    start: &Path,
) -> Result<(), PolicyFileError> {
    allow(
        policy,
        all_typed("`--read`", &confinement.read, start)?,
        all_typed("`--exec`", &confinement.exec, start)?,
    );
    if confinement.loopback {
        policy.net = Net::PrivateLoopback;
    }
    for limit in &confinement.limit {
        policy.limits =
            std::mem::take(&mut policy.limits).with(limit.resource, limit.max, limit.require);
    }
    confinement.env.iter().try_for_each(|variable| set(policy, allowed, variable))
}

/// Lets the command read all of these paths, and execute those in `exec`.
fn allow(policy: &mut SandboxPolicy, read: Vec<PathBuf>, exec: Vec<PathBuf>) {
    policy.read.extend(read.into_iter().chain(exec.iter().cloned()));
    policy.exec.extend(exec);
}

/// Adds a variable to the policy, either as `NAME=VALUE` or by name with its allowed value.
fn set(
    policy: &mut SandboxPolicy,
    allowed: &Allowed<'_>,
    variable: &str,
) -> Result<(), PolicyFileError> {
    let (name, value) = match variable.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (variable, allowed.inherited(variable)?),
    };
    if let Some(value) = value {
        policy.env.insert(name.to_owned(), value);
    }
    Ok(())
}

fn all_typed(
    option: &'static str,
    paths: &[PathBuf],
    start: &Path,
) -> Result<Vec<PathBuf>, PolicyFileError> {
    paths.iter().map(|path| typed(option, path, start)).collect()
}

/// Formats a policy as a file for `--policy`, for a command that starts in `start`. Paths below `start` are relative to it.
pub(super) fn to_text(policy: &SandboxPolicy, start: &Path) -> Result<String, PolicyFileError> {
    let mut seen = policy.clone();
    let relative = |path: &mut PathBuf| {
        if let Ok(below) = path.strip_prefix(start) {
            *path = if below == Path::new("") { ".".into() } else { below.to_owned() };
        }
    };
    let lists =
        [&mut seen.read, &mut seen.write, &mut seen.deny_write, &mut seen.hide, &mut seen.exec];
    for list in lists {
        list.iter_mut().for_each(relative);
    }
    if let Some(View { base, staged, caches, .. }) = &mut seen.view {
        std::iter::once(base).chain(staged).chain(caches).for_each(relative);
    }
    let mut table = Table::try_from(&seen)?;
    if policy.cwd == start {
        table.remove("cwd");
    }
    Ok(toml::to_string_pretty(&table)?)
}

/// Returns the hidden paths in the workspace at `root` that look like keys or ledgers, but belong to a directory that is
/// not a home of actum.
pub(crate) fn hidden_look_alikes<'p>(
    policy: &'p SandboxPolicy,
    root: &'p Path,
) -> impl Iterator<Item = &'p PathBuf> {
    policy.hide.iter().filter(move |path| {
        let home = path.parent().filter(|_| path.starts_with(root));
        home.is_some_and(|home| {
            look_alike::is_in_part(path, home) && look_alike::is_one(home, root)
        })
    })
}

/// Returns a note for each path from [`hidden_look_alikes`].
pub(crate) fn notes_of_look_alikes(policy: &SandboxPolicy, root: &Path) -> Vec<String> {
    let note = |path: &PathBuf| {
        let path = Quoted(path.as_os_str().as_bytes());
        format!(
            "`{path}` is hidden from commands: it looks like keys or ledgers of actum; if it is something else, remove it"
        )
    };
    hidden_look_alikes(policy, root).map(note).collect()
}

/// Returns notes about parts of a policy that may be mistakes, such as paths that do not exist.
pub(super) fn notes(policy: &SandboxPolicy) -> Vec<String> {
    let absent = policy.deny_write.iter().filter(|path| path.symlink_metadata().is_err());
    let note = |path: &PathBuf| {
        format!("`{}` does not exist, so it is checked only afterwards", path.display())
    };
    absent.map(note).collect()
}

/// Builds the default policy: the command can use the programs of the system and the files of the workspace or repository,
/// and write to a scratch directory. It has no network.
fn for_trying(start: &Path) -> Result<SandboxPolicy, PolicyFileError> {
    if NOT_HERE.iter().any(|place| start == Path::new(place)) {
        return Err(PolicyFileError::Here { start: start.to_owned() });
    }
    let root = root::existing_or_new(start);
    let paths = |names: &[&str]| -> Vec<PathBuf> {
        let paths = names.iter().map(PathBuf::from);
        paths.filter(|path| path.symlink_metadata().is_ok()).collect()
    };
    let programs = [paths(&PROGRAMS), vec![root.to_owned()]].concat();
    let mut env: BTreeMap<String, String> = PASSED
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), home::inherited(name)?)))
        .collect();
    env.entry("PATH".to_owned()).or_insert_with(|| PATH.to_owned());
    Ok(SandboxPolicy {
        read: [programs.clone(), paths(&SETTINGS)].concat(),
        exec: programs,
        env,
        scratch: Some(GIB),
        ..SandboxPolicy::new(start)
    })
}

/// Returns the unusual environment variables of a command, as `NAME=value`. `PATH` is unusual if it contains a directory
/// outside the system, where a program may have the name of a system program.
pub(crate) fn special_environment(policy: &SandboxPolicy) -> Vec<String> {
    let is_system = |directory: &Path| {
        let is_plain = lexical(directory) == directory; // a path with `..` could be anywhere
        is_plain && PROGRAMS.iter().any(|known| directory.starts_with(known))
    };
    let is_usual = |name: &str, value: &str| match name {
        "PATH" => std::env::split_paths(value).all(|directory| is_system(&directory)),
        _ => PASSED.contains(&name) && is_word(value) || GIT_ONLY_LOOKS.contains(&(name, value)),
    };
    let special = policy.env.iter().filter(|(name, value)| !is_usual(name, value));
    special.map(|(name, value)| format!("{name}={value}")).collect()
}

/// Returns whether a value is the plain name of a locale or terminal, which cannot be a path (locale(7), term(7)).
fn is_word(value: &str) -> bool {
    value.len() <= 64 && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.@:+-".contains(&b))
}

/// Returns the limits of a command that differ from the defaults, as `NAME=AMOUNT`. They are shown to approvers, because
/// a check without enough memory or processes can have a different outcome.
pub(crate) fn special_limits(policy: &SandboxPolicy) -> Vec<String> {
    let usual = Limits::default();
    let limits = policy.limits.iter();
    let special = limits.filter(|(resource, limit)| limit.max != usual.of(*resource).max);
    special.map(|(resource, limit)| format!("{resource}={}", limit.max)).collect()
}

/// Resolves a path that was passed to an option. The path must exist and must not contain a symbolic link, because an
/// earlier command could have created the link.
fn typed(option: &'static str, path: &Path, start: &Path) -> Result<PathBuf, PolicyFileError> {
    let real = std::fs::canonicalize(start.join(path))
        .map_err(|source| PolicyFileError::NotThere { option, path: path.to_owned(), source })?;
    if real != lexical(&start.join(path)) {
        return Err(PolicyFileError::Elsewhere { option, path: path.to_owned(), real });
    }
    Ok(real)
}

/// Resolves `.` and `..` in a path by name only, without accessing the file system.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                plain.push(component);
            }
        }
    }
    plain
}

/// Removes every `.` component from a path.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Removes directories from `PATH` in which the command may not execute programs, so that it finds only usable programs.
fn retain_executable_path_entries(policy: &mut SandboxPolicy) {
    let exec = policy.exec.clone();
    let runs = |directory: &&str| exec.iter().any(|tree| Path::new(directory).starts_with(tree));
    if let Some(path) = policy.env.get_mut("PATH") {
        *path = path.split(':').filter(runs).collect::<Vec<_>>().join(":");
    }
}

/// Reads a policy file. Its paths are relative to `start`, where the command also starts by default.
fn from_file(file: &Path, start: &Path) -> Result<SandboxPolicy, PolicyFileError> {
    let text = input::open(file)
        .and_then(|file| {
            let mut text = String::new();
            // Reject a file that is too large instead of truncating it, which could lose rules that deny writes.
            match file.take(POLICY_MAX + 1).read_to_string(&mut text)? as u64 {
                0..=POLICY_MAX => Ok(text),
                _ => Err(io::Error::other("it is larger than 1 MiB")),
            }
        })
        .map_err(|source| PolicyFileError::Unreadable { file: file.to_owned(), source })?;
    let malformed = |error: toml::de::Error| {
        let place = error.span().map(|span| Place::new(text.as_bytes(), span.start));
        let at = place.map(|Place { line, column }| format!("line {line}, column {column}: "));
        let message = format!("{}{}", at.unwrap_or_default(), error.message().trim_end());
        let quote = Quote::new(Some(file), text.as_bytes(), place);
        PolicyFileError::Malformed { file: file.to_owned(), message, quote }
    };
    let mut policy: SandboxPolicy = toml::from_str(&text).map_err(malformed)?;
    // A staged layer makes files visible at other paths, where the rules that hide them do not apply.
    if policy.view.as_ref().is_some_and(|view| view.staged.is_some()) {
        return Err(PolicyFileError::Staged(file.to_owned()));
    }
    let SandboxPolicy { read, write, deny_write, hide, exec, .. } = &mut policy;
    for list in [read, write, deny_write, hide, exec] {
        list.iter_mut().for_each(|path| *path = plain(&start.join(&*path)));
    }
    if let Some(View { base, staged, caches, .. }) = &mut policy.view {
        let paths = std::iter::once(base).chain(staged).chain(caches);
        paths.for_each(|path| *path = plain(&start.join(&*path)));
    }
    // A policy without `cwd` starts the command in `start`.
    policy.cwd = plain(&start.join(&policy.cwd));
    Ok(policy)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    /// AA-10, issue 22 (claims): docs/sandbox.md lists all paths that every command can read. `UPDATE_DOCS=1` regenerates
    /// the list.
    #[test]
    fn sandbox_page_lists_the_paths_every_command_can_read() {
        let names = |paths: &[&str]| {
            paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
        };
        let list =
            format!("\n- programs: {}\n- settings: {}\n", names(&PROGRAMS), names(&SETTINGS));
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md");
        let page = std::fs::read_to_string(&file).unwrap();
        let (before, rest) = page.split_once("<!-- system").unwrap();
        let (head, rest) = rest.split_once("-->\n").unwrap();
        let (listed, after) = rest.split_once("<!-- end -->").unwrap();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let text = format!("{before}<!-- system{head}-->\n{list}<!-- end -->{after}");
            std::fs::write(&file, text).unwrap();
        } else {
            assert_eq!(listed, list, "run the test with UPDATE_DOCS=1 to regenerate the page");
        }
    }
}
