//! The published JSON Schemas of what goes into a task.

use actum_document::SchemaFile;
use actum_document::json_schema::file;

use super::config::SYSTEM_CONFIG;
use super::envelope::TASK_ENVELOPE;
use super::plan::TASK_PLAN;

/// The JSON Schemas (draft 2020-12) of task plan, task envelope and system config, in this order.
///
/// What they cannot say: how large a document may be, names that stand twice, what a path and a rule for
/// paths may have in them to the last byte, that a range does not end before it begins, and how actions
/// fit each other.
pub fn schemas() -> [SchemaFile; 3] {
    [
        file("task-plan.schema.json", "urn:actum:task-plan:v1", "Task plan", &TASK_PLAN),
        file(
            "task-envelope.schema.json",
            "urn:actum:task-envelope:v1",
            "Task envelope",
            &TASK_ENVELOPE,
        ),
        file(
            "system-config.schema.json",
            "urn:actum:system-config:v1",
            "System config",
            &SYSTEM_CONFIG,
        ),
    ]
}
