//! Task envelope: the protocol layer's approval of a plan and its config (EX-1, 3.2, 10.1).

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

/// Task approved by the protocol layer. An unapproved task cannot be represented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEnvelope {
    /// Id of the task in the protocol layer.
    pub task: TaskId,
    /// Workspace of the approval; `None` means any.
    pub workspace: Option<WorkspaceId>,
    /// Approved plan.
    pub plan: ApprovedFile,
    /// Approved config.
    pub config: ApprovedFile,
    /// Path of an operator's signed approval, if there is one, beside the envelope.
    pub approval: Option<RelPath>,
}

/// Approved document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedFile {
    /// Path relative to the directory of the envelope.
    pub file: RelPath,
    /// SHA-256 of the bytes.
    pub sha256: Digest,
}

/// Error of an invalid or unapproved task envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskEnvelopeError {
    /// Status other than `APPROVED`.
    #[error("the task is not approved: {0}")]
    NotApproved(#[source] Mistakes),
    /// Missing validation by the protocol layer.
    #[error("the protocol layer did not validate the task: {0}")]
    NotValidated(#[source] Mistakes),
    /// Invalid envelope for another reason.
    #[error("the task envelope cannot be used: {0}")]
    Invalid(#[source] Mistakes),
}

/// Envelope of a task for another workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the task envelope is for the workspace {named}, and this is {here}; approve the plan here (`actum plan \
     approve`)"
)]
pub struct OtherWorkspace {
    /// Workspace in the envelope.
    pub named: WorkspaceId,
    /// Workspace in which the task was started.
    pub here: WorkspaceId,
}

/// Mismatch between an approved document and the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChangedInput {
    /// Changed plan.
    #[error(
        "the task plan was changed after it was approved: it has the SHA-256 {found}, and {approved} was \
         approved"
    )]
    Plan {
        /// Approved digest.
        approved: Digest,
        /// Current digest.
        found: Digest,
    },
    /// Changed config.
    #[error(
        "the system config was changed after it was approved: it has the SHA-256 {found}, and {approved} \
         was approved"
    )]
    Config {
        /// Approved digest.
        approved: Digest,
        /// Current digest.
        found: Digest,
    },
}

/// Only accepted status.
const APPROVED: &str = "APPROVED";

/// Form of a workspace id, which is that of a run id.
const WORKSPACE: Form = Form::Text(Text {
    chars_min: RunId::CHARS,
    chars_max: RunId::CHARS,
    characters: Characters::Id,
    taken: &[],
});

/// Schema of a task envelope.
pub(super) static TASK_ENVELOPE: ObjectSchema = ObjectSchema {
    name: "a task envelope",
    about: "An approved task: its plan, its config, and that the protocol layer validated and approved both. An envelope with other members, or with a name twice in one object, is refused; so is one of more than 64 KiB.",
    others: Others::Refused,
    members: &[
        Member::required("format", Form::Word(&[TaskEnvelope::FORMAT]), "Which format it is in."),
        Member::required("task_id", Form::Text(TASK_ID), "How the protocol layer calls the task."),
        Member::required(
            "status",
            Form::Word(&[APPROVED]),
            "What the protocol layer decided. Anything but APPROVED is refused.",
        ),
        Member::required(
            "protocol_validation",
            Form::True,
            "That the protocol layer validated the task.",
        ),
        Member::optional(
            "workspace",
            WORKSPACE,
            "The workspace that it was approved for, as `actum plan approve` writes it. A task is rejected in any other.",
        ),
        Member::required("plan", Form::Object(&FILE), "The task plan."),
        Member::required("config", Form::Object(&FILE), "The system config."),
        Member::optional(
            "approval",
            Form::Text(PATH_TEXT),
            "The signed approval of an operator: a file, relative to the directory of the envelope.",
        ),
    ],
};

static FILE: ObjectSchema = ObjectSchema {
    name: "an approved file",
    about: "A document as it was approved.",
    others: Others::Refused,
    members: &[
        Member::required(
            "file",
            Form::Text(PATH_TEXT),
            "Where it is, relative to the directory of the envelope.",
        ),
        Member::required("sha256", DIGEST, "The SHA-256 of its bytes."),
    ],
};

impl TaskEnvelope {
    /// Value of `format`.
    pub const FORMAT: &str = "actum.task-envelope/1";

    /// Reads the envelope of an approved task.
    ///
    /// # Errors
    /// [`TaskEnvelopeError`]. A missing approval is reported before any other problem.
    pub fn read(bytes: &[u8]) -> Result<Self, TaskEnvelopeError> {
        reader::read(bytes, ENVELOPE_BYTES_MAX, |_, value| envelope(value)).map_err(|mistakes| {
            let told = |list: Vec<Diagnostic>| Mistakes { list, is_cut: false };
            let about = |is_meant: fn(&Diagnostic) -> bool| {
                let list: Vec<_> =
                    mistakes.list.iter().filter(|it| is_meant(it)).cloned().collect();
                (!list.is_empty()).then(|| told(list))
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

    /// Checks that the envelope is for the workspace `here`.
    ///
    /// # Errors
    /// [`OtherWorkspace`] if it names another workspace (EX-1).
    pub fn check_workspace(&self, here: WorkspaceId) -> Result<(), OtherWorkspace> {
        match self.workspace {
            Some(named) if named != here => Err(OtherWorkspace { named, here }),
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that both documents match the approved digests.
    ///
    /// # Errors
    /// [`ChangedInput`] if one of them differs (EX-1).
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

/// Returns true if the problem is the word in this field, and not that the field is missing.
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

    /// Returns the diagnostics of the envelope, in order.
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
