//! Grounds of gate decisions as structured data, which is decided, recorded and hashed field by field.
//! `sentence.rs` turns them into sentences, so that the wording can change without a new version of the
//! decision rules.

mod access;
mod lease;

use actum_core::canonical::{self, CanonicalError};
use actum_core::path_name::PathName;
use actum_core::{Digest, PathRule, RiskTier, RunId};
use actum_record::lease::LeaseId;
use actum_record::receipt::RecordedGround;
use actum_record::signer::KeyId;
use serde::{Deserialize, Serialize};

use crate::command::{CommandExcerpt, CommandJudgement, Nearest, RuleDecision, RuleExcerpt};
use crate::command_line::CommandLine;
use crate::source::Source;
use crate::trigger::Trigger;

pub use lease::{LeaseProblem, QuotaName};

pub use access::{
    AccessGround, AccessPolicyName, AccessUnknownKind, Counted, EvaluationProblem, RequestProblem,
};

/// Version of the rules that turn a bundle into a decision. It increases if a gate decides differently, or if
/// the kinds of grounds or their fields change. It also increases with each version of Cedar, which may
/// evaluate access policies differently.
pub const DECISION_SEMANTICS: u32 = 7;

/// Ground of a gate's verdict, and the number of similar grounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grounds {
    /// Ground that was found first.
    #[serde(flatten)]
    pub first: Ground,
    /// Number of further paths, commands or grounds for which the gate reached the same verdict.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
}

/// Reason for a gate's verdict. In JSON, it is an object whose `kind` is the name of the variant in snake case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ground {
    /// The gate does not judge an undo that only restores the state before a run.
    Restores,

    /// Protected gate: no changed path is protected.
    NotProtected,
    /// Protected gate: the operator's policy makes an exception for a path, and no other changed path is
    /// protected.
    Excepted {
        /// Path that is exempt from protection.
        path: PathName,
    },
    /// Protected gate: a rule protects a changed path.
    Protected {
        /// Path of the file, relative to the workspace.
        path: PathName,
        /// Root of the workspace, if the rule matches only together with names above the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// Path pattern that matches.
        rule: PathRule,
        /// Origin of the rule.
        by: Protector,
    },
    /// Protected gate: changing permission bits would affect all names of a hard-linked file.
    SharedPermissions {
        /// One of the names of the file.
        path: PathName,
    },
    /// Protected gate: a symbolic link points to a protected path.
    ProtectedTarget {
        /// Path of the symbolic link.
        link: PathName,
        /// Path in the workspace that the link points to.
        path: PathName,
        /// Root of the workspace, if the rule matches only together with names above the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// Path pattern that matches the target.
        rule: PathRule,
        /// Origin of the rule.
        by: Protector,
    },
    /// Protected gate: a symbolic link points to state of git or actum.
    StateTarget {
        /// Path of the symbolic link.
        link: PathName,
    },
    /// Protected gate: a new name contains invisible characters.
    HiddenCharacters {
        /// Path with the new name.
        path: PathName,
    },
    /// Protected gate: a new name contains invisible characters that are part of an emoji.
    EmojiCharacters {
        /// Path with the new name.
        path: PathName,
    },
    /// Protected gate: a file would turn its directory into a repository or a home of ledgers.
    NewState {
        /// Path of the file.
        path: PathName,
        /// Program that acts on the directory, and the effect of the file.
        trigger: Trigger,
    },

    /// Scope gate: every path is within all scopes.
    InScope,
    /// Scope gate: a rule denies a path.
    ScopeDenied {
        /// Denied path, relative to the root of the scope.
        path: PathName,
        /// Rule that denies the path.
        rule: PathRule,
        /// Policy that sets the scope, or `None` if the request does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },
    /// Scope gate: no rule allows a path.
    ScopeNotAllowed {
        /// Path that no rule allows, relative to the root of the scope.
        path: PathName,
        /// First few rules that allow paths.
        rules: Vec<PathRule>,
        /// Number of further rules that allow paths.
        #[serde(default, skip_serializing_if = "is_zero")]
        rules_omitted: usize,
        /// Policy that sets the scope, or `None` if the request does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },
    /// Scope gate: a path cannot be compared with the scope, for example because it would be too long.
    ScopeUnknown {
        /// Path of the file or link, relative to the workspace.
        path: PathName,
        /// Policy that sets the scope, or `None` if the request does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },

    /// Budget gate: size of the change and the limits that it was compared with.
    Budget {
        /// Number of changed files.
        files: u64,
        /// Number of added and removed lines.
        loc: u64,
        /// Maximum number of files, or `None` if there is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        files_max: Option<u64>,
        /// Maximum number of lines, or `None` if there is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loc_max: Option<u64>,
        /// Policy whose limit is exceeded. `None` if the request's own limit or no limit is exceeded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },

    /// Commands gate: the change runs no command.
    NoCommand,
    /// Commands gate: the change has too many commands.
    TooManyCommands {
        /// Number of commands of the change.
        count: usize,
        /// Maximum number of commands in one change.
        max: usize,
    },
    /// Commands gate: a rule decides about a command.
    CommandRule {
        /// Command that the rule matches.
        command: CommandExcerpt,
        /// Rule that decides.
        rule: RuleExcerpt,
        /// Decision of the rule.
        decision: RuleDecision,
        /// Reason given by the author of the rule.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Policy that contains the rule.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },
    /// Commands gate: no rule allows a command.
    NoCommandRule {
        /// Command without a rule.
        command: CommandExcerpt,
        /// Most similar rule, or `None` if no rule names the program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nearest: Option<Nearest>,
    },
    /// Commands gate: a command runs in a sandbox that captures its effects, and no rule restricts it.
    Confined {
        /// Command that runs in the sandbox.
        command: CommandExcerpt,
    },

    /// Credentials gate: no new content looks like a credential.
    NoCredential,
    /// Credentials gate: the policy allows all suspected credentials.
    AllowedCredentials {
        /// Number of suspected credentials.
        count: usize,
    },
    /// Credentials gate: new content looks like a credential.
    Credential {
        /// Path of the file.
        path: PathName,
        /// Line number, starting at 1, or `None` if only a part of the file was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        /// Id of the scan rule that matches.
        rule: String,
        /// Digest of the suspected secret.
        digest: Digest,
    },
    /// Credentials gate: new content could not be scanned completely.
    Unscanned {
        /// Path of the file.
        path: PathName,
    },

    /// Lease gate: the request has no lease and needs none.
    NoLease,
    /// Lease gate: the request has no lease but needs one.
    LeaseRequired {
        /// Entry point that received the request.
        entry_point: String,
        /// Policy that requires a lease, or `None` if the entry point always needs one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },
    /// Lease gate: the lease allows the request.
    LeaseAllows {
        /// Id of the last block of the lease.
        lease: LeaseId,
    },
    /// Lease gate: the request violates a term of a lease block.
    LeaseDenies {
        /// Number of the block, starting at 1.
        block: u64,
        /// Id of the block.
        lease: LeaseId,
        /// Term that the request violates.
        problem: LeaseProblem,
    },
    /// Lease gate: the lease has no blocks.
    NoLeaseBlock,

    /// Tier gate: risk tier of the change.
    Tier {
        /// Risk tier of the change.
        tier: RiskTier,
        /// Reason for the risk tier.
        reason: TierReason,
    },

    /// Access gate: no access policies are in force.
    NoAccessPolicies,
    /// Access gate: decision of the access policies.
    Access {
        /// Number of approvals that a permit requires, or `None` if one is enough.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approvals: Option<u32>,
        /// First few grounds of the decision.
        grounds: Vec<AccessGround>,
    },
    /// Access gate: access policies exist but cannot be evaluated.
    AccessUnknown {
        /// Reason why the policies cannot be evaluated.
        problem: AccessUnknownKind,
    },

    /// Approval gate: an approval is required but missing.
    NotApproved,
    /// Approval gate: no approval is required.
    NoApprovalNeeded,
    /// Approval gate: exactly this change was approved.
    Approved {
        /// User who approved the change.
        user: String,
        /// Plan that was approved.
        plan: RunId,
        /// Key that signed the approval.
        key: KeyId,
    },
    /// Approval gate: an approval exists but does not apply to this change.
    ApprovalRejected {
        /// Plan that was approved.
        plan: RunId,
        /// Reason why the approval does not apply.
        problem: ApprovalMismatch,
    },
}

/// Origin of a rule that protects a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protector {
    /// Built-in group of protected paths, by id.
    Group(String),
    /// Policy that contains the rule.
    Policy(Source),
}

/// Reason for the risk tier of a change. Its JSON form follows the rules of [`Ground`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TierReason {
    /// The change has no effect.
    NoChange,
    /// The change only restores the state before a run.
    Restores,
    /// The request declares this tier.
    Declared,
    /// All changes are in directories where agents keep their own work.
    OwnArea,
    /// All changes can be undone.
    Reversible,
    /// The change deletes many files.
    ManyDeleted {
        /// Number of deleted files.
        files: usize,
    },
    /// The change affects many files.
    ManyChanged {
        /// Number of changed files.
        files: usize,
    },
    /// SQL steps change more rows than a policy allows without an approval.
    SqlRows {
        /// Number of rows that the steps change.
        rows: u64,
        /// Maximum number of rows that may be changed without an approval.
        rows_max: u64,
        /// Policy that sets the maximum.
        policy: Source,
    },
    /// The change starts pipelines with external effects, which cannot be undone.
    External {
        /// Names of the pipelines, in the order in which they run.
        pipelines: Vec<String>,
    },
    /// A new file is at a path where task reports need a directory.
    BlockedReports {
        /// Path of the new file.
        path: PathName,
    },
    /// A symbolic link may point outside the workspace.
    LinkOutside {
        /// Path of the symbolic link.
        path: PathName,
    },
    /// A built-in rule matches a path.
    BuiltIn {
        /// Path that matches, relative to the workspace.
        path: PathName,
        /// Root of the workspace, if the rule matches only together with names above the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// Id of the built-in rule.
        rule: String,
    },
    /// A rule of a policy matches a path.
    Policy {
        /// Path that matches, relative to the workspace.
        path: PathName,
        /// Root of the workspace, if the rule matches only together with names above the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// Reason given by the author of the rule.
        why: String,
        /// Policy that contains the rule.
        policy: Source,
    },
    /// A file has other hard links, which an undo does not restore.
    HardLinked {
        /// One of the names of the file.
        path: PathName,
    },
    /// The change makes a path writable for every user.
    WorldWritable {
        /// Path that becomes world-writable.
        path: PathName,
    },
    /// A changed file is one that another program, such as a CI service, runs or obeys automatically.
    Trigger {
        /// Path of the changed file.
        path: PathName,
        /// Program that acts on the file, and its effect.
        trigger: Trigger,
    },
}

/// Reason why an approval does not apply to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMismatch {
    /// The approval is for a different plan.
    Plan,
    /// The approval is for different limits.
    Limits,
    /// The approval was given under a different policy.
    Policy,
    /// The approval is for a different change.
    Change,
    /// The approval has expired.
    Expired,
}

impl Grounds {
    /// Returns the grounds in the form that receipts record.
    ///
    /// # Errors
    /// Returns [`CanonicalError`], which never happens for the grounds of a gate.
    pub fn record(&self) -> Result<RecordedGround, CanonicalError> {
        canonical::read(&canonical::to_vec(self)?).map(RecordedGround)
    }

    /// Reads recorded grounds. Returns `None` for sentences recorded before version 7 of the rules, and for
    /// kinds or fields of a later version.
    pub fn read(recorded: &RecordedGround) -> Option<Self> {
        let read = Self::deserialize(&recorded.0).ok()?;
        // An unknown field could change the meaning of the ground.
        (read.record().as_ref() == Ok(recorded)).then_some(read)
    }
}

impl Ground {
    /// Returns the ground for the judgement of a command.
    pub fn of_command(line: &CommandLine, judgement: &CommandJudgement) -> Self {
        let command = line.into();
        let CommandJudgement { rule, policy, nearest, .. } = judgement;
        match rule {
            Some(rule) => Self::CommandRule {
                command,
                rule: rule.into(),
                decision: rule.decision,
                reason: rule.reason.clone(),
                policy: *policy,
            },
            None => Self::NoCommandRule { command, nearest: nearest.clone() },
        }
    }
}

impl From<Ground> for Grounds {
    fn from(first: Ground) -> Self {
        Self { first, more: 0 }
    }
}

/// Returns true if serde should omit a count.
fn is_zero(count: &usize) -> bool {
    *count == 0
}
