//! Plans in the projection: from the queue over an answer to the one run or action that it allows
//! (AA-5).

use actum_core::Digest;
use actum_record::ledger::{Answer, EntryFacts, EntryKind, Judged};

use crate::error::Refusal;
use crate::log::PlanRow;

/// Facts about a plan, and the hashes of the entries that queued and answered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPlan {
    /// Row computed from its entries.
    pub row: PlanRow,
    /// Facts judged when it was queued: each later entry about it must name the same.
    pub judged: Judged,
    /// Hash of its `PLAN_QUEUED`.
    pub queued_leaf: Digest,
    /// Hash of its last `PLAN_ANSWERED`.
    pub answered_leaf: Option<Digest>,
}

/// Computes a plan after the entry `index` with the hash `leaf`, from its state before. `None` if
/// the entry is about no plan.
///
/// # Errors
/// [`Refusal`] if the entry cannot follow.
pub(crate) fn after(
    before: Option<&KnownPlan>,
    facts: &EntryFacts,
    (index, leaf): (u64, Digest),
) -> Result<Option<KnownPlan>, Refusal> {
    let (Some(plan), Some(workspace), Some(judged)) = (facts.plan, facts.workspace, facts.judged)
    else {
        return Ok(None);
    };
    let known = match (facts.kind, before) {
        (EntryKind::PlanQueued, None) => {
            let row = PlanRow { plan, workspace, queued: index, answered: None, started: None };
            return Ok(Some(KnownPlan { row, judged, queued_leaf: leaf, answered_leaf: None }));
        }
        (EntryKind::PlanQueued, Some(KnownPlan { row, .. })) => {
            return Err(Refusal::PlanQueued { plan, queued: row.queued });
        }
        (_, None) => return Err(Refusal::NoPlan { plan }),
        (_, Some(known)) => known,
    };
    let row = &known.row;
    if row.workspace != workspace {
        let queued_in = row.workspace;
        return Err(Refusal::OtherWorkspaceOfPlan { plan, queued_in, workspace });
    }
    if let Some(started) = row.started {
        return Err(Refusal::PlanStarted { plan, started });
    }
    if judged != known.judged {
        return Err(Refusal::OtherThanPlan { plan });
    }
    let before = row.answered.map(|(answer, _)| answer);
    let follows = |expected: Option<(u64, Digest)>| match facts.follows {
        follows if follows == expected => Ok(()),
        None => Err(Refusal::NoPlan { plan }),
        Some((index, leaf)) => Err(Refusal::OtherEntryOfPlan { plan, index, leaf }),
    };
    match (facts.kind, facts.answer) {
        (EntryKind::PlanAnswered, Some(answer)) => {
            if !can_follow(before, answer) {
                return Err(Refusal::PlanAnswered { plan, before, answer });
            }
            follows(Some((row.queued, known.queued_leaf)))?;
            let row = PlanRow { answered: Some((answer, index)), ..row.clone() };
            Ok(Some(KnownPlan { row, answered_leaf: Some(leaf), ..known.clone() }))
        }
        (EntryKind::EffectStarted | EntryKind::ActionStarted, _) => {
            if before != Some(Answer::Approved) {
                return Err(Refusal::PlanNotApproved { plan, before });
            }
            follows(row.answered.map(|(_, index)| index).zip(known.answered_leaf))?;
            let row = PlanRow { started: Some(index), ..row.clone() };
            Ok(Some(KnownPlan { row, ..known.clone() }))
        }
        // No other entry is about a plan.
        _ => Err(Refusal::NoPlan { plan }),
    }
}

/// Returns true if an answer can come after another: a plan is approved or denied once, and an
/// approval can be revoked.
fn can_follow(before: Option<Answer>, answer: Answer) -> bool {
    match answer {
        Answer::Approved | Answer::Denied => before.is_none(),
        Answer::Revoked => before == Some(Answer::Approved),
    }
}
