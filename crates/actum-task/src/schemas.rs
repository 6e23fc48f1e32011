//! Published JSON Schemas of the input documents of a task.

use actum_document::SchemaFile;
use actum_document::json_schema::file;

use super::config::SYSTEM_CONFIG;
use super::envelope::TASK_ENVELOPE;
use super::plan::TASK_PLAN;

/// Returns the JSON Schemas (draft 2020-12) of the task plan, the task envelope and the system config, in this order.
///
/// JSON Schema cannot express some of the rules, such as the maximum size of a document, unique names, or the exact characters of
/// a path or a path rule. It also cannot reject ranges that end before they start, or actions that contradict each other.
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
