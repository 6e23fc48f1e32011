//! Parses the input of core actions into tasks that the engine can carry out.

use std::collections::BTreeMap;

use actum_action::PlanEnvelope;
use actum_core::path::Harmless;
use actum_core::{CoreAction, Digest, RelPath};
use actum_edit::edit::{Edit, Occurrences, Replacement};
use actum_edit::format::{Format, HunkCounts, Reading, RootPrefix, parse};
use actum_edit::{EmptyParents, ModeChange, Operation};
use actum_gate::CommandLine;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::action_error::ActionError;
use super::package;
use crate::command::Accepted;
use crate::plugin::Package;
use crate::reason::{self, Reason};
use crate::request::{Which, Work};

/// Work that an action has to do.
#[derive(Debug)]
pub(super) enum Task {
    /// Make a change that is fully determined by the input.
    Work(Work),
    /// Run a command and capture its changes.
    Command { line: CommandLine, accepted: Accepted },
    /// Run commands that only inspect the workspace, and drop all their changes.
    Diagnosis(Vec<CommandLine>),
    /// Run the code of a package and capture its changes.
    Package(Box<Package>),
}

/// Task of an action and its repair command, parsed from the input.
#[derive(Debug)]
pub(super) struct Intake {
    pub(super) task: Task,
    /// Command that tries to repair the change if a check fails.
    pub(super) repair: Option<CommandLine>,
}

impl Task {
    /// Returns the commands that the action itself runs, not counting checks and repair.
    pub(super) fn commands(&self) -> Result<Vec<CommandLine>, ActionError> {
        Ok(match self {
            Self::Work(_) => Vec::new(),
            Self::Package(package) => vec![package::line(package)?],
            Self::Command { line, .. } => vec![line.clone()],
            Self::Diagnosis(lines) => lines.clone(),
        })
    }

    /// Returns the check commands of the action itself, which run in addition to those of the plan.
    pub(super) fn checks(&self) -> &[CommandLine] {
        match self {
            Self::Package(package) => &package.checks,
            Self::Work(_) | Self::Command { .. } | Self::Diagnosis(_) => &[],
        }
    }

    /// Returns whether a command or package must run before the change is known.
    pub(super) fn runs_something(&self) -> bool {
        match self {
            Self::Work(_) => false,
            Self::Command { .. } | Self::Diagnosis(_) | Self::Package(_) => true,
        }
    }

    /// Returns whether actum can check the result without a check command.
    pub(super) fn has_built_in_check(&self) -> bool {
        match self {
            Self::Work(_) | Self::Package(_) => true,
            Self::Command { .. } | Self::Diagnosis(_) => false,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ApplyChangeset {
    document: String,
    format: Option<String>,
    recount: Option<bool>,
    repair: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FileCreate {
    path: String,
    content: Option<String>,
    content_base64: Option<String>,
    executable: Option<bool>,
    repair: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FileModify {
    path: String,
    content: Option<String>,
    content_base64: Option<String>,
    edits: Option<Vec<TextEdit>>,
    executable: Option<bool>,
    expected_sha256: Option<String>,
    repair: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TextEdit {
    find: String,
    replace: String,
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FileDelete {
    path: String,
    expected_sha256: Option<String>,
    repair: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FromTo {
    from: String,
    to: String,
    repair: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunCommand {
    command: Option<String>,
    argv: Option<Vec<String>>,
    #[serde(default)]
    accept_exit_codes: Vec<u8>,
    repair: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DiagnoseError {
    #[serde(default)]
    commands: Vec<String>,
    /// Error message that the planner saw. The engine ignores it, but it is part of the recorded plan.
    #[serde(rename = "error")]
    _error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UndoRun {
    run: String,
}

/// Parses the input of a core action, which must already match the action's schema. Returns `None` if the action is not
/// a core action. Absolute paths below `root` are accepted in change documents.
pub(super) fn intake(
    plan: &PlanEnvelope,
    root: &RootPrefix,
) -> Result<Option<Intake>, ActionError> {
    let Some(action) = plan.action_type.core() else { return Ok(None) };
    let (work, repair) = match action {
        CoreAction::ApplyChangeset => {
            let ApplyChangeset { document, format, recount, repair } = read(plan)?;
            let counts = match recount {
                Some(true) => HunkCounts::Counted,
                Some(false) | None => HunkCounts::Stated,
            };
            let reading = Reading { counts, root: root.clone(), ..Reading::default() };
            (Work::Apply(change_set(&document, format.as_deref(), reading)?), repair)
        }
        CoreAction::FileCreate => {
            let FileCreate { path, content, content_base64, executable, repair } = read(plan)?;
            let content = bytes(content, content_base64)?.unwrap_or_default();
            let mode = executable.map(ModeChange::Executable);
            let path = rel_path("path", &path)?;
            (Work::Apply(vec![Operation::Create { path, content, mode }]), repair)
        }
        CoreAction::FileModify => {
            let modify: FileModify = read(plan)?;
            let repair = modify.repair.clone();
            (Work::Apply(modify.operations()?), repair)
        }
        CoreAction::FileDelete => {
            let FileDelete { path, expected_sha256, repair } = read(plan)?;
            let (path, expected) = (rel_path("path", &path)?, digest(expected_sha256)?);
            let parents = EmptyParents::Remove;
            (Work::Apply(vec![Operation::Delete { path, expected, parents }]), repair)
        }
        CoreAction::FileRename => {
            let FromTo { from, to, repair } = read(plan)?;
            let (from, to) = (rel_path("from", &from)?, rel_path("to", &to)?);
            let parents = EmptyParents::Remove;
            (Work::Apply(vec![Operation::Rename { from, to, parents }]), repair)
        }
        CoreAction::FileCopy => {
            let FromTo { from, to, repair } = read(plan)?;
            let (from, to) = (rel_path("from", &from)?, rel_path("to", &to)?);
            (Work::Apply(vec![Operation::Copy { from, to }]), repair)
        }
        CoreAction::UndoRun => {
            let UndoRun { run } = read(plan)?;
            (Work::Undo(which(&run)?), None)
        }
        CoreAction::RunCommand => {
            let RunCommand { command, argv, accept_exit_codes, repair } = read(plan)?;
            let line = match (command, argv) {
                (Some(text), None) => command_line("input.command", &text)?,
                (None, Some(argv)) => CommandLine::new(argv)
                    .map_err(|error| ActionError::unusable_command("input.argv", &error))?,
                (Some(_), Some(_)) | (None, None) => {
                    return Err(ActionError::input("expected exactly one of `command` and `argv`"));
                }
            };
            let accepted = accept_exit_codes.into_iter().map(i32::from).collect();
            return intake_of(Task::Command { line, accepted }, repair);
        }
        CoreAction::DiagnoseError => {
            let DiagnoseError { commands, _error: _ } = read(plan)?;
            let lines = commands.iter().enumerate();
            let lines =
                lines.map(|(index, text)| command_line(&format!("input.commands[{index}]"), text));
            return intake_of(Task::Diagnosis(lines.collect::<Result<_, _>>()?), None);
        }
    };
    intake_of(Task::Work(work), repair)
}

fn intake_of(task: Task, repair: Option<String>) -> Result<Option<Intake>, ActionError> {
    let repair = repair.map(|text| command_line("input.repair", &text)).transpose()?;
    Ok(Some(Intake { task, repair }))
}

fn read<T: DeserializeOwned>(plan: &PlanEnvelope) -> Result<T, ActionError> {
    let value = Value::Object(plan.input.clone());
    serde_json::from_value(value).map_err(ActionError::input)
}

/// Parses a command line from text, as a user would type it. `place` names the text in error messages.
pub(super) fn command_line(place: &str, text: &str) -> Result<CommandLine, ActionError> {
    CommandLine::parse(text).map_err(|error| ActionError::unusable_command(place, &error))
}

fn rel_path(name: &str, text: &str) -> Result<RelPath, ActionError> {
    RelPath::new(text).map_err(|error| {
        ActionError::rejected(
            Reason::PathRefused,
            format!("invalid path in `input.{name}`: {error}"),
        )
    })
}

fn digest(text: Option<String>) -> Result<Option<Digest>, ActionError> {
    let read = text.map(|text| text.parse::<Digest>()).transpose();
    read.map_err(|error| ActionError::input(format!("invalid `input.expectedSha256`: {error}")))
}

fn bytes(text: Option<String>, base64: Option<String>) -> Result<Option<Vec<u8>>, ActionError> {
    match (text, base64) {
        (Some(text), None) => Ok(Some(text.into_bytes())),
        (None, Some(base64)) => STANDARD.decode(base64).map(Some).map_err(|error| {
            ActionError::input(format!("`input.contentBase64` is not valid base64: {error}"))
        }),
        (None, None) => Ok(None),
        (Some(_), Some(_)) => {
            Err(ActionError::input("expected `content` or `contentBase64`, but found both"))
        }
    }
}

fn which(run: &str) -> Result<Which, ActionError> {
    if run == "newest" {
        return Ok(Which::Newest);
    }
    let read = run.parse().map(Which::Run);
    read.map_err(|error| {
        ActionError::input(format!("`input.run` is neither `newest` nor a run id: {error}"))
    })
}

fn change_set(
    document: &str,
    format: Option<&str>,
    reading: Reading,
) -> Result<Vec<Operation>, ActionError> {
    let format = match format {
        None => None,
        Some(name) => Some(Format::named(name).ok_or_else(|| {
            let given = Harmless(name.as_bytes());
            let names = Format::ALL.map(Format::name).join("`, `");
            ActionError::input(format!(
                "unknown format `{given}` in `input.format`, expected one of `{names}`"
            ))
        })?),
    };
    let reading = Reading { format, ..reading };
    parse(document.as_bytes(), &reading).map_err(|error| {
        let reason = reason::of_input(&error.problem);
        ActionError::rejected(reason, format!("cannot parse `input.document`: {error}"))
    })
}

impl FileModify {
    fn operations(self) -> Result<Vec<Operation>, ActionError> {
        let path = rel_path("path", &self.path)?;
        let mut expected = digest(self.expected_sha256)?;
        let mut operations = Vec::new();
        match (bytes(self.content, self.content_base64)?, self.edits) {
            (Some(content), None) => {
                let (path, expected) = (path.clone(), expected.take());
                operations.push(Operation::Write { path, content, expected });
            }
            (None, Some(edits)) => {
                for TextEdit { find, replace, all } in edits {
                    let occurrences = if all { Occurrences::All } else { Occurrences::One };
                    let (old, new) = (find.into_bytes(), replace.into_bytes());
                    let edit = Edit::Replace(Replacement { old, new, occurrences });
                    // Only the first edit has the expected digest, because later edits apply to its result.
                    let (path, expected) = (path.clone(), expected.take());
                    operations.push(Operation::Edit { path, edit, expected });
                }
            }
            (None, None) if self.executable.is_some() => {}
            (Some(_), Some(_)) | (None, None) => {
                return Err(ActionError::input(
                    "expected exactly one of `content`, `contentBase64` and `edits`, or only `executable`",
                ));
            }
        }
        if let Some(executable) = self.executable {
            operations.push(Operation::Chmod { path, mode: ModeChange::Executable(executable) });
        }
        Ok(operations)
    }
}

/// State that a path must have after the operations, as far as they determine it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The path must exist with content of this digest.
    Content(Digest),
    /// The path must exist, with any content.
    Something,
    /// The path must not exist.
    Nothing,
}

/// Returns the state that each path must have after the operations. If several operations name a path, the last one
/// determines its state.
pub(super) fn wanted(operations: &[Operation]) -> BTreeMap<RelPath, Wanted> {
    let mut wanted = BTreeMap::new();
    for operation in operations {
        match operation {
            Operation::Create { path, content, .. }
            | Operation::Write { path, content, .. }
            | Operation::Link { path, target: content, .. } => {
                wanted.insert(path.clone(), Wanted::Content(Digest::of(content)));
            }
            Operation::Take { path, sha256, .. } => {
                wanted.insert(path.clone(), Wanted::Content(*sha256));
            }
            Operation::Delete { path, .. } | Operation::RemoveDirectory { path } => {
                wanted.insert(path.clone(), Wanted::Nothing);
            }
            Operation::Rename { from, to, .. } => {
                let moved = wanted.insert(from.clone(), Wanted::Nothing);
                wanted.insert(to.clone(), moved.unwrap_or(Wanted::Something));
            }
            Operation::Copy { from, to } => {
                let copied = wanted.get(from).cloned();
                wanted.insert(to.clone(), copied.unwrap_or(Wanted::Something));
            }
            Operation::Patch { path, .. }
            | Operation::Edit { path, .. }
            | Operation::MakeDirectory { path, .. } => {
                wanted.insert(path.clone(), Wanted::Something);
            }
            Operation::Chmod { path, .. } | Operation::ChmodDirectory { path, .. } => {
                wanted.entry(path.clone()).or_insert(Wanted::Something);
            }
        }
    }
    wanted
}
