//! Failures to show, approve or deny a plan in the approval queue.

use actum_core::RunId;

use actum::reason::Reason;

use crate::failure::FailureKind;

/// Failure to show, approve or deny a plan that is detected before the engine is called.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanFailure {
    #[error("no plan in the queue has an id that begins with `{prefix}`")]
    None { prefix: String },
    #[error("the plan id `{prefix}` is ambiguous: it matches {} plans: {}", plans.len(), listed(plans))]
    Ambiguous { prefix: String, plans: Vec<RunId> },
    #[error(
        "the workspace of plan {plan} is not at `{root}`, where it was when the plan was queued"
    )]
    Elsewhere { plan: RunId, root: String },
    #[error("plan {plan} is stale: {moved}")]
    Moved { plan: RunId, moved: String },
    #[error("cannot show the details that need a decision: {source}")]
    Unshown { source: std::io::Error },
}

fn listed(plans: &[RunId]) -> String {
    plans.iter().take(5).map(|plan| format!("`{plan}`")).collect::<Vec<_>>().join(", ")
}

impl FailureKind for PlanFailure {
    fn reason(&self) -> Reason {
        match self {
            Self::None { .. } => Reason::UnknownPlan,
            Self::Ambiguous { .. } => Reason::AmbiguousRun,
            Self::Elsewhere { .. } => Reason::NotAWorkspace,
            Self::Moved { .. } => Reason::PlanStale,
            Self::Unshown { .. } => Reason::ConfirmationNeeded,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::None { .. } => "`actum queue` lists the pending plans",
            Self::Ambiguous { .. } => "use a longer prefix of the id",
            Self::Elsewhere { .. } => "pass the current path of the workspace with `-C DIRECTORY`",
            Self::Moved { .. } => {
                "repeat the request, so that the change is computed from the current files"
            }
            Self::Unshown { .. } => "make sure that standard error can be written",
        };
        vec![hint.to_owned()]
    }
}
