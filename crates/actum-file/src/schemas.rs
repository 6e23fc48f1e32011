//! Published JSON Schemas of task manifest and execution result.

use actum_document::SchemaFile;
use actum_document::json_schema::file;

use crate::manifest::TASK_MANIFEST;
use crate::result::EXECUTION_RESULT;

/// Returns the JSON Schemas (draft 2020-12) of task manifest and execution result, in this order.
///
/// They cannot express: the size of a document, duplicate names, that FILE_MOVE and FILE_COPY need
/// a destination and FILE_DELETE has none, and the rules of an absolute path.
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
#[allow(clippy::disallowed_methods, reason = "a test reads what is published")]
mod tests {
    use std::path::Path;

    /// FE-3, FE-13
    #[test]
    fn the_published_schemas_are_those_of_the_shapes() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        for file in super::schemas() {
            let published = std::fs::read_to_string(directory.join(file.name));
            assert!(published.is_ok_and(|it| it == file.text), "`cargo xtask schemas` writes them");
        }
    }
}
