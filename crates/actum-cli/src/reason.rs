//! The permanent names of the reasons for a refusal.

use actum_core::EditError;
use actum_core::change_set::ChangeSetError;
use actum_core::format::{DocumentProblem, Problem};
use actum_ledger::LedgerError;
use actum_workspace::ErrorKind;
use serde::{Serialize, Serializer};

/// Defines the reasons: each with its permanent name, and with a page of that name under
/// `docs/reasons`, without which this does not compile.
macro_rules! reasons {
    ($($reason:ident = $name:literal,)*) => {
        /// Why a command did not do what was asked. A name is never changed, nor used again for
        /// something else.
        #[expect(clippy::enum_variant_names, reason = "one of them is that a reason is unknown")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Reason {
            $(#[doc = $name] $reason,)*
        }

        impl Reason {
            /// All of them, by name.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$reason,)*];

            /// The name.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$reason => $name,)* }
            }

            /// What it means and what to do, in Markdown.
            pub(crate) fn page(self) -> &'static str {
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
    AlreadyAsBefore = "ALREADY_AS_BEFORE",
    AlreadyUndone = "ALREADY_UNDONE",
    AmbiguousRun = "AMBIGUOUS_RUN",
    AttributesNotKept = "ATTRIBUTES_NOT_KEPT",
    BinaryPatchDoesNotApply = "BINARY_PATCH_DOES_NOT_APPLY",
    BundleMalformed = "BUNDLE_MALFORMED",
    BundleOfAnotherFormat = "BUNDLE_OF_ANOTHER_FORMAT",
    ChangeDenied = "CHANGE_DENIED",
    ChangedMeanwhile = "CHANGED_MEANWHILE",
    ChangedSince = "CHANGED_SINCE",
    ChangeSetUnsound = "CHANGE_SET_UNSOUND",
    CheckpointMalformed = "CHECKPOINT_MALFORMED",
    CommandNotRun = "COMMAND_NOT_RUN",
    DemoFailed = "DEMO_FAILED",
    EditHasNoPlace = "EDIT_HAS_NO_PLACE",
    FileMissing = "FILE_MISSING",
    FileTooLargeToSearch = "FILE_TOO_LARGE_TO_SEARCH",
    HandlePoisoned = "HANDLE_POISONED",
    HardLink = "HARD_LINK",
    HashMismatch = "HASH_MISMATCH",
    HistoryDamaged = "HISTORY_DAMAGED",
    HunkDoesNotApply = "HUNK_DOES_NOT_APPLY",
    InputMalformed = "INPUT_MALFORMED",
    InputTooLarge = "INPUT_TOO_LARGE",
    InputUnreadable = "INPUT_UNREADABLE",
    InputUnrecognised = "INPUT_UNRECOGNISED",
    Interrupted = "INTERRUPTED",
    JournalDamaged = "JOURNAL_DAMAGED",
    JournalMissing = "JOURNAL_MISSING",
    JournalSound = "JOURNAL_SOUND",
    KeyExpired = "KEY_EXPIRED",
    KeyNotYetValid = "KEY_NOT_YET_VALID",
    KeyOfAnotherRole = "KEY_OF_ANOTHER_ROLE",
    KeyRevoked = "KEY_REVOKED",
    KeyringInvalid = "KEYRING_INVALID",
    KeysMissing = "KEYS_MISSING",
    KeyUnknown = "KEY_UNKNOWN",
    KeyUnusable = "KEY_UNUSABLE",
    LedgerDamaged = "LEDGER_DAMAGED",
    LedgerHomeUnknown = "LEDGER_HOME_UNKNOWN",
    LedgerHomeUnusable = "LEDGER_HOME_UNUSABLE",
    LedgerMissing = "LEDGER_MISSING",
    LedgerUnavailable = "LEDGER_UNAVAILABLE",
    NeedsTierN = "NEEDS_TIER_N",
    NewerFormat = "NEWER_FORMAT",
    NothingToRedo = "NOTHING_TO_REDO",
    NothingToUndo = "NOTHING_TO_UNDO",
    NotARegularFile = "NOT_A_REGULAR_FILE",
    NotAWorkspace = "NOT_A_WORKSPACE",
    NoRunToUndo = "NO_RUN_TO_UNDO",
    OtherFileSystem = "OTHER_FILE_SYSTEM",
    OutcomeUnknown = "OUTCOME_UNKNOWN",
    OutsideScope = "OUTSIDE_SCOPE",
    OverBudget = "OVER_BUDGET",
    PathBlocked = "PATH_BLOCKED",
    PathExists = "PATH_EXISTS",
    PathNotBlocked = "PATH_NOT_BLOCKED",
    PathRefused = "PATH_REFUSED",
    PolicyInvalid = "POLICY_INVALID",
    ProofLength = "PROOF_LENGTH",
    ProofLogShorter = "PROOF_LOG_SHORTER",
    ProofNoEntry = "PROOF_NO_ENTRY",
    ProofOfAnotherLog = "PROOF_OF_ANOTHER_LOG",
    ProofOfAnotherSize = "PROOF_OF_ANOTHER_SIZE",
    ProofOtherOldRoot = "PROOF_OTHER_OLD_ROOT",
    ProofOtherRoot = "PROOF_OTHER_ROOT",
    ReceiptBeforeIntent = "RECEIPT_BEFORE_INTENT",
    ReceiptInconsistent = "RECEIPT_INCONSISTENT",
    ReceiptMalformed = "RECEIPT_MALFORMED",
    ReceiptOfAnotherType = "RECEIPT_OF_ANOTHER_TYPE",
    ReasonNotRecorded = "REASON_NOT_RECORDED",
    ReceiptPending = "RECEIPT_PENDING",
    ReplayDecisionMismatch = "REPLAY_DECISION_MISMATCH",
    ReplayEngineUnsupported = "REPLAY_ENGINE_UNSUPPORTED",
    ReplayProjectionDrift = "REPLAY_PROJECTION_DRIFT",
    ReplayRefHashMismatch = "REPLAY_REF_HASH_MISMATCH",
    ReplayRefMissing = "REPLAY_REF_MISSING",
    RequestKeyTaken = "REQUEST_KEY_TAKEN",
    ResultUnwritten = "RESULT_UNWRITTEN",
    RotationInconsistent = "ROTATION_INCONSISTENT",
    RotationMalformed = "ROTATION_MALFORMED",
    RotationNotByTheOldKey = "ROTATION_NOT_BY_THE_OLD_KEY",
    RotationNotRecorded = "ROTATION_NOT_RECORDED",
    RotationOfAnotherType = "ROTATION_OF_ANOTHER_TYPE",
    RunNotRecorded = "RUN_NOT_RECORDED",
    RunTooLarge = "RUN_TOO_LARGE",
    RunsReversed = "RUNS_REVERSED",
    SandboxFailed = "SANDBOX_FAILED",
    SandboxUnavailable = "SANDBOX_UNAVAILABLE",
    SavedContentLost = "SAVED_CONTENT_LOST",
    SignatureWrong = "SIGNATURE_WRONG",
    SignerUnknown = "SIGNER_UNKNOWN",
    StartDirectoryUnusable = "START_DIRECTORY_UNUSABLE",
    StateDirectoryUnusable = "STATE_DIRECTORY_UNUSABLE",
    SystemError = "SYSTEM_ERROR",
    TooManySignatures = "TOO_MANY_SIGNATURES",
    UnknownEntry = "UNKNOWN_ENTRY",
    UnknownReason = "UNKNOWN_REASON",
    UnknownRun = "UNKNOWN_RUN",
    Usage = "USAGE",
    WayIsAFile = "WAY_IS_A_FILE",
    WayIsNoDirectory = "WAY_IS_NO_DIRECTORY",
    WorkspaceInUse = "WORKSPACE_IN_USE",
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The reason for an error of the engine.
pub(crate) fn of(kind: &ErrorKind) -> Reason {
    match kind {
        ErrorKind::ChangeSet { source } => of_change_set(source),
        ErrorKind::Path { .. } => Reason::PathRefused,
        ErrorKind::Scope { .. } => Reason::OutsideScope,
        ErrorKind::Budget { .. } => Reason::OverBudget,
        ErrorKind::Hunk { .. } => Reason::HunkDoesNotApply,
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
        ErrorKind::Poisoned => Reason::HandlePoisoned,
        ErrorKind::Io { .. } => Reason::SystemError,
    }
}

/// The same for what is no error of the workspace.
pub(crate) fn of_engine(error: &actum::Error) -> Reason {
    use actum::Error;
    match error {
        Error::Workspace(error) => of(&error.kind),
        Error::Home(_) | Error::HomeInside { .. } => Reason::LedgerHomeUnusable,
        Error::Key(_) | Error::Sign(_) => Reason::KeyUnusable,
        Error::Ledger { source } => of_ledger(source),
        Error::RequestKeyTaken { .. } => Reason::RequestKeyTaken,
        Error::OutcomeUnknown { .. } => Reason::OutcomeUnknown,
        Error::NothingToChange => Reason::AlreadyAsBefore,
        Error::Denied { .. } => Reason::ChangeDenied,
        Error::Unsettled { .. } => Reason::ReceiptPending,
        Error::Record { .. } => Reason::RunTooLarge,
    }
}

/// The same for a ledger.
pub(crate) fn of_ledger(error: &LedgerError) -> Reason {
    match error {
        LedgerError::Damaged { .. } | LedgerError::NoLedger { .. } | LedgerError::Forgot { .. } => {
            Reason::LedgerDamaged
        }
        LedgerError::NewerSchema { .. } => Reason::NewerFormat,
        LedgerError::Home { .. } => Reason::LedgerHomeUnusable,
        LedgerError::Key { .. } => Reason::KeyUnusable,
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
        | LedgerError::Stopped => Reason::LedgerUnavailable,
    }
}

/// The same for an input that is not sound.
pub(crate) fn of_input(problem: &Problem) -> Reason {
    match problem {
        Problem::ChangeSet(error) => of_change_set(error),
        Problem::Path(_) => Reason::PathRefused,
        Problem::TooLarge { .. } => Reason::InputTooLarge,
        Problem::Blank
        | Problem::Unrecognised { .. }
        | Problem::Document(DocumentProblem::NoFormat { .. }) => Reason::InputUnrecognised,
        Problem::ByteOrderMark
        | Problem::Utf16
        | Problem::Document(_)
        | Problem::TargetUnused { .. }
        | Problem::Codex(_)
        | Problem::Diff(_) => Reason::InputMalformed,
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
