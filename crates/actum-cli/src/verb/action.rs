//! `actum action`: command-line entry point of the action API.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use actum::{
    ActionOutcome, Engine, Error, MalformedProposal, PolicyInForce, Proposal, Records, Request,
    RequestLease,
};
use actum_action::limits::PLAN_BYTES_MAX;
use actum_action::{MalformedPlan, PlanEnvelope, schemas};
use actum_core::Status;
use actum_record::ledger::RequestKey;
use clap::builder::{StringValueParser, TypedValueParser};

use super::sandbox::Confinement;
use super::{Session, exec};
use crate::exit::Exit;
use crate::failure::{Failure, UNSOUND_ENVELOPE};
use crate::lease::LeaseArgument;
use crate::run_arguments::label;
use crate::snippet::Quote;
use crate::{actor, hint, input, notify, policy, records, recovery_note, root, signals};

/// Carry out the plan of an agent: read a plan envelope, and print a result envelope
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    Run(RunArguments),
    Schema(SchemaArguments),
}

/// Print the JSON Schema of a plan envelope, of a result envelope, or of the `action.json` of a package
#[derive(clap::Args)]
pub(crate) struct SchemaArguments {
    /// Document whose schema to print
    #[arg(value_enum)]
    document: SchemaOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SchemaOf {
    /// Input of `actum action run`
    Plan,
    /// Output of `actum action run`
    Result,
    /// Manifest of a package
    Package,
}

/// Carry out a plan envelope, and print its result envelope
///
/// The gates judge the action, which is then carried out where no other process sees its changes. After it was
/// verified, the changes are either all kept or all dropped. The result envelope on standard output reports the
/// outcome, which is also recorded in the ledger.
///
/// The exit code is the status: 0 succeeded, 1 rejected, 3 reverted, 4 failed, 6 queued. A malformed envelope is
/// rejected as well. If the file is not JSON, if its `actionType` cannot be read, or if the result could not be
/// recorded, an error is printed instead of a result.
#[derive(clap::Args)]
pub(crate) struct RunArguments {
    /// File with the plan envelope; `-` is standard input
    file: PathBuf,
    /// Carry out the plan only once: if a run was made with this key before, report that run and change nothing
    #[arg(long, value_name = "KEY", value_parser = StringValueParser::new().try_map(|text| RequestKey::from_caller(&text)))]
    request_key: Option<RequestKey>,
    /// Record NAME as the agent that makes the request
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    #[command(flatten)]
    lease: LeaseArgument,
    /// Wait if another process is using the workspace
    #[arg(long)]
    wait: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Run(arguments) => arguments.run(session),
        Verb::Schema(arguments) => {
            let [plan, result, package] = schemas();
            let schema = match arguments.document {
                SchemaOf::Plan => plan,
                SchemaOf::Result => result,
                SchemaOf::Package => package,
            };
            session.screen.hand_over(schema.text.as_bytes())?;
            Ok(Exit::Success)
        }
    }
}

impl RunArguments {
    fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let (input, bytes) = input::document(&self.file, &session.start, PLAN_BYTES_MAX)?;
        let asked = self.read(&bytes, input, session)?;
        let root = root::existing_or_new(&session.start);
        if !root::is_made(root) {
            drop(records::own_root(root, &session.tenant)?.open()?);
            session.note_made(root);
        }
        let lease = |records: &Records| self.lease.present(session, records);
        act(session, root, lease, |engine, lease| {
            let actor = actor::under(self.agent.clone(), lease);
            let wait = self.wait;
            match asked {
                Asked::Plan(plan) => {
                    let key = self.request_key.clone();
                    engine.act(&Proposal { plan: *plan, actor, key, wait })
                }
                Asked::Malformed { plan, message } => {
                    let malformed = MalformedProposal { plan: *plan, message, actor, wait };
                    let mut acted = engine.reject(&malformed)?;
                    let hints = vec![hint::PLAN_SCHEMA.to_owned()];
                    acted.envelope.feedback.insert("hints".to_owned(), hints.into());
                    Ok(acted)
                }
            }
        })
    }

    /// Parses a plan envelope. If the envelope is malformed but its action can be read, it is returned with the error,
    /// so that the result envelope can report it.
    fn read(&self, bytes: &[u8], input: String, session: &Session) -> Result<Asked, Failure> {
        let source = match PlanEnvelope::read(bytes) {
            Ok(plan) => return Ok(Asked::Plan(Box::new(plan))),
            Err(source) => source,
        };
        let file = input::path(&self.file, &session.start);
        let quote = Quote::new(file.as_deref(), bytes, source.0.place);
        match MalformedPlan::from_error(bytes, source) {
            Ok(plan) => {
                let message = quote.message(&plan.error, UNSOUND_ENVELOPE);
                Ok(Asked::Malformed { plan: Box::new(plan), message })
            }
            Err(source) => Err(Failure::Envelope { input, source: Box::new(source), quote }),
        }
    }
}

/// Plan envelope as it was parsed.
enum Asked {
    Plan(Box<PlanEnvelope>),
    /// The envelope is malformed but names its action, so a result envelope reports the error.
    Malformed {
        plan: Box<MalformedPlan>,
        message: String,
    },
}

/// Carries out the action that an approved plan requests.
pub(super) fn act_as_approved(
    session: &Session,
    root: &Path,
    request: Request,
) -> Result<Exit, Failure> {
    act(session, root, |_| Ok(None), |engine, _| engine.act_as_approved(request, None))
}

fn act(
    session: &Session,
    root: &Path,
    lease: impl FnOnce(&Records) -> Result<Option<RequestLease>, Failure>,
    act: impl FnOnce(&mut Engine, Option<&RequestLease>) -> Result<ActionOutcome, Error>,
) -> Result<Exit, Failure> {
    let act = |engine: &mut Engine, lease: Option<&RequestLease>| Ok(act(engine, lease)?);
    with_engine(session, root, lease, act, |acted, in_force| {
        let status = acted.envelope.status;
        let failure = acted.error.take().map(|error| Failure::from(*error));
        if let Some(hints) = failure.as_ref().map(Failure::hints).filter(|hints| !hints.is_empty())
        {
            acted.envelope.feedback.insert("hints".to_owned(), hints.into());
        }
        print_envelope(session, acted)?;
        let notify = in_force.and_then(|in_force| in_force.notify.as_ref());
        if let (Some(command), Some(failure)) = (notify, &failure) {
            notify::run(&session.screen, command, failure);
        }
        Ok(exit(status))
    })
}

/// Opens the engine of a workspace with a runner for actions, and passes it to `act`. The outcome is passed to `tell`,
/// which reports it and returns the exit code. A signal that arrives in the meantime stops the action, and the report
/// includes that.
pub(super) fn with_engine<T>(
    session: &Session,
    root: &Path,
    lease: impl FnOnce(&Records) -> Result<Option<RequestLease>, Failure>,
    act: impl FnOnce(&mut Engine, Option<&RequestLease>) -> Result<T, Failure>,
    report: impl FnOnce(&mut T, Option<&PolicyInForce>) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let files = policy::files()?;
    // If the policy cannot be used, nothing is done, and the result reports the error.
    let in_force: Option<PolicyInForce> = files.read(root).ok();
    let (checked, records) = records::open_for(root, &session.tenant)?;
    let lease = lease(&records)?;
    let mut engine =
        checked.engine(records)?.under_files(files, root).holding(|| Box::new(signals::hold()));
    // If signals cannot be observed, a signal ends the program like a kill.
    let waiting = signals::waiting().ok();
    if let Some(in_force) = &in_force {
        let mut runner =
            exec::runner(&Confinement::default(), in_force, root, root, &session.screen)?;
        if let Some(stop) = waiting.as_ref().and_then(|waiting| waiting.stop().ok()) {
            runner = runner.stopping_when(stop);
        }
        engine = engine.running(runner);
    }
    if let Some(lease) = lease.clone() {
        engine = engine.under_lease(lease);
    }
    let acted = act(&mut engine, lease.as_ref());
    recovery_note::print(&session.screen, engine.recovery());
    records::report_late_outcomes(&session.screen, &engine);
    // The engine blocks signals until the report is printed.
    let mut acted = acted?;
    let exit = report(&mut acted, in_force.as_ref())?;
    if let Some(warning) = engine.finish() {
        session.screen.note(format_args!("the outcome is recorded, but {warning}"));
    }
    // Discard pending signals, because the result already reports the outcome even if a signal requested it.
    if let Some(waiting) = waiting {
        waiting.take();
    }
    // The kernel closes the remaining files when the process exits.
    std::mem::forget(engine);
    Ok(exit)
}

/// Prints the result envelope, indented on a terminal and otherwise on one line for programs.
fn print_envelope(session: &Session, acted: &ActionOutcome) -> Result<(), Failure> {
    let written = match io::stdout().is_terminal() {
        true => serde_json::to_vec_pretty(&acted.envelope).map_err(io::Error::other),
        false => acted.envelope.write().map_err(io::Error::other),
    };
    let mut bytes = written.map_err(|source| Failure::Unwritten { source })?;
    bytes.push(b'\n');
    session.screen.hand_over(&bytes)
}

fn exit(status: Status) -> Exit {
    match status {
        Status::Succeeded => Exit::Success,
        Status::Rejected => Exit::Refused,
        Status::Reverted => Exit::RolledBack,
        Status::Failed => Exit::NeedsAttention,
        Status::Queued => Exit::Queued,
    }
}
