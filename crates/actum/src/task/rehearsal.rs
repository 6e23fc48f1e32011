//! Rehearsal: the actions of a plan, one after the other, on a staged change that nobody sees (EX-3, EX-8, EX-12).

use actum_core::task::{
    Action, Change, Check, Condition, Constraints, ErrorCode, Graph, Response, TaskPlan, Work,
};
use actum_core::{Digest, Operation, RelPath};
use actum_workspace::disk::Disk;
use actum_workspace::{ErrorKind, RunOptions, State, Transaction, Workspace};

use super::operation;
use super::problem::ActionProblem;
use crate::error::{Error, Result};

/// What came of the actions of a plan, and the change that those are which succeeded.
pub struct Rehearsal<'w, D: Disk> {
    /// The change.
    pub transaction: Transaction<'w, D>,
    /// What came of each action, in the order in which they were done.
    pub actions: Vec<Rehearsed>,
    /// The same change as operations, in that order.
    pub operations: Vec<Operation>,
    /// The rules of the plan that do not hold in the end.
    pub broken_rules: Vec<ActionProblem>,
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsed {
    /// Its place in the plan, counted from 0.
    pub action: usize,
    /// How it ended.
    pub end: ActionEnd,
}

/// How an action ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionEnd {
    /// It did what it was to do, and its conditions hold.
    Completed {
        /// What it did, in words.
        output: String,
    },
    /// It could not be done, and nothing of it is left.
    Failed(ActionProblem),
    /// It was not tried.
    Skipped {
        /// Why not.
        reason: String,
    },
}

impl<'w, D: Disk> Rehearsal<'w, D> {
    /// Does all actions of a plan that can be done, in the order of the graph. Of an action that fails nothing is left;
    /// those that depend on it are skipped, and where the plan is to stop all others are, too.
    ///
    /// # Errors
    /// `Workspace` where there can be no change at all.
    pub fn of(
        workspace: &'w mut Workspace<D>,
        options: &RunOptions,
        (plan, graph): (&TaskPlan, &Graph),
        constraints: Constraints,
    ) -> Result<Self> {
        let mut script = Script { plan, graph, constraints, ends: Vec::new(), stopped_by: None };
        let (mut operations, mut lost) = (Vec::new(), Vec::new());
        // Nothing takes a step back in a transaction: what fails once it is staged is found out before, and left out.
        if plan.actions.iter().any(|action| !action.postconditions.is_empty()) {
            while let Played::Lost(action, problem) =
                script.play(&mut workspace.begin(options.clone())?, &mut operations, &lost)
            {
                lost.push((action, problem));
            }
        }
        let mut transaction = workspace.begin(options.clone())?;
        if let Played::Lost(action, _) = script.play(&mut transaction, &mut operations, &lost)
            && let Some(action) = plan.actions.get(action)
        {
            return Err(changed_meanwhile(action.target.clone()));
        }
        let mut rehearsal =
            Self { transaction, actions: script.ends, operations, broken_rules: Vec::new() };
        rehearsal.broken_rules = plan
            .instructions
            .validation_rules
            .iter()
            .filter_map(|rule| {
                let problem = must_hold(&mut rehearsal.transaction, rule).err()?;
                Some(ActionProblem::new(ErrorCode::ValidationRuleFailed, problem))
            })
            .collect();
        Ok(rehearsal)
    }
}

/// A plan while it is rehearsed.
struct Script<'p> {
    plan: &'p TaskPlan,
    graph: &'p Graph,
    constraints: Constraints,
    ends: Vec<Rehearsed>,
    /// The action after which no other is tried.
    stopped_by: Option<usize>,
}

/// How far a try came.
enum Played {
    /// Each action has an end.
    Through,
    /// This one failed after it had changed something.
    Lost(usize, ActionProblem),
}

impl Script<'_> {
    fn play<D: Disk>(
        &mut self,
        transaction: &mut Transaction<'_, D>,
        operations: &mut Vec<Operation>,
        lost: &[(usize, ActionProblem)],
    ) -> Played {
        (self.ends, self.stopped_by) = (Vec::new(), None);
        operations.clear();
        for &index in self.graph.order() {
            let Some(action) = self.plan.actions.get(index) else { continue };
            let known = lost.iter().find(|(lost, _)| *lost == index).map(|(_, problem)| problem);
            let end = match (self.reason_to_skip(index), known) {
                (Some(reason), _) => ActionEnd::Skipped { reason },
                (None, Some(problem)) => ActionEnd::Failed(problem.clone()),
                (None, None) => match attempt(transaction, action) {
                    Ok((operation, output)) => {
                        operations.push(operation);
                        ActionEnd::Completed { output }
                    }
                    Err(Undone::Clean(problem)) => ActionEnd::Failed(problem),
                    Err(Undone::Staged(problem)) => return Played::Lost(index, problem),
                },
            };
            if let ActionEnd::Failed(problem) = &end
                && (self.constraints.stop_on_error || stops_always(problem.code))
            {
                self.stopped_by = Some(index);
            }
            self.ends.push(Rehearsed { action: index, end });
        }
        Played::Through
    }

    fn reason_to_skip(&self, index: usize) -> Option<String> {
        let name = |index: usize| {
            self.plan.actions.get(index).map(|action| action.id.to_string()).unwrap_or_default()
        };
        let is_done = |before: usize| {
            self.ends.iter().any(|rehearsed| {
                rehearsed.action == before && matches!(rehearsed.end, ActionEnd::Completed { .. })
            })
        };
        let failed = self.graph.waits_for(index).iter().find(|before| !is_done(**before));
        match (failed, self.stopped_by) {
            (Some(before), _) => Some(format!("Dependency failed: `{}`", name(*before))),
            (None, Some(by)) => Some(format!("Stopped after the action `{}` failed", name(by))),
            (None, None) => None,
        }
    }
}

/// What held a moment ago does not hold any more.
fn changed_meanwhile(path: RelPath) -> Error {
    let kind = ErrorKind::Conflict { path, detail: "it changed while the plan was rehearsed" };
    actum_workspace::Error { kind, state: State::Unchanged, also: Vec::new() }.into()
}

/// Whether no other action is tried after this, whatever the plan says (EX-18).
fn stops_always(code: ErrorCode) -> bool {
    match code.response() {
        Response::StopAndRollBack | Response::StopRollBackAndEscalate => true,
        Response::Reject
        | Response::RejectAndAlert
        | Response::SkipAction
        | Response::SkipDependents
        | Response::UseCheckpoint
        | Response::Escalate => false,
    }
}

/// An action that came to nothing.
enum Undone {
    /// Nothing of it is staged.
    Clean(ActionProblem),
    /// It is staged, and has to go.
    Staged(ActionProblem),
}

/// Does one action, with its conditions.
fn attempt<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    action: &Action,
) -> std::result::Result<(Operation, String), Undone> {
    let clean = Undone::Clean;
    let operation = operation::of(action).map_err(clean)?;
    for condition in &action.preconditions {
        must_hold(transaction, condition)
            .map_err(|what| clean(ActionProblem::new(ErrorCode::PreconditionFailed, what)))?;
    }
    must_be_there_so_often(transaction, action).map_err(clean)?;
    transaction.operate(&operation).map_err(|error| clean(error.into()))?;
    for condition in &action.postconditions {
        must_hold(transaction, condition).map_err(|what| {
            Undone::Staged(ActionProblem::new(ErrorCode::PostconditionFailed, what))
        })?;
    }
    Ok((operation, output(action)))
}

/// A text is replaced as often as the plan says, or not at all (EX-10).
fn must_be_there_so_often<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    action: &Action,
) -> std::result::Result<(), ActionProblem> {
    let Work::Modify(Change::ReplaceText { pattern, count, .. }) = &action.work else {
        return Ok(());
    };
    if *count == 1 {
        // The edit itself says it, and where they are.
        return Ok(());
    }
    let content = transaction.read(&action.target)?;
    let found = memchr::memmem::find_iter(&content, pattern.as_bytes()).count();
    match u32::try_from(found) {
        Ok(found) if found == *count => Ok(()),
        Ok(_) | Err(_) => {
            let target = &action.target;
            let code =
                if found == 0 { ErrorCode::PatternNotFound } else { ErrorCode::PatternCount };
            let message = format!(
                "the pattern is {found} times in `{target}`, and {count} times were expected"
            );
            Err(ActionProblem::new(code, message))
        }
    }
}

/// Says what does not hold.
fn must_hold<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    condition: &Condition,
) -> std::result::Result<(), String> {
    let Condition { path, check } = condition;
    let content = match transaction.read(path) {
        Ok(content) => Some(content),
        Err(error) if matches!(error.kind, ErrorKind::Missing { .. }) => None,
        Err(error) => return Err(format!("whether {condition} is not known: {}", error.kind)),
    };
    let has =
        |text: &String, content: &[u8]| memchr::memmem::find(content, text.as_bytes()).is_some();
    let holds = match (check, &content) {
        (Check::Exists, content) => content.is_some(),
        (Check::Absent, content) => content.is_none(),
        (Check::Sha256(wanted), Some(content)) => Digest::of(content) == *wanted,
        (Check::Contains(text), Some(content)) => has(text, content),
        (Check::Lacks(text), Some(content)) => !has(text, content),
        (Check::Sha256(_) | Check::Contains(_) | Check::Lacks(_), None) => false,
    };
    match holds {
        true => Ok(()),
        false => Err(format!("it does not hold that {condition}")),
    }
}

/// What an action did, as the report tells it.
fn output(action: &Action) -> String {
    use actum_core::task::{SchemaChange, StructureEdit};
    let target = &action.target;
    let structure = |edit: &StructureEdit| match edit {
        StructureEdit::JsonAddProperty { key, .. } => {
            format!("Property '{key}' added successfully")
        }
        StructureEdit::JsonRemoveProperty { key, .. } => {
            format!("Property '{key}' removed successfully")
        }
        StructureEdit::JsonUpdateValue { path, .. } | StructureEdit::YamlUpdate { path, .. } => {
            format!("Value at '{}' updated successfully", path.as_str())
        }
    };
    match &action.work {
        Work::Create { .. } => format!("File '{target}' created"),
        Work::Modify(Change::Structure(edit))
        | Work::UpdateSchema(SchemaChange::Structure(edit)) => structure(edit),
        Work::Modify(_) | Work::UpdateSchema(SchemaChange::Content(_)) => {
            format!("File '{target}' modified")
        }
        Work::Delete => format!("File '{target}' deleted"),
        Work::Rename { new_path } => format!("File '{target}' renamed to '{new_path}'"),
        Work::ExecuteSql(_) | Work::RunPipeline(_) => String::new(),
    }
}
