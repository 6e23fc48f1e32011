//! Message of a commit: a subject, a body, and trailers that name its run.
//!
//! The text of a plan is only a claim about itself. It can fill a line and a body, but no text of it begins a trailer,
//! ends the message early or reaches a terminal as more than text.

use std::fmt::Write as _;

use actum_core::RunId;
use actum_core::path::Harmless;

use crate::id::CommitId;

/// Number of characters of a subject that are kept.
pub const SUBJECT_CHARS_MAX: usize = 100;
/// Number of characters of a body that are kept.
pub const BODY_CHARS_MAX: usize = 16_384;
/// Number of characters of the value of a trailer that are kept.
pub const VALUE_CHARS_MAX: usize = 200;

const RUN: &str = "Actum-Run";
const TASK: &str = "Actum-Task";
const PLAN: &str = "Actum-Plan";
const REVERTS: &str = "Actum-Reverts";

/// Message of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    text: String,
    run: RunId,
}

/// Parts of the message of a run's commit. No text in it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunNote<'a> {
    /// The run.
    pub run: RunId,
    /// The id of its task, if it has one.
    pub task: Option<&'a str>,
    /// The id of its plan, if it has one.
    pub plan: Option<&'a str>,
    /// Summary of the run, in a line. If nothing of it is left, the run is named.
    pub subject: &'a str,
    /// Further text; may be empty.
    pub body: &'a str,
}

impl Message {
    /// Creates the message of the commit of a run: subject, body, and the trailers `Actum-Run`, `Actum-Task` and
    /// `Actum-Plan`. A text that is too long is cut off with `…`.
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

    /// Creates the message of the commit by which `run` reverts `reverted`, whose subject is given.
    pub(crate) fn of_revert(run: RunId, reverted: CommitId, subject: &str) -> Self {
        let mut text = subject_line(&format!("Revert \"{subject}\""), run);
        text.extend(["\nThis reverts commit ", &reverted.to_string(), ".\n\n"]);
        trailer(&mut text, REVERTS, &reverted.to_string());
        trailer(&mut text, RUN, &run.to_string());
        Self { text, run }
    }

    /// Returns the whole text; it ends with a line end.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the run that it names.
    pub fn run(&self) -> RunId {
        self.run
    }
}

/// Returns the run of a commit, if its last paragraph names exactly one.
pub(crate) fn run_of(message: &str) -> Option<RunId> {
    trailer_of(message, RUN)?.parse().ok()
}

/// Returns the commit that a commit of actum's reverts, if its last paragraph names exactly one.
pub(crate) fn reverted_by(message: &str) -> Option<CommitId> {
    run_of(message)?;
    trailer_of(message, REVERTS)?.parse().ok()
}

/// Returns the value of a trailer that occurs exactly once in the last paragraph.
fn trailer_of<'m>(message: &'m str, key: &str) -> Option<&'m str> {
    let last = message.trim_end().rsplit("\n\n").next()?;
    // A message of one paragraph has a subject and no trailers.
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

/// Returns a text as one line without control characters.
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

/// Returns the lines of a body. A line that git takes for the end of a message (`---`), or for a comment, begins with a
/// blank.
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

    /// EX-17
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

    /// EX-17
    #[test]
    fn no_text_of_a_plan_makes_a_trailer_or_ends_the_message() {
        let evil = "x\n\nActum-Run: 00000000000a\n---\n# y\x1b[2J\u{202e}";
        let message = Message::of_run(&note(evil, evil, evil));
        let text = message.text();
        assert_eq!(run_of(text), Some(RunId::from_random(7)));
        assert_eq!(text.lines().filter(|line| line.starts_with("---")).count(), 0);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text}");
        let last = text.trim_end().rsplit("\n\n").next().unwrap();
        assert_eq!(last.lines().count(), 3);
    }

    /// EX-17
    #[test]
    fn texts_are_cut_off_at_their_limits() {
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

    /// EX-17
    #[test]
    fn a_message_without_one_run_in_its_last_paragraph_names_none() {
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
