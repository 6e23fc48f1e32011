//! Schema of the task plan, from which both the parser and the JSON Schema are derived (3.3, EX-2).

use actum_document::{Branch, Form, Member, Need, ObjectSchema, Others, Tagged, Text};

use super::super::condition::{CONDITION, PATH_TEXT, VALIDATION_RULE};
use super::super::limits::{
    ACTIONS_MAX, CONDITIONS_MAX, DEPENDENCIES_MAX, DESCRIPTION_CHARS_MAX, VALIDATION_RULES_MAX,
};
use super::super::name::{ACTION_ID, PLAN_ID};
use super::operation::{
    OF_CREATE, OF_DELETE, OF_MODIFY, OF_PIPELINE, OF_RENAME, OF_SCHEMA, OF_SQL,
};

/// Schema of `task_plan.json`.
pub(crate) static TASK_PLAN: ObjectSchema = ObjectSchema {
    name: "a task plan",
    about: "Task plan of an inspector. A plan is rejected if it has unknown fields, if an object contains a name twice, or if it exceeds 100 MiB. Action ids must be unique, and actions may only depend on actions of the plan and not on each other in a cycle.",
    others: Others::Refused,
    members: &[
        Member::required("plan_id", Form::Text(PLAN_ID), "Id of the plan, chosen by the planner."),
        Member::optional("description", DESCRIPTION, "Purpose of the plan."),
        Member::required(
            "action_plan",
            Form::TaggedList { of: &ACTION, count_min: 1, count_max: ACTIONS_MAX },
            "Actions of the plan.",
        ),
        Member::optional(
            "execution_instructions",
            Form::Object(&INSTRUCTIONS),
            "Instructions for the execution of the actions.",
        ),
    ],
};

const DESCRIPTION: Form = Form::Text(Text::any(DESCRIPTION_CHARS_MAX));

const STOP_ON_ERROR: Member = Member::optional(
    "stop_on_error",
    Form::Flag,
    "Whether a failed action stops the run. True if neither the plan nor the config sets it.",
);
const ROLLBACK_ON_FAILURE: Member = Member::optional(
    "rollback_on_failure",
    Form::Flag,
    "Whether a stopped run is rolled back. True if neither the plan nor the config sets it.",
);
const PRESERVE_PERMISSIONS: Member = Member::optional(
    "preserve_permissions",
    Form::Flag,
    "Whether a changed file keeps its permissions. True if neither the plan nor the config sets it.",
);
const VERIFY_HASHES: Member = Member::optional(
    "verify_hashes",
    Form::Flag,
    "Whether targets are hashed again after the run. True if neither the plan nor the config sets it. Digests that operations expect of their targets are always checked.",
);
/// Fields for the soft constraints, which a plan and a config can set.
pub(crate) static CONSTRAINT_FIELDS: [Member; 4] =
    [STOP_ON_ERROR, ROLLBACK_ON_FAILURE, PRESERVE_PERMISSIONS, VERIFY_HASHES];

static INSTRUCTIONS: ObjectSchema = ObjectSchema {
    name: "execution instructions",
    about: "Instructions for the execution of a plan.",
    others: Others::Refused,
    members: &[
        Member::optional(
            "execution_order",
            Form::Word(&["sequential", "parallel"]),
            "Whether actions run one after another, or several at the same time. Defaults to `sequential`.",
        ),
        STOP_ON_ERROR,
        ROLLBACK_ON_FAILURE,
        PRESERVE_PERMISSIONS,
        VERIFY_HASHES,
        Member::optional(
            "validation_rules",
            Form::TaggedList {
                of: &VALIDATION_RULE,
                count_min: 0,
                count_max: VALIDATION_RULES_MAX,
            },
            "Conditions that must be true after all actions.",
        ),
    ],
};

/// Returns the fields of an action type. Most are the same for all types; the arguments define those that differ.
const fn members(
    word: &'static [&'static str],
    operation: Form,
    operation_need: Need,
    seconds_max: i64,
) -> [Member; 11] {
    let conditions = Form::TaggedList { of: &CONDITION, count_min: 0, count_max: CONDITIONS_MAX };
    [
        Member::required(
            "action_id",
            Form::Text(ACTION_ID),
            "Id of the action, unique in the plan.",
        ),
        Member::required("action_type", Form::Word(word), "Type of the action."),
        Member::optional("description", DESCRIPTION, "Purpose of the action."),
        Member::required(
            "target",
            Form::Text(PATH_TEXT),
            "Path of the file that the action operates on.",
        ),
        Member {
            name: "operation",
            need: operation_need,
            form: operation,
            about: "Operation on the target file.",
        },
        Member::optional(
            "depends_on",
            Form::Texts { of: ACTION_ID, count_max: DEPENDENCIES_MAX },
            "Ids of the actions that must be completed before this one. Defaults to none.",
        ),
        Member::optional(
            "reversible",
            Form::Flag,
            "Whether a failed postcondition rolls back the action. Defaults to true.",
        ),
        Member::optional(
            "risk_level",
            Form::Word(&["LOW", "MEDIUM", "HIGH", "CRITICAL"]),
            "Risk level that the planner declares. It can only raise the computed risk.",
        ),
        Member::optional(
            "preconditions",
            conditions,
            "Conditions that must be true before the action.",
        ),
        Member::optional(
            "postconditions",
            conditions,
            "Conditions that must be true after the action.",
        ),
        Member::optional(
            "timeout_seconds",
            Form::Whole { min: 1, max: seconds_max },
            "Time limit of the action in seconds. Defaults to the limit in the config.",
        ),
    ]
}

const fn action(
    name: &'static str,
    about: &'static str,
    members: &'static [Member],
) -> ObjectSchema {
    ObjectSchema { name, about, others: Others::Refused, members }
}

static FILE_CREATE: ObjectSchema = action(
    "a `FILE_CREATE` action",
    "Creates a file, which must not exist yet.",
    &members(&["FILE_CREATE"], Form::Tagged(&OF_CREATE), Need::Required, 120),
);
static FILE_MODIFY: ObjectSchema = action(
    "a `FILE_MODIFY` action",
    "Changes a file, which must exist.",
    &members(&["FILE_MODIFY"], Form::Tagged(&OF_MODIFY), Need::Required, 120),
);
static FILE_DELETE: ObjectSchema = action(
    "a `FILE_DELETE` action",
    "Deletes a file, which must exist.",
    &members(&["FILE_DELETE"], Form::Tagged(&OF_DELETE), Need::Optional, 120),
);
static FILE_RENAME: ObjectSchema = action(
    "a `FILE_RENAME` action",
    "Moves a file, which must exist, to a path where nothing exists.",
    &members(&["FILE_RENAME"], Form::Tagged(&OF_RENAME), Need::Required, 120),
);
static SCHEMA_UPDATE: ObjectSchema = action(
    "a `SCHEMA_UPDATE` action",
    "Changes a schema in JSON or YAML, which must exist and remain a valid schema.",
    &members(&["SCHEMA_UPDATE"], Form::Tagged(&OF_SCHEMA), Need::Required, 60),
);
static SQL_EXECUTE: ObjectSchema = action(
    "an `SQL_EXECUTE` action",
    "Runs SQL statements on a database.",
    &members(&["SQL_EXECUTE"], Form::Tagged(&OF_SQL), Need::Required, 300),
);
static PIPELINE_RUN: ObjectSchema = action(
    "a `PIPELINE_RUN` action",
    "Runs a pipeline that the operator's policy declares.",
    &members(&["PIPELINE_RUN"], Form::Tagged(&OF_PIPELINE), Need::Required, 3600),
);

static ACTION: Tagged = Tagged {
    name: "an action",
    id: "action",
    about: "One action of a plan.",
    tag: "action_type",
    words: &[
        "FILE_CREATE",
        "FILE_MODIFY",
        "FILE_DELETE",
        "FILE_RENAME",
        "SCHEMA_UPDATE",
        "SQL_EXECUTE",
        "PIPELINE_RUN",
    ],
    branches: &[
        Branch { word: "FILE_CREATE", shape: &FILE_CREATE },
        Branch { word: "FILE_MODIFY", shape: &FILE_MODIFY },
        Branch { word: "FILE_DELETE", shape: &FILE_DELETE },
        Branch { word: "FILE_RENAME", shape: &FILE_RENAME },
        Branch { word: "SCHEMA_UPDATE", shape: &SCHEMA_UPDATE },
        Branch { word: "SQL_EXECUTE", shape: &SQL_EXECUTE },
        Branch { word: "PIPELINE_RUN", shape: &PIPELINE_RUN },
    ],
    nested: None,
};
