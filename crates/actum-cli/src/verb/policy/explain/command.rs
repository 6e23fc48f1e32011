//! What the rules say of a command.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_core::path::Harmless;
use actum_gate::{
    CommandJudgement, CommandLine, CommandRule, GateDecision, GateName, Ground, Verdict,
};
use serde::Serialize;

use super::{in_force, told};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gate_view::GateView;
use crate::output::Document;
use crate::verb::Session;

#[derive(Serialize)]
struct ExplainedCommand {
    /// The program and its arguments.
    command: CommandLine,
    #[serde(skip)]
    verdict: Verdict,
    /// The rule that decides; none where no rule speaks of it.
    rule: Option<CommandRule>,
    #[serde(flatten)]
    gate: actum_api::Gate,
}

pub(super) fn explain(line: &CommandLine, session: &Session) -> Result<Exit, Failure> {
    let (in_force, _) = in_force(session)?;
    let judgement = in_force.policy.judge_command(line);
    let ground = Ground::of_command(line, &judgement).into();
    let CommandJudgement { verdict, rule, .. } = judgement;
    let decision = GateDecision { gate: GateName::Commands, verdict, ground };
    let gate = decision.view();
    session.screen.show(&ExplainedCommand { command: line.clone(), verdict, rule, gate })?;
    Ok(Exit::Success)
}

impl actum_api::Document for ExplainedCommand {
    const FORMAT: &'static str = "actum.command-explanation/1";
}

impl Document for ExplainedCommand {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { command, verdict, gate, .. } = self;
        let line = command.to_string();
        writeln!(out, "{}: {}", Harmless(line.as_bytes()), told(*verdict))?;
        writeln!(out, "gate  {gate}")
    }
}
