//! Protected targets, which no plan may touch: a single one rejects the whole plan (EX-4, D-5).

use actum_core::{Digest, PathRule, RelPath};
use actum_gate::decision::{Bundle, Case};
use actum_gate::policy::Profile;
use actum_gate::{GateName, Policy, Verdict, decide};
use actum_task::ErrorCode;
use actum_task::report::is_protected_report;

use super::problem::ActionProblem;
use super::refused;
use crate::error::Result;
use crate::policies::PolicyInForce;

/// Target that no plan may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Index of its action in the plan, counted from 0.
    pub action: usize,
    /// Target.
    pub path: RelPath,
    /// Reason for the protection.
    pub problem: ActionProblem,
}

/// Returns the protected targets among these, each with the index of its action. They are protected by the policy in
/// force, by these rules of the system config, or from every plan.
///
/// # Errors
/// `Record` if the policy has no exact form.
pub fn violations<'p>(
    targets: impl Iterator<Item = (usize, &'p RelPath)>,
    config: &[PathRule],
    in_force: &PolicyInForce,
) -> Result<Vec<Violation>> {
    let guarded = in_force.clone().guarded(Profile::AgentExecutor);
    let (cedar, place) = (&in_force.cedar, in_force.place());
    // Returns the ground of the gate `protected`, if it denies the case under a policy.
    let denied = |case: &Case, policy: &Policy| -> Result<Option<String>> {
        let bundle = Bundle::new(Digest::of(&policy.to_vec()?), case.clone());
        let gates = decide(&bundle, policy, cedar).gates.into_iter();
        let mut denied =
            gates.filter(|it| it.gate == GateName::Protected && it.verdict == Verdict::Deny);
        Ok(denied.next().map(|it| it.ground.to_string()))
    };
    let mut violations = Vec::new();
    for (action, path) in targets {
        let case = Case {
            root: place.root.clone(),
            enclosing: place.enclosing.clone(),
            ..Case::new(vec![refused::effect(path)])
        };
        let mut ground = denied(&case, &guarded.policy)?;
        if let Some(ground) = &mut ground
            && denied(&case, &in_force.policy)?.is_none()
        {
            *ground += &format!(
                "; only the profile `{}` protects it, by which every task plan is judged besides the policy: a change \
                 with `actum apply` may touch it",
                Profile::AgentExecutor
            );
        }
        let problem = match ground {
            Some(_) if is_protected_report(path) => report_problem(path),
            Some(ground) => ActionProblem::new(ErrorCode::ProtectedFileViolation, ground),
            None => match config.iter().find(|rule| rule.covers(path)) {
                Some(rule) => ActionProblem::new(
                    ErrorCode::ProtectedFileViolation,
                    format!("the path `{path}` is protected by `{rule}` of the system config"),
                ),
                None => continue,
            },
        };
        violations.push(Violation { action, path: path.clone(), problem });
    }
    Ok(violations)
}

fn report_problem(path: &RelPath) -> ActionProblem {
    let message = format!("`{path}` is what a run is taken back with, and no plan may touch it");
    ActionProblem::new(ErrorCode::ProtectedReportViolation, message)
}

/// Returns the problem of a target with hard links, which may be names of a protected file.
pub fn linked(path: &RelPath) -> ActionProblem {
    let message = format!(
        "the file `{path}` has other names (hard links), and which of them are protected is not known"
    );
    ActionProblem::new(ErrorCode::ProtectedFileViolation, message)
}
