//! Programs that subcommands call, and the Debian packages that contain them.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Required package that is not part of the Rust toolchain.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// Name of the Debian package.
    name: &'static str,
    /// Required part of the package.
    brings: Brings,
    /// Subcommands that call it. A program called only as root is listed as a separate need.
    needed_by: &'static [&'static str],
}

/// Part of a package that is required.
#[derive(Debug, PartialEq, Eq)]
enum Brings {
    /// Program in the search path.
    Program(&'static str),
    /// Module that one of the Python interpreters in `PATH` can import. The first interpreter may not be the system's, and then
    /// lacks the system's packages.
    PythonModule(&'static str),
}

use Brings::{Program, PythonModule};

const PACKAGES: &[Package] = &[
    // Alternatives to actum, used for comparison.
    Package {
        name: "git",
        brings: Program("git"),
        needed_by: &["test", "bench", "crash", "realworld", "share"],
    },
    Package { name: "patch", brings: Program("patch"), needed_by: &["test", "bench"] },
    // Tools with which users verify changes, run in the sandbox.
    Package { name: "nodejs", brings: Program("node"), needed_by: &["test", "clients"] },
    Package { name: "python3", brings: Program("python3"), needed_by: &["test", "clients"] },
    // Downloads the DuckDB library.
    Package { name: "python3-pip", brings: PythonModule("pip"), needed_by: &["test"] },
    // Verifies signatures independently of actum.
    Package {
        name: "python3-cryptography",
        brings: PythonModule("cryptography"),
        needed_by: &["test"],
    },
    // Independent implementation that reads and writes passphrase-protected keys.
    Package { name: "openssl", brings: Program("openssl"), needed_by: &["test"] },
    Package {
        name: "make",
        brings: Program("make"),
        needed_by: &["test", "realworld of pipelines"],
    },
    Package { name: "gcc", brings: Program("cc"), needed_by: &["realworld of pipelines"] },
    // Creates Python environments that include pip.
    Package {
        name: "python3-venv",
        brings: PythonModule("ensurepip"),
        needed_by: &["realworld of SQL", "realworld of pipelines", "clients"],
    },
    // Its shell and tools run the rollback script, as on a minimal system.
    Package { name: "busybox-static", brings: Program("busybox"), needed_by: &["test"] },
    // Alternative to the sandbox, used for comparison.
    Package { name: "bubblewrap", brings: Program("bwrap"), needed_by: &["bench sandbox"] },
    // Download published packages, none of whose code is run.
    Package {
        name: "npm",
        brings: Program("npm"),
        needed_by: &["realworld", "lexicon", "clients"],
    },
    Package { name: "tar", brings: Program("tar"), needed_by: &["realworld", "lexicon"] },
    // Unpacks source packages without applying their patches.
    Package {
        name: "dpkg-dev",
        brings: Program("dpkg-source"),
        needed_by: &["share of Debian packages"],
    },
    // Create file systems on loop mounts, for power cuts or for speed.
    Package {
        name: "e2fsprogs",
        brings: Program("mkfs.ext4"),
        needed_by: &["bench as root", "crash"],
    },
    Package {
        name: "xfsprogs",
        brings: Program("mkfs.xfs"),
        needed_by: &["bench as root", "crash"],
    },
    // Stops a run at each of its system calls.
    Package { name: "strace", brings: Program("strace"), needed_by: &["crash"] },
];

/// Reason why a program is still missing.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// Only root can install packages, or this system is not Debian.
    #[error(
        "missing: {list}. Install with `apt-get install {names}` (as root this command does it \
         by itself), or with your system's own package manager; nothing was run",
        list = programs(.0), names = names(.0)
    )]
    Missing(Vec<&'static Package>),
    /// `apt-get` could not be started.
    #[error("starting `apt-get` to install `{names}`: {source}", names = names(packages))]
    Start { packages: Vec<&'static Package>, source: io::Error },
    /// `apt-get` succeeded, but the programs are still missing.
    #[error(
        "`apt-get install {names}` did not bring {list}; its messages are above",
        names = names(.0), list = programs(.0)
    )]
    NotInstalled(Vec<&'static Package>),
}

/// Checks that every program `subcommand` needs is installed. As root on Debian, it installs and reports the missing packages.
pub fn require(subcommand: &str) -> Result<(), PackageError> {
    let directories = search_path(std::env::var_os("PATH").as_deref());
    let missing = missing(subcommand, &directories);
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() || !has_program(&directories, "apt-get") {
        return Err(PackageError::Missing(missing));
    }
    eprintln!("installing Debian packages with apt-get, as root: {}", names(&missing));
    install(&missing).map_err(|source| PackageError::Start { packages: missing, source })?;
    match self::missing(subcommand, &directories) {
        still if still.is_empty() => Ok(()),
        still => Err(PackageError::NotInstalled(still)),
    }
}

fn missing(subcommand: &str, directories: &[PathBuf]) -> Vec<&'static Package> {
    PACKAGES
        .iter()
        .filter(|package| package.needed_by.contains(&subcommand))
        .filter(|package| !package.brings.is_there(directories))
        .collect()
}

/// Installs packages and then looks for the programs again. A failed update, such as from a stale mirror, is no problem if the
/// installation succeeds.
fn install(packages: &[&Package]) -> io::Result<()> {
    let apt_get = |arguments: &[&str]| {
        Command::new("apt-get")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(arguments)
            // The output of `apt-get` goes to stderr, because stdout belongs to the subcommand.
            .stdout(io::stderr())
            .status()
    };
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend(packages.iter().map(|package| package.name));
    apt_get(&["update"])?;
    apt_get(&arguments)?;
    Ok(())
}

/// Returns the directories of `PATH`, and the two that are normally only in root's path.
fn search_path(path: Option<&OsStr>) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> =
        path.map(std::env::split_paths).into_iter().flatten().collect();
    directories.extend(["/usr/sbin".into(), "/sbin".into()]);
    directories
}

impl Brings {
    fn is_there(&self, directories: &[PathBuf]) -> bool {
        match self {
            Self::Program(program) => has_program(directories, program),
            Self::PythonModule(module) => find_python(directories, module).is_some(),
        }
    }
}

impl std::fmt::Display for Brings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program(program) => f.write_str(program),
            Self::PythonModule(module) => write!(f, "the Python module {module}"),
        }
    }
}

/// Returns the first Python in the search path that can import `module`.
pub fn python_with(module: &str) -> Option<PathBuf> {
    find_python(&search_path(std::env::var_os("PATH").as_deref()), module)
}

fn find_python(directories: &[PathBuf], module: &str) -> Option<PathBuf> {
    let import = format!("import {module}");
    directories.iter().map(|directory| directory.join("python3")).find(|python| {
        let mut command = Command::new(python);
        command.args(["-c", &import]).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    })
}

fn has_program(directories: &[PathBuf], program: &str) -> bool {
    directories.iter().any(|directory| {
        std::fs::metadata(directory.join(program))
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

pub fn is_root() -> bool {
    // The owner of a process directory in `/proc` is the effective user of the process.
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn names(packages: &[&Package]) -> String {
    packages.iter().map(|package| package.name).collect::<Vec<_>>().join(" ")
}

fn programs(packages: &[&Package]) -> String {
    let program = |package: &&Package| format!("`{}`", package.brings);
    packages.iter().map(program).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};

    use super::*;

    #[test]
    fn program_is_missing_until_it_is_executable() {
        let bin = tempfile::tempdir().unwrap();
        let missing_in_bin = || {
            let found = missing("test", &[bin.path().to_owned()]);
            found.iter().map(|package| package.name).collect::<Vec<_>>()
        };
        let put = |program: &str, mode: u32| {
            let path = bin.path().join(program);
            write(&path, "#!/bin/sh\n").unwrap();
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        };
        assert_eq!(
            missing_in_bin(),
            [
                "git",
                "patch",
                "nodejs",
                "python3",
                "python3-pip",
                "python3-cryptography",
                "openssl",
                "make",
                "busybox-static"
            ]
        );
        for program in ["git", "node", "python3", "openssl", "make", "busybox"] {
            put(program, 0o755);
        }
        put("patch", 0o644);
        assert_eq!(missing_in_bin(), ["patch"]);
        put("patch", 0o755);
        assert_eq!(missing_in_bin(), [""; 0]);
    }

    #[test]
    fn python_module_is_missing_until_an_interpreter_in_path_imports_it() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let directories = [first.path().to_owned(), second.path().to_owned()];
        let put = |directory: &tempfile::TempDir, script: &str| {
            let path = directory.path().join("python3");
            write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        };
        assert_eq!(find_python(&directories, "cryptography"), None);
        put(&first, "exit 1");
        assert_eq!(find_python(&directories, "cryptography"), None);
        put(&second, "test \"$*\" = '-c import cryptography'");
        let found = find_python(&directories, "cryptography");
        assert_eq!(found, Some(second.path().join("python3")));
    }

    #[test]
    fn missing_package_error_names_programs_and_packages() {
        let error = PackageError::Missing(missing("crash", &[]));
        assert_eq!(
            error.to_string(),
            "missing: `git`, `mkfs.ext4`, `mkfs.xfs`, `strace`. Install with `apt-get install git \
             e2fsprogs xfsprogs strace` (as root this command does it by itself), or with your \
             system's own package manager; nothing was run"
        );
    }
}
