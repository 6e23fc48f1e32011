//! Failures to show or answer a plan in the queue.

use actum_core::RunId;

use actum::reason::Reason;

use crate::failure::FailureKind;

/// Failure to show or answer a plan that is found before the engine is asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanFailure {
    #[error("no plan in the queue has an id that begins with `{prefix}`")]
    None { prefix: String },
    #[error("the ids of {} plans begin with `{prefix}`: {}", plans.len(), listed(plans))]
    Ambiguous { prefix: String, plans: Vec<RunId> },
    #[error(
        "the workspace of plan {plan} is not at `{root}`, where it was when the plan was queued"
    )]
    Elsewhere { plan: RunId, root: String },
    #[error("plan {plan} is stale: {moved}")]
    Moved { plan: RunId, moved: String },
    #[error("cannot show what is to be decided: {source}")]
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
            Self::Ambiguous { .. } => "give more characters of the id",
            Self::Elsewhere { .. } => "`-C DIRECTORY` says where the workspace is now",
            Self::Moved { .. } => {
                "make the request again: the change is computed from the current files"
            }
            Self::Unshown { .. } => "see to it that standard error can be written",
        };
        vec![hint.to_owned()]
    }
}
