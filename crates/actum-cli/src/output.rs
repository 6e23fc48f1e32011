//! Writes results to standard output and messages to standard error.

mod brief_line;

use std::borrow::Borrow;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

use actum_api::Envelope;
use actum_api::brief::BriefParts;
use actum_core::path::Harmless;
use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;

use crate::diff_text::Audience;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::guard::{Colors, Guard};
use crate::pager::Pager;
use crate::plan_failure::PlanFailure;
use crate::{hint, style};

/// Result of a command, which can be written as a JSON document of `actum-api` or as text.
pub(crate) trait Document {
    /// Type of the JSON document.
    type Api: actum_api::Document;
    /// Returns the JSON document. Called only if JSON was requested.
    fn document(&self) -> impl Borrow<Self::Api>;
    /// Returns the parts of the `--json=brief` form. By default they come from the document; implementations can add parts
    /// that only the command itself knows.
    fn brief(&self) -> BriefParts {
        actum_api::Document::brief(self.document().borrow())
    }
    /// Writes the text, which must end with a newline. Colours in it are removed unless the output shows colours.
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()>;
    /// Returns the kind of text, which determines whether it is paged, escaped or suppressed by `--quiet`.
    fn kind(&self) -> Kind {
        Kind::Short
    }
}

/// Kind of a document's text, which determines whether it is paged, escaped or suppressed by `--quiet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text of a few lines, which is never paged.
    Short,
    /// Text that may fill many screens, which is paged on a terminal.
    Long,
    /// Long text that contains file contents. It is escaped on a terminal, but programs get it byte for byte.
    Verbatim,
    /// Report of a successful change, which `--quiet` suppresses.
    Report,
}

/// Output form of results on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Human-readable text.
    Text,
    /// JSON for programs, with the requested amount of detail.
    Json(Detail),
}

/// Whether JSON output is the full document or its brief form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Detail {
    Full,
    Brief,
}

/// Whether long texts are paged on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paging {
    /// Pages long texts with the system's `less`.
    Auto,
    /// Prints long texts without a pager.
    Never,
}

/// Whether successful work is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Reports each change, and shows the progress of long work.
    Normal,
    /// Prints only requested data, warnings and errors.
    Quiet,
}

/// Output settings of a command, with methods that write its results and messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) form: Form,
    pub(crate) paging: Paging,
    pub(crate) verbosity: Verbosity,
    /// Whether to use colours, as chosen on the command line.
    pub(crate) color: ColorChoice,
}

impl Screen {
    /// Creates a screen that does not page, is not quiet and detects whether to use colours.
    pub(crate) fn plain(form: Form) -> Self {
        Self { form, paging: Paging::Never, verbosity: Verbosity::Normal, color: ColorChoice::Auto }
    }

    /// Returns whether text of this kind is suppressed by `--quiet`.
    fn leaves_out(&self, kind: Kind) -> bool {
        self.verbosity == Verbosity::Quiet && kind == Kind::Report
    }

    /// Returns the audience of diffs on standard output, which decides whether they are escaped.
    pub(crate) fn audience(&self) -> Audience {
        let for_eyes = io::stdout().is_terminal() || self.color == ColorChoice::Always;
        if self.form == Form::Text && for_eyes { Audience::Terminal } else { Audience::Program }
    }

    /// Returns the audience of diffs on which a user bases a decision. As text, they are always escaped, even if the output
    /// is not a terminal.
    pub(crate) fn audience_of_decisions(&self) -> Audience {
        match self.form {
            Form::Text => Audience::Terminal,
            Form::Json(_) => Audience::Program,
        }
    }

    /// Writes a result to standard output. It is not an error if the reader closed the pipe.
    pub(crate) fn show(&self, document: &impl Document) -> Result<(), Failure> {
        if self.form == Form::Json(Detail::Brief) {
            return unless_unread(brief_line::show(document.brief()));
        }
        self.show_next(document).map(drop)
    }

    /// Writes the text of a document to standard error, for the user to decide on. If it cannot be written, this returns an
    /// error, so that the question is not asked.
    pub(crate) fn print_text(&self, document: &impl Document) -> Result<(), Failure> {
        self.print_lines(|out| document.write_text(out))
    }

    /// Writes the report of a change to standard error, for commands whose standard output belongs to a different program.
    pub(crate) fn print_report(&self, document: &impl Document) -> Result<(), Failure> {
        if self.leaves_out(document.kind()) { Ok(()) } else { self.print_text(document) }
    }

    /// Writes lines to standard error for the user to decide on, if they are not the text of a document. If they cannot be
    /// written, this returns an error, so that the question is not asked.
    pub(crate) fn print_lines(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let err = io::stderr().lock();
        let colors = self.colors(&err);
        let mut out = Guard::text(BufWriter::new(err), colors);
        let written = write(&mut out).and_then(|()| out.flush());
        Ok(written.map_err(|source| PlanFailure::Unshown { source })?)
    }

    /// Writes text to standard output, for results whose JSON form is written separately.
    pub(crate) fn show_text(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let stdout = io::stdout().lock();
        let colors = self.colors(&stdout);
        let mut out = Guard::text(BufWriter::new(stdout), colors);
        unless_unread(write(&mut out).and_then(|()| out.flush()))
    }

    /// Writes one of several results. Returns false if the reader closed the pipe, so that the caller can stop.
    pub(crate) fn show_next(&self, document: &impl Document) -> Result<bool, Failure> {
        match self.write(document) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            written => written.map(|()| true).map_err(|source| Failure::Unwritten { source }),
        }
    }

    /// Writes a standalone document, such as a receipt. Its bytes do not depend on the requested output form. On a terminal,
    /// characters that could not be shown are written as JSON escapes.
    pub(crate) fn hand_over(&self, bytes: &[u8]) -> Result<(), Failure> {
        brief_line::skip();
        let stdout = io::stdout();
        let mut out = stdout.lock();
        let written = match stdout.is_terminal() {
            true => Guard::json(&mut out).write_all(bytes),
            false => out.write_all(bytes),
        };
        unless_unread(written.and_then(|()| out.flush()))
    }

    /// Finishes the output of a command that ends with `exit`. With `--json=brief`, this writes the pending line, because its
    /// status may depend on the exit code.
    pub(crate) fn end(&self, exit: Exit) -> Exit {
        if self.form != Form::Json(Detail::Brief) {
            return exit;
        }
        match brief_line::end(exit) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.failure(&Failure::Unwritten { source: error })
            }
            Ok(()) | Err(_) => exit,
        }
    }

    /// Prints a note to standard error.
    pub(crate) fn note(&self, note: impl Display) {
        self.print_message(style::NOTE, "note", note);
    }

    /// Reports a failure in the requested form, and returns its exit code.
    pub(crate) fn failure(&self, failure: &Failure) -> Exit {
        let in_json = self.form != Form::Text && !matches!(failure, Failure::Unwritten { .. });
        if !in_json || self.write(failure).is_err() {
            self.print_failure(failure);
        }
        failure.exit()
    }

    /// Reports a failure only on standard error, for commands that have already written a document.
    pub(crate) fn print_failure(&self, failure: &Failure) {
        match failure.queued() {
            None => self.print_message(style::ERROR, "error", failure.message()),
            Some(_) => self.print_message(style::NOTE, "queued", failure.message()),
        }
        self.print_failure_details(failure);
    }

    /// Reports a failure on standard error that occurred after the same command had already completed other work.
    pub(crate) fn print_failure_after_work(&self, failure: &Failure) {
        self.print_message(style::ERROR, "error", failure.message_after_work());
        self.print_failure_details(failure);
    }

    /// Prints the input excerpt, hints, further refusals and help reference of a failure.
    fn print_failure_details(&self, failure: &Failure) {
        if let Some(excerpt) = failure.excerpt() {
            self.print_line(excerpt);
        }
        let mut printed = failure.hints();
        self.advise(&printed);
        for refusal in failure.also() {
            self.print_message(style::ERROR, "error", refusal);
            let mut hints = hint::after(refusal);
            hints.retain(|hint| !printed.contains(hint));
            self.advise(&hints);
            printed.append(&mut hints);
        }
        if let Some(page) = failure.page() {
            self.print_message(style::HINT, "help", page);
        }
    }

    pub(crate) fn advise(&self, hints: &[String]) {
        // Newlines in hints are not escaped, because some hints contain an example of several lines.
        for hint in hints {
            self.print_line(format_args!("{}: {hint}", style::Painted(style::HINT, "hint")));
        }
    }

    /// Returns whether a stream shows colours. If the command line does not say, the terminal and the environment decide.
    fn colors<S: RawStream>(&self, stream: &S) -> Colors {
        let choice = match self.color {
            ColorChoice::Auto => AutoStream::choice(stream),
            ColorChoice::AlwaysAnsi | ColorChoice::Always | ColorChoice::Never => self.color,
        };
        if choice == ColorChoice::Never { Colors::LeftOut } else { Colors::Shown }
    }

    fn write(&self, document: &impl Document) -> io::Result<()> {
        match self.form {
            Form::Text if self.leaves_out(document.kind()) => Ok(()),
            Form::Text => {
                let is_long = matches!(document.kind(), Kind::Long | Kind::Verbatim);
                let pages = self.paging == Paging::Auto && is_long;
                match pages.then(Pager::start).flatten() {
                    Some(pager) => self.page(document, pager),
                    None => self.write_text(document),
                }
            }
            Form::Json(Detail::Full) => write_json(document.document().borrow()),
            Form::Json(Detail::Brief) => brief_line::write(document.brief(), Exit::Success),
        }
    }

    /// Writes a document's text. Verbatim text for a program is not escaped, since everything in it is file content.
    fn write_text(&self, document: &impl Document) -> io::Result<()> {
        let stdout = io::stdout().lock();
        if document.kind() == Kind::Verbatim && self.audience() == Audience::Program {
            let mut out = BufWriter::new(stdout);
            document.write_text(&mut out)?;
            return out.flush();
        }
        let colors = self.colors(&stdout);
        let mut out = Guard::text(BufWriter::new(stdout), colors);
        document.write_text(&mut out)?;
        out.flush()
    }

    fn page(&self, document: &impl Document, pager: Pager) -> io::Result<()> {
        let mut text = Vec::new();
        document.write_text(&mut Guard::text(&mut text, self.colors(&io::stdout())))?;
        pager.show(&text)
    }

    /// Writes a message as a single line. Newlines in it are escaped, so that quoted text cannot pass for another message.
    fn print_message(&self, style: Style, kind: &str, what: impl Display) {
        let what = what.to_string();
        self.print_line(format_args!(
            "{}: {}",
            style::Painted(style, kind),
            Harmless(what.as_bytes())
        ));
    }

    /// Writes a line to standard error with a single write, because the guard writes escapes one character at a time and
    /// standard error is not buffered. Errors are ignored, since there is no other stream on which to report them.
    fn print_line(&self, line: impl Display) {
        let mut err = io::stderr().lock();
        let mut text = Vec::new();
        let guarded =
            Guard::text(&mut text, self.colors(&err)).write_all(format!("{line}\n").as_bytes());
        drop(guarded.and_then(|()| err.write_all(&text)));
    }
}

/// Assumed width of a screen whose width is unknown, in columns.
const WIDTH: usize = 80;
/// Minimum width of a screen for which tables are laid out, in columns.
const WIDTH_MIN: usize = 40;

/// Returns the width of the terminal in columns, or 80 if standard output is not a terminal.
pub(crate) fn columns() -> usize {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map_or(WIDTH, |(terminal_size::Width(width), _)| usize::from(width)).max(WIDTH_MIN)
}

/// Converts the result of a write to standard output, ignoring a broken pipe: the reader may stop at any time.
fn unless_unread(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|source| Failure::Unwritten { source }),
    }
}

/// Writes a JSON document as one line to standard output.
fn write_json(document: &impl actum_api::Document) -> io::Result<()> {
    let mut out = Guard::json(BufWriter::new(io::stdout().lock()));
    serde_json::to_writer(&mut out, &Envelope::new(document))?;
    out.write_all(b"\n")?;
    out.flush()
}

impl Document for Failure {
    type Api = actum_api::error::Error;

    fn document(&self) -> impl Borrow<actum_api::error::Error> {
        Self::document(self)
    }

    /// Writes nothing, because the text form of a failure is printed to standard error.
    fn write_text(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
