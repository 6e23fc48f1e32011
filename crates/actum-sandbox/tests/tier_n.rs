//! Runs real commands in tier N. A test shows through its command what the command could reach on the host.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use actum_sandbox::{
    Ended, Enforcement, Helper, HostReport, Outcome, Resource, SandboxPolicy, SpawnError, Tier,
    Violation,
};

/// Returns a policy that allows only the programs of the system.
fn policy() -> SandboxPolicy {
    let system: Vec<_> = ["/usr", "/bin", "/lib", "/lib64"]
        .into_iter()
        .filter(|path| Path::new(path).exists())
        .map(Into::into)
        .collect();
    SandboxPolicy {
        read: system.clone(),
        exec: system,
        floor: Tier::N,
        ..SandboxPolicy::new("/usr")
    }
}

fn run(policy: &SandboxPolicy, command: &[&str]) -> Result<Outcome, SpawnError> {
    let helper = Helper::at(env!("CARGO_BIN_EXE_sandbox-inside"));
    let command: Vec<OsString> = command.iter().map(Into::into).collect();
    let child = policy.plan(&HostReport::probe(&helper)).unwrap().spawn(&helper, &command)?;
    Ok(child.wait().unwrap())
}

fn shell(policy: &SandboxPolicy, script: &str) -> Outcome {
    run(policy, &["/bin/sh", "-c", script]).unwrap()
}

fn output_text(outcome: &Outcome) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&outcome.stdout) + &text(&outcome.stderr)
}

/// AA-10
#[test]
fn command_sees_only_declared_paths() {
    let seen = output_text(&shell(&policy(), "ls /; ls /dev; ls /root /etc /home /tmp"));
    let mut expected: Vec<&str> = ["bin", "dev", "lib", "lib64", "proc", "usr"].to_vec();
    expected.retain(|name| *name == "dev" || Path::new("/").join(name).exists());
    expected
        .extend(["fd", "full", "null", "random", "stderr", "stdin", "stdout", "urandom", "zero"]);
    let (names, refusals): (Vec<&str>, Vec<&str>) =
        seen.lines().partition(|line| !line.contains("No such file"));
    assert_eq!(names, expected);
    assert_eq!(refusals.len(), 4, "{seen}");
}

/// AA-10
#[test]
fn command_has_no_capabilities_variables_or_extra_descriptors() {
    let outcome = shell(&policy(), "grep -c 'Cap.*:.0*$' /proc/self/status; ls /proc/self/fd; env");
    // `ls` itself opens a fourth descriptor, and a shell sets some variables of its own.
    let seen = output_text(&outcome);
    let lines: Vec<_> = seen.lines().collect();
    assert_eq!(lines.first(), Some(&"5"), "{seen}");
    assert_eq!(lines.get(1..5), Some(&["0", "1", "2", "3"][..]), "{seen}");
    let variables = lines.get(5..).unwrap_or_default();
    assert!(
        variables
            .iter()
            .all(|line| ["PWD", "_", "SHLVL"].contains(&line.split('=').next().unwrap()))
    );
}

/// AA-10
#[test]
fn outcome_reports_the_exit_code_or_signal() {
    let ended = |script| shell(&policy(), script).ended;
    assert_eq!(ended("exit 7"), Some(Ended::Code(7)));
    assert_eq!(ended("kill -9 $$"), Some(Ended::Signal(9)));
    let outcome = shell(
        &SandboxPolicy { stdin: actum_sandbox::Stdin::Bytes(b"hi".to_vec()), ..policy() },
        "cat",
    );
    assert_eq!(outcome.stdout, b"hi");
}

/// FE-12
#[test]
fn wall_time_limit_kills_the_command_and_its_descendants() {
    let limits = policy().limits.with(Resource::Wall, 500, Enforcement::Hard);
    let script = "trap '' TERM; (setsid sh -c 'sleep 60' &) ; sleep 60";
    let begun = Instant::now();
    let outcome = shell(&SandboxPolicy { limits, ..policy() }, script);
    assert_eq!((outcome.ended, outcome.violated), (None, vec![Violation::Limit(Resource::Wall)]));
    assert!(begun.elapsed() < Duration::from_secs(30));
}

/// FE-12
#[test]
fn output_limit_kills_the_command_and_truncates_its_output() {
    let limits = policy().limits.with(Resource::Output, 1000, Enforcement::Hard);
    let outcome = shell(&SandboxPolicy { limits, ..policy() }, "while :; do echo 0123456789; done");
    assert_eq!(outcome.violated, [Violation::Limit(Resource::Output)]);
    assert_eq!(outcome.stdout.len(), 1000);
}

/// FE-12, AA-10, issue 22 (claims): a process is limited in memory, writes no core dump and stays dumpable, as docs/sandbox.md
/// describes.
#[test]
fn process_is_memory_limited_dumps_no_core_and_stays_dumpable() {
    let limits = policy().limits.with(Resource::Memory, 1 << 30, Enforcement::Polled);
    let script = "ulimit -d; ulimit -c; python3 -c 'import ctypes; print(ctypes.CDLL(None).prctl(4, 0, 0, 0, 0))'";
    let outcome = shell(&SandboxPolicy { limits, ..policy() }, script);
    assert_eq!(output_text(&outcome), format!("{}\n0\n-1\n", 1 << 20));
}

/// AA-10, issue 22 (claims)
#[test]
fn hidden_directories_are_empty_and_hidden_files_cannot_be_opened() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    for name in ["secret/key", "file", "open"] {
        let path = place.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{name}\n")).unwrap();
    }
    let mut policy = policy();
    policy.read.push(place.clone());
    policy.hide = vec![place.join("secret"), place.join("file")];
    let script =
        format!("cd {}; cat open; ls -A secret; cat secret/key; cat file", place.display());
    let outcome = shell(&policy, &script);
    assert_eq!(outcome.stdout, b"open\n", "{}", output_text(&outcome));
}

/// FE-16
#[test]
fn command_cannot_mount_unshare_or_write_readable_paths() {
    let refused = |script: &str| {
        let outcome = shell(&policy(), script);
        assert_ne!(outcome.ended, Some(Ended::Code(0)), "{script}: {}", output_text(&outcome));
    };
    refused("mount -t tmpfs none /usr");
    refused("unshare -U true");
    refused("echo x > /usr/x");
    refused("mkdir /x");
    refused("chmod u+s /usr/bin/env");
}

/// AA-10
#[test]
fn command_that_cannot_start_is_an_error() {
    let error = |command: &[&str]| run(&policy(), command).unwrap_err().to_string();
    assert!(error(&[]).starts_with("no command was given"));
    assert!(error(&["true"]).contains("the path of the program must be absolute"));
    assert!(
        error(&["/usr/bin/no-such-program"]).contains("cannot run the command: could not execute")
    );
    let policy = SandboxPolicy { read: vec!["/usr".into(), "/no/such/place".into()], ..policy() };
    let error = run(&policy, &["/bin/true"]).unwrap_err().to_string();
    assert!(error.contains("could not open `/no/such/place`"), "{error}");
}
