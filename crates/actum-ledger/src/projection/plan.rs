//! Projection of queued plans. A plan is queued, answered, and then carried out by at most one run or action (AA-5).

use actum_core::Digest;
use actum_record::ledger::{Answer, EntryFacts, EntryKind, Judged};

use crate::error::Refusal;
use crate::log::PlanRow;

/// State of a plan, and the hashes of the entries that queued and answered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPlan {
    /// State of the plan, computed from its entries.
    pub row: PlanRow,
    /// Digests of the request, change and policy for which the plan was queued. Every later entry about the plan must
    /// repeat them.
    pub judged: Judged,
    /// Hash of the `PLAN_QUEUED` entry of the plan.
    pub queued_leaf: Digest,
    /// Hash of the latest `PLAN_ANSWERED` entry, or `None` if the plan has not been answered.
    pub answered_leaf: Option<Digest>,
}

/// Computes the state of a plan after the entry at `index` with the hash `leaf`, from its state before the entry. Returns
/// `None` if the entry is not about a plan.
///
/// # Errors
/// Returns [`Refusal`] if the entry is not allowed after the previous ones.
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
        // Entries of other kinds do not refer to plans.
        _ => Err(Refusal::NoPlan { plan }),
    }
}

/// Returns whether `answer` is allowed after the previous answer. A plan can be approved or denied only once, and only an
/// approval can be revoked.
fn can_follow(before: Option<Answer>, answer: Answer) -> bool {
    match answer {
        Answer::Approved | Answer::Denied => before.is_none(),
        Answer::Revoked => before == Some(Answer::Approved),
    }
}
