//! Schema of the task plan, used by the reader and the published schema (3.3, EX-2).

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
    about: "What an inspector asks for. A plan with other members, or with a name twice in one object, is refused; so is one of more than 100 MiB. Ids of actions stand once, what an action depends on is in the plan, and no action waits for itself.",
    others: Others::Refused,
    members: &[
        Member::required("plan_id", Form::Text(PLAN_ID), "How the planner calls the plan."),
        Member::optional("description", DESCRIPTION, "What the plan is for."),
        Member::required(
            "action_plan",
            Form::TaggedList { of: &ACTION, count_min: 1, count_max: ACTIONS_MAX },
            "What is to be done.",
        ),
        Member::optional(
            "execution_instructions",
            Form::Object(&INSTRUCTIONS),
            "How it is to be done.",
        ),
    ],
};

const DESCRIPTION: Form = Form::Text(Text::any(DESCRIPTION_CHARS_MAX));

const STOP_ON_ERROR: Member = Member::optional(
    "stop_on_error",
    Form::Flag,
    "Whether an action that fails stops the run. True where neither plan nor config says otherwise.",
);
const ROLLBACK_ON_FAILURE: Member = Member::optional(
    "rollback_on_failure",
    Form::Flag,
    "Whether a run that stops is taken back. True where neither plan nor config says otherwise.",
);
const PRESERVE_PERMISSIONS: Member = Member::optional(
    "preserve_permissions",
    Form::Flag,
    "Whether a changed file keeps its permissions. True where neither plan nor config says otherwise.",
);
const VERIFY_HASHES: Member = Member::optional(
    "verify_hashes",
    Form::Flag,
    "Whether targets are hashed again after the run. True where neither plan nor config says otherwise. What an operation expects of its target is checked either way.",
);
/// Soft constraints, which both a plan and a config can set.
pub(crate) static CONSTRAINT_FIELDS: [Member; 4] =
    [STOP_ON_ERROR, ROLLBACK_ON_FAILURE, PRESERVE_PERMISSIONS, VERIFY_HASHES];

static INSTRUCTIONS: ObjectSchema = ObjectSchema {
    name: "execution instructions",
    about: "How a plan is carried out.",
    others: Others::Refused,
    members: &[
        Member::optional(
            "execution_order",
            Form::Word(&["sequential", "parallel"]),
            "Whether actions run one after the other or several at once; absent is the same as sequential.",
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
            "What must hold when all actions are done.",
        ),
    ],
};

/// Members of an action: those shared by all types, and those that the arguments define.
const fn members(
    word: &'static [&'static str],
    operation: Form,
    operation_need: Need,
    seconds_max: i64,
) -> [Member; 11] {
    let conditions = Form::TaggedList { of: &CONDITION, count_min: 0, count_max: CONDITIONS_MAX };
    [
        Member::required("action_id", Form::Text(ACTION_ID), "What the plan calls the action."),
        Member::required("action_type", Form::Word(word), "Which type of action it is."),
        Member::optional("description", DESCRIPTION, "What the action is for."),
        Member::required("target", Form::Text(PATH_TEXT), "The file that it is about."),
        Member {
            name: "operation",
            need: operation_need,
            form: operation,
            about: "What is done to the file.",
        },
        Member::optional(
            "depends_on",
            Form::Texts { of: ACTION_ID, count_max: DEPENDENCIES_MAX },
            "The ids of the actions that must be done before; absent is the same as none.",
        ),
        Member::optional(
            "reversible",
            Form::Flag,
            "Whether the action can be taken back; absent is the same as true.",
        ),
        Member::optional(
            "risk_level",
            Form::Word(&["LOW", "MEDIUM", "HIGH", "CRITICAL"]),
            "How much is at stake, as the planner has it. It can only raise what is computed.",
        ),
        Member::optional("preconditions", conditions, "What must hold before the action."),
        Member::optional("postconditions", conditions, "What must hold after the action."),
        Member::optional(
            "timeout_seconds",
            Form::Whole { min: 1, max: seconds_max },
            "How long the action may take; where it is not said, the config does.",
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
    "an action FILE_CREATE",
    "Makes a file, which must not exist.",
    &members(&["FILE_CREATE"], Form::Tagged(&OF_CREATE), Need::Required, 120),
);
static FILE_MODIFY: ObjectSchema = action(
    "an action FILE_MODIFY",
    "Changes a file, which must exist.",
    &members(&["FILE_MODIFY"], Form::Tagged(&OF_MODIFY), Need::Required, 120),
);
static FILE_DELETE: ObjectSchema = action(
    "an action FILE_DELETE",
    "Removes a file, which must exist.",
    &members(&["FILE_DELETE"], Form::Tagged(&OF_DELETE), Need::Optional, 120),
);
static FILE_RENAME: ObjectSchema = action(
    "an action FILE_RENAME",
    "Moves a file, which must exist, to where nothing is.",
    &members(&["FILE_RENAME"], Form::Tagged(&OF_RENAME), Need::Required, 120),
);
static SCHEMA_UPDATE: ObjectSchema = action(
    "an action SCHEMA_UPDATE",
    "Changes a schema in JSON or YAML, which must exist and stay one.",
    &members(&["SCHEMA_UPDATE"], Form::Tagged(&OF_SCHEMA), Need::Required, 60),
);
static SQL_EXECUTE: ObjectSchema = action(
    "an action SQL_EXECUTE",
    "Runs a query on a database.",
    &members(&["SQL_EXECUTE"], Form::Tagged(&OF_SQL), Need::Required, 300),
);
static PIPELINE_RUN: ObjectSchema = action(
    "an action PIPELINE_RUN",
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
