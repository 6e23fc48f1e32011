//! Explains what the command rules of the policy decide about a command.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::policy::CommandExplanation;
use actum_core::path::Harmless;
use actum_gate::{CommandJudgement, CommandLine, GateDecision, GateName, Ground};

use super::{in_force, verdict_text};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gate_view::GateView;
use crate::output::Document;
use crate::verb::Session;

/// Document with the explanation for a command, and the command line for the text output.
struct Explained {
    document: CommandExplanation,
    command: CommandLine,
}

pub(super) fn explain(line: &CommandLine, session: &Session) -> Result<Exit, Failure> {
    let (in_force, _) = in_force(session)?;
    let judgement = in_force.policy.judge_command(line);
    let ground = Ground::of_command(line, &judgement).into();
    let CommandJudgement { verdict, rule, .. } = judgement;
    let decision = GateDecision { gate: GateName::Commands, verdict, ground };
    let gate = decision.view();
    let rule = rule.map(|rule| serde_json::to_value(rule).and_then(serde_json::from_value));
    let rule = rule.transpose();
    let rule = rule.map_err(|error| Failure::Unwritten { source: io::Error::other(error) })?;
    let document = CommandExplanation { command: line.clone().into(), rule, gate };
    session.screen.show(&Explained { document, command: line.clone() })?;
    Ok(Exit::Success)
}

impl Document for Explained {
    type Api = CommandExplanation;

    fn document(&self) -> impl Borrow<CommandExplanation> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { command, document: CommandExplanation { gate, .. } } = self;
        let line = command.to_string();
        writeln!(out, "{}: {}", Harmless(line.as_bytes()), verdict_text(&gate.verdict))?;
        writeln!(out, "gate  {}", gate)
    }
}
