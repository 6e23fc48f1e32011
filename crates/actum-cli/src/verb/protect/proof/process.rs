//! Runs the processes of a client with a time limit, and kills them with their children afterwards.

#![expect(clippy::disallowed_methods, reason = "the client is searched for in `PATH`")]

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

/// Interval between two checks whether a process has ended.
const STEP: Duration = Duration::from_millis(50);
/// Maximum time to wait for the end of the output after a process has ended, because its children may keep the pipe open.
const GRACE: Duration = Duration::from_secs(1);
/// Maximum number of output bytes that are kept. They are the last ones, because a client reports failures at the end.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// Result of a process that has ended or was killed.
pub(crate) struct Ended {
    /// End of the standard output.
    pub(crate) out: String,
    /// End of the standard error output.
    pub(crate) err: String,
    /// Whether the process ended by itself within its time limit.
    pub(crate) in_time: bool,
}

/// Finds the program with this name in `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path: OsString = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|it| it.is_file())
}

/// Runs a command in its own process group. Kills the group when the command ends or exceeds its time limit.
///
/// # Errors
/// Returns an error if the command cannot be started.
pub(crate) fn run(command: &mut Command, limit: Duration) -> io::Result<Ended> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn()?;
    let out = child.stdout.take().map(Tail::read);
    let err = child.stderr.take().map(Tail::read);
    let mut waited = Duration::ZERO;
    let in_time = loop {
        match has_ended(&child) {
            false if waited >= limit => break false,
            false => thread::sleep(STEP),
            true => break true,
        }
        waited += STEP;
    };
    end(&mut child);
    let text = |tail: Option<Tail>| tail.map(Tail::text).unwrap_or_default();
    Ok(Ended { out: text(out), err: text(err), in_time })
}

/// Sends lines to the standard input of a command, and returns the first line of output that `pick` accepts. Returns
/// `None` if there is no such line within the time limit.
///
/// # Errors
/// Returns an error if the command cannot be started.
pub(crate) fn ask<T: Send + 'static>(
    command: &mut Command,
    lines: &str,
    limit: Duration,
    pick: impl Fn(&str) -> Option<T> + Send + 'static,
) -> io::Result<Option<T>> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn()?;
    let (sender, answer) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        thread::spawn(move || {
            let mut lines = BufReader::new(out).lines().map_while(Result::ok);
            // Sending fails if the time limit has passed and the receiver was dropped.
            drop(lines.find_map(|line| pick(&line)).map(|found| sender.send(found)));
        });
    }
    let mut input = child.stdin.take();
    // Ignore a failed write: a command that does not read its input will not answer, and the receiver below times out.
    drop(input.as_mut().map(|input| input.write_all(lines.as_bytes())));
    let found = answer.recv_timeout(limit).ok();
    drop(input);
    end(&mut child);
    Ok(found)
}

/// Returns whether a child has ended, without reaping it. As long as it is not reaped, its process id and that of its
/// group cannot be reused.
fn has_ended(child: &Child) -> bool {
    let id = i32::try_from(child.id()).map(Pid::from_raw);
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    !matches!(id.map(|id| waitid(Id::Pid(id), flags)), Ok(Ok(WaitStatus::StillAlive)))
}

/// Kills the process group of a child that has not been reaped yet, then reaps the child.
fn end(child: &mut Child) {
    if let Ok(group) = i32::try_from(child.id()) {
        killpg(Pid::from_raw(group), Signal::SIGKILL).unwrap_or_default(); // the group may already be gone
    }
    drop(child.wait());
}

/// Last bytes of a stream, which a separate thread reads.
struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    is_over: Receiver<()>,
}

impl Tail {
    fn read(mut stream: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (sender, is_over) = mpsc::channel();
        let tail = Self { kept: Arc::clone(&kept), is_over };
        thread::spawn(move || {
            let mut chunk = [0; 8 << 10];
            while let Ok(count @ 1..) = stream.read(&mut chunk) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(chunk.get(..count).unwrap_or_default());
                let surplus = kept.len().saturating_sub(OUTPUT_BYTES_MAX);
                kept.drain(..surplus);
            }
            drop(sender); // wakes the receiver
        });
        tail
    }

    fn text(self) -> String {
        self.is_over.recv_timeout(GRACE).unwrap_or_default();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(text: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]);
        command
    }

    /// Issue 27
    #[test]
    fn client_that_does_not_exit_is_killed_with_its_children() {
        let start = Instant::now();
        let ended =
            run(&mut shell("sleep 60 & echo out; echo err >&2; sleep 60"), STEP * 10).unwrap();
        assert_eq!((&*ended.out, &*ended.err, ended.in_time), ("out\n", "err\n", false));
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    /// Issue 27
    #[test]
    fn a_child_that_keeps_the_pipe_open_does_not_delay_the_end() {
        let start = Instant::now();
        let ended = run(&mut shell("setsid sleep 30 & echo out"), STEP * 100).unwrap();
        assert_eq!((&*ended.out, ended.in_time), ("out\n", true));
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    /// Issue 27
    #[test]
    fn waiting_for_an_answer_times_out() {
        let pick = |line: &str| (line == "two").then(|| line.to_owned());
        let found = ask(&mut shell("cat; sleep 60"), "one\ntwo\n", STEP * 400, pick).unwrap();
        assert_eq!(found.as_deref(), Some("two"));
        assert!(ask(&mut shell("sleep 60"), "two\n", STEP * 4, pick).unwrap().is_none());
    }
}
