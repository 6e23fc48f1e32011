//! Schemas of the operations of a plan, one for each `type` (EX-9, EX-10, A.1, A.2).

use actum_document::{Branch, Characters, Form, Member, ObjectSchema, Others, Tagged, Text};
use actum_edit::edit::OCCURRENCES_MAX;

use super::super::condition::{DIGEST, PATH_TEXT};
use super::super::limits::{CONTENT_CHARS_MAX, HUNKS_MAX, KEY_CHARS_MAX, PIPELINE_CHARS_MAX};
use super::super::name::SELECTOR;

/// Name of the object that may also hold the fields of an operation (3.3).
const DETAILS: Option<&str> = Some("details");
/// Maximum number of a line or of a document.
const LINE_MAX: i64 = 4_294_967_295;

const PATH: Form = Form::Text(PATH_TEXT);
const ANY_TEXT: Form = Form::Text(Text::any(CONTENT_CHARS_MAX));
const SOME_TEXT: Form = Form::Text(Text::filled(CONTENT_CHARS_MAX, Characters::Any));
const LINE: Form = Form::Whole { min: 1, max: LINE_MAX };
const NUMBER: Form = Form::Whole { min: 0, max: LINE_MAX };

const fn tag(word: &'static [&'static str]) -> Member {
    Member::required("type", Form::Word(word), "Which operation it is.")
}

const EXPECTED: Member = Member::optional(
    "expected_prev_sha256",
    DIGEST,
    "The SHA-256 that the target must have before; anything else stops the run.",
);
const WHOLE: Member = Member::required("content", ANY_TEXT, "All that is in the file afterwards.");
const JSON_PATH: Member = Member::required(
    "path",
    Form::Text(SELECTOR),
    "A JSONPath (RFC 9535) that selects exactly one place.",
);
const KEY: Member =
    Member::required("key", Form::Text(Text::any(KEY_CHARS_MAX)), "The name of the property.");
const VALUE: Member = Member::required("value", Form::Json, "The value, which keeps its spelling.");

const fn operation(
    name: &'static str,
    about: &'static str,
    members: &'static [Member],
) -> ObjectSchema {
    ObjectSchema { name, about, others: Others::Refused, members }
}

static CREATE: ObjectSchema = operation(
    "the operation `create`",
    "Makes the file, which must not exist.",
    &[
        tag(&["create"]),
        WHOLE,
        Member::optional(
            "executable",
            Form::Flag,
            "Whether the file may be run; absent is the same as false.",
        ),
    ],
);
static CONTENT: ObjectSchema = operation(
    "the operation `content`",
    "Replaces all that is in the file.",
    &[tag(&["content"]), WHOLE, EXPECTED],
);
static HUNKS: ObjectSchema = operation(
    "the operation `hunks`",
    "Applies hunks of a unified diff, in ascending order, each exactly where it says.",
    &[
        tag(&["hunks"]),
        Member::required(
            "hunks",
            Form::SomeObjects { of: &HUNK, count_max: HUNKS_MAX },
            "The hunks.",
        ),
        EXPECTED,
    ],
);
static HUNK: ObjectSchema = operation(
    "a hunk",
    "A hunk of a unified diff.",
    &[
        Member::required(
            "old_start",
            NUMBER,
            "First old line, counted from 1; for a pure insertion the line it follows.",
        ),
        Member::required("old_lines", NUMBER, "Old lines covered."),
        Member::required("new_start", NUMBER, "First new line."),
        Member::required("new_lines", NUMBER, "New lines covered."),
        Member::required("lines", ANY_TEXT, "Lines that begin with a space, `-` or `+`."),
    ],
);
static TEXT_REPLACE: ObjectSchema = operation(
    "the operation `text_replace`",
    "Replaces a text by another, byte for byte.",
    &[
        tag(&["text_replace"]),
        Member::required("pattern", SOME_TEXT, "The text to replace, as it is: no expression."),
        Member::required("replacement", ANY_TEXT, "What takes its place."),
        Member::optional(
            "count",
            Form::Whole { min: 1, max: OCCURRENCES_MAX_WHOLE },
            "How often the text must be in the file; absent is the same as 1. All of them are replaced.",
        ),
        EXPECTED,
    ],
);
/// Maximum number of replacements of one edit. A test checks that both limits are equal.
const OCCURRENCES_MAX_WHOLE: i64 = 1_000_000;
const _: () = assert!(OCCURRENCES_MAX == 1_000_000, "the two limits are one");
static LINE_INSERT: ObjectSchema = operation(
    "the operation `line_insert`",
    "Inserts lines before a line.",
    &[
        tag(&["line_insert"]),
        Member::required(
            "line_number",
            LINE,
            "The line before which they are inserted, counted from 1; one more than the file has appends.",
        ),
        Member::required("content", ANY_TEXT, "The lines."),
        EXPECTED,
    ],
);
static LINE_DELETE: ObjectSchema = operation(
    "the operation `line_delete`",
    "Deletes lines.",
    &[
        tag(&["line_delete"]),
        Member::required("start_line", LINE, "The first of them, counted from 1."),
        Member::required("end_line", LINE, "The last of them; it is deleted, too."),
        EXPECTED,
    ],
);
static JSON_ADD_PROPERTY: ObjectSchema = operation(
    "the operation `json_add_property`",
    "Adds a property, which must not be there, to an object in JSON.",
    &[tag(&["json_add_property"]), JSON_PATH, KEY, VALUE, EXPECTED],
);
static JSON_REMOVE_PROPERTY: ObjectSchema = operation(
    "the operation `json_remove_property`",
    "Removes a property, which must be there, from an object in JSON.",
    &[tag(&["json_remove_property"]), JSON_PATH, KEY, EXPECTED],
);
static JSON_UPDATE_VALUE: ObjectSchema = operation(
    "the operation `json_update_value`",
    "Replaces a value in JSON.",
    &[tag(&["json_update_value"]), JSON_PATH, VALUE, EXPECTED],
);
const DOCUMENT: Member = Member::optional(
    "document",
    LINE,
    "The only document that is searched, counted from 1, empty ones too; absent is the same as all of them.",
);
static YAML_REMOVE: ObjectSchema = operation(
    "the operation `yaml_remove`",
    "Removes a member, which must be there, from a mapping in YAML.",
    &[tag(&["yaml_remove"]), JSON_PATH, DOCUMENT, EXPECTED],
);
static YAML_UPDATE: ObjectSchema = operation(
    "the operation `yaml_update`",
    "Replaces a value in YAML, or adds a member where a mapping lacks the last name of the path.",
    &[tag(&["yaml_update"]), JSON_PATH, DOCUMENT, VALUE, EXPECTED],
);
static DELETE: ObjectSchema = operation(
    "the operation `delete`",
    "Removes the file, which must exist.",
    &[tag(&["delete"]), EXPECTED],
);
static RENAME: ObjectSchema = operation(
    "the operation `rename`",
    "Moves the file, which must exist, to where nothing is.",
    &[tag(&["rename"]), Member::required("new_path", PATH, "Where it is moved to."), EXPECTED],
);
static SQL_EXECUTE: ObjectSchema = operation(
    "the operation `sql_execute`",
    "Runs SQL statements on the database that is the target.",
    &[
        tag(&["sql_execute"]),
        Member::required("query_file", PATH, "The file that the statements are in."),
        Member::optional(
            "parameters",
            Form::JsonObject,
            "The value of each `$name` in them: null, a truth value, a number or a text.",
        ),
        Member::required("connection", Form::Word(&["duckdb"]), "The kind of database."),
        Member::optional(
            "expect_results",
            Form::Flag,
            "Whether the last statement must give or change at least one row; absent is the same as false.",
        ),
        Member::optional(
            "save_results_to",
            PATH,
            "Where the rows of the last statement go, as Parquet.",
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
            "Its name.",
        ),
        Member::optional("parameters", Form::JsonObject, "The values of its parameters."),
    ],
);

pub(super) static OF_CREATE: Tagged = Tagged {
    name: "an operation of FILE_CREATE",
    id: "createOperation",
    about: "How the file is made.",
    tag: "type",
    words: &["create"],
    branches: &[Branch { word: "create", shape: &CREATE }],
    nested: DETAILS,
};
pub(super) static OF_MODIFY: Tagged = Tagged {
    name: "an operation of FILE_MODIFY",
    id: "modifyOperation",
    about: "How the file is changed.",
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
    name: "an operation of FILE_DELETE",
    id: "deleteOperation",
    about: "What the file must be to be removed.",
    tag: "type",
    words: &["delete"],
    branches: &[Branch { word: "delete", shape: &DELETE }],
    nested: DETAILS,
};
pub(super) static OF_RENAME: Tagged = Tagged {
    name: "an operation of FILE_RENAME",
    id: "renameOperation",
    about: "Where the file is moved to.",
    tag: "type",
    words: &["rename"],
    branches: &[Branch { word: "rename", shape: &RENAME }],
    nested: DETAILS,
};
pub(super) static OF_SCHEMA: Tagged = Tagged {
    name: "an operation of SCHEMA_UPDATE",
    id: "schemaOperation",
    about: "How the schema is changed.",
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
    name: "an operation of SQL_EXECUTE",
    id: "sqlOperation",
    about: "Which query is run.",
    tag: "type",
    words: &["sql_execute"],
    branches: &[Branch { word: "sql_execute", shape: &SQL_EXECUTE }],
    nested: DETAILS,
};
pub(super) static OF_PIPELINE: Tagged = Tagged {
    name: "an operation of PIPELINE_RUN",
    id: "pipelineOperation",
    about: "Which pipeline is run.",
    tag: "type",
    words: &["pipeline_run"],
    branches: &[Branch { word: "pipeline_run", shape: &PIPELINE_RUN }],
    nested: DETAILS,
};
