//! Task plans: `actum run`, `actum rollback` and the rollback scripts.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod task_alerts;
mod task_content;
mod task_deltas;
mod task_external;
mod task_late;
mod task_pipelines;
mod task_plans;
mod task_reports;
mod task_requests;
mod task_rollbacks;
mod task_runs;
mod task_scripts;
mod task_sql;
mod task_sql_bad;
mod task_sql_policy;
mod task_stops;

#[path = "../duckdb/mod.rs"]
mod duckdb;
#[path = "../program/mod.rs"]
mod program;
#[path = "../task/mod.rs"]
mod task;
