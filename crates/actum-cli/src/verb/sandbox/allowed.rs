//! Checks that a command gets only access that the operator's policy allows. The caller can select from the files that
//! the policy lists, but cannot add any.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use actum_core::path::Quoted;
use actum_gate::policy::SandboxAllowance;
use actum_gate::refuses_output;
use actum_sandbox::{Limits, Net, Resource, SandboxPolicy};

use super::limit::{LimitError, TypedLimit};
use super::policy::{PASSED, PROGRAMS, SETTINGS};
use crate::private_place::{self, real};
use crate::{home, look_alike};

/// State directories that make their parent directory a workspace or a repository.
const STATES: [&str; 2] = [".actum", ".git"];
/// Maximum number of entries in a directory that a command may write to directly, because all of them are checked.
const ENTRIES_MAX: usize = 200_000;
/// Maximum number of entries in a workspace that is searched for sockets.
const SOCKET_ENTRIES_MAX: usize = 1_000_000;
/// Maximum number of entries in a readable directory that is searched for ledgers and keys.
const READ_ENTRIES_MAX: usize = 1_000_000;

/// Requested access or limit that the operator's policy does not allow.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAllowed {
    #[error(
        "cannot let the command {verb} `{}`: the operator's policy does not list it",
        Quoted(path.as_os_str().as_bytes())
    )]
    Path { verb: &'static str, key: &'static str, path: PathBuf },
    #[error("cannot pass the variable `{}` to the command: the operator's policy does not list it", Quoted(.0.as_bytes()))]
    Variable(String),
    #[error(
        "cannot let the command access `{}`: `{}` holds ledgers, keys, the operator's policy or cached host data, which \
         are closed to every command",
        Quoted(path.as_os_str().as_bytes()),
        Quoted(own.as_os_str().as_bytes())
    )]
    OperatorsOwn { path: PathBuf, own: PathBuf },
    #[error(
        "cannot run a command in `{}`: it is your home directory, a parent of it, or a hidden directory in it, which may \
         contain credentials",
        Quoted(.0.as_os_str().as_bytes())
    )]
    Home(PathBuf),
    #[error(
        "cannot start a command in `{}`: `{}` holds {what}, and commands cannot be started there",
        Quoted(root.as_os_str().as_bytes()),
        Quoted(place.as_os_str().as_bytes())
    )]
    System { root: PathBuf, place: &'static Path, what: &'static str },
    #[error(
        "cannot let the command {verb} `{}`: `{}` is a well-known location for credentials, which the operator's policy \
         does not list explicitly",
        Quoted(path.as_os_str().as_bytes()),
        Quoted(place.as_os_str().as_bytes())
    )]
    Credentials { verb: &'static str, key: &'static str, path: PathBuf, place: PathBuf },
    #[error(
        "cannot let the command see `{}`: it is in the state directory of a workspace, which keeps deleted content for undo",
        Quoted(.0.as_os_str().as_bytes())
    )]
    State(PathBuf),
    #[error(
        "cannot let the command write to `{}`: it is in the workspace or repository of `{}`; use `actum exec`",
        Quoted(path.as_os_str().as_bytes()),
        Quoted(state.as_os_str().as_bytes())
    )]
    InWorkspace { path: PathBuf, state: PathBuf },
    #[error(
        "cannot let the command write to `{}`: the path `{}` is protected",
        Quoted(path.as_os_str().as_bytes()),
        Quoted(protected.as_os_str().as_bytes())
    )]
    Protected { path: PathBuf, protected: PathBuf },
    #[error(
        "cannot let the command write to `{}`: it has more than {ENTRIES_MAX} entries, too many to check whether one of \
         them is protected",
        Quoted(.0.as_os_str().as_bytes())
    )]
    TooLarge(PathBuf),
    #[error(
        "cannot give the command a loopback network in `{}`: it has more than {SOCKET_ENTRIES_MAX} entries, too many to \
         check whether one of them is a socket of the host",
        Quoted(.0.as_os_str().as_bytes())
    )]
    Sockets(PathBuf),
    #[error(
        "cannot give the command {} of {resource}: the default is {}, and the operator's policy does not list more",
        amount(*resource, *max),
        amount(*resource, *default)
    )]
    Limit { resource: Resource, max: u64, default: u64 },
    #[error("invalid limit `{limit}` under `[sandbox] limits` in the operator's policy: {why}")]
    NoLimit { limit: String, why: LimitError },
    #[error(
        "cannot let the command read `{}`: it has more than {READ_ENTRIES_MAX} entries, too many to check whether one of \
         them holds ledgers or keys",
        Quoted(.0.as_os_str().as_bytes())
    )]
    TooManyEntries(PathBuf),
    #[error(
        "cannot give the command the network of the host: `[sandbox]` in the operator's policy cannot allow it"
    )]
    Network,
    #[error("cannot inspect `{}`: {source}", Quoted(path.as_os_str().as_bytes()))]
    Unreadable { path: PathBuf, source: std::io::Error },
}

fn amount(resource: Resource, max: u64) -> String {
    const SECOND: u64 = 1000;
    match resource.unit() {
        "ms" if max.is_multiple_of(SECOND) => format!("{} s", max / SECOND),
        unit => format!("{max} {unit}").trim_end().to_owned(),
    }
}

impl NotAllowed {
    /// Returns a hint that states how to get the access, or how to avoid needing it.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Path { key, .. } | Self::Credentials { key, .. } => {
                format!("to allow this, the operator lists the path in {}: `[sandbox] {key} = [\"…\"]`", crate::operators_policy::widening())
            }
            Self::Limit { resource, max, .. } => format!(
                "pass a lower limit, or let the operator allow this one in {}: `[sandbox] limits = [\"{resource}={max}{}\"]`",
                crate::operators_policy::widening(),
                if resource.unit() == "ms" { "ms" } else { "" }
            ),
            Self::NoLimit { .. } => format!("correct it in {}", crate::operators_policy::widening()),
            Self::Variable(_) => format!(
                "pass `--env NAME=VALUE` to set a value; to allow passing on the variable, the operator lists it in {}: \
                 `[sandbox] env = [\"NAME\"]`",
                crate::operators_policy::widening()
            ),
            Self::Home(_) => format!(
                "run it in a project directory below, or let the operator list this one in {}: `[sandbox] read = [\"…\"]`",
                crate::operators_policy::widening()
            ),
            Self::System { .. } => "run it in a project in a different directory; the operator can list \
                                    files to read under `[sandbox] read`"
                .to_owned(),
            Self::InWorkspace { .. } => {
                "run `actum exec -- COMMAND` to keep its changes as one run, or pass `--capture` to see what it would change".to_owned()
            }
            Self::Network => {
                "use an external pipeline, which the operator declares under `[[pipeline]]`".to_owned()
            }
            Self::Sockets(_) => {
                "pass `--capture` to run it in a view of the directory, where sockets cannot be reached".to_owned()
            }
            Self::OperatorsOwn { .. } | Self::State(_) | Self::Protected { .. } | Self::TooLarge(_) | Self::TooManyEntries(_) | Self::Unreadable { .. } => {
                "name a directory that holds only files that the command may access".to_owned()
            }
        }
    }
}

/// Access that the operator allows to commands in a workspace or repository with this root.
pub(super) struct Allowed<'a> {
    allowance: &'a SandboxAllowance,
    root: &'a Path,
    /// Existing directories with ledgers, keys and policies that are known from the environment or the system.
    own: Vec<PathBuf>,
    /// Well-known locations for credentials.
    credentials: Vec<PathBuf>,
    /// Paths that the operator's policy lets commands read or execute.
    listed: Vec<PathBuf>,
}

impl<'a> Allowed<'a> {
    pub(super) fn new(allowance: &'a SandboxAllowance, root: &'a Path) -> Self {
        let SandboxAllowance { read, exec, .. } = allowance;
        let listed = [read, exec].into_iter().flat_map(|paths| listed(paths)).collect();
        let (own, credentials) = (operators_own(), private_place::credentials());
        Self { allowance, root, own, credentials, listed }
    }

    /// Returns the value of a variable that is requested by name: the one from the operator's policy, or the inherited one.
    pub(super) fn inherited(&self, name: &str) -> Result<Option<String>, NotAllowed> {
        let listed =
            self.allowance.env.iter().rev().find_map(|listed| match listed.split_once('=') {
                Some((known, value)) => (known == name).then(|| Some(value.to_owned())),
                None => (listed == name).then_some(None),
            });
        match listed {
            Some(Some(value)) => Ok(Some(value)),
            None if !PASSED.contains(&name) => Err(NotAllowed::Variable(name.to_owned())),
            Some(None) | None => Ok(home::inherited(name)),
        }
    }

    /// Rejects a sandbox policy that exceeds the operator's lists. Then hides the paths that no command may see.
    pub(super) fn confine(&self, policy: &mut SandboxPolicy) -> Result<(), NotAllowed> {
        self.check_root()?;
        self.check_limits(&policy.limits)?;
        if policy.net == Net::Host {
            return Err(NotAllowed::Network);
        }
        let view = policy.view.iter();
        let read = policy
            .read
            .iter()
            .chain(view.clone().flat_map(|view| std::iter::once(&view.base).chain(&view.staged)));
        let is_named = |path: &&PathBuf, built_in: &[&str]| {
            !built_in.iter().any(|known| path.as_path() == Path::new(known))
        };
        for path in read.filter(|path| is_named(path, &PROGRAMS) && is_named(path, &SETTINGS)) {
            self.check(path, ("read", "read"), self.readable())?;
        }
        for path in policy.exec.iter().filter(|path| is_named(path, &PROGRAMS)) {
            self.check(path, ("execute", "exec"), self.executable())?;
        }
        let caches = view.flat_map(|view| &view.caches);
        for path in caches {
            let declared = self
                .allowance
                .caches
                .iter()
                .map(|cache| self.root.join(OsStr::from_bytes(cache.as_bytes())));
            self.check(path, ("change", "caches"), declared.collect())?;
        }
        for path in &policy.write {
            self.check(path, ("write", "write"), listed(&self.allowance.write))?;
            self.check_written(path)?;
        }
        policy.hide.extend(self.hidden(policy)?);
        let is_view = policy.view.iter().any(|view| view.base == self.root);
        if policy.net == Net::PrivateLoopback && !is_view {
            // The caller chose the root, so a process outside the sandbox may listen on a socket in it.
            policy.hide.extend(sockets_in(self.root)?);
        }
        policy.hide.sort();
        policy.hide.dedup();
        Ok(())
    }

    /// Rejects a limit above the default unless the operator lists it. The caller can always choose a lower one.
    fn check_limits(&self, limits: &Limits) -> Result<(), NotAllowed> {
        let mut listed = Vec::new();
        for limit in &self.allowance.limits {
            let parsed: Result<TypedLimit, _> = limit.parse();
            listed.push(parsed.map_err(|why| NotAllowed::NoLimit { limit: limit.clone(), why })?);
        }
        for (resource, default) in Limits::default().iter() {
            let max = limits.of(resource).max;
            let is_listed = |it: &TypedLimit| it.resource == resource && max <= it.max;
            if max > default.max && !listed.iter().any(is_listed) {
                return Err(NotAllowed::Limit { resource, max, default: default.max });
            }
        }
        Ok(())
    }

    fn readable(&self) -> Vec<PathBuf> {
        let settings = SETTINGS.iter().map(PathBuf::from);
        let more = listed(&self.allowance.read).into_iter().chain(listed(&self.allowance.write));
        self.executable().into_iter().chain(settings).chain(more).collect()
    }

    fn executable(&self) -> Vec<PathBuf> {
        let programs = PROGRAMS.iter().map(PathBuf::from);
        programs.chain([self.root.to_owned()]).chain(listed(&self.allowance.exec)).collect()
    }

    fn check(
        &self,
        path: &Path,
        (verb, key): (&'static str, &'static str),
        allowed: Vec<PathBuf>,
    ) -> Result<(), NotAllowed> {
        self.check_not_reserved(path)?;
        if !allowed.iter().any(|tree| path.starts_with(tree)) {
            return Err(NotAllowed::Path { verb, key, path: path.to_owned() });
        }
        let is_listed = |place: &PathBuf| {
            self.listed.iter().any(|it| it.starts_with(place) && path.starts_with(it))
        };
        let mut places = self.credentials.iter();
        match places.find(|place| path.starts_with(place) && !is_listed(place)) {
            None => Ok(()),
            Some(place) => {
                let (path, place) = (path.to_owned(), place.to_owned());
                Err(NotAllowed::Credentials { verb, key, path, place })
            }
        }
    }

    /// Rejects ledgers, keys, policies and the state of workspaces, which the operator cannot allow for any command.
    fn check_not_reserved(&self, path: &Path) -> Result<(), NotAllowed> {
        let named = self.own.iter().find(|own| path.starts_with(own)).cloned();
        let is_closed = |own: &&Path| {
            home::is_operators(own)
                && (!path.starts_with(self.root)
                    || look_alike::is_in_part(path, own)
                    || !look_alike::is_one(own, self.root))
        };
        let closed = || path.ancestors().find(is_closed).map(Path::to_owned);
        if let Some(own) = named.or_else(closed) {
            return Err(NotAllowed::OperatorsOwn { path: path.to_owned(), own });
        }
        match path.iter().any(|name| name.eq_ignore_ascii_case(STATES[0])) {
            true => Err(NotAllowed::State(path.to_owned())),
            false => Ok(()),
        }
    }

    /// Rejects a directory where writing directly would bypass the gates, such as one in a workspace.
    fn check_written(&self, path: &Path) -> Result<(), NotAllowed> {
        self.check_not_reserved(path)?;
        let kept = home::cache_directory().and_then(real);
        for own in self.own.iter().chain(&kept) {
            if own.starts_with(path) || path.starts_with(own) {
                return Err(NotAllowed::OperatorsOwn {
                    path: path.to_owned(),
                    own: own.to_owned(),
                });
            }
        }
        let states = path.ancestors().flat_map(|above| STATES.map(|name| above.join(name)));
        if let Some(state) = states.into_iter().find(|state| state.symlink_metadata().is_ok()) {
            return Err(NotAllowed::InWorkspace { path: path.to_owned(), state });
        }
        match protected_in(path)? {
            None => Ok(()),
            Some(state) if STATES.iter().any(|name| state.ends_with(name)) => {
                Err(NotAllowed::InWorkspace { path: path.to_owned(), state })
            }
            Some(protected) => Err(NotAllowed::Protected { path: path.to_owned(), protected }),
        }
    }

    /// Rejects an unsuitable root. The command can read all files below it, and the caller chooses it by the directory where
    /// actum starts.
    fn check_root(&self) -> Result<(), NotAllowed> {
        self.check_not_reserved(self.root)?;
        if let Some((place, what)) = private_place::system(self.root) {
            return Err(NotAllowed::System { root: self.root.to_owned(), place, what });
        }
        let Some(home) = home::known_user_home().and_then(real) else {
            return Ok(());
        };
        let is_hidden = self
            .root
            .strip_prefix(&home)
            .is_ok_and(|below| below.as_os_str().as_bytes().starts_with(b"."));
        let SandboxAllowance { read, exec, write, .. } = self.allowance;
        let is_listed = [read, exec, write]
            .into_iter()
            .flat_map(|paths| listed(paths))
            .any(|tree| self.root.starts_with(tree));
        match (is_hidden || home.starts_with(self.root)) && !is_listed {
            true => Err(NotAllowed::Home(self.root.to_owned())),
            false => Ok(()),
        }
    }

    /// Returns the paths in readable directories that must be hidden from every command.
    fn hidden(&self, policy: &SandboxPolicy) -> Result<Vec<PathBuf>, NotAllowed> {
        let base = policy.view.iter().map(|view| &view.base);
        let trees: BTreeSet<&PathBuf> =
            policy.read.iter().chain(&policy.exec).chain(base).collect();
        let is_systems =
            |tree: &Path| PROGRAMS.iter().chain(&SETTINGS).any(|known| tree.starts_with(known));
        let mut inside = Vec::new();
        for tree in trees.iter().filter(|tree| !is_systems(tree)) {
            for home in homes_in(tree)?.into_iter().chain([tree.to_path_buf()]) {
                match look_alike::is_one(&home, self.root) {
                    true => inside.extend(look_alike::parts(&home).into_iter().filter_map(real)),
                    false if home == **tree => {}
                    false => inside.push(home),
                }
            }
            inside.extend(real(tree.join(STATES[0])));
        }
        let root = Some(self.root).filter(|root| !trees.contains(&root.to_path_buf()));
        let own = self.own.iter().cloned();
        let credentials = self.credentials.iter().flat_map(|place| not_listed(place, &self.listed));
        let all = own
            .chain(inside)
            .chain(root.and_then(|root| real(root.join(STATES[0]))))
            .chain(credentials);
        let is_seen = |path: &PathBuf| trees.iter().any(|tree| path.starts_with(tree));
        Ok(all.filter(is_seen).collect())
    }
}

/// Returns the homes of ledgers, keys and policies in a directory that a command may read.
fn homes_in(directory: &Path) -> Result<Vec<PathBuf>, NotAllowed> {
    match home::held_in(directory, READ_ENTRIES_MAX) {
        Ok(Some(homes)) => Ok(homes),
        Ok(None) => Err(NotAllowed::TooManyEntries(directory.to_owned())),
        Err(source) => Err(NotAllowed::Unreadable { path: directory.to_owned(), source }),
    }
}

/// Returns the parts of a credential directory that the operator does not list. This is the directory itself, or all
/// entries except the listed ones.
fn not_listed(place: &Path, listed: &[PathBuf]) -> Vec<PathBuf> {
    if listed.iter().any(|it| it == place) {
        return Vec::new();
    }
    if !listed.iter().any(|it| it.starts_with(place)) {
        return vec![place.to_owned()];
    }
    // A directory that actum cannot read is not readable for the command either.
    let entries = std::fs::read_dir(place).into_iter().flatten().filter_map(Result::ok);
    entries.flat_map(|entry| not_listed(&entry.path(), listed)).collect()
}

/// Entries by which git recognises a bare repository, which has no `.git` (gitrepository-layout(5)).
const REPOSITORY_PARTS: [&str; 3] = ["HEAD", "objects", "refs"];

/// Returns any path at or below `path` that is protected, makes its directory a repository, or holds ledgers and keys.
pub(super) fn protected_in(path: &Path) -> Result<Option<PathBuf>, NotAllowed> {
    let is_protected = |path: &Path| {
        let names: Vec<&[u8]> = path.iter().skip(1).map(OsStrExt::as_bytes).collect();
        refuses_output(&names).is_some()
    };
    if is_protected(path) {
        return Ok(Some(path.to_owned()));
    }
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| NotAllowed::Unreadable { path, source }
    };
    let mut left: Vec<PathBuf> = path.is_dir().then(|| path.to_owned()).into_iter().collect();
    let mut seen = 0;
    while let Some(directory) = left.pop() {
        let mut parts = 0;
        for entry in std::fs::read_dir(&directory).map_err(unreadable(&directory))? {
            let entry = entry.map_err(unreadable(&directory))?;
            let below = entry.path();
            parts += usize::from(REPOSITORY_PARTS.iter().any(|part| entry.file_name() == *part));
            if parts == REPOSITORY_PARTS.len() {
                return Ok(Some(directory.join(REPOSITORY_PARTS[0])));
            }
            if is_protected(&below) {
                return Ok(Some(below));
            }
            seen += 1;
            if seen > ENTRIES_MAX {
                return Err(NotAllowed::TooLarge(path.to_owned()));
            }
            // Symbolic links are not directories here, so they are not followed.
            if entry.file_type().map_err(unreadable(&below))?.is_dir() {
                if home::is_operators(&below) {
                    return Ok(Some(below));
                }
                left.push(below);
            }
        }
    }
    Ok(None)
}

/// Returns all sockets in a directory tree. A command in a private network can still connect to sockets by their paths.
fn sockets_in(directory: &Path) -> Result<Vec<PathBuf>, NotAllowed> {
    let (mut left, mut sockets, mut seen) = (vec![directory.to_owned()], Vec::new(), 0);
    while let Some(next) = left.pop() {
        // A directory that actum cannot read is not accessible for the command either.
        for entry in std::fs::read_dir(&next).into_iter().flatten().filter_map(Result::ok) {
            seen += 1;
            if seen > SOCKET_ENTRIES_MAX {
                return Err(NotAllowed::Sockets(directory.to_owned()));
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => left.push(entry.path()),
                Ok(kind) if kind.is_socket() => sockets.push(entry.path()),
                Ok(_) | Err(_) => {}
            }
        }
    }
    Ok(sockets)
}

/// Returns the existing directories with ledgers, keys and the operator's policy.
fn operators_own() -> Vec<PathBuf> {
    let mut own: Vec<PathBuf> = home::operators_own().into_iter().filter_map(real).collect();
    own.sort();
    own.dedup();
    own
}

/// Returns the paths from a list in the operator's policy. Symbolic links in existing paths are resolved.
fn listed(paths: &[String]) -> Vec<PathBuf> {
    paths.iter().map(|path| real(path.into()).unwrap_or_else(|| path.into())).collect()
}
