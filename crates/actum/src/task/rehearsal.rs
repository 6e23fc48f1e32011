//! Rehearsal: the actions of a plan, one after the other, on a staged change that nobody sees (EX-3, EX-8, EX-12).

use std::time::Duration;

use actum_core::{FileMode, FileState, RelPath, Timestamp};
use actum_edit::Operation;
use actum_edit::operation::ModeChange;
use actum_gate::credential;
use actum_task::report::{ChangeWord, DiffSummary};
use actum_task::{
    Action, Change, Check, Condition, Constraints, ErrorCode, Graph, Response, SystemConfig,
    TaskPlan, Work,
};
use actum_workspace::disk::Disk;
use actum_workspace::{Change as WorkspaceChange, ChangeKind, ErrorKind, Transaction};

use super::problem::ActionProblem;
use super::{content, operation};

/// The largest file that a text is looked for in, in bytes.
const CONTENT_BYTES_MAX: u64 = actum_task::limits::FILE_BYTES_MAX;

/// Write permission of owner, group and others.
const WRITE_BITS: u32 = 0o222;

/// What came of the actions of a plan. The transaction that they were done on has the change that those are which
/// succeeded.
pub struct Rehearsal {
    /// What came of each action, in the order in which they were done.
    pub actions: Vec<Rehearsed>,
    /// The change as operations, in that order.
    pub operations: Vec<Operation>,
    /// The rules of the plan that do not hold in the end.
    pub broken_rules: Vec<ActionProblem>,
    /// Why it was broken off, where it was: `Cancelled` or `TaskTimeout`.
    pub broken_off: Option<ErrorCode>,
}

/// What is to become of what was rehearsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// What was done becomes visible.
    Keep,
    /// Nothing of it does.
    TakeBack,
    /// The same, since somebody wants it so.
    Cancel,
}

/// A plan, and what it is rehearsed by.
#[derive(Debug, Clone, Copy)]
pub struct Script<'p> {
    /// The plan.
    pub plan: &'p TaskPlan,
    /// The order of its actions.
    pub graph: &'p Graph,
    /// What holds for the tasks of the project.
    pub config: &'p SystemConfig,
}

/// Who looks on while a plan is rehearsed.
pub trait Watch {
    /// The time now.
    fn now(&self) -> Timestamp;
    /// Whether somebody wants it to end; no other action is begun then.
    fn is_cancelled(&self) -> bool {
        false
    }
    /// An action begins.
    fn began(&mut self, _action: usize) {}
    /// An action came to something.
    fn ended(&mut self, _rehearsed: &Rehearsed) {}
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsed {
    /// Its place in the plan, counted from 0.
    pub action: usize,
    /// When it was begun.
    pub started: Timestamp,
    /// When it had ended.
    pub completed: Timestamp,
    /// How it ended.
    pub end: ActionEnd,
    /// What a failed action left: its postcondition did not hold, and it is not rolled back.
    pub left: Option<Box<ActionChange>>,
}

impl Rehearsed {
    /// What it did to its file, where that is left.
    pub fn did(&self) -> Option<&ActionChange> {
        match &self.end {
            ActionEnd::Completed { did, .. } => Some(did),
            ActionEnd::Failed(_) | ActionEnd::Skipped { .. } => self.left.as_deref(),
        }
    }
}

/// How an action ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionEnd {
    /// It did what it was to do, and its conditions hold.
    Completed {
        /// What it did, in words.
        output: String,
        /// What it did to its file.
        did: Box<ActionChange>,
    },
    /// It could not be done.
    Failed(ActionProblem),
    /// It was not tried.
    Skipped {
        /// Why not.
        reason: String,
    },
}

/// What an action did to its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionChange {
    /// What was done.
    pub word: ChangeWord,
    /// The file; of one that was renamed where it was.
    pub path: RelPath,
    /// Where it is, if it was renamed.
    pub new_path: Option<RelPath>,
    /// The file before.
    pub before: Option<FileState>,
    /// The file after.
    pub after: Option<FileState>,
    /// What differs in it. No credential is in it.
    pub diff: DiffSummary,
}

impl ActionChange {
    /// Where the file is afterwards, where there is one.
    pub fn left_at(&self) -> &RelPath {
        self.new_path.as_ref().unwrap_or(&self.path)
    }

    /// Whether the file is another than before, or at another path.
    pub fn is_change(&self) -> bool {
        self.new_path.is_some() || self.before != self.after
    }
}

impl Rehearsal {
    /// Does all actions of a plan that can be done, in the order of the graph, on a transaction in which nothing was
    /// done yet. Of an action that fails nothing is left, but for a broken postcondition that does not roll it back (EX-12); those that depend on it are skipped, and where the plan is to
    /// stop all others are, too.
    pub fn on<D: Disk>(
        transaction: &mut Transaction<'_, D>,
        script: Script<'_>,
        watch: &mut dyn Watch,
    ) -> Self {
        let plan = script.plan;
        let mut stage = Stage {
            script,
            constraints: plan.constraints(script.config.constraints),
            deadline: later(watch.now(), script.config.timeouts.task),
            watch,
            ends: Vec::new(),
            stopped_by: None,
            broken_off: None,
        };
        let mut operations = stage.carry_out(transaction);
        let Stage { ends: actions, broken_off, .. } = stage;
        remove_emptied(transaction, &mut operations);
        let broken_rules = plan.instructions.validation_rules.iter().filter_map(|rule| {
            let problem = must_hold(transaction, rule).err()?;
            let problem = ActionProblem::new(ErrorCode::ValidationRuleFailed, problem);
            Some(ActionProblem { path: Some(rule.path.clone()), ..problem })
        });
        Self { actions, operations, broken_rules: broken_rules.collect(), broken_off }
    }

    /// What the soft constraints say is to become of it, as far as what is wrong leaves that to them (EX-18).
    pub fn verdict(&self, constraints: Constraints) -> Verdict {
        let failed = self.actions.iter().filter_map(|rehearsed| match &rehearsed.end {
            ActionEnd::Failed(problem) => Some(problem.code),
            ActionEnd::Completed { .. } | ActionEnd::Skipped { .. } => None,
        });
        let has_failed = failed.clone().next().is_some();
        let rolls_back = has_failed && constraints.stop_on_error && constraints.rollback_on_failure;
        let codes = failed.chain(self.broken_rules.iter().map(|problem| problem.code));
        let overrides = codes.map(ErrorCode::response).any(Response::overrides_constraints);
        match self.broken_off {
            Some(ErrorCode::Cancelled) => Verdict::Cancel,
            Some(_) => Verdict::TakeBack,
            None if overrides || rolls_back => Verdict::TakeBack,
            None => Verdict::Keep,
        }
    }
}

/// A directory that an action made for its file goes again where another has moved or removed that.
fn remove_emptied<D: Disk>(transaction: &mut Transaction<'_, D>, operations: &mut Vec<Operation>) {
    let changes = transaction.changes();
    let is_needed = |directory: &RelPath| {
        changes.iter().any(|it| it.kind.is_of_file() && it.path.starts_with(directory))
    };
    let made = changes.iter().filter(|it| it.kind == ChangeKind::DirectoryCreated);
    let emptied: Vec<_> = made.filter(|it| !is_needed(&it.path)).collect();
    // They are told from the top.
    for WorkspaceChange { path, .. } in emptied.into_iter().rev() {
        let operation = Operation::RemoveDirectory { path: path.clone() };
        if transaction.operate(&operation).is_ok() {
            operations.push(operation);
        }
    }
}

/// A plan while it is rehearsed.
struct Stage<'p> {
    script: Script<'p>,
    constraints: Constraints,
    /// When the whole task has to be done.
    deadline: Timestamp,
    watch: &'p mut dyn Watch,
    ends: Vec<Rehearsed>,
    /// The action after which no other is tried.
    stopped_by: Option<usize>,
    broken_off: Option<ErrorCode>,
}

impl Stage<'_> {
    /// Does the actions in their order; gives what those that succeeded did.
    fn carry_out<D: Disk>(&mut self, transaction: &mut Transaction<'_, D>) -> Vec<Operation> {
        let Script { plan, graph, .. } = self.script;
        let mut operations = Vec::new();
        for &index in graph.order() {
            let Some(action) = plan.actions.get(index) else { continue };
            let started = self.watch.now();
            self.break_off(started);
            let mut left = None;
            let end = match self.reason_to_skip(index) {
                Some(reason) => ActionEnd::Skipped { reason },
                None => {
                    self.watch.began(index);
                    match self.carry_out_one(transaction, action, started) {
                        Ok(Staged { operations: done, output, did, broken }) => {
                            operations.extend(done);
                            let did = Box::new(did);
                            match broken {
                                None => ActionEnd::Completed { output, did },
                                Some(problem) => {
                                    left = Some(did);
                                    ActionEnd::Failed(problem)
                                }
                            }
                        }
                        Err(problem) => ActionEnd::Failed(problem),
                    }
                }
            };
            if let ActionEnd::Failed(problem) = &end {
                let response = problem.code.response();
                // What is refused is looked for in the others, too.
                let goes_on = !response.overrides_constraints() || response.is_refusal();
                if self.constraints.stop_on_error || !goes_on {
                    self.stopped_by = Some(index);
                }
            }
            let completed = self.watch.now();
            let rehearsed = Rehearsed { action: index, started, completed, end, left };
            self.watch.ended(&rehearsed);
            self.ends.push(rehearsed);
        }
        self.break_off(self.watch.now());
        operations
    }

    /// Does one action, within its time. Of one that fails nothing is left, but for a broken postcondition that does not
    /// roll it back.
    fn carry_out_one<D: Disk>(
        &self,
        transaction: &mut Transaction<'_, D>,
        action: &Action,
        started: Timestamp,
    ) -> std::result::Result<Staged, ActionProblem> {
        let Script { config, .. } = self.script;
        let limit = config.timeout(action);
        transaction.attempt(|transaction| {
            let done =
                stage(transaction, action, (config.limits.file_bytes_max, self.constraints))?;
            match self.watch.now() > later(started, limit) {
                true => Err(too_late(limit)),
                false => Ok(done),
            }
        })
    }

    /// Looks whether the rest is not to be tried.
    fn break_off(&mut self, now: Timestamp) {
        if self.broken_off.is_none() {
            self.broken_off = match (self.watch.is_cancelled(), now > self.deadline) {
                (true, _) => Some(ErrorCode::Cancelled),
                (false, true) => Some(ErrorCode::TaskTimeout),
                (false, false) => None,
            };
        }
    }

    fn reason_to_skip(&self, index: usize) -> Option<String> {
        if let Some(code) = self.broken_off {
            return Some(code.about().to_owned());
        }
        let name = |index: usize| {
            self.script
                .plan
                .actions
                .get(index)
                .map(|action| action.id.to_string())
                .unwrap_or_default()
        };
        let is_done = |before: usize| {
            self.ends.iter().any(|rehearsed| {
                rehearsed.action == before && matches!(rehearsed.end, ActionEnd::Completed { .. })
            })
        };
        let failed = self.script.graph.waits_for(index).iter().find(|before| !is_done(**before));
        match (failed, self.stopped_by) {
            (Some(before), _) => Some(format!("Dependency failed: `{}`", name(*before))),
            (None, Some(by)) => Some(format!("Stopped after the action `{}` failed", name(by))),
            (None, None) => None,
        }
    }
}

pub(super) fn later(time: Timestamp, by: Duration) -> Timestamp {
    let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(time.micros().saturating_add(micros))
}

fn too_late(limit: Duration) -> ActionProblem {
    let message = format!("it took longer than the {} s that it may", limit.as_secs());
    ActionProblem::new(ErrorCode::ActionTimeout, message)
}

/// What an action did.
struct Staged {
    operations: Vec<Operation>,
    output: String,
    did: ActionChange,
    /// The postcondition that does not hold, where it does not roll the action back (EX-12).
    broken: Option<ActionProblem>,
}

/// Stages one action, and checks its conditions and those on content.
fn stage<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    action: &Action,
    (file_bytes_max, constraints): (u64, Constraints),
) -> std::result::Result<Staged, ActionProblem> {
    let before = File::at(transaction, &action.target, file_bytes_max)?;
    let operation = operation::of(action)?;
    for condition in &action.preconditions {
        must_hold(transaction, condition)
            .map_err(|what| ActionProblem::new(ErrorCode::PreconditionFailed, what))?;
    }
    must_be_there_so_often(transaction, action)?;
    for path in action.written() {
        transaction.may_change(path)?;
    }
    let state = before.as_ref().map(|file| &file.state);
    if let Some(state) = state.filter(|_| replaces(&action.work)) {
        check_writable(&action.target, state)?;
        transaction.may_replace(&action.target)?;
    }
    let is_shown = may_be_reported(&action.target, transaction.umask(), state.into_iter());
    transaction.operate(&operation).map_err(|error| match is_shown {
        true => ActionProblem::from(error),
        false => {
            ActionProblem::new(ActionProblem::code_of(&error.kind), error.kind.without_content())
        }
    })?;
    let mut operations = vec![operation];
    if !constraints.preserve_permissions && replaces(&action.work) {
        let umask = FileMode::new(0o666 & !transaction.umask());
        let (path, mode) = (action.target.clone(), ModeChange::Exact(umask));
        let operation = Operation::Chmod { path, mode };
        transaction.operate(&operation)?;
        operations.push(operation);
    }
    let word = word(&action.work);
    let new_path = match &action.work {
        Work::Rename { new_path } => Some(new_path.clone()),
        Work::Create { .. }
        | Work::Modify(_)
        | Work::Delete
        | Work::UpdateSchema(_)
        | Work::ExecuteSql(_)
        | Work::RunPipeline(_) => None,
    };
    let left = new_path.as_ref().unwrap_or(&action.target);
    let after = File::at(transaction, left, file_bytes_max)?;
    let old = before.as_ref().map(|file| &*file.content);
    let new = after.as_ref().map(|file| &*file.content);
    let checked = content::check(action, old, new)?;
    let mut postconditions = action.postconditions.iter();
    let broken = postconditions.try_for_each(|condition| must_hold(transaction, condition)).err();
    let is_restored = action.reversible && constraints.rollback_on_failure;
    let broken = match broken {
        Some(what) if is_restored => {
            return Err(ActionProblem::new(ErrorCode::PostconditionFailed, what));
        }
        Some(what) => {
            let what = format!("{what}; what the action did stays");
            Some(ActionProblem::new(ErrorCode::PostconditionFailed, what))
        }
        None => None,
    };
    let states = [&before, &after].into_iter().flatten().map(|file| &file.state);
    let is_shown = may_be_reported(&action.target, transaction.umask(), states);
    let everything = |content: &[u8]| std::iter::once(0..content.len()).collect();
    let did = ActionChange {
        word,
        path: action.target.clone(),
        diff: match is_shown {
            true => DiffSummary::of(old, new, &credential::spans),
            false => DiffSummary::of(old, new, &everything),
        },
        new_path,
        before: before.map(|file| file.state),
        after: after.map(|file| file.state),
    };
    Ok(Staged { operations, output: output(action) + &checked.note(), did, broken })
}

/// Tests whether an action replaces the content of an existing file.
fn replaces(work: &Work) -> bool {
    match work {
        Work::Modify(_) | Work::UpdateSchema(_) => true,
        Work::Create { .. }
        | Work::Delete
        | Work::Rename { .. }
        | Work::ExecuteSql(_)
        | Work::RunPipeline(_) => false,
    }
}

/// Refuses to edit a file that nobody has write permission for (8.3). A file is replaced as a whole, which its mode does not
/// prevent.
fn check_writable(path: &RelPath, state: &FileState) -> std::result::Result<(), ActionProblem> {
    if state.mode.bits() & WRITE_BITS != 0 {
        return Ok(());
    }
    let message = format!("`{path}` is read-only (mode {:04o})", state.mode.bits());
    Err(ActionProblem::new(ErrorCode::PermissionDenied, message))
}

/// Whether the change log, which every user may read that the umask lets, may show lines of a file: not those of a usual
/// place of credentials, and not those of a file that fewer users may read (EX-20).
fn may_be_reported<'s>(
    path: &RelPath,
    umask: u32,
    mut states: impl Iterator<Item = &'s FileState>,
) -> bool {
    let readers = FileMode::REGULAR.bits() & !umask & 0o444;
    !credential::is_usual_place(path.as_bytes())
        && states.all(|state| readers & !state.mode.bits() == 0)
}

/// A file while a plan is rehearsed.
struct File {
    state: FileState,
    content: Vec<u8>,
}

impl File {
    /// The file at a path, where there is one. What is no file is for the action to find out.
    fn at<D: Disk>(
        transaction: &mut Transaction<'_, D>,
        path: &RelPath,
        bytes_max: u64,
    ) -> std::result::Result<Option<Self>, ActionProblem> {
        let is_none = |error: &actum_workspace::Error| {
            matches!(
                error.kind,
                ErrorKind::Missing { .. }
                    | ErrorKind::NotAFile { .. }
                    | ErrorKind::UnderAFile { .. }
            )
        };
        let state = match transaction.file_state(path) {
            Err(error) if is_none(&error) => return Ok(None),
            state => state?,
        };
        if state.size > bytes_max {
            let message = format!("`{path}` has {} bytes, and {bytes_max} are allowed", state.size);
            return Err(ActionProblem::new(ErrorCode::FileTooLarge, message));
        }
        Ok(Some(Self { state, content: transaction.read(path)? }))
    }
}

/// What an action does to its file, in the word of the change log (EX-15).
fn word(work: &Work) -> ChangeWord {
    match work {
        Work::Create { .. } => ChangeWord::Create,
        Work::Modify(_) | Work::UpdateSchema(_) => ChangeWord::Modify,
        Work::Delete => ChangeWord::Delete,
        Work::Rename { .. } => ChangeWord::Rename,
        // Not available in this build.
        Work::ExecuteSql(_) | Work::RunPipeline(_) => ChangeWord::Modify,
    }
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
    let unknown = |why: String| format!("whether {condition} is not known: {why}");
    let state = match transaction.file_state(path) {
        Ok(state) => Some(state),
        Err(error) if matches!(error.kind, ErrorKind::Missing { .. }) => None,
        Err(error) => return Err(unknown(error.kind.to_string())),
    };
    let mut has = |text: &String, size: u64| {
        if size > CONTENT_BYTES_MAX {
            return Err(unknown(format!("`{path}` has {size} bytes, and that is too much")));
        }
        let content = transaction.read(path).map_err(|error| unknown(error.kind.to_string()))?;
        Ok(memchr::memmem::find(&content, text.as_bytes()).is_some())
    };
    let holds = match (check, &state) {
        (Check::Exists, state) => state.is_some(),
        (Check::Absent, state) => state.is_none(),
        (Check::Sha256(wanted), Some(state)) => state.sha256 == *wanted,
        (Check::Contains(text), Some(state)) => has(text, state.size)?,
        (Check::Lacks(text), Some(state)) => !has(text, state.size)?,
        (Check::Sha256(_) | Check::Contains(_) | Check::Lacks(_), None) => false,
    };
    match holds {
        true => Ok(()),
        false => Err(format!("it does not hold that {condition}")),
    }
}

/// What an action did, as the report tells it.
fn output(action: &Action) -> String {
    use actum_task::{SchemaChange, StructureEdit};
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
        StructureEdit::YamlRemove { path, .. } => {
            format!("Value at '{}' removed successfully", path.as_str())
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
