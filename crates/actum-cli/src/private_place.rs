//! Directories of credentials and of the system: no command starts in them, and no message quotes their files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use actum::real_path;
use actum_gate::credential::{home_places, is_usual_place};

use crate::home;

/// Directories of the system, and content that no command gets by starting there.
const SYSTEM: [(&str, &str); 11] = [
    ("/boot", "what starts the machine"),
    ("/dev", "devices"),
    ("/etc", "configuration and passwords of the system"),
    ("/proc", "memory and environment of processes"),
    ("/run", "sockets of services"),
    ("/sys", "settings of the kernel"),
    ("/var/backups", "copies of configuration and passwords of the system"),
    ("/var/log", "logs of the system"),
    ("/var/mail", "mail"),
    ("/var/run", "sockets of services"),
    ("/var/spool", "mail and scheduled jobs"),
];
/// Directories within those of the system whose subdirectories belong to users.
const USERS: [&str; 2] = ["/dev/shm", "/run/media"];

/// Path of a user's manual pages (man(1)), below the home directory.
const MANUAL: &str = ".local/share/man";
/// Directories of programs that are run by name, in every installation (file-hierarchy(7)).
const PROGRAMS: [&str; 10] = [
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/games",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/games",
    "/snap/bin",
    "/opt/bin",
];
/// Directories of libraries and data that programs of the system load.
const LIBRARIES: [&str; 11] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/share",
    "/usr/local/lib",
    "/usr/local/libexec",
    "/usr/local/share",
];

/// Names of directories in a home directory whose programs are usually run by name. The caller chooses `PATH`, so it is
/// no reliable list of them; in a repository they hold scripts of the project.
const PROGRAM_NAMES: [&str; 3] = ["bin", "sbin", "shims"];
/// Directory in which Node.js finds modules for all programs around it.
const NODE_MODULES: &str = "node_modules";

/// Returns the directories of credentials in this user's home directory that exist, without links. Searches the home
/// directory that the system knows, and the one that the environment names.
pub(crate) fn credentials() -> Vec<PathBuf> {
    let places = homes().iter().flat_map(|home| home_places().map(|name| home.join(name)));
    let mut places: Vec<PathBuf> = places.filter_map(real).collect();
    places.sort();
    places.dedup();
    places
}

/// Returns the directories that no change may enter, from any root, as paths without links above their last name. These
/// are those of credentials, and those of ledgers, keys and policies that the environment or the system names.
pub(crate) fn closed_to_changes() -> Vec<PathBuf> {
    let credentials = homes().iter().flat_map(|home| credentials_of(home));
    credentials.chain(home::operators_own_real().iter().cloned()).collect()
}

/// Returns the home directories of this user without links: the one that the system knows, and the one that the
/// environment names.
///
/// Resolved once, as [`home::path`].
fn homes() -> &'static [PathBuf] {
    static HOMES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    HOMES.get_or_init(|| {
        let named = home::known_user_home().into_iter().chain(home::user_home());
        let homes: BTreeSet<PathBuf> = named.map(|home| real_path(&home)).collect();
        homes.into_iter().collect()
    })
}

/// Returns the home directory of this user that is `directory`, a path without links, or lies in it.
pub(crate) fn home_at_or_in(directory: &Path) -> Option<&'static Path> {
    homes().iter().map(PathBuf::as_path).find(|home| home.starts_with(directory))
}

/// Returns the directories of credentials in a home directory. `.config` does not count: some users keep it as a
/// repository.
fn credentials_of(home: &Path) -> impl Iterator<Item = PathBuf> + use<'_> {
    home_places().filter(|name| *name != ".config").map(|name| home.join(name))
}

/// Returns the path without links of an existing file.
pub(crate) fn real(path: PathBuf) -> Option<PathBuf> {
    // Most directories do not exist: a check costs one call, and resolving a path one call for each directory.
    path.symlink_metadata().ok()?;
    path.canonicalize().ok()
}

/// Returns the directory of credentials that a directory without links lies in.
pub(crate) fn holding(directory: &Path) -> Option<PathBuf> {
    let mut places = homes().iter().flat_map(|home| credentials_of(home));
    places.find(|place| directory.starts_with(place))
}

/// Returns the reason for which programs act by themselves on the content of a directory without links, if they do. It
/// is or holds a directory of the system or the home directory, or it is in a directory of programs or in a hidden
/// directory of the home directory.
pub(crate) fn acted_on(directory: &Path) -> Option<&'static str> {
    if system(directory).is_some() {
        return Some("it is or holds a directory of the system");
    }
    let is_repository = || directory.ancestors().any(|above| above.join(".git").exists());
    // A repository may hold a directory of the caller's `PATH`, with the scripts of the project.
    let on_path = |place: PathBuf| {
        directory.starts_with(&place) || place.starts_with(directory) && !is_repository()
    };
    if PROGRAMS.iter().any(|place| is_in_or_holds(directory, Path::new(place)))
        || home::program_directories().any(on_path)
    {
        return Some("programs in it or below it are run by their names");
    }
    if LIBRARIES.iter().any(|place| directory.starts_with(place)) {
        return Some("programs of the system load what is in it");
    }
    let home = home::known_user_home()?.canonicalize().ok()?;
    if home.starts_with(directory) {
        return Some(
            "it is or holds your home directory, where shells and programs read their configuration",
        );
    }
    let below = directory.strip_prefix(&home).ok()?;
    let is_program_directory = |name: &OsStr| PROGRAM_NAMES.iter().any(|known| name == *known);
    let holds_programs = || PROGRAM_NAMES.iter().any(|name| directory.join(name).is_dir());
    if below.starts_with("bin")
        || (below.iter().any(is_program_directory) || holds_programs()) && !is_repository()
    {
        return Some("programs in it or below it are run by their names");
    }
    if below.iter().any(|name| name == NODE_MODULES) && !is_repository() {
        return Some("programs of Node.js around it load what is in it");
    }
    below.as_os_str().as_bytes().starts_with(b".").then_some(
        "it is in a hidden directory of your home directory, where programs read their configuration",
    )
}

/// Place that a path without links lies in, and on whose files programs act by themselves. `what` completes a sentence
/// about the place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ActedPlace {
    pub(crate) place: PathBuf,
    pub(crate) what: &'static str,
    pub(crate) holds: Holds,
}

/// Content of a place: a workspace that the operator lists may only be in one without credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Credentials,
    Other,
}

/// Returns the places that forbid a result file at `path`, a path without links: those of credentials, of programs, of
/// the system, and hidden files and directories of a home directory. Manual pages are allowed, since no other program
/// reads them. All places count, since the caller names some (`PATH`).
pub(crate) fn closed_to_results(path: &Path) -> Vec<ActedPlace> {
    let acted = |place: &Path, what| {
        let (place, holds) = (place.to_owned(), Holds::Other);
        ActedPlace { place, what, holds }
    };
    let mut places = Vec::new();
    if let Some(place) = holding(path) {
        let (what, holds) = ("it is a place of credentials", Holds::Credentials);
        places.push(ActedPlace { place, what, holds });
    }
    let (programs, what) =
        (PROGRAMS.into_iter().map(PathBuf::from), "programs in it are run by their names");
    let on_path = home::program_directories().flat_map(|it| [real_path(&it), it]);
    let holds_path = programs.chain(on_path).filter(|place| path.starts_with(place));
    places.extend(holds_path.map(|place| acted(&place, what)));
    let libraries = LIBRARIES.iter().map(Path::new).filter(|place| path.starts_with(place));
    places.extend(libraries.map(|place| acted(place, "programs of the system load what is in it")));
    if let Some((place, _)) = system(path).filter(|(place, _)| path.starts_with(place)) {
        places.push(acted(place, "it is a directory of the system"));
    }
    for home in homes() {
        let Ok(below) = path.strip_prefix(home) else { continue };
        let Some(first) = below.iter().next() else { continue };
        if first == "bin" {
            places.push(acted(&home.join(first), what));
        }
        if first.as_bytes().starts_with(b".") && !below.starts_with(MANUAL) {
            places.push(acted(&home.join(first), "programs read their configuration there"));
        }
    }
    places
}

/// Returns the existing directories of the home directory, and of the system, that [`closed_to_results`] covers: a path
/// can reach one by another name (mount(8)).
pub(crate) fn roots_of_places() -> Vec<PathBuf> {
    let system = SYSTEM.iter().map(|(place, _)| PathBuf::from(place));
    let programs = PROGRAMS.into_iter().map(PathBuf::from).chain(home::program_directories());
    let all = homes().iter().cloned().chain(credentials()).chain(programs).chain(system);
    all.map(|place| real_path(&place)).collect::<BTreeSet<_>>().into_iter().collect()
}

fn is_in_or_holds(directory: &Path, place: &Path) -> bool {
    directory.starts_with(place) || place.starts_with(directory)
}

/// Returns the directory of the system that `path` lies in or holds, and its content.
pub(crate) fn system(path: &Path) -> Option<(&'static Path, &'static str)> {
    let is_users = USERS.iter().any(|users| path != Path::new(users) && path.starts_with(users));
    let places = SYSTEM.iter().map(|(place, what)| (Path::new(*place), *what));
    let mut places = places.filter(|_| !is_users);
    places.find(|(place, _)| path.starts_with(place) || place.starts_with(path))
}

/// Returns true if a file at `path` is likely to hold credentials, or content of the system or the operator. The names
/// are checked as typed and without links, below any directory: an environment with another home changes nothing.
pub(crate) fn is_private(path: &Path) -> bool {
    let real = path.canonicalize().ok();
    if let Some(real) = &real {
        let is_system = system(real).is_some_and(|(place, _)| real.starts_with(place));
        if is_system || home::holding(real).is_some() {
            return true;
        }
    }
    let mut paths = [Some(path), real.as_deref()].into_iter().flatten();
    paths.any(|path| is_usual_place(path.as_os_str().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AA-10
    #[test]
    fn system_directories_are_recognised_and_users_directories_in_them_are_not() {
        let of = |path: &str| system(Path::new(path)).map(|(place, _)| place);
        for (path, place) in [
            ("/etc", "/etc"),
            ("/run/user/1000", "/run"),
            ("/proc/1/root", "/proc"),
            ("/dev/shm", "/dev"),
            ("/run/media", "/run"),
            ("/var", "/var/backups"),
            ("/", "/boot"),
        ] {
            assert_eq!(of(path), Some(Path::new(place)), "{path}");
        }
        for path in ["/dev/shm/w", "/run/media/ann/disk", "/home/ann", "/etcetera", "/var/www"] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    /// AEC-8, D-5, issue 22 (claims): no workspace is made in a directory of the system, of its programs or its
    /// libraries.
    #[test]
    fn programs_act_on_directories_of_the_system() {
        for path in [
            "/",
            "/etc/ssl",
            "/run/user/1000",
            "/usr",
            "/usr/bin",
            "/usr/local/bin/tools",
            "/usr/lib/python3",
            "/lib/systemd",
            "/usr/share/applications",
        ] {
            assert!(acted_on(Path::new(path)).is_some(), "{path}");
        }
        for path in
            ["/usr/src/project", "/usr/local/src/project", "/opt/project", "/srv/www", "/library"]
        {
            assert_eq!(acted_on(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn files_of_credentials_are_recognised_by_their_names() {
        for path in [
            "/w/.env",
            "/w/.env.local",
            "/home/ann/.netrc",
            "/elsewhere/.ssh/work",
            "/x/.cargo/credentials.toml",
            "/w/server.pem",
            "/w/Secrets.yaml",
        ] {
            assert!(is_private(Path::new(path)), "{path}");
        }
        for path in ["/w/change.diff", "/w/env", "/w/keys.txt", "/w/.cargo/config.toml"] {
            assert!(!is_private(Path::new(path)), "{path}");
        }
    }
}
