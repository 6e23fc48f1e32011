//! Creates the host that executes the SQL steps of task plans in a separate process of this program.

use actum::task::SqlHost;
use actum_sandbox::Helper;

use super::sandbox::known_host;
use crate::failure::Failure;
use crate::home;
use crate::signals::Waiting;

/// Returns the host for the SQL steps of a plan that is previewed. It keeps the results, so that they can be published
/// after the approval. Returns `None` if the path of this program is unknown.
///
/// # Errors
/// Returns an error if actum has no home, where the library is installed.
pub(crate) fn for_showing() -> Result<Option<SqlHost>, Failure> {
    Ok(this_program()?.map(|host| SqlHost { keeps_results: true, ..host }))
}

/// Returns the host for the SQL steps of a plan that is carried out. A signal in `waiting` stops the steps.
///
/// # Errors
/// Returns the same errors as [`for_showing`].
pub(crate) fn for_running(waiting: Option<&Waiting>) -> Result<Option<SqlHost>, Failure> {
    let stop = waiting.and_then(|waiting| waiting.stop().ok());
    Ok(this_program()?.map(|host| SqlHost { stop, ..host }))
}

fn this_program() -> Result<Option<SqlHost>, Failure> {
    let Ok(program) = std::env::current_exe() else { return Ok(None) };
    Ok(Some(SqlHost {
        helper: Helper::this_program(),
        report: known_host,
        program,
        home: home::path()?,
        stop: None,
        keeps_results: false,
    }))
}
