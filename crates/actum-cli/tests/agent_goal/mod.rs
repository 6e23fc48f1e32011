//! Goals for `actum agent`.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::fs;
use std::path::Path;
use std::process::Command;

use actum_core::Digest;
use serde_json::{Value, json};

use crate::program::actum;

/// Writes `goal.json` next to the workspace: a goal of the current user under the catalog in force.
pub(crate) fn write(root: &Path) {
    let fields = json!({"path": "notes.txt", "content": "text\n"});
    write_for(root, &user(), ("file_create", "change_files", &fields));
}

/// Writes `goal.json` for the given user, simulation, access action and fields.
pub(crate) fn write_for(root: &Path, user: &str, simulation: (&str, &str, &Value)) {
    let catalog = actum(root, &["catalog", "list", "--json"]).stdout;
    let catalog: Value = serde_json::from_str(&catalog).unwrap();
    let goal = goal(user, catalog["digest"].as_str().unwrap(), simulation);
    fs::write(root.with_file_name("goal.json"), goal.to_string()).unwrap();
}

/// Returns the user who runs the tests.
pub(crate) fn user() -> String {
    let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout);
    user.unwrap().trim().to_owned()
}

fn goal(user: &str, catalog: &str, (simulation, access, fields): (&str, &str, &Value)) -> Value {
    let (utterance, intent) = ("leg notes.txt an", "create file");
    let fingerprint = Digest::tagged(
        "actum/agent-goal/1",
        &[b"default", user.as_bytes(), intent.as_bytes(), utterance.as_bytes()],
    );
    json!({
        "correlation_id": "goal", "tenant_id": "default", "user_id": user, "thread_id": "thread",
        "raw_user_utterance": utterance, "normalized_intent": intent, "confirm_state": null,
        "idempotency_key": "request", "attempt_counter": 0,
        "sim_finder_packet": {
            "packet_type": "SimulationMatchPacket", "correlation_id": "goal",
            "tenant_id": "default", "goal_fingerprint": fingerprint,
            "catalog_snapshot_ref": catalog, "finder_proof_ref": "0".repeat(64),
            "finder_version": "test 1", "idempotency_key": "packet", "attempt_counter": 0,
            "candidates": [{"simulation_id": simulation, "score": 1}],
            "required_fields": fields, "access_action": access, "learning_table_ref": null,
            "rollback_plan": {"simulation_id": "undo_run", "required_fields": {}},
        },
    })
}
