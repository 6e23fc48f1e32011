//! Answers of tools. Each answer has a structured form for programs, and a text form for clients that only show text.

use actum_api::apply::Apply;
use actum_api::change::Change;
use actum_api::error::{Error, Refusal};
use actum_api::path::WorkspacePath;
use actum_core::{Digest, RiskTier, RunId, Status};
use actum_record::receipt::PathEffect;
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::{Map, Value};

/// Maximum number of characters of a diff or of command output in an answer. The middle of a longer text is omitted.
const TEXT_CHARS_MAX: usize = 20_000;

/// Answer to a tool call, in structured form and as text.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    structured: Value,
    text: String,
    is_error: bool,
}

/// Result of a call that changes files, or of its dry run.
#[derive(Debug, Clone, Serialize)]
pub struct Changed {
    /// Status of the request.
    pub status: Status,
    /// Run that made the change, or `None` for a dry run and if there was nothing to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Run that is undone by this change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<RunId>,
    /// Whether this is the result of a dry run, which changes nothing.
    #[serde(skip_serializing_if = "is_false")]
    pub dry_run: bool,
    /// Whether the run was already made by an earlier call with the same id.
    #[serde(skip_serializing_if = "is_false")]
    pub done_before: bool,
    /// Risk tier that the gates determined for the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<RiskTier>,
    /// Reason why the change needs approval. Only set for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_approval: Option<String>,
    /// Paths that were changed or would be changed.
    pub changes: Vec<ChangedPath>,
}

/// Path that a call or run changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangedPath {
    /// Path of the file. For a renamed file, this is the new path.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Previous path of a renamed file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<WorkspacePath>,
    /// Kind of the change, such as `modified`.
    pub kind: String,
    /// SHA-256 of the file content after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
}

/// Answer to a request that was refused, failed, or needs an approval.
#[derive(Debug, Clone, Serialize)]
pub struct Refused {
    /// Status of the request.
    pub status: Status,
    /// Reason code, which never changes its meaning.
    pub reason: String,
    /// Error message, which also states whether files were changed.
    pub message: String,
    /// Hints that the agent can follow.
    pub hints: Vec<String>,
    /// Plan that was queued for approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<RunId>,
    /// Additional reasons for refusing the same change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Refusal>,
    /// Current lines of files that changed after the client last read them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub current: Vec<Excerpt>,
}

/// Range of lines from a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Excerpt {
    /// Path of the file.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// SHA-256 of the entire file, or `None` if the file no longer exists.
    pub sha256: Option<Digest>,
    /// Line number of the first line in `text`, counted from 1.
    pub first_line: usize,
    /// Number of lines in the entire file.
    pub lines: usize,
    /// Content of the lines.
    pub text: String,
}

/// Result of reading a file.
#[derive(Debug, Clone, Serialize)]
pub struct FileRead {
    /// Lines that were read.
    #[serde(flatten)]
    pub excerpt: Excerpt,
}

/// Result of running a command.
#[derive(Debug, Clone, Serialize)]
pub struct Executed {
    /// Status of the request.
    pub status: Status,
    /// Description of how the command ended, such as `exit code 1`.
    pub ended: String,
    /// Standard output of the command.
    pub stdout: String,
    /// Standard error output of the command.
    pub stderr: String,
    /// Number of changes that were discarded because the command failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_changes: Option<u64>,
    /// Changes of the command that were kept, or would be kept after a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Changed>,
    /// Error because of which no changes were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Refused>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Answer {
    /// Creates the answer to a successful call from its structured form and its text.
    pub fn done(structured: &impl Serialize, text: String) -> Self {
        Self { structured: object(structured), text, is_error: false }
    }

    /// Creates the answer to a call with invalid arguments.
    pub(crate) fn usage(tool: &str, problem: &str) -> Self {
        Refused {
            status: Status::Rejected,
            reason: "USAGE".to_owned(),
            message: format!("invalid arguments for `{tool}`: {problem}; nothing was changed"),
            hints: vec!["call the tool again with arguments that match its schema".to_owned()],
            plan: None,
            also: Vec::new(),
            current: Vec::new(),
        }
        .into()
    }

    /// Creates the answer to a call that panicked.
    pub(crate) fn defect(tool: &str) -> Self {
        Refused {
            status: Status::Failed,
            reason: "SYSTEM_ERROR".to_owned(),
            message: format!("`{tool}` failed because of a bug in actum"),
            hints: vec!["call `status` to check for unfinished runs".to_owned()],
            plan: None,
            also: Vec::new(),
            current: Vec::new(),
        }
        .into()
    }

    /// Creates the answer to a call that was cancelled before it started.
    pub(crate) fn cancelled(tool: &str) -> Self {
        Refused {
            status: Status::Rejected,
            reason: "INTERRUPTED".to_owned(),
            message: format!("`{tool}` was cancelled before it started; nothing was changed"),
            hints: vec!["call the tool again if its result is still needed".to_owned()],
            plan: None,
            also: Vec::new(),
            current: Vec::new(),
        }
        .into()
    }

    pub(crate) fn into_result(self) -> CallToolResult {
        let content = vec![ContentBlock::text(self.text)];
        let mut result = match self.is_error {
            true => CallToolResult::error(content),
            false => CallToolResult::success(content),
        };
        result.structured_content = Some(self.structured);
        result
    }
}

/// Converts a value to JSON. If that fails, the structured form is an empty object, and only the text contains the answer.
fn object(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_else(|_| Value::Object(Map::new()))
}

impl From<&PathEffect> for ChangedPath {
    fn from(effect: &PathEffect) -> Self {
        Self {
            path: (&effect.path.0).into(),
            from: effect.from.as_ref().map(|from| (&from.0).into()),
            kind: effect.effect.as_str().to_owned(),
            sha256: effect.after.as_ref().map(|state| state.sha256),
            added: effect.added,
            removed: effect.removed,
        }
    }
}

impl From<&Change> for ChangedPath {
    fn from(change: &Change) -> Self {
        Self {
            path: change.path.clone(),
            from: change.renamed_from.clone(),
            kind: change.kind.as_str().to_owned(),
            sha256: None,
            added: change.added,
            removed: change.removed,
        }
    }
}

impl From<&Apply> for Changed {
    fn from(Apply { outcome, effect }: &Apply) -> Self {
        Self {
            status: outcome.status,
            run: outcome.run,
            undoes: None,
            dry_run: outcome.dry_run,
            done_before: outcome.done_before,
            tier: effect.tier,
            needs_approval: effect.needs_approval.clone(),
            changes: effect.changes.changes.iter().map(Into::into).collect(),
        }
    }
}

impl From<Changed> for Answer {
    fn from(changed: Changed) -> Self {
        Self::done(&changed, changed.text())
    }
}

impl Changed {
    fn text(&self) -> String {
        let mut text = String::new();
        let line = match (self.run, self.dry_run, self.done_before) {
            (Some(run), _, true) => format!("already done by run {run}; nothing was changed"),
            (Some(run), _, false) => match self.undoes {
                Some(undone) => format!("run {run}: undid {undone}"),
                None => format!("run {run}; call `undo` to reverse it"),
            },
            (None, true, _) => "dry run; nothing was changed".to_owned(),
            (None, false, _) => "nothing to change; no run was created".to_owned(),
        };
        push(&mut text, &line);
        if let Some(ground) = &self.needs_approval {
            push(&mut text, &format!("the change needs approval: {ground}"));
        }
        for change in &self.changes {
            push(&mut text, &change.text());
        }
        text
    }
}

impl ChangedPath {
    fn text(&self) -> String {
        let Self { path, from, kind, sha256, added, removed } = self;
        let from = from.as_ref().map(|from| format!("{from} -> ")).unwrap_or_default();
        let sha256 = sha256.map(|digest| format!("  sha256 {digest}")).unwrap_or_default();
        format!("{kind}  {from}{path}  +{added} -{removed}{sha256}")
    }
}

impl Refused {
    /// Creates the answer from an error document and the hints that an agent can follow.
    pub fn new(error: Error, hints: Vec<String>) -> Self {
        Self {
            status: error.status,
            reason: error.reason,
            message: error.message,
            hints,
            plan: error.queued.map(|queued| queued.plan),
            also: error.also,
            current: Vec::new(),
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{}: {}", self.status.as_str(), self.reason);
        push(&mut text, &self.message);
        for hint in &self.hints {
            push(&mut text, &format!("hint: {hint}"));
        }
        for refusal in &self.also {
            push(&mut text, &format!("also {}: {}", refusal.reason, refusal.message));
        }
        for excerpt in &self.current {
            push(&mut text, &format!("current content:\n{}", excerpt.text()));
        }
        text
    }
}

impl From<Refused> for Answer {
    fn from(refused: Refused) -> Self {
        Self { text: refused.text(), structured: object(&refused), is_error: true }
    }
}

impl Excerpt {
    fn text(&self) -> String {
        let Self { path, sha256, first_line, lines, text } = self;
        let Some(sha256) = sha256 else { return format!("{path} no longer exists") };
        let shown = text.lines().count();
        let last = (first_line + shown).saturating_sub(1);
        format!("{path}  lines {first_line}-{last} of {lines}  sha256 {sha256}\n{text}")
    }
}

impl From<FileRead> for Answer {
    fn from(read: FileRead) -> Self {
        Self::done(&read, read.excerpt.text())
    }
}

impl From<Executed> for Answer {
    fn from(executed: Executed) -> Self {
        let executed = Executed {
            stdout: shortened(executed.stdout),
            stderr: shortened(executed.stderr),
            ..executed
        };
        let mut text = format!("{}: {}", executed.status.as_str(), executed.ended);
        if let Some(dropped) = executed.dropped_changes {
            push(&mut text, &format!("{} dropped; nothing was changed", count(dropped, "change")));
        }
        if let Some(error) = &executed.error {
            push(&mut text, &error.text());
        }
        match &executed.change {
            Some(change) => push(&mut text, &change.text()),
            None if executed.status == Status::Succeeded => {
                push(&mut text, "the command changed no files")
            }
            None => {}
        }
        for (name, output) in [("stdout", &executed.stdout), ("stderr", &executed.stderr)] {
            if !output.is_empty() {
                push(&mut text, &format!("--- {name}\n{output}"));
            }
        }
        let is_error = executed.status != Status::Succeeded;
        Self { structured: object(&executed), text, is_error }
    }
}

/// Formats a number with a noun in the singular or plural, such as `1 file` or `3 files`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Appends a line to a text, on a new line of its own.
pub(crate) fn push(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

/// Removes the middle of a text that is too long, because the start and end of command output are the most important parts.
pub(crate) fn shortened(text: String) -> String {
    let count = text.chars().count();
    if count <= TEXT_CHARS_MAX {
        return text;
    }
    let half = TEXT_CHARS_MAX / 2;
    let mut short: String = text.chars().take(half).collect();
    short.push_str(&format!("\n… {} characters omitted …\n", count - 2 * half));
    short.extend(text.chars().skip(count - half));
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Refused {
        Refused {
            status: Status::Rejected,
            reason: "CHANGE_DENIED".to_owned(),
            message: "cannot change `.env`; nothing was changed".to_owned(),
            hints: vec!["leave it".to_owned()],
            plan: None,
            also: Vec::new(),
            current: Vec::new(),
        }
    }

    /// Issue 27
    #[test]
    fn text_and_structured_refusals_have_reason_and_hint() {
        let answer = Answer::from(refused());
        assert_eq!(answer.structured["reason"], "CHANGE_DENIED");
        assert_eq!(answer.structured["hints"][0], "leave it");
        assert_eq!(
            answer.text,
            "rejected: CHANGE_DENIED\ncannot change `.env`; nothing was changed\nhint: leave it"
        );
        assert_eq!(answer.into_result().is_error, Some(true));
    }

    /// Issue 27
    #[test]
    fn failed_command_is_an_error_with_output_in_both_forms() {
        let answer = Answer::from(Executed {
            status: Status::Rejected,
            ended: "exit code 1".to_owned(),
            stdout: "out".to_owned(),
            stderr: String::new(),
            dropped_changes: Some(2),
            change: None,
            error: None,
        });
        assert_eq!(answer.structured["stdout"], "out");
        assert_eq!(
            answer.text,
            "rejected: exit code 1\n2 changes dropped; nothing was changed\n--- stdout\nout"
        );
        assert!(answer.is_error);
    }

    /// Issue 27
    #[test]
    fn long_output_is_truncated_in_the_middle() {
        assert_eq!(shortened("x".repeat(TEXT_CHARS_MAX)).len(), TEXT_CHARS_MAX);
        let long = shortened(format!("begin{}end", "é".repeat(TEXT_CHARS_MAX)));
        assert!(long.starts_with("begin") && long.ends_with("end"), "{long}");
        assert!(long.contains("… 8 characters omitted …"), "{long}");
    }
}
