//! `actum approve`: approves a pending plan and carries it out.

use std::path::{Path, PathBuf};

use actum::{PlanState, PolicyFiles, QueueError, Records, Reply, Request, Root};
use actum_core::RunId;
use actum_record::ledger::Answer;

use super::queue::{Listing, Shown};
use super::sandbox::Confinement;
use super::{Session, action, exec};
use crate::diff_text::Audience;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::operator_key::OperatorKey;
use crate::plan_failure::PlanFailure;
use crate::plans;
use crate::run_arguments::label;
use crate::run_end::RunEnd;
use crate::run_prefix::RunPrefix;
use crate::{clock, policy, records, recovery_note};

/// Approve a pending plan, and carry it out
///
/// The approval is for exactly the change that `actum queue PLAN` shows, based on the current files and the policy in
/// force. It can be used once, within a day. The approval is signed with the approval key (`actum key make approval`),
/// whose passphrase is read from the terminal or from `--passphrase-file`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Plan to approve, or a prefix of its id with at least 4 characters
    plan: RunPrefix,
    /// Only approve the plan; repeating the request carries it out
    #[arg(long)]
    later: bool,
    /// Record TEXT as the reason
    #[arg(long, value_name = "TEXT", value_parser = label)]
    reason: Option<String>,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let (queue, plan) = plans::find(&arguments.plan, session)?;
    let (id, state) = (plan.id(), plan.state(clock::now()));
    // A plan that was already approved but not carried out is carried out now, unless a command of its own does that.
    let own_command = plans::own_command(&plan.queued.plan);
    let later = arguments.later || own_command.is_some();
    let is_approved = state == PlanState::Approved && !later;
    if state != PlanState::Waiting && !is_approved {
        let wanted = Answer::Approved;
        return Err(actum::Error::from(QueueError::State { plan: id, wanted, state }).into());
    }
    let request = plan.request(&queue.inputs)?;
    let shown_to = (Audience::Terminal, Listing::Folded);
    let shown = Shown::with_request(&queue, &plan, Some(&request), session, shown_to)?;
    if !shown.moved().is_empty() {
        session.screen.print_text(&shown)?;
        return Err(PlanFailure::Moved { plan: id, moved: shown.moved().join(", and ") }.into());
    }
    let root = plans::root_of(&plan, session)?;
    let files = policy::files()?;
    // Close the ledger, because the same process cannot write to it while it is open for reading.
    drop(queue);
    let (checked, records) = records::open_for(&root, &session.tenant)?;
    if !is_approved {
        session.screen.print_text(&shown)?;
        let file = arguments.passphrase_file.as_deref();
        let question = format!("Approve plan {id}?");
        let key = OperatorKey::approval(session, &question, file)?;
        let reply = Reply { answer: Answer::Approved, reason: arguments.reason.clone() };
        records.answer(&plan, reply, &key.approver())?;
    }
    if later {
        drop(records);
        let (queue, plan) = plans::answered(id, &session.tenant)?;
        let audience = session.screen.audience_of_decisions();
        session.screen.show(&Shown::new(&queue, &plan, session, (audience, Listing::Folded))?)?;
        if let Some(command) = own_command {
            session.screen.note(format_args!("to carry it out, run the same `{command}` again"));
        }
        return Ok(Exit::Success);
    }
    if request.action.is_some() {
        drop(records);
        let exit = action::act_as_approved(session, &root, request);
        if exit.is_err() {
            note_if_still_approved(id, session)?;
        }
        return exit;
    }
    match carry_out(request, &root, (checked, records, files), session) {
        Ok(()) => Ok(Exit::Success),
        Err(error) => {
            note_if_still_approved(id, session)?;
            Err(error)
        }
    }
}

/// Carries out a queued request, including its checks, and prints the result of the run.
pub(super) fn carry_out(
    request: Request,
    root: &Path,
    (checked, records, files): (Root, Records, PolicyFiles),
    session: &Session,
) -> Result<(), Failure> {
    let in_force = files.read(root)?;
    let mut engine = checked.existing_engine(records)?.under_files(files, root);
    if !request.commands.checks.is_empty() {
        let confinement = Confinement::default();
        engine =
            engine.running(exec::runner(&confinement, &in_force, root, root, &session.screen)?);
    }
    let end = RunEnd::make(&mut engine, request, None.into());
    recovery_note::print(&session.screen, engine.recovery());
    records::report_late_outcomes(&session.screen, &engine);
    end?.after(engine.recovery()).show(&session.screen)?;
    if let Some(warning) = engine.finish() {
        session.screen.note(format_args!("the outcome is recorded, but {warning}"));
    }
    Ok(())
}

/// Prints a note if the plan is still approved after it could not be carried out.
fn note_if_still_approved(id: RunId, session: &Session) -> Result<(), Failure> {
    let (_, plan) = plans::answered(id, &session.tenant)?;
    if plan.state(clock::now()) == PlanState::Approved {
        session.screen.note(format_args!(
            "plan {id} is still approved: repeat the request within a day to apply it, or withdraw the approval \
             with `actum revoke {id}`"
        ));
    }
    Ok(())
}
