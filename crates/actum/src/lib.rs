//! Transactions for every side effect of an AI agent. An effect is computed and judged by the gates first, and its
//! intent is recorded before it is applied. It is applied completely or not at all, and a signed receipt records the
//! outcome.
//!
//! ```no_run
//! use actum::{Engine, Records, Request};
//! use actum_core::RelPath;
//! use actum_edit::Operation;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (home, clock) = (std::path::Path::new("/"), actum::Clock::fixed(0));
//! let records = Records::open(home, &"default".parse()?, clock)?;
//! let mut engine = Engine::open("my-project", records)?;
//! let operation = Operation::Create {
//!     path: RelPath::new("greeting.txt")?,
//!     content: b"hello\n".to_vec(),
//!     mode: None,
//! };
//! let done = engine.run(Request::apply(vec![operation]).labelled("say hello"))?;
//! println!("{}", String::from_utf8_lossy(&done.receipt.envelope));
//! # Ok(()) }
//! ```
//!
//! [`Engine::run`] runs the entire pipeline. [`Engine::run_with`] also takes an [`Observer`], which can inspect the
//! staged change or stop the request. The type system enforces the order of the steps, because each step consumes the
//! proof that the previous step returned.

mod action;
mod alerts;
mod catalog;
mod command;
mod companion;
mod engine;
mod error;
mod feedback;
mod forget;
mod git_files;
mod leases;
mod path_selection;
mod pipeline_host;
mod place;
pub mod plugin;
mod policies;
mod presented_lease;
mod queue;
mod real_path;
pub mod reason;
mod recorded;
mod records;
mod request;
mod root;
mod schema;
mod sql_host;
pub mod task;

pub use action::{ActionOutcome, MalformedProposal, Proposal};
pub use actum_access::Cedar;
pub use alerts::{Alert, AlertMessage, NewAlert};
pub use catalog::{
    Catalog, CatalogError, Flags, InputSchema, Lint, Origin, Registered, Registration,
    RollbackKind, Standing, Step, lint_manifest,
};
pub use command::{
    Accepted, Attempt, Caches, Captured, CommandError, Ending, Exec, Runner, StagedView, Trial,
    Tried, Unkept, WhyUnkept, permitted_line,
};
pub use companion::{ActionCompanion, ActionEnd, ActionRefusal, ActionStart, InForce};
pub use engine::Engine;
pub use engine::access::AccessJudgement;
pub use engine::binding::{Adoption, Binding, check_ledger};
pub use engine::clear::{Cleared, Judgement};
pub use engine::observer::Observer;
pub use engine::resume::Resumed;
pub use engine::settle::Done;
pub use engine::stage::{Preview, Staged, preview};
pub use engine::verify::Verified;
pub use error::{BoundWorkspace, Error, GrantLeaseError, Result, StateClause};
pub use feedback::{Feedback, FeedbackError, Wanted, cut_off_actions};
pub use forget::{ForgottenRun, Retained, foresee, forgotten_run, missing_runs};
pub use git_files::GitFiles;
pub use leases::{GrantedLease, Grantor, LeaseState, NewLease};
pub use path_selection::{PathSelection, Selected};
pub use place::Place;
pub use policies::{
    PolicyError, PolicyFiles, PolicyInForce, PolicyProblem, ReadAccess, ReadPolicy,
};
pub use presented_lease::has_lease_facts;
pub use queue::{
    APPROVED_MICROS, AnsweredPlan, Approver, Moved, PlanState, QUEUE_MAX, QUEUE_OF_ONE_MAX,
    QUEUED_MICROS, QueueError, QueuedPlan, Reply,
};
pub use real_path::real as real_path;
pub use recorded::{Receipt, RecordedRun, facts_for_undo};
pub use records::{Clock, OwnLedger, Records, Witness};
pub use request::{
    Commands, EntryPoint, FileTask, Inversion, Phase, Request, RequestLease, RequestedAction,
    Which, Work,
};
pub use root::{OwnRoot, Root, RootState};
pub use schema::{Schema, SchemaProblem};
