//! What the rules say of a command.

use std::io::{self, Write};

use actum_core::path::Harmless;
use actum_gate::{CommandJudgement, CommandLine, CommandRule, Verdict};
use actum_record::receipt::GateRecord;
use serde::Serialize;

use super::{in_force, told};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::record::GateLine;
use crate::verb::Session;

#[derive(Serialize)]
struct ExplainedCommand {
    /// The program and its arguments.
    command: CommandLine,
    verdict: Verdict,
    /// The rule that decides; none where no rule speaks of it.
    rule: Option<CommandRule>,
    ground: String,
}

pub(super) fn explain(line: &CommandLine, session: &Session) -> Result<Exit, Failure> {
    let (in_force, _) = in_force(session)?;
    let CommandJudgement { verdict, ground, rule } = in_force.policy.judge_command(line);
    session.screen.show(&ExplainedCommand { command: line.clone(), verdict, rule, ground })?;
    Ok(Exit::Success)
}

impl Document for ExplainedCommand {
    fn format(&self) -> &'static str {
        "actum.command-explanation/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { command, verdict, ground, .. } = self;
        let line = command.to_string();
        writeln!(out, "{}: {}", Harmless(line.as_bytes()), told(*verdict))?;
        let gate = "commands".to_owned();
        let verdict = verdict.as_str().to_owned();
        let record = GateRecord { gate, verdict, ground: ground.clone() };
        writeln!(out, "gate  {}", GateLine(&record))
    }
}
