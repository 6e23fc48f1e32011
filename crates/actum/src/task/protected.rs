//! Finds protected targets, which no plan may touch. A single protected target causes the entire plan to be rejected
//! (EX-4, D-5).

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

/// Target of an action that is protected, so no plan may touch it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Zero-based index in the plan of the action that names the target.
    pub action: usize,
    /// Path of the protected target.
    pub path: RelPath,
    /// Problem that states why the target is protected.
    pub problem: ActionProblem,
}

/// Returns the protected targets among `targets`. A target is protected by the policy in force, by the rules in `config`
/// from the system config, or because no plan may ever touch it.
///
/// # Errors
/// `Record` if the policy cannot be serialized canonically.
pub fn violations<'p>(
    targets: impl Iterator<Item = (usize, &'p RelPath)>,
    config: &[PathRule],
    in_force: &PolicyInForce,
) -> Result<Vec<Violation>> {
    let guarded = in_force.clone().guarded(Profile::AgentExecutor);
    let (cedar, place) = (&in_force.cedar, in_force.place());
    // Returns the reason given by the `protected` gate, if the gate denies the case under `policy`.
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
                "; only the profile `{}`, which also applies to every task plan, protects it: `actum apply` may \
                 change it",
                Profile::AgentExecutor
            );
        }
        let problem = match ground {
            Some(_) if is_protected_report(path) => report_problem(path),
            Some(ground) => ActionProblem::new(ErrorCode::ProtectedFileViolation, ground),
            None => match config.iter().find(|rule| rule.covers(path)) {
                Some(rule) => ActionProblem::new(
                    ErrorCode::ProtectedFileViolation,
                    format!("the path `{path}` is protected by `{rule}` in the system config"),
                ),
                None => continue,
            },
        };
        violations.push(Violation { action, path: path.clone(), problem });
    }
    Ok(violations)
}

fn report_problem(path: &RelPath) -> ActionProblem {
    let message = format!("`{path}` is needed to roll a run back, so no plan may change it");
    ActionProblem::new(ErrorCode::ProtectedReportViolation, message)
}

/// Returns the problem of a target with several hard links, one of which may be the name of a protected file.
pub fn linked(path: &RelPath) -> ActionProblem {
    let message =
        format!("the file `{path}` has other names (hard links), and one of them may be protected");
    ActionProblem::new(ErrorCode::ProtectedFileViolation, message)
}
