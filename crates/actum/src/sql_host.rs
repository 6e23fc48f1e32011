//! Host of the SQL steps of tasks (EX-9).

use std::path::{Path, PathBuf};

use actum_gate::policy::SqlSettings;
use actum_sandbox::{Helper, HostReport, Stop};
use actum_sql::{KeptResults, Library, LibraryError, Pinned};
use actum_task::{ActionType, TaskPlan};

use crate::policies::PolicyInForce;

/// Host of SQL steps: this program, and the report of what the machine can confine.
#[derive(Debug, Clone)]
pub struct SqlHost {
    /// Helper that makes the sandbox.
    pub helper: Helper,
    /// Function that reports what the host can confine.
    pub report: fn(&Helper) -> HostReport,
    /// Program whose `main` calls [`actum_sql::enter`].
    pub program: PathBuf,
    /// Home of actum, which has the library.
    pub home: PathBuf,
    /// Request to end a running step.
    pub stop: Option<Stop>,
    /// Keeps results, so that exactly what an approver sees can be published.
    pub keeps_results: bool,
}

/// Runner of the SQL steps of a plan, `None` for a plan without any, or the reason why they cannot run here.
pub type SqlSteps = std::result::Result<Option<SqlRunner>, String>;

/// Runner of SQL steps in a workspace. The worker compares the digest of the library.
#[derive(Debug)]
pub struct SqlRunner {
    pub(crate) host: SqlHost,
    pub(crate) report: HostReport,
    pub(crate) library: Library,
    pub(crate) results: KeptResults,
    pub(crate) root: PathBuf,
    /// Library and limits, as the policy sets them.
    pub(crate) settings: SqlSettings,
    /// Compares the tables before and after each step, for an approver or for a limit on rows in the policy.
    pub(crate) compares: bool,
}

impl SqlHost {
    /// Returns the runner of the SQL steps of a plan, under the policies of a workspace.
    pub fn open_for(host: Option<Self>, plan: &TaskPlan, in_force: &PolicyInForce) -> SqlSteps {
        if !plan.actions.iter().any(|action| action.action_type() == ActionType::SqlExecute) {
            return Ok(None);
        }
        let host = host.ok_or("this program does not run any")?;
        host.open(in_force).map(Some)
    }

    /// Finds the library, and determines what the host can confine.
    ///
    /// # Errors
    /// Reason why no SQL can run here: [`LibraryError`], or a host without namespaces.
    fn open(self, in_force: &PolicyInForce) -> std::result::Result<SqlRunner, String> {
        let settings = in_force.sql.clone();
        let library = library_in_force(&self.home, &settings)
            .map_err(|error| format!("{error}; {}", library_hint(&error, &settings)))?;
        let report = (self.report)(&self.helper);
        if let Err(missing) = &report.tier_n {
            return Err(format!("this host cannot confine it in namespaces: {missing}"));
        }
        let results = KeptResults::below(&self.home);
        let has_limit = in_force.policy.layers().iter().any(|layer| layer.sql_rows.is_some());
        let compares = self.keeps_results || has_limit;
        let root = in_force.root.clone();
        Ok(SqlRunner { host: self, report, library, results, root, settings, compares })
    }
}

/// Finds the library that a policy pins or, without one, the tested library.
///
/// # Errors
/// [`LibraryError`]
pub fn library_in_force(
    home: &Path,
    settings: &SqlSettings,
) -> std::result::Result<Library, LibraryError> {
    let pinned = settings.library.as_ref();
    let pinned = pinned.map(|it| Pinned { path: PathBuf::from(&it.path), sha256: it.sha256 });
    Library::find(home, pinned.as_ref())
}

/// Returns the hint that makes a library usable.
pub fn library_hint(error: &LibraryError, settings: &SqlSettings) -> &'static str {
    match (&settings.library, error) {
        (None, LibraryError::Untested { .. }) => {
            "pin one with `library` and `sha256` under `[sql]` in the operator's policy"
        }
        (
            None,
            LibraryError::Missing { .. }
            | LibraryError::Unknown { .. }
            | LibraryError::Changed { .. }
            | LibraryError::OtherProcessor { .. }
            | LibraryError::NoLibrary { .. }
            | LibraryError::Unreadable { .. },
        ) => "`actum sql install` installs the tested one",
        (Some(_), LibraryError::Changed { .. } | LibraryError::Unknown { .. }) => {
            "if you replaced it, put its new digest under `[sql] sha256` in the operator's policy"
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
