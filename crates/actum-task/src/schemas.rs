//! Published JSON Schemas of the input documents of a task.

use actum_document::SchemaFile;
use actum_document::json_schema::file;

use super::config::SYSTEM_CONFIG;
use super::envelope::TASK_ENVELOPE;
use super::plan::TASK_PLAN;

/// Returns the JSON Schemas (draft 2020-12) of the task plan, task envelope and system config, in this order.
///
/// Some rules cannot be expressed in them: the maximum size of a document, duplicate names, and the exact
/// characters of a path or a path rule. Neither can they express that a range must not end before it begins,
/// or that actions must be consistent with each other.
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
