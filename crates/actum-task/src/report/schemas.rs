//! Schemas of a task's documents, each defined once for both the readers and the published JSON Schemas.

use actum_core::plain_id::ID_CHARS_MAX;
use actum_document::{
    Characters, Form, Member, ObjectSchema, Others, SchemaFile, Text, json_schema,
};

use super::clean_text::TEXT_CHARS_MAX;
use super::details::OF_ACTION;
use super::diff_summary::PREVIEW_CHARS_MAX;
use super::file_path::{FILE_PATH, FILE_PATH_HEX, NEW_PATH, NEW_PATH_HEX, PATH, PATH_TEXT};

/// Maximum number of actions in a plan, and so of entries in a list.
pub const ACTIONS_MAX: usize = 10_000;
/// Maximum number of notes, hints or created directories.
const NOTES_MAX: usize = 10_000;

const ID_TEXT: Text = Text::filled(ID_CHARS_MAX, Characters::Id);
const ID: Form = Form::Text(ID_TEXT);
const SHA256: Form = Form::Text(Text::filled(64, Characters::Sha256));
const TIME: Form = Form::Text(Text::filled(27, Characters::Time));
const MODE: Form = Form::Text(Text::filled(4, Characters::Mode));
const LINES: Form = Form::Text(Text::any(TEXT_CHARS_MAX));
const NOTE: Text = Text::any(TEXT_CHARS_MAX);
/// Count within the range that JSON readers do not round.
const COUNT: Form = Form::Whole { min: 0, max: (1 << 53) - 1 };
const ACTION_COUNT: Form = Form::Whole { min: 0, max: 3 * 10_000 };
const NUMBER: Form = Form::Whole { min: 0, max: (1 << 32) - 1 };
const CODE: Form = Form::Whole { min: 1000, max: 5999 };
const RUN: Form = Form::Text(Text::filled(12, Characters::Id));

const ACTION_ID: Member = Member::required("action_id", LINES, "The action of the plan.");
const SUMMARY: Form = Form::Object(&ACTIONS_SUMMARY);
const RUN_ID: Member =
    Member::optional("run", RUN, "The run in the workspace and in the ledger of actum.");
const PLAN_ID: Member = Member::required("plan_id", ID, "The plan.");
const TASK_ID: Member = Member::optional("task_id", ID, "The task.");

pub(super) static EXECUTION_REPORT: ObjectSchema = ObjectSchema {
    name: "an execution report",
    about: "What became of a task plan. Other members may come to it; pass over those that you do not know. The counts are those of the lists, and `duration_ms` is the time between the two moments.",
    others: Others::PassedOver,
    members: &[
        Member::required("report_id", ID, "The id of the report, a UUID of version 4."),
        PLAN_ID,
        Member::required(
            "executor_version",
            Form::Word(&["2.0.0"]),
            "The version of the contract that the report is written by.",
        ),
        Member::required(
            "status",
            Form::Word(&["SUCCESS", "PARTIAL", "FAILED", "ROLLED_BACK", "CANCELLED"]),
            "How the run ended.",
        ),
        Member::required("started_at", TIME, "When it began, in UTC."),
        Member::required("completed_at", TIME, "When it had ended, in UTC."),
        Member::required("duration_ms", COUNT, "How long it took, in milliseconds."),
        Member::required("actions_summary", SUMMARY, "How many actions came to what."),
        Member::required(
            "actions_completed",
            Form::Objects { of: &COMPLETED, count_max: ACTIONS_MAX },
            "The actions that were carried out, also where the run was then taken back.",
        ),
        Member::required(
            "actions_failed",
            Form::Objects { of: &FAILED, count_max: ACTIONS_MAX },
            "The actions that could not be carried out.",
        ),
        Member::required(
            "actions_skipped",
            Form::Objects { of: &SKIPPED, count_max: ACTIONS_MAX },
            "The actions that were not tried.",
        ),
        Member::required("rollback_performed", Form::Flag, "Whether the run was taken back."),
        Member::optional(
            "rollback_manifest_id",
            ID,
            "The manifest of what takes the run back, where there is one.",
        ),
        TASK_ID,
        RUN_ID,
        Member::optional("receipt", LINES, "Where the signed receipt of the run is."),
        Member::optional("commit", LINES, "The commit that holds the run."),
        Member::optional(
            "rollback_method",
            Form::Word(&["git_revert", "checkpoint"]),
            "How the run is, or was, taken back.",
        ),
        Member::optional("archived_to", LINES, "Where the plan went that was in force before."),
        Member::optional(
            "notes",
            Form::Texts { of: NOTE, count_max: NOTES_MAX },
            "What a person should know besides.",
        ),
    ],
};

static ACTIONS_SUMMARY: ObjectSchema = ObjectSchema {
    name: "a summary of actions",
    about: "How many actions came to what.",
    others: Others::PassedOver,
    members: &[
        Member::required("total", ACTION_COUNT, "All of them."),
        Member::required("completed", ACTION_COUNT, "Those that were carried out."),
        Member::required("failed", ACTION_COUNT, "Those that could not be."),
        Member::required("skipped", ACTION_COUNT, "Those that were not tried."),
    ],
};

static COMPLETED: ObjectSchema = ObjectSchema {
    name: "an action that was carried out",
    about: "An action that was carried out.",
    others: Others::PassedOver,
    members: &[
        ACTION_ID,
        Member::required("status", Form::Word(&["SUCCESS"]), "That it was."),
        Member::required("started_at", TIME, "When it began, in UTC."),
        Member::required("completed_at", TIME, "When it had ended, in UTC."),
        Member::required("output", LINES, "What it did, in a sentence."),
        OF_ACTION,
    ],
};

static FAILED: ObjectSchema = ObjectSchema {
    name: "an action that failed",
    about: "An action that could not be carried out.",
    others: Others::PassedOver,
    members: &[
        ACTION_ID,
        Member::required("status", Form::Word(&["FAILED"]), "That it could not."),
        Member::required("error_code", CODE, "The number of the error."),
        Member::required("error_message", LINES, "What went wrong, in a sentence."),
        Member::optional(
            "stack_trace",
            LINES,
            "The chain of errors of an internal error (5xxx), a line each.",
        ),
        OF_ACTION,
    ],
};

static SKIPPED: ObjectSchema = ObjectSchema {
    name: "an action that was skipped",
    about: "An action that was not tried.",
    others: Others::PassedOver,
    members: &[ACTION_ID, Member::required("reason", LINES, "Why.")],
};

pub(super) static CHANGE_LOG: ObjectSchema = ObjectSchema {
    name: "a change log",
    about: "What the actions of a plan did to files, in their order. Other members may come to it; pass over those that you do not know.",
    others: Others::PassedOver,
    members: &[
        Member::required("log_id", ID, "The id of the log, a UUID of version 4."),
        PLAN_ID,
        Member::required("execution_report_id", ID, "The execution report of the same run."),
        Member::required("created_at", TIME, "When it was made, in UTC."),
        Member::required(
            "changes",
            Form::Objects { of: &CHANGE, count_max: ACTIONS_MAX },
            "What each action did.",
        ),
        Member::required(
            "files_affected_count",
            COUNT,
            "How many files changed; one that was renamed and changed is one.",
        ),
        Member::required("total_lines_changed", COUNT, "Lines added and removed, together."),
    ],
};

const OPERATION: Form = Form::Word(&["CREATE", "MODIFY", "DELETE", "RENAME"]);

static CHANGE: ObjectSchema = ObjectSchema {
    name: "a change",
    about: "What an action did to a file.",
    others: Others::PassedOver,
    members: &[
        Member::required("change_id", ID, "Its id."),
        ACTION_ID,
        FILE_PATH,
        FILE_PATH_HEX,
        NEW_PATH,
        NEW_PATH_HEX,
        Member::required("operation", OPERATION, "What was done."),
        Member::required("before_state", Form::Object(&STATE), "The file before."),
        Member::required(
            "after_state",
            Form::Object(&STATE),
            "The file after; of one that was renamed at its new path.",
        ),
        Member::required("diff_summary", Form::Object(&DIFF), "What differs in it."),
        Member::required("timestamp", TIME, "When, in UTC."),
    ],
};

static STATE: ObjectSchema = ObjectSchema {
    name: "the state of a file",
    about: "A file at a moment. Hash, size and time are `null` where there is no file, and there only.",
    others: Others::PassedOver,
    members: &[
        Member::required("exists", Form::Flag, "Whether there is a file."),
        Member::required("hash", Form::NullOr(&SHA256), "SHA-256 of its bytes."),
        Member::required("size_bytes", Form::NullOr(&COUNT), "Its size in bytes."),
        Member::required("last_modified", Form::NullOr(&TIME), "When it last changed, in UTC."),
        Member::optional("mode", MODE, "Its permission bits, in octal."),
    ],
};

static DIFF: ObjectSchema = ObjectSchema {
    name: "the summary of a difference",
    about: "How the content of a file differs. Binary content has no lines.",
    others: Others::PassedOver,
    members: &[
        Member::required("lines_added", COUNT, "Lines that are in the new content alone."),
        Member::required("lines_removed", COUNT, "Lines that are in the old content alone."),
        Member::required(
            "preview",
            Form::Text(Text::any(PREVIEW_CHARS_MAX)),
            "The beginning of a unified diff, without credentials.",
        ),
    ],
};

pub(super) static ROLLBACK_MANIFEST: ObjectSchema = ObjectSchema {
    name: "a rollback manifest",
    about: "What is kept to take a run back. Other members may come to it; pass over those that you do not know. The order names each checkpoint once.",
    others: Others::PassedOver,
    members: &[
        Member::required("manifest_id", ID, "The id of the manifest, a UUID of version 4."),
        PLAN_ID,
        Member::required("created_at", TIME, "When it was made, in UTC."),
        Member::optional("expires_at", TIME, "Until when it can be used, in UTC."),
        Member::required(
            "status",
            Form::Word(&["ACTIVE", "EXECUTED", "EXPIRED"]),
            "Whether the run can be taken back, was, or no longer can.",
        ),
        Member::required(
            "checkpoints",
            Form::Objects { of: &CHECKPOINT, count_max: ACTIONS_MAX },
            "What is kept of each file.",
        ),
        Member::required(
            "rollback_order",
            Form::Texts { of: ID_TEXT, count_max: ACTIONS_MAX },
            "The ids of the checkpoints, in the order in which they are restored.",
        ),
        Member::required(
            "auto_rollback_script",
            PATH,
            "The script that does it, from the root of the workspace.",
        ),
        Member::required("notes", LINES, "What a person should know who takes the run back."),
        Member::optional(
            "created_directories",
            Form::Texts { of: PATH_TEXT, count_max: NOTES_MAX },
            "The directories that the run made, the innermost first; they go where they are empty.",
        ),
        RUN_ID,
    ],
};

static CHECKPOINT: ObjectSchema = ObjectSchema {
    name: "a checkpoint",
    about: "What is kept of one file. What was is `null` where there was no file; the backup is `null` where none is needed.",
    others: Others::PassedOver,
    members: &[
        Member::required("checkpoint_id", ID, "Its id."),
        FILE_PATH,
        FILE_PATH_HEX,
        NEW_PATH,
        NEW_PATH_HEX,
        Member::required(
            "backup_location",
            Form::NullOr(&PATH),
            "Its backup, from the root of the workspace.",
        ),
        Member::optional(
            "backup_format",
            Form::Word(&["block_delta"]),
            "`block_delta`: the backup is the blocks that lead from the file with `left_hash` to the one with `original_hash`. Absent: it is the file.",
        ),
        Member::optional("backup_hash", SHA256, "SHA-256 of a backup that is a block delta."),
        Member::required("original_hash", Form::NullOr(&SHA256), "SHA-256 before the run."),
        Member::required("original_size", Form::NullOr(&COUNT), "Its size in bytes before."),
        Member::optional("original_mode", MODE, "Its permission bits before, in octal."),
        Member::optional("left_hash", SHA256, "SHA-256 as the run left it."),
        Member::optional("left_mode", MODE, "Its permission bits as the run left it, in octal."),
        Member::required("operation_to_reverse", OPERATION, "What is taken back."),
        Member::required("restore_command", LINES, "How, in words."),
    ],
};

const CATEGORY: Form = Form::Word(&[
    "VALIDATION_ERROR",
    "FILE_SYSTEM_ERROR",
    "PERMISSION_ERROR",
    "PROTECTED_FILE_ERROR",
    "DEPENDENCY_ERROR",
    "INTERNAL_ERROR",
]);
const ERROR_ID: Member = Member::required("error_id", ID, "The id of the error.");
const ERROR_CODE: Member = Member::required("error_code", CODE, "The number of the error.");
const ERROR_CATEGORY: Member =
    Member::required("error_category", CATEGORY, "What kind of error it is.");
const ERROR_TYPE: Member = Member::required(
    "error_type",
    Form::Text(Text::filled(64, Characters::Capitals)),
    "Which error it is.",
);
const MESSAGE: Member = Member::required("message", LINES, "What went wrong, in a sentence.");
const DETAILS: Member = Member::required("details", Form::Object(&ERROR_DETAILS), "Of what.");
const RECOVERY: Member = Member::required(
    "recovery_action",
    Form::Word(&["SKIPPED", "ROLLED_BACK", "MANUAL_REQUIRED", "REJECTED"]),
    "What was done about it.",
);
const TIMESTAMP: Member = Member::required("timestamp", TIME, "When, in UTC.");

pub(super) static ERROR_REPORT: ObjectSchema = ObjectSchema {
    name: "an error report",
    about: "Why a plan was refused, or what went wrong in a run. Other members may come to it; pass over those that you do not know.",
    others: Others::PassedOver,
    members: &[
        Member::required("report_id", ID, "The id of the report, a UUID of version 4."),
        Member::optional("plan_id", ID, "The plan, unless it could not be read."),
        Member::required(
            "status",
            Form::Word(&["REJECTED", "PARTIAL", "FAILED", "ROLLED_BACK", "CANCELLED"]),
            "How the run ended.",
        ),
        ERROR_ID,
        ERROR_CODE,
        ERROR_CATEGORY,
        ERROR_TYPE,
        MESSAGE,
        DETAILS,
        RECOVERY,
        TIMESTAMP,
        Member::optional(
            "other_errors",
            Form::Objects { of: &ERROR, count_max: ACTIONS_MAX },
            "The other errors there were.",
        ),
        RUN_ID,
    ],
};

static ERROR: ObjectSchema = ObjectSchema {
    name: "an error",
    about: "One error.",
    others: Others::PassedOver,
    members: &[
        ERROR_ID,
        ERROR_CODE,
        ERROR_CATEGORY,
        ERROR_TYPE,
        MESSAGE,
        DETAILS,
        RECOVERY,
        TIMESTAMP,
    ],
};

static ERROR_DETAILS: ObjectSchema = ObjectSchema {
    name: "the details of an error",
    about: "What an error is of. Each member is there where it applies.",
    others: Others::PassedOver,
    members: &[
        Member::optional("action_id", LINES, "The action."),
        Member::optional("target", LINES, "The path, as the plan names it."),
        Member::optional("operation", LINES, "The type of the action."),
        Member::optional(
            "violations",
            Form::Objects { of: &VIOLATION, count_max: ACTIONS_MAX },
            "Each target that no plan may have.",
        ),
        Member::optional("json_path", LINES, "The value in the plan or the configuration."),
        Member::optional("line", NUMBER, "The line it is in, counted from 1."),
        Member::optional("column", NUMBER, "The column, counted from 1."),
        Member::optional("reason", LINES, "The permanent name of the reason in actum."),
        Member::optional(
            "stack_trace",
            LINES,
            "The chain of errors of an internal error (5xxx), a line each.",
        ),
        Member::optional(
            "hints",
            Form::Texts { of: NOTE, count_max: NOTES_MAX },
            "What the reader can do.",
        ),
    ],
};

static VIOLATION: ObjectSchema = ObjectSchema {
    name: "a violation",
    about: "A target that no plan may have.",
    others: Others::PassedOver,
    members: &[
        ACTION_ID,
        Member::required("target", LINES, "The path, as the plan names it."),
        Member::required("reason", LINES, "Why not."),
    ],
};

pub(super) static TASK_STATUS: ObjectSchema = ObjectSchema {
    name: "a status line",
    about: "How far a task is (`update`), or how it ended (`final`, the last line). Other members may come to it; pass over those that you do not know. An update has `phase`, `actions_done` and `actions_total`; a final line has `status`, `outcome`, `report_id` and `rollback_performed`.",
    others: Others::PassedOver,
    members: &[
        Member::required("kind", Form::Word(&["update", "final"]), "Which of the two it is."),
        Member::required("format", Form::Word(&["actum.task-status/1"]), "The format."),
        Member::required("sequence", NUMBER, "Its place among the lines, counted from 0."),
        Member::required("task_id", ID, "The task."),
        Member::optional("plan_id", ID, "The plan, once it was read."),
        Member::required("time", TIME, "When, in UTC."),
        Member::optional(
            "phase",
            Form::Word(&[
                "RECEIVED",
                "VALIDATING",
                "ARCHIVING",
                "CHECKPOINT",
                "EXECUTING",
                "VERIFYING",
                "ROLLING_BACK",
                "REPORTING",
            ]),
            "What is being done.",
        ),
        Member::optional("action_id", LINES, "The action that is meant."),
        Member::optional(
            "action_status",
            Form::Word(&["STARTED", "SUCCESS", "FAILED", "SKIPPED"]),
            "What became of it.",
        ),
        Member::optional("error_code", CODE, "The code of what is wrong, where it failed."),
        Member::optional("actions_done", NUMBER, "How many actions came to something so far."),
        Member::optional("actions_total", NUMBER, "How many there are."),
        Member::optional("message", LINES, "What there is to say besides."),
        Member::optional(
            "status",
            Form::Word(&["SUCCESS", "PARTIAL", "FAILED", "ROLLED_BACK", "CANCELLED", "REJECTED"]),
            "How the task ended.",
        ),
        Member::optional(
            "outcome",
            Form::Word(&["succeeded", "reverted", "queued", "rejected", "failed"]),
            "The same in the words that all doors of actum share.",
        ),
        Member::optional("report_id", ID, "The execution report, or the error report."),
        Member::optional(
            "report_directory",
            PATH,
            "The directory of the reports, from the root of the workspace.",
        ),
        Member::optional("actions_summary", SUMMARY, "How many actions came to what."),
        Member::optional("rollback_performed", Form::Flag, "Whether it was taken back."),
        Member::optional("error", Form::Object(&ERROR), "The error that decided how it ended."),
    ],
};

/// Returns the JSON Schemas of the execution report, change log, rollback manifest, error report and status
/// line, in this order.
pub fn schemas() -> [SchemaFile; 5] {
    let file = json_schema::file;
    [
        file(
            "execution-report.schema.json",
            "urn:actum:execution-report:2",
            "Execution report of a task plan",
            &EXECUTION_REPORT,
        ),
        file(
            "change-log.schema.json",
            "urn:actum:change-log:2",
            "Change log of a task plan",
            &CHANGE_LOG,
        ),
        file(
            "rollback-manifest.schema.json",
            "urn:actum:rollback-manifest:2",
            "Rollback manifest of a task plan",
            &ROLLBACK_MANIFEST,
        ),
        file(
            "error-report.schema.json",
            "urn:actum:error-report:2",
            "Error report of a task plan",
            &ERROR_REPORT,
        ),
        file(
            "task-status.schema.json",
            "urn:actum:task-status:1",
            "Status line of a task",
            &TASK_STATUS,
        ),
    ]
}
