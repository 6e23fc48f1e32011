//! Turns grounds of gate decisions into sentences. No decision depends on their wording.

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

/// Returns the sentence for a recorded ground, including grounds from other versions of the decision rules. The
/// sentence may quote external text, so escape it before printing it to a terminal.
pub fn sentence(GateRecord { ground, .. }: &GateRecord) -> String {
    match (Grounds::read(ground), ground.0.as_str()) {
        (Some(grounds), _) => grounds.to_string(),
        // Receipts from before version 7 of the decision rules record the sentence itself.
        (None, Some(sentence)) => sentence.to_owned(),
        (None, None) => format!("this version of actum cannot read the ground: {}", ground.0),
    }
}

impl Grounds {
    /// Returns the sentence without the risk tier, for output that already shows the tier.
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

/// Number of further paths or commands that the same ground applies to.
struct More(usize);

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            more => write!(f, "; the same applies to {more} more"),
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
    /// Returns the policy that the end of the sentence refers to, if any.
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
            Self::Restores => f.write_str("the change restores the previous content"),
            Self::NotProtected => f.write_str("no protected path is changed"),
            Self::Excepted { path } => {
                write!(
                    f,
                    "the operator's policy exempts `{path}`; no other protected path is changed"
                )
            }
            Self::Protected { path, root, rule, by } => {
                write!(f, "the path ")?;
                write_path(f, path, root.as_deref())?;
                write_protected(f, rule, by)
            }
            Self::ProtectedTarget { link, path, root, rule, by } => {
                write!(f, "the link `{link}` points to ")?;
                write_path(f, path, root.as_deref())?;
                write!(f, ", which")?;
                write_protected(f, rule, by)
            }
            Self::SharedPermissions { path } => {
                write!(f, "`{path}` has other hard links, whose permissions would also change")
            }
            Self::StateTarget { link } => {
                write!(
                    f,
                    "the link `{link}` points to the state of git or actum, which no run may change"
                )
            }
            Self::HiddenCharacters { path } => {
                write!(f, "the new name `{path}` contains invisible characters")
            }
            Self::EmojiCharacters { path } => {
                write!(f, "the new name `{path}` contains an emoji with invisible characters")
            }
            Self::NewState { path, trigger } => write!(f, "`{path}` {}", trigger.effect()),
            Self::InScope => f.write_str("every path is in scope"),
            Self::ScopeDenied { path, rule, .. } => {
                write!(f, "the path `{path}` is denied by the rule `{rule}`")
            }
            Self::ScopeNotAllowed { path, rules, .. } if rules.is_empty() => {
                write!(f, "the path `{path}` is not in scope, because no path is allowed")
            }
            Self::ScopeNotAllowed { path, rules, rules_omitted, .. } => {
                let rules: Vec<_> = rules.iter().map(|rule| format!("`{rule}`")).collect();
                let more = if *rules_omitted > 0 { ", …" } else { "" };
                let rules = rules.join(", ");
                write!(f, "the path `{path}` is not in any of the allowed places {rules}{more}")
            }
            Self::ScopeUnknown { path, .. } => {
                write!(f, "the path `{path}` cannot be compared with the scope")
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
                write!(f, "{count} commands would be run, but at most {max} are allowed")
            }
            Self::CommandRule { command, rule, decision, reason, policy } => {
                let decides = match decision {
                    RuleDecision::Allow => "allows",
                    RuleDecision::Ask => "requires an approval for",
                    RuleDecision::Deny => "denies",
                };
                write!(f, "the rule `{rule}` {decides} the command `{command}`")?;
                write_reason(f, reason.as_deref())?;
                policy.map_or(Ok(()), |policy| write!(f, " ({})", policy.policy()))
            }
            Self::NoCommandRule { command, nearest } => {
                write_missing_rule(f, command, nearest.as_ref())
            }
            Self::Confined { command } => {
                write!(f, "the command `{command}` runs in a sandbox, and no rule restricts it")
            }
            Self::NoCredential => f.write_str("no new content looks like a credential"),
            Self::AllowedCredentials { count } => {
                write!(f, "all suspected credentials are allowed ({count})")
            }
            Self::Credential { path, line, rule, digest } => {
                let line = line.map(|line| format!(" in line {line}")).unwrap_or_default();
                write!(f, "`{path}` contains a suspected credential{line} ({rule}, {digest})")
            }
            Self::Unscanned { path } => {
                write!(f, "`{path}` could not be scanned completely for credentials")
            }
            Self::NoLease => f.write_str("no lease is required"),
            Self::LeaseRequired { entry_point, .. } => {
                let entry_point = Harmless(entry_point.as_bytes());
                write!(f, "a request from `{entry_point}` needs a lease but has none")
            }
            Self::LeaseAllows { lease } => write!(f, "the lease {lease} allows the request"),
            Self::LeaseDenies { block, lease, problem } => {
                write!(f, "block {block} of the lease ({lease}) {problem}")
            }
            Self::NoLeaseBlock => f.write_str("the lease has no blocks"),
            Self::Tier { tier, reason } => write!(f, "{tier}: {reason}"),
            Self::NoAccessPolicies => f.write_str("no access policies are in force"),
            Self::Access { approvals, grounds } => {
                if let Some(approvals) = approvals {
                    write!(f, "{approvals} approvals are required, but only one is possible; ")?;
                }
                let grounds: Vec<_> = grounds.iter().map(ToString::to_string).collect();
                f.write_str(&grounds.join("; "))
            }
            Self::AccessUnknown { problem } => f.write_str(match problem {
                AccessUnknownKind::NoCedar => {
                    "this program does not support Cedar, the language of access policies"
                }
                AccessUnknownKind::Unreadable => "the access policies cannot be read",
                AccessUnknownKind::PathTooLong => {
                    "a path is too long relative to an enclosing root"
                }
            }),
            Self::NotApproved => f.write_str("an approval is required, but none has been given"),
            Self::NoApprovalNeeded => f.write_str("no gate requires a user's approval"),
            Self::Approved { user, plan, key } => {
                write!(f, "`{user}` approved plan {plan}, signed by key {key}")
            }
            Self::ApprovalRejected { plan, problem } => {
                let problem = match problem {
                    ApprovalMismatch::Plan => "is for a different plan",
                    ApprovalMismatch::Limits => "is for different limits",
                    ApprovalMismatch::Policy => "was given under a different policy",
                    ApprovalMismatch::Change => "is for a different change",
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
            Self::Restores => f.write_str("the change restores the content from before a run"),
            Self::Declared => f.write_str("the request declares this tier"),
            Self::OwnArea => f.write_str("all changes are in directories for agents' own work"),
            Self::Reversible => f.write_str("every change can be undone"),
            Self::ManyDeleted { files } => write!(f, "the change deletes {files} files"),
            Self::ManyChanged { files } => write!(f, "the change affects {files} files"),
            Self::SqlRows { rows, rows_max, policy } => {
                let rows_changed = if *rows == 1 { "row" } else { "rows" };
                write!(
                    f,
                    "the SQL steps change {rows} {rows_changed}, but `[sql] ask_over_rows` only allows {rows_max} without an \
                     approval ({})",
                    policy.policy()
                )
            }
            Self::External { pipelines } => write!(
                f,
                "the plan runs `{}` outside the workspace, where its effects cannot be undone",
                pipelines.join("`, `")
            ),
            Self::LinkOutside { path } => {
                write!(
                    f,
                    "the link `{path}` points outside the workspace, or its target is absolute or has `..` after a name"
                )
            }
            Self::BlockedReports { path } => write!(
                f,
                "`{path}` is a file, but task plans need a directory there for their reports, so every `actum run` \
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
                write!(f, "`{path}` has other hard links, which undo does not restore")
            }
            Self::WorldWritable { path } => {
                write!(f, "every user could write to `{path}` after the change")
            }
            Self::Trigger { path, trigger } => write!(f, "`{path}` {}", trigger.effect()),
        }
    }
}

impl fmt::Display for AccessGround {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted => f.write_str("no access policy permits the request"),
            Self::Forbidden { policy, reason } => {
                write!(f, "forbidden by {policy}")?;
                write_reason(f, reason.as_deref())
            }
            Self::Permitted { approvals, policy, reason } => {
                write!(f, "permitted by {policy}")?;
                match approvals {
                    None => {}
                    Some(1) => f.write_str(" after 1 approval")?,
                    Some(approvals) => write!(f, " after {approvals} approvals")?,
                }
                write_reason(f, reason.as_deref())
            }
            Self::NotEvaluated { policy, problem } => {
                let problem = match problem {
                    EvaluationProblem::Overflow => "a number overflows",
                    EvaluationProblem::OtherEntity => {
                        "it refers to an attribute of a different user or workspace"
                    }
                    EvaluationProblem::Function => {
                        "a function is called with an argument that it does not accept"
                    }
                    EvaluationProblem::TooDeep => "it is nested too deeply",
                    EvaluationProblem::Type => "a value has the wrong type",
                };
                write!(f, "{policy} cannot be evaluated: {problem}")
            }
            Self::NotAsked { problem } => {
                write!(f, "the access policies cannot be evaluated: {problem}")
            }
        }
    }
}

impl fmt::Display for AccessPolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.id, self.position) {
            (Some(id), _) => write!(f, "`{id}`")?,
            (None, Some(position)) => write!(f, "policy {position}")?,
            (None, None) => f.write_str("a built-in policy")?,
        }
        self.file.as_ref().map_or(Ok(()), |file| write!(f, " in `{file}`"))
    }
}

impl fmt::Display for RequestProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tier(tier) => write!(f, "there is no risk tier {tier}"),
            Self::Paths { count, max } => {
                write!(f, "the change has {count} paths, but at most {max} are supported")
            }
            Self::Count { what, count } => {
                let what = match what {
                    Counted::Files => "files",
                    Counted::Lines => "lines",
                    Counted::Deletes => "deletions",
                };
                write!(f, "{count} {what} exceed the number range of access policies")
            }
            Self::Schema => f.write_str("the request does not match the schema of the policies"),
        }
    }
}

fn write_policy(f: &mut fmt::Formatter<'_>, policy: Option<Source>) -> fmt::Result {
    policy.map_or(Ok(()), |policy| write!(f, "; see {}", policy.policy()))
}

fn write_reason(f: &mut fmt::Formatter<'_>, reason: Option<&str>) -> fmt::Result {
    reason.map_or(Ok(()), |reason| write!(f, ": {reason}"))
}

/// Writes which rule protects a path.
fn write_protected(f: &mut fmt::Formatter<'_>, rule: &PathRule, by: &Protector) -> fmt::Result {
    write!(f, " is protected by `{rule}`")?;
    match by {
        Protector::Group(id) => write!(f, " ({})", group_name(id)),
        Protector::Policy(source) => write!(f, " in {}", source.policy()),
    }
}

fn write_path(f: &mut fmt::Formatter<'_>, path: &PathName, root: Option<&str>) -> fmt::Result {
    match root {
        None => write!(f, "`{path}`"),
        Some(root) => write!(f, "`{}/{path}`", root.trim_end_matches('/')),
    }
}

/// Writes why no rule allows a command, and suggests a rule that would.
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
            "to allow exactly this command, add a `[[command]]` with `argv = {command}`, `exact = true`, \
             `decision = \"allow\"` and the command as an example in `match`"
        ),
        false => f.write_str("the command is too long to suggest a rule for it"),
    }
}

/// Returns the description of a group of protected paths, or the id itself if the group is unknown.
fn group_name(id: &str) -> &str {
    PROTECTED_GROUPS.iter().find(|group| group.id == id).map_or(id, |group| group.name)
}

/// Returns the reason of a built-in tier rule, or the id itself if the rule is unknown.
fn built_in_reason(id: &str) -> &str {
    BUILT_IN.iter().find(|rule| rule.id == id).map_or(id, |rule| rule.why)
}
