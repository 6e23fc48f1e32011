//! Location of ledgers and keys, and the tenant, from environment and command line.

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

/// Configuration directory of the machine's administrator.
pub(crate) const SYSTEM_CONFIGURATION: &str = "/etc/actum";

/// Tenant in use: that of the command line, else that of the environment.
#[derive(Debug, Clone)]
pub(crate) struct Tenant {
    typed: Option<TenantId>,
}

/// Failure to locate ledgers and keys, or to name the tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HomeUnknown {
    /// Neither the environment nor the system names a home.
    Nowhere,
    /// The environment and the system name different configurations, and both hold policies.
    Two { known: PathBuf, named: PathBuf },
    /// The environment names an invalid tenant.
    Tenant { message: String },
}

/// Returns the directory of ledgers and keys: `ACTUM_HOME`, else the data directory of this user (XDG Base Directory
/// Specification). It may not exist yet.
///
/// Resolved once: otherwise a link that another process changes meanwhile could lead each access to another directory.
pub(crate) fn path() -> Result<PathBuf, HomeUnknown> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let resolve = || {
        let named = place(variable)?;
        // A relative path, and a link as its last name, are returned, and rejected later.
        Some(match (named.parent(), named.file_name()) {
            (Some(parent), Some(name)) if named.is_absolute() => real_path(parent).join(name),
            (Some(_) | None, Some(_) | None) => named,
        })
    };
    HOME.get_or_init(resolve).clone().ok_or(HomeUnknown::Nowhere)
}

/// Returns the operator's configuration directory: the one that the system knows, if it holds a policy, else the one
/// that the environment names. So an empty environment does not select another policy. If the directory cannot be
/// found, the policy is unknown, and the command fails.
///
/// Resolved once, as [`path`]: the directory whose identity is checked is the one whose files are read.
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

/// Returns true if no environment changes the operator's configuration: the one that the system knows holds a policy.
pub(crate) fn is_configuration_settled() -> bool {
    configuration().is_ok_and(|it| is_known_configuration(&it) && holds_policy(&it))
}

/// Location of the operator's configuration, without links.
enum Configuration {
    /// The configuration is at this path.
    At(PathBuf),
    /// Neither the environment nor the system names a home.
    Nowhere,
    /// The environment and the system name different ones, and both hold policies: one would be ignored.
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

/// Returns true if a directory holds a policy of an operator, or cannot be searched for one.
fn holds_policy(directory: &Path) -> bool {
    let is_missing =
        |error: io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    let names = [PolicyFiles::IN_WORKSPACE, PolicyFiles::ACCESS];
    let mut places = names.iter().map(|name| directory.join(name));
    places.any(|path| !path.symlink_metadata().is_err_and(is_missing))
}

/// Returns the path of the configuration directory as the environment names it, with its links.
pub(crate) fn named_configuration() -> Option<PathBuf> {
    base(variable_or_known, "XDG_CONFIG_HOME", ".config")
}

/// Returns true if `directory`, a path without links, is the configuration directory that the system knows for this
/// user (passwd(5)). The caller chooses the environment, and so the directory that it names.
pub(crate) fn is_known_configuration(directory: &Path) -> bool {
    // Compared by the path from which the files are read: the content of another path can be exchanged around a check.
    known_configuration_real() == Some(directory)
}

/// Returns the path of [`known_configuration`] without links.
///
/// Resolved once, as [`path`].
fn known_configuration_real() -> Option<&'static Path> {
    static REAL: OnceLock<Option<PathBuf>> = OnceLock::new();
    REAL.get_or_init(|| known_configuration().map(|it| real_path(&it))).as_deref()
}

/// Returns the configuration directory that the system knows for this user.
pub(crate) fn known_configuration() -> Option<PathBuf> {
    Some(PathBuf::from(known_home()?).join(".config/actum"))
}

/// Returns the home of ledgers and keys of this user as without environment variables, without links.
pub(crate) fn known_home_of_ledgers() -> Option<PathBuf> {
    let home = PathBuf::from(known_home()?).join(".local/share");
    Some(real_path(&home).join("actum"))
}

/// Returns the directories that hold ledgers, keys and policies of the operator: those in use, and those that would be
/// in use without environment variables. They may not exist.
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

/// Returns the directories that hold policies of the operator, as in [`operators_own`].
fn configurations() -> impl Iterator<Item = PathBuf> {
    let named = base(variable_or_known, "XDG_CONFIG_HOME", ".config");
    let known = base(known_alone, "XDG_CONFIG_HOME", ".config");
    [named, known, Some(PathBuf::from(SYSTEM_CONFIGURATION))].into_iter().flatten()
}

/// Returns the operator's directory that a new home at `path` would be, contain or lie in. `path` has no links above
/// its last name.
pub(crate) fn operators_directory_around(path: &Path) -> Option<PathBuf> {
    let known = known_home_of_ledgers();
    let remembered = match known.as_deref().map(remembered_configuration) {
        None => None,
        Some(Ok(remembered)) => remembered,
        // The remembered configuration is unknown, so no place is known to be free.
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

/// Reads the location of the configuration that the home of an installation remembers.
fn remembered_configuration(home: &Path) -> Result<Option<PathBuf>, HomeError> {
    match LedgerHome::open_existing(home)? {
        Some(home) => home.configuration(),
        None => Ok(None),
    }
}

/// Returns the paths of [`operators_own`] without links, and with links in their last names.
///
/// Resolved once, as [`path`].
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

/// Returns the nearest directory at or above `path` that holds ledgers, keys or an operator's policy, recognised by its
/// content. The caller of this program chooses the environment, so a directory that [`operators_own`] does not name is
/// as private.
pub(crate) fn holding(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|directory| is_operators(directory)).map(Path::to_owned)
}

/// Returns the file that marks the directory that [`holding`] finds.
pub(crate) fn mark_around(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(marked_by)
}

/// Returns the directories directly in `directory` that hold ledgers, keys or an operator's policy. `None` if it has
/// more than `max` entries: which of them are homes is then unknown.
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

/// Returns true if the content of a directory is that of a home of ledgers and keys, or of an operator's policy.
pub(crate) fn is_operators(directory: &Path) -> bool {
    marked_by(directory).is_some()
}

/// Returns the file that marks a directory as a home of ledgers and keys ([`is_ledger_home`]) or as the directory of an
/// operator's policy. A directory in a workspace or a repository may well be called `actum` and hold a policy.
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

/// Returns the access policy in a directory of the operator's policy.
fn access_policy(directory: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory.join(PolicyFiles::ACCESS)).ok()?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    paths.find(|path| path.extension().is_some_and(|it| it == "cedar") && path.is_file())
}

/// Returns the directory for data that can be computed again, made if it is missing. `None` if the environment points
/// into states of workspaces or repositories, protected paths, ledgers, keys or policies.
#[expect(clippy::disallowed_methods, reason = "this is the module that knows whose directories")]
pub(crate) fn cache_directory() -> Option<PathBuf> {
    let ours = real_path(&base(variable, "XDG_CACHE_HOME", ".cache")?);
    let names: Vec<&[u8]> = ours.iter().skip(1).map(OsStrExt::as_bytes).collect();
    let is_state = ours.iter().any(|name| PROJECTS.iter().any(|it| name == *it));
    let is_own = operators_own_real().iter().any(|own| ours.starts_with(own));
    // A cache is no reason to write among protected files, whatever the environment says.
    if is_state || is_own || holding(&ours).is_some() || refuses_output(&names).is_some() {
        return None;
    }
    std::fs::create_dir_all(&ours).ok().map(|()| ours)
}

impl Tenant {
    /// Makes the tenant of the command line, if one was given.
    pub(crate) fn new(typed: Option<TenantId>) -> Self {
        Self { typed }
    }

    /// Returns the name of the tenant: `--tenant`, else `ACTUM_TENANT`, else `default`.
    ///
    /// The environment is read only by commands that use a ledger, so a malformed variable fails no other command.
    ///
    /// # Errors
    /// `Tenant` if `ACTUM_TENANT` is no name of a tenant.
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

/// Returns the home of ledgers and keys. A relative `ACTUM_HOME` is returned, and rejected later.
fn place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let named = variable("ACTUM_HOME").map(PathBuf::from);
    named.or_else(|| base(variable, "XDG_DATA_HOME", ".local/share"))
}

/// Returns actum's directory in one of this user's: the one that a variable names, else one below `HOME`. A relative
/// path is ignored in both (XDG Base Directory Specification).
fn base(
    variable: impl Fn(&str) -> Option<OsString>,
    name: &str,
    below_home: &str,
) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = absolute(name).or_else(|| Some(absolute("HOME")?.join(below_home)))?;
    Some(directory.join("actum"))
}

/// Returns the home directory of this user.
pub(crate) fn user_home() -> Option<PathBuf> {
    variable_or_known("HOME").map(PathBuf::from)
}

/// Returns the session of this user as the system knows it, for a program that displays something: home, name, run-time
/// directory and message bus (pam_systemd(8)).
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

/// Returns the home directory that the system knows for this user, whatever the environment says; without one, that of
/// the environment.
pub(crate) fn known_user_home() -> Option<PathBuf> {
    known_home().or_else(|| variable("HOME")).map(PathBuf::from)
}

/// Returns the directories that the caller's `PATH` names.
pub(crate) fn program_directories() -> impl Iterator<Item = PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let all: Vec<PathBuf> = std::env::split_paths(&path).filter(|it| it.is_absolute()).collect();
    all.into_iter()
}

/// Returns a variable of the environment; an empty one counts as unset.
#[expect(clippy::disallowed_methods, reason = "only the command line reads the environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns a variable of the environment; for `HOME`, else the directory that the system knows for this user.
fn variable_or_known(name: &str) -> Option<OsString> {
    variable(name).or_else(|| if name == "HOME" { known_home() } else { None })
}

/// Looks up `HOME` in the password database; other variables are unset.
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

/// Returns a variable of the environment that is text.
#[expect(clippy::disallowed_methods, reason = "what comes from outside is asked for by name")]
pub(crate) fn inherited(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns a variable of the environment that names a file.
#[expect(clippy::disallowed_methods, reason = "what comes from outside is asked for by name")]
pub(crate) fn inherited_file(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|file| !file.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_the_first_that_is_named() {
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

    /// AA-10, AA-5: names that a project may have as well are not enough.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its own directories")]
    fn directories_of_ledgers_keys_and_policies_are_recognised_by_their_content() {
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
        // Only root can give a directory away.
        let keys = directory.path().join("a/keys");
        if std::os::unix::fs::chown(keys, Some(nix::unistd::geteuid().as_raw() + 1), None).is_ok() {
            assert_eq!(held("a"), None);
        }
    }
}
