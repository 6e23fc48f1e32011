//! `actum.receipt/1` and `actum.verification/1`: receipts, and what a verifier finds in them.

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

/// Signed receipt of a run, and the proof that it is in the ledger: result of `actum receipt`, with `--json` or without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Proof that the receipt is in the ledger.
    pub proof: ReceiptProof,
    /// The receipt.
    pub receipt: SignedEnvelope,
}

/// Proof that an entry is in a ledger: the hashes from the entry to the root of the Merkle tree (RFC 6962).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptProof {
    /// Signed note (C2SP checkpoint) with the root.
    pub checkpoint: String,
    /// Hashes that lead from the entry to the root.
    #[schemars(with = "Vec<value::Digest>")]
    pub hashes: Vec<Digest>,
    /// Number of the entry, counted from 0.
    pub index: u64,
    /// Number of entries that the checkpoint covers.
    pub size: u64,
}

/// Signed envelope (DSSE).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedEnvelope {
    /// Signed bytes in base64: an in-toto Statement.
    pub payload: String,
    /// Media type of the payload.
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// Signatures over payload and type.
    pub signatures: Vec<EnvelopeSignature>,
}

/// Signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvelopeSignature {
    /// Id of the key, which is not signed itself.
    #[serde(default)]
    pub keyid: String,
    /// Signature in base64.
    pub sig: String,
}

/// Result of `actum verify`, where everything in the file is verified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// The run.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
    /// Tenant of the ledger.
    #[schemars(with = "value::TenantId")]
    pub tenant: TenantId,
    /// Workspace of the run.
    #[schemars(with = "value::WorkspaceId")]
    pub workspace: WorkspaceId,
    /// Status of the run.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Requester.
    #[schemars(with = "record::Actor")]
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Label of the run.
    pub label: String,
    /// End of the run.
    #[schemars(with = "value::Time")]
    pub ended: Timestamp,
    /// Decisions of the gates.
    pub gates: Vec<Gate>,
    /// Commands that ran for the run. Absent if empty.
    #[serde(default, skip_serializing_if = "CommandsRun::is_empty")]
    #[schemars(with = "record::Commands")]
    pub commands: CommandsRun,
    /// Effects on paths.
    #[schemars(with = "Vec<record::PathEffect>")]
    pub paths: Vec<PathEffect>,
    /// Key that signed the receipt.
    #[schemars(with = "value::KeyId")]
    pub key: KeyId,
    /// Hash of the receipt as a leaf of the ledger's Merkle tree.
    #[schemars(with = "value::Digest")]
    pub leaf: Digest,
    /// Keyring that is trusted.
    pub keyring: TrustedKeyring,
    /// Place of the receipt in the ledger; `null` where the file has no proof.
    pub log: Option<LogPlace>,
    /// Verified facts, as sentences.
    pub verified: Vec<String>,
    /// Facts that no file can prove, as sentences.
    pub not_verified: Vec<String>,
    /// Parts of the file that were not checked: unknown members, and signatures of keys that are not in the keyring. Absent
    /// if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// Place of an entry in a ledger, as a signed checkpoint proves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogPlace {
    /// Name of the log.
    pub origin: String,
    /// Number of the entry, counted from 0.
    pub index: u64,
    /// Number of entries that the checkpoint covers.
    pub size: u64,
    /// Root of the Merkle tree.
    #[schemars(with = "value::Digest")]
    pub root: Digest,
    /// Key that signed the checkpoint.
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
