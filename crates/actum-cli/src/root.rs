//! Discovery of the workspace root. No other module reads the current directory.

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

/// Returns the directory in which a command starts, without symbolic links: `directory` if it is given, and otherwise
/// the current directory.
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

#[expect(clippy::disallowed_methods, reason = "only this module reads the current directory")]
fn current_directory() -> io::Result<PathBuf> {
    std::env::current_dir()
}

/// Returns the root of the workspace that contains `start`, within the limits of discovery. Without such a workspace,
/// returns `start` itself, which the engine then rejects.
pub(crate) fn existing(start: &Path) -> &Path {
    nearest(start, is_workspace).unwrap_or(start)
}

/// Returns the root of the nearest workspace of this user at or above `directory`, which need not exist. File system
/// boundaries and shared directories do not end the search, because the caller only asks for a decision of the gates.
pub(crate) fn around(directory: &Path) -> Option<PathBuf> {
    let is_own = |root: &&Path| owner(&root.join(STATE_DIRECTORY)) == Some(own());
    directory.ancestors().find(is_own).map(Path::to_owned)
}

/// Returns the root to use for a command that may create a workspace: an existing workspace, or else the root of the
/// git repository. Without either, this is the nearest directory with a policy, because the policy would not apply to a
/// workspace below it. The last choice is `start`.
pub(crate) fn existing_or_new(start: &Path) -> &Path {
    let ruled = || nearest(start, |directory, _| has(directory, PolicyFiles::IN_WORKSPACE));
    let found = nearest(start, is_workspace).or_else(|| repository(start)).or_else(ruled);
    found.unwrap_or(start)
}

/// Returns the root for `actum init`: the root of the git repository around `start`, or else `start`. An enclosing
/// workspace has no influence.
pub(crate) fn wanted(start: &Path) -> &Path {
    repository(start).unwrap_or(start)
}

/// Returns the root of the git repository that contains `start`, within the limits of discovery.
pub(crate) fn repository(start: &Path) -> Option<&Path> {
    nearest(start, |directory, _| has(directory, ".git"))
}

/// Checks whether a workspace may be opened or created at `root`. No workspace may be in a directory of credentials. A
/// new workspace must also not be in a directory of ledgers and keys, because its author could become the operator, and
/// its diffs could show a key. Directories whose files are run or loaded automatically are rejected as well, unless the
/// operator's policy lists them.
///
/// # Errors
/// `HomeInside`; `HomeAround`; `Usage`; `RootNotAllowed`; those of the operator's policy.
pub(crate) fn check_place(root: &Path, state: RootState) -> Result<(), Failure> {
    if let Some(place) = private_place::holding(root) {
        let place = Quoted(place.as_os_str().as_bytes());
        let message =
            format!("no workspace may be in {place}, a well-known location for credentials");
        return Err(Failure::Usage { message });
    }
    match state {
        RootState::Made => Ok(()),
        RootState::New => {
            if let Some(state) = state_directory_around(root) {
                let state = Quoted(state.as_os_str().as_bytes());
                let message = format!(
                    "no workspace may be in {state}, the state directory of a workspace or repository"
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

/// Returns the state directory of a workspace or a repository (`.actum` or `.git`) that is at or above `directory`.
fn state_directory_around(directory: &Path) -> Option<&Path> {
    let is_state = |directory: &&Path| {
        let name = directory.file_name().unwrap_or_default();
        home::PROJECTS.iter().any(|state| name.eq_ignore_ascii_case(state))
    };
    directory.ancestors().find(is_state)
}

/// Rejects a new workspace in a directory whose files are run or loaded automatically, unless the operator's policy
/// lists it.
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

/// Returns the reason why `root` would evade the built-in rules of an enclosing workspace or repository, if it would.
fn leaves_rules_behind(root: &Path) -> Option<&'static str> {
    let is_root = |directory: &&Path| home::PROJECTS.iter().any(|state| has(directory, state));
    let around = root.ancestors().skip(1).filter(is_root).last()?;
    let below = root.strip_prefix(around).ok()?;
    refuses_root(&names(around), &names(below)).then_some(
        "the enclosing workspace or repository denies changes there or requires approval for them",
    )
}

/// Returns the components of a path, without the root directory.
fn names(path: &Path) -> Vec<&[u8]> {
    let normal = path.components().filter(|it| matches!(it, Component::Normal(_)));
    normal.map(|name| name.as_os_str().as_bytes()).collect()
}

/// Returns whether `root` has a state directory, even if it is not a valid one.
pub(crate) fn is_made(root: &Path) -> bool {
    has(root, STATE_DIRECTORY)
}

/// Returns the nearest workspace above `start`, and the limit that prevents discovery from finding it, if there is one.
pub(crate) fn above(start: &Path) -> Option<Above> {
    let root = start.ancestors().skip(1).find(|root| is_made(root))?;
    let foreign = || owner(&root.join(STATE_DIRECTORY)).filter(|&user| user != own());
    let limit = limit_of(start, root).or_else(|| foreign().map(Limit::Owner));
    Some(Above { root: root.to_owned(), limit })
}

/// Returns the path of an existing file relative to the root of its workspace, if that path differs from `path`, which
/// is relative to `start`. Returns `None` if the file does not exist or is outside of the workspace.
pub(crate) fn suggested_path(start: &Path, path: &RelPath) -> Option<RelPath> {
    let root = existing(start);
    let candidate = start.join(OsStr::from_bytes(path.as_bytes()));
    let relative = candidate.strip_prefix(root).ok()?;
    let relative = RelPath::new(relative.as_os_str().as_bytes()).ok()?;
    (relative != *path && candidate.symlink_metadata().is_ok_and(|found| found.is_file()))
        .then_some(relative)
}

/// Workspace above a directory.
#[derive(Debug)]
pub(crate) struct Above {
    root: PathBuf,
    /// Limit that prevents discovery from finding the workspace.
    limit: Option<Limit>,
}

impl Display for Above {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = Quoted(self.root.as_os_str().as_bytes());
        let Some(limit) = &self.limit else {
            return write!(out, "this directory is inside the workspace {root}");
        };
        write!(out, "the workspace {root} above this directory is not used because ")?;
        match limit {
            Limit::FileSystem => write!(out, "it is on a different file system"),
            Limit::Home => write!(out, "it is above your home directory"),
            Limit::Writable(directory) => {
                let directory = Quoted(directory.as_os_str().as_bytes());
                write!(out, "other users may write to {directory}")
            }
            Limit::Owner(user) => write!(out, "it belongs to another user ({user})"),
        }?;
        let root = ShellWord::path(self.root.as_os_str().as_bytes());
        write!(out, "; run `actum -C {root} …` to use it")
    }
}

/// Reason why discovery does not continue in the parent directory.
#[derive(Debug, PartialEq, Eq)]
enum Limit {
    FileSystem,
    Home,
    /// Other users may write to this directory, as in a `/tmp` with the sticky bit.
    Writable(PathBuf),
    /// Another user, with this user id, owns the directory or its state directory.
    Owner(u32),
}

/// Returns the nearest directory, from `start` upwards, for which `is_meant` returns true. The second argument of
/// `is_meant` distinguishes `start`, which the user chose, from the directories above it.
fn nearest(start: &Path, is_match: impl Fn(&Path, Place) -> bool) -> Option<&Path> {
    let mut above = start;
    let mut place = Place::Start;
    while !is_match(above, place) {
        let parent = above.parent()?;
        if limit_between(above, parent).is_some() {
            return None;
        }
        (above, place) = (parent, Place::Above);
    }
    Some(above)
}

/// Position of a directory in the upward search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Directory in which the search starts.
    Start,
    /// Directory above the start of the search.
    Above,
}

/// Returns whether `directory` has a state directory. A state directory of another user is ignored above the start. At
/// the start, it is accepted here and rejected by the engine, because the user chose that directory.
fn is_workspace(directory: &Path, place: Place) -> bool {
    let state = directory.join(STATE_DIRECTORY);
    match place {
        Place::Start => has(directory, STATE_DIRECTORY),
        Place::Above => owner(&state).is_some_and(|user| user == own()),
    }
}

/// Returns the first limit of discovery between `start` and its ancestor `root`.
fn limit_of(start: &Path, root: &Path) -> Option<Limit> {
    let way = start.ancestors().take_while(|directory| *directory != root);
    way.filter_map(|directory| limit_between(directory, directory.parent()?)).next()
}

/// Returns the limit that stops discovery between `directory` and its parent, if there is one.
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

/// Returns a limit if other users own the directory or may write to it.
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

/// Returns whether `directory` has an entry called `name`. A symbolic link is enough, because the engine checks it
/// later.
fn has(directory: &Path, name: &str) -> bool {
    directory.join(name).symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test creates its own directories")]
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

    /// D-5: a state directory in a directory that other users may write to is not discovered from below.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test creates its own directories")]
    fn discovery_stops_at_a_directory_others_can_write_to() {
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
        assert_eq!(existing(&inner), outer.join("shared"), "a group may write to it");
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
            // The shared directory itself is used if the command starts in it, but no directory above it.
            assert_eq!(existing(&shared), shared);
        }
    }
}
