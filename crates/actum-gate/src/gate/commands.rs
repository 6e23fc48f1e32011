//! The gate of commands: what would run has a rule that lets it (AA-5, AA-7).

use super::{Said, with_more};
use crate::command::CommandLine;
use crate::decision::{Bundle, Verdict};
use crate::policy::Policy;

/// How many commands one change may come with.
pub(crate) const COMMANDS_MAX: usize = 1000;

/// Each command is judged by itself, and the strictest counts.
pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> Said {
    let (lines, confined) = (bundle.commands(), bundle.confined());
    let count = lines.len() + confined.len();
    if count > COMMANDS_MAX {
        let ground = format!("{count} commands would be run, and {COMMANDS_MAX} is the most");
        return Said { verdict: Verdict::Deny, ground };
    }
    let said = lines.iter().map(|line| told(line, policy));
    let said = said.chain(confined.iter().map(|line| told_of_confined(line, policy)));
    // Of several that are as strict, the one that would run first is named.
    let mut strictest: Option<(Said, usize)> = None;
    for next in said {
        strictest = Some(match strictest {
            Some((said, more)) if said.verdict == next.verdict => (said, more + 1),
            Some(kept) if kept.0.verdict > next.verdict => kept,
            Some(_) | None => (next, 0),
        });
    }
    strictest.map_or_else(
        || Said { verdict: Verdict::Allow, ground: "no command would be run".to_owned() },
        |(Said { verdict, ground }, more)| Said { verdict, ground: with_more(ground, more) },
    )
}

/// What such a command changes is judged by the other gates, so that none has to be allowed by a rule.
fn told_of_confined(line: &CommandLine, policy: &Policy) -> Said {
    match policy.restrain_command(line) {
        Some(judged) => Said {
            verdict: judged.verdict,
            ground: format!("the command `{line}`: {}", judged.ground),
        },
        None => Said {
            verdict: Verdict::Allow,
            ground: format!("the command `{line}` was confined, and no rule holds it back"),
        },
    }
}

fn told(line: &CommandLine, policy: &Policy) -> Said {
    let judged = policy.judge_command(line);
    let ground = match judged.rule {
        Some(_) => format!("the command `{line}`: {}", judged.ground),
        // It names the command.
        None => judged.ground,
    };
    Said { verdict: judged.verdict, ground }
}
