//! `actum agent dispatch`: runs one cycle for a goal.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use actum_action::PlanScope;
use actum_agent::limits::GOAL_BYTES_MAX;
use actum_agent::{AgentGoalRequest, AgentVerdict, ReasonCode};
use actum_dispatch::{Caller, Dispatched, Dispatcher, Settings};
use actum_record::signer::Signer;

use super::AgentFailure;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::operator_key::OperatorKey;
use crate::run_arguments::label;
use crate::session::Session;
use crate::verb::action;
use crate::{actor, input, records, root};

/// Run one cycle for a goal, and print its outcome
///
/// The goal (`schemas/agent-goal.schema.json`) contains one packet of a Finder. The core decides on the packet, and
/// dispatches an allowed simulation as an action. An impactful simulation must be confirmed first, with `actum agent
/// confirm`. Each decision is recorded, and dispatching the same goal again has no second effect.
///
/// The exit code is 0 if the goal is done, 1 if it was refused, and 3 if it was rolled back. It is 4 if the goal needs
/// attention, and 6 if it waits for an answer or an approval.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File with the goal; `-` is standard input
    goal: PathBuf,
    /// Record NAME as the agent that makes the request
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    /// Allow simulations to write only below this directory; can be repeated
    #[arg(long = "allow-dir", value_name = "DIR")]
    allowed_dirs: Vec<String>,
    /// Verify the changes of a simulation with this command; can be repeated
    #[arg(long = "check", value_name = "COMMAND")]
    checks: Vec<String>,
    /// Dispatch as a host, with the host key: the goal may belong to another user and may include an answer
    /// (`confirm_state`)
    #[arg(long)]
    host_key: bool,
    /// Read the passphrase of the host key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE", requires = "host_key")]
    passphrase_file: Option<PathBuf>,
    /// Wait if another process is using the workspace
    #[arg(long)]
    wait: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let (input, bytes) = input::document(&arguments.goal, &session.start, GOAL_BYTES_MAX)?;
    let goal = AgentGoalRequest::read(&bytes)
        .map_err(|source| AgentFailure::Goal { input, source: Box::new(source) })?;
    let mut settings =
        Settings { checks: arguments.checks.clone(), wait: arguments.wait, ..Settings::default() };
    if !arguments.allowed_dirs.is_empty() {
        let allowed_dirs = arguments.allowed_dirs.clone();
        settings.scope = PlanScope { allowed_dirs, ..PlanScope::default() };
    }
    let question = format!("Dispatch goal {} as a host?", goal.correlation_id);
    let host = arguments
        .host_key
        .then(|| OperatorKey::host(session, &question, arguments.passphrase_file.as_deref()));
    let host = host.transpose()?;
    let host = host.as_ref().map(|key| key.signer() as &dyn Signer);
    let caller = Caller { actor: actor::from_agent(arguments.agent.clone()), host };
    let root = root::existing_or_new(&session.start);
    if !root::is_made(root) {
        drop(records::own_root(root, &session.tenant)?.open()?);
        session.note_made(root);
    }
    action::with_engine(
        session,
        root,
        |_| Ok(None),
        |engine, _| {
            let dispatched = Dispatcher::new(engine, settings).dispatch(&goal, &caller);
            Ok(dispatched.map_err(AgentFailure::Dispatch)?)
        },
        |dispatched, _| {
            print_outcome(session, dispatched)?;
            Ok(exit_code(dispatched))
        },
    )
}

/// Prints the outcome, indented on a terminal and otherwise on one line for programs.
fn print_outcome(session: &Session, dispatched: &Dispatched) -> Result<(), Failure> {
    let outcome = &dispatched.outcome;
    let written = match io::stdout().is_terminal() {
        true => serde_json::to_vec_pretty(outcome),
        false => serde_json::to_vec(outcome),
    };
    let mut bytes =
        written.map_err(|error| Failure::Unwritten { source: io::Error::other(error) })?;
    bytes.push(b'\n');
    session.screen.hand_over(&bytes)?;
    if let Some(reason) = &outcome.reason_code {
        match &dispatched.prompt {
            Some(_) => session.screen.note(reason),
            None => session.screen.note(format_args!("{reason}: {}", outcome.user_visible_text)),
        }
        if dispatched.verdict == AgentVerdict::NoDispatch {
            session.screen.note(format_args!(
                "nothing was dispatched; run `actum explain {reason}` to see what to do"
            ));
        }
    }
    if let Some((_, prompt)) = &dispatched.prompt {
        prompt.text.lines().for_each(|line| session.screen.note(line));
        session.screen.note(format_args!(
            "to answer, run `actum agent confirm {} --thread {} --plan {} --language TAG ANSWER`",
            prompt.correlation,
            prompt.thread,
            prompt.plan_prefix()
        ));
    }
    if let Some(plan) = dispatched.queued {
        session
            .screen
            .note(format_args!("run `actum queue {plan}` to see the change that needs approval"));
    }
    Ok(())
}

fn exit_code(dispatched: &Dispatched) -> Exit {
    let outcome = &dispatched.outcome;
    let status = outcome.simulation_outcome.as_ref().and_then(|it| it.get("status"));
    match (dispatched.verdict, status.and_then(serde_json::Value::as_str)) {
        (AgentVerdict::Answered, _) | (AgentVerdict::Dispatch, Some("succeeded")) => Exit::Success,
        (AgentVerdict::Dispatch, Some("queued")) => Exit::Queued,
        (AgentVerdict::Dispatch, Some("reverted")) => Exit::RolledBack,
        (AgentVerdict::Dispatch, Some("failed")) => Exit::NeedsAttention,
        (AgentVerdict::Dispatch, _) => Exit::Refused,
        (AgentVerdict::NoDispatch, _) => {
            let reason = outcome.reason_code.as_deref();
            let is = |code: ReasonCode| reason == Some(code.as_str());
            let waits = dispatched.prompt.is_some() || dispatched.queued.is_some();
            match waits || is(ReasonCode::ClarifyRequired) {
                true => Exit::Queued,
                false if is(ReasonCode::StepNeedsAttention) => Exit::NeedsAttention,
                false => Exit::Refused,
            }
        }
    }
}
