//! Builds the test programs of the workspace and runs several at a time.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;

use super::tally::Tally;
use crate::cargo;

/// The programs that take longest, in this order. They start first, so that none of them runs alone at the end.
const LONGEST: &[&str] = &[
    "killed_at_each_call",
    "crash_states",
    "task_kills",
    "keys",
    "tampering",
    "exec_real_commands",
    "proof",
    "actions_stopped",
    "hostile_exec",
    "hostile",
];

/// A function with this prefix is the body of a process that a test starts, and no test by itself.
const CHILD: &str = "child_that_";

/// A test program and the directory of its package, in which it runs.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    name: String,
    path: PathBuf,
    directory: PathBuf,
}

/// The message of cargo about one artifact (`cargo build --message-format json`); other messages have none of the fields.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    profile: Option<Profile>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// Builds and runs all test programs. Prints the output of each when it has ended, adds its counts to `tally`, and repeats
/// the names of failed tests at the end. Returns whether everything was built and passed.
pub(super) fn pass(root: &Path, tally: &mut Tally) -> Result<bool, Box<dyn std::error::Error>> {
    let Some(programs) = build(root)? else { return Ok(false) };
    let at_a_time = std::thread::available_parallelism()?.get() + 1; // many wait for processes they kill
    let waiting = Mutex::new(programs);
    let report = Mutex::new(Report { tally, failures: Vec::new() });
    std::thread::scope(|scope| -> io::Result<()> {
        let runners: Vec<_> =
            (0..at_a_time).map(|_| scope.spawn(|| run_all(&waiting, &report))).collect();
        let ended = runners.into_iter().map(|runner| {
            runner.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        });
        ended.collect::<Vec<_>>().into_iter().collect()
    })?;
    let failures = report.into_inner().unwrap_or_else(PoisonError::into_inner).failures;
    for failure in &failures {
        println!("failed: {failure}");
    }
    Ok(failures.is_empty())
}

/// Builds the programs, the longest first; `None` if something does not compile, which cargo has reported.
fn build(root: &Path) -> Result<Option<VecDeque<Program>>, Box<dyn std::error::Error>> {
    let arguments = "test --workspace --tests --no-run --message-format json-render-diagnostics";
    let mut child = cargo(root).args(arguments.split(' ')).stdout(Stdio::piped()).spawn()?;
    let messages = child.stdout.take().ok_or("cargo has no standard output")?;
    let programs = programs(BufReader::new(messages))?;
    Ok(child.wait()?.success().then_some(programs))
}

/// Reads the test programs from the messages of cargo.
fn programs(messages: impl BufRead) -> Result<VecDeque<Program>, Box<dyn std::error::Error>> {
    let mut programs = Vec::new();
    for line in messages.lines() {
        let Message { executable, manifest_path, profile, target } = serde_json::from_str(&line?)?;
        if let (Some(path), Some(manifest), Some(Profile { test: true }), Some(target)) =
            (executable, manifest_path, profile, target)
        {
            let directory = manifest.parent().ok_or("a manifest without a directory")?.to_owned();
            programs.push(Program { name: target.name, path, directory });
        }
    }
    programs.sort_by_key(|program| {
        LONGEST.iter().position(|name| *name == program.name).unwrap_or(LONGEST.len())
    });
    Ok(programs.into())
}

/// Results of the programs that have ended.
struct Report<'a> {
    tally: &'a mut Tally,
    failures: Vec<String>,
}

/// Runs programs until none waits.
fn run_all(waiting: &Mutex<VecDeque<Program>>, report: &Mutex<Report<'_>>) -> io::Result<()> {
    loop {
        let Some(program) = lock(waiting).pop_front() else { return Ok(()) };
        let mut command = Command::new(&program.path);
        command.args(["--skip", CHILD]).current_dir(&program.directory);
        command.env("CARGO_MANIFEST_DIR", &program.directory).stdin(Stdio::null());
        let output = command.output()?;
        lock(report).add(&program, &output, io::stdout().lock())?;
    }
}

impl Report<'_> {
    /// Writes the output of a program that has ended to `out`, and counts its tests.
    fn add(&mut self, program: &Program, output: &Output, mut out: impl Write) -> io::Result<()> {
        writeln!(out, "\n{} ({})", program.name, program.directory.display())?;
        let failed_before = self.tally.failed;
        self.tally.count(output.stdout.as_slice(), &mut out)?;
        out.flush()?;
        io::stderr().write_all(&output.stderr)?;
        if output.status.success() {
            return Ok(());
        }
        let report = String::from_utf8_lossy(&output.stdout);
        let failed = report.lines().filter_map(|line| {
            line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"))
        });
        let named = self.failures.len();
        self.failures.extend(failed.map(|test| format!("{}: {}", program.name, test.trim_end())));
        if self.failures.len() == named {
            self.failures.push(format!("{}: it ended with {}", program.name, output.status));
        }
        // A program that was killed has no summary, and counts as one failed test.
        self.tally.failed = self.tally.failed.max(failed_before + 1);
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn program(name: &str) -> Program {
        Program { name: name.to_owned(), path: "/t/p".into(), directory: "/w/c".into() }
    }

    #[test]
    fn the_programs_of_tests_are_read_from_messages_and_the_longest_come_first() {
        let artifact = |name: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/c/Cargo.toml","target":{{"name":"{name}"}},"profile":{{"test":{test}}},"executable":"/t/p"}}"#
            )
        };
        let messages = [
            artifact("quick", true),
            artifact("crash_states", true),
            artifact("actum", false),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = programs(messages.join("\n").as_bytes()).unwrap();
        assert_eq!(found, [program("crash_states"), program("quick")]);
    }

    #[test]
    fn failed_tests_are_named_and_a_killed_program_counts_as_one() {
        let output = |stdout: &str, status| Output {
            status: ExitStatus::from_raw(status),
            stdout: stdout.as_bytes().to_vec(),
            stderr: Vec::new(),
        };
        let mut tally = Tally::default();
        let mut report = Report { tally: &mut tally, failures: Vec::new() };
        // The run that contains this test would count what is printed.
        let mut out = Vec::new();
        let failed = "test a::b ... FAILED\ntest result: FAILED. 4 passed; 1 failed; 0 ignored;\n";
        report.add(&program("one"), &output(failed, 101 << 8), &mut out).unwrap();
        report.add(&program("two"), &output("test c ... ok\n", 9), &mut out).unwrap();
        let passed = output("test result: ok. 2 passed; 0 failed\n", 0);
        report.add(&program("three"), &passed, &mut out).unwrap();
        assert_eq!(report.failures, ["one: a::b", "two: it ended with signal: 9 (SIGKILL)"]);
        assert_eq!(tally, Tally { passed: 6, failed: 2, skipped: 0 });
    }
}
