//! Checks that the result of `SCHEMA_UPDATE` is a valid JSON Schema of one of the published drafts.

use actum_edit::edit::{Language, Unsound, json_value, yaml_values};
use actum_task::{ErrorCode, SchemaChange, StructureEdit};
use jsonschema::Draft;
use serde_json::{Value, json};

use super::{File, language, not_parseable, unless_secret};
use crate::schema::{SchemaProblem, problem_from_error};
use crate::task::problem::ActionProblem;

/// Maximum size of a schema file, in bytes (4 MiB).
pub(super) const SCHEMA_BYTES_MAX: u64 = 4 << 20;

/// Published JSON Schema drafts and their URIs. A schema may write the URI with `http` or `https`, and with or without a
/// trailing `#`.
pub(super) const DRAFTS: [(&str, Draft); 5] = [
    ("http://json-schema.org/draft-04/schema", Draft::Draft4),
    ("http://json-schema.org/draft-06/schema", Draft::Draft6),
    ("http://json-schema.org/draft-07/schema", Draft::Draft7),
    ("https://json-schema.org/draft/2019-09/schema", Draft::Draft201909),
    ("https://json-schema.org/draft/2020-12/schema", Draft::Draft202012),
];
/// Draft that applies to a schema without `$schema`.
const DEFAULT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Checks a changed schema file. A JSON file must be a schema. In a YAML file, only documents with `$schema` are
/// checked, and all others are ignored.
pub(super) fn judge(change: &SchemaChange, file: File<'_>) -> Result<(), ActionProblem> {
    let path = file.path;
    if u64::try_from(file.content.len()).unwrap_or(u64::MAX) > SCHEMA_BYTES_MAX {
        let message =
            format!("`{path}` would exceed the limit of {SCHEMA_BYTES_MAX} bytes for a schema");
        return Err(ActionProblem::new(ErrorCode::FileTooLarge, message));
    }
    let language = language::from_path(path).unwrap_or(match change {
        SchemaChange::Structure(
            StructureEdit::YamlUpdate { .. } | StructureEdit::YamlRemove { .. },
        ) => Language::Yaml,
        SchemaChange::Structure(
            StructureEdit::JsonAddProperty { .. }
            | StructureEdit::JsonRemoveProperty { .. }
            | StructureEdit::JsonUpdateValue { .. },
        )
        | SchemaChange::Content(_) => Language::JsonWithComments,
    });
    let unread = |unsound: Unsound| not_parseable(file, language, &unsound);
    let schemas = match language {
        Language::Yaml => {
            let documents = yaml_values(file.content).map_err(unread)?.into_iter().flatten();
            documents.filter(|document| document.get("$schema").is_some()).collect()
        }
        Language::Json | Language::JsonWithComments | Language::JsonLines => {
            vec![json_value(file.content).map_err(unread)?]
        }
    };
    for schema in &schemas {
        is_schema(schema).map_err(|problem| {
            let problem = unless_secret(file.content, problem.to_string());
            let message = format!("`{path}` would not be a valid JSON Schema: {problem}");
            ActionProblem::new(ErrorCode::ResultNotSchema, message)
        })?;
    }
    Ok(())
}

/// Checks that a schema conforms to the draft that it names. The schema itself is only data for this check: no `$ref` in
/// it is resolved, and no regular expression is compiled.
pub(super) fn is_schema(schema: &Value) -> Result<(), SchemaProblem> {
    let declared = match schema.get("$schema") {
        None => DEFAULT,
        Some(declared) => declared.as_str().unwrap_or_default(),
    };
    let known = DRAFTS.iter().find(|(rules, _)| place(rules) == place(declared));
    let (rules, draft) = known.ok_or_else(|| SchemaProblem {
        pointer: "/$schema".to_owned(),
        message: format!(
            "expected one of the published drafts: {}",
            DRAFTS.map(|(rules, _)| format!("`{rules}`")).join(", ")
        ),
    })?;
    // Formats are not validated, because one of them is `regex` and compiling untrusted expressions could take long.
    let options = jsonschema::options().with_draft(*draft).offline().should_validate_formats(false);
    let validator =
        options.build(&json!({ "$ref": rules })).map_err(|error| problem_from_error(&error))?;
    validator.validate(schema).map_err(|error| problem_from_error(&error))
}

/// Strips the URL scheme and a trailing `#` from the URI of a draft, because schemas may write them in different ways.
fn place(address: &str) -> &str {
    let address = address.strip_suffix('#').unwrap_or(address);
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
    rest.unwrap_or(address)
}
