//! `AgentGoalRequest` (seed 004, section 4.1).

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

/// Goal of a user, with the packet that a Finder made for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentGoalRequest {
    /// Id of the goal and of all cycles that work on it.
    pub correlation_id: CorrelationId,
    /// Tenant.
    pub tenant_id: TenantId,
    /// User on whose behalf it is.
    pub user_id: UserId,
    /// Conversation.
    pub thread_id: ThreadId,
    /// Words of the user.
    pub raw_user_utterance: String,
    /// Intent as the language processor normalised it.
    pub normalized_intent: String,
    /// Original packet of the Finder.
    pub sim_finder_packet: Map<String, Value>,
    /// Answer to a confirmation prompt that the host relays, if any.
    pub confirm_state: Option<ConfirmState>,
    /// Request key: it never belongs to two goals.
    pub idempotency_key: String,
    /// Number of the attempt, counted from 0.
    pub attempt_counter: u32,
}

/// Answer to a confirmation prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmState {
    /// Digest of the answered prompt.
    pub prompt_ref: Digest,
    /// Words of the user.
    pub answer: String,
    /// BCP 47 tag of their language.
    pub language_tag: String,
}

/// Error of bytes that are not a goal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the goal cannot be used: {0}; nothing was dispatched or recorded")]
pub struct GoalError(#[source] pub Diagnostic);

pub(crate) static GOAL: ObjectSchema = ObjectSchema {
    name: "an agent goal request",
    about: "A goal of a user with exactly one packet of a Finder. A goal with other members, with a name twice in one object, or of more than 256 KiB is refused.",
    others: Others::Refused,
    members: &[
        Member::required("correlation_id", ID, "The goal, and all cycles that work on it."),
        Member::required("tenant_id", TENANT, "The tenant. It has to be that of the ledger."),
        Member::required(
            "user_id",
            ID,
            "The user: the caller's own account, or one that a host key asserts.",
        ),
        Member::required("thread_id", ID, "The conversation. A prompt is answered in its thread."),
        Member::required(
            "raw_user_utterance",
            Form::Text(Text::filled(UTTERANCE_CHARS_MAX, Characters::NoNul)),
            "The words of the user.",
        ),
        Member::required(
            "normalized_intent",
            Form::Text(Text::filled(INTENT_CHARS_MAX, Characters::OneLine)),
            "The intent, normalised.",
        ),
        Member::required(
            "sim_finder_packet",
            Form::AnyObject,
            "One packet: `finder-match`, `finder-clarify`, `finder-refuse` or `finder-missing`.",
        ),
        Member::required(
            "confirm_state",
            Form::NullOr(&Form::Object(&CONFIRM_STATE)),
            "The answer to a confirmation prompt, relayed under a host key; `null` without one.",
        ),
        Member::required(
            "idempotency_key",
            Form::Text(Text::filled(REQUEST_KEY_CHARS_MAX, Characters::OneLine)),
            "Key of the request. The same key for another goal is refused.",
        ),
        Member::required(
            "attempt_counter",
            Form::Whole { min: 0, max: ATTEMPTS_MAX },
            "Number of the attempt, from 0. That of a clarify packet is one higher.",
        ),
    ],
};

static CONFIRM_STATE: ObjectSchema = ObjectSchema {
    name: "a confirm state",
    about: "The answer to one confirmation prompt.",
    others: Others::Refused,
    members: &[
        Member::required("prompt_ref", DIGEST, "SHA-256 of the prompt document."),
        Member::required(
            "answer",
            Form::Text(Text::any(ANSWER_CHARS_MAX)),
            "The words of the person, unchanged.",
        ),
        Member::required(
            "language_tag",
            Form::Text(Text::filled(LANGUAGE_CHARS_MAX, Characters::OneLine)),
            "BCP 47 tag of the language of the answer. It is never guessed.",
        ),
    ],
};

impl AgentGoalRequest {
    /// Reads a goal strictly. [`FinderPacket::read`](crate::packet::FinderPacket::read) reads the packet in it.
    ///
    /// # Errors
    /// [`GoalError`]
    pub fn read(bytes: &[u8]) -> Result<Self, GoalError> {
        let mut goal: Self = reader::read_as(bytes, GOAL_BYTES_MAX, &GOAL).map_err(GoalError)?;
        // Sorted, so that the canonical form is written fast.
        goal.sim_finder_packet.values_mut().for_each(Value::sort_all_objects);
        goal.sim_finder_packet.sort_keys();
        Ok(goal)
    }

    /// Computes the digest of the request key, as records have it.
    pub fn request_digest(&self) -> Digest {
        Digest::tagged("actum/agent-request/1", &[self.idempotency_key.as_bytes()])
    }

    /// Computes the fingerprint of the goal of a packet: tenant, user, intent and utterance.
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
