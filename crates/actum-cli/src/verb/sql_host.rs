//! Where the SQL steps of task plans run.

use actum::task::SqlHost;
use actum_sandbox::Helper;

use super::sandbox::known_host;
use crate::failure::Failure;
use crate::home;
use crate::signals::Waiting;

/// Returns what runs SQL steps: this program once more, which a signal ends. Where no signal is waited for, plans are shown and not
/// carried out, and their results are kept.
///
/// # Errors
/// Where there is no home, in which the library is.
pub(crate) fn of(waiting: Option<&Waiting>) -> Result<Option<SqlHost>, Failure> {
    let Ok(program) = std::env::current_exe() else { return Ok(None) };
    Ok(Some(SqlHost {
        helper: Helper::this_program(),
        report: known_host,
        program,
        home: home::path()?,
        stop: waiting.and_then(|waiting| waiting.stop().ok()),
        keeps_results: waiting.is_none(),
    }))
}
