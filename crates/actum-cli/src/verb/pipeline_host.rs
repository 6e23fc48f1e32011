//! Creates the host that runs the pipelines of task plans.

use std::path::Path;
use std::sync::Arc;

use actum::PolicyInForce;
use actum::task::{KeptUse, PipelineHost};

use super::exec;
use super::sandbox::Confinement;
use crate::failure::Failure;
use crate::home;
use crate::output::Screen;
use crate::signals::Waiting;

/// Creates the host that runs the pipelines of a plan in the workspace at `root`. If `waiting` is given, a termination signal
/// stops the running pipeline.
///
/// # Errors
/// Returns an error if the home directory in which pipeline results are stored is unknown.
pub(crate) fn new(
    root: &Path,
    screen: Screen,
    kept_use: KeptUse,
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
    Ok(PipelineHost { runner, variable, home, kept_use })
}
