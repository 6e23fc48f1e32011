//! Policy tests: files with the decisions that an operator expects for changes and commands under the policy in
//! force.

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

/// Maximum number of cases in a test file.
const CASES_MAX: usize = 10_000;
/// Maximum length of the name of a case or an agent, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// Effects on a path that a case can state.
const EFFECTS: [EffectKind; 5] = [
    EffectKind::Created,
    EffectKind::Modified,
    EffectKind::Deleted,
    EffectKind::Renamed,
    EffectKind::Mode,
];
/// Separator between the old and the new path of a renamed file.
const ARROW: &str = " -> ";

/// Policy test file with at least one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyTest {
    cases: Vec<ExpectedCase>,
}

/// Change or command, with the decision that the gates are expected to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedCase {
    /// Line on which the case starts, counted from 1.
    pub line: u64,
    /// Name of the case.
    pub name: String,
    /// Expected verdict of all gates combined.
    pub verdict: Verdict,
    /// Expected risk tier, if the case states one.
    pub tier: Option<RiskTier>,
    /// Gate that is expected to refuse the change first, if the case states one.
    pub gate: Option<GateName>,
    agent: Option<String>,
    declared: Option<RiskTier>,
    change: Vec<PathEffect>,
    command: Option<CommandLine>,
}

/// Error for a policy test file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyTestError {
    /// The file is larger than a policy file may be.
    #[error("the file is larger than {POLICY_BYTES_MAX} bytes; split it into several files")]
    TooLong,
    /// The file is not UTF-8 text.
    #[error("the file is not UTF-8 text")]
    NoText,
    /// The file is not TOML, or a case is not valid.
    #[error(transparent)]
    Malformed(#[from] Diagnostic),
    /// The file has no cases, so the test could never fail.
    #[error("the file has no `[[case]]`, so the test could never fail")]
    NoCase,
    /// The file has too many cases.
    #[error(
        "the file has {cases} cases, but at most {CASES_MAX} are allowed; split it into several files"
    )]
    TooMany {
        /// Number of cases in the file.
        cases: usize,
    },
}

impl PolicyTest {
    /// Maximum size of a test file, in bytes.
    pub const BYTES_MAX: u64 = POLICY_BYTES_MAX;

    /// Reads a policy test file.
    ///
    /// # Errors
    /// Returns [`PolicyTestError`] if the file is not a valid test.
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

    /// Returns all cases, in the order of the file.
    pub fn cases(&self) -> &[ExpectedCase] {
        &self.cases
    }
}

impl ExpectedCase {
    /// Builds the case to be judged from the request in `asked`. The change is replaced with that of this test
    /// case, and so is the agent if this test case names one.
    pub fn case(&self, asked: &Case) -> Case {
        let (declared, change) = (self.declared, self.change.clone());
        let commands = self.command.iter().cloned().collect();
        let mut actor = asked.actor.clone();
        actor.agent = self.agent.clone().or(actor.agent);
        let triggers = TriggerFound::by_name(&change);
        Case { actor, declared, change, commands, triggers, ..asked.clone() }
    }

    /// Returns true if the decision matches the expected one.
    pub fn holds(&self, decision: &Decision) -> bool {
        let first = decision.first_refusal().map(|gate| gate.gate);
        self.verdict == decision.verdict
            && self.tier.is_none_or(|tier| tier == decision.tier)
            && self.gate.is_none_or(|gate| first == Some(gate))
    }

    /// Returns the gate decision that best explains the result: the first gate that refuses, otherwise the
    /// expected gate. If the case names no gate, it is the commands gate for a command and the tier gate for a
    /// change.
    pub fn explaining_gate<'d>(&self, decision: &'d Decision) -> Option<&'d GateDecision> {
        decision.first_refusal().or_else(|| {
            let of_kind = if self.command.is_some() { GateName::Commands } else { GateName::Tier };
            let expected = self.gate.unwrap_or(of_kind);
            decision.gates.iter().find(|gate| gate.gate == expected)
        })
    }
}

/// Returns the word for a verdict in test files and their reports.
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
        let text = it.text("a command (a string)")?;
        CommandLine::parse(text).map_err(|error| it.unusable(&error))
    });
    let command = command.transpose()?;
    let change = match &command {
        // A case with a command does not have to change a file.
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
            Verdict::Allow => {
                Err(it.unusable(&"no gate refuses the change if `expect` is `allow`"))
            }
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
    let name = value.text("a string")?;
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        let expected = format!("a string of 1 to {NAME_BYTES_MAX} bytes");
        return Err(value.other_than(expected, format!("{} bytes long", name.len())));
    }
    Ok(name.to_owned())
}

/// Reads the effects of a case, and sorts them by path as in a real change.
fn effects(change: &Value<'_>) -> Result<Vec<PathEffect>, Diagnostic> {
    let mut effects = change.list("effects, such as 'modified src/lib.rs'", effect)?;
    let touched: BTreeSet<_> = effects.iter().flat_map(PathEffect::paths).collect();
    if touched.len() < effects.iter().flat_map(PathEffect::paths).count() {
        return Err(change
            .unusable(&"it lists a path more than once; a change has one effect on each path"));
    }
    if effects.is_empty() {
        return Err(change.unusable(&"it is empty, but must list at least one effect"));
    }
    effects.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(effects)
}

/// Reads an effect, which is a string or a table.
fn effect(value: &Value<'_>) -> Result<PathEffect, Diagnostic> {
    if let Some(table) = value.table() {
        return effect_of(&table);
    }
    let text = value.text("a string such as 'modified src/lib.rs', or a table")?;
    let (word, path) = text.split_once(' ').unwrap_or((text, ""));
    let kind = EFFECTS.into_iter().find(|kind| kind.as_str() == word);
    let Some(kind) = kind.filter(|_| !path.is_empty()) else {
        let words = listed(EFFECTS.iter().map(|kind| kind.as_str()), "or");
        return Err(
            value.unusable(&format_args!("expected {words}, followed by a space and the path"))
        );
    };
    if kind != EffectKind::Renamed {
        return Ok(PathEffect { effect: kind, ..touching(path_in(value, path)?) });
    }
    let (from, path) = path
        .split_once(ARROW)
        .ok_or_else(|| value.unusable(&format_args!("expected `renamed OLD{ARROW}NEW`")))?;
    let from = Some(path_in(value, from)?);
    Ok(PathEffect { effect: kind, from, ..touching(path_in(value, path)?) })
}

fn effect_of(table: &Table<'_>) -> Result<PathEffect, Diagnostic> {
    table.only(&["path", "effect", "from", "added", "removed"], Secret::No)?;
    let named = |value: Value<'_>| path_in(&value, value.text("a path (a string)")?);
    let lines = |key| table.get(key).map_or(Ok(0), |lines| lines.count());
    let effect = table.need("effect")?;
    let kind = effect.one_of(&EFFECTS, EffectKind::as_str)?;
    let from = match (kind == EffectKind::Renamed, table.get("from")) {
        (true, _) => Some(named(table.need("from")?)?),
        (false, None) => None,
        (false, Some(from)) => {
            return Err(from.unusable(&"`from` is only valid if `effect` is `renamed`"));
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
