//! SQL steps on DuckDB (EX-9, EX-11).
//!
//! DuckDB is not part of this program. A [`Library`] is a file whose digest is in the table of tested libraries or in
//! the operator's policy. [`run`] starts another instance of this program as a worker, which is confined by namespaces
//! and has no network access. The worker loads the library, runs the statements on a private copy of the database, and
//! answers with one line. It cannot access the workspace.
//!
//! Three boundaries confine a query. DuckDB's parser determines the kind of each statement, and only listed kinds may
//! run. The engine is locked before the first statement. The sandbox lets the worker write to only one directory.

mod compare;
mod comparison;
mod duckdb;
mod host;
mod install;
mod job;
mod kept_results;
mod kept_sql;
mod library;
mod lock;
mod lockdown;
mod message;
mod parameter;
mod statement;
mod worker;

pub use comparison::{
    CELL_CHARACTERS_MAX, Cell, Column, Comparison, ObjectChange, ObjectDifference, ObjectKind,
    RowDifference, TableDifference,
};
pub use host::{Host, Measured, Ran, SqlError, SqlLimits, Step, run, version_of};
pub use install::{InstallError, Installed, install};
pub use job::{Compared, Done, Failure, Problem, RanStatement, Report, changes_rows};
pub use kept_results::{KeptResult, KeptResults, ResultKey};
pub use kept_sql::KeptSql;
pub use library::{Library, LibraryError, Origin, Pinned, TESTED, TestedLibrary};
pub use lock::lock_holder;
pub use parameter::{Parameter, ParameterError};
pub use worker::enter;
