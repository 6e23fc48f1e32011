//! Published JSON Schemas of the documents of the core.

use alloc::vec;
use alloc::vec::Vec;

use actum_document::json_schema::file;
use actum_document::{Characters, Form, Member, ObjectSchema, Others, SchemaFile, Text};

use crate::goal::GOAL;
use crate::limits::MESSAGE_CHARS_MAX;
use crate::packet::{CLARIFY, MATCH, MISSING, REFUSE};
use crate::plan::{PLAN, STEP_SHAPE};
use crate::shape::{ACCESS_ACTION, DIGEST, DIGEST_OR_NULL, ID, SIMULATION, TENANT};

static ENVELOPE: ObjectSchema = ObjectSchema {
    name: "a dispatch envelope",
    about: "What a SimulationExecutor is given. Only the core makes one.",
    others: Others::Refused,
    members: &[
        Member::required("correlation_id", ID, "The goal."),
        Member::required("tenant_id", TENANT, "The tenant."),
        Member::required("user_id", ID, "The user."),
        Member::required("step_id", ID, "The step."),
        Member::required("simulation_id", SIMULATION, "The simulation, from the packet."),
        Member::required("required_fields", Form::AnyObject, "Its input."),
        Member::required(
            "confirmation_proof_ref",
            DIGEST_OR_NULL,
            "Hash of the row of the confirmation ledger; `null` where none is required.",
        ),
        Member::required("access_action", ACCESS_ACTION, "The action that access policies judge."),
        Member::required("idempotency_key", DIGEST, "The key of the step."),
        Member::required("policy_snapshot_ref", DIGEST, "SHA-256 of the policy."),
        Member::required(
            "artifact_fingerprint_bundle_ref",
            DIGEST,
            "SHA-256 of the fingerprints of engine, package, schemas and lexicon.",
        ),
        Member::required(
            "rollback_plan_ref",
            DIGEST_OR_NULL,
            "SHA-256 of the rollback plan. An impactful simulation has one.",
        ),
    ],
};

static OUTCOME: ObjectSchema = ObjectSchema {
    name: "an agent execution outcome",
    about: "The result of one cycle.",
    others: Others::PassedOver,
    members: &[
        Member::required("step_id", Form::NullOr(&ID), "The step; `null` where there is no plan."),
        Member::required(
            "simulation_outcome",
            Form::NullOr(&Form::AnyObject),
            "What the executor returned, unchanged; `null` where nothing was dispatched.",
        ),
        Member::required("audit_event_id", DIGEST, "Hash of the event in the ledger."),
        Member::required(
            "proof_refs",
            Form::Texts { of: Text::filled(64, Characters::Sha256), count_max: 64 },
            "Hashes of proofs and audit events.",
        ),
        Member::required("dispatch_decision_hash", DIGEST, "SHA-256 of decision and bundle."),
        Member::required("next_step", Form::NullOr(&ID), "Always `null` in phase 1."),
        Member::required(
            "reason_code",
            Form::NullOr(&Form::Text(Text::filled(64, Characters::Capitals))),
            "The reason; `null` of a success.",
        ),
        Member::required(
            "user_visible_text",
            Form::Text(Text::any(MESSAGE_CHARS_MAX)),
            "The message for the user. No transcript is written.",
        ),
    ],
};

/// Returns the JSON Schemas (draft 2020-12) of goal, packets, plan, step, envelope and outcome.
///
/// They cannot express the size of a document, repeated names, that a match packet has a candidate, and that a packet
/// belongs to its goal.
pub fn schemas() -> Vec<SchemaFile> {
    vec![
        file("agent-goal.schema.json", "urn:actum:agent-goal:v1", "Agent goal request", &GOAL),
        file(
            "finder-match.schema.json",
            "urn:actum:finder-match:v1",
            "Simulation match packet",
            &MATCH,
        ),
        file(
            "finder-clarify.schema.json",
            "urn:actum:finder-clarify:v1",
            "Clarify packet",
            &CLARIFY,
        ),
        file("finder-refuse.schema.json", "urn:actum:finder-refuse:v1", "Refuse packet", &REFUSE),
        file(
            "finder-missing.schema.json",
            "urn:actum:finder-missing:v1",
            "Missing simulation packet",
            &MISSING,
        ),
        file("agent-plan.schema.json", "urn:actum:agent-plan:v1", "Agent execution plan", &PLAN),
        file("agent-step.schema.json", "urn:actum:agent-step:v1", "Agent step", &STEP_SHAPE),
        file(
            "agent-dispatch.schema.json",
            "urn:actum:agent-dispatch:v1",
            "Dispatch envelope",
            &ENVELOPE,
        ),
        file(
            "agent-outcome.schema.json",
            "urn:actum:agent-outcome:v1",
            "Agent execution outcome",
            &OUTCOME,
        ),
    ]
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test reads what is published")]
mod tests {
    use std::path::Path;

    /// AEC-3
    #[test]
    fn the_published_schemas_are_those_of_the_shapes() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        for file in super::schemas() {
            let published = std::fs::read_to_string(directory.join(file.name));
            assert!(published.is_ok_and(|it| it == file.text), "`cargo xtask schemas` writes them");
        }
    }
}
