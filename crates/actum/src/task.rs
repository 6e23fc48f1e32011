//! Entry point for task plans (EX). The actions of an approved plan are combined into one change, which passes the same
//! pipeline as every other change.

mod alert;
mod allowance;
mod approval;
mod checkpoint;
mod consent;
mod content;
mod documents;
mod external;
mod git;
mod git_code;
mod input;
mod isolated;
mod kept_pipeline;
mod manifests;
mod notes;
mod operation;
mod outputs;
mod pipeline;
mod problem;
mod protected;
mod refused;
mod rehearsal;
mod repeated;
mod resume;
mod rollback;
mod run;
mod sql;
mod staging;
mod status_writer;

pub use crate::pipeline_host::{
    KeptUse, MakeRunner, PipelineHost, PipelineRunner, PipelineSteps, may_change,
};
pub use crate::request::TaskDocuments;
pub use crate::sql_host::{SqlHost, SqlRunner, SqlSteps, library_hint, library_in_force};
pub use approval::{ApprovalError, ApprovedPlan, ShownChange, SignedApproval, approve_change};
pub use documents::summary;
pub use external::{external_findings, external_pipelines};
pub use git::PlannedCommit;
pub use input::{Task, TaskInput, Unread};
pub use isolated::findings;
pub use manifests::{Backups, update_manifests};
pub use outputs::{ACTIVE_DIRECTORY, OutputError, read_document};
pub use problem::{ActionProblem, TaskProblem};
pub use protected::{Violation, linked, violations};
pub use rehearsal::{
    ActionChange, ActionEnd, Rehearsal, RehearsalObserver, Rehearsed, Script, Verdict, sql_rows,
};
pub use resume::{FinishedTask, cut_off_tasks, finish};
pub use rollback::{RollbackRefused, RolledBack, rollback};
pub use run::{APPROVAL_FILE, Outcome, TaskEnd, label, limits, request, run};
pub use sql::SqlRan;
pub use status_writer::ProgressObserver;
