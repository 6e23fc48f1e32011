//! Reports how the command of `actum exec` ended and what happened to its changes.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::{Runner, Tried};
use actum_api::brief::BriefParts;
use actum_api::command::{Exec, ExecOutcome, Sandbox};
use actum_core::Status;
use actum_record::command::CommandEnd;

use super::missing::Missing;
use crate::count::count;
use crate::exit::Exit;
use crate::failure::{Failure, KeptCaches};
use crate::output::{Document, Form, Screen};
use crate::run_end::RunEnd;
use crate::verb::sandbox::report::Report;

/// Result of a command that ran in the sandbox, including the outcome of its changes.
pub(super) struct Executed {
    /// Outcome of the request as one of the frozen statuses (D-1).
    status: Status,
    report: Report,
    ended: CommandEnd,
    /// Whether the command failed. Exit codes that the user passed as `--accept` are not failures.
    has_failed: bool,
    /// Caches that the command was allowed to write to. Changes in them are permanent, whatever the outcome.
    passed: Vec<String>,
    /// Missing network or program that probably made the command fail.
    missing: Option<Missing>,
    outcome: Outcome,
}

/// Outcome of the changes that a command made.
pub(super) enum Outcome {
    /// The command changed nothing.
    Nothing,
    /// The request excluded every path that the command changed, so no change was kept.
    LeftOut,
    /// The command failed, so its changes were dropped.
    Dropped { dropped_changes: u64 },
    /// The changes were applied as a run or, in a dry run, would have been.
    Changed { change: Box<RunEnd> },
    /// The changes were queued as a plan, which waits for an approval.
    Queued { error: Box<Failure> },
    /// The changes were rejected, so none of them was kept.
    Refused { error: Box<Failure> },
}

impl Executed {
    pub(super) fn new(
        tried: &Tried,
        runner: &Runner,
        (outcome, has_failed): (Outcome, bool),
    ) -> Self {
        let outcome = outcome.beside(tried.passed());
        let command = tried.record.argv.iter().map(Into::into).collect::<Vec<_>>();
        Self {
            status: outcome.status(),
            report: Report::new(&command, runner.policy(), &tried.outcome, None),
            ended: tried.record.ended.clone(),
            has_failed,
            passed: tried.passed().to_vec(),
            missing: has_failed.then(|| Missing::find(&tried.outcome, runner.policy())).flatten(),
            outcome,
        }
    }

    /// Prints the result, and returns the exit code of `actum exec`.
    pub(super) fn show(&self, screen: &Screen) -> Result<Exit, Failure> {
        match screen.form {
            Form::Json(_) => screen.show(self)?,
            Form::Text => self.print_text(screen)?,
        }
        Ok(match &self.outcome {
            Outcome::Nothing | Outcome::LeftOut | Outcome::Changed { .. } if !self.has_failed => {
                Exit::Success
            }
            Outcome::Nothing
            | Outcome::LeftOut
            | Outcome::Changed { .. }
            | Outcome::Dropped { .. } => self.report.exit(),
            Outcome::Queued { error } | Outcome::Refused { error } => error.exit_beside_a_command(),
        })
    }

    /// Prints the result to standard error, because standard output belongs to the command.
    fn print_text(&self, screen: &Screen) -> Result<(), Failure> {
        self.report.note_violations(screen);
        match (&self.outcome, &self.ended) {
            (Outcome::Dropped { dropped_changes }, ended) => {
                let left = self.left(*dropped_changes);
                match ended {
                    // `note_violations` has already reported why the command was stopped.
                    CommandEnd::Stopped(_) => screen.note(left),
                    CommandEnd::Code(_) | CommandEnd::Signal(_) => {
                        screen.note(format_args!("the command failed: {ended}; {left}"));
                        if let Some(missing) = self.missing {
                            screen.note(missing.note());
                        }
                    }
                }
                return Ok(());
            }
            (_, CommandEnd::Code(1..)) if self.has_failed => {
                screen.note(format_args!(
                    "the command failed: {}; its changes are judged anyway because of `--keep=always`",
                    self.ended
                ));
            }
            (_, CommandEnd::Code(1..)) => {
                screen
                    .note(format_args!("treated as success because of `--accept`: {}", self.ended));
            }
            (_, CommandEnd::Code(_) | CommandEnd::Signal(_) | CommandEnd::Stopped(_)) => {}
        }
        match &self.outcome {
            Outcome::Nothing | Outcome::Dropped { .. } => {
                screen.note(format_args!("the command changed nothing{}", self.elsewhere()));
            }
            Outcome::LeftOut => screen.note(
                "no changes were kept: the options excluded every path that the command changed",
            ),
            Outcome::Changed { change } => change.show_on_stderr(screen)?,
            Outcome::Queued { error } | Outcome::Refused { error } => drop(screen.failure(error)),
        }
        Ok(())
    }

    /// Describes the state of the workspace after a failed command, of which `dropped` changes were discarded.
    fn left(&self, dropped: u64) -> String {
        let elsewhere = self.elsewhere();
        let as_before = format!("dropped, and the workspace is unchanged{elsewhere}");
        match dropped {
            0 => format!("nothing was changed{elsewhere}"),
            1 => format!("its 1 change was {as_before}"),
            more => format!("its {} were {as_before}", count(more, "change")),
        }
    }

    /// Returns a clause that excludes the caches from a statement about the workspace. It is empty if the command had none.
    fn elsewhere(&self) -> String {
        match self.passed.is_empty() {
            true => String::new(),
            false => format!(" outside of `{}`", self.passed.join("`, `")),
        }
    }
}

impl Outcome {
    /// Extends the error of a queued or rejected change with the caches, because changes in them were kept nevertheless.
    fn beside(self, passed: &[String]) -> Self {
        let with_caches = |error: Box<Failure>| match passed {
            [] => error,
            passed => {
                let caches = KeptCaches(passed.to_vec());
                Box::new(Failure::BesideCaches { source: error, caches })
            }
        };
        match self {
            Self::Queued { error } => Self::Queued { error: with_caches(error) },
            Self::Refused { error } => Self::Refused { error: with_caches(error) },
            Self::Nothing | Self::LeftOut | Self::Dropped { .. } | Self::Changed { .. } => self,
        }
    }

    fn status(&self) -> Status {
        match self {
            Self::Nothing | Self::LeftOut | Self::Changed { .. } => Status::Succeeded,
            Self::Dropped { .. } => Status::Rejected,
            Self::Queued { error } | Self::Refused { error } => error.exit().status(),
        }
    }
}

impl Document for Executed {
    type Api = Exec;

    fn document(&self) -> impl Borrow<Exec> {
        let (mut dropped, mut change, mut error) = (None, None, None);
        let outcome = match &self.outcome {
            Outcome::Nothing | Outcome::LeftOut => ExecOutcome::Nothing,
            Outcome::Dropped { dropped_changes } => {
                dropped = Some(*dropped_changes);
                ExecOutcome::Dropped
            }
            Outcome::Changed { change: end } => {
                change = Some(Box::new(RunEnd::document(end)));
                ExecOutcome::Changed
            }
            Outcome::Queued { error: failure } => {
                error = Some(Box::new(Failure::document(failure)));
                ExecOutcome::Queued
            }
            Outcome::Refused { error: failure } => {
                error = Some(Box::new(Failure::document(failure)));
                ExecOutcome::Refused
            }
        };
        let Sandbox { execution, output, .. } = self.report.document.clone();
        let (status, dropped_changes) = (self.status, dropped);
        Exec { status, execution, output, outcome, dropped_changes, change, error }
    }

    fn brief(&self) -> BriefParts {
        let parts = match &self.outcome {
            Outcome::Changed { change } => change.brief(),
            Outcome::Queued { error } | Outcome::Refused { error } => {
                (&Failure::document(error)).into()
            }
            Outcome::Nothing | Outcome::LeftOut | Outcome::Dropped { .. } => BriefParts::default(),
        };
        BriefParts { status: Some(self.status), ..parts }
    }

    /// Writes nothing to standard output, because the result is printed to standard error.
    fn write_text(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
