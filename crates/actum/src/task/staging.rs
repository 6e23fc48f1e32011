//! Stages a single action in a transaction and checks its conditions (EX-3, EX-12, EX-20).

use actum_core::{FileMode, FileState, RelPath};
use actum_edit::Operation;
use actum_edit::operation::ModeChange;
use actum_gate::credential;
use actum_task::report::{ChangeWord, DiffSummary};
use actum_task::{Action, Change, Check, Condition, Constraints, ErrorCode, Work};
use actum_workspace::disk::Disk;
use actum_workspace::{ErrorKind, Transaction};

use super::allowance::Allowance;
use super::pipeline::PipelineRan;
use super::problem::ActionProblem;
use super::rehearsal::ActionChange;
use super::sql::SqlRan;
use super::{content, operation};

/// Maximum size of a file that a condition searches for text, in bytes.
const CONTENT_BYTES_MAX: u64 = actum_task::limits::FILE_BYTES_MAX;

/// Maximum size of a pipeline output whose lines are shown in the change log, in bytes.
const SHOWN_BYTES_MAX: u64 = 4 << 20;

/// Mode bits that grant write permission to the owner, the group or others.
const WRITE_BITS: u32 = 0o222;

/// Action that was staged in the transaction, with its results.
pub(super) struct Staged {
    pub(super) operations: Vec<Operation>,
    pub(super) output: String,
    pub(super) did: Vec<ActionChange>,
    /// Result of the SQL step, if the action is one.
    pub(super) sql: Option<Box<SqlRan>>,
    /// Result of the pipeline whose effects became the operations, if the action runs one.
    pub(super) pipeline: Option<Box<PipelineRan>>,
    /// Postcondition that is not met, although the action is not rolled back because of it (EX-12).
    pub(super) broken: Option<ActionProblem>,
}

impl Staged {
    /// Creates the result of an action whose postconditions have not been checked yet.
    pub(super) fn new(operations: Vec<Operation>, output: String, did: Vec<ActionChange>) -> Self {
        Self { operations, output, did, sql: None, pipeline: None, broken: None }
    }
}

/// Stages an action and checks its conditions and the content rules. Between phases, stops with an error if the
/// action's time limit has passed.
pub(super) fn stage<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    action: &Action,
    (file_bytes_max, constraints): (u64, Constraints),
    allowance: &Allowance<'_>,
) -> std::result::Result<Staged, ActionProblem> {
    let before = File::at(transaction, &action.target, file_bytes_max, allowance)?;
    let operation = operation::from_action(action)?;
    check_preconditions(transaction, action, allowance)?;
    check_match_count(transaction, action)?;
    for path in action.written() {
        transaction.may_change(path)?;
    }
    let state = before.as_ref().map(|file| &file.state);
    if let Some(state) = state.filter(|_| replaces(&action.work)) {
        check_writable(&action.target, state)?;
        transaction.may_replace(&action.target)?;
    }
    let is_shown = may_be_reported(&action.target, transaction.umask(), state.into_iter());
    allowance.check()?;
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
    let after = File::at(transaction, left, file_bytes_max, allowance)?;
    let old = before.as_ref().map(|file| &*file.content);
    let new = after.as_ref().map(|file| &*file.content);
    let checked = content::check(action, old, new)?;
    let broken = broken_postcondition(transaction, action, constraints, allowance)?;
    let states = [&before, &after].into_iter().flatten().map(|file| &file.state);
    let is_shown = may_be_reported(&action.target, transaction.umask(), states);
    let everything = |content: &[u8]| std::iter::once(0..content.len()).collect();
    allowance.check()?;
    let did = ActionChange {
        word,
        path: action.target.clone(),
        diff: match is_shown {
            true => DiffSummary::new(old, new, &credential::spans),
            false => DiffSummary::new(old, new, &everything),
        },
        new_path,
        before: before.map(|file| file.state),
        after: after.map(|file| file.state),
    };
    allowance.check()?;
    let staged = Staged::new(operations, output(action) + &checked.note(), vec![did]);
    Ok(Staged { broken, ..staged })
}

/// Checks all preconditions of an action. Returns an error that describes the first one that is not met.
pub(super) fn check_preconditions<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    action: &Action,
    allowance: &Allowance<'_>,
) -> std::result::Result<(), ActionProblem> {
    let broken = first_broken(transaction, &action.preconditions, allowance)?;
    match broken {
        Some(what) => Err(ActionProblem::new(ErrorCode::PreconditionFailed, what)),
        None => Ok(()),
    }
}

/// Describes the first condition that is not met, if any.
fn first_broken<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    conditions: &[Condition],
    allowance: &Allowance<'_>,
) -> std::result::Result<Option<String>, ActionProblem> {
    for condition in conditions {
        if let Some(what) = broken(transaction, condition, allowance)? {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

/// Finds a postcondition that is not met. Returns it as an error if the action has to be rolled back because of it.
pub(super) fn broken_postcondition<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    action: &Action,
    constraints: Constraints,
    allowance: &Allowance<'_>,
) -> std::result::Result<Option<ActionProblem>, ActionProblem> {
    let Some(what) = first_broken(transaction, &action.postconditions, allowance)? else {
        return Ok(None);
    };
    let problem = |what| ActionProblem::new(ErrorCode::PostconditionFailed, what);
    match action.reversible && constraints.rollback_on_failure {
        true => Err(problem(what)),
        false => Ok(Some(problem(format!("{what}; the changes of the action are kept")))),
    }
}

/// Checks whether an action replaces the content of an existing file.
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

/// Returns an error if a file has no write permission at all (8.3). The file mode itself would not stop the edit,
/// because edits replace the file instead of writing to it.
pub(super) fn check_writable(
    path: &RelPath,
    state: &FileState,
) -> std::result::Result<(), ActionProblem> {
    if state.mode.bits() & WRITE_BITS != 0 {
        return Ok(());
    }
    let message = format!("`{path}` is read-only (mode {:04o})", state.mode.bits());
    Err(ActionProblem::new(ErrorCode::PermissionDenied, message))
}

/// Checks whether the change log may quote lines of a file. Users that the umask permits can all read the log, so
/// it leaves out files with fewer readers and files in well-known locations for credentials (EX-20).
fn may_be_reported<'s>(
    path: &RelPath,
    umask: u32,
    mut states: impl Iterator<Item = &'s FileState>,
) -> bool {
    let readers = FileMode::REGULAR.bits() & !umask & 0o444;
    !credential::is_usual_place(path.as_bytes())
        && states.all(|state| readers & !state.mode.bits() == 0)
}

/// State of a file before the commands of an action ran.
pub(super) struct FileBefore {
    state: Option<FileState>,
    /// Content of the file, or `None` if the file is missing or too large to show.
    content: Option<Vec<u8>>,
}

impl FileBefore {
    /// Reads the state of the file at `path`, and its content unless it is too large.
    pub(super) fn read<D: Disk>(
        transaction: &mut Transaction<'_, D>,
        path: &RelPath,
    ) -> std::result::Result<Self, ActionProblem> {
        let state = state_at(transaction.file_state(path))?;
        let is_read = state.is_some_and(|state| state.size <= SHOWN_BYTES_MAX);
        let content = is_read.then(|| transaction.read(path)).transpose()?;
        Ok(Self { state, content })
    }

    /// Compares the earlier state with the current state of the file.
    pub(super) fn change<D: Disk>(
        self,
        transaction: &mut Transaction<'_, D>,
        path: &RelPath,
    ) -> std::result::Result<ActionChange, ActionProblem> {
        let after = Self::read(transaction, path)?;
        let states = self.state.iter().chain(&after.state);
        let is_whole =
            [&self, &after].iter().all(|file| file.state.is_some() == file.content.is_some());
        let (old, new) = (self.content.as_deref(), after.content.as_deref());
        let everything = |content: &[u8]| std::iter::once(0..content.len()).collect();
        let diff = match (is_whole, may_be_reported(path, transaction.umask(), states)) {
            (true, true) => DiffSummary::new(old, new, &credential::spans),
            (true, false) => DiffSummary::new(old, new, &everything),
            (false, _) => DiffSummary::new(None, None, &everything),
        };
        let word = match (&self.state, &after.state) {
            (None, _) => ChangeWord::Create,
            (Some(_), None) => ChangeWord::Delete,
            (Some(_), Some(_)) => ChangeWord::Modify,
        };
        let (path, before, after) = (path.clone(), self.state, after.state);
        Ok(ActionChange { word, path, new_path: None, before, after, diff })
    }
}

/// State and content of a file during a rehearsal.
struct File {
    state: FileState,
    content: Vec<u8>,
}

impl File {
    /// Reads the file at `path`. Returns `None` if it is missing or not a regular file; the action itself reports that
    /// error.
    fn at<D: Disk>(
        transaction: &mut Transaction<'_, D>,
        path: &RelPath,
        bytes_max: u64,
        allowance: &Allowance<'_>,
    ) -> std::result::Result<Option<Self>, ActionProblem> {
        let found = allowance.file_state(transaction, path)?;
        let Some(state) = state_at(found)? else { return Ok(None) };
        if state.size > bytes_max {
            let message =
                format!("`{path}` has {} bytes, but the limit is {bytes_max}", state.size);
            return Err(ActionProblem::new(ErrorCode::FileTooLarge, message));
        }
        Ok(Some(Self { state, content: transaction.read(path)? }))
    }
}

/// Returns the state of a file, or `None` if the path does not lead to a regular file.
fn state_at(
    found: actum_workspace::Result<FileState>,
) -> std::result::Result<Option<FileState>, ActionProblem> {
    let is_none = |error: &actum_workspace::Error| {
        matches!(
            error.kind,
            ErrorKind::Missing { .. } | ErrorKind::NotAFile { .. } | ErrorKind::UnderAFile { .. }
        )
    };
    match found {
        Err(error) if is_none(&error) => Ok(None),
        state => Ok(Some(state?)),
    }
}

/// Returns the kind of change that the change log lists for an action (EX-15).
fn word(work: &Work) -> ChangeWord {
    match work {
        Work::Create { .. } => ChangeWord::Create,
        Work::Modify(_) | Work::UpdateSchema(_) => ChangeWord::Modify,
        Work::Delete => ChangeWord::Delete,
        Work::Rename { .. } => ChangeWord::Rename,
        // SQL steps and pipelines run in separate processes, which report their own changes.
        Work::ExecuteSql(_) | Work::RunPipeline(_) => ChangeWord::Modify,
    }
}

/// Checks that the pattern of a text replacement occurs exactly as often as the plan states (EX-10).
fn check_match_count<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    action: &Action,
) -> std::result::Result<(), ActionProblem> {
    let Work::Modify(Change::ReplaceText { pattern, count, .. }) = &action.work else {
        return Ok(());
    };
    if *count == 1 {
        // For a single occurrence, the edit itself performs this check and reports the positions.
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
                "the pattern occurs {found} times in `{target}`, but {count} were expected"
            );
            Err(ActionProblem::new(code, message))
        }
    }
}

/// Describes why a condition is not met or cannot be checked. Returns `None` if it is met.
///
/// # Errors
/// Same as [`Allowance::check`].
pub(super) fn broken<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    condition: &Condition,
    allowance: &Allowance<'_>,
) -> std::result::Result<Option<String>, ActionProblem> {
    let found = allowance.file_state(transaction, &condition.path)?;
    Ok(check_condition(transaction, condition, found).err())
}

fn check_condition<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    condition: &Condition,
    found: actum_workspace::Result<FileState>,
) -> std::result::Result<(), String> {
    let Condition { path, check } = condition;
    let unknown = |why: String| format!("cannot check whether {condition}: {why}");
    let state = match found {
        Ok(state) => Some(state),
        Err(error) if matches!(error.kind, ErrorKind::Missing { .. }) => None,
        Err(error) => return Err(unknown(error.kind.to_string())),
    };
    let mut has = |text: &String, size: u64| {
        if size > CONTENT_BYTES_MAX {
            return Err(unknown(format!("`{path}` is too large to search ({size} bytes)")));
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
        false => Err(format!("the condition is not met: {condition}")),
    }
}

/// Returns the output text of an action for the execution report.
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
