//! Derives an answer with three values (allowed, needs approval, denied) from Cedar evaluations, which have only two.

use actum_gate::ground::{AccessGround, AccessPolicyName, EvaluationProblem, RequestProblem};
use cedar_policy::{
    AuthorizationError, Decision, Effect, EvaluationError, PolicyId, PolicySet, Request,
};

use crate::answer::{Access, AccessAnswer};
use crate::policies::AccessPolicies;
use crate::request::{AccessRequest, Asked};

/// Maximum number of approvals that a policy may require.
const APPROVALS_MAX: u32 = 4;

/// Combined result of a set of policies: a matching `forbid` always wins; otherwise at least one `permit` must match.
enum Combined {
    /// At least one `forbid` policy matched. Contains these policies.
    Forbidden(Vec<PolicyId>),
    /// No `forbid` policy matched, but at least one `permit` did. Contains the matching `permit` policies.
    Permitted(Vec<PolicyId>),
    Nothing,
}

impl Combined {
    /// Combines the results of two disjoint sets of policies.
    fn and(&self, others: &Self) -> Self {
        let both = |some: &[PolicyId], more: &[PolicyId]| [some, more].concat();
        match (self, others) {
            (Self::Forbidden(some), Self::Forbidden(more)) => Self::Forbidden(both(some, more)),
            (Self::Forbidden(some), Self::Permitted(_) | Self::Nothing)
            | (Self::Permitted(_) | Self::Nothing, Self::Forbidden(some)) => {
                Self::Forbidden(some.clone())
            }
            (Self::Permitted(some), Self::Permitted(more)) => Self::Permitted(both(some, more)),
            (Self::Permitted(some), Self::Nothing) | (Self::Nothing, Self::Permitted(some)) => {
                Self::Permitted(some.clone())
            }
            (Self::Nothing, Self::Nothing) => Self::Nothing,
        }
    }
}

/// Reason why the policies have no result, so that the request is denied.
enum Failed {
    Request(RequestProblem),
    /// Evaluating some policies failed. Contains these policies and their problems.
    Policies(Vec<AccessGround>),
}

impl From<RequestProblem> for Failed {
    fn from(problem: RequestProblem) -> Self {
        Self::Request(problem)
    }
}

impl AccessPolicies {
    /// Decides on a change and names the policies that led to the decision (AEC-6).
    ///
    /// The policies are first evaluated with the approvals that the change already has. If these are not enough, they
    /// are evaluated again with more approvals, up to the maximum. The change is denied if any policy cannot be
    /// evaluated.
    pub fn answer(&self, request: &AccessRequest) -> AccessAnswer {
        let grounds = match self.try_answer(request) {
            Ok(answer) => return answer,
            Err(Failed::Request(problem)) => vec![AccessGround::NotAsked { problem }],
            Err(Failed::Policies(grounds)) => grounds,
        };
        AccessAnswer::new(Access::Denied, grounds)
    }

    fn try_answer(&self, request: &AccessRequest) -> Result<AccessAnswer, Failed> {
        let Some(policies) = self.about(request.action) else {
            return Ok(AccessAnswer::new(Access::Denied, vec![AccessGround::NotPermitted]));
        };
        let asked = Asked::new(request, &self.types)?;
        let actual = asked.with_approvals(request.approvals, &self.types)?;
        let settled = self.evaluate(&policies.settled, &asked, &actual);
        let varying = self.evaluate(&policies.varying, &asked, &actual);
        let (settled, varying) = match (settled, varying) {
            (Ok(settled), Ok(varying)) => (settled, varying),
            (Err(some), Err(more)) => return Err(Failed::Policies([some, more].concat())),
            (Err(failed), Ok(_)) | (Ok(_), Err(failed)) => return Err(Failed::Policies(failed)),
        };
        let mut grounds = match settled.and(&varying) {
            Combined::Permitted(by) => {
                return Ok(AccessAnswer::new(Access::Allowed, self.grounds(&by, None)));
            }
            Combined::Forbidden(by) => self.grounds(&by, None),
            Combined::Nothing => vec![AccessGround::NotPermitted],
        };
        // Policies that do not depend on approvals would give the same result again, so evaluate only the others.
        let can_change = !matches!(settled, Combined::Forbidden(_));
        let first = request.approvals.saturating_add(1);
        for approvals in (first..=APPROVALS_MAX).filter(|_| can_change) {
            let more = asked.with_approvals(approvals, &self.types)?;
            let varying = self.evaluate(&policies.varying, &asked, &more);
            if let Combined::Permitted(by) = settled.and(&varying.map_err(Failed::Policies)?) {
                grounds.extend(self.grounds(&by, Some(approvals)));
                return Ok(AccessAnswer::new(Access::NeedsApproval { approvals }, grounds));
            }
        }
        Ok(AccessAnswer::new(Access::Denied, grounds))
    }

    /// Evaluates a set of policies. If the evaluation of any policy fails, returns the failed policies with their
    /// problems.
    fn evaluate(
        &self,
        policies: &PolicySet,
        asked: &Asked,
        request: &Request,
    ) -> Result<Combined, Vec<AccessGround>> {
        let response = self.authorizer.is_authorized(request, policies, &asked.entities);
        let failed = response.diagnostics().errors().map(|error| {
            let AuthorizationError::PolicyEvaluationError(error) = error;
            AccessGround::NotEvaluated {
                policy: self.name(error.policy_id()),
                problem: problem(error.inner()),
            }
        });
        let failed: Vec<AccessGround> = failed.collect();
        if !failed.is_empty() {
            return Err(failed);
        }
        let by: Vec<PolicyId> = response.diagnostics().reason().cloned().collect();
        Ok(match response.decision() {
            Decision::Allow => Combined::Permitted(by),
            Decision::Deny if by.is_empty() => Combined::Nothing,
            Decision::Deny => Combined::Forbidden(by),
        })
    }

    /// Returns grounds that name these policies, together with the number of approvals that they require.
    fn grounds(&self, policies: &[PolicyId], approvals: Option<u32>) -> Vec<AccessGround> {
        let grounds = policies.iter().map(|id| {
            let named = self.named.get(id);
            let (policy, reason) = (self.name(id), named.and_then(|named| named.reason.clone()));
            match named.map(|named| named.effect) {
                Some(Effect::Permit) => AccessGround::Permitted { approvals, policy, reason },
                Some(Effect::Forbid) | None => AccessGround::Forbidden { policy, reason },
            }
        });
        grounds.collect()
    }

    fn name(&self, id: &PolicyId) -> AccessPolicyName {
        let unnamed = || AccessPolicyName { id: Some(id.to_string()), position: None, file: None };
        self.named.get(id).map_or_else(unnamed, AccessPolicyName::from)
    }
}

/// Maps a Cedar evaluation error to a problem whose wording does not change with the version of Cedar.
fn problem(error: &EvaluationError) -> EvaluationProblem {
    match error {
        EvaluationError::IntegerOverflow(_) => EvaluationProblem::Overflow,
        EvaluationError::EntityDoesNotExist(_) => EvaluationProblem::OtherEntity,
        EvaluationError::FailedExtensionFunctionExecution(_) => EvaluationProblem::Function,
        EvaluationError::RecursionLimit(_) => EvaluationProblem::TooDeep,
        // Validation rules out the remaining errors.
        EvaluationError::EntityAttrDoesNotExist(_)
        | EvaluationError::RecordAttrDoesNotExist(_)
        | EvaluationError::FailedExtensionFunctionLookup(_)
        | EvaluationError::TypeError(_)
        | EvaluationError::WrongNumArguments(_)
        | EvaluationError::UnlinkedSlot(_)
        | EvaluationError::NonValue(_) => EvaluationProblem::Type,
    }
}
