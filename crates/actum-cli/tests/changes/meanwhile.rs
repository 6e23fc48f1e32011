//! Helpers for tests in which another process changes files while a command runs.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::program::{Ended, command};

/// Starts `actum exec` with a script, and returns once the script has printed `ready` as its first line.
pub(crate) fn started(root: &Path, options: &[&str], script: &str) -> Child {
    let arguments = [&["exec"], options, &["--", "sh", "-c", script]].concat();
    let mut child =
        command(root, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    assert_eq!(&ready, b"ready\n");
    child
}

/// Runs actum with the check `sh wait.sh NAME`, and calls `act` while the check waits. The check passes afterwards.
pub(crate) fn while_it_is_checked(root: &Path, arguments: &[&str], act: impl FnOnce()) -> Ended {
    let check = wait_check(root);
    let mut child =
        command(root, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let words = check.replace(' ', "\0") + "\0";
    let waiting = || {
        std::fs::read_dir("/proc").unwrap().find_map(|entry| {
            let process = entry.unwrap().path();
            let is_it = std::fs::read(process.join("cmdline")).ok()?.ends_with(words.as_bytes());
            let status = std::fs::read_to_string(process.join("status")).ok()?;
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
            let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
            let id = process.file_name().unwrap().to_str().unwrap().parse().ok()?;
            // The process counts only once it has installed its SIGTERM trap.
            (is_it && caught & (1 << (Signal::SIGTERM as i32 - 1)) != 0).then(|| Pid::from_raw(id))
        })
    };
    let process = loop {
        match waiting() {
            Some(process) => break process,
            None if child.try_wait().unwrap().is_some() => {
                panic!(
                    "it ended before the check: {:?}",
                    Ended::from(child.wait_with_output().unwrap())
                )
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    act();
    kill(process, Signal::SIGTERM).unwrap();
    child.wait_with_output().unwrap().into()
}

/// Writes the script for a check that waits, and returns the command of that check.
pub(crate) fn wait_check(root: &Path) -> String {
    let script = "trap 'exit 0' TERM; while :; do sleep 0.02; done\n";
    std::fs::write(root.join("wait.sh"), script).unwrap();
    let name = root.parent().unwrap().file_name().unwrap().to_str().unwrap();
    format!("sh wait.sh {name}")
}

/// Runs `actum exec` with a script, and calls `act` once the script has printed `ready` as its first line.
pub(crate) fn while_it_runs(root: &Path, script: &str, act: impl FnOnce()) -> Ended {
    let child = started(root, &[], script);
    act();
    child.wait_with_output().unwrap().into()
}
