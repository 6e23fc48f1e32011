//! Grounds of gates as data: they are decided, recorded and hashed as fields. `sentence.rs` makes sentences
//! from them, so that the wording can change without another version of the rules.

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

/// Version of the rules that lead from a bundle to a decision. It increases when a gate decides differently,
/// or when kinds of grounds or their fields change. It also increases with the version of Cedar, which may
/// judge access policies differently.
pub const DECISION_SEMANTICS: u32 = 7;

/// Ground of one gate, and the number of further ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grounds {
    /// First ground found.
    #[serde(flatten)]
    pub first: Ground,
    /// Number of further paths, commands or grounds of the same gate with the same verdict.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
}

/// Reason why a gate allows, denies or asks. In JSON it is an object whose `kind` is the variant in snake case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ground {
    /// An undo restores the state before a run, so the gate does not judge it.
    Restores,

    /// Protected: no changed path is protected.
    NotProtected,
    /// Protected: the operator's policy excepts a path, and no other path is protected.
    Excepted {
        /// Excepted path.
        path: PathName,
    },
    /// Protected: a rule protects a path.
    Protected {
        /// Path in the workspace.
        path: PathName,
        /// Root of the workspace, if the rule matches only together with the names above the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// Pattern that matches.
        rule: PathRule,
        /// Owner of the rule.
        by: Protector,
    },
    /// Protected: permission bits would change for all names of a hard-linked file.
    SharedPermissions {
        /// One of its names.
        path: PathName,
    },
    /// Protected: a symbolic link points to a protected path.
    ProtectedTarget {
        /// Path of the link.
        link: PathName,
        /// Path in the workspace that it points to.
        path: PathName,
        /// Same as in [`Ground::Protected`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// Rule that covers the path.
        rule: PathRule,
        /// Origin of the rule.
        by: Protector,
    },
    /// Protected: a symbolic link points into the state of git or actum.
    StateTarget {
        /// Path of the link.
        link: PathName,
    },
    /// Protected: a new name has invisible characters.
    HiddenCharacters {
        /// New name.
        path: PathName,
    },
    /// Protected: a new name has invisible characters that belong to an emoji.
    EmojiCharacters {
        /// New name.
        path: PathName,
    },
    /// Protected: a file would turn its directory into one that no change may make.
    NewState {
        /// Path of the file.
        path: PathName,
        /// Trigger that the directory would become.
        trigger: Trigger,
    },

    /// Scope: every path is in all scopes.
    InScope,
    /// Scope: a rule denies a path.
    ScopeDenied {
        /// Path as seen from the root of the scope.
        path: PathName,
        /// Rule that denies it.
        rule: PathRule,
        /// Policy that has the scope; absent for the scope of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },
    /// Scope: no rule allows a path.
    ScopeNotAllowed {
        /// Path as seen from the root of the scope.
        path: PathName,
        /// First rules that allow something.
        rules: Vec<PathRule>,
        /// Further rules.
        #[serde(default, skip_serializing_if = "is_zero")]
        rules_omitted: usize,
        /// Same as in [`ScopeDenied`](Self::ScopeDenied).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },
    /// Scope: a path is too long to be seen from the root of the scope.
    ScopeUnknown {
        /// Path in the workspace.
        path: PathName,
        /// Same as in [`ScopeDenied`](Self::ScopeDenied).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },

    /// Budget: size of the change, and the limits it was compared with.
    Budget {
        /// Changed files.
        files: u64,
        /// Added and removed lines.
        loc: u64,
        /// Maximum number of files; no limit if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        files_max: Option<u64>,
        /// Maximum number of lines; no limit if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loc_max: Option<u64>,
        /// Policy whose limit is exceeded; absent if none is exceeded, or if it is the limit of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },

    /// Commands: no command would be run.
    NoCommand,
    /// Commands: more of them than one change may have.
    TooManyCommands {
        /// Number of commands.
        count: usize,
        /// Maximum number.
        max: usize,
    },
    /// Commands: a rule decides about a command.
    CommandRule {
        /// Command.
        command: CommandExcerpt,
        /// Rule.
        rule: RuleExcerpt,
        /// Decision of the rule.
        decision: RuleDecision,
        /// Reason that its author gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Policy that has the rule.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },
    /// Commands: no rule allows a command.
    NoCommandRule {
        /// Command.
        command: CommandExcerpt,
        /// Nearest rule; absent if none names the program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nearest: Option<Nearest>,
    },
    /// Commands: a command is confined, and no rule restrains it.
    Confined {
        /// Command.
        command: CommandExcerpt,
    },

    /// Credentials: nothing new looks like one.
    NoCredential,
    /// Credentials: the policy allows all suspected ones.
    AllowedCredentials {
        /// Number of suspected credentials.
        count: usize,
    },
    /// Credentials: new content looks like one.
    Credential {
        /// File.
        path: PathName,
        /// Line, counted from 1; absent if only a part of the file was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        /// Id of the rule that matches.
        rule: String,
        /// Digest of the secret.
        digest: Digest,
    },
    /// Credentials: new content could not be scanned to its end.
    Unscanned {
        /// File.
        path: PathName,
    },

    /// Lease: none was given, and none is required.
    NoLease,
    /// Lease: none was given, and one is required.
    LeaseRequired {
        /// Entry point that received the request.
        entry_point: String,
        /// Policy that requires it; absent if the entry point always needs one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Source>,
    },
    /// Lease: it allows the request.
    LeaseAllows {
        /// Id of its last block.
        lease: LeaseId,
    },
    /// Lease: a term of one of its blocks is not met.
    LeaseDenies {
        /// Number of the block, counted from 1.
        block: u64,
        /// Id of the block.
        lease: LeaseId,
        /// Term.
        problem: LeaseProblem,
    },
    /// Lease: it has no block.
    NoLeaseBlock,

    /// Tier: risk tier of the change.
    Tier {
        /// Tier.
        tier: RiskTier,
        /// Reason for the tier.
        reason: TierReason,
    },

    /// Access: no access policies are in force.
    NoAccessPolicies,
    /// Access: answer of the access policies.
    Access {
        /// Number of approvals that a permit requires; absent if one is enough.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approvals: Option<u32>,
        /// First grounds of the answer.
        grounds: Vec<AccessGround>,
    },
    /// Access: access policies exist and cannot be evaluated.
    AccessUnknown {
        /// Reason why they cannot be evaluated.
        problem: AccessUnknownKind,
    },

    /// Approval: required and missing.
    NotApproved,
    /// Approval: not required.
    NoApprovalNeeded,
    /// Approval: given for exactly this change.
    Approved {
        /// Approver.
        user: String,
        /// Plan.
        plan: RunId,
        /// Key that signed it.
        key: KeyId,
    },
    /// Approval: given, but invalid.
    ApprovalRejected {
        /// Plan.
        plan: RunId,
        /// Reason why it is invalid.
        problem: ApprovalMismatch,
    },
}

/// Owner of a rule that protects a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protector {
    /// Built-in group of that id.
    Group(String),
    /// Policy.
    Policy(Source),
}

/// Reason for the risk tier of a change. In JSON it has the same form as [`Ground`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TierReason {
    /// Nothing changes.
    NoChange,
    /// Restores the state before a run.
    Restores,
    /// Declared as that tier.
    Declared,
    /// All changes are in the areas where agents keep their own work.
    OwnArea,
    /// All changes can be undone.
    Reversible,
    /// Deletes many files.
    ManyDeleted {
        /// Number of files.
        files: usize,
    },
    /// Changes many files.
    ManyChanged {
        /// Number of files.
        files: usize,
    },
    /// SQL steps change more rows than a policy allows without an approval.
    SqlRows {
        /// Number of rows that they change.
        rows: u64,
        /// Maximum number of rows without an approval.
        rows_max: u64,
        /// Policy.
        policy: Source,
    },
    /// Pipelines have external effects, which nothing undoes.
    External {
        /// Names of the pipelines, in the order in which they run.
        pipelines: Vec<String>,
    },
    /// A new file takes the path of a directory that task plans need for their reports.
    BlockedReports {
        /// Path of the file.
        path: PathName,
    },
    /// A symbolic link points outside the workspace.
    LinkOutside {
        /// Path of the link.
        path: PathName,
    },
    /// A built-in rule matches.
    BuiltIn {
        /// Path in the workspace.
        path: PathName,
        /// Same as in [`Ground::Protected`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// Id of the rule.
        rule: String,
    },
    /// A rule of a policy matches.
    Policy {
        /// Path in the workspace.
        path: PathName,
        /// Same as in [`Ground::Protected`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// Reason that its author gave.
        why: String,
        /// Policy.
        policy: Source,
    },
    /// A file has other hard links, which undo does not restore.
    HardLinked {
        /// One of its names.
        path: PathName,
    },
    /// Every user may write to the path afterwards.
    WorldWritable {
        /// Path.
        path: PathName,
    },
    /// Another program acts on a file automatically.
    Trigger {
        /// Path of the file.
        path: PathName,
        /// Program and its effect.
        trigger: Trigger,
    },
}

/// Reason why an approval does not apply to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMismatch {
    /// Approval for another plan.
    Plan,
    /// Approval for other limits.
    Limits,
    /// Approval under another policy.
    Policy,
    /// Approval for another change.
    Change,
    /// Expired approval.
    Expired,
}

impl Grounds {
    /// Returns the grounds as a receipt records them.
    ///
    /// # Errors
    /// [`CanonicalError`], never for a ground of a gate.
    pub fn record(&self) -> Result<RecordedGround, CanonicalError> {
        canonical::read(&canonical::to_vec(self)?).map(RecordedGround)
    }

    /// Reads recorded grounds; `None` for a sentence of rules before version 7, and for kinds or fields of a later version.
    pub fn read(recorded: &RecordedGround) -> Option<Self> {
        let read = Self::deserialize(&recorded.0).ok()?;
        // A field that this version does not know could change the meaning.
        (read.record().as_ref() == Ok(recorded)).then_some(read)
    }
}

impl Ground {
    /// Returns the ground for a judgement of a command.
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

/// Condition for serde to omit a count.
fn is_zero(count: &usize) -> bool {
    *count == 0
}
