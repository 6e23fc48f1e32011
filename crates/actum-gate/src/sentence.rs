//! Sentences for grounds. No decision depends on their wording.

use std::fmt;

use actum_core::PathRule;
use actum_core::path::Harmless;
use actum_core::path_name::PathName;
use actum_record::receipt::GateRecord;

use crate::command::{CommandExcerpt, Nearest, RuleDecision};
use crate::ground::{
    AccessGround, AccessPolicyName, AccessUnknownKind, ApprovalMismatch, Counted,
    EvaluationProblem, Ground, Grounds, Protector, RequestProblem, TierReason,
};
use crate::policy::{BUILT_IN, PROTECTED_GROUPS};
use crate::source::Source;

/// Returns the sentence for a recorded ground, including one of other versions of the rules. It quotes
/// external text: escape it before printing it to a terminal.
pub fn sentence(GateRecord { ground, .. }: &GateRecord) -> String {
    match (Grounds::read(ground), ground.0.as_str()) {
        (Some(grounds), _) => grounds.to_string(),
        // Before version 7 the sentence itself was recorded.
        (None, Some(sentence)) => sentence.to_owned(),
        (None, None) => format!("a ground that this version of actum cannot read: {}", ground.0),
    }
}

impl Grounds {
    /// Returns the sentence without the tier, for output that already shows the tier.
    pub fn without_tier(&self) -> String {
        if let Ground::Tier { reason, .. } = &self.first {
            return format!("{reason}{}", More(self.more));
        }
        self.to_string()
    }
}

impl fmt::Display for Grounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, more } = self;
        if let (Ground::Access { .. }, 1..) = (first, more) {
            return write!(f, "{first}; and {more} more");
        }
        first.write(f)?;
        More(*more).fmt(f)?;
        write_policy(f, first.last_policy())
    }
}

/// Number of further paths or commands to which a ground applies.
struct More(usize);

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            more => write!(f, "; so it is with {more} more"),
        }
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)?;
        write_policy(f, self.last_policy())
    }
}

impl Ground {
    /// Returns the policy that ends the sentence.
    fn last_policy(&self) -> Option<Source> {
        match self {
            Self::ScopeDenied { policy, .. }
            | Self::ScopeNotAllowed { policy, .. }
            | Self::ScopeUnknown { policy, .. }
            | Self::Budget { policy, .. }
            | Self::LeaseRequired { policy, .. } => *policy,
            Self::Restores
            | Self::NotProtected
            | Self::Excepted { .. }
            | Self::Protected { .. }
            | Self::SharedPermissions { .. }
            | Self::ProtectedTarget { .. }
            | Self::StateTarget { .. }
            | Self::HiddenCharacters { .. }
            | Self::EmojiCharacters { .. }
            | Self::NewState { .. }
            | Self::InScope
            | Self::NoCommand
            | Self::TooManyCommands { .. }
            | Self::CommandRule { .. }
            | Self::NoCommandRule { .. }
            | Self::Confined { .. }
            | Self::NoCredential
            | Self::AllowedCredentials { .. }
            | Self::Credential { .. }
            | Self::Unscanned { .. }
            | Self::NoLease
            | Self::LeaseAllows { .. }
            | Self::LeaseDenies { .. }
            | Self::NoLeaseBlock
            | Self::Tier { .. }
            | Self::NoAccessPolicies
            | Self::Access { .. }
            | Self::AccessUnknown { .. }
            | Self::NotApproved
            | Self::NoApprovalNeeded
            | Self::Approved { .. }
            | Self::ApprovalRejected { .. } => None,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restores => f.write_str("it brings back what was there"),
            Self::NotProtected => f.write_str("no path is protected"),
            Self::Excepted { path } => {
                write!(f, "the operator's policy excepts `{path}`; no other path is protected")
            }
            Self::Protected { path, root, rule, by } => {
                write!(f, "the path ")?;
                write_path(f, path, root.as_deref())?;
                write_protected(f, rule, by)
            }
            Self::ProtectedTarget { link, path, root, rule, by } => {
                write!(f, "the link `{link}` leads to ")?;
                write_path(f, path, root.as_deref())?;
                write!(f, ", which")?;
                write_protected(f, rule, by)
            }
            Self::SharedPermissions { path } => {
                write!(f, "`{path}` has another name elsewhere, whose permissions would change too")
            }
            Self::StateTarget { link } => {
                write!(
                    f,
                    "the link `{link}` leads to the state of git or actum, which no run changes"
                )
            }
            Self::HiddenCharacters { path } => {
                write!(f, "the new name `{path}` has characters that are not shown")
            }
            Self::EmojiCharacters { path } => {
                write!(f, "the new name `{path}` has characters that belong to an emoji")
            }
            Self::NewState { path, trigger } => write!(f, "`{path}` {}", trigger.effect()),
            Self::InScope => f.write_str("every path is in scope"),
            Self::ScopeDenied { path, rule, .. } => {
                write!(f, "the path `{path}` is denied by the rule `{rule}`")
            }
            Self::ScopeNotAllowed { path, rules, .. } if rules.is_empty() => {
                write!(f, "the path `{path}` is not allowed, as no path is")
            }
            Self::ScopeNotAllowed { path, rules, rules_omitted, .. } => {
                let rules: Vec<_> = rules.iter().map(|rule| format!("`{rule}`")).collect();
                let more = if *rules_omitted > 0 { ", …" } else { "" };
                let rules = rules.join(", ");
                write!(f, "the path `{path}` is in none of the allowed places {rules}{more}")
            }
            Self::ScopeUnknown { path, .. } => {
                write!(f, "the path `{path}` cannot be compared with its places")
            }
            Self::Budget { files, loc, files_max, loc_max, .. } => {
                let limit = |max: &Option<u64>| {
                    max.map_or("no limit".to_owned(), |max| format!("limit {max}"))
                };
                let (of_files, of_loc) = (limit(files_max), limit(loc_max));
                write!(f, "files: {files} ({of_files}); changed lines: {loc} ({of_loc})")
            }
            Self::NoCommand => f.write_str("no command would be run"),
            Self::TooManyCommands { count, max } => {
                write!(f, "{count} commands would be run, and {max} is the most")
            }
            Self::CommandRule { command, rule, decision, reason, policy } => {
                let decides = match decision {
                    RuleDecision::Allow => "allows it",
                    RuleDecision::Ask => "asks for a person's agreement",
                    RuleDecision::Deny => "denies it",
                };
                write!(f, "the command `{command}`: the rule `{rule}` {decides}")?;
                write_reason(f, reason.as_deref())?;
                policy.map_or(Ok(()), |policy| write!(f, " ({})", policy.policy()))
            }
            Self::NoCommandRule { command, nearest } => {
                write_missing_rule(f, command, nearest.as_ref())
            }
            Self::Confined { command } => {
                write!(f, "the command `{command}` is confined, and no rule holds it back")
            }
            Self::NoCredential => f.write_str("nothing new looks like one"),
            Self::AllowedCredentials { count } => {
                write!(f, "all that looks like one is allowed ({count})")
            }
            Self::Credential { path, line, rule, digest } => {
                let line = line.map(|line| format!(", line {line},")).unwrap_or_default();
                write!(f, "`{path}`{line} looks like a credential ({rule}, {digest})")
            }
            Self::Unscanned { path } => {
                write!(f, "`{path}` could not be looked through to the end")
            }
            Self::NoLease => f.write_str("none is required"),
            Self::LeaseRequired { entry_point, .. } => {
                let entry_point = Harmless(entry_point.as_bytes());
                write!(f, "a request by `{entry_point}` needs a lease, and has none")
            }
            Self::LeaseAllows { lease } => write!(f, "the lease {lease} allows it"),
            Self::LeaseDenies { block, lease, problem } => {
                write!(f, "block {block} of the lease, {lease}, {problem}")
            }
            Self::NoLeaseBlock => f.write_str("the lease has no block"),
            Self::Tier { tier, reason } => write!(f, "{tier}: {reason}"),
            Self::NoAccessPolicies => f.write_str("no access policies are in force"),
            Self::Access { approvals, grounds } => {
                if let Some(approvals) = approvals {
                    write!(f, "{approvals} people would have to agree, and only one can; ")?;
                }
                let grounds: Vec<_> = grounds.iter().map(ToString::to_string).collect();
                f.write_str(&grounds.join("; "))
            }
            Self::AccessUnknown { problem } => f.write_str(match problem {
                AccessUnknownKind::NoCedar => {
                    "this program does not know Cedar, in which access policies are written"
                }
                AccessUnknownKind::Unreadable => "the access policies cannot be read",
                AccessUnknownKind::PathTooLong => {
                    "a path is too long as seen from a root around the workspace"
                }
            }),
            Self::NotApproved => f.write_str("a person has to agree, and nobody has yet"),
            Self::NoApprovalNeeded => f.write_str("no gate asks for a person"),
            Self::Approved { user, plan, key } => {
                write!(f, "`{user}` agreed to plan {plan}, signed by the key {key}")
            }
            Self::ApprovalRejected { plan, problem } => {
                let problem = match problem {
                    ApprovalMismatch::Plan => "is for another plan",
                    ApprovalMismatch::Limits => "is for other limits",
                    ApprovalMismatch::Policy => "was given under another policy",
                    ApprovalMismatch::Change => "is for another change",
                    ApprovalMismatch::Expired => "has expired",
                };
                write!(f, "the approval of plan {plan} {problem}")
            }
        }
    }
}

impl fmt::Display for TierReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoChange => f.write_str("nothing changes"),
            Self::Restores => f.write_str("it brings back what was there before a run"),
            Self::Declared => f.write_str("the request asks for this tier"),
            Self::OwnArea => f.write_str("all of it lies where agents keep their own work"),
            Self::Reversible => f.write_str("all of it can be taken back"),
            Self::ManyDeleted { files } => write!(f, "it deletes {files} files"),
            Self::ManyChanged { files } => write!(f, "it changes {files} files"),
            Self::SqlRows { rows, rows_max, policy } => {
                let rows_changed = if *rows == 1 { "row" } else { "rows" };
                write!(
                    f,
                    "its SQL steps change {rows} {rows_changed}, and `[sql] ask_over_rows` allows {rows_max} without an \
                     approval ({})",
                    policy.policy()
                )
            }
            Self::External { pipelines } => write!(
                f,
                "it runs `{}` outside of the workspace, and nothing takes back what is done there",
                pipelines.join("`, `")
            ),
            Self::LinkOutside { path } => {
                write!(
                    f,
                    "the link `{path}` leads out of the workspace, or its target is absolute or has `..` after a name"
                )
            }
            Self::BlockedReports { path } => write!(
                f,
                "`{path}` is a file where task plans need a directory for their reports, so every `actum run` here \
                 would fail"
            ),
            Self::BuiltIn { path, root, rule } => {
                write_path(f, path, root.as_deref())?;
                write!(f, ": {}", built_in_reason(rule))
            }
            Self::Policy { path, root, why, policy } => {
                write_path(f, path, root.as_deref())?;
                write!(f, ": {why} ({})", policy.policy())
            }
            Self::HardLinked { path } => {
                write!(f, "`{path}` has another name elsewhere, and undo does not tie them again")
            }
            Self::WorldWritable { path } => {
                write!(f, "every user may write `{path}` afterwards")
            }
            Self::Trigger { path, trigger } => write!(f, "`{path}` {}", trigger.effect()),
        }
    }
}

impl fmt::Display for AccessGround {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted => f.write_str("no policy permits it"),
            Self::Forbidden { policy, reason } => {
                write!(f, "forbidden by {policy}")?;
                write_reason(f, reason.as_deref())
            }
            Self::Permitted { approvals, policy, reason } => {
                match approvals {
                    None => {}
                    Some(1) => f.write_str("once 1 person agreed, ")?,
                    Some(approvals) => write!(f, "once {approvals} people agreed, ")?,
                }
                write!(f, "permitted by {policy}")?;
                write_reason(f, reason.as_deref())
            }
            Self::NotEvaluated { policy, problem } => {
                let problem = match problem {
                    EvaluationProblem::Overflow => "a number in it becomes too large",
                    EvaluationProblem::OtherEntity => {
                        "it speaks of an attribute of somebody else, or of another workspace"
                    }
                    EvaluationProblem::Function => {
                        "a function in it is given what it does not take"
                    }
                    EvaluationProblem::TooDeep => "it is too deep",
                    EvaluationProblem::Type => "a value in it is not of its kind",
                };
                write!(f, "{policy} cannot be evaluated: {problem}")
            }
            Self::NotAsked { problem } => write!(f, "the policies cannot be asked: {problem}"),
        }
    }
}

impl fmt::Display for AccessPolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.id, self.position) {
            (Some(id), _) => write!(f, "`{id}`")?,
            (None, Some(position)) => write!(f, "policy {position}")?,
            (None, None) => f.write_str("a policy of actum")?,
        }
        self.file.as_ref().map_or(Ok(()), |file| write!(f, " of `{file}`"))
    }
}

impl fmt::Display for RequestProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tier(tier) => write!(f, "there is no risk tier {tier}"),
            Self::Paths { count, max } => {
                write!(f, "{count} paths are more than {max}, which is the most")
            }
            Self::Count { what, count } => {
                let what = match what {
                    Counted::Files => "files",
                    Counted::Lines => "lines",
                    Counted::Deletes => "deletes",
                };
                write!(f, "{count} {what} are more than a policy can count to")
            }
            Self::Schema => {
                f.write_str("what is told of the change does not agree with their schema")
            }
        }
    }
}

fn write_policy(f: &mut fmt::Formatter<'_>, policy: Option<Source>) -> fmt::Result {
    policy.map_or(Ok(()), |policy| write!(f, "; so says {}", policy.policy()))
}

fn write_reason(f: &mut fmt::Formatter<'_>, reason: Option<&str>) -> fmt::Result {
    reason.map_or(Ok(()), |reason| write!(f, ": {reason}"))
}

/// Writes the rule that protects a path.
fn write_protected(f: &mut fmt::Formatter<'_>, rule: &PathRule, by: &Protector) -> fmt::Result {
    write!(f, " is protected by `{rule}`")?;
    match by {
        Protector::Group(id) => write!(f, ", {}", group_name(id)),
        Protector::Policy(source) => write!(f, " of {}", source.policy()),
    }
}

fn write_path(f: &mut fmt::Formatter<'_>, path: &PathName, root: Option<&str>) -> fmt::Result {
    match root {
        None => write!(f, "`{path}`"),
        Some(root) => write!(f, "`{}/{path}`", root.trim_end_matches('/')),
    }
}

/// Writes the reason why no rule allows a command, and a rule that would.
fn write_missing_rule(
    f: &mut fmt::Formatter<'_>,
    command: &CommandExcerpt,
    nearest: Option<&Nearest>,
) -> fmt::Result {
    write!(f, "no rule allows the command `{command}`: ")?;
    match nearest {
        None => f.write_str("no rule names its program; ")?,
        Some(nearest) => {
            write!(f, "the nearest rule, `{}`, {}; ", nearest.rule, nearest.parting(command))?;
        }
    }
    match command.is_whole() {
        true => write!(
            f,
            "a `[[command]]` with `argv = {command}`, `exact = true`, `decision = \"allow\"` and the command as its \
             example in `match` would allow exactly this"
        ),
        false => f.write_str("the command is too long to be shown as a rule"),
    }
}

/// Returns the name of a group of protected paths, or the id of an unknown group.
fn group_name(id: &str) -> &str {
    PROTECTED_GROUPS.iter().find(|group| group.id == id).map_or(id, |group| group.name)
}

/// Returns the reason why a built-in rule raises the tier, or the id of an unknown rule.
fn built_in_reason(id: &str) -> &str {
    BUILT_IN.iter().find(|rule| rule.id == id).map_or(id, |rule| rule.why)
}
