//! Locates the directory of ledgers and keys and the operator's configuration, and determines the tenant.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use actum::{PolicyFiles, real_path};
use actum_gate::refuses_output;
use actum_ledger::{HomeError, LedgerHome};
use actum_record::keyring::{KEYRING_FILE, KEYS_DIRECTORY};
use actum_record::ledger::TenantId;
use actum_workspace::is_ledger_home;

/// Names of the state directories of a workspace and of a repository.
pub(crate) const PROJECTS: [&str; 2] = [".actum", ".git"];

/// Configuration directory of the machine's administrator, whose policy applies to all users.
pub(crate) const SYSTEM_CONFIGURATION: &str = "/etc/actum";

/// Tenant selected on the command line, with the environment as the fallback.
#[derive(Debug, Clone)]
pub(crate) struct Tenant {
    typed: Option<TenantId>,
}

/// Reason why the directory of ledgers and keys, the configuration or the tenant could not be determined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HomeUnknown {
    /// Neither the environment nor the password database names a home directory.
    Nowhere,
    /// The environment and the password database lead to different configuration directories, both of which hold policies.
    Two { known: PathBuf, named: PathBuf },
    /// `ACTUM_TENANT` is not a valid tenant name.
    Tenant { message: String },
}

/// Returns the directory of ledgers and keys, which may not exist yet. It is `ACTUM_HOME` if that is set, and otherwise
/// `actum` in the data directory of this user (XDG Base Directory Specification).
///
/// The path is resolved only once, because another process could change a symbolic link in it between two accesses and
/// redirect the second one.
pub(crate) fn path() -> Result<PathBuf, HomeUnknown> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let resolve = || {
        let named = place(variable)?;
        // A relative path or a symbolic link as the last name is returned unchanged and rejected later.
        Some(match (named.parent(), named.file_name()) {
            (Some(parent), Some(name)) if named.is_absolute() => real_path(parent).join(name),
            (Some(_) | None, Some(_) | None) => named,
        })
    };
    HOME.get_or_init(resolve).clone().ok_or(HomeUnknown::Nowhere)
}

/// Returns the operator's configuration directory. The one below the home directory in the password database takes
/// precedence if it holds a policy, so that a changed environment cannot select a different policy. Otherwise, it is the
/// directory that the environment names. If neither can be found, the policy is unknown and the command fails.
///
/// The path is resolved only once, as in [`path`], so that the directory that was checked is also the one that is read.
///
/// # Errors
/// `Nowhere`; `Two`.
pub(crate) fn configuration() -> Result<PathBuf, HomeUnknown> {
    static CONFIGURATION: OnceLock<Configuration> = OnceLock::new();
    match CONFIGURATION.get_or_init(Configuration::find) {
        Configuration::At(directory) => Ok(directory.clone()),
        Configuration::Nowhere => Err(HomeUnknown::Nowhere),
        Configuration::Two { known, named } => {
            let (known, named) = (known.clone(), named.clone());
            Err(HomeUnknown::Two { known, named })
        }
    }
}

/// Returns whether the operator's configuration is independent of the environment, because the directory that the system
/// knows for this user holds a policy.
pub(crate) fn is_configuration_settled() -> bool {
    configuration().is_ok_and(|it| is_known_configuration(&it) && holds_policy(&it))
}

/// Location of the operator's configuration, with symbolic links resolved.
enum Configuration {
    /// The configuration directory has this path.
    At(PathBuf),
    /// Neither the environment nor the password database names a home directory.
    Nowhere,
    /// Both the directory known to the system and the one named by the environment hold policies. Choosing one of them
    /// would silently ignore the other.
    Two { known: PathBuf, named: PathBuf },
}

impl Configuration {
    fn find() -> Self {
        let Some(named) = named_configuration() else { return Self::Nowhere };
        let named = real_path(&named);
        let known = known_configuration_real().filter(|known| *known != named);
        match known.filter(|known| holds_policy(known)) {
            None => Self::At(named),
            Some(known) if holds_policy(&named) => Self::Two { known: known.to_owned(), named },
            Some(known) => Self::At(known.to_owned()),
        }
    }
}

/// Returns whether a directory holds an operator's policy. A directory that cannot be searched is assumed to hold one.
fn holds_policy(directory: &Path) -> bool {
    let is_missing =
        |error: io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    let names = [PolicyFiles::IN_WORKSPACE, PolicyFiles::ACCESS];
    let mut places = names.iter().map(|name| directory.join(name));
    places.any(|path| !path.symlink_metadata().is_err_and(is_missing))
}

/// Returns the path of the configuration directory as the environment names it, without resolving symbolic links.
pub(crate) fn named_configuration() -> Option<PathBuf> {
    base(variable_or_known, "XDG_CONFIG_HOME", ".config")
}

/// Returns whether `directory`, a path without symbolic links, is the configuration directory that the password database
/// (passwd(5)) implies for this user. A directory named by the environment proves nothing, because the caller chooses the
/// environment.
pub(crate) fn is_known_configuration(directory: &Path) -> bool {
    // Compare the path from which the files are read. A link at any other path could be exchanged between this check and
    // the read.
    known_configuration_real() == Some(directory)
}

/// Returns the path of [`known_configuration`] with symbolic links resolved, which is done only once, as in [`path`].
fn known_configuration_real() -> Option<&'static Path> {
    static REAL: OnceLock<Option<PathBuf>> = OnceLock::new();
    REAL.get_or_init(|| known_configuration().map(|it| real_path(&it))).as_deref()
}

/// Returns the configuration directory below the home directory that the password database names for this user.
pub(crate) fn known_configuration() -> Option<PathBuf> {
    Some(PathBuf::from(known_home()?).join(".config/actum"))
}

/// Returns the directory of ledgers and keys that this user would have without any environment variables, with symbolic
/// links resolved in all but the last name.
pub(crate) fn known_home_of_ledgers() -> Option<PathBuf> {
    let home = PathBuf::from(known_home()?).join(".local/share");
    Some(real_path(&home).join("actum"))
}

/// Returns the directories for the operator's ledgers, keys and policies, which may not exist. They include those in use
/// and those that would be in use without environment variables.
pub(crate) fn operators_own() -> Vec<PathBuf> {
    let homes =
        [place(variable), place(known_alone), base(variable, "XDG_DATA_HOME", ".local/share")];
    let homes = homes.into_iter().flatten();
    let mut all: Vec<PathBuf> =
        homes.chain(configurations()).filter(|it| it.is_absolute()).collect();
    all.sort();
    all.dedup();
    all
}

/// Returns the directories for the operator's policies: those in use, and those that would be in use without environment
/// variables.
fn configurations() -> impl Iterator<Item = PathBuf> {
    let named = base(variable_or_known, "XDG_CONFIG_HOME", ".config");
    let known = base(known_alone, "XDG_CONFIG_HOME", ".config");
    [named, known, Some(PathBuf::from(SYSTEM_CONFIGURATION))].into_iter().flatten()
}

/// Returns the operator's directory that a new home at `path` would overlap with, because it would be the same directory,
/// contain it or be inside it. `path` must have no symbolic links above its last name.
pub(crate) fn operators_directory_around(path: &Path) -> Option<PathBuf> {
    let known = known_home_of_ledgers();
    let remembered = match known.as_deref().map(remembered_configuration) {
        None => None,
        Some(Ok(remembered)) => remembered,
        // If the recorded location cannot be read, no path is known to be safe.
        Some(Err(_)) => return known,
    };
    let configurations: Vec<PathBuf> =
        configurations().chain(remembered).map(|it| real_path(&it)).collect();
    let is_within =
        |own: &&PathBuf| own.as_path() != path && (path.starts_with(own) || own.starts_with(path));
    let at_policy = configurations.iter().find(|own| own.as_path() == path);
    let around = configurations.iter().chain(operators_own_real()).find(is_within);
    at_policy.or(around).cloned().or_else(|| holding(path.parent()?))
}

/// Reads the location of the configuration that is recorded in a directory of ledgers and keys.
fn remembered_configuration(home: &Path) -> Result<Option<PathBuf>, HomeError> {
    match LedgerHome::open_existing(home)? {
        Some(home) => home.configuration(),
        None => Ok(None),
    }
}

/// Returns the paths of [`operators_own`] with symbolic links resolved in all but the last name. If the last name is a
/// symbolic link, its target is included as well. Resolved only once, as in [`path`].
pub(crate) fn operators_own_real() -> &'static [PathBuf] {
    static REAL: OnceLock<Vec<PathBuf>> = OnceLock::new();
    REAL.get_or_init(|| {
        let mut all = Vec::new();
        for own in operators_own() {
            let (Some(parent), Some(name)) = (own.parent(), own.file_name()) else { continue };
            let placed = real_path(parent).join(name);
            if placed.is_symlink() {
                all.push(real_path(&placed));
            }
            all.push(placed);
        }
        all.sort();
        all.dedup();
        all
    })
}

/// Returns the nearest directory at or above `path` whose content identifies it as one of ledgers and keys or of an
/// operator's policy. The caller chooses the environment, so such a directory must be protected even if [`operators_own`]
/// does not include it.
pub(crate) fn holding(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|directory| is_operators(directory)).map(Path::to_owned)
}

/// Returns the file by which [`holding`] recognises a directory at or above `path`.
pub(crate) fn mark_around(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(marked_by)
}

/// Returns the direct subdirectories of `directory` that hold ledgers, keys or an operator's policy. Returns `None` if it
/// has more than `max` entries, because not all of them were examined.
pub(crate) fn held_in(directory: &Path, max: usize) -> io::Result<Option<Vec<PathBuf>>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Some(Vec::new()));
        }
        Err(error) => return Err(error),
    };
    let mut held = Vec::new();
    for (index, entry) in entries.enumerate() {
        if index >= max {
            return Ok(None);
        }
        let entry = entry?;
        if entry.file_type()?.is_dir() && is_operators(&entry.path()) {
            held.push(entry.path());
        }
    }
    Ok(Some(held))
}

/// Returns whether the content of a directory identifies it as one of ledgers and keys or of an operator's policy.
pub(crate) fn is_operators(directory: &Path) -> bool {
    marked_by(directory).is_some()
}

/// Returns the file that identifies a directory as one of ledgers and keys ([`is_ledger_home`]) or of an operator's policy.
/// A policy directory must be called `actum` and be outside workspaces and repositories, where that name is harmless.
fn marked_by(directory: &Path) -> Option<PathBuf> {
    if is_ledger_home(directory) {
        return Some(directory.join(KEYS_DIRECTORY).join(KEYRING_FILE));
    }
    let is_there = |path: PathBuf| path.symlink_metadata().is_ok();
    let is_in_project = || {
        let mut states = directory.ancestors().flat_map(|it| PROJECTS.map(|name| it.join(name)));
        states.any(is_there)
    };
    if !directory.ends_with("actum") {
        return None;
    }
    let policy = directory.join("actum.toml");
    let policy = if is_there(policy.clone()) { Some(policy) } else { access_policy(directory) };
    policy.filter(|_| !is_in_project())
}

/// Returns an access policy (`*.cedar`) in the directory of an operator's policy, if there is one.
fn access_policy(directory: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory.join(PolicyFiles::ACCESS)).ok()?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    paths.find(|path| path.extension().is_some_and(|it| it == "cedar") && path.is_file())
}

/// Returns the cache directory, and creates it if it is missing. Returns `None` if the environment points into `.actum` or
/// `.git`, a protected path, or a directory of ledgers, keys or policies.
#[expect(clippy::disallowed_methods, reason = "this module owns the cache directory")]
pub(crate) fn cache_directory() -> Option<PathBuf> {
    let ours = real_path(&base(variable, "XDG_CACHE_HOME", ".cache")?);
    let names: Vec<&[u8]> = ours.iter().skip(1).map(OsStrExt::as_bytes).collect();
    let is_state = ours.iter().any(|name| PROJECTS.iter().any(|it| name == *it));
    let is_own = operators_own_real().iter().any(|own| ours.starts_with(own));
    // Never write a cache to a protected directory, even if the environment names one.
    if is_state || is_own || holding(&ours).is_some() || refuses_output(&names).is_some() {
        return None;
    }
    std::fs::create_dir_all(&ours).ok().map(|()| ours)
}

impl Tenant {
    /// Creates the selection from the tenant that was given on the command line, if any.
    pub(crate) fn new(typed: Option<TenantId>) -> Self {
        Self { typed }
    }

    /// Returns the name of the tenant from `--tenant`, or else from `ACTUM_TENANT`, or else `default`.
    ///
    /// Only commands that use a ledger call this, so a malformed variable does not break any other command.
    ///
    /// # Errors
    /// `Tenant` if `ACTUM_TENANT` is not a valid tenant name.
    pub(crate) fn id(&self) -> Result<TenantId, HomeUnknown> {
        if let Some(typed) = &self.typed {
            return Ok(typed.clone());
        }
        match variable("ACTUM_TENANT") {
            None => Ok(TenantId::default()),
            Some(name) => name.to_string_lossy().parse().map_err(|error| {
                let message = format!("`ACTUM_TENANT`: {error}");
                HomeUnknown::Tenant { message }
            }),
        }
    }
}

/// Returns the directory of ledgers and keys according to `variable`. A relative `ACTUM_HOME` is returned unchanged and
/// rejected later.
fn place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let named = variable("ACTUM_HOME").map(PathBuf::from);
    named.or_else(|| base(variable, "XDG_DATA_HOME", ".local/share"))
}

/// Returns the `actum` subdirectory of an XDG base directory, which the variable `name` overrides and which otherwise is at
/// `below_home` in `HOME`. A relative value of either variable is ignored (XDG Base Directory Specification).
fn base(
    variable: impl Fn(&str) -> Option<OsString>,
    name: &str,
    below_home: &str,
) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = absolute(name).or_else(|| Some(absolute("HOME")?.join(below_home)))?;
    Some(directory.join("actum"))
}

/// Returns the home directory of this user from `HOME`, or else from the password database.
pub(crate) fn user_home() -> Option<PathBuf> {
    variable_or_known("HOME").map(PathBuf::from)
}

/// Returns the environment variables of this user's session (pam_systemd(8)), derived from the password database instead
/// of the caller's environment, for a program that displays something.
pub(crate) fn session() -> Vec<(&'static str, OsString)> {
    let uid = nix::unistd::geteuid();
    let Some(user) = nix::unistd::User::from_uid(uid).ok().flatten() else { return Vec::new() };
    let runtime = format!("/run/user/{uid}");
    vec![
        ("HOME", user.dir.into_os_string()),
        ("USER", user.name.clone().into()),
        ("LOGNAME", user.name.into()),
        ("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={runtime}/bus").into()),
        ("XDG_RUNTIME_DIR", runtime.into()),
    ]
}

/// Returns the home directory of this user from the password database, or else from `HOME`.
pub(crate) fn known_user_home() -> Option<PathBuf> {
    known_home().or_else(|| variable("HOME")).map(PathBuf::from)
}

/// Returns the absolute directories in the caller's `PATH`.
pub(crate) fn program_directories() -> impl Iterator<Item = PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let all: Vec<PathBuf> = std::env::split_paths(&path).filter(|it| it.is_absolute()).collect();
    all.into_iter()
}

/// Returns an environment variable, treating an empty one as unset.
#[expect(clippy::disallowed_methods, reason = "only the command-line crate reads the environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns an environment variable. If `HOME` is unset, returns the home directory from the password database.
fn variable_or_known(name: &str) -> Option<OsString> {
    variable(name).or_else(|| if name == "HOME" { known_home() } else { None })
}

/// Returns `HOME` from the password database, and treats every other variable as unset.
fn known_alone(name: &str) -> Option<OsString> {
    if name == "HOME" { known_home() } else { None }
}

fn known_home() -> Option<OsString> {
    static KNOWN: OnceLock<Option<OsString>> = OnceLock::new();
    let look_up = || {
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok()??;
        Some(user.dir.into_os_string()).filter(|directory| !directory.is_empty())
    };
    KNOWN.get_or_init(look_up).clone()
}

/// Returns an environment variable if it is set to valid UTF-8.
#[expect(clippy::disallowed_methods, reason = "each variable is requested by its name")]
pub(crate) fn inherited(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the path in an environment variable that names a file.
#[expect(clippy::disallowed_methods, reason = "each variable is requested by its name")]
pub(crate) fn inherited_file(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|file| !file.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_is_resolved_in_order_of_precedence() {
        let with = |variables: &[(&str, &str)]| {
            let find = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            };
            place(find).map(|path| path.into_os_string().into_string().unwrap())
        };
        let all = [("ACTUM_HOME", "/a"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(with(&all).as_deref(), Some("/a"));
        assert_eq!(with(&all[1..]).as_deref(), Some("/x/actum"));
        assert_eq!(with(&all[2..]).as_deref(), Some("/h/.local/share/actum"));
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("ACTUM_HOME", "a"), ("HOME", "/h")]).as_deref(), Some("a"));
        let relative = [("XDG_DATA_HOME", "x"), ("HOME", "/h")];
        assert_eq!(with(&relative).as_deref(), Some("/h/.local/share/actum"));
        assert_eq!(with(&[("HOME", "h")]), None);
        assert!(known_home().is_some_and(|home| home.as_encoded_bytes().starts_with(b"/")));
    }

    /// AA-10, AA-5: a directory name that a project may also use is not enough to identify an operator's directory.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test creates its own directories")]
    fn ledger_key_and_policy_directories_are_recognised_by_content() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let make = |path: &str, content: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        let set_mode = |path: &str, mode: u32| {
            let path = directory.path().join(path);
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        let newer = actum_record::keyring::Keyring::FORMAT.replace('1', "2");
        let keyring = &*format!("{{\"format\":\"{newer}\",\"keys\":[]}}");
        for (home, content) in [("a", keyring), ("open", keyring), ("project", "{\"keys\":[]}")] {
            make(&format!("{home}/keys/keyring.json"), content);
            make(&format!("{home}/keys/result/x.pem"), "");
            make(&format!("{home}/lock"), "");
            set_mode(&format!("{home}/keys"), if home == "open" { 0o755 } else { 0o700 });
        }
        make("b/lock", "");
        make("b/tenants/x", "");
        make("c/actum/actum.toml", "");
        make("e/actum/actum.toml", "");
        make("e/actum/.git", "");
        make("f/actum.toml", "");
        make("repository/.git/HEAD", "");
        make("repository/sub/actum/actum.toml", "");
        let held = |path: &str| {
            let own = holding(&directory.path().join(path))?;
            Some(own.strip_prefix(directory.path()).unwrap().to_str().unwrap().to_owned())
        };
        assert_eq!(held("a/keys/result/x.pem").as_deref(), Some("a"));
        assert_eq!(held("c/actum/access").as_deref(), Some("c/actum"));
        for path in [
            "open/keys",
            "project/keys",
            "b/tenants",
            "c",
            "e/actum",
            "f",
            "repository/sub/actum",
            "g",
        ] {
            assert_eq!(held(path), None, "{path}");
        }
        let mark = mark_around(&directory.path().join("a/keys")).unwrap();
        assert_eq!(mark, directory.path().join("a/keys/keyring.json"));
        let entries = std::fs::read_dir(directory.path()).unwrap().count();
        let held_among = |max: usize| held_in(directory.path(), max).unwrap();
        assert_eq!(held_among(entries), Some(vec![directory.path().join("a")]));
        assert_eq!(held_among(entries - 1), None);
        for missing in ["none", "b/lock"] {
            let held = held_in(&directory.path().join(missing), entries).unwrap();
            assert_eq!(held, Some(Vec::new()), "{missing}");
        }
        // Only root can change the owner of a directory to a different user.
        let keys = directory.path().join("a/keys");
        if std::os::unix::fs::chown(keys, Some(nix::unistd::geteuid().as_raw() + 1), None).is_ok() {
            assert_eq!(held("a"), None);
        }
    }
}
