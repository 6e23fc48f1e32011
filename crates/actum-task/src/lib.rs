//! Input and output documents of task plans, and their validation (EX).
//!
//! The input documents are the task plan, the project config and the envelope that approves both. For a plan, this crate also
//! computes the order of its actions and predicts problems. Each document is described by one
//! [`ObjectSchema`](actum_document::ObjectSchema), from which both its parser and its JSON Schema are derived.

mod approval;
mod codes;
mod condition;
mod config;
mod diagnostics;
mod envelope;
mod graph;
pub mod limits;
mod lint;
mod name;
mod plan;
mod reader;
pub mod report;
mod schemas;
mod settings;
mod yaml;

pub use approval::{
    ApprovalSubject, TaskApproval, TaskApprovalError, TaskApprovalProblem, VerifiedTaskApproval,
    verify_task_approval,
};
pub use codes::{ErrorCategory, ErrorCode, RecoveryAction, Response};
pub use condition::{Check, Condition};
pub use config::{Limits, SystemConfig, SystemConfigError, Timeouts};
pub use diagnostics::Mistakes;
pub use envelope::{ApprovedFile, ChangedInput, OtherWorkspace, TaskEnvelope, TaskEnvelopeError};
pub use graph::{Graph, GraphError, GraphProblem, Reach};
pub use lint::{Files, Finding, is_rejected, links, lint, unavailable};
pub use name::{ActionId, NameError, PlanId, Selector, TaskId};
pub use plan::{
    Action, ActionPlaces, ActionType, Change, ConstraintOverrides, Constraints, ExecutionOrder,
    Instructions, NamedTarget, Pipeline, SchemaChange, SqlQuery, StructureEdit, TaskPlan,
    TaskPlanError, Work,
};
pub use schemas::schemas;
pub use settings::Setting;
