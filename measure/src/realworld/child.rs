//! Runs a program with a time limit.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Maximum number of lines of a program's error output shown in an error.
const SHOWN_LINES_MAX: usize = 4;

/// Reason why a program returned no output.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChildError {
    #[error("starting `{program}`: {source}")]
    Start { program: String, source: io::Error },
    #[error("waiting for `{program}`: {source}")]
    Wait { program: String, source: io::Error },
    #[error("`{program}` was stopped: it took longer than {seconds} s", seconds = limit.as_secs())]
    TooLong { program: String, limit: Duration },
    #[error("`{program}` failed ({status}): {output}")]
    Failed { program: String, status: ExitStatus, output: String },
}

/// Bytes read from one of the program's output streams.
enum Output {
    Data(Vec<u8>),
    Talk(Vec<u8>),
}

/// Returns the output of a program. When the time limit expires, the program and all its child processes are killed. The caller
/// sets the program's input.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Vec<u8>, ChildError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let begun = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|source| ChildError::Start { program: program.clone(), source })?;
    let (sender, receiver) = mpsc::channel();
    read(child.stdout.take(), sender.clone(), Output::Data);
    read(child.stderr.take(), sender, Output::Talk);
    let (mut data, mut talk) = (Vec::new(), Vec::new());
    loop {
        // Once no sender is left, both outputs have been read to the end.
        match receiver.recv_timeout(limit.saturating_sub(begun.elapsed())) {
            Ok(Output::Data(bytes)) => data = bytes,
            Ok(Output::Talk(bytes)) => talk = bytes,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                // The program may have just ended by itself, which is fine.
                let _ended = group.map(|group| kill_process_group(group, Signal::KILL));
                let waited = child.wait();
                waited.map_err(|source| ChildError::Wait { program: program.clone(), source })?;
                return Err(ChildError::TooLong { program, limit });
            }
        }
    }
    let waited = child.wait();
    let status = waited.map_err(|source| ChildError::Wait { program: program.clone(), source })?;
    if status.success() {
        return Ok(data);
    }
    Err(ChildError::Failed { program, status, output: first_lines(&talk) })
}

fn read(
    pipe: Option<impl Read + Send + 'static>,
    sender: Sender<Output>,
    output: fn(Vec<u8>) -> Output,
) {
    let Some(mut pipe) = pipe else { return };
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // If the pipe breaks, reading ends early and the exit status of the program shows the cause. The receiver may be gone.
        let _read = pipe.read_to_end(&mut bytes);
        let _sent = sender.send(output(bytes));
    });
}

fn first_lines(talk: &[u8]) -> String {
    let talk = String::from_utf8_lossy(talk);
    let lines = talk.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.take(SHOWN_LINES_MAX).collect();
    if lines.is_empty() { "it said nothing".to_owned() } else { lines.join(" | ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Result<Vec<u8>, ChildError> {
        run(Command::new("sh").args(["-c", script]).stdin(Stdio::null()), limit)
    }

    #[test]
    fn child_output_is_returned_and_errors_include_stderr() {
        let limit = Duration::from_secs(60);
        assert_eq!(sh("echo data; echo talk >&2", limit).unwrap(), b"data\n");
        let error = sh("echo why >&2; exit 3", limit).unwrap_err();
        assert_eq!(error.to_string(), "`sh` failed (exit status: 3): why");
    }

    #[test]
    fn a_program_that_takes_too_long_is_stopped_with_its_children() {
        let error = sh("sleep 600 & wait", Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.to_string(), "`sh` was stopped: it took longer than 0 s");
    }
}
