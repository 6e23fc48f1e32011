//! Notification command of the operator, run when a plan is queued.

#![expect(
    clippy::disallowed_methods,
    reason = "the operator names the program, and the environment"
)]

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use actum_core::path::Quoted;

use crate::failure::Failure;
use crate::home;
use crate::output::Screen;

/// Variables that determine how texts are shown. Others could change the actions of a program, and the caller chooses
/// them: those of the session are made from the system's data on the user.
const KEPT: [&str; 3] = ["LANG", "DISPLAY", "WAYLAND_DISPLAY"];
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Number of steps to wait. A command that takes longer continues alone.
const STEPS: u32 = 200;
const STEP: Duration = Duration::from_millis(10);

/// Runs the command if a plan was queued now, with the failure that reports it as JSON on its standard input. A failure
/// of the command is reported, and has no other effect: the plan waits.
pub(crate) fn tell(screen: &Screen, command: &[String], failure: &Failure) {
    if !failure.is_newly_queued() {
        return;
    }
    let Some((program, arguments)) = command.split_first() else { return };
    let told = start(program, arguments, failure).and_then(|mut child| ended(&mut child));
    let shown = Quoted(program.as_bytes());
    match told {
        Ok(None) => {}
        Ok(Some(status)) if status.success() => {}
        Ok(Some(status)) => screen.note(format_args!(
            "the plan waits, but the command that tells of it, `{shown}`, failed: {status}"
        )),
        Err(error) => screen.note(format_args!(
            "the plan waits, but the command that tells of it, `{shown}`, could not be run: {error}"
        )),
    }
}

fn start(program: &str, arguments: &[String], failure: &Failure) -> std::io::Result<Child> {
    let kept = KEPT.iter().filter_map(|name| Some((*name, plain(std::env::var_os(name)?)?)));
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir("/")
        .env_clear()
        .env("PATH", PATH)
        .envs(home::session())
        .envs(kept)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut text = serde_json::to_vec(&failure.document())?;
    text.push(b'\n');
    if let Some(mut stdin) = child.stdin.take() {
        // The command need not read it, and this process does not wait until it has.
        let write = move || drop(stdin.write_all(&text));
        drop(thread::Builder::new().spawn(write)?);
    }
    Ok(child)
}

/// Returns a value that names a screen or a language, and no path or program.
fn plain(value: OsString) -> Option<OsString> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".:_-@".contains(byte);
    value.as_bytes().iter().all(is_plain).then_some(value)
}

/// Returns the exit status, if the command ended in time.
fn ended(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    for _ in 0..STEPS {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(STEP);
    }
    Ok(None)
}
