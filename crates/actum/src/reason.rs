//! Permanent reason codes for refusals, with the mapping of all error types to them.

use actum_edit::EditError;
use actum_edit::change_set::ChangeSetError;
use actum_edit::format::{Problem, ProblemClass};
use actum_gate::PolicyFileError;
use actum_lease::{GrantError, LeaseError};
use actum_ledger::{KeyError, LedgerError, Refusal};
use actum_record::keyring::KeyProblem;
use actum_sandbox::{SpawnError, Unsatisfiable};
use actum_workspace::ErrorKind;

use crate::plugin::PluginError;
use crate::task::RollbackRefused;
use crate::{CatalogError, CommandError, GrantLeaseError, Inversion, PolicyProblem, QueueError};
use serde::{Serialize, Serializer};

/// Defines the reasons. Each one has a permanent name and a page `docs/reasons/NAME.md`. A missing page is a compile
/// error.
macro_rules! reasons {
    ($($reason:ident = $name:literal,)*) => {
        /// Reason why a command did not do what was requested. The name of a reason never changes and is never reused for
        /// a different reason.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Reason {
            $(#[doc = $name] $reason,)*
        }

        impl Reason {
            /// All reasons, roughly sorted by name.
            pub const ALL: &'static [Self] = &[$(Self::$reason,)*];

            /// Returns the permanent name of the reason, such as `NEEDS_APPROVAL`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$reason => $name,)* }
            }

            /// Returns the Markdown page that explains the reason and the remedy.
            pub fn page(self) -> &'static str {
                match self {
                    $(Self::$reason => {
                        include_str!(concat!("../../../docs/reasons/", $name, ".md"))
                    })*
                }
            }
        }
    };
}

reasons! {
    AccessActionMismatch = "ACCESS_ACTION_MISMATCH",
    AccessApRequired = "ACCESS_AP_REQUIRED",
    AccessScopeViolation = "ACCESS_SCOPE_VIOLATION",
    ActionInputInvalid = "ACTION_INPUT_INVALID",
    ActionNotActive = "ACTION_NOT_ACTIVE",
    AlreadyAsBefore = "ALREADY_AS_BEFORE",
    AlreadyUndone = "ALREADY_UNDONE",
    AmbiguousRun = "AMBIGUOUS_RUN",
    AttributesNotKept = "ATTRIBUTES_NOT_KEPT",
    BaseDirectoryUnusable = "BASE_DIRECTORY_UNUSABLE",
    BinaryPatchDoesNotApply = "BINARY_PATCH_DOES_NOT_APPLY",
    BoundElsewhere = "BOUND_ELSEWHERE",
    BundleMalformed = "BUNDLE_MALFORMED",
    BundleOfAnotherFormat = "BUNDLE_OF_ANOTHER_FORMAT",
    Cancelled = "CANCELLED",
    CandidatesUnresolved = "CANDIDATES_UNRESOLVED",
    CatalogSnapshotChanged = "CATALOG_SNAPSHOT_CHANGED",
    CatalogStepRefused = "CATALOG_STEP_REFUSED",
    CatalogUnproven = "CATALOG_UNPROVEN",
    ChangeDenied = "CHANGE_DENIED",
    ChangedMeanwhile = "CHANGED_MEANWHILE",
    ChangedSince = "CHANGED_SINCE",
    ChangeSetUnsound = "CHANGE_SET_UNSOUND",
    CheckpointMalformed = "CHECKPOINT_MALFORMED",
    ClarifyRequired = "CLARIFY_REQUIRED",
    ClientHookRemoved = "CLIENT_HOOK_REMOVED",
    ClientNotProven = "CLIENT_NOT_PROVEN",
    ClientSettingsUnusable = "CLIENT_SETTINGS_UNUSABLE",
    ClockWentBackwards = "CLOCK_WENT_BACKWARDS",
    CommandFailed = "COMMAND_FAILED",
    CommandNotRun = "COMMAND_NOT_RUN",
    CommandUnusable = "COMMAND_UNUSABLE",
    ConfigurationElsewhere = "CONFIGURATION_ELSEWHERE",
    ConfirmationAmbiguous = "CONFIRMATION_AMBIGUOUS",
    ConfirmationAttemptsExhausted = "CONFIRMATION_ATTEMPTS_EXHAUSTED",
    ConfirmationByDispatcher = "CONFIRMATION_BY_DISPATCHER",
    ConfirmationExpired = "CONFIRMATION_EXPIRED",
    ConfirmationLexiconChanged = "CONFIRMATION_LEXICON_CHANGED",
    ConfirmationNeeded = "CONFIRMATION_NEEDED",
    ConfirmationOfAnotherPlan = "CONFIRMATION_OF_ANOTHER_PLAN",
    ConfirmationOfAnotherThread = "CONFIRMATION_OF_ANOTHER_THREAD",
    ConfirmationRejected = "CONFIRMATION_REJECTED",
    ConfirmationRequired = "CONFIRMATION_REQUIRED",
    ConfirmationTooLate = "CONFIRMATION_TOO_LATE",
    DeleteIrreversible = "DELETE_IRREVERSIBLE",
    DemoFailed = "DEMO_FAILED",
    EditHasNoPlace = "EDIT_HAS_NO_PLACE",
    DuckDbNotInstalled = "DUCKDB_NOT_INSTALLED",
    EffectNotKept = "EFFECT_NOT_KEPT",
    FileMissing = "FILE_MISSING",
    FileTooLargeToSearch = "FILE_TOO_LARGE_TO_SEARCH",
    FileWorkerFailed = "FILE_WORKER_FAILED",
    FinderPacketInvalid = "FINDER_PACKET_INVALID",
    FinderPacketOfAnotherGoal = "FINDER_PACKET_OF_ANOTHER_GOAL",
    FinderRefused = "FINDER_REFUSED",
    GoalInvalid = "GOAL_INVALID",
    GoalUnknown = "GOAL_UNKNOWN",
    HandlePoisoned = "HANDLE_POISONED",
    HardLink = "HARD_LINK",
    HashMismatch = "HASH_MISMATCH",
    HistoryDamaged = "HISTORY_DAMAGED",
    HunkDoesNotApply = "HUNK_DOES_NOT_APPLY",
    IdempotencyViolation = "IDEMPOTENCY_VIOLATION",
    InputMalformed = "INPUT_MALFORMED",
    InputTooLarge = "INPUT_TOO_LARGE",
    InputUnreadable = "INPUT_UNREADABLE",
    InputUnrecognised = "INPUT_UNRECOGNISED",
    Interrupted = "INTERRUPTED",
    JournalDamaged = "JOURNAL_DAMAGED",
    JournalMissing = "JOURNAL_MISSING",
    JournalSound = "JOURNAL_SOUND",
    KeyExists = "KEY_EXISTS",
    KeyExpired = "KEY_EXPIRED",
    KeyLocked = "KEY_LOCKED",
    KeyNotYetValid = "KEY_NOT_YET_VALID",
    KeyOfAnotherRole = "KEY_OF_ANOTHER_ROLE",
    KeyRevoked = "KEY_REVOKED",
    KeyringInvalid = "KEYRING_INVALID",
    KeysMissing = "KEYS_MISSING",
    KeyUnknown = "KEY_UNKNOWN",
    KeyUnusable = "KEY_UNUSABLE",
    KeyWaits = "KEY_WAITS",
    LearningTableInvalid = "LEARNING_TABLE_INVALID",
    LeaseDenies = "LEASE_DENIES",
    LeaseFormUnknown = "LEASE_FORM_UNKNOWN",
    LeaseKeyUnknown = "LEASE_KEY_UNKNOWN",
    LeaseMalformed = "LEASE_MALFORMED",
    LeaseNotInForce = "LEASE_NOT_IN_FORCE",
    LeaseRequired = "LEASE_REQUIRED",
    LeaseSealed = "LEASE_SEALED",
    LeaseSignatureInvalid = "LEASE_SIGNATURE_INVALID",
    LeaseTermsInvalid = "LEASE_TERMS_INVALID",
    LeaseTooLarge = "LEASE_TOO_LARGE",
    LeaseUnknown = "LEASE_UNKNOWN",
    LedgerDamaged = "LEDGER_DAMAGED",
    LedgerFull = "LEDGER_FULL",
    LedgerHomeUnknown = "LEDGER_HOME_UNKNOWN",
    LedgerHomeUnusable = "LEDGER_HOME_UNUSABLE",
    LedgerMissing = "LEDGER_MISSING",
    LedgerUnavailable = "LEDGER_UNAVAILABLE",
    NeedsApproval = "NEEDS_APPROVAL",
    NeedsTierN = "NEEDS_TIER_N",
    NewerFormat = "NEWER_FORMAT",
    NothingToRedo = "NOTHING_TO_REDO",
    NothingToUndo = "NOTHING_TO_UNDO",
    NotARegularFile = "NOT_A_REGULAR_FILE",
    NotAWorkspace = "NOT_A_WORKSPACE",
    NodeMissing = "NODE_MISSING",
    NoRunToUndo = "NO_RUN_TO_UNDO",
    OtherFileSystem = "OTHER_FILE_SYSTEM",
    OutcomeUnknown = "OUTCOME_UNKNOWN",
    OutputRefused = "OUTPUT_REFUSED",
    OutsideBaseDirectories = "OUTSIDE_BASE_DIRECTORIES",
    OutsideScope = "OUTSIDE_SCOPE",
    OverBudget = "OVER_BUDGET",
    PassphraseNeeded = "PASSPHRASE_NEEDED",
    PassphraseUnusable = "PASSPHRASE_UNUSABLE",
    PassphraseWrong = "PASSPHRASE_WRONG",
    PathBlocked = "PATH_BLOCKED",
    PathExists = "PATH_EXISTS",
    PathNotBlocked = "PATH_NOT_BLOCKED",
    PathRefused = "PATH_REFUSED",
    PlanEnvelopeInvalid = "PLAN_ENVELOPE_INVALID",
    PlanNotOpen = "PLAN_NOT_OPEN",
    PlanRequestLost = "PLAN_REQUEST_LOST",
    PlanStale = "PLAN_STALE",
    PluginChanged = "PLUGIN_CHANGED",
    PluginCodeNotAllowed = "PLUGIN_CODE_NOT_ALLOWED",
    PluginFailed = "PLUGIN_FAILED",
    PluginUnusable = "PLUGIN_UNUSABLE",
    PolicyInvalid = "POLICY_INVALID",
    PolicyMissing = "POLICY_MISSING",
    PolicySnapshotChanged = "POLICY_SNAPSHOT_CHANGED",
    PolicyTestUnusable = "POLICY_TEST_UNUSABLE",
    PolicyUnusable = "POLICY_UNUSABLE",
    ProofLength = "PROOF_LENGTH",
    ProofLogShorter = "PROOF_LOG_SHORTER",
    ProofNoEntry = "PROOF_NO_ENTRY",
    ProofOfAnotherLog = "PROOF_OF_ANOTHER_LOG",
    ProofOfAnotherSize = "PROOF_OF_ANOTHER_SIZE",
    ProofOtherOldRoot = "PROOF_OTHER_OLD_ROOT",
    ProofOtherRoot = "PROOF_OTHER_ROOT",
    QueueFull = "QUEUE_FULL",
    QuotaExceeded = "QUOTA_EXCEEDED",
    ReceiptBeforeIntent = "RECEIPT_BEFORE_INTENT",
    ReceiptInconsistent = "RECEIPT_INCONSISTENT",
    ReceiptMalformed = "RECEIPT_MALFORMED",
    ReceiptOfAnotherType = "RECEIPT_OF_ANOTHER_TYPE",
    ReasonNotRecorded = "REASON_NOT_RECORDED",
    ReceiptPending = "RECEIPT_PENDING",
    RecoveryReferenceInvalid = "RECOVERY_REFERENCE_INVALID",
    ReplayDecisionMismatch = "REPLAY_DECISION_MISMATCH",
    ReplayEngineUnsupported = "REPLAY_ENGINE_UNSUPPORTED",
    ReplayFailed = "REPLAY_FAILED",
    ReplayProjectionDrift = "REPLAY_PROJECTION_DRIFT",
    ReplayHistoryMismatch = "REPLAY_HISTORY_MISMATCH",
    ReplayLinkMismatch = "REPLAY_LINK_MISMATCH",
    ReplayRefHashMismatch = "REPLAY_REF_HASH_MISMATCH",
    ReplayRefMissing = "REPLAY_REF_MISSING",
    ReportUnwritable = "REPORT_UNWRITABLE",
    RequiredFieldsInvalid = "REQUIRED_FIELDS_INVALID",
    ResultInvalid = "RESULT_INVALID",
    RequestKeyTaken = "REQUEST_KEY_TAKEN",
    ResultUnwritten = "RESULT_UNWRITTEN",
    RetentionHolds = "RETENTION_HOLDS",
    RetriesExhausted = "RETRIES_EXHAUSTED",
    RollbackPlanMissing = "ROLLBACK_PLAN_MISSING",
    RollbackPlanNeeded = "ROLLBACK_PLAN_NEEDED",
    RollbackPlanUnusable = "ROLLBACK_PLAN_UNUSABLE",
    RollbackRewritten = "ROLLBACK_REWRITTEN",
    RollbackUnproven = "ROLLBACK_UNPROVEN",
    RootNotAllowed = "ROOT_NOT_ALLOWED",
    RotationInconsistent = "ROTATION_INCONSISTENT",
    RotationMalformed = "ROTATION_MALFORMED",
    RotationNotByTheOldKey = "ROTATION_NOT_BY_THE_OLD_KEY",
    RotationNotRecorded = "ROTATION_NOT_RECORDED",
    RotationOfAnotherType = "ROTATION_OF_ANOTHER_TYPE",
    RunNotRecorded = "RUN_NOT_RECORDED",
    RunTooLarge = "RUN_TOO_LARGE",
    RunUnrecorded = "RUN_UNRECORDED",
    RunsReversed = "RUNS_REVERSED",
    SandboxFailed = "SANDBOX_FAILED",
    SandboxNotAllowed = "SANDBOX_NOT_ALLOWED",
    SandboxUnavailable = "SANDBOX_UNAVAILABLE",
    SavedContentLost = "SAVED_CONTENT_LOST",
    ScopeUnusable = "SCOPE_UNUSABLE",
    SignatureWrong = "SIGNATURE_WRONG",
    SignerUnknown = "SIGNER_UNKNOWN",
    SimulationMissing = "SIMULATION_MISSING",
    SimulationNotActive = "SIMULATION_NOT_ACTIVE",
    SimulationNotRegistered = "SIMULATION_NOT_REGISTERED",
    SloWaiverTooLong = "SLO_WAIVER_TOO_LONG",
    SnapshotMissing = "SNAPSHOT_MISSING",
    SnapshotTooLarge = "SNAPSHOT_TOO_LARGE",
    StartDirectoryUnusable = "START_DIRECTORY_UNUSABLE",
    StateDirectoryUnusable = "STATE_DIRECTORY_UNUSABLE",
    StepNeedsAttention = "STEP_NEEDS_ATTENTION",
    StepUnderWay = "STEP_UNDER_WAY",
    SystemError = "SYSTEM_ERROR",
    TaskIdTaken = "TASK_ID_TAKEN",
    TaskManifestInvalid = "TASK_MANIFEST_INVALID",
    TaskNotRolledBack = "TASK_NOT_ROLLED_BACK",
    TaskUnderWay = "TASK_UNDER_WAY",
    TooManySignatures = "TOO_MANY_SIGNATURES",
    TrustWaits = "TRUST_WAITS",
    UnknownAction = "UNKNOWN_ACTION",
    UnknownAlert = "UNKNOWN_ALERT",
    UnknownEntry = "UNKNOWN_ENTRY",
    UnknownPlan = "UNKNOWN_PLAN",
    UnknownReason = "UNKNOWN_REASON",
    UnknownRun = "UNKNOWN_RUN",
    UnknownTask = "UNKNOWN_TASK",
    UnsupportedCapability = "UNSUPPORTED_CAPABILITY",
    Usage = "USAGE",
    VerificationFailed = "VERIFICATION_FAILED",
    VerificationNeeded = "VERIFICATION_NEEDED",
    WayIsAFile = "WAY_IS_A_FILE",
    WayIsNoDirectory = "WAY_IS_NO_DIRECTORY",
    WorkspaceInUse = "WORKSPACE_IN_USE",
    WorkspaceIsACopy = "WORKSPACE_IS_A_COPY",
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Returns the reason for a workspace error.
pub fn from_error_kind(kind: &ErrorKind) -> Reason {
    match kind {
        ErrorKind::ChangeSet { source } => of_change_set(source),
        ErrorKind::Path { .. } | ErrorKind::LinkTarget { .. } => Reason::PathRefused,
        ErrorKind::Scope { .. } => Reason::OutsideScope,
        ErrorKind::Budget { .. } => Reason::OverBudget,
        ErrorKind::Hunk { .. } => Reason::HunkDoesNotApply,
        ErrorKind::Edit { source: EditError::TooMuch { .. }, .. } => Reason::RunTooLarge,
        ErrorKind::Edit { source: EditError::Binary(_), .. } => Reason::BinaryPatchDoesNotApply,
        ErrorKind::Edit { .. } => Reason::EditHasNoPlace,
        ErrorKind::TooLargeToSearch { .. } => Reason::FileTooLargeToSearch,
        ErrorKind::Expected { .. } => Reason::HashMismatch,
        ErrorKind::Missing { .. } => Reason::FileMissing,
        ErrorKind::Exists { .. } => Reason::PathExists,
        ErrorKind::NotAFile { .. } => Reason::NotARegularFile,
        ErrorKind::Component { .. } => Reason::WayIsNoDirectory,
        ErrorKind::UnderAFile { .. } => Reason::WayIsAFile,
        ErrorKind::OtherFileSystem { .. } => Reason::OtherFileSystem,
        ErrorKind::Private { .. } => Reason::PathRefused,
        ErrorKind::HardLink { .. } => Reason::HardLink,
        ErrorKind::Attributes { .. } => Reason::AttributesNotKept,
        ErrorKind::Conflict { .. } => Reason::ChangedMeanwhile,
        ErrorKind::Blocked { .. } => Reason::PathBlocked,
        ErrorKind::NotBlocked { .. } => Reason::PathNotBlocked,
        ErrorKind::ChangedSince { .. } => Reason::ChangedSince,
        ErrorKind::AlreadyUndone { .. } => Reason::AlreadyUndone,
        ErrorKind::AsBefore { .. } => Reason::AlreadyAsBefore,
        ErrorKind::NoRunToUndo { .. } => Reason::NoRunToUndo,
        ErrorKind::RunsReversed { .. } => Reason::RunsReversed,
        ErrorKind::NoRunToRedo { .. } | ErrorKind::InEffect { .. } => Reason::NothingToRedo,
        ErrorKind::NothingToUndo { .. } => Reason::NothingToUndo,
        ErrorKind::UnknownRun { .. } => Reason::UnknownRun,
        ErrorKind::LostImage { .. } => Reason::SavedContentLost,
        ErrorKind::Busy { .. } => Reason::WorkspaceInUse,
        ErrorKind::Damaged { .. } => Reason::JournalDamaged,
        ErrorKind::JournalMissing => Reason::JournalMissing,
        ErrorKind::JournalSound => Reason::JournalSound,
        ErrorKind::NewerFormat { .. } => Reason::NewerFormat,
        ErrorKind::DamagedHistory { .. } => Reason::HistoryDamaged,
        ErrorKind::State { .. } => Reason::StateDirectoryUnusable,
        ErrorKind::NotAWorkspace => Reason::NotAWorkspace,
        ErrorKind::TooLarge { .. } => Reason::RunTooLarge,
        ErrorKind::NoSnapshot => Reason::SnapshotMissing,
        ErrorKind::SnapshotTooLarge { .. } => Reason::SnapshotTooLarge,
        ErrorKind::Poisoned => Reason::HandlePoisoned,
        ErrorKind::Io { .. } => Reason::SystemError,
    }
}

/// Returns the reason for a lease that cannot be used.
pub fn of_lease(error: &LeaseError) -> Reason {
    match error {
        LeaseError::TextTooLong { .. }
        | LeaseError::TooLarge { .. }
        | LeaseError::TooManyBlocks { .. }
        | LeaseError::ChainTooLarge { .. } => Reason::LeaseTooLarge,
        LeaseError::NotBase64 | LeaseError::NotBiscuit | LeaseError::NotChain { .. } => {
            Reason::LeaseMalformed
        }
        LeaseError::Form { .. } => Reason::LeaseFormUnknown,
        LeaseError::Signature => Reason::LeaseSignatureInvalid,
        LeaseError::KeyUnknown { .. } => Reason::LeaseKeyUnknown,
        LeaseError::Key { source } => match source {
            KeyProblem::Unknown { .. } => Reason::LeaseKeyUnknown,
            KeyProblem::OtherRole { .. } => Reason::KeyOfAnotherRole,
            KeyProblem::TooEarly { .. } => Reason::KeyNotYetValid,
            KeyProblem::Expired { .. } => Reason::KeyExpired,
            KeyProblem::Revoked { .. } => Reason::KeyRevoked,
        },
    }
}

/// Returns the reason for a lease that cannot be granted, attenuated or sealed.
pub fn of_grant(error: &GrantError) -> Reason {
    match error {
        GrantError::Terms { .. } | GrantError::Time { .. } | GrantError::Empty => {
            Reason::LeaseTermsInvalid
        }
        GrantError::Sealed => Reason::LeaseSealed,
        GrantError::Unreadable { source } => of_lease(source),
        GrantError::Biscuit { .. } => Reason::LeaseMalformed,
    }
}

/// Returns the reason for an engine error.
pub fn of_engine(error: &crate::Error) -> Reason {
    use crate::Error;
    match error {
        Error::Workspace(error) => from_error_kind(&error.kind),
        Error::Home(_) | Error::HomeInside { .. } | Error::HomeAround { .. } => {
            Reason::LedgerHomeUnusable
        }
        Error::WorkspaceWithin { .. } | Error::RepositoryWithin { .. } => Reason::PathRefused,
        Error::BoundElsewhere { .. } => Reason::BoundElsewhere,
        Error::ConfigurationElsewhere { .. } => Reason::ConfigurationElsewhere,
        Error::Key(error) => of_key(error),
        Error::Sign(_) => Reason::KeyUnusable,
        Error::Ledger { source } => of_ledger(source),
        Error::RequestKeyTaken { .. } => Reason::RequestKeyTaken,
        Error::OutcomeUnknown { .. } => Reason::OutcomeUnknown,
        Error::OnlyOthersRuns { way: Inversion::Undo, .. } => Reason::NoRunToUndo,
        Error::OnlyOthersRuns { way: Inversion::Redo, .. } => Reason::NothingToRedo,
        Error::RecoveredFirst { way: Inversion::Undo, .. } => Reason::NoRunToUndo,
        Error::RecoveredFirst { way: Inversion::Redo, .. } => Reason::NothingToRedo,
        Error::WorkspaceIsACopy { .. } => Reason::WorkspaceIsACopy,
        Error::Retained { .. } => Reason::RetentionHolds,
        Error::Forgotten(_) => Reason::KeyUnusable,
        Error::OutcomeNotRecorded { .. } => Reason::LedgerUnavailable,
        Error::NoAction => Reason::Usage,
        Error::NothingToChange => Reason::AlreadyAsBefore,
        Error::Lease(error) => of_lease(error),
        Error::Grant(error) => match &**error {
            GrantLeaseError::Terms(error) => of_grant(error),
            GrantLeaseError::Lease(error) => of_lease(error),
            GrantLeaseError::OtherRole | GrantLeaseError::Entry(_) => Reason::KeyUnusable,
        },
        Error::Policy(error) => of_policy(&error.problem),
        Error::Denied { .. } => Reason::ChangeDenied,
        Error::ApprovalRequired { .. } => Reason::NeedsApproval,
        Error::Queued { .. } => Reason::NeedsApproval,
        Error::Queue(error) => of_queue(error),
        Error::Catalog(error) => of_catalog(error),
        Error::Command(error) => of_command(error),
        Error::Output(_) => Reason::ReportUnwritable,
        Error::Rollback(RollbackRefused::Unknown { .. }) => Reason::UnknownTask,
        Error::Rollback(
            RollbackRefused::Open { source, .. } | RollbackRefused::PutBack { source, .. },
        ) => of_engine(source),
        Error::Rollback(RollbackRefused::Rewritten { .. }) => Reason::RollbackRewritten,
        Error::Rollback(_) => Reason::TaskNotRolledBack,
        Error::Unverified { .. } => Reason::VerificationFailed,
        Error::Unsettled { .. } => Reason::ReceiptPending,
        Error::Record { .. } => Reason::RunTooLarge,
    }
}

fn of_command(error: &CommandError) -> Reason {
    match error {
        CommandError::Line(_)
        | CommandError::NoText(_)
        | CommandError::NotFound { .. }
        | CommandError::Spawn(SpawnError::Command { .. }) => Reason::CommandNotRun,
        CommandError::Unsatisfiable(Unsatisfiable::Policy(_)) => Reason::PolicyInvalid,
        CommandError::Unsatisfiable(refused) if refused.code() == "NEEDS_TIER_N" => {
            Reason::NeedsTierN
        }
        CommandError::Unsatisfiable(_) => Reason::SandboxUnavailable,
        CommandError::Spawn(_)
        | CommandError::Wait(_)
        | CommandError::Staged(_)
        | CommandError::NoRunner => Reason::SandboxFailed,
        CommandError::Unseen(_) => Reason::SandboxNotAllowed,
        CommandError::Unkept(_) | CommandError::Layer(_) => Reason::EffectNotKept,
        CommandError::Interrupted => Reason::Interrupted,
    }
}

/// Returns the reason for an error from a plugin package.
pub fn of_plugin(error: &PluginError) -> Reason {
    match error {
        PluginError::Package { .. } | PluginError::Syntax { .. } => Reason::PluginUnusable,
        PluginError::Input { .. } => Reason::InputMalformed,
        PluginError::RequestTooLarge { .. } => Reason::InputTooLarge,
        PluginError::NoNode { .. } | PluginError::OldNode { .. } => Reason::NodeMissing,
        PluginError::Copy(_) => Reason::SystemError,
        PluginError::Command(error) => of_command(error),
        PluginError::Unkept(_) => Reason::EffectNotKept,
        PluginError::Failed { .. }
        | PluginError::Stopped { .. }
        | PluginError::NoAnswer { .. }
        | PluginError::Output(_)
        | PluginError::Changed { .. }
        | PluginError::NotRestored { .. } => Reason::PluginFailed,
    }
}

/// Returns the reason for a key error, which is `KeyUnusable` unless there is a more specific one.
fn of_key(error: &KeyError) -> Reason {
    if let KeyError::Waiting { .. } | KeyError::NoneWaiting { .. } = error {
        Reason::KeyWaits
    } else if let KeyError::Exists { .. } = error {
        Reason::KeyExists
    } else if let KeyError::Locked { .. } = error {
        Reason::KeyLocked
    } else if let KeyError::WrongPassphrase { .. } = error {
        Reason::PassphraseWrong
    } else if let KeyError::Unprotected { .. }
    | KeyError::Unattended { .. }
    | KeyError::ShortPassphrase = error
    {
        Reason::PassphraseUnusable
    } else {
        Reason::KeyUnusable
    }
}

fn of_queue(error: &QueueError) -> Reason {
    match error {
        QueueError::NoPlan { .. } => Reason::UnknownPlan,
        QueueError::NoAlert { .. } => Reason::UnknownAlert,
        QueueError::State { .. } | QueueError::NoParts { .. } | QueueError::NotApproved { .. } => {
            Reason::PlanNotOpen
        }
        QueueError::Stale { .. } => Reason::PlanStale,
        QueueError::Input { .. } => Reason::PlanRequestLost,
        QueueError::Unproven { .. } => Reason::KeyUnusable,
        QueueError::Full | QueueError::FullOfOne => Reason::QueueFull,
    }
}

fn of_catalog(error: &CatalogError) -> Reason {
    match error {
        CatalogError::Ledger(error) => of_ledger(error),
        CatalogError::Unproven { .. }
        | CatalogError::Misplaced { .. }
        | CatalogError::Snapshot { .. } => Reason::CatalogUnproven,
        CatalogError::Unknown { .. } => Reason::UnknownAction,
        CatalogError::State { .. }
        | CatalogError::ChangedSinceShown
        | CatalogError::OtherPackage { .. }
        | CatalogError::IsCore { .. }
        | CatalogError::OtherName { .. }
        | CatalogError::Unsound { .. }
        | CatalogError::Record(_) => Reason::CatalogStepRefused,
        CatalogError::Key(_) => Reason::KeyUnusable,
        CatalogError::BuiltIn { .. } => Reason::SystemError,
    }
}

fn of_policy(problem: &PolicyProblem) -> Reason {
    match problem {
        PolicyProblem::File(PolicyFileError::Newer { .. }) => Reason::NewerFormat,
        PolicyProblem::File(_)
        | PolicyProblem::Unreadable(_)
        | PolicyProblem::OfAnother { .. }
        | PolicyProblem::NoFile
        | PolicyProblem::NoDirectory
        | PolicyProblem::TooManyFiles
        | PolicyProblem::Name { .. }
        | PolicyProblem::NoText
        | PolicyProblem::Access(_)
        | PolicyProblem::OperatorsOwn { .. }
        | PolicyProblem::TooOpen { .. }
        | PolicyProblem::DirectoryTooOpen { .. } => Reason::PolicyUnusable,
    }
}

/// Returns the reason for a ledger error.
pub fn of_ledger(error: &LedgerError) -> Reason {
    match error {
        LedgerError::Damaged { .. } | LedgerError::NoLedger { .. } | LedgerError::Forgot { .. } => {
            Reason::LedgerDamaged
        }
        LedgerError::NewerSchema { .. } => Reason::NewerFormat,
        LedgerError::Home { .. } => Reason::LedgerHomeUnusable,
        LedgerError::Key { source } => of_key(source),
        LedgerError::Refused { refusal: Refusal::LogFull { .. } } => Reason::LedgerFull,
        LedgerError::Refused {
            refusal:
                Refusal::LeaseNotGranted { .. }
                | Refusal::LeaseRevoked { .. }
                | Refusal::LeaseRevokedBefore { .. }
                | Refusal::LeaseUsedUp { .. },
        } => Reason::LeaseNotInForce,
        LedgerError::Refused {
            refusal:
                Refusal::PlanStarted { .. }
                | Refusal::PlanAnswered { .. }
                | Refusal::PlanNotApproved { .. },
        } => Reason::PlanNotOpen,
        LedgerError::Refused { .. }
        | LedgerError::File { .. }
        | LedgerError::NoFile { .. }
        | LedgerError::Locked { .. }
        | LedgerError::Gone { .. }
        | LedgerError::Full { .. }
        | LedgerError::ReadOnly { .. }
        | LedgerError::OutcomeUnknown { .. }
        | LedgerError::Database { .. }
        | LedgerError::Checkpoint { .. }
        | LedgerError::NoWriter { .. }
        | LedgerError::Stopped => Reason::LedgerUnavailable,
    }
}

/// Returns the reason for an input that cannot be parsed or accepted.
pub fn of_input(problem: &Problem) -> Reason {
    match problem.class() {
        ProblemClass::TooLarge => Reason::InputTooLarge,
        ProblemClass::Unrecognised => Reason::InputUnrecognised,
        ProblemClass::Malformed => Reason::InputMalformed,
        ProblemClass::Path => Reason::PathRefused,
        ProblemClass::ChangeSet => Reason::ChangeSetUnsound,
    }
}

fn of_change_set(error: &ChangeSetError) -> Reason {
    match error {
        ChangeSetError::Path { .. } => Reason::PathRefused,
        ChangeSetError::Digest { .. }
        | ChangeSetError::Duplicate { .. }
        | ChangeSetError::NoHunks { .. } => Reason::ChangeSetUnsound,
    }
}
