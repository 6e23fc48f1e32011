//! Runs the operator's notification command when a plan is queued.

#![expect(
    clippy::disallowed_methods,
    reason = "the operator chooses the program, and its environment is built here"
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

/// Environment variables that the notification command inherits. They only affect how text is displayed. The caller could
/// use others to change what the program does, so the session variables are derived from the password database instead.
const KEPT: [&str; 3] = ["LANG", "DISPLAY", "WAYLAND_DISPLAY"];
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Number of steps to wait for the command. If it takes longer, it continues to run in the background.
const STEPS: u32 = 200;
const STEP: Duration = Duration::from_millis(10);

/// Runs the notification command if this request queued a new plan. The command gets the JSON document about the queued
/// plan on its standard input. If it fails, a note is printed, and the plan stays pending.
pub(crate) fn run(screen: &Screen, command: &[String], failure: &Failure) {
    if !failure.is_newly_queued() {
        return;
    }
    let Some((program, arguments)) = command.split_first() else { return };
    let result = start(program, arguments, failure).and_then(|mut child| ended(&mut child));
    let shown = Quoted(program.as_bytes());
    match result {
        Ok(None) => {}
        Ok(Some(status)) if status.success() => {}
        Ok(Some(status)) => screen.note(format_args!(
            "the plan is pending, but the notification command `{shown}` failed: {status}"
        )),
        Err(error) => screen.note(format_args!(
            "the plan is pending, but the notification command `{shown}` could not be run: {error}"
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
        // Write from a separate thread, because the command may never read its standard input.
        let write = move || drop(stdin.write_all(&text));
        drop(thread::Builder::new().spawn(write)?);
    }
    Ok(child)
}

/// Returns the value only if it looks like a display or language name, and cannot be a path or a program.
fn plain(value: OsString) -> Option<OsString> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".:_-@".contains(byte);
    value.as_bytes().iter().all(is_plain).then_some(value)
}

/// Waits for the command, and returns its exit status if it ends in time.
fn ended(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    for _ in 0..STEPS {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(STEP);
    }
    Ok(None)
}
