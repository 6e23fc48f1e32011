//! Reads the command rules of a policy (`[[command]]`) and applies them to commands.

use serde::{Deserialize, Serialize};

use super::diagnostic::Diagnostic;
use super::file::{PolicyFileError, RULES_MAX};
use super::written::{Secret, Table, Value};
use super::{Ignored, Policy};
use crate::command::{
    CommandJudgement, CommandLine, CommandRule, CommandRuleProblem, CommandRules, LoadedRule,
    NarrowedRules, RuleArgument, RuleDecision,
};

/// Maximum length of a rule's reason in bytes. It is limited because receipts contain the reason.
const REASON_BYTES_MAX: usize = 1000;

/// Command rules from a single policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerCommands {
    /// Rules that can allow and restrict commands.
    pub rules: CommandRules,
    /// Rules that can only restrict commands, because they are from a workspace that the operator does not
    /// trust.
    pub narrowing: CommandRules,
}

impl LayerCommands {
    /// Removes the rules that allow commands. Returns their number, or `None` if none was removed.
    pub(super) fn narrow(&mut self) -> Option<Ignored> {
        let rules = std::mem::take(&mut self.rules);
        let all = rules.rules().count();
        self.narrowing = rules.restraining();
        let ignored = all - self.narrowing.rules().count();
        (ignored > 0).then_some(Ignored::Commands(ignored))
    }
}

impl Policy {
    /// Judges whether a command may run, and reports the deciding rule and its policy. A command is denied
    /// unless a rule that can allow commands matches it.
    pub fn judge_command(&self, line: &CommandLine) -> CommandJudgement {
        self.named(self.command_rules().judge(line))
    }

    /// Returns the restriction that applies to a command whose effects are all captured, or `None` if no rule
    /// restricts the command.
    pub fn restrain_command(&self, line: &CommandLine) -> Option<CommandJudgement> {
        self.command_rules().restraint(line).map(|judgement| self.named(judgement))
    }

    fn command_rules(&self) -> NarrowedRules<'_> {
        let layers = self.layers();
        let rules = NarrowedRules::new(layers.iter().map(|layer| &layer.commands.rules));
        let narrowing = layers.iter().map(|layer| &layer.commands.narrowing);
        narrowing.fold(rules, NarrowedRules::narrowed_by)
    }

    /// Adds the policy that contains the deciding rule to a judgement.
    fn named(&self, mut judgement: CommandJudgement) -> CommandJudgement {
        if let Some(rule) = &judgement.rule {
            let has = |rules: &CommandRules| rules.rules().any(|it| it == rule);
            let mut layers = self.layers().iter();
            let layer =
                layers.find(|layer| has(&layer.commands.rules) || has(&layer.commands.narrowing));
            judgement.policy = layer.map(|layer| layer.source);
        }
        judgement
    }
}

/// Reads the command rules of a file, and checks each rule against its examples.
pub(super) fn rules(root: &Table<'_>) -> Result<CommandRules, PolicyFileError> {
    let tables = root.tables("command")?;
    let too_many = || PolicyFileError::TooMany { kind: "[[command]]", rules: tables.len() };
    if tables.len() > RULES_MAX {
        return Err(too_many());
    }
    let rules = tables
        .iter()
        .map(|table| LoadedRule::new(rule(table)?).map_err(|problem| mistake(table, &problem)));
    let rules = rules.collect::<Result<Vec<_>, Diagnostic>>()?;
    CommandRules::from_rules(rules).map_err(|_| too_many())
}

fn rule(table: &Table<'_>) -> Result<CommandRule, Diagnostic> {
    table.only(&["argv", "exact", "decision", "reason", "match", "not_match"], Secret::No)?;
    let decisions = [RuleDecision::Allow, RuleDecision::Ask, RuleDecision::Deny];
    let examples = |key| -> Result<Vec<String>, Diagnostic> {
        let text = |it: &Value<'_>| Ok(it.text("a command (a string)")?.to_owned());
        Ok(table.list(key, "commands", text)?.unwrap_or_default())
    };
    let exact = table.get("exact").map_or(Ok(false), |it| it.truth())?;
    Ok(CommandRule {
        argv: table.need("argv")?.list("arguments", argument)?,
        extent: exact.into(),
        decision: table.need("decision")?.one_of(&decisions, RuleDecision::as_str)?,
        reason: table.get("reason").map(|it| reason(&it)).transpose()?,
        matches: examples("match")?,
        not_match: examples("not_match")?,
    })
}

/// Reads an argument of a command rule, which is a string or a list of alternatives.
fn argument(place: &Value<'_>) -> Result<RuleArgument, Diagnostic> {
    if !place.is_list() {
        return Ok(place.text("an argument (a string) or a list of arguments")?.into());
    }
    let text = |it: &Value<'_>| Ok(it.text("an argument (a string)")?.to_owned());
    let all = place.list("arguments", text)?;
    let count = all.len();
    let argument = RuleArgument::one_of(all);
    match argument.alternatives().len() == count {
        true => Ok(argument),
        false => Err(place.unusable(&"it lists the same alternative more than once")),
    }
}

fn reason(value: &Value<'_>) -> Result<String, Diagnostic> {
    let reason = value.text("a string")?;
    match reason.len() {
        1..=REASON_BYTES_MAX => Ok(reason.to_owned()),
        bytes => {
            let expected = format!("a string of 1 to {REASON_BYTES_MAX} bytes");
            Err(value.other_than(expected, format!("{bytes} bytes long")))
        }
    }
}

/// Builds the diagnostic for an invalid rule, and positions it at the key that has the problem.
fn mistake(table: &Table<'_>, problem: &CommandRuleProblem) -> Diagnostic {
    // Finds the failing example in the list, so that the diagnostic refers to its line.
    let example = |key, found: &str| {
        let is_it = |it: &Value<'_>| match it.text("")? == found {
            true => Err(it.unusable(problem)),
            false => Ok(()),
        };
        table.list(key, "commands", is_it).err()
    };
    let examples =
        |key| table.list(key, "commands", |_| Ok(())).ok().flatten().map_or(0, |it| it.len());
    let (guilty, key) = match problem {
        CommandRuleProblem::NoMatch { example: text } => (example("match", text), "match"),
        CommandRuleProblem::Match { example: text } => (example("not_match", text), "not_match"),
        CommandRuleProblem::Unreadable { example: text, .. } => {
            (example("match", text).or_else(|| example("not_match", text)), "match")
        }
        CommandRuleProblem::Examples { count } if *count == examples("match") => (None, "match"),
        CommandRuleProblem::Examples { .. } => (None, "not_match"),
        CommandRuleProblem::NoExample => (None, "decision"),
        CommandRuleProblem::Line(_)
        | CommandRuleProblem::Alternatives { .. }
        | CommandRuleProblem::Open(_) => (None, "argv"),
    };
    guilty.unwrap_or_else(|| match table.need(key) {
        Ok(value) => value.unusable(problem),
        Err(mistake) => mistake,
    })
}
