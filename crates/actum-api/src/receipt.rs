//! `actum.receipt/1` and `actum.verification/1`: receipts and the results of verifying them.

use actum_core::{Digest, RunId, Status, Timestamp};
use actum_record::command::CommandsRun;
use actum_record::ledger::{Actor, TenantId, WorkspaceId};
use actum_record::receipt::PathEffect;
use actum_record::signer::KeyId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::brief_parts::BriefParts;
use crate::document::{Document, DocumentType};
use crate::gate::Gate;
use crate::key::TrustedKeyring;
use crate::{record, value};

pub(crate) const DOCUMENTS: &[DocumentType] =
    &[DocumentType::new::<Receipt>(), DocumentType::new::<Verification>()];

/// Signed receipt of a run, with a proof that it is in the ledger. `actum receipt` always prints this document, even without
/// `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Proof that the receipt is in the ledger.
    pub proof: ReceiptProof,
    /// Signed receipt.
    pub receipt: SignedEnvelope,
}

/// Proof that an entry is in a ledger. It consists of the hashes from the entry to the root of the Merkle tree (RFC 6962).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptProof {
    /// Signed note (C2SP checkpoint) that contains the root.
    pub checkpoint: String,
    /// Hashes on the path from the entry to the root of the Merkle tree.
    #[schemars(with = "Vec<value::Digest>")]
    pub hashes: Vec<Digest>,
    /// Index of the entry, counted from 0.
    pub index: u64,
    /// Number of entries covered by the checkpoint.
    pub size: u64,
}

/// Signed envelope (DSSE).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedEnvelope {
    /// Signed bytes, an in-toto Statement in base64.
    pub payload: String,
    /// Media type of the payload.
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// Signatures over the payload and its type.
    pub signatures: Vec<EnvelopeSignature>,
}

/// Signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvelopeSignature {
    /// Id of the key. The id itself is not covered by the signature.
    #[serde(default)]
    pub keyid: String,
    /// Signature in base64.
    pub sig: String,
}

/// Result of `actum verify`, if everything in the file could be verified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// Id of the run.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
    /// Tenant of the ledger.
    #[schemars(with = "value::TenantId")]
    pub tenant: TenantId,
    /// Id of the run's workspace.
    #[schemars(with = "value::WorkspaceId")]
    pub workspace: WorkspaceId,
    /// Status of the run.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Actor that requested the run.
    #[schemars(with = "record::Actor")]
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Label of the run.
    pub label: String,
    /// Time at which the run ended.
    #[schemars(with = "value::Time")]
    pub ended: Timestamp,
    /// Decisions of the gates.
    pub gates: Vec<Gate>,
    /// Commands that were executed for the run. Absent if empty.
    #[serde(default, skip_serializing_if = "CommandsRun::is_empty")]
    #[schemars(with = "record::Commands")]
    pub commands: CommandsRun,
    /// Effects of the run on paths.
    #[schemars(with = "Vec<record::PathEffect>")]
    pub paths: Vec<PathEffect>,
    /// Id of the key that signed the receipt.
    #[schemars(with = "value::KeyId")]
    pub key: KeyId,
    /// Hash of the receipt as a leaf of the ledger's Merkle tree.
    #[schemars(with = "value::Digest")]
    pub leaf: Digest,
    /// Keyring that was used for the verification.
    pub keyring: TrustedKeyring,
    /// Position of the receipt in the ledger, or `null` if the file has no proof.
    pub log: Option<LogPlace>,
    /// Verified facts, as sentences.
    pub verified: Vec<String>,
    /// Facts that no file can prove, as sentences.
    pub not_verified: Vec<String>,
    /// Parts of the file that were not checked, which are unknown members and signatures by keys that are not in the keyring.
    /// Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// Position of an entry in a ledger, proven by a signed checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogPlace {
    /// Name of the log.
    pub origin: String,
    /// Index of the entry, counted from 0.
    pub index: u64,
    /// Number of entries covered by the checkpoint.
    pub size: u64,
    /// Root of the Merkle tree.
    #[schemars(with = "value::Digest")]
    pub root: Digest,
    /// Id of the key that signed the checkpoint.
    #[schemars(with = "value::KeyId")]
    pub key: KeyId,
}

impl Document for Receipt {
    const FORMAT: &'static str = "actum.receipt/1";
}

impl Document for Verification {
    const FORMAT: &'static str = "actum.verification/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}
