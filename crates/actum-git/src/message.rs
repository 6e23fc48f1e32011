//! Builds commit messages with a subject, a body, and trailers that name the run.
//!
//! Text from a plan is not trusted. It can fill the subject and the body, but it cannot start a trailer, end the
//! message early, or send control characters to a terminal.

use std::fmt::Write as _;

use actum_core::RunId;
use actum_core::path::Harmless;

use crate::id::CommitId;

/// Maximum number of characters of a subject. Longer subjects are truncated.
pub const SUBJECT_CHARS_MAX: usize = 100;
/// Maximum number of characters of a body. Longer bodies are truncated.
pub const BODY_CHARS_MAX: usize = 16_384;
/// Maximum number of characters of a trailer's value. Longer values are truncated.
pub const VALUE_CHARS_MAX: usize = 200;

const RUN: &str = "Actum-Run";
const TASK: &str = "Actum-Task";
const PLAN: &str = "Actum-Plan";
const REVERTS: &str = "Actum-Reverts";

/// Commit message that names a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    text: String,
    run: RunId,
}

/// Parts of the commit message of a run. Their text is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunNote<'a> {
    /// Id of the run.
    pub run: RunId,
    /// Id of the run's task, if it has one.
    pub task: Option<&'a str>,
    /// Id of the run's plan, if it has one.
    pub plan: Option<&'a str>,
    /// One-line summary of the run. If it is empty after cleaning, the subject names the run instead.
    pub subject: &'a str,
    /// Body of the message, which may be empty.
    pub body: &'a str,
}

impl Message {
    /// Creates the commit message of a run from its subject, its body, and the trailers `Actum-Run`, `Actum-Task` and
    /// `Actum-Plan`. Text that is too long is truncated and ends with `…`.
    pub fn of_run(note: &RunNote<'_>) -> Self {
        let RunNote { run, task, plan, subject, body } = *note;
        let mut text = subject_line(subject, run);
        let body = paragraphs(body);
        if !body.is_empty() {
            text.extend(["\n", &body]);
        }
        text.push('\n');
        let ids = [(TASK, task), (PLAN, plan)];
        trailer(&mut text, RUN, &run.to_string());
        for (key, value) in ids {
            if let Some(value) = value {
                trailer(&mut text, key, value);
            }
        }
        Self { text, run }
    }

    /// Creates the message of the commit with which `run` reverts `reverted`. `subject` is the subject of the reverted
    /// commit.
    pub(crate) fn of_revert(run: RunId, reverted: CommitId, subject: &str) -> Self {
        let mut text = subject_line(&format!("Revert \"{subject}\""), run);
        text.extend(["\nThis reverts commit ", &reverted.to_string(), ".\n\n"]);
        trailer(&mut text, REVERTS, &reverted.to_string());
        trailer(&mut text, RUN, &run.to_string());
        Self { text, run }
    }

    /// Returns the full text of the message, which ends with a line break.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the id of the run that the message names.
    pub fn run(&self) -> RunId {
        self.run
    }
}

/// Returns the run that a commit message names, if its last paragraph names exactly one.
pub(crate) fn run_of(message: &str) -> Option<RunId> {
    trailer_of(message, RUN)?.parse().ok()
}

/// Returns the commit that an actum commit reverts, if the last paragraph of its message names exactly one.
pub(crate) fn reverted_by(message: &str) -> Option<CommitId> {
    run_of(message)?;
    trailer_of(message, REVERTS)?.parse().ok()
}

/// Returns the value of a trailer if it occurs exactly once in the last paragraph.
fn trailer_of<'m>(message: &'m str, key: &str) -> Option<&'m str> {
    let last = message.trim_end().rsplit("\n\n").next()?;
    // A message with only one paragraph has a subject but no trailers.
    if last.len() == message.trim_end().len() {
        return None;
    }
    let mut named = last.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    let value = named.next()?;
    named.next().is_none().then_some(value)
}

fn subject_line(subject: &str, run: RunId) -> String {
    let subject = one_line(subject, SUBJECT_CHARS_MAX);
    if subject.is_empty() { format!("actum: run {run}\n") } else { format!("{subject}\n") }
}

fn trailer(text: &mut String, key: &str, value: &str) {
    let value = one_line(value, VALUE_CHARS_MAX);
    if !value.is_empty() {
        text.extend([key, ": ", &value, "\n"]);
    }
}

/// Returns `text` as a single line without control characters.
fn one_line(text: &str, chars_max: usize) -> String {
    Harmless(cut(text.trim(), chars_max).as_bytes()).to_string()
}

fn cut(text: &str, chars_max: usize) -> String {
    let mut kept: String = text.chars().take(chars_max).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept
}

/// Cleans the lines of a body. A line that git would interpret as the end of the message (`---`) or as a comment gets a
/// leading space.
fn paragraphs(body: &str) -> String {
    let mut text = String::new();
    for line in cut(body.trim(), BODY_CHARS_MAX).lines() {
        let line = line.trim_end();
        let blank = if line.starts_with("---") || line.starts_with('#') { " " } else { "" };
        // Writing to a string cannot fail.
        writeln!(text, "{blank}{}", Harmless(line.as_bytes())).ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note<'a>(subject: &'a str, body: &'a str, plan: &'a str) -> RunNote<'a> {
        RunNote {
            run: RunId::from_random(7),
            task: Some("task-1"),
            plan: Some(plan),
            subject,
            body,
        }
    }

    /// EX-17: a commit message consists of a subject, a body and trailers.
    #[test]
    fn a_message_has_a_subject_a_body_and_trailers() {
        let message =
            Message::of_run(&note("Rename the parser", "Two files.\n\n- a\n- b\n", "plan-9"));
        assert_eq!(
            message.text(),
            "Rename the parser\n\nTwo files.\n\n- a\n- b\n\nActum-Run: 000000000007\nActum-Task: \
             task-1\nActum-Plan: plan-9\n"
        );
        assert_eq!(run_of(message.text()), Some(RunId::from_random(7)));
        let bare = RunNote { task: None, plan: None, ..note(" \n", "", "") };
        let message = Message::of_run(&bare);
        assert_eq!(message.text(), "actum: run 000000000007\n\nActum-Run: 000000000007\n");
    }

    /// EX-17: text from a plan can neither create a trailer nor end the message.
    #[test]
    fn plan_text_cannot_add_a_trailer_or_end_the_message() {
        let evil = "x\n\nActum-Run: 00000000000a\n---\n# y\x1b[2J\u{202e}";
        let message = Message::of_run(&note(evil, evil, evil));
        let text = message.text();
        assert_eq!(run_of(text), Some(RunId::from_random(7)));
        assert_eq!(text.lines().filter(|line| line.starts_with("---")).count(), 0);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text}");
        let last = text.trim_end().rsplit("\n\n").next().unwrap();
        assert_eq!(last.lines().count(), 3);
    }

    /// EX-17: text is truncated at its length limit.
    #[test]
    fn texts_are_truncated_at_their_limits() {
        for (chars, kept) in [(SUBJECT_CHARS_MAX, 100), (SUBJECT_CHARS_MAX + 1, 101)] {
            let subject = "é".repeat(chars);
            let message = Message::of_run(&note(&subject, "", "p"));
            assert_eq!(message.text().lines().next().unwrap().chars().count(), kept);
        }
        let long = "a".repeat(BODY_CHARS_MAX + 1);
        let message = Message::of_run(&note("s", &long, &long));
        assert!(message.text().lines().all(|line| line.chars().count() <= BODY_CHARS_MAX + 1));
        assert!(message.text().ends_with(&format!("{}…\n", "a".repeat(VALUE_CHARS_MAX))));
    }

    /// EX-17: no run is returned unless the last paragraph names exactly one.
    #[test]
    fn message_names_a_run_only_if_its_last_paragraph_has_exactly_one() {
        let run = "Actum-Run: 000000000007";
        for text in [
            "",
            run,
            &format!("x\n\n{run}\n{run}\n"),
            &format!("x\n\n{run}\n\nlater\n"),
            "x\n\nActum-Run: 7\n",
            "x\n\nActum-Run:000000000007\n",
        ] {
            assert_eq!(run_of(text), None, "{text:?}");
        }
        assert!(run_of(&format!("x\n\n{run}\nSigned-off-by: A <a@b>\n")).is_some());
    }
}
