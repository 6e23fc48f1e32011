//! The gate of commands: what would run has a rule that lets it (AA-5, AA-7).

use std::cmp::Ordering;

use super::GateVerdict;
use crate::command::{CommandJudgement, CommandLine};
use crate::decision::Bundle;
use crate::ground::Ground;
use crate::policy::Policy;

/// How many commands one change may come with.
pub(crate) const COMMANDS_MAX: usize = 1000;

/// Each command is judged by itself, and the strictest counts.
pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> GateVerdict {
    let (lines, confined) = (bundle.commands(), bundle.confined());
    let count = lines.len() + confined.len();
    if count > COMMANDS_MAX {
        return GateVerdict::deny(Ground::TooManyCommands { count, max: COMMANDS_MAX });
    }
    let said = lines.iter().map(|line| said(line, &policy.judge_command(line)));
    let said = said.chain(confined.iter().map(|line| judge_confined(line, policy)));
    // Of several that are as strict, the one that would run first is named.
    said.reduce(|mut first, next| match next.verdict.cmp(&first.verdict) {
        Ordering::Greater => next,
        Ordering::Less => first,
        Ordering::Equal => {
            first.ground.more += 1;
            first
        }
    })
    .unwrap_or_else(|| GateVerdict::allow(Ground::NoCommand))
}

/// Other gates judge what such a command changes, so no rule has to allow it.
fn judge_confined(line: &CommandLine, policy: &Policy) -> GateVerdict {
    match policy.restrain_command(line) {
        Some(judgement) => said(line, &judgement),
        None => GateVerdict::allow(Ground::Confined { command: line.into() }),
    }
}

fn said(line: &CommandLine, judgement: &CommandJudgement) -> GateVerdict {
    let ground = Ground::of_command(line, judgement).into();
    GateVerdict { verdict: judgement.verdict, ground }
}
