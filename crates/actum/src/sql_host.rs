//! Configuration and lookup of the DuckDB library for the SQL steps of task plans (EX-9).

use std::path::{Path, PathBuf};

use actum_gate::policy::SqlSettings;
use actum_sandbox::{Helper, HostReport, Stop};
use actum_sql::{KeptResults, Library, LibraryError, Pinned};
use actum_task::{ActionType, TaskPlan};

use crate::policies::PolicyInForce;

/// Settings with which a program runs SQL steps: its sandbox helper, its worker binary, and its home directory.
#[derive(Debug, Clone)]
pub struct SqlHost {
    /// Helper process that sets up the sandbox.
    pub helper: Helper,
    /// Function that reports which confinement mechanisms the host supports.
    pub report: fn(&Helper) -> HostReport,
    /// Worker executable, whose `main` calls [`actum_sql::enter`].
    pub program: PathBuf,
    /// Home directory of actum, in which the DuckDB library is installed.
    pub home: PathBuf,
    /// Signal that ends a running SQL step when it is set.
    pub stop: Option<Stop>,
    /// Keeps the results of SQL steps, so that exactly the result that an approver reviewed is published later.
    pub keeps_results: bool,
}

/// Runner for the SQL steps of a plan: `None` if the plan has none, or the reason why SQL cannot run on this host.
pub type SqlSteps = std::result::Result<Option<SqlRunner>, String>;

/// Runs SQL steps in a workspace. The worker process verifies the digest of the library before it is loaded.
#[derive(Debug)]
pub struct SqlRunner {
    pub(crate) host: SqlHost,
    pub(crate) report: HostReport,
    pub(crate) library: Library,
    pub(crate) results: KeptResults,
    pub(crate) root: PathBuf,
    /// Library and limits that the policy sets for SQL.
    pub(crate) settings: SqlSettings,
    /// True if tables are compared before and after each step, for an approver or because a policy limits changed rows.
    pub(crate) compares: bool,
}

impl SqlHost {
    /// Returns the runner for the SQL steps of a plan under the policies in force in a workspace. Returns `Ok(None)` if the
    /// plan has no SQL steps.
    pub fn open_for(host: Option<Self>, plan: &TaskPlan, in_force: &PolicyInForce) -> SqlSteps {
        if !plan.actions.iter().any(|action| action.action_type() == ActionType::SqlExecute) {
            return Ok(None);
        }
        let host = host.ok_or("this program does not support SQL steps")?;
        host.open(in_force).map(Some)
    }

    /// Finds the DuckDB library and checks that the host can confine SQL steps.
    ///
    /// # Errors
    /// Returns the reason why SQL cannot run: the text of a [`LibraryError`], or that the host lacks namespaces.
    fn open(self, in_force: &PolicyInForce) -> std::result::Result<SqlRunner, String> {
        let settings = in_force.sql.clone();
        let library = library_in_force(&self.home, &settings)
            .map_err(|error| format!("{error}; {}", library_hint(&error, &settings)))?;
        let report = (self.report)(&self.helper);
        if let Err(missing) = &report.tier_n {
            return Err(format!("this host cannot confine SQL in namespaces: {missing}"));
        }
        let results = KeptResults::below(&self.home);
        let has_limit = in_force.policy.layers().iter().any(|layer| layer.sql_rows.is_some());
        let compares = self.keeps_results || has_limit;
        let root = in_force.root.clone();
        Ok(SqlRunner { host: self, report, library, results, root, settings, compares })
    }
}

/// Finds the DuckDB library that the policy pins. Without a pinned library, finds the tested version in `home`.
///
/// # Errors
/// Returns [`LibraryError`] if the library is missing, cannot be read, or is not the expected one.
pub fn library_in_force(
    home: &Path,
    settings: &SqlSettings,
) -> std::result::Result<Library, LibraryError> {
    let pinned = settings.library.as_ref();
    let pinned = pinned.map(|it| Pinned { path: PathBuf::from(&it.path), sha256: it.sha256 });
    Library::find(home, pinned.as_ref())
}

/// Returns a hint that explains how the user can fix a problem with the DuckDB library.
pub fn library_hint(error: &LibraryError, settings: &SqlSettings) -> &'static str {
    match (&settings.library, error) {
        (None, LibraryError::Untested { .. }) => {
            "pin a library with `library` and `sha256` under `[sql]` in the operator's policy"
        }
        (
            None,
            LibraryError::Missing { .. }
            | LibraryError::Unknown { .. }
            | LibraryError::Changed { .. }
            | LibraryError::OtherProcessor { .. }
            | LibraryError::NoLibrary { .. }
            | LibraryError::Unreadable { .. },
        ) => "run `actum sql install` to install the tested library",
        (Some(_), LibraryError::Changed { .. } | LibraryError::Unknown { .. }) => {
            "if you replaced the library, set `sha256` under `[sql]` in the operator's policy to its digest"
        }
        (
            Some(_),
            LibraryError::Missing { .. }
            | LibraryError::OtherProcessor { .. }
            | LibraryError::NoLibrary { .. }
            | LibraryError::Untested { .. }
            | LibraryError::Unreadable { .. },
        ) => {
            "correct `library` and `sha256` under `[sql]` in the operator's policy, or remove both"
        }
    }
}
