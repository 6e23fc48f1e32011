//! Changes by another process while a command runs.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::program::{Ended, command};

/// Starts `actum exec` with a script, and returns once the script printed `ready` as its first line.
pub(crate) fn started(root: &Path, options: &[&str], script: &str) -> Child {
    let arguments = [&["exec"], options, &["--", "sh", "-c", script]].concat();
    let mut child =
        command(root, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    assert_eq!(&ready, b"ready\n");
    child
}

/// Runs `actum exec` with a script, and calls `act` once the script printed `ready` as its first line.
pub(crate) fn while_it_runs(root: &Path, script: &str, act: impl FnOnce()) -> Ended {
    let child = started(root, &[], script);
    act();
    child.wait_with_output().unwrap().into()
}
