//! Implements the tool `exec` by starting `actum exec` in a separate process, which can be terminated if the call is cancelled.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;
use std::{io, thread};

use actum_api::command::{Ended, Execution, Violation};
use actum_mcp::{Answer, Call, Changed, Exec, Executed, Refused};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::agent_hints;
use crate::failure::Failure;
use crate::session::Session;

/// Interval at which a running command is checked for cancellation.
const STEP: Duration = Duration::from_millis(25);
/// Time that a cancelled command has to exit after each signal.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a command with `actum exec`, and waits for it unless the call is cancelled.
///
/// # Errors
/// Returns an error if the call is cancelled, the program cannot be started or its output cannot be read.
pub(super) fn run(
    session: &Session,
    lease: Option<&Path>,
    arguments: &Exec,
    call: &Call,
) -> Result<Answer, Failure> {
    let mut child = command(session, lease, arguments, call)?.spawn().map_err(failed)?;
    let (sender, output) = mpsc::channel();
    if let Some(mut stdout) = child.stdout.take() {
        let read = move || {
            let mut bytes = Vec::new();
            let read = stdout.read_to_end(&mut bytes).map(|_| bytes);
            drop(sender.send(read)); // fails if the call was cancelled, as nothing is waiting for the output then
        };
        if let Err(error) = thread::Builder::new().spawn(read) {
            end(&mut child, &output);
            return Err(failed(error));
        }
    }
    let bytes = loop {
        match output.recv_timeout(STEP) {
            Ok(read) => break read.map_err(failed)?,
            Err(RecvTimeoutError::Timeout) if call.is_cancelled() => {
                end(&mut child, &output);
                return Err(actum::Error::Command(actum::CommandError::Interrupted).into());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                end(&mut child, &output);
                return Err(failed(io::Error::other("the thread that reads it has ended")));
            }
        }
    };
    child.wait().map_err(failed)?;
    answer(&String::from_utf8_lossy(&bytes))
}

#[expect(
    clippy::disallowed_methods,
    reason = "actum starts itself as a separate process, which can be terminated"
)]
fn command(
    session: &Session,
    lease: Option<&Path>,
    arguments: &Exec,
    call: &Call,
) -> Result<Command, Failure> {
    let mut command = Command::new("/proc/self/exe");
    command.arg("-C").arg(&session.start);
    command.args(["--json", "--tenant", session.tenant.id()?.as_str(), "exec", "--wait"]);
    match (&call.key, arguments.dry_run) {
        (_, true) => drop(command.arg("--drop")),
        (Some(key), false) => drop(command.args(["--request-key", key.as_str()])),
        (None, false) => {}
    }
    if let Some(agent) = &call.agent {
        command.arg(format!("--agent={agent}"));
    }
    if let Some(seconds) = arguments.timeout_s {
        command.arg(format!("--limit=wall={seconds}s"));
    }
    if let Some(lease) = lease {
        command.arg("--lease").arg(lease);
    }
    command.arg("--").args(arguments.command.words());
    // Standard error is inherited, so notes of the command are written to the client's log.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    Ok(command)
}

/// Terminates a cancelled command and all processes in its process group, first with `SIGTERM` and then with `SIGKILL`.
fn end(child: &mut Child, output: &Receiver<io::Result<Vec<u8>>>) {
    let group = i32::try_from(child.id()).map(Pid::from_raw);
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        if let Ok(group) = group {
            killpg(group, signal).unwrap_or_default(); // fails if the group has already exited
        }
        if !matches!(output.recv_timeout(GRACE), Err(RecvTimeoutError::Timeout)) {
            break;
        }
    }
    drop(child.wait()); // only reaps the process; its exit status does not matter
}

/// Converts the JSON output of `actum exec` to the answer of the tool.
fn answer(text: &str) -> Result<Answer, Failure> {
    let executed = match actum_api::from_str::<actum_api::command::Exec>(text) {
        Ok(executed) => executed,
        Err(unread) => {
            let error = actum_api::from_str::<actum_api::error::Error>(text);
            let error = error.map_err(|_| failed(io::Error::other(unread)))?;
            return Ok(as_refused(error).into());
        }
    };
    let actum_api::command::Exec {
        status, execution, output, dropped_changes, change, error, ..
    } = executed;
    let change = change.map(|change| Changed::from(&*change));
    let error = error.map(|error| as_refused(*error));
    let (ended, stdout, stderr) = (ended(&execution), output.stdout, output.stderr);
    Ok(Executed { status, ended, stdout, stderr, dropped_changes, change, error }.into())
}

fn as_refused(error: actum_api::error::Error) -> Refused {
    let hints = match &error.queued {
        Some(queued) => agent_hints::queued_plan(queued.plan),
        None => error.hints.clone(),
    };
    Refused::new(error, hints)
}

fn ended(execution: &Execution) -> String {
    let mut words = match execution.ended {
        Some(Ended::Code(code)) => format!("exit code {code}"),
        Some(Ended::Signal(signal)) => format!("ended by signal {signal}"),
        None => "terminated".to_owned(),
    };
    for violation in &execution.violated {
        words.push_str(&match violation {
            Violation::Limit(resource) => format!("; it exceeded its `{resource:?}` limit"),
            Violation::Unwatched => "; one of its processes could not be monitored".to_owned(),
            Violation::Made(path) => format!("; it created the protected path `{path}`"),
            Violation::Interrupted => "; it was interrupted".to_owned(),
        });
    }
    words
}

fn failed(source: io::Error) -> Failure {
    Failure::Unreadable { input: "the output of `actum exec`".to_owned(), source }
}
