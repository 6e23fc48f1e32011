//! Published JSON Schemas for the documents of the agent core.

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
    about: "Input of a SimulationExecutor. Only the agent core creates envelopes.",
    others: Others::Refused,
    members: &[
        Member::required("correlation_id", ID, "Id of the goal."),
        Member::required("tenant_id", TENANT, "Name of the tenant."),
        Member::required("user_id", ID, "Id of the user."),
        Member::required("step_id", ID, "Id of the step."),
        Member::required("simulation_id", SIMULATION, "Simulation named in the packet."),
        Member::required("required_fields", Form::AnyObject, "Input of the simulation."),
        Member::required(
            "confirmation_proof_ref",
            DIGEST_OR_NULL,
            "Hash of the ledger entry with the confirmation, or `null` if none is required.",
        ),
        Member::required(
            "access_action",
            ACCESS_ACTION,
            "Action that the access policies decide on.",
        ),
        Member::required("idempotency_key", DIGEST, "Idempotency key of the step."),
        Member::required("policy_snapshot_ref", DIGEST, "SHA-256 of the policy."),
        Member::required(
            "artifact_fingerprint_bundle_ref",
            DIGEST,
            "SHA-256 of the fingerprints of the engine, package, schemas and lexicon.",
        ),
        Member::required(
            "rollback_plan_ref",
            DIGEST_OR_NULL,
            "SHA-256 of the rollback plan, or `null` if there is none. An impactful simulation requires one.",
        ),
    ],
};

static OUTCOME: ObjectSchema = ObjectSchema {
    name: "an agent execution outcome",
    about: "Result of one execution cycle.",
    others: Others::PassedOver,
    members: &[
        Member::required(
            "step_id",
            Form::NullOr(&ID),
            "Id of the step, or `null` if there is no plan.",
        ),
        Member::required(
            "simulation_outcome",
            Form::NullOr(&Form::AnyObject),
            "Unmodified result of the executor, or `null` if nothing was dispatched.",
        ),
        Member::required(
            "audit_event_id",
            DIGEST,
            "Hash of the ledger entry that records the event.",
        ),
        Member::required(
            "proof_refs",
            Form::Texts { of: Text::filled(64, Characters::Sha256), count_max: 64 },
            "Hashes of proofs and audit events.",
        ),
        Member::required(
            "dispatch_decision_hash",
            DIGEST,
            "SHA-256 of the decision and its bundle.",
        ),
        Member::required("next_step", Form::NullOr(&ID), "Always `null` in phase 1."),
        Member::required(
            "reason_code",
            Form::NullOr(&Form::Text(Text::filled(64, Characters::Capitals))),
            "Reason code, or `null` on success.",
        ),
        Member::required(
            "user_visible_text",
            Form::Text(Text::any(MESSAGE_CHARS_MAX)),
            "Message for the user. It is not stored in any transcript.",
        ),
    ],
};

/// Returns the JSON Schemas (draft 2020-12) for the goal, packets, plan, step, dispatch envelope and outcome.
///
/// A JSON Schema cannot express every rule, so some are checked only in code. These are the size limit of a document, unique member
/// names, the candidate that a match packet must have, and the link between a packet and its goal.
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
#[allow(clippy::disallowed_methods, reason = "the test reads the published schemas")]
mod tests {
    use std::path::Path;

    /// AEC-3
    #[test]
    fn published_agent_schemas_match_the_types() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        for file in super::schemas() {
            let published = std::fs::read_to_string(directory.join(file.name));
            assert!(published.is_ok_and(|it| it == file.text), "run `cargo xtask schemas`");
        }
    }
}
