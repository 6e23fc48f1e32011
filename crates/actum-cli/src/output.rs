//! Standard output and standard error.

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

/// Result of a command: a JSON document of `actum-api`, or its text.
pub(crate) trait Document {
    /// Type of the JSON document.
    type Api: actum_api::Document;
    /// Returns the JSON document. It is called with `--json` only.
    fn document(&self) -> impl Borrow<Self::Api>;
    /// Returns the parts of the brief form: those of the document, and those that only the run itself knows.
    fn brief(&self) -> BriefParts {
        actum_api::Document::brief(self.document().borrow())
    }
    /// Writes the text, which ends with a newline. It may hold colours, which are removed unless a terminal shows them.
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()>;
    /// Returns the kind of text.
    fn kind(&self) -> Kind {
        Kind::Short
    }
}

/// Kind of text of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A few lines.
    Short,
    /// Many screens.
    Long,
    /// Many screens with the content of files, which programs get byte for byte.
    Verbatim,
}

/// Form of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Human-readable text.
    Text,
    /// JSON for programs.
    Json(Detail),
}

/// Amount of a document that is written as JSON: the whole one, or its brief form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Detail {
    Full,
    Brief,
}

/// Paging of long texts at a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paging {
    /// Pages with the pager of the system.
    Auto,
    /// No paging.
    Never,
}

/// Destinations of results and messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) form: Form,
    pub(crate) paging: Paging,
    /// Use of colours.
    pub(crate) color: ColorChoice,
}

impl Screen {
    /// Makes a screen with default settings.
    pub(crate) fn plain(form: Form) -> Self {
        Self { form, paging: Paging::Never, color: ColorChoice::Auto }
    }

    /// Returns the audience of diffs.
    pub(crate) fn audience(&self) -> Audience {
        let for_eyes = io::stdout().is_terminal() || self.color == ColorChoice::Always;
        if self.form == Form::Text && for_eyes { Audience::Terminal } else { Audience::Program }
    }

    /// Returns the audience of diffs for decisions of a user: as text they are escaped at any destination.
    pub(crate) fn audience_of_decisions(&self) -> Audience {
        match self.form {
            Form::Text => Audience::Terminal,
            Form::Json(_) => Audience::Program,
        }
    }

    /// Writes a result to standard output. A reader that stopped reading is not an error.
    pub(crate) fn show(&self, document: &impl Document) -> Result<(), Failure> {
        if self.form == Form::Json(Detail::Brief) {
            return unless_unread(brief_line::show(document.brief()));
        }
        self.show_next(document).map(drop)
    }

    /// Shows on standard error what a user is asked to decide. Without a reader the question is not asked.
    pub(crate) fn tell_text(&self, document: &impl Document) -> Result<(), Failure> {
        self.tell_lines(|out| document.write_text(out))
    }

    /// Shows on standard error what a user is asked to decide, if no document contains it.
    pub(crate) fn tell_lines(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let err = io::stderr().lock();
        let colors = self.colors(&err);
        let mut out = Guard::text(BufWriter::new(err), colors);
        let written = write(&mut out).and_then(|()| out.flush());
        Ok(written.map_err(|source| PlanFailure::Unshown { source })?)
    }

    /// Writes text to standard output, for a result whose JSON is written elsewhere.
    pub(crate) fn show_text(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let stdout = io::stdout().lock();
        let colors = self.colors(&stdout);
        let mut out = Guard::text(BufWriter::new(stdout), colors);
        unless_unread(write(&mut out).and_then(|()| out.flush()))
    }

    /// Writes one result of many; returns false if the reader stopped reading.
    pub(crate) fn show_next(&self, document: &impl Document) -> Result<bool, Failure> {
        match self.write(document) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            written => written.map(|()| true).map_err(|source| Failure::Unwritten { source }),
        }
    }

    /// Writes a standalone document, in the same bytes whatever form was requested. On a terminal, characters of the
    /// JSON that it does not show are escaped.
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

    /// Ends with `exit`. With `--json=brief`, writes the line that is still due: only the exit code has the outcome.
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

    /// Prints a note on standard error.
    pub(crate) fn note(&self, note: impl Display) {
        self.say(style::NOTE, "note", note);
    }

    /// Reports a failure; returns the exit code.
    pub(crate) fn failure(&self, failure: &Failure) -> Exit {
        let in_json = self.form != Form::Text && !matches!(failure, Failure::Unwritten { .. });
        if !in_json || self.write(failure).is_err() {
            self.tell_failure(failure);
        }
        failure.exit()
    }

    /// Reports a failure on standard error alone, after a document was written.
    pub(crate) fn tell_failure(&self, failure: &Failure) {
        match failure.queued() {
            None => self.say(style::ERROR, "error", failure.message()),
            Some(_) => self.say(style::NOTE, "queued", failure.message()),
        }
        self.tell_more(failure);
    }

    /// Reports a failure that follows other work of the same command.
    pub(crate) fn tell_failure_after_work(&self, failure: &Failure) {
        self.say(style::ERROR, "error", failure.message_after_work());
        self.tell_more(failure);
    }

    /// Prints help for a failure.
    fn tell_more(&self, failure: &Failure) {
        if let Some(excerpt) = failure.excerpt() {
            self.tell(excerpt);
        }
        let mut told = failure.hints();
        self.advise(&told);
        for refusal in failure.also() {
            self.say(style::ERROR, "error", refusal);
            let mut hints = hint::after(refusal);
            hints.retain(|hint| !told.contains(hint));
            self.advise(&hints);
            told.append(&mut hints);
        }
        if let Some(page) = failure.page() {
            self.say(style::HINT, "help", page);
        }
    }

    pub(crate) fn advise(&self, hints: &[String]) {
        // Some hints have an example of several lines.
        for hint in hints {
            self.tell(format_args!("{}: {hint}", style::Painted(style::HINT, "hint")));
        }
    }

    /// Returns the use of colours on a stream: that of the command line, else that of its terminal and the environment.
    fn colors<S: RawStream>(&self, stream: &S) -> Colors {
        let choice = match self.color {
            ColorChoice::Auto => AutoStream::choice(stream),
            ColorChoice::AlwaysAnsi | ColorChoice::Always | ColorChoice::Never => self.color,
        };
        if choice == ColorChoice::Never { Colors::LeftOut } else { Colors::Shown }
    }

    fn write(&self, document: &impl Document) -> io::Result<()> {
        match self.form {
            Form::Text => {
                let pages = self.paging == Paging::Auto && document.kind() != Kind::Short;
                match pages.then(Pager::start).flatten() {
                    Some(pager) => self.page(document, pager),
                    None => self.write_text(document),
                }
            }
            Form::Json(Detail::Full) => write_json(document.document().borrow()),
            Form::Json(Detail::Brief) => brief_line::write(document.brief(), Exit::Success),
        }
    }

    /// Writes the text. Text for programs is not escaped: a mark of a colour in it is content.
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

    /// Writes one line. Whatever a message quotes, no line of the quote can look like a message of its own.
    fn say(&self, style: Style, kind: &str, what: impl Display) {
        let what = what.to_string();
        self.tell(format_args!("{}: {}", style::Painted(style, kind), Harmless(what.as_bytes())));
    }

    /// Writes a line in one piece, since escapes are written a letter at a time, and standard error is not buffered. A
    /// failure to write is ignored, since there is no other stream to report it on.
    fn tell(&self, line: impl Display) {
        let mut err = io::stderr().lock();
        let mut text = Vec::new();
        let guarded =
            Guard::text(&mut text, self.colors(&err)).write_all(format!("{line}\n").as_bytes());
        drop(guarded.and_then(|()| err.write_all(&text)));
    }
}

/// Ignores a broken pipe: a reader that stopped reading is not an error.
fn unless_unread(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|source| Failure::Unwritten { source }),
    }
}

/// Writes a document on one line.
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

    /// Writes no text, since a failure is reported on standard error.
    fn write_text(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
