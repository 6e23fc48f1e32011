//! Host of the SQL steps of task plans.

use actum::task::SqlHost;
use actum_sandbox::Helper;

use super::sandbox::known_host;
use crate::failure::Failure;
use crate::home;
use crate::signals::Waiting;

/// Returns the host for the SQL steps of a plan that is shown: its results are kept, so that they can be published.
///
/// # Errors
/// There is no home for the library.
pub(crate) fn for_showing() -> Result<Option<SqlHost>, Failure> {
    Ok(this_program()?.map(|host| SqlHost { keeps_results: true, ..host }))
}

/// Returns the host for the SQL steps of a plan that is carried out. A signal ends them.
///
/// # Errors
/// As [`for_showing`].
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
