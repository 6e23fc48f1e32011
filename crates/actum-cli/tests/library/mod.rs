//! Command runner for library tests, which need a program that can serve as the sandbox helper.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use actum::Runner;
use actum_gate::policy::SandboxAllowance;
use actum_sandbox::{Helper, HostReport, SandboxPolicy};
use tempfile::TempDir;

/// A directory with the files `a.txt`, `sub/b.txt` and `far/deep/d.txt`.
pub(crate) struct Grounds {
    directory: TempDir,
    pub(crate) root: PathBuf,
}

impl Grounds {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        let root = place.join("workspace");
        fs::create_dir_all(root.join("far/deep")).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        for (file, text) in [("a.txt", "1\n"), ("sub/b.txt", "2\n"), ("far/deep/d.txt", "3\n")] {
            fs::write(root.join(file), text).unwrap();
            fs::set_permissions(root.join(file), Permissions::from_mode(0o644)).unwrap();
        }
        for at in ["", "sub", "far", "far/deep"] {
            fs::set_permissions(root.join(at), Permissions::from_mode(0o755)).unwrap();
        }
        Self { directory, root }
    }

    /// Returns a path next to the workspace.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// Copies the workspace in its current state.
    pub(crate) fn copy(&self) -> PathBuf {
        let copy = self.beside("copy");
        let copied = Command::new("cp").arg("-a").arg(&self.root).arg(&copy).status().unwrap();
        assert!(copied.success());
        copy
    }
}

/// Returns a runner for commands in `root` that may use the programs of the system.
pub(crate) fn runner(root: &Path) -> Runner {
    let helper = Helper::at(env!("CARGO_BIN_EXE_actum"));
    let host = HostReport::probe(&helper);
    Runner::new(helper, host, policy(root), root, &SandboxAllowance::default())
}

pub(crate) fn policy(root: &Path) -> SandboxPolicy {
    let system = ["/usr", "/bin", "/lib", "/lib64", "/etc/alternatives"].map(PathBuf::from);
    let system: Vec<PathBuf> =
        system.into_iter().filter(|path| path.symlink_metadata().is_ok()).collect();
    SandboxPolicy {
        read: system.iter().cloned().chain([root.to_owned()]).collect(),
        exec: system,
        env: [("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())].into(),
        scratch: Some(1 << 28),
        ..SandboxPolicy::new(root)
    }
}

/// Returns the names, modes and contents of all files in a directory, except the state of actum.
pub(crate) fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
    let mut found = BTreeMap::new();
    let mut left = vec![PathBuf::new()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(root.join(&directory)).unwrap() {
            let name = directory.join(entry.unwrap().file_name());
            if name == Path::new(".actum") {
                continue;
            }
            let metadata = fs::symlink_metadata(root.join(&name)).unwrap();
            let content = metadata.is_file().then(|| fs::read(root.join(&name)).unwrap());
            if metadata.is_dir() {
                left.push(name.clone());
            }
            found.insert(name, (metadata.permissions().mode() & 0o7777, content));
        }
    }
    found
}
