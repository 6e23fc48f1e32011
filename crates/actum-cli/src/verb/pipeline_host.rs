//! Where the pipelines of task plans run.

use std::path::Path;
use std::sync::Arc;

use actum::PolicyInForce;
use actum::task::PipelineHost;

use super::exec;
use super::sandbox::Confinement;
use crate::failure::Failure;
use crate::home;
use crate::output::Screen;
use crate::signals::Waiting;

/// Returns the host of the pipelines of a plan that is shown: their results are kept, so that they can be published.
///
/// # Errors
/// Where there is no home, in which results are kept.
pub(crate) fn for_showing(root: &Path, screen: Screen) -> Result<PipelineHost, Failure> {
    Ok(PipelineHost { keeps_results: true, ..for_running(root, screen, None)? })
}

/// Returns the host of the pipelines of a plan in the workspace at `root` that is carried out. A signal ends them.
///
/// # Errors
/// As [`for_showing`].
pub(crate) fn for_running(
    root: &Path,
    screen: Screen,
    waiting: Option<&Waiting>,
) -> Result<PipelineHost, Failure> {
    let (root, stop) = (root.to_owned(), waiting.and_then(|waiting| waiting.stop().ok()));
    let runner = move |in_force: &PolicyInForce| {
        let made = exec::runner(&Confinement::default(), in_force, &root, &root, &screen);
        let made = made.map_err(|failure| failure.to_string())?;
        Ok(match &stop {
            Some(stop) => made.stopping_when(stop.clone()),
            None => made,
        })
    };
    let (runner, variable, home) = (Arc::new(runner), home::inherited, home::path()?);
    Ok(PipelineHost { runner, variable, home, keeps_results: false })
}
