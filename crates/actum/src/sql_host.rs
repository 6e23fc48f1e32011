//! Where the SQL steps of tasks run (EX-9).

use std::path::{Path, PathBuf};

use actum_sandbox::{Helper, HostReport, Stop};
use actum_sql::{Library, LibraryError, SqlResults};
use actum_task::{ActionType, TaskPlan};

/// Where SQL steps run: this program, and what tells what the host can confine.
#[derive(Debug, Clone)]
pub struct SqlHost {
    /// Makes the sandbox.
    pub helper: Helper,
    /// Reports what the host can confine.
    pub report: fn(&Helper) -> HostReport,
    /// Program whose `main` calls [`actum_sql::enter`].
    pub program: PathBuf,
    /// Home of actum, in which the library is.
    pub home: PathBuf,
    /// What asks for a running step to be ended.
    pub stop: Option<Stop>,
    /// Keeps results, so that what a person is shown can be published as it is.
    pub keeps_results: bool,
}

/// What runs the SQL steps of a plan, none of one without any; or why they cannot run here.
pub type SqlSteps = std::result::Result<Option<SqlRunner>, String>;

/// What runs SQL steps in a workspace. The worker compares the digest of the library.
#[derive(Debug)]
pub struct SqlRunner {
    pub(crate) host: SqlHost,
    pub(crate) report: HostReport,
    pub(crate) library: Library,
    pub(crate) results: SqlResults,
    pub(crate) root: PathBuf,
}

impl SqlHost {
    /// Returns what runs the SQL steps of a plan.
    pub fn open_for(host: Option<Self>, plan: &TaskPlan, root: &Path) -> SqlSteps {
        if !plan.actions.iter().any(|action| action.action_type() == ActionType::SqlExecute) {
            return Ok(None);
        }
        let host = host.ok_or("this program does not run any")?;
        host.open(root).map(Some)
    }

    /// Finds the library, and what the host can confine.
    ///
    /// # Errors
    /// Why no SQL can run here: [`LibraryError`], or that the host has no namespaces.
    fn open(self, root: &Path) -> std::result::Result<SqlRunner, String> {
        let library = Library::find(&self.home, None).map_err(|error| {
            let hint = match error {
                LibraryError::Missing { .. } => "; `actum sql install` installs it",
                LibraryError::Unknown { .. }
                | LibraryError::Untested { .. }
                | LibraryError::Unreadable { .. } => "",
            };
            format!("{error}{hint}")
        })?;
        let report = (self.report)(&self.helper);
        if let Err(missing) = &report.tier_n {
            return Err(format!("this host cannot confine it in namespaces: {missing}"));
        }
        let results = SqlResults::below(&self.home);
        Ok(SqlRunner { host: self, report, library, results, root: root.to_owned() })
    }
}
