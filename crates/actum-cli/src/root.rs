//! Root of the workspace: the only module that reads the current directory.

use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use actum::{PolicyFiles, RootState};
use actum_core::path::Quoted;
use actum_core::{RelPath, ShellWord};
use actum_gate::refuses_root;
use actum_workspace::STATE_DIRECTORY;

use crate::failure::Failure;
use crate::{home, look_alike, private_place};

/// Returns the directory to start in, without symbolic links: `directory`, or else the current one.
pub(crate) fn start(directory: Option<&Path>) -> Result<PathBuf, Failure> {
    let found = match directory {
        Some(directory) => std::fs::canonicalize(directory).and_then(|found| {
            if found.is_dir() { Ok(found) } else { Err(io::ErrorKind::NotADirectory.into()) }
        }),
        None => current_directory(),
    };
    let named = directory.unwrap_or(Path::new("."));
    found.map_err(|source| Failure::Start { directory: named.to_owned(), source })
}

#[expect(clippy::disallowed_methods, reason = "this is the module that knows where we stand")]
fn current_directory() -> io::Result<PathBuf> {
    std::env::current_dir()
}

/// Returns the root of the workspace that contains `start`, within the limits of discovery; without one `start` itself,
/// which the engine then rejects.
pub(crate) fn existing(start: &Path) -> &Path {
    nearest(start, is_workspace).unwrap_or(start)
}

/// Returns the root of the nearest workspace of this user at or above a directory, which need not exist. No mount and
/// no mode ends the search, since the caller requests a decision of its gates.
pub(crate) fn around(directory: &Path) -> Option<PathBuf> {
    let is_own = |root: &&Path| owner(&root.join(STATE_DIRECTORY)) == Some(own());
    directory.ancestors().find(is_own).map(Path::to_owned)
}

/// Returns the root to use if a workspace may be made: the existing one, else the root of the git repository. Otherwise
/// it is the directory of a policy, which would not apply to a workspace below it, or `start`.
pub(crate) fn existing_or_new(start: &Path) -> &Path {
    let ruled = || nearest(start, |directory, _| has(directory, PolicyFiles::IN_WORKSPACE));
    let found = nearest(start, is_workspace).or_else(|| repository(start)).or_else(ruled);
    found.unwrap_or(start)
}

/// Returns the root of a workspace that `actum init` makes: the git repository around `start`, else `start`, also
/// inside another workspace.
pub(crate) fn wanted(start: &Path) -> &Path {
    repository(start).unwrap_or(start)
}

/// Returns the root of the git repository that `start` lies in.
pub(crate) fn repository(start: &Path) -> Option<&Path> {
    nearest(start, |directory, _| has(directory, ".git"))
}

/// Rejects a workspace in a directory of credentials. A new one is also rejected in a directory of ledgers and keys of
/// any installation, and where programs of the user or the system act on its content. The operator can list exceptions
/// to the latter: a change there would make its author the operator, and its diff show a key.
///
/// # Errors
/// `HomeInside`; `HomeAround`; `Usage`; `RootNotAllowed`; those of the operator's policy.
pub(crate) fn check_place(root: &Path, state: RootState) -> Result<(), Failure> {
    if let Some(place) = private_place::holding(root) {
        let place = Quoted(place.as_os_str().as_bytes());
        let message = format!("no workspace may be in {place}, a place of credentials");
        return Err(Failure::Usage { message });
    }
    match state {
        RootState::Made => Ok(()),
        RootState::New => {
            if let Some(state) = state_directory_around(root) {
                let state = Quoted(state.as_os_str().as_bytes());
                let message = format!(
                    "no workspace may be in {state}, the state of a workspace or a repository"
                );
                return Err(Failure::Usage { message });
            }
            let mut named = home::operators_own_real().iter();
            if let Some(home) = named.find(|own| root.starts_with(own)) {
                let (home, root) = (home.to_owned(), root.to_owned());
                return Err(actum::Error::HomeInside { home, root }.into());
            }
            let is_closed = |home: &&Path| {
                home::is_operators(home)
                    && (*home == root
                        || look_alike::is_in_part(root, home)
                        || !look_alike::is_in_workspace(home))
            };
            let closed = root.ancestors().find(is_closed);
            if let Some(mark) = closed.and_then(home::mark_around) {
                return Err(actum::Error::HomeAround { mark, root: root.to_owned() }.into());
            }
            check_new(root)
        }
    }
}

/// Returns the state directory of a workspace or a repository at or above a directory.
fn state_directory_around(directory: &Path) -> Option<&Path> {
    let is_state = |directory: &&Path| {
        let name = directory.file_name().unwrap_or_default();
        home::PROJECTS.iter().any(|state| name.eq_ignore_ascii_case(state))
    };
    directory.ancestors().find(is_state)
}

/// Rejects a new workspace in a directory whose files programs run or obey by themselves.
fn check_new(root: &Path) -> Result<(), Failure> {
    let Some(why) = private_place::acted_on(root).or_else(|| leaves_rules_behind(root)) else {
        return Ok(());
    };
    let in_force = crate::policy::in_force(root)?;
    match in_force.roots.iter().any(|listed| Path::new(listed) == root) {
        true => Ok(()),
        false => Err(Failure::RootNotAllowed { root: root.to_owned(), why }),
    }
}

/// Returns the reason for which a root in a workspace or a repository would evade built-in rules, if it would.
fn leaves_rules_behind(root: &Path) -> Option<&'static str> {
    let is_root = |directory: &&Path| home::PROJECTS.iter().any(|state| has(directory, state));
    let around = root.ancestors().skip(1).filter(is_root).last()?;
    let below = root.strip_prefix(around).ok()?;
    refuses_root(&names(around), &names(below)).then_some(
        "a change there is denied or needs approval in the workspace or repository around it",
    )
}

/// Returns the names of a path, without its root.
fn names(path: &Path) -> Vec<&[u8]> {
    let normal = path.components().filter(|it| matches!(it, Component::Normal(_)));
    normal.map(|name| name.as_os_str().as_bytes()).collect()
}

/// Returns true if `root` has a state directory, valid or not.
pub(crate) fn is_made(root: &Path) -> bool {
    has(root, STATE_DIRECTORY)
}

/// Returns the nearest workspace above `start`, and the limit that hides it from discovery.
pub(crate) fn above(start: &Path) -> Option<Above> {
    let root = start.ancestors().skip(1).find(|root| is_made(root))?;
    let foreign = || owner(&root.join(STATE_DIRECTORY)).filter(|&user| user != own());
    let limit = limit_of(start, root).or_else(|| foreign().map(Limit::Owner));
    Some(Above { root: root.to_owned(), limit })
}

/// Returns the path of an existing file from the root of its workspace, if `path`, relative to `start`, is below that
/// root.
pub(crate) fn meant(start: &Path, path: &RelPath) -> Option<RelPath> {
    let root = existing(start);
    let meant = start.join(OsStr::from_bytes(path.as_bytes()));
    let relative = meant.strip_prefix(root).ok()?;
    let relative = RelPath::new(relative.as_os_str().as_bytes()).ok()?;
    (relative != *path && meant.symlink_metadata().is_ok_and(|found| found.is_file()))
        .then_some(relative)
}

/// Workspace above a directory.
#[derive(Debug)]
pub(crate) struct Above {
    root: PathBuf,
    /// Limit that hides it from discovery.
    limit: Option<Limit>,
}

impl Display for Above {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = Quoted(self.root.as_os_str().as_bytes());
        let Some(limit) = &self.limit else {
            return write!(out, "it lies inside the workspace {root}");
        };
        write!(out, "the workspace {root} above is not used: ")?;
        match limit {
            Limit::FileSystem => write!(out, "it is on another file system"),
            Limit::Home => write!(out, "it is above your home directory"),
            Limit::Writable(directory) => {
                let directory = Quoted(directory.as_os_str().as_bytes());
                write!(out, "other users may write to {directory}")
            }
            Limit::Owner(user) => write!(out, "it belongs to another user ({user})"),
        }?;
        let root = ShellWord::path(self.root.as_os_str().as_bytes());
        write!(out, "; `actum -C {root} …` names it")
    }
}

/// Reason for which discovery stops.
#[derive(Debug, PartialEq, Eq)]
enum Limit {
    FileSystem,
    Home,
    /// Other users may write to this directory, such as a sticky `/tmp`.
    Writable(PathBuf),
    /// Another user owns the directory, or the state directory in it.
    Owner(u32),
}

/// Returns the nearest directory from `start` upwards for which `is_meant` is true. Its second argument marks `start`,
/// which is named and not discovered.
fn nearest(start: &Path, is_meant: impl Fn(&Path, Place) -> bool) -> Option<&Path> {
    let mut above = start;
    let mut place = Place::Start;
    while !is_meant(above, place) {
        let parent = above.parent()?;
        if limit_between(above, parent).is_some() {
            return None;
        }
        (above, place) = (parent, Place::Above);
    }
    Some(above)
}

/// Position of a directory in the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Directory to start in.
    Start,
    /// Directory above it.
    Above,
}

/// Returns true if `directory` holds a state directory. Discovery skips that of another user; the engine rejects it if
/// it is named.
fn is_workspace(directory: &Path, place: Place) -> bool {
    let state = directory.join(STATE_DIRECTORY);
    match place {
        Place::Start => has(directory, STATE_DIRECTORY),
        Place::Above => owner(&state).is_some_and(|user| user == own()),
    }
}

/// Returns the first limit on the way from `start` up to `root`.
fn limit_of(start: &Path, root: &Path) -> Option<Limit> {
    let way = start.ancestors().take_while(|directory| *directory != root);
    way.filter_map(|directory| limit_between(directory, directory.parent()?)).next()
}

/// Returns the limit that stops discovery between `directory` and its parent.
fn limit_between(directory: &Path, parent: &Path) -> Option<Limit> {
    let found = directory.metadata().ok();
    let above = parent.metadata().ok();
    let (Some(found), Some(above)) = (found, above) else { return Some(Limit::FileSystem) };
    if found.dev() != above.dev() {
        return Some(Limit::FileSystem);
    }
    if home::known_user_home().is_some_and(|home| is_same(&home, &found)) {
        return Some(Limit::Home);
    }
    shared(directory, &found).or_else(|| shared(parent, &above))
}

/// Returns the reason for which other users share a directory.
fn shared(path: &Path, directory: &Metadata) -> Option<Limit> {
    if directory.mode() & OTHERS_WRITE != 0 {
        return Some(Limit::Writable(path.to_owned()));
    }
    (directory.uid() != own()).then(|| Limit::Owner(directory.uid()))
}

/// Write permission for all users (`S_IWOTH`).
const OTHERS_WRITE: u32 = 0o002;

fn own() -> u32 {
    nix::unistd::geteuid().as_raw()
}

fn owner(path: &Path) -> Option<u32> {
    Some(path.symlink_metadata().ok()?.uid())
}

fn is_same(path: &Path, directory: &Metadata) -> bool {
    let found = path.metadata();
    found.is_ok_and(|found| (found.dev(), found.ino()) == (directory.dev(), directory.ino()))
}

/// Returns true if `directory` has an entry of this name. A symbolic link counts, since the engine judges it.
fn has(directory: &Path, name: &str) -> bool {
    directory.join(name).symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its own directories")]
    fn the_nearest_workspace_wins_over_a_nearer_repository() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let inner = root.join("outer/repository/inner");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(root.join("outer/repository/.git")).unwrap();
        assert_eq!(existing_or_new(&inner), root.join("outer/repository"));
        assert_eq!(existing(&inner), inner);
        std::fs::create_dir(root.join("outer/.actum")).unwrap();
        assert_eq!(existing_or_new(&inner), root.join("outer"));
        assert_eq!(existing(&inner), root.join("outer"));
        assert_eq!(wanted(&inner), root.join("outer/repository"));
        assert_eq!(wanted(root), root);
        assert_eq!(wanted(&root.join("outer")), root.join("outer"));
    }

    /// D-5: a state directory that another user can create above a directory does not become its workspace.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its own directories")]
    fn discovery_stops_at_a_directory_that_others_may_write() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let outer = directory.path().join("outer");
        let inner = outer.join("shared/inner");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(outer.join(".actum")).unwrap();
        std::fs::create_dir(outer.join("shared/.actum")).unwrap();
        assert_eq!(existing(&inner), outer.join("shared"));
        let set_mode = |mode: u32| {
            std::fs::set_permissions(outer.join("shared"), PermissionsExt::from_mode(mode))
                .unwrap();
        };
        set_mode(0o775);
        assert_eq!(existing(&inner), outer.join("shared"), "a group may write it");
        for mode in [0o777, 0o1777, 0o702] {
            let shared = outer.join("shared");
            set_mode(mode);
            assert_eq!(existing(&inner), inner, "{mode:o}");
            assert_eq!(existing_or_new(&inner), inner, "{mode:o}");
            let above = above(&inner).unwrap();
            assert_eq!(
                (&above.root, above.limit),
                (&shared, Some(Limit::Writable(shared.clone())))
            );
            // The directory is used if it is named, and nothing above it.
            assert_eq!(existing(&shared), shared);
        }
    }
}
