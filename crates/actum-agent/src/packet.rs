//! Packets of a Finder (seed 004, section 2.2): each cycle gets exactly one.
//!
//! Seed 37, which owns the packets, is not part of this project. The fields here are the fewest that the core needs.

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

/// Packet of a Finder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinderPacket {
    /// A simulation matches.
    Match(SimulationMatchPacket),
    /// The user has to answer a question first.
    Clarify(ClarifyPacket),
    /// The Finder refuses the goal.
    Refuse(RefusePacket),
    /// There is no such simulation.
    Missing(MissingSimulationPacket),
}

/// Fields of all packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketHead {
    /// Goal.
    pub correlation_id: CorrelationId,
    /// Tenant.
    pub tenant_id: TenantId,
    /// [`AgentGoalRequest::fingerprint`](crate::goal::AgentGoalRequest::fingerprint) of the goal.
    pub goal_fingerprint: Digest,
    /// Catalog that was searched.
    pub catalog_snapshot_ref: Digest,
    /// Evidence of the Finder.
    pub finder_proof_ref: Digest,
    /// Name and version of the Finder.
    pub finder_version: String,
    /// Key of the packet: the same search gives the same packet.
    pub idempotency_key: String,
    /// Number of the attempt.
    pub attempt_counter: u32,
}

/// Match of a simulation. Its first candidate is consumed unchanged (AEC-2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulationMatchPacket {
    /// Fields of all packets.
    #[serde(flatten)]
    pub head: PacketHead,
    /// Candidates, the best first.
    pub candidates: Vec<Candidate>,
    /// Values of the required fields of the first candidate.
    pub required_fields: Map<String, Value>,
    /// Action that access policies judge.
    pub access_action: String,
    /// Rollback of the effect, by another simulation.
    pub rollback_plan: Option<RollbackSimulation>,
    /// Table of the learning bonus that the ranking used.
    pub learning_table_ref: Option<Digest>,
}

/// Candidate of a packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Simulation.
    pub simulation_id: ActionName,
    /// Score from the Finder. The core only checks if the first two are equal.
    pub score: u32,
}

/// Simulation that reverts an effect (AEC-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollbackSimulation {
    /// Simulation.
    pub simulation_id: ActionName,
    /// Required fields. The executor adds the run.
    pub required_fields: Map<String, Value>,
}

/// Question that the user has to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClarifyPacket {
    /// Fields of all packets.
    #[serde(flatten)]
    pub head: PacketHead,
    /// Question, relayed unchanged.
    pub question: String,
    /// Missing field; `None` if the simulation is in doubt.
    pub missing_field: Option<String>,
    /// Simulations in doubt.
    pub candidates: Vec<Candidate>,
}

/// Refusal of the goal by the Finder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusePacket {
    /// Fields of all packets.
    #[serde(flatten)]
    pub head: PacketHead,
    /// Reason of the Finder.
    pub refusal_code: String,
    /// Message for the user.
    pub message: String,
}

/// Missing simulation: the goal goes to Dev Intake (AEC-12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingSimulationPacket {
    /// Fields of all packets.
    #[serde(flatten)]
    pub head: PacketHead,
    /// Requested capability, in one line.
    pub requested_capability: String,
}

/// Error of bytes that are not a packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// The type of the packet is unknown.
    #[error("`packet_type` has to be one of {}", TYPES.join(", "))]
    Type,
    /// The members are not those of the type.
    #[error("the packet cannot be used: {0}")]
    Document(#[source] Diagnostic),
    /// The match packet has no candidate.
    #[error("a `SimulationMatchPacket` needs at least one candidate")]
    NoCandidate,
}

/// Types of packets.
const TYPES: [&str; 4] =
    ["SimulationMatchPacket", "ClarifyPacket", "RefusePacket", "MissingSimulationPacket"];

/// Lists the members of all packets, and then those of one type.
macro_rules! packet_members {
    ($type:literal $(, $member:expr)* $(,)?) => {&[
        Member::required("packet_type", Form::Word(&[$type]), "The type of the packet."),
        Member::required("correlation_id", ID, "The goal."),
        Member::required("tenant_id", TENANT, "The tenant."),
        Member::required("goal_fingerprint", DIGEST, "SHA-256 over tenant, user, intent and utterance, each after its length."),
        Member::required("catalog_snapshot_ref", DIGEST, "SHA-256 of the catalog that was searched."),
        Member::required("finder_proof_ref", DIGEST, "SHA-256 of the evidence of the Finder."),
        Member::required(
            "finder_version",
            Form::Text(Text::filled(64, Characters::OneLine)),
            "Name and version of the Finder.",
        ),
        Member::required(
            "idempotency_key",
            Form::Text(Text::filled(REQUEST_KEY_CHARS_MAX, Characters::OneLine)),
            "Key of the packet.",
        ),
        Member::required(
            "attempt_counter",
            Form::Whole { min: 0, max: ATTEMPTS_MAX },
            "Number of the attempt. A clarify packet has that of the goal and one more.",
        ),
        $($member),*
    ]};
}

const CANDIDATES: Form = Form::Objects { of: &CANDIDATE, count_max: CANDIDATES_MAX };

pub(crate) static MATCH: ObjectSchema = ObjectSchema {
    name: "a simulation match packet",
    about: "A simulation matches the goal. The first candidate is consumed as it is.",
    others: Others::Refused,
    members: packet_members![
        "SimulationMatchPacket",
        Member::required("candidates", CANDIDATES, "At least one candidate, the best first."),
        Member::required(
            "required_fields",
            Form::AnyObject,
            "The input of the first candidate, by its input schema.",
        ),
        Member::required("access_action", ACCESS_ACTION, "The action that access policies judge."),
        Member::required(
            "rollback_plan",
            Form::NullOr(&Form::Object(&ROLLBACK)),
            "The simulation that takes the effect back. An impactful simulation needs one.",
        ),
        Member::required(
            "learning_table_ref",
            DIGEST_OR_NULL,
            "SHA-256 of the table of the learning bonus, where the ranking used one.",
        ),
    ],
};

static CANDIDATE: ObjectSchema = ObjectSchema {
    name: "a candidate",
    about: "A simulation and its score.",
    others: Others::Refused,
    members: &[
        Member::required("simulation_id", SIMULATION, "The simulation."),
        Member::required(
            "score",
            Form::Whole { min: 0, max: SCORE_MAX },
            "The score. The core does not compare it, but for a tie of the first two.",
        ),
    ],
};

static ROLLBACK: ObjectSchema = ObjectSchema {
    name: "a rollback simulation",
    about: "The simulation that takes an effect back.",
    others: Others::Refused,
    members: &[
        Member::required("simulation_id", SIMULATION, "The simulation."),
        Member::required("required_fields", Form::AnyObject, "Its input, without the run."),
    ],
};

pub(crate) static CLARIFY: ObjectSchema = ObjectSchema {
    name: "a clarify packet",
    about: "The user has to answer one question.",
    others: Others::Refused,
    members: packet_members![
        "ClarifyPacket",
        Member::required("question", SENTENCE, "The question, which is relayed unchanged."),
        Member::required(
            "missing_field",
            Form::NullOr(&SENTENCE),
            "The field that is missing; `null` where the simulation is in doubt.",
        ),
        Member::required("candidates", CANDIDATES, "The simulations in doubt."),
    ],
};

pub(crate) static REFUSE: ObjectSchema = ObjectSchema {
    name: "a refuse packet",
    about: "The Finder refuses the goal.",
    others: Others::Refused,
    members: packet_members![
        "RefusePacket",
        Member::required("refusal_code", CODE, "The reason of the Finder."),
        Member::required("message", SENTENCE, "The message for the user."),
    ],
};

pub(crate) static MISSING: ObjectSchema = ObjectSchema {
    name: "a missing simulation packet",
    about: "No simulation can do it. The goal goes to Dev Intake.",
    others: Others::Refused,
    members: packet_members![
        "MissingSimulationPacket",
        Member::required("requested_capability", SENTENCE, "What the user wishes."),
    ],
};

impl FinderPacket {
    /// Reads the canonical bytes of a packet strictly.
    ///
    /// # Errors
    /// [`PacketError`]
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

    /// Returns the fields of all packets.
    pub fn head(&self) -> &PacketHead {
        match self {
            Self::Match(packet) => &packet.head,
            Self::Clarify(packet) => &packet.head,
            Self::Refuse(packet) => &packet.head,
            Self::Missing(packet) => &packet.head,
        }
    }

    /// Returns the type of the packet.
    pub fn packet_type(&self) -> &'static str {
        let [matched, clarify, refuse, missing] = TYPES;
        match self {
            Self::Match(_) => matched,
            Self::Clarify(_) => clarify,
            Self::Refuse(_) => refuse,
            Self::Missing(_) => missing,
        }
    }

    /// Writes the packet in the form of a goal's member.
    ///
    /// # Errors
    /// [`canonical::CanonicalError`]
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
    /// Returns the canonical bytes of the rollback plan. `rollback_plan_ref` is their digest.
    ///
    /// # Errors
    /// [`canonical::CanonicalError`]
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
