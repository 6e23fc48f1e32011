//! Goal request of a user, `AgentGoalRequest` (seed 004, section 4.1).

use alloc::string::String;

use actum_core::Digest;
use actum_document::{Characters, Diagnostic, Form, Member, ObjectSchema, Others, Text, reader};
use actum_record::agent::{CorrelationId, ThreadId, UserId};
use actum_record::ledger::TenantId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::{
    ANSWER_CHARS_MAX, ATTEMPTS_MAX, GOAL_BYTES_MAX, INTENT_CHARS_MAX, LANGUAGE_CHARS_MAX,
    REQUEST_KEY_CHARS_MAX, UTTERANCE_CHARS_MAX,
};
use crate::shape::{DIGEST, ID, TENANT};

/// Goal of a user, together with the packet that a Finder created for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentGoalRequest {
    /// Id of the goal, shared by all cycles that work on it.
    pub correlation_id: CorrelationId,
    /// Tenant that the goal belongs to.
    pub tenant_id: TenantId,
    /// User on whose behalf the goal is pursued.
    pub user_id: UserId,
    /// Conversation that the goal belongs to.
    pub thread_id: ThreadId,
    /// Words of the user, unchanged.
    pub raw_user_utterance: String,
    /// Intent of the user, as normalised by the language processor.
    pub normalized_intent: String,
    /// Original packet of the Finder.
    pub sim_finder_packet: Map<String, Value>,
    /// Answer to a confirmation prompt that the host relays, if any.
    pub confirm_state: Option<ConfirmState>,
    /// Idempotency key of the request. It must not be reused for a different goal.
    pub idempotency_key: String,
    /// Number of the attempt, starting at 0.
    pub attempt_counter: u32,
}

/// Answer to a confirmation prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmState {
    /// Digest of the prompt that was answered.
    pub prompt_ref: Digest,
    /// Words of the user, unchanged.
    pub answer: String,
    /// BCP 47 tag of the language of the answer.
    pub language_tag: String,
}

/// Error returned if bytes are not a valid goal request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the goal cannot be used: {0}; nothing was dispatched or recorded")]
pub struct GoalError(#[source] pub Diagnostic);

pub(crate) static GOAL: ObjectSchema = ObjectSchema {
    name: "an agent goal request",
    about: "Goal of a user, with exactly one packet of a Finder. A goal is rejected if it has unknown members, repeats a name within an object, or is larger than 256 KiB.",
    others: Others::Refused,
    members: &[
        Member::required(
            "correlation_id",
            ID,
            "Id of the goal, shared by all cycles that work on it.",
        ),
        Member::required(
            "tenant_id",
            TENANT,
            "Tenant of the goal. It must be the tenant of the ledger.",
        ),
        Member::required(
            "user_id",
            ID,
            "User of the goal: the account of the caller, or a user that a host key asserts.",
        ),
        Member::required(
            "thread_id",
            ID,
            "Conversation of the goal. A prompt must be answered in the same conversation.",
        ),
        Member::required(
            "raw_user_utterance",
            Form::Text(Text::filled(UTTERANCE_CHARS_MAX, Characters::NoNul)),
            "Words of the user, unchanged.",
        ),
        Member::required(
            "normalized_intent",
            Form::Text(Text::filled(INTENT_CHARS_MAX, Characters::OneLine)),
            "Normalised intent of the user.",
        ),
        Member::required(
            "sim_finder_packet",
            Form::AnyObject,
            "Packet of the Finder: `finder-match`, `finder-clarify`, `finder-refuse` or `finder-missing`.",
        ),
        Member::required(
            "confirm_state",
            Form::NullOr(&Form::Object(&CONFIRM_STATE)),
            "Answer to a confirmation prompt, relayed with a host key, or `null` if there is none.",
        ),
        Member::required(
            "idempotency_key",
            Form::Text(Text::filled(REQUEST_KEY_CHARS_MAX, Characters::OneLine)),
            "Idempotency key of the request. A request that reuses the key of a different goal is rejected.",
        ),
        Member::required(
            "attempt_counter",
            Form::Whole { min: 0, max: ATTEMPTS_MAX },
            "Number of the attempt, starting at 0. In a clarify packet, it is one higher.",
        ),
    ],
};

static CONFIRM_STATE: ObjectSchema = ObjectSchema {
    name: "a confirm state",
    about: "Answer to a confirmation prompt.",
    others: Others::Refused,
    members: &[
        Member::required("prompt_ref", DIGEST, "SHA-256 digest of the prompt that was answered."),
        Member::required(
            "answer",
            Form::Text(Text::any(ANSWER_CHARS_MAX)),
            "Answer of the user, unchanged.",
        ),
        Member::required(
            "language_tag",
            Form::Text(Text::filled(LANGUAGE_CHARS_MAX, Characters::OneLine)),
            "BCP 47 tag of the language of the answer. The language is never guessed.",
        ),
    ],
};

impl AgentGoalRequest {
    /// Parses and validates a goal request. The packet in it must be parsed separately, with
    /// [`FinderPacket::read`](crate::packet::FinderPacket::read).
    ///
    /// # Errors
    /// Returns a [`GoalError`] if the request is invalid.
    pub fn read(bytes: &[u8]) -> Result<Self, GoalError> {
        let mut goal: Self = reader::read_as(bytes, GOAL_BYTES_MAX, &GOAL).map_err(GoalError)?;
        // Sort the packet now, because this makes writing its canonical form faster.
        goal.sim_finder_packet.values_mut().for_each(Value::sort_all_objects);
        goal.sim_finder_packet.sort_keys();
        Ok(goal)
    }

    /// Computes the digest of the idempotency key, which ledger records contain instead of the key itself.
    pub fn request_digest(&self) -> Digest {
        Digest::tagged("actum/agent-request/1", &[self.idempotency_key.as_bytes()])
    }

    /// Computes the fingerprint of the goal from its tenant, user, intent and utterance.
    pub fn fingerprint(&self) -> Digest {
        let Self { tenant_id, user_id, normalized_intent, raw_user_utterance, .. } = self;
        Digest::tagged(
            "actum/agent-goal/1",
            &[
                tenant_id.as_str().as_bytes(),
                user_id.as_str().as_bytes(),
                normalized_intent.as_bytes(),
                raw_user_utterance.as_bytes(),
            ],
        )
    }
}
