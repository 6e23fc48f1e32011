//! Published JSON Schemas of the task manifest and the execution result.

use actum_document::SchemaFile;
use actum_document::json_schema::file;

use crate::manifest::TASK_MANIFEST;
use crate::result::EXECUTION_RESULT;

/// Returns the JSON Schemas (draft 2020-12) of the task manifest and the execution result, in this order.
///
/// The schemas do not express some rules: the maximum size of a document, the ban on duplicate names, and the rules
/// for absolute paths. They also do not express that FILE_MOVE and FILE_COPY need a destination, while FILE_DELETE must
/// not have one.
pub fn schemas() -> [SchemaFile; 2] {
    [
        file(
            "file-task-manifest.schema.json",
            "urn:actum:file-task-manifest:v1",
            "Task manifest of the File Executor",
            &TASK_MANIFEST,
        ),
        file(
            "execution-result.schema.json",
            "urn:actum:execution-result:v1",
            "Execution result of the File Executor",
            &EXECUTION_RESULT,
        ),
    ]
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test reads the published files")]
mod tests {
    use std::path::Path;

    /// FE-3, FE-13
    #[test]
    fn published_agent_schemas_match_the_types() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        for file in super::schemas() {
            let published = std::fs::read_to_string(directory.join(file.name));
            assert!(
                published.is_ok_and(|it| it == file.text),
                "outdated schema: run `cargo xtask schemas`"
            );
        }
    }
}
