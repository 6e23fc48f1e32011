//! Task envelope, in which the protocol layer approves a plan and its config (EX-1, 3.2, 10.1).

use actum_core::json::Value;
use actum_core::{Digest, RelPath, RunId};
use actum_document::reader::word;
use actum_document::{
    Characters, Diagnostic, Form, Member, ObjectSchema, Others, Problem, Step, Text,
};
use actum_record::ledger::WorkspaceId;

use super::codes::ErrorCode;
use super::condition::{DIGEST, PATH_TEXT};
use super::diagnostics::Mistakes;
use super::limits::ENVELOPE_BYTES_MAX;
use super::name::{TASK_ID, TaskId};
use super::reader::{self, Faults, Taken, digest, parsed, path};

/// Task that the protocol layer approved. This type cannot represent a task without approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEnvelope {
    /// Id of the task in the protocol layer.
    pub task: TaskId,
    /// Workspace for which the task was approved, or `None` for any workspace.
    pub workspace: Option<WorkspaceId>,
    /// Approved task plan.
    pub plan: ApprovedFile,
    /// Approved system config.
    pub config: ApprovedFile,
    /// Path of an operator's signed approval, relative to the directory of the envelope, if there is one.
    pub approval: Option<RelPath>,
}

/// Approved document, identified by its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedFile {
    /// Path of the document, relative to the directory of the envelope.
    pub file: RelPath,
    /// SHA-256 of the content of the document.
    pub sha256: Digest,
}

/// Reason why a task envelope is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskEnvelopeError {
    /// The status of the task is not `APPROVED`.
    #[error("the task is not approved: {0}")]
    NotApproved(#[source] Mistakes),
    /// The protocol layer did not validate the task.
    #[error("the protocol layer did not validate the task: {0}")]
    NotValidated(#[source] Mistakes),
    /// The envelope is invalid for a different reason.
    #[error("the task envelope cannot be used: {0}")]
    Invalid(#[source] Mistakes),
}

/// Error of an envelope that is for a different workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the task envelope is for the workspace {named}, but this is {here}; approve the plan here with `actum plan \
     approve`"
)]
pub struct OtherWorkspace {
    /// Workspace in the envelope.
    pub named: WorkspaceId,
    /// Workspace in which the task was started.
    pub here: WorkspaceId,
}

/// Error of an approved document that has changed since its approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChangedInput {
    /// The task plan has changed.
    #[error(
        "the task plan has changed since it was approved: its SHA-256 is {found} instead of {approved}"
    )]
    Plan {
        /// SHA-256 of the approved plan.
        approved: Digest,
        /// SHA-256 of the current plan.
        found: Digest,
    },
    /// The system config has changed.
    #[error(
        "the system config has changed since it was approved: its SHA-256 is {found} instead of {approved}"
    )]
    Config {
        /// SHA-256 of the approved config.
        approved: Digest,
        /// SHA-256 of the current config.
        found: Digest,
    },
}

/// Status of an approved task, which is the only accepted status.
const APPROVED: &str = "APPROVED";

/// Form of a workspace id, which is equal to that of a run id.
const WORKSPACE: Form = Form::Text(Text {
    chars_min: RunId::CHARS,
    chars_max: RunId::CHARS,
    characters: Characters::Id,
    taken: &[],
});

/// Schema of a task envelope.
pub(super) static TASK_ENVELOPE: ObjectSchema = ObjectSchema {
    name: "a task envelope",
    about: "Task that the protocol layer validated and approved, with its plan and its config. An envelope is rejected if it contains unknown members, repeats a name within an object, or exceeds 64 KiB.",
    others: Others::Refused,
    members: &[
        Member::required(
            "format",
            Form::Word(&[TaskEnvelope::FORMAT]),
            "Format identifier of the document.",
        ),
        Member::required("task_id", Form::Text(TASK_ID), "Id of the task in the protocol layer."),
        Member::required(
            "status",
            Form::Word(&[APPROVED]),
            "Decision of the protocol layer. Any value other than APPROVED is rejected.",
        ),
        Member::required(
            "protocol_validation",
            Form::True,
            "Confirmation that the protocol layer validated the task.",
        ),
        Member::optional(
            "workspace",
            WORKSPACE,
            "Id of the workspace for which the task was approved, as written by `actum plan approve`. The task is rejected in any other workspace.",
        ),
        Member::required("plan", Form::Object(&FILE), "Approved task plan."),
        Member::required("config", Form::Object(&FILE), "Approved system config."),
        Member::optional(
            "approval",
            Form::Text(PATH_TEXT),
            "Path of an operator's signed approval, relative to the directory of the envelope.",
        ),
    ],
};

static FILE: ObjectSchema = ObjectSchema {
    name: "an approved file",
    about: "Approved document, identified by its digest.",
    others: Others::Refused,
    members: &[
        Member::required(
            "file",
            Form::Text(PATH_TEXT),
            "Path of the document, relative to the directory of the envelope.",
        ),
        Member::required("sha256", DIGEST, "SHA-256 of the content of the document."),
    ],
};

impl TaskEnvelope {
    /// Format identifier of the document.
    pub const FORMAT: &str = "actum.task-envelope/1";

    /// Reads the envelope of an approved task.
    ///
    /// # Errors
    /// Returns [`TaskEnvelopeError`]. A missing approval is reported before any other problem.
    pub fn read(bytes: &[u8]) -> Result<Self, TaskEnvelopeError> {
        reader::read(bytes, ENVELOPE_BYTES_MAX, |_, value| envelope(value)).map_err(|mistakes| {
            let complete = |list: Vec<Diagnostic>| Mistakes { list, is_cut: false };
            let about = |is_relevant: fn(&Diagnostic) -> bool| {
                let list: Vec<_> =
                    mistakes.list.iter().filter(|it| is_relevant(it)).cloned().collect();
                (!list.is_empty()).then(|| complete(list))
            };
            if let Some(mistakes) = about(|it| is_refusal(it, "status")) {
                return TaskEnvelopeError::NotApproved(mistakes);
            }
            if let Some(mistakes) = about(|it| is_refusal(it, "protocol_validation")) {
                return TaskEnvelopeError::NotValidated(mistakes);
            }
            TaskEnvelopeError::Invalid(mistakes)
        })
    }

    /// Checks that the envelope is valid in the workspace `here`.
    ///
    /// # Errors
    /// Returns [`OtherWorkspace`] if the envelope names a different workspace (EX-1).
    pub fn check_workspace(&self, here: WorkspaceId) -> Result<(), OtherWorkspace> {
        match self.workspace {
            Some(named) if named != here => Err(OtherWorkspace { named, here }),
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that the plan and the config have the approved digests.
    ///
    /// # Errors
    /// Returns [`ChangedInput`] for the first document that differs (EX-1).
    pub fn check_inputs(&self, plan: &[u8], config: &[u8]) -> Result<(), ChangedInput> {
        let (approved, found) = (self.plan.sha256, Digest::of(plan));
        if approved != found {
            return Err(ChangedInput::Plan { approved, found });
        }
        let (approved, found) = (self.config.sha256, Digest::of(config));
        if approved != found {
            return Err(ChangedInput::Config { approved, found });
        }
        Ok(())
    }
}

/// Returns whether a problem concerns the value of the given field, and not its absence.
fn is_refusal(mistake: &Diagnostic, field: &str) -> bool {
    matches!(&*mistake.path.0, [Step::Member(name)] if name == field)
        && matches!(mistake.problem, Problem::Word { .. })
}

impl TaskEnvelopeError {
    /// Returns the error code (EX-18).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotApproved(_) => ErrorCode::NotApproved,
            Self::NotValidated(_) => ErrorCode::NotValidated,
            Self::Invalid(_) => ErrorCode::EnvelopeInvalid,
        }
    }

    /// Returns the diagnostics of the envelope, in the order of their positions.
    pub fn mistakes(&self) -> &Mistakes {
        match self {
            Self::NotApproved(mistakes)
            | Self::NotValidated(mistakes)
            | Self::Invalid(mistakes) => mistakes,
        }
    }
}

impl ChangedInput {
    /// Returns the error code (EX-18).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Plan { .. } => ErrorCode::PlanChanged,
            Self::Config { .. } => ErrorCode::ConfigChanged,
        }
    }
}

fn envelope(value: &Value<'_>) -> Taken<TaskEnvelope> {
    let mut fields = reader::object(&TASK_ENVELOPE, Form::Object(&TASK_ENVELOPE), value)?;
    let format = fields.required("format", |form, value| word(form, value, |_| Some(())));
    let task = fields.required("task_id", parsed);
    let status = fields.required("status", |form, value| word(form, value, |_| Some(())));
    let is_validated = fields.required("protocol_validation", reader::truth);
    let workspace = fields.optional("workspace", parsed);
    let [plan, config] = ["plan", "config"].map(|name| fields.required(name, file));
    let approval = fields.optional("approval", path);
    let made = (|| {
        let ((), (), ()) = (format?, status?, is_validated?);
        Some(TaskEnvelope { task: task?, workspace, plan: plan?, config: config?, approval })
    })();
    fields.finish(made)
}

fn file(form: Form, value: &Value<'_>) -> Taken<ApprovedFile> {
    let Form::Object(shape) = form else { return Err(Faults::default()) };
    let mut fields = reader::object(shape, form, value)?;
    let (file, sha256) = (fields.required("file", path), fields.required("sha256", digest));
    fields.finish(file.zip(sha256).map(|(file, sha256)| ApprovedFile { file, sha256 }))
}
