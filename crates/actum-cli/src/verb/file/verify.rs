//! `actum file verify`: verifies an execution result, by public keys alone.

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

/// Limit of a result that is read, in bytes.
const RESULT_BYTES_MAX: usize = 1 << 20;

/// Verify a signed execution result, and print it
///
/// Accepts the output of `actum file run`. No base directory, ledger or network is used. Exits with 0 only if a result
/// key of the keyring signed exactly this, for this task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File with the result; `-` is standard input
    result: PathBuf,
    /// Require the result of this task
    #[arg(long, value_name = "TASK")]
    task: Option<TaskName>,
    /// Trust the public keys in FILE, as `actum key export` writes them; without it your own
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
