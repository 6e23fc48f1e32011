//! Schemas of the operations in a task plan, one per `type` (EX-9, EX-10, A.1, A.2).

use actum_document::{Branch, Characters, Form, Member, ObjectSchema, Others, Tagged, Text};
use actum_edit::edit::OCCURRENCES_MAX;

use super::super::condition::{DIGEST, PATH_TEXT};
use super::super::limits::{CONTENT_CHARS_MAX, HUNKS_MAX, KEY_CHARS_MAX, PIPELINE_CHARS_MAX};
use super::super::name::SELECTOR;

/// Name of the nested object in which the fields of an operation can be set instead (3.3).
const DETAILS: Option<&str> = Some("details");
/// Maximum number of a line, and of a document in a YAML file.
const LINE_MAX: i64 = 4_294_967_295;

const PATH: Form = Form::Text(PATH_TEXT);
const ANY_TEXT: Form = Form::Text(Text::any(CONTENT_CHARS_MAX));
const SOME_TEXT: Form = Form::Text(Text::filled(CONTENT_CHARS_MAX, Characters::Any));
const LINE: Form = Form::Whole { min: 1, max: LINE_MAX };
const NUMBER: Form = Form::Whole { min: 0, max: LINE_MAX };

const fn tag(word: &'static [&'static str]) -> Member {
    Member::required("type", Form::Word(word), "Type of the operation.")
}

const EXPECTED: Member = Member::optional(
    "expected_prev_sha256",
    DIGEST,
    "SHA-256 that the target must have before the action. The run stops if it differs.",
);
const WHOLE: Member =
    Member::required("content", ANY_TEXT, "Complete content of the file after the action.");
const JSON_PATH: Member = Member::required(
    "path",
    Form::Text(SELECTOR),
    "JSONPath (RFC 9535) that selects exactly one place.",
);
const KEY: Member =
    Member::required("key", Form::Text(Text::any(KEY_CHARS_MAX)), "Name of the property.");
const VALUE: Member =
    Member::required("value", Form::Json, "New value. Its spelling is preserved.");

const fn operation(
    name: &'static str,
    about: &'static str,
    members: &'static [Member],
) -> ObjectSchema {
    ObjectSchema { name, about, others: Others::Refused, members }
}

static CREATE: ObjectSchema = operation(
    "the operation `create`",
    "Creates the file, which must not exist yet.",
    &[
        tag(&["create"]),
        WHOLE,
        Member::optional(
            "executable",
            Form::Flag,
            "Whether the file is executable. Defaults to false.",
        ),
    ],
);
static CONTENT: ObjectSchema = operation(
    "the operation `content`",
    "Replaces the entire content of the file.",
    &[tag(&["content"]), WHOLE, EXPECTED],
);
static HUNKS: ObjectSchema = operation(
    "the operation `hunks`",
    "Applies hunks of a unified diff in ascending order, each exactly at its stated lines.",
    &[
        tag(&["hunks"]),
        Member::required(
            "hunks",
            Form::SomeObjects { of: &HUNK, count_max: HUNKS_MAX },
            "Hunks to apply.",
        ),
        EXPECTED,
    ],
);
static HUNK: ObjectSchema = operation(
    "a hunk",
    "Hunk of a unified diff.",
    &[
        Member::required(
            "old_start",
            NUMBER,
            "First line in the old file, counted from 1. For a pure insertion, the line that the new lines follow.",
        ),
        Member::required("old_lines", NUMBER, "Number of old lines that the hunk covers."),
        Member::required("new_start", NUMBER, "First line in the new file, counted from 1."),
        Member::required("new_lines", NUMBER, "Number of new lines that the hunk covers."),
        Member::required(
            "lines",
            ANY_TEXT,
            "Lines of the hunk, each of which starts with a space, `-` or `+`.",
        ),
    ],
);
static TEXT_REPLACE: ObjectSchema = operation(
    "the operation `text_replace`",
    "Replaces a literal text with another one.",
    &[
        tag(&["text_replace"]),
        Member::required(
            "pattern",
            SOME_TEXT,
            "Literal text to replace. It is not a regular expression.",
        ),
        Member::required("replacement", ANY_TEXT, "Text that replaces the pattern."),
        Member::optional(
            "count",
            Form::Whole { min: 1, max: OCCURRENCES_MAX_WHOLE },
            "Number of times that the pattern must occur in the file. Defaults to 1. All occurrences are replaced.",
        ),
        EXPECTED,
    ],
);
/// Maximum number of occurrences that one edit replaces, as an `i64`. It must equal [`OCCURRENCES_MAX`].
const OCCURRENCES_MAX_WHOLE: i64 = 1_000_000;
const _: () = assert!(OCCURRENCES_MAX == 1_000_000, "the two limits must be equal");
static LINE_INSERT: ObjectSchema = operation(
    "the operation `line_insert`",
    "Inserts lines before a line of the file.",
    &[
        tag(&["line_insert"]),
        Member::required(
            "line_number",
            LINE,
            "Line before which the new lines are inserted, counted from 1. The number after the last line appends them.",
        ),
        Member::required("content", ANY_TEXT, "Lines to insert."),
        EXPECTED,
    ],
);
static LINE_DELETE: ObjectSchema = operation(
    "the operation `line_delete`",
    "Deletes a range of lines.",
    &[
        tag(&["line_delete"]),
        Member::required("start_line", LINE, "First line to delete, counted from 1."),
        Member::required("end_line", LINE, "Last line to delete, which is included."),
        EXPECTED,
    ],
);
static JSON_ADD_PROPERTY: ObjectSchema = operation(
    "the operation `json_add_property`",
    "Adds a property to a JSON object. The object must not have the property yet.",
    &[tag(&["json_add_property"]), JSON_PATH, KEY, VALUE, EXPECTED],
);
static JSON_REMOVE_PROPERTY: ObjectSchema = operation(
    "the operation `json_remove_property`",
    "Removes a property from a JSON object. The object must have the property.",
    &[tag(&["json_remove_property"]), JSON_PATH, KEY, EXPECTED],
);
static JSON_UPDATE_VALUE: ObjectSchema = operation(
    "the operation `json_update_value`",
    "Replaces a JSON value.",
    &[tag(&["json_update_value"]), JSON_PATH, VALUE, EXPECTED],
);
const DOCUMENT: Member = Member::optional(
    "document",
    LINE,
    "Number of the only YAML document to search, counted from 1 including empty documents. By default, all documents are searched.",
);
static YAML_REMOVE: ObjectSchema = operation(
    "the operation `yaml_remove`",
    "Removes a member from a YAML mapping. The mapping must have the member.",
    &[tag(&["yaml_remove"]), JSON_PATH, DOCUMENT, EXPECTED],
);
static YAML_UPDATE: ObjectSchema = operation(
    "the operation `yaml_update`",
    "Replaces a YAML value, or adds a member if the mapping does not have the last name of the path.",
    &[tag(&["yaml_update"]), JSON_PATH, DOCUMENT, VALUE, EXPECTED],
);
static DELETE: ObjectSchema = operation(
    "the operation `delete`",
    "Deletes the file, which must exist.",
    &[tag(&["delete"]), EXPECTED],
);
static RENAME: ObjectSchema = operation(
    "the operation `rename`",
    "Moves the file, which must exist, to a path where nothing exists.",
    &[tag(&["rename"]), Member::required("new_path", PATH, "New path of the file."), EXPECTED],
);
static SQL_EXECUTE: ObjectSchema = operation(
    "the operation `sql_execute`",
    "Runs SQL statements on the target database.",
    &[
        tag(&["sql_execute"]),
        Member::required("query_file", PATH, "Path of the file that contains the statements."),
        Member::optional(
            "parameters",
            Form::JsonObject,
            "Values of the `$name` parameters in the statements, each of which is null, a boolean, a number or a string.",
        ),
        Member::required("connection", Form::Word(&["duckdb"]), "Kind of database."),
        Member::optional(
            "expect_results",
            Form::Flag,
            "Whether the last statement must return or change at least one row. Defaults to false.",
        ),
        Member::optional(
            "save_results_to",
            PATH,
            "Path to which the rows of the last statement are written as Parquet.",
        ),
        EXPECTED,
    ],
);
static PIPELINE_RUN: ObjectSchema = operation(
    "the operation `pipeline_run`",
    "Runs a pipeline that the operator's policy declares.",
    &[
        tag(&["pipeline_run"]),
        Member::required(
            "pipeline",
            Form::Text(Text::filled(PIPELINE_CHARS_MAX, Characters::OneLine)),
            "Name of the pipeline.",
        ),
        Member::optional("parameters", Form::JsonObject, "Values of the pipeline's parameters."),
    ],
);

pub(super) static OF_CREATE: Tagged = Tagged {
    name: "an operation of a `FILE_CREATE` action",
    id: "createOperation",
    about: "Operation that creates the target file.",
    tag: "type",
    words: &["create"],
    branches: &[Branch { word: "create", shape: &CREATE }],
    nested: DETAILS,
};
pub(super) static OF_MODIFY: Tagged = Tagged {
    name: "an operation of a `FILE_MODIFY` action",
    id: "modifyOperation",
    about: "Operation that changes the target file.",
    tag: "type",
    words: &[
        "content",
        "hunks",
        "text_replace",
        "line_insert",
        "line_delete",
        "json_add_property",
        "json_remove_property",
        "json_update_value",
        "yaml_update",
        "yaml_remove",
    ],
    branches: &[
        Branch { word: "content", shape: &CONTENT },
        Branch { word: "hunks", shape: &HUNKS },
        Branch { word: "text_replace", shape: &TEXT_REPLACE },
        Branch { word: "line_insert", shape: &LINE_INSERT },
        Branch { word: "line_delete", shape: &LINE_DELETE },
        Branch { word: "json_add_property", shape: &JSON_ADD_PROPERTY },
        Branch { word: "json_remove_property", shape: &JSON_REMOVE_PROPERTY },
        Branch { word: "json_update_value", shape: &JSON_UPDATE_VALUE },
        Branch { word: "yaml_update", shape: &YAML_UPDATE },
        Branch { word: "yaml_remove", shape: &YAML_REMOVE },
    ],
    nested: DETAILS,
};
pub(super) static OF_DELETE: Tagged = Tagged {
    name: "an operation of a `FILE_DELETE` action",
    id: "deleteOperation",
    about: "Operation that deletes the target file.",
    tag: "type",
    words: &["delete"],
    branches: &[Branch { word: "delete", shape: &DELETE }],
    nested: DETAILS,
};
pub(super) static OF_RENAME: Tagged = Tagged {
    name: "an operation of a `FILE_RENAME` action",
    id: "renameOperation",
    about: "Operation that moves the target file.",
    tag: "type",
    words: &["rename"],
    branches: &[Branch { word: "rename", shape: &RENAME }],
    nested: DETAILS,
};
pub(super) static OF_SCHEMA: Tagged = Tagged {
    name: "an operation of a `SCHEMA_UPDATE` action",
    id: "schemaOperation",
    about: "Operation that changes the target schema.",
    tag: "type",
    words: &[
        "content",
        "json_add_property",
        "json_remove_property",
        "json_update_value",
        "yaml_update",
        "yaml_remove",
    ],
    branches: &[
        Branch { word: "content", shape: &CONTENT },
        Branch { word: "json_add_property", shape: &JSON_ADD_PROPERTY },
        Branch { word: "json_remove_property", shape: &JSON_REMOVE_PROPERTY },
        Branch { word: "json_update_value", shape: &JSON_UPDATE_VALUE },
        Branch { word: "yaml_update", shape: &YAML_UPDATE },
        Branch { word: "yaml_remove", shape: &YAML_REMOVE },
    ],
    nested: DETAILS,
};
pub(super) static OF_SQL: Tagged = Tagged {
    name: "an operation of an `SQL_EXECUTE` action",
    id: "sqlOperation",
    about: "Operation that runs SQL statements.",
    tag: "type",
    words: &["sql_execute"],
    branches: &[Branch { word: "sql_execute", shape: &SQL_EXECUTE }],
    nested: DETAILS,
};
pub(super) static OF_PIPELINE: Tagged = Tagged {
    name: "an operation of a `PIPELINE_RUN` action",
    id: "pipelineOperation",
    about: "Operation that runs a pipeline.",
    tag: "type",
    words: &["pipeline_run"],
    branches: &[Branch { word: "pipeline_run", shape: &PIPELINE_RUN }],
    nested: DETAILS,
};
