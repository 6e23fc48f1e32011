//! Recognises directories of credentials and system directories, in which no command starts and whose files no message
//! quotes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use actum::real_path;
use actum_gate::credential::{home_places, is_usual_place};

use crate::home;

/// System directories, each with a description of the content that a command must not get access to by starting there.
const SYSTEM: [(&str, &str); 11] = [
    ("/boot", "boot files"),
    ("/dev", "devices"),
    ("/etc", "system configuration and passwords"),
    ("/proc", "the memory and environment of processes"),
    ("/run", "sockets of services"),
    ("/sys", "kernel settings"),
    ("/var/backups", "copies of system configuration and passwords"),
    ("/var/log", "system logs"),
    ("/var/mail", "mail"),
    ("/var/run", "sockets of services"),
    ("/var/spool", "mail and scheduled jobs"),
];
/// Directories inside system directories whose subdirectories belong to users.
const USERS: [&str; 2] = ["/dev/shm", "/run/media"];

/// Path of a user's manual pages (man(1)), relative to the home directory.
const MANUAL: &str = ".local/share/man";
/// Directories of programs that are run by name on common systems (file-hierarchy(7)).
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
/// Directories of libraries and data that system programs load.
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

/// Names of directories in a home directory whose programs are usually run by name. `PATH` is not a reliable list of them,
/// because the caller chooses it. In a repository, such directories contain the project's scripts.
const PROGRAM_NAMES: [&str; 3] = ["bin", "sbin", "shims"];
/// Name of the directory from which Node.js loads modules for all programs in the directories around it.
const NODE_MODULES: &str = "node_modules";

/// Returns the existing directories of credentials in this user's home directory, with symbolic links resolved. Searches
/// the home directory from the password database and the one that the environment names.
pub(crate) fn credentials() -> Vec<PathBuf> {
    let places = homes().iter().flat_map(|home| home_places().map(|name| home.join(name)));
    let mut places: Vec<PathBuf> = places.filter_map(real).collect();
    places.sort();
    places.dedup();
    places
}

/// Returns the directories in which no workspace may change files: those of credentials, and those of ledgers, keys and
/// policies that the environment or the system names. Symbolic links are resolved in all but the last name.
pub(crate) fn closed_to_changes() -> Vec<PathBuf> {
    let credentials = homes().iter().flat_map(|home| credentials_of(home));
    credentials.chain(home::operators_own_real().iter().cloned()).collect()
}

/// Returns the home directories of this user, from the password database and from the environment, with symbolic links
/// resolved. They are resolved only once, as in [`home::path`].
fn homes() -> &'static [PathBuf] {
    static HOMES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    HOMES.get_or_init(|| {
        let named = home::known_user_home().into_iter().chain(home::user_home());
        let homes: BTreeSet<PathBuf> = named.map(|home| real_path(&home)).collect();
        homes.into_iter().collect()
    })
}

/// Returns the home directory of this user if it is at or below `directory`, a path without symbolic links.
pub(crate) fn home_at_or_in(directory: &Path) -> Option<&'static Path> {
    homes().iter().map(PathBuf::as_path).find(|home| home.starts_with(directory))
}

/// Returns the directories of credentials in a home directory. `.config` is excluded, because some users keep it as a
/// repository.
fn credentials_of(home: &Path) -> impl Iterator<Item = PathBuf> + use<'_> {
    home_places().filter(|name| *name != ".config").map(|name| home.join(name))
}

/// Resolves the symbolic links in the path of an existing file. Returns `None` if the file does not exist.
pub(crate) fn real(path: PathBuf) -> Option<PathBuf> {
    // Most of these paths do not exist. Checking that takes one system call, while resolving a path takes one per directory.
    path.symlink_metadata().ok()?;
    path.canonicalize().ok()
}

/// Returns the directory of credentials at or above `directory`, a path without symbolic links.
pub(crate) fn holding(directory: &Path) -> Option<PathBuf> {
    let mut places = homes().iter().flat_map(|home| credentials_of(home));
    places.find(|place| directory.starts_with(place))
}

/// Returns the reason why programs would run or load files from `directory` automatically, if they would. The directory may
/// be or contain a system directory or the home directory. Or it may be in a directory of programs or a hidden directory of
/// the home directory. `directory` is a path without symbolic links.
pub(crate) fn acted_on(directory: &Path) -> Option<&'static str> {
    if system(directory).is_some() {
        return Some("it is or contains a system directory");
    }
    let is_repository = || directory.ancestors().any(|above| above.join(".git").exists());
    // A repository may contain a directory of the caller's `PATH`, with the project's scripts.
    let on_path = |place: PathBuf| {
        directory.starts_with(&place) || place.starts_with(directory) && !is_repository()
    };
    if PROGRAMS.iter().any(|place| is_in_or_holds(directory, Path::new(place)))
        || home::program_directories().any(on_path)
    {
        return Some(
            "it is inside, or contains, a directory of programs that are run by name, such as one in `PATH`",
        );
    }
    if LIBRARIES.iter().any(|place| directory.starts_with(place)) {
        return Some("system programs load files from it");
    }
    let home = home::known_user_home()?.canonicalize().ok()?;
    if home.starts_with(directory) {
        return Some(
            "it is or contains your home directory, where shells and programs read their configuration",
        );
    }
    let below = directory.strip_prefix(&home).ok()?;
    let is_program_directory = |name: &OsStr| PROGRAM_NAMES.iter().any(|known| name == *known);
    let holds_programs = || PROGRAM_NAMES.iter().any(|name| directory.join(name).is_dir());
    if below.starts_with("bin")
        || (below.iter().any(is_program_directory) || holds_programs()) && !is_repository()
    {
        return Some(
            "it is inside, or contains, a directory of programs that are run by name, such as one in `PATH`",
        );
    }
    if below.iter().any(|name| name == NODE_MODULES) && !is_repository() {
        return Some("Node.js programs around it load modules from it");
    }
    below.as_os_str().as_bytes().starts_with(b".").then_some(
        "it is in a hidden directory of your home directory, where programs read their configuration",
    )
}

/// Location that contains a given path and whose files programs run, load or trust automatically. `what` states the reason
/// as a clause for a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ActedPlace {
    pub(crate) place: PathBuf,
    pub(crate) what: &'static str,
    pub(crate) holds: Holds,
}

/// Whether a location holds credentials. If it does, it cannot contain a workspace, even if the operator lists one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Credentials,
    Other,
}

/// Returns all locations that forbid a result file at `path`, a path without symbolic links. These are locations of
/// credentials, of programs and of the system, and hidden files and directories in a home directory. Manual pages are
/// allowed, since only `man` reads them. All locations are returned, because the caller chooses some of them (`PATH`).
pub(crate) fn closed_to_results(path: &Path) -> Vec<ActedPlace> {
    let acted = |place: &Path, what| {
        let (place, holds) = (place.to_owned(), Holds::Other);
        ActedPlace { place, what, holds }
    };
    let mut places = Vec::new();
    if let Some(place) = holding(path) {
        let (what, holds) = ("it is a well-known location for credentials", Holds::Credentials);
        places.push(ActedPlace { place, what, holds });
    }
    let (programs, what) =
        (PROGRAMS.into_iter().map(PathBuf::from), "programs in it are run by name");
    let on_path = home::program_directories().flat_map(|it| [real_path(&it), it]);
    let holds_path = programs.chain(on_path).filter(|place| path.starts_with(place));
    places.extend(holds_path.map(|place| acted(&place, what)));
    let libraries = LIBRARIES.iter().map(Path::new).filter(|place| path.starts_with(place));
    places.extend(libraries.map(|place| acted(place, "system programs load files from it")));
    if let Some((place, _)) = system(path).filter(|(place, _)| path.starts_with(place)) {
        places.push(acted(place, "it is a system directory"));
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

/// Returns the directories that [`closed_to_results`] covers, so that a path that reaches one under a different name, such
/// as through a bind mount (mount(8)), can be recognised.
pub(crate) fn roots_of_places() -> Vec<PathBuf> {
    let system = SYSTEM.iter().map(|(place, _)| PathBuf::from(place));
    let programs = PROGRAMS.into_iter().map(PathBuf::from).chain(home::program_directories());
    let all = homes().iter().cloned().chain(credentials()).chain(programs).chain(system);
    all.map(|place| real_path(&place)).collect::<BTreeSet<_>>().into_iter().collect()
}

fn is_in_or_holds(directory: &Path, place: &Path) -> bool {
    directory.starts_with(place) || place.starts_with(directory)
}

/// Returns the system directory that contains `path` or is inside it, with a description of its content.
pub(crate) fn system(path: &Path) -> Option<(&'static Path, &'static str)> {
    let is_users = USERS.iter().any(|users| path != Path::new(users) && path.starts_with(users));
    let places = SYSTEM.iter().map(|(place, what)| (Path::new(*place), *what));
    let mut places = places.filter(|_| !is_users);
    places.find(|(place, _)| path.starts_with(place) || place.starts_with(path))
}

/// Returns whether a file at `path` is likely to contain credentials, or belongs to the system or the operator. Both the
/// typed path and the path without symbolic links are checked. Names of credential files are recognised in any directory,
/// so that the environment cannot hide them by naming a different home.
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
    fn system_directories_are_recognised_but_not_user_directories_in_them() {
        let system_place = |path: &str| system(Path::new(path)).map(|(place, _)| place);
        for (path, place) in [
            ("/etc", "/etc"),
            ("/run/user/1000", "/run"),
            ("/proc/1/root", "/proc"),
            ("/dev/shm", "/dev"),
            ("/run/media", "/run"),
            ("/var", "/var/backups"),
            ("/", "/boot"),
        ] {
            assert_eq!(system_place(path), Some(Path::new(place)), "{path}");
        }
        for path in ["/dev/shm/w", "/run/media/ann/disk", "/home/ann", "/etcetera", "/var/www"] {
            assert_eq!(system_place(path), None, "{path}");
        }
    }

    /// AEC-8, D-5, issue 22 (claims): no workspace is created in a system directory, or in one of system programs or
    /// libraries.
    #[test]
    fn system_and_program_directories_are_recognised() {
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
    fn credential_files_are_recognised_by_name() {
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
