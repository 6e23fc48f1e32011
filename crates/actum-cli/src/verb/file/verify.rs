//! `actum file verify`: verifies a signed execution result, using only public keys.

use std::path::PathBuf;

use actum_core::canonical;
use actum_file::{verify, verify_any};
use actum_record::lease::TaskName;

use super::FileFailure;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input;
use crate::session::Session;
use crate::trusted::Trusted;

/// Maximum size of an execution result, in bytes.
const RESULT_BYTES_MAX: usize = 1 << 20;

/// Verify a signed execution result, and print it
///
/// Accepts the output of `actum file run`, and needs no base directory, ledger or network. The exit code is 0 only if a
/// result key of the keyring signed exactly this result and, with `--task`, the result belongs to that task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File with the result; `-` is standard input
    result: PathBuf,
    /// Require that the result belongs to this task
    #[arg(long, value_name = "TASK")]
    task: Option<TaskName>,
    /// Trust the public keys in FILE, as written by `actum key export`, instead of your own
    #[arg(long, value_name = "FILE")]
    keyring: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let keyring = Trusted::read(arguments.keyring.as_deref(), &session.start)?.keyring;
    let (input, bytes) = input::document(&arguments.result, &session.start, RESULT_BYTES_MAX)?;
    let verified = match &arguments.task {
        Some(task) => verify(&bytes, &keyring, task),
        None => verify_any(&bytes, &keyring),
    };
    let verified =
        verified.map_err(|source| FileFailure::Result { input, source: Box::new(source) })?;
    let mut text = canonical::to_vec(&verified.result).map_err(actum::Error::from)?;
    text.push(b'\n');
    session.screen.hand_over(&text)?;
    Ok(Exit::Success)
}
