//! Builds the test programs of the workspace, and runs several at a time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::tally::Tally;
use crate::artifacts::{Artifact, Profile};
use crate::cargo;

/// The slowest test programs, which start first and in this order so that none of them runs alone at the end.
const LONGEST: &[&str] = &[
    "kills",
    "crash",
    "ledger",
    "changes",
    "actions",
    "policy",
    "tasks",
    "proof",
    "hostile_exec",
    "hostile",
    "hostile_sql",
];

/// Time limit of a test program. The slowest takes nine minutes on two busy cores.
const TIME_LIMIT: Duration = Duration::from_secs(20 * 60);

/// Prefix of functions that are not tests themselves, but the body of a process started by a test.
const CHILD: &str = "child_that_";

/// Test program, and the package directory in which it runs.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    name: String,
    path: PathBuf,
    directory: PathBuf,
}

/// Maximum number of lines of a failed test's message that are repeated at the end.
const MESSAGE_LINES: usize = 20;

/// Builds and runs all test programs. Prints the output of each program when it ends, adds its counts to `tally`, and repeats the
/// names and messages of failed tests at the end. Returns `true` if everything was built and passed.
pub(super) fn pass(root: &Path, tally: &mut Tally) -> Result<bool, Box<dyn std::error::Error>> {
    let Some(programs) = build(root)? else { return Ok(false) };
    let at_a_time = thread::available_parallelism()?.get() + 1; // many wait for processes they kill
    let waiting = Mutex::new(programs);
    let report = Mutex::new(Report { tally, failures: Vec::new() });
    thread::scope(|scope| -> io::Result<()> {
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

/// Builds the programs and sorts the slowest first. Returns `None` if one does not compile; cargo has then printed the errors.
fn build(root: &Path) -> Result<Option<VecDeque<Program>>, Box<dyn std::error::Error>> {
    let arguments = "test --workspace --tests --no-run --message-format json-render-diagnostics";
    let mut child = cargo(root).args(arguments.split(' ')).stdout(Stdio::piped()).spawn()?;
    let messages = child.stdout.take().ok_or("cargo has no standard output")?;
    let programs = programs(BufReader::new(messages))?;
    Ok(child.wait()?.success().then_some(programs))
}

/// Reads the paths of the test programs from cargo's messages.
fn programs(messages: impl BufRead) -> Result<VecDeque<Program>, Box<dyn std::error::Error>> {
    let mut programs = Vec::new();
    for line in messages.lines() {
        let Artifact { executable, manifest_path, profile, target } = serde_json::from_str(&line?)?;
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

/// Results of the programs that have finished.
struct Report<'a> {
    tally: &'a mut Tally,
    failures: Vec<String>,
}

/// Runs programs until none is waiting.
fn run_all(waiting: &Mutex<VecDeque<Program>>, report: &Mutex<Report<'_>>) -> io::Result<()> {
    loop {
        let Some(program) = lock(waiting).pop_front() else { return Ok(()) };
        let mut command = Command::new(&program.path);
        command.args(["--skip", CHILD]).current_dir(&program.directory);
        command.env("CARGO_MANIFEST_DIR", &program.directory).stdin(Stdio::null());
        let started = Instant::now();
        let output = output_within(&mut command, TIME_LIMIT)?;
        lock(report).add(&program, &output, started.elapsed(), io::stdout().lock())?;
    }
}

/// Runs `command` to completion, or kills it after `limit`. The output goes to files, because an orphaned child would keep a pipe
/// open and block the reader.
fn output_within(command: &mut Command, limit: Duration) -> io::Result<Output> {
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?).spawn()?;
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill()?;
            break child.wait()?;
        }
        thread::sleep(Duration::from_millis(10));
    };
    Ok(Output { status, stdout: content(&mut stdout)?, stderr: content(&mut stderr)? })
}

/// Returns the entire content of `file`, from the beginning.
fn content(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Report<'_> {
    /// Writes the output of a finished program to `out`, and counts its tests.
    fn add(
        &mut self,
        program: &Program,
        output: &Output,
        took: Duration,
        mut out: impl Write,
    ) -> io::Result<()> {
        let (name, directory) = (&program.name, program.directory.display());
        writeln!(out, "\n{name} ({directory}), {} s", took.as_secs())?;
        let failed_before = self.tally.failed;
        self.tally.count(output.stdout.as_slice(), &mut out)?;
        out.flush()?;
        io::stderr().write_all(&output.stderr)?;
        if output.status.success() {
            return Ok(());
        }
        let report = String::from_utf8_lossy(&output.stdout);
        let failed = report.lines().filter_map(|line| {
            line.strip_prefix("test ").and_then(|line| line.split_once("... FAILED"))
        });
        let named = self.failures.len();
        self.failures.extend(failed.map(|(test, _)| {
            let test = test.trim_end();
            message(&report, test)
                .fold(format!("{name}: {test}"), |failure, line| failure + "\n    " + line)
        }));
        if self.failures.len() == named {
            let (status, seconds) = (output.status, took.as_secs());
            self.failures.push(format!("{name}: it ended with {status} after {seconds} s"));
        }
        // A program that was killed printed no summary, and counts as one failed test.
        self.tally.failed = self.tally.failed.max(failed_before + 1);
        Ok(())
    }
}

/// Returns the first lines of a failed test's message, which follow `---- NAME stdout ----` or `---- NAME ----`.
fn message<'a>(report: &'a str, test: &str) -> impl Iterator<Item = &'a str> {
    let is_header = move |line: &str| {
        let header = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" ----"));
        header.is_some_and(|header| header.strip_suffix(" stdout").unwrap_or(header) == test)
    };
    let lines = report.lines().skip_while(move |line| !is_header(line)).skip(1);
    lines
        .take_while(|line| !line.starts_with("---- ") && *line != "failures:")
        .filter(|line| !line.is_empty())
        .take(MESSAGE_LINES)
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
    fn test_programs_are_parsed_from_messages_and_sorted_slowest_first() {
        let artifact = |name: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/c/Cargo.toml","target":{{"name":"{name}"}},"profile":{{"test":{test}}},"executable":"/t/p"}}"#
            )
        };
        let messages = [
            artifact("quick", true),
            artifact("crash", true),
            artifact("actum", false),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = programs(messages.join("\n").as_bytes()).unwrap();
        assert_eq!(found, [program("crash"), program("quick")]);
    }

    #[test]
    fn failed_tests_are_listed_and_a_killed_program_adds_one_failure() {
        let output = |stdout: &str, status| Output {
            status: ExitStatus::from_raw(status),
            stdout: stdout.as_bytes().to_vec(),
            stderr: Vec::new(),
        };
        let mut tally = Tally::default();
        let mut report = Report { tally: &mut tally, failures: Vec::new() };
        // A real output would be counted by the run that contains this test.
        let mut out = Vec::new();
        let failed = "test a::b ... FAILED\n\nfailures:\n\n---- a::b stdout ----\nit broke\n\nfailures:\n    a::b\n\n\
            test result: FAILED. 4 passed; 1 failed; 0 ignored;\n";
        let mut add = |name, output| {
            report.add(&program(name), &output, Duration::from_secs(7), &mut out).unwrap()
        };
        add("one", output(failed, 101 << 8));
        add("two", output("test c ... ok\n", 9));
        let passed = output("test result: ok. 2 passed; 0 failed\n", 0);
        add("three", passed);
        let killed = "two: it ended with signal: 9 (SIGKILL) after 7 s";
        assert_eq!(report.failures, ["one: a::b\n    it broke", killed]);
        assert_eq!(tally, Tally { passed: 6, failed: 2, skipped: 0 });
    }

    #[test]
    fn hanging_program_is_killed_and_orphans_are_not_awaited() {
        let limit = Duration::from_millis(300);
        let shell =
            |script: &str| output_within(Command::new("sh").args(["-c", script]), limit).unwrap();
        let left_behind = shell("sleep 2 & echo done");
        assert!(left_behind.status.success());
        assert_eq!(left_behind.stdout, b"done\n");
        let hanging = shell("echo begun; exec sleep 2");
        assert_eq!(
            (hanging.status.signal(), hanging.stdout.as_slice()),
            (Some(9), &b"begun\n"[..])
        );
    }
}
