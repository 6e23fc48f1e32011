//! Decides about changes and verifies proofs of what happened. This crate is pure: it has no I/O, clock,
//! randomness, environment or async code.
//!
//! An auditor only needs this crate, `actum-core` and `actum-record`, because receipts, log checkpoints,
//! keyrings and all inputs of a decision are plain bytes.

pub mod access;
pub mod answer;
pub mod bundle;
pub mod catalog;
pub mod checkpoint;
pub mod command;
mod command_line;
mod confirmation;
pub mod credential;
mod decide;
pub mod decision;
pub mod document;
pub mod envelope;
mod file_task;
mod fold;
mod forgotten;
mod gate;
mod gate_name;
pub mod ground;
mod host_assertion;
mod learning;
mod lease;
pub mod merkle;
pub mod policy;
pub mod receipt;
pub mod rotation;
mod sentence;
pub mod signature;
mod slo_waived;
mod source;
mod spelling;
mod trigger;
mod unread;
mod verdict;

pub use access::{AccessDecision, AccessJudge, AccessText, AccessUnknown, NoAccess};
pub use answer::{AnswerProblem, VerifiedAnswer, verify_answer};
pub use bundle::{BundleProblem, Inclusion, ReceiptBundle, VerifiedBundle, verify_bundle};
pub use catalog::{CatalogProblem, VerifiedChange, verify_change};
pub use checkpoint::{CheckpointProblem, VerifiedCheckpoint, verify_checkpoint};
pub use command::{
    CommandJudgement, CommandLine, CommandLineError, CommandRule, CommandRules, suggest,
};
pub use confirmation::{CONFIRMATION_PAYLOAD_TYPE, ConfirmationProblem, verify_confirmation};
pub use decide::{ReplayProblem, decide, judge_access, judge_lease, replay};
pub use decision::{Approved, Bundle, Case, DECISION_SEMANTICS, Decision, GateDecision, WorkKind};
pub use document::{DocumentError, DocumentProblem};
pub use file_task::{FileTaskProblem, VerifiedFileTask, verify_file_task_ended};
pub use forgotten::{ForgottenProblem, verify_forgotten};
pub use gate::{
    OutputContent, paths_that_need_approval, refuses_output, refuses_result, refuses_root,
};
pub use gate_name::GateName;
pub use ground::{Ground, Grounds};
pub use host_assertion::{HostAssertion, HostAssertionProblem, verify_host_assertion};
pub use learning::{LEARNING_PAYLOAD_TYPE, LearningProblem, verify_learning};
pub use lease::{
    LeaseEntryProblem, VerifiedLeaseGrant, VerifiedLeaseRevocation, verify_lease_granted,
    verify_lease_revoked,
};
pub use merkle::{ProofError, check_consistency, check_inclusion};
pub use policy::{Policy, PolicyFile, PolicyFileError, Profile};
pub use receipt::{ReceiptProblem, SignedIntent, VerifiedReceipt, signed_intent, verify_receipt};
pub use rotation::{RotationProblem, VerifiedRotation, verify_rotation};
pub use sentence::sentence;
pub use signature::{SignatureError, verify};
pub use slo_waived::{SloWaiverProblem, VerifiedSloWaiver, verify_slo_waived};
pub use trigger::{GIT_HOOKS, Trigger};
pub use unread::{Unread, unread};
pub use verdict::Verdict;

use actum_record::keyring::KeyProblem;

/// Returns the permanent reason code for a key that is not valid.
pub fn key_reason(problem: &KeyProblem) -> &'static str {
    match problem {
        KeyProblem::Unknown { .. } => "KEY_UNKNOWN",
        KeyProblem::OtherRole { .. } => "KEY_OF_ANOTHER_ROLE",
        KeyProblem::TooEarly { .. } => "KEY_NOT_YET_VALID",
        KeyProblem::Expired { .. } => "KEY_EXPIRED",
        KeyProblem::Revoked { .. } => "KEY_REVOKED",
    }
}
