//! What an operator expects of the policy in force: changes and commands, and what should be said of each.

use std::collections::BTreeSet;

use actum_core::path_name::PathName;
use actum_core::{RelPath, RiskTier};
use actum_record::receipt::{EffectKind, PathEffect};

use super::diagnostic::{Diagnostic, listed};
use super::file::POLICY_BYTES_MAX;
use super::written::{Secret, Table, Text, Value};
use crate::command::CommandLine;
use crate::decision::{Case, Decision, GateDecision, TriggerFound, Verdict};
use crate::gate_name::GateName;

/// The most cases of one file.
const CASES_MAX: usize = 10_000;
/// The longest name of a case or an agent, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// What a case can do to a path.
const EFFECTS: [EffectKind; 5] = [
    EffectKind::Created,
    EffectKind::Modified,
    EffectKind::Deleted,
    EffectKind::Renamed,
    EffectKind::Mode,
];
/// What stands between the old path and the new one.
const ARROW: &str = " -> ";

/// A file of expectations, of which there is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyTest {
    cases: Vec<ExpectedCase>,
}

/// A change or a command, and what the gates should say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedCase {
    /// The line that it begins in, counted from 1.
    pub line: u64,
    /// What it is called.
    pub name: String,
    /// What all gates together should say.
    pub verdict: Verdict,
    /// The tier that it should be of, where that is said.
    pub tier: Option<RiskTier>,
    /// The gate that should be the first to refuse it, where that is said.
    pub gate: Option<GateName>,
    agent: Option<String>,
    declared: Option<RiskTier>,
    change: Vec<PathEffect>,
    command: Option<CommandLine>,
}

/// A file that tests nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyTestError {
    /// It is longer than a policy may be.
    #[error("it is more than {POLICY_BYTES_MAX} bytes long; write several files")]
    TooLong,
    /// It is no text.
    #[error("it is no UTF-8 text")]
    NoText,
    /// It is no TOML, or says what no case says.
    #[error(transparent)]
    Malformed(#[from] Diagnostic),
    /// It cannot fail.
    #[error("it has no `[[case]]`, so it could not fail")]
    NoCase,
    /// It has too many cases.
    #[error("it has {cases} cases, and {CASES_MAX} is the most; write several files")]
    TooMany {
        /// How many.
        cases: usize,
    },
}

impl PolicyTest {
    /// The most bytes that are read of a file.
    pub const BYTES_MAX: u64 = POLICY_BYTES_MAX;

    /// Reads a file.
    ///
    /// # Errors
    /// [`PolicyTestError`].
    pub fn read(bytes: &[u8]) -> Result<Self, PolicyTestError> {
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > Self::BYTES_MAX {
            return Err(PolicyTestError::TooLong);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| PolicyTestError::NoText)?;
        let text = Text::new(text);
        let parsed = text.parse()?;
        let root = text.root(&parsed);
        root.only(&["case"], Secret::No)?;
        let cases = root.tables("case")?;
        match cases.len() {
            0 => return Err(PolicyTestError::NoCase),
            1..=CASES_MAX => {}
            cases => return Err(PolicyTestError::TooMany { cases }),
        }
        Ok(Self { cases: cases.iter().map(case).collect::<Result<_, _>>()? })
    }

    /// All cases, in their order.
    pub fn cases(&self) -> &[ExpectedCase] {
        &self.cases
    }
}

impl ExpectedCase {
    /// The case, asked for as in `asked`, of which the change does not count, and the agent where this names one.
    pub fn case(&self, asked: &Case) -> Case {
        let (declared, change) = (self.declared, self.change.clone());
        let commands = self.command.iter().cloned().collect();
        let mut actor = asked.actor.clone();
        actor.agent = self.agent.clone().or(actor.agent);
        let triggers = TriggerFound::by_name(&change);
        Case { actor, declared, change, commands, triggers, ..asked.clone() }
    }

    /// Whether they say what was expected.
    pub fn holds(&self, decision: &Decision) -> bool {
        let first = decision.first_refusal().map(|gate| gate.gate);
        self.verdict == decision.verdict
            && self.tier.is_none_or(|tier| tier == decision.tier)
            && self.gate.is_none_or(|gate| first == Some(gate))
    }

    /// The gate whose ground tells why it is as it is: the first that refuses or, where none does, the one
    /// that was expected to, else that of the command or, without one, of the tier.
    pub fn telling<'d>(&self, decision: &'d Decision) -> Option<&'d GateDecision> {
        decision.first_refusal().or_else(|| {
            let of_kind = if self.command.is_some() { GateName::Commands } else { GateName::Tier };
            let expected = self.gate.unwrap_or(of_kind);
            decision.gates.iter().find(|gate| gate.gate == expected)
        })
    }
}

/// The word for a verdict in a file, and in what is told of it.
pub fn expected_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::NeedsApproval => "ask",
        Verdict::Deny => "deny",
    }
}

fn case(table: &Table<'_>) -> Result<ExpectedCase, Diagnostic> {
    const KNOWN: [&str; 8] =
        ["name", "agent", "change", "command", "declared", "expect", "tier", "gate"];
    table.only(&KNOWN, Secret::No)?;
    let name = name_in(&table.need("name")?)?;
    let agent = table.get("agent").map(|it| name_in(&it)).transpose()?;
    let command = table.get("command").map(|it| {
        let text = it.text("a command, which is a text")?;
        CommandLine::parse(text).map_err(|error| it.unusable(&error))
    });
    let command = command.transpose()?;
    let change = match &command {
        // What runs a command need not change anything.
        Some(_) => table.get("change").map(|it| effects(&it)).transpose()?.unwrap_or_default(),
        None => effects(&table.need("change")?)?,
    };
    let tier = |key| -> Result<_, Diagnostic> {
        table.get(key).map(|it| it.one_of(&RiskTier::ALL, RiskTier::as_str)).transpose()
    };
    let verdicts = [Verdict::Allow, Verdict::NeedsApproval, Verdict::Deny];
    let verdict = table.need("expect")?.one_of(&verdicts, expected_word)?;
    let gate = table.get("gate").map(|it| {
        let testable = GateName::ALL.iter().copied().filter(|gate| gate.is_testable());
        let gate = it.one_of(&testable.collect::<Vec<_>>(), GateName::as_str)?;
        match verdict {
            Verdict::Allow => Err(it.unusable(&"a gate refuses, and `expect` is `allow`")),
            Verdict::NeedsApproval | Verdict::Deny => Ok(gate),
        }
    });
    Ok(ExpectedCase {
        line: table.line(),
        name,
        verdict,
        tier: tier("tier")?,
        gate: gate.transpose()?,
        agent,
        declared: tier("declared")?,
        change,
        command,
    })
}

fn name_in(value: &Value<'_>) -> Result<String, Diagnostic> {
    let name = value.text("a text")?;
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        let expected = format!("a text of 1 to {NAME_BYTES_MAX} bytes");
        return Err(value.other_than(expected, format!("one of {}", name.len())));
    }
    Ok(name.to_owned())
}

/// What a change does, in the order of a change that is really made.
fn effects(change: &Value<'_>) -> Result<Vec<PathEffect>, Diagnostic> {
    let mut effects = change.list("effects, such as 'modified src/lib.rs'", effect)?;
    let touched: BTreeSet<_> = effects.iter().flat_map(PathEffect::paths).collect();
    if touched.len() < effects.iter().flat_map(PathEffect::paths).count() {
        return Err(change.unusable(&"a path stands in it twice; a change does one thing to each"));
    }
    if effects.is_empty() {
        return Err(change.unusable(&"it is empty, and a case changes something"));
    }
    effects.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(effects)
}

/// An effect, in one line or as a table.
fn effect(value: &Value<'_>) -> Result<PathEffect, Diagnostic> {
    if let Some(table) = value.table() {
        return effect_of(&table);
    }
    let text = value.text("a text such as 'modified src/lib.rs', or a table")?;
    let (word, path) = text.split_once(' ').unwrap_or((text, ""));
    let kind = EFFECTS.into_iter().find(|kind| kind.as_str() == word);
    let Some(kind) = kind.filter(|_| !path.is_empty()) else {
        let words = listed(EFFECTS.iter().map(|kind| kind.as_str()), "or");
        return Err(value.unusable(&format_args!("it is {words}, a blank and the path")));
    };
    if kind != EffectKind::Renamed {
        return Ok(PathEffect { effect: kind, ..touching(path_in(value, path)?) });
    }
    let (from, path) = path
        .split_once(ARROW)
        .ok_or_else(|| value.unusable(&format_args!("it is `renamed OLD{ARROW}NEW`")))?;
    let from = Some(path_in(value, from)?);
    Ok(PathEffect { effect: kind, from, ..touching(path_in(value, path)?) })
}

fn effect_of(table: &Table<'_>) -> Result<PathEffect, Diagnostic> {
    table.only(&["path", "effect", "from", "added", "removed"], Secret::No)?;
    let named = |value: Value<'_>| path_in(&value, value.text("a path, which is a text")?);
    let lines = |key| table.get(key).map_or(Ok(0), |lines| lines.count());
    let effect = table.need("effect")?;
    let kind = effect.one_of(&EFFECTS, EffectKind::as_str)?;
    let from = match (kind == EffectKind::Renamed, table.get("from")) {
        (true, _) => Some(named(table.need("from")?)?),
        (false, None) => None,
        (false, Some(from)) => {
            return Err(from.unusable(&"only what is renamed comes from another path"));
        }
    };
    Ok(PathEffect {
        effect: kind,
        from,
        added: lines("added")?,
        removed: lines("removed")?,
        ..touching(named(table.need("path")?)?)
    })
}

fn path_in(value: &Value<'_>, path: &str) -> Result<PathName, Diagnostic> {
    RelPath::new(path).map(PathName).map_err(|error| value.unusable(&error))
}

fn touching(path: PathName) -> PathEffect {
    PathEffect {
        path,
        effect: EffectKind::Modified,
        from: None,
        before: None,
        after: None,
        added: 0,
        removed: 0,
    }
}
