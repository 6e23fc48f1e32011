//! Where the pipelines of task plans run.

use std::path::Path;
use std::sync::Arc;

use actum::PolicyInForce;
use actum::task::PipelineHost;

use super::exec;
use super::sandbox::Confinement;
use crate::home;
use crate::output::Screen;
use crate::signals::Waiting;

/// Returns the host of the pipelines of a plan in the workspace at `root`. A signal ends them.
pub(crate) fn of(root: &Path, screen: Screen, waiting: Option<&Waiting>) -> PipelineHost {
    let (root, stop) = (root.to_owned(), waiting.and_then(|waiting| waiting.stop().ok()));
    let runner = move |in_force: &PolicyInForce| {
        let made = exec::runner(&Confinement::default(), in_force, &root, &root, &screen);
        let made = made.map_err(|failure| failure.to_string())?;
        Ok(match &stop {
            Some(stop) => made.stopping_when(stop.clone()),
            None => made,
        })
    };
    PipelineHost { runner: Arc::new(runner), variable: home::inherited }
}
