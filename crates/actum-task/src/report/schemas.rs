//! Schemas of the documents that a task writes, from which both their parsers and the published JSON Schemas are derived.

use actum_core::plain_id::ID_CHARS_MAX;
use actum_document::{
    Characters, Form, Member, ObjectSchema, Others, SchemaFile, Text, json_schema,
};

use super::clean_text::TEXT_CHARS_MAX;
use super::details::OF_ACTION;
use super::diff_summary::PREVIEW_CHARS_MAX;
use super::file_path::{FILE_PATH, FILE_PATH_HEX, NEW_PATH, NEW_PATH_HEX, PATH, PATH_TEXT};

/// Maximum number of actions in a plan, which also limits the lists in the reports.
pub const ACTIONS_MAX: usize = 10_000;
/// Maximum number of notes, of hints, or of created directories in a document.
const NOTES_MAX: usize = 10_000;

const ID_TEXT: Text = Text::filled(ID_CHARS_MAX, Characters::Id);
const ID: Form = Form::Text(ID_TEXT);
const SHA256: Form = Form::Text(Text::filled(64, Characters::Sha256));
const TIME: Form = Form::Text(Text::filled(27, Characters::Time));
const MODE: Form = Form::Text(Text::filled(4, Characters::Mode));
const LINES: Form = Form::Text(Text::any(TEXT_CHARS_MAX));
const NOTE: Text = Text::any(TEXT_CHARS_MAX);
/// Schema of a count. JSON parsers represent every number in this range exactly.
const COUNT: Form = Form::Whole { min: 0, max: (1 << 53) - 1 };
const ACTION_COUNT: Form = Form::Whole { min: 0, max: 3 * 10_000 };
const NUMBER: Form = Form::Whole { min: 0, max: (1 << 32) - 1 };
const CODE: Form = Form::Whole { min: 1000, max: 5999 };
const RUN: Form = Form::Text(Text::filled(12, Characters::Id));

const ACTION_ID: Member = Member::required("action_id", LINES, "Id of the action in the plan.");
const SUMMARY: Form = Form::Object(&ACTIONS_SUMMARY);
const RUN_ID: Member =
    Member::optional("run", RUN, "Id of the run in the workspace and in the ledger of actum.");
const PLAN_ID: Member = Member::required("plan_id", ID, "Id of the plan.");
const TASK_ID: Member = Member::optional("task_id", ID, "Id of the task.");

pub(super) static EXECUTION_REPORT: ObjectSchema = ObjectSchema {
    name: "an execution report",
    about: "Outcome of a task plan. Ignore unknown fields, because later versions may add fields. The counts match the lists, and `duration_ms` is the time from `started_at` to `completed_at`.",
    others: Others::PassedOver,
    members: &[
        Member::required("report_id", ID, "Id of the report, a version 4 UUID."),
        PLAN_ID,
        Member::required(
            "executor_version",
            Form::Word(&["2.0.0"]),
            "Version of the contract that the report follows.",
        ),
        Member::required(
            "status",
            Form::Word(&["SUCCESS", "PARTIAL", "FAILED", "ROLLED_BACK", "CANCELLED"]),
            "Outcome of the run.",
        ),
        Member::required("started_at", TIME, "Start time of the run, in UTC."),
        Member::required("completed_at", TIME, "End time of the run, in UTC."),
        Member::required("duration_ms", COUNT, "Duration of the run, in milliseconds."),
        Member::required("actions_summary", SUMMARY, "Number of actions by outcome."),
        Member::required(
            "actions_completed",
            Form::Objects { of: &COMPLETED, count_max: ACTIONS_MAX },
            "Actions that were completed, even if the run was rolled back afterwards.",
        ),
        Member::required(
            "actions_failed",
            Form::Objects { of: &FAILED, count_max: ACTIONS_MAX },
            "Actions that failed.",
        ),
        Member::required(
            "actions_skipped",
            Form::Objects { of: &SKIPPED, count_max: ACTIONS_MAX },
            "Actions that were skipped.",
        ),
        Member::required("rollback_performed", Form::Flag, "Whether the run was rolled back."),
        Member::optional(
            "rollback_manifest_id",
            ID,
            "Id of the rollback manifest, if one was written.",
        ),
        TASK_ID,
        RUN_ID,
        Member::optional("receipt", LINES, "Path of the signed receipt of the run."),
        Member::optional(
            "commit",
            LINES,
            "Id of the git commit that contains the changes of the run.",
        ),
        Member::optional(
            "rollback_method",
            Form::Word(&["git_revert", "checkpoint"]),
            "Method by which the run was rolled back or can be rolled back.",
        ),
        Member::optional("archived_to", LINES, "Path to which the previous plan was archived."),
        Member::optional(
            "notes",
            Form::Texts { of: NOTE, count_max: NOTES_MAX },
            "Notes for the user.",
        ),
    ],
};

static ACTIONS_SUMMARY: ObjectSchema = ObjectSchema {
    name: "a summary of actions",
    about: "Number of actions by outcome.",
    others: Others::PassedOver,
    members: &[
        Member::required("total", ACTION_COUNT, "Number of all actions of the plan."),
        Member::required("completed", ACTION_COUNT, "Number of completed actions."),
        Member::required("failed", ACTION_COUNT, "Number of failed actions."),
        Member::required("skipped", ACTION_COUNT, "Number of skipped actions."),
    ],
};

static COMPLETED: ObjectSchema = ObjectSchema {
    name: "a completed action",
    about: "Action that was completed.",
    others: Others::PassedOver,
    members: &[
        ACTION_ID,
        Member::required(
            "status",
            Form::Word(&["SUCCESS"]),
            "Status of the action, which is always `SUCCESS`.",
        ),
        Member::required("started_at", TIME, "Start time of the action, in UTC."),
        Member::required("completed_at", TIME, "End time of the action, in UTC."),
        Member::required("output", LINES, "Description of what the action did, in one sentence."),
        OF_ACTION,
    ],
};

static FAILED: ObjectSchema = ObjectSchema {
    name: "a failed action",
    about: "Action that failed.",
    others: Others::PassedOver,
    members: &[
        ACTION_ID,
        Member::required(
            "status",
            Form::Word(&["FAILED"]),
            "Status of the action, which is always `FAILED`.",
        ),
        Member::required("error_code", CODE, "Error code, from 1000 to 5999."),
        Member::required("error_message", LINES, "Description of the error, in one sentence."),
        Member::optional(
            "stack_trace",
            LINES,
            "Error chain of an internal error (5xxx), with one error per line.",
        ),
        OF_ACTION,
    ],
};

static SKIPPED: ObjectSchema = ObjectSchema {
    name: "a skipped action",
    about: "Action that was skipped.",
    others: Others::PassedOver,
    members: &[ACTION_ID, Member::required("reason", LINES, "Reason why the action was skipped.")],
};

pub(super) static CHANGE_LOG: ObjectSchema = ObjectSchema {
    name: "a change log",
    about: "Changes that the actions of a plan made to files, in order. Ignore unknown fields, because later versions may add fields.",
    others: Others::PassedOver,
    members: &[
        Member::required("log_id", ID, "Id of the change log, a version 4 UUID."),
        PLAN_ID,
        Member::required("execution_report_id", ID, "Id of the execution report of the same run."),
        Member::required("created_at", TIME, "Creation time of the change log, in UTC."),
        Member::required(
            "changes",
            Form::Objects { of: &CHANGE, count_max: ACTIONS_MAX },
            "Changes that the actions made, in order.",
        ),
        Member::required(
            "files_affected_count",
            COUNT,
            "Number of changed files. A file that was both renamed and modified counts once.",
        ),
        Member::required("total_lines_changed", COUNT, "Total number of added and removed lines."),
    ],
};

const OPERATION: Form = Form::Word(&["CREATE", "MODIFY", "DELETE", "RENAME"]);

static CHANGE: ObjectSchema = ObjectSchema {
    name: "a change",
    about: "Change that an action made to a file.",
    others: Others::PassedOver,
    members: &[
        Member::required("change_id", ID, "Id of the change."),
        ACTION_ID,
        FILE_PATH,
        FILE_PATH_HEX,
        NEW_PATH,
        NEW_PATH_HEX,
        Member::required("operation", OPERATION, "Kind of the change."),
        Member::required(
            "before_state",
            Form::Object(&STATE),
            "State of the file before the action.",
        ),
        Member::required(
            "after_state",
            Form::Object(&STATE),
            "State of the file after the action. For a renamed file, the state at its new path.",
        ),
        Member::required(
            "diff_summary",
            Form::Object(&DIFF),
            "Summary of the difference between the old and the new content.",
        ),
        Member::required("timestamp", TIME, "Time of the change, in UTC."),
    ],
};

static STATE: ObjectSchema = ObjectSchema {
    name: "the state of a file",
    about: "State of a path at one moment. The hash, the size and the time are `null` if and only if no file exists.",
    others: Others::PassedOver,
    members: &[
        Member::required("exists", Form::Flag, "Whether a file exists at the path."),
        Member::required(
            "hash",
            Form::NullOr(&SHA256),
            "SHA-256 of the content, or `null` if no file exists.",
        ),
        Member::required(
            "size_bytes",
            Form::NullOr(&COUNT),
            "Size of the file in bytes, or `null` if no file exists.",
        ),
        Member::required(
            "last_modified",
            Form::NullOr(&TIME),
            "Time of the last modification in UTC, or `null` if no file exists.",
        ),
        Member::optional("mode", MODE, "Permission bits of the file, in octal."),
    ],
};

static DIFF: ObjectSchema = ObjectSchema {
    name: "the summary of a difference",
    about: "Summary of the difference between the old and the new content. Binary content has no lines.",
    others: Others::PassedOver,
    members: &[
        Member::required(
            "lines_added",
            COUNT,
            "Number of lines that occur only in the new content.",
        ),
        Member::required(
            "lines_removed",
            COUNT,
            "Number of lines that occur only in the old content.",
        ),
        Member::required(
            "preview",
            Form::Text(Text::any(PREVIEW_CHARS_MAX)),
            "Beginning of the unified diff, without credentials.",
        ),
    ],
};

pub(super) static ROLLBACK_MANIFEST: ObjectSchema = ObjectSchema {
    name: "a rollback manifest",
    about: "Data that is kept for rolling back a run. Ignore unknown fields, because later versions may add fields. `rollback_order` lists each checkpoint exactly once.",
    others: Others::PassedOver,
    members: &[
        Member::required("manifest_id", ID, "Id of the rollback manifest, a version 4 UUID."),
        PLAN_ID,
        Member::required("created_at", TIME, "Creation time of the rollback manifest, in UTC."),
        Member::optional(
            "expires_at",
            TIME,
            "Time at which the rollback manifest expires, in UTC.",
        ),
        Member::required(
            "status",
            Form::Word(&["ACTIVE", "EXECUTED", "EXPIRED"]),
            "Whether the run can be rolled back (`ACTIVE`), was rolled back (`EXECUTED`), or can no longer be rolled back (`EXPIRED`).",
        ),
        Member::required(
            "checkpoints",
            Form::Objects { of: &CHECKPOINT, count_max: ACTIONS_MAX },
            "Data that is kept for each changed file.",
        ),
        Member::required(
            "rollback_order",
            Form::Texts { of: ID_TEXT, count_max: ACTIONS_MAX },
            "Ids of the checkpoints, in the order in which they are restored.",
        ),
        Member::required(
            "auto_rollback_script",
            PATH,
            "Path of the rollback script, relative to the workspace root.",
        ),
        Member::required("notes", LINES, "Notes for the user who rolls back the run."),
        Member::optional(
            "created_directories",
            Form::Texts { of: PATH_TEXT, count_max: NOTES_MAX },
            "Directories that the run created, innermost first. A rollback removes them if they are empty.",
        ),
        RUN_ID,
    ],
};

static CHECKPOINT: ObjectSchema = ObjectSchema {
    name: "a checkpoint",
    about: "Data that is kept for one file. The original hash and size are `null` if there was no file, and the backup is `null` if none is needed.",
    others: Others::PassedOver,
    members: &[
        Member::required("checkpoint_id", ID, "Id of the checkpoint."),
        FILE_PATH,
        FILE_PATH_HEX,
        NEW_PATH,
        NEW_PATH_HEX,
        Member::required(
            "backup_location",
            Form::NullOr(&PATH),
            "Path of the backup, relative to the workspace root, or `null` if no backup is needed.",
        ),
        Member::optional(
            "backup_format",
            Form::Word(&["block_delta"]),
            "`block_delta` if the backup contains the blocks that turn the file with `left_hash` into the file with `original_hash`. Absent if the backup is a copy of the original file.",
        ),
        Member::optional("backup_hash", SHA256, "SHA-256 of the backup, if it is a block delta."),
        Member::required(
            "original_hash",
            Form::NullOr(&SHA256),
            "SHA-256 of the file before the run, or `null` if there was no file.",
        ),
        Member::required(
            "original_size",
            Form::NullOr(&COUNT),
            "Size of the file before the run in bytes, or `null` if there was no file.",
        ),
        Member::optional(
            "original_mode",
            MODE,
            "Permission bits of the file before the run, in octal.",
        ),
        Member::optional(
            "left_hash",
            SHA256,
            "SHA-256 of the file after the run. Absent if the run deleted the file.",
        ),
        Member::optional("left_mode", MODE, "Permission bits of the file after the run, in octal."),
        Member::required(
            "operation_to_reverse",
            OPERATION,
            "Kind of change that the rollback reverts.",
        ),
        Member::required("restore_command", LINES, "Instructions for restoring the file by hand."),
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
const ERROR_ID: Member = Member::required("error_id", ID, "Id of the error.");
const ERROR_CODE: Member = Member::required("error_code", CODE, "Error code, from 1000 to 5999.");
const ERROR_CATEGORY: Member =
    Member::required("error_category", CATEGORY, "Category of the error code.");
const ERROR_TYPE: Member = Member::required(
    "error_type",
    Form::Text(Text::filled(64, Characters::Capitals)),
    "Name of the error code in capitals, such as `FILE_NOT_FOUND`.",
);
const MESSAGE: Member =
    Member::required("message", LINES, "Description of the error, in one sentence.");
const DETAILS: Member = Member::required(
    "details",
    Form::Object(&ERROR_DETAILS),
    "Details about the subject of the error.",
);
const RECOVERY: Member = Member::required(
    "recovery_action",
    Form::Word(&["SKIPPED", "ROLLED_BACK", "MANUAL_REQUIRED", "REJECTED"]),
    "Recovery that was performed after the error.",
);
const TIMESTAMP: Member = Member::required("timestamp", TIME, "Time of the error, in UTC.");

pub(super) static ERROR_REPORT: ObjectSchema = ObjectSchema {
    name: "an error report",
    about: "Error report of a plan that was rejected or of a run that had an error. Ignore unknown fields, because later versions may add fields.",
    others: Others::PassedOver,
    members: &[
        Member::required("report_id", ID, "Id of the report, a version 4 UUID."),
        Member::optional("plan_id", ID, "Id of the plan. Absent if the plan could not be read."),
        Member::required(
            "status",
            Form::Word(&["REJECTED", "PARTIAL", "FAILED", "ROLLED_BACK", "CANCELLED"]),
            "Outcome of the run.",
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
            "Further errors of the run, in order.",
        ),
        RUN_ID,
    ],
};

static ERROR: ObjectSchema = ObjectSchema {
    name: "an error",
    about: "Error of a task.",
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
    about: "Subject of an error. Fields that do not apply are absent.",
    others: Others::PassedOver,
    members: &[
        Member::optional("action_id", LINES, "Id of the action that the error concerns."),
        Member::optional("target", LINES, "Target path as written in the plan."),
        Member::optional("operation", LINES, "Type of the action that the error concerns."),
        Member::optional(
            "violations",
            Form::Objects { of: &VIOLATION, count_max: ACTIONS_MAX },
            "Targets in the plan that no plan may change.",
        ),
        Member::optional(
            "json_path",
            LINES,
            "JSON path of the faulty value in the plan or the config.",
        ),
        Member::optional("line", NUMBER, "Line of the faulty value, counted from 1."),
        Member::optional("column", NUMBER, "Column of the faulty value, counted from 1."),
        Member::optional("reason", LINES, "Permanent name of the reason that actum reports."),
        Member::optional(
            "stack_trace",
            LINES,
            "Error chain of an internal error (5xxx), with one error per line.",
        ),
        Member::optional(
            "hints",
            Form::Texts { of: NOTE, count_max: NOTES_MAX },
            "Hints about what the reader can do to resolve the error.",
        ),
    ],
};

static VIOLATION: ObjectSchema = ObjectSchema {
    name: "a violation",
    about: "Target in the plan that no plan may change.",
    others: Others::PassedOver,
    members: &[
        ACTION_ID,
        Member::required("target", LINES, "Target path as written in the plan."),
        Member::required("reason", LINES, "Reason why the target was rejected."),
    ],
};

pub(super) static TASK_STATUS: ObjectSchema = ObjectSchema {
    name: "a status line",
    about: "Progress of a task (`update`), or its outcome (`final`, the last line). Ignore unknown fields, because later versions may add fields. An update has `phase`, `actions_done` and `actions_total`; a final line has `status`, `outcome`, `report_id` and `rollback_performed`.",
    others: Others::PassedOver,
    members: &[
        Member::required(
            "kind",
            Form::Word(&["update", "final"]),
            "Whether the line is an update or the final line.",
        ),
        Member::required(
            "format",
            Form::Word(&["actum.task-status/1"]),
            "Format of the status line.",
        ),
        Member::required(
            "sequence",
            NUMBER,
            "Index of the line among the status lines of the task, counted from 0.",
        ),
        Member::required("task_id", ID, "Id of the task."),
        Member::optional("plan_id", ID, "Id of the plan. Absent until the plan has been read."),
        Member::required("time", TIME, "Time at which the line was written, in UTC."),
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
            "Current phase of the task.",
        ),
        Member::optional("action_id", LINES, "Id of the action that the line refers to."),
        Member::optional(
            "action_status",
            Form::Word(&["STARTED", "SUCCESS", "FAILED", "SKIPPED"]),
            "Status of the action that the line refers to.",
        ),
        Member::optional("error_code", CODE, "Error code, if the action failed."),
        Member::optional("actions_done", NUMBER, "Number of actions that have finished so far."),
        Member::optional("actions_total", NUMBER, "Number of all actions in the plan."),
        Member::optional("message", LINES, "Additional message for the reader."),
        Member::optional(
            "status",
            Form::Word(&["SUCCESS", "PARTIAL", "FAILED", "ROLLED_BACK", "CANCELLED", "REJECTED"]),
            "Outcome of the task as named in its reports.",
        ),
        Member::optional(
            "outcome",
            Form::Word(&["succeeded", "reverted", "queued", "rejected", "failed"]),
            "Outcome as one of the statuses that all entry points of actum share.",
        ),
        Member::optional(
            "report_id",
            ID,
            "Id of the execution report, or of the error report if the task was rejected.",
        ),
        Member::optional(
            "report_directory",
            PATH,
            "Path of the report directory, relative to the workspace root.",
        ),
        Member::optional("actions_summary", SUMMARY, "Number of actions by outcome."),
        Member::optional("rollback_performed", Form::Flag, "Whether the run was rolled back."),
        Member::optional("error", Form::Object(&ERROR), "Error that determined the outcome."),
    ],
};

/// Returns the JSON Schemas of the execution report, the change log, the rollback manifest, the error report and the status lines,
/// in this order.
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
