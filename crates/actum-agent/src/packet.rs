//! Packets that a Finder returns (seed 004, section 2.2). Each cycle of the core receives exactly one packet.
//!
//! Seed 37, which defines the packets, is not part of this project. The packets here have only the fields that the core
//! needs.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use actum_core::{ActionName, Digest, canonical};
use actum_document::{Characters, Diagnostic, Form, Member, ObjectSchema, Others, Text, reader};
use actum_record::agent::CorrelationId;
use actum_record::ledger::TenantId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::{
    ATTEMPTS_MAX, CANDIDATES_MAX, PACKET_BYTES_MAX, REQUEST_KEY_CHARS_MAX, SCORE_MAX,
};
use crate::shape::{ACCESS_ACTION, CODE, DIGEST, DIGEST_OR_NULL, ID, SENTENCE, SIMULATION, TENANT};

/// Packet of a Finder, which contains the result of its search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinderPacket {
    /// A simulation matches the goal.
    Match(SimulationMatchPacket),
    /// The user has to answer a question before a simulation can be selected.
    Clarify(ClarifyPacket),
    /// The Finder refuses the goal.
    Refuse(RefusePacket),
    /// No simulation can achieve the goal.
    Missing(MissingSimulationPacket),
}

/// Fields that all packets have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketHead {
    /// Id of the goal.
    pub correlation_id: CorrelationId,
    /// Tenant that the goal belongs to.
    pub tenant_id: TenantId,
    /// Fingerprint of the goal, as computed by
    /// [`AgentGoalRequest::fingerprint`](crate::goal::AgentGoalRequest::fingerprint).
    pub goal_fingerprint: Digest,
    /// Digest of the catalog that was searched.
    pub catalog_snapshot_ref: Digest,
    /// Digest of the Finder's evidence.
    pub finder_proof_ref: Digest,
    /// Name and version of the Finder.
    pub finder_version: String,
    /// Idempotency key of the packet. Repeating a search returns the same packet.
    pub idempotency_key: String,
    /// Number of the attempt.
    pub attempt_counter: u32,
}

/// Packet for a simulation that matches the goal. The core uses the first candidate unchanged (AEC-2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulationMatchPacket {
    /// Fields that all packets have in common.
    #[serde(flatten)]
    pub head: PacketHead,
    /// Matching simulations, with the best match first.
    pub candidates: Vec<Candidate>,
    /// Values for the required fields of the first candidate.
    pub required_fields: Map<String, Value>,
    /// Action that the access policies decide on.
    pub access_action: String,
    /// Simulation that can roll back the effect, if there is one.
    pub rollback_plan: Option<RollbackSimulation>,
    /// Digest of the learning table whose bonuses were used for the ranking, if any.
    pub learning_table_ref: Option<Digest>,
}

/// Simulation that a Finder proposes, with its score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Name of the simulation.
    pub simulation_id: ActionName,
    /// Score from the Finder. The core only checks whether the scores of the first two candidates are equal.
    pub score: u32,
}

/// Simulation that rolls back the effect of another one (AEC-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollbackSimulation {
    /// Name of the simulation.
    pub simulation_id: ActionName,
    /// Values of its required fields. The executor adds the run to undo.
    pub required_fields: Map<String, Value>,
}

/// Packet with a question that the user has to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClarifyPacket {
    /// Fields that all packets have in common.
    #[serde(flatten)]
    pub head: PacketHead,
    /// Question for the user, which is relayed unchanged.
    pub question: String,
    /// Name of the missing field, or `None` if it is unclear which simulation to use.
    pub missing_field: Option<String>,
    /// Simulations that the user has to choose between.
    pub candidates: Vec<Candidate>,
}

/// Packet for a goal that the Finder refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusePacket {
    /// Fields that all packets have in common.
    #[serde(flatten)]
    pub head: PacketHead,
    /// Reason code given by the Finder.
    pub refusal_code: String,
    /// Message for the user.
    pub message: String,
}

/// Packet for a goal that no simulation can achieve. The goal is forwarded to Dev Intake (AEC-12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingSimulationPacket {
    /// Fields that all packets have in common.
    #[serde(flatten)]
    pub head: PacketHead,
    /// Capability that the user requested, on a single line.
    pub requested_capability: String,
}

/// Error returned if bytes are not a valid packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// The packet type is missing or unknown.
    #[error("`packet_type` must be one of {}", TYPES.join(", "))]
    Type,
    /// The packet does not have the members required for its type.
    #[error("the packet cannot be used: {0}")]
    Document(#[source] Diagnostic),
    /// The match packet has no candidates.
    #[error("a `SimulationMatchPacket` needs at least one candidate")]
    NoCandidate,
}

/// Names of the packet types, as written in `packet_type`.
const TYPES: [&str; 4] =
    ["SimulationMatchPacket", "ClarifyPacket", "RefusePacket", "MissingSimulationPacket"];

/// Lists the members that all packets have in common, followed by those of a specific type.
macro_rules! packet_members {
    ($type:literal $(, $member:expr)* $(,)?) => {&[
        Member::required("packet_type", Form::Word(&[$type]), "Type of the packet."),
        Member::required("correlation_id", ID, "Id of the goal."),
        Member::required("tenant_id", TENANT, "Tenant that the goal belongs to."),
        Member::required("goal_fingerprint", DIGEST, "Fingerprint of the goal: SHA-256 digest of its tenant, user, intent and utterance, each prefixed with its length."),
        Member::required("catalog_snapshot_ref", DIGEST, "SHA-256 digest of the catalog that was searched."),
        Member::required("finder_proof_ref", DIGEST, "SHA-256 digest of the Finder's evidence."),
        Member::required(
            "finder_version",
            Form::Text(Text::filled(64, Characters::OneLine)),
            "Name and version of the Finder.",
        ),
        Member::required(
            "idempotency_key",
            Form::Text(Text::filled(REQUEST_KEY_CHARS_MAX, Characters::OneLine)),
            "Idempotency key of the packet.",
        ),
        Member::required(
            "attempt_counter",
            Form::Whole { min: 0, max: ATTEMPTS_MAX },
            "Number of the attempt. In a clarify packet, it is one higher than in the goal.",
        ),
        $($member),*
    ]};
}

const CANDIDATES: Form = Form::Objects { of: &CANDIDATE, count_max: CANDIDATES_MAX };

pub(crate) static MATCH: ObjectSchema = ObjectSchema {
    name: "a simulation match packet",
    about: "Packet for a simulation that matches the goal. The first candidate is used unchanged.",
    others: Others::Refused,
    members: packet_members![
        "SimulationMatchPacket",
        Member::required(
            "candidates",
            CANDIDATES,
            "Matching simulations, at least one, with the best match first."
        ),
        Member::required(
            "required_fields",
            Form::AnyObject,
            "Input of the first candidate, according to its input schema.",
        ),
        Member::required(
            "access_action",
            ACCESS_ACTION,
            "Action that the access policies decide on."
        ),
        Member::required(
            "rollback_plan",
            Form::NullOr(&Form::Object(&ROLLBACK)),
            "Simulation that rolls back the effect. Required for an impactful simulation.",
        ),
        Member::required(
            "learning_table_ref",
            DIGEST_OR_NULL,
            "SHA-256 digest of the learning table that was used for the ranking, or `null` if there was none.",
        ),
    ],
};

static CANDIDATE: ObjectSchema = ObjectSchema {
    name: "a candidate",
    about: "Simulation that the Finder proposes, with its score.",
    others: Others::Refused,
    members: &[
        Member::required("simulation_id", SIMULATION, "Name of the simulation."),
        Member::required(
            "score",
            Form::Whole { min: 0, max: SCORE_MAX },
            "Score of the simulation. The core only checks whether the first two candidates are tied.",
        ),
    ],
};

static ROLLBACK: ObjectSchema = ObjectSchema {
    name: "a rollback simulation",
    about: "Simulation that rolls back the effect of another one.",
    others: Others::Refused,
    members: &[
        Member::required("simulation_id", SIMULATION, "Name of the simulation."),
        Member::required(
            "required_fields",
            Form::AnyObject,
            "Input of the simulation, without the run to undo.",
        ),
    ],
};

pub(crate) static CLARIFY: ObjectSchema = ObjectSchema {
    name: "a clarify packet",
    about: "Packet with a question that the user has to answer.",
    others: Others::Refused,
    members: packet_members![
        "ClarifyPacket",
        Member::required(
            "question",
            SENTENCE,
            "Question for the user, which is relayed unchanged."
        ),
        Member::required(
            "missing_field",
            Form::NullOr(&SENTENCE),
            "Name of the missing field, or `null` if it is unclear which simulation to use.",
        ),
        Member::required(
            "candidates",
            CANDIDATES,
            "Simulations that the user has to choose between."
        ),
    ],
};

pub(crate) static REFUSE: ObjectSchema = ObjectSchema {
    name: "a refuse packet",
    about: "Packet for a goal that the Finder refuses.",
    others: Others::Refused,
    members: packet_members![
        "RefusePacket",
        Member::required("refusal_code", CODE, "Reason code given by the Finder."),
        Member::required("message", SENTENCE, "Message for the user."),
    ],
};

pub(crate) static MISSING: ObjectSchema = ObjectSchema {
    name: "a missing simulation packet",
    about: "Packet for a goal that no simulation can achieve. The goal is forwarded to Dev Intake.",
    others: Others::Refused,
    members: packet_members![
        "MissingSimulationPacket",
        Member::required("requested_capability", SENTENCE, "Capability that the user requested."),
    ],
};

impl FinderPacket {
    /// Parses and validates the canonical bytes of a packet.
    ///
    /// # Errors
    /// Returns a [`PacketError`] if the bytes are not a valid packet.
    pub fn read(bytes: &[u8]) -> Result<Self, PacketError> {
        #[derive(Deserialize)]
        struct Type {
            packet_type: String,
        }
        if bytes.len() > PACKET_BYTES_MAX {
            let read = reader::read(bytes, PACKET_BYTES_MAX, &MATCH, |_| Ok(()));
            return Err(read.map_or_else(PacketError::Document, |()| PacketError::Type));
        }
        let Ok(Type { packet_type }) = serde_json::from_slice(bytes) else {
            return Err(PacketError::Type);
        };
        match &*packet_type {
            "SimulationMatchPacket" => {
                let packet: SimulationMatchPacket = read(bytes, &MATCH)?;
                match packet.candidates.is_empty() {
                    true => Err(PacketError::NoCandidate),
                    false => Ok(Self::Match(packet)),
                }
            }
            "ClarifyPacket" => Ok(Self::Clarify(read(bytes, &CLARIFY)?)),
            "RefusePacket" => Ok(Self::Refuse(read(bytes, &REFUSE)?)),
            "MissingSimulationPacket" => Ok(Self::Missing(read(bytes, &MISSING)?)),
            _ => Err(PacketError::Type),
        }
    }

    /// Returns the fields that all packets have in common.
    pub fn head(&self) -> &PacketHead {
        match self {
            Self::Match(packet) => &packet.head,
            Self::Clarify(packet) => &packet.head,
            Self::Refuse(packet) => &packet.head,
            Self::Missing(packet) => &packet.head,
        }
    }

    /// Returns the name of the packet type.
    pub fn packet_type(&self) -> &'static str {
        let [matched, clarify, refuse, missing] = TYPES;
        match self {
            Self::Match(_) => matched,
            Self::Clarify(_) => clarify,
            Self::Refuse(_) => refuse,
            Self::Missing(_) => missing,
        }
    }

    /// Serializes the packet as a JSON object that can be inserted into a goal request.
    ///
    /// # Errors
    /// Returns a [`canonical::CanonicalError`] if the packet has no canonical form.
    pub fn to_object(&self) -> Result<Map<String, Value>, canonical::CanonicalError> {
        let value = match self {
            Self::Match(packet) => canonical::to_vec(packet),
            Self::Clarify(packet) => canonical::to_vec(packet),
            Self::Refuse(packet) => canonical::to_vec(packet),
            Self::Missing(packet) => canonical::to_vec(packet),
        }?;
        let mut object = match canonical::read(&value)? {
            Value::Object(object) => object,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        object.insert("packet_type".to_string(), Value::from(self.packet_type()));
        Ok(object)
    }
}

impl RollbackSimulation {
    /// Returns the canonical bytes of the rollback plan, whose digest is the `rollback_plan_ref`.
    ///
    /// # Errors
    /// Returns a [`canonical::CanonicalError`] if the rollback plan has no canonical form.
    pub fn to_vec(&self) -> Result<Vec<u8>, canonical::CanonicalError> {
        canonical::to_vec(self)
    }
}

fn read<T: serde::de::DeserializeOwned>(
    bytes: &[u8],
    shape: &'static ObjectSchema,
) -> Result<T, PacketError> {
    reader::read_as(bytes, PACKET_BYTES_MAX, shape).map_err(PacketError::Document)
}
