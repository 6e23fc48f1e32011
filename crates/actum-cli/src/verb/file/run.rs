//! `actum file run`: carries out a task manifest and prints its signed result.

use std::path::PathBuf;

use actum_file::sandboxed::Sandboxed;
use actum_file::{Host, LedgerLog, MANIFEST_BYTES_MAX, PresentedLease, TaskStatus, WorkspaceState};
use actum_sandbox::Helper;

use super::{FileFailure, base_directories, open_base};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::LeaseArgument;
use crate::run_arguments::label;
use crate::session::Session;
use crate::{actor, input, policy, records, signals};

/// Carry out a task manifest under a lease, and print its signed result
///
/// The result is printed to standard output as a signed envelope (DSSE), even if the task failed. `actum file verify`
/// verifies it. If the task was carried out before, its stored result is printed and nothing is changed. All files must
/// be below the base directories that the operator's policy lists under `[file]`. The exit code is 0 if the task
/// succeeded, and 1 if it failed without changing anything. It is 3 if the changes were rolled back, and 4 if the files
/// need attention.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File with the task manifest; `-` is standard input
    manifest: PathBuf,
    #[command(flatten)]
    lease: LeaseArgument,
    /// Record NAME as the agent that makes the request
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let (_, manifest) = input::document(&arguments.manifest, &session.start, MANIFEST_BYTES_MAX)?;
    let bases = base_directories(session)?;
    let files = policy::files()?;
    let held = signals::hold();
    let waiting = signals::waiting().ok();
    let stop = waiting.as_ref().and_then(|waiting| waiting.stop().ok());
    // Create the worker first, so that its process starts up while the ledger is being opened.
    let mut worker = Sandboxed::new(Helper::this_program(), stop);
    let records = records::open(&session.tenant)?;
    // An invalid lease produces a signed result as well. Only a lease file that cannot be read makes the command fail.
    let presented = arguments.lease.present_unjudged(session, &records)?;
    let agent = arguments.agent.clone();
    let actor = actor::under(agent, presented.as_ref().ok().and_then(Option::as_ref));
    let lease = PresentedLease::new(&records, presented);
    let log = LedgerLog::new(&records);
    let is_cancelled = || waiting.as_ref().is_some_and(signals::Waiting::is_any);
    let ended = Host {
        records: records.clone(),
        bases,
        open: &|base| open_base(base, &records, &files),
        worker: &mut worker,
        leases: &lease,
        log: &log,
        actor,
        is_cancelled: &is_cancelled,
    }
    .run(&manifest);
    let ended = ended.map_err(FileFailure::Host)?;
    let mut envelope = ended.envelope;
    envelope.push(b'\n');
    let shown = session.screen.hand_over(&envelope);
    if let Some(waiting) = &waiting {
        waiting.take(); // the result already reports the interruption
    }
    drop(held);
    if let (Some(code), Some(detail)) = (ended.result.error_code, &ended.result.detail) {
        session.screen.note(format_args!(
            "{code} ({}): {}; {}",
            detail.reason,
            detail.message,
            state(detail.workspace)
        ));
    }
    shown.map(|()| match (ended.result.status, ended.result.detail) {
        (TaskStatus::Success, _) => Exit::Success,
        (TaskStatus::Failed, Some(detail)) => match detail.workspace {
            WorkspaceState::Unchanged => Exit::Refused,
            WorkspaceState::Restored => Exit::RolledBack,
            WorkspaceState::NeedsAttention => Exit::NeedsAttention,
        },
        (TaskStatus::Failed, None) => Exit::Refused,
    })
}

/// Describes the state of the files after a task failed, as a clause for a message.
fn state(workspace: WorkspaceState) -> &'static str {
    match workspace {
        WorkspaceState::Unchanged => "nothing was changed",
        WorkspaceState::Restored => "the files were restored",
        WorkspaceState::NeedsAttention => {
            "the files need attention: run `actum status` for details"
        }
    }
}
