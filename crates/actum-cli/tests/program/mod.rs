//! Starts the program in a directory, with an empty environment and the usual umask.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// How the program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("the program exits and is not killed"),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }
}

/// The program, about to be started in `directory`.
pub fn command(directory: &Path, arguments: &[&str]) -> Command {
    // A umask is set before a program starts, and nothing in std sets one.
    let script = "umask 022; exec \"$0\" \"$@\"";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_actum")]);
    command.env_clear().current_dir(directory).args(arguments);
    command
}

/// Runs the program in `directory`.
pub fn actum(directory: &Path, arguments: &[&str]) -> Ended {
    command(directory, arguments).output().expect("the program starts").into()
}

/// A workspace with `a.txt` and `sub/b.txt`, and beside it `change.diff`, which edits both.
#[allow(dead_code, reason = "scenarios bring their own files")]
pub fn workspace() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let root = directory.path().join("workspace");
    let write = |path: &Path, text: &str| {
        fs::write(path, text).expect("a file of the test");
        fs::set_permissions(path, Permissions::from_mode(0o644)).expect("the mode of a file");
    };
    fs::create_dir_all(root.join("sub")).expect("a directory of the test");
    write(&root.join("a.txt"), "1\n");
    write(&root.join("sub/b.txt"), "2\n");
    write(
        &directory.path().join("change.diff"),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+one\n\
         --- a/sub/b.txt\n+++ b/sub/b.txt\n@@ -1 +1 @@\n-2\n+two\n",
    );
    assert_eq!(actum(&root, &["init"]).code, 0);
    (directory, root)
}

/// The text of a file in `root`.
#[allow(dead_code, reason = "scenarios compare whole trees")]
pub fn text(root: &Path, path: impl AsRef<OsStr>) -> String {
    let path = root.join(Path::new(path.as_ref()));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
