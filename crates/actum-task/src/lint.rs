//! Lint of a task plan: predicts which actions would fail in a workspace, without changing anything (EX-3, EX-8, EX-21).

mod finding;

pub use finding::Finding;

use std::collections::{BTreeMap, BTreeSet};

use actum_core::{RelPath, count};

use super::config::SystemConfig;
use super::graph::Graph;
use super::limits::PROBLEMS_MAX;
use super::plan::{Action, ActionType, ExecutionOrder, Pipeline, TaskPlan, Work};

/// Queries about the files of a workspace that the lint needs.
#[derive(Clone, Copy)]
pub struct Files<'f> {
    /// Returns whether a regular file exists at the path.
    pub exists: &'f dyn Fn(&RelPath) -> bool,
    /// Returns whether a pipeline may change the path.
    pub may_change: &'f dyn Fn(&Pipeline, &RelPath) -> bool,
}

/// Simulates the actions of a plan in execution order and returns the problems that it finds, at most [`PROBLEMS_MAX`].
///
/// The simulation tracks created and removed files, so an action may change a file that an earlier action creates. If an action
/// would fail, only the actions that depend on it are skipped. Whether a finding rejects the entire plan depends on its error code.
/// Protected paths and permissions are not checked here, because the gates check them.
pub fn lint(
    plan: &TaskPlan,
    graph: &Graph,
    config: &SystemConfig,
    files: Files<'_>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    limits(plan, config, &mut findings);
    if plan.instructions.order == ExecutionOrder::Parallel {
        unordered(plan, graph, &mut findings);
    }
    let tree = Tree { files, changed: BTreeMap::new(), pipelines: Vec::new() };
    tree.walk(plan, graph, &mut findings);
    findings.truncate(PROBLEMS_MAX);
    findings
}

/// Finds the actions whose target is a symbolic link or is reached through one (EX-5). `link` must return the outermost symbolic
/// link on a path.
pub fn links(plan: &TaskPlan, link: impl Fn(&RelPath) -> Option<RelPath>) -> Vec<Finding> {
    let linked = plan.targets().filter_map(|(index, path)| {
        let (action, link) = (plan.actions.get(index)?, link(path)?);
        let field = if *path == action.target { "target" } else { "new_path" };
        let (id, path) = (action.id.clone(), path.clone());
        Some(Finding::Linked { action: index, id, field, path, link })
    });
    linked.take(PROBLEMS_MAX).collect()
}

/// Returns a finding for every action of a type that this host cannot run, for the reason `why`.
pub fn unavailable(plan: &TaskPlan, action_type: ActionType, why: &str) -> Vec<Finding> {
    let actions = plan.actions.iter().enumerate();
    let actions = actions.filter(|(_, action)| action.action_type() == action_type);
    let finding = |(index, action): (usize, &Action)| Finding::NotAvailable {
        action: index,
        id: action.id.clone(),
        action_type,
        why: why.to_owned(),
    };
    actions.map(finding).take(PROBLEMS_MAX).collect()
}

/// Returns whether the findings reject the entire plan.
pub fn is_rejected(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.code().response().is_refusal())
}

/// Finds violations of the limits on the number and the size of files.
fn limits(plan: &TaskPlan, config: &SystemConfig, findings: &mut Vec<Finding>) {
    let files: BTreeSet<&RelPath> = plan.actions.iter().flat_map(Action::written).collect();
    if count(files.len()) > u64::from(config.limits.files_max) {
        let (files, files_max) = (files.len(), config.limits.files_max);
        findings.push(Finding::TooManyFiles { files, files_max });
    }
    for (index, action) in plan.actions.iter().enumerate() {
        let id = || action.id.clone();
        let bytes = action.work.whole_content().map_or(0, |content| count(content.len()));
        let bytes_max = config.limits.file_bytes_max;
        if bytes > bytes_max {
            findings.push(Finding::TooLarge { action: index, id: id(), bytes, bytes_max });
        }
    }
}

/// Finds actions that touch the same file and could run at the same time.
///
/// The accesses to each file are checked in execution order. Because dependencies are transitive, two checks are enough: each
/// access must depend on the last change before it, and each change must also depend on all reads since that change.
fn unordered(plan: &TaskPlan, graph: &Graph, findings: &mut Vec<Finding>) {
    let mut touches: BTreeMap<&RelPath, Vec<(usize, Touch)>> = BTreeMap::new();
    for &index in graph.order() {
        let Some(action) = plan.actions.get(index) else { continue };
        let written: BTreeSet<_> = action.written().collect();
        let read: BTreeSet<_> = action.read_only().collect();
        for (paths, touch) in [(written, Touch::Changes), (read, Touch::Looks)] {
            for path in paths {
                touches.entry(path).or_default().push((index, touch));
            }
        }
    }
    touches.retain(|_, touches| {
        touches.len() > 1 && touches.iter().any(|(_, touch)| *touch == Touch::Changes)
    });
    if touches.is_empty() {
        return;
    }
    let reach = graph.reach();
    for (path, touches) in touches {
        let (mut change, mut looks): (Option<usize>, Vec<usize>) = (None, Vec::new());
        for (index, touch) in touches {
            let earlier = change.into_iter().chain(match touch {
                Touch::Changes => std::mem::take(&mut looks),
                Touch::Looks => Vec::new(),
            });
            for earlier in earlier.filter(|earlier| !reach.is_before(*earlier, index)) {
                let ids = [earlier, index].map(|at| plan.actions.get(at).map(|it| it.id.clone()));
                let [Some(first), Some(second)] = ids else { continue };
                let path = path.clone();
                findings.push(Finding::Unordered { action: index, path, first, second });
                if findings.len() > PROBLEMS_MAX {
                    return;
                }
            }
            match touch {
                Touch::Changes => change = Some(index),
                Touch::Looks => looks.push(index),
            }
        }
    }
}

/// Kind of access that an action has to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Touch {
    Changes,
    Looks,
}

/// State of the workspace that the simulated actions would leave.
struct Tree<'t> {
    files: Files<'t>,
    /// Pipelines that have run so far in the simulation.
    pipelines: Vec<&'t Pipeline>,
    /// Paths that the simulated actions created (`true`) or removed (`false`).
    changed: BTreeMap<RelPath, bool>,
}

impl<'t> Tree<'t> {
    fn walk(mut self, plan: &'t TaskPlan, graph: &Graph, findings: &mut Vec<Finding>) {
        let mut failed: BTreeSet<usize> = BTreeSet::new();
        for &index in graph.order() {
            let Some(action) = plan.actions.get(index) else { continue };
            let because = graph.waits_for(index).iter().find(|before| failed.contains(before));
            let because = because.and_then(|before| plan.actions.get(*before));
            let problem = match because {
                Some(before) => Some(Finding::Skipped {
                    action: index,
                    id: action.id.clone(),
                    because: before.id.clone(),
                }),
                None => self.act(index, action),
            };
            if let Some(problem) = problem {
                failed.insert(index);
                findings.push(problem);
                if findings.len() > PROBLEMS_MAX {
                    return;
                }
            }
        }
    }

    /// Simulates an action. Returns a finding if the action would fail.
    fn act(&mut self, index: usize, action: &'t Action) -> Option<Finding> {
        let (id, target) = (|| action.id.clone(), &action.target);
        let missing = |tree: &Self| {
            (!tree.has(target) && !tree.may_be_made(target)).then(|| Finding::Missing {
                action: index,
                id: id(),
                path: target.clone(),
            })
        };
        match &action.work {
            Work::Create { .. } => {
                if let Some(finding) = self.taken(index, action, target, "target") {
                    return Some(finding);
                }
                self.changed.insert(target.clone(), true);
            }
            Work::Modify(_) | Work::UpdateSchema(_) => return missing(self),
            Work::Delete => {
                if let Some(finding) = missing(self) {
                    return Some(finding);
                }
                self.changed.insert(target.clone(), false);
            }
            Work::Rename { new_path } => {
                if let Some(finding) = missing(self) {
                    return Some(finding);
                }
                // Moving a file frees its old path, unless both paths are the same.
                let before = self.changed.insert(target.clone(), new_path == target);
                if let Some(finding) = self.taken(index, action, new_path, "new_path") {
                    match before {
                        Some(state) => self.changed.insert(target.clone(), state),
                        None => self.changed.remove(target),
                    };
                    return Some(finding);
                }
                self.changed.insert(new_path.clone(), true);
            }
            Work::ExecuteSql(query) => {
                if let Some(finding) = missing(self) {
                    return Some(finding);
                }
                self.changed.extend(query.save_results_to.clone().map(|path| (path, true)));
            }
            Work::RunPipeline(pipeline) => self.pipelines.push(pipeline),
        }
        None
    }

    /// Returns a finding if no file can be created at the path, because something exists there or a parent is a file.
    fn taken(
        &self,
        index: usize,
        action: &Action,
        path: &RelPath,
        field: &'static str,
    ) -> Option<Finding> {
        let (id, path) = (|| action.id.clone(), path.clone());
        if self.may_be_made(&path) {
            return None;
        }
        if self.has(&path) {
            return Some(Finding::Exists { action: index, id: id(), field, path });
        }
        let above = std::iter::successors(path.parent(), RelPath::parent);
        let file = above.into_iter().find(|above| self.has(above))?;
        Some(Finding::BelowFile { action: index, id: id(), field, path, file })
    }

    fn has(&self, path: &RelPath) -> bool {
        self.changed.get(path).copied().unwrap_or_else(|| (self.files.exists)(path))
    }

    /// Returns whether a pipeline that ran earlier may have created or removed the file.
    fn may_be_made(&self, path: &RelPath) -> bool {
        self.pipelines.iter().any(|pipeline| (self.files.may_change)(pipeline, path))
    }
}
