//! Where the SQL steps of task plans run.

use actum::task::SqlHost;
use actum_sandbox::Helper;

use super::sandbox::known_host;
use crate::failure::Failure;
use crate::home;
use crate::signals::Waiting;

/// Returns what runs the SQL steps of a plan that is shown: its results are kept, so that they can be published.
///
/// # Errors
/// Where there is no home, in which the library is.
pub(crate) fn for_showing() -> Result<Option<SqlHost>, Failure> {
    Ok(this_program()?.map(|host| SqlHost { keeps_results: true, ..host }))
}

/// Returns what runs the SQL steps of a plan that is carried out. A signal ends them.
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
