//! Commands gate: requires a rule that allows each command of a change (AA-5, AA-7).

use std::cmp::Ordering;

use super::GateVerdict;
use crate::command::{CommandJudgement, CommandLine};
use crate::decision::Bundle;
use crate::ground::Ground;
use crate::policy::Policy;

/// Maximum number of commands in one change.
pub(crate) const COMMANDS_MAX: usize = 1000;

/// Judges each command on its own. The strictest verdict applies.
pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> GateVerdict {
    let (lines, confined) = (bundle.commands(), bundle.confined());
    let count = lines.len() + confined.len();
    if count > COMMANDS_MAX {
        return GateVerdict::deny(Ground::TooManyCommands { count, max: COMMANDS_MAX });
    }
    let verdicts = lines.iter().map(|line| to_gate_verdict(line, &policy.judge_command(line)));
    let verdicts = verdicts.chain(confined.iter().map(|line| judge_confined(line, policy)));
    // If several verdicts are equally strict, the one for the first command is reported.
    verdicts
        .reduce(|mut first, next| match next.verdict.cmp(&first.verdict) {
            Ordering::Greater => next,
            Ordering::Less => first,
            Ordering::Equal => {
                first.ground.more += 1;
                first
            }
        })
        .unwrap_or_else(|| GateVerdict::allow(Ground::NoCommand))
}

/// Judges a sandboxed command whose effects are captured. No rule has to allow it, because the gates judge the
/// changes that it makes.
fn judge_confined(line: &CommandLine, policy: &Policy) -> GateVerdict {
    match policy.restrain_command(line) {
        Some(judgement) => to_gate_verdict(line, &judgement),
        None => GateVerdict::allow(Ground::Confined { command: line.into() }),
    }
}

fn to_gate_verdict(line: &CommandLine, judgement: &CommandJudgement) -> GateVerdict {
    let ground = Ground::of_command(line, judgement).into();
    GateVerdict { verdict: judgement.verdict, ground }
}
