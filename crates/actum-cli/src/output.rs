//! What goes to standard output and standard error.

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

/// Result of a command: a JSON document of `actum-api`, or the same as text.
pub(crate) trait Document {
    /// Type of the JSON document.
    type Api: actum_api::Document;
    /// Returns the JSON document. It is asked for with `--json` only.
    fn document(&self) -> impl Borrow<Self::Api>;
    /// Returns what it has for the brief form: what the document has, and what only the run itself knows.
    fn brief(&self) -> BriefParts {
        actum_api::Document::brief(self.document().borrow())
    }
    /// The text, which ends with a newline. It may hold colours, which are taken out again where
    /// nobody sees them.
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()>;
    /// What kind of text it is.
    fn kind(&self) -> Kind {
        Kind::Short
    }
}

/// What kind of text a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A few lines.
    Short,
    /// Many screens.
    Long,
    /// The same with the content of files in it, which programs get byte for byte.
    Verbatim,
}

/// The form of what goes to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// For programs.
    Json(Detail),
}

/// How much of a document is written as JSON: the whole one, or its brief form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Detail {
    Full,
    Brief,
}

/// Whether a long text is shown page by page at a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paging {
    /// It is, by the pager of the system.
    Auto,
    /// It is not.
    Never,
}

/// Where results and talk go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) form: Form,
    pub(crate) paging: Paging,
    /// When to use colours.
    pub(crate) color: ColorChoice,
}

impl Screen {
    /// Where nothing is known of what the user wants.
    pub(crate) fn plain(form: Form) -> Self {
        Self { form, paging: Paging::Never, color: ColorChoice::Auto }
    }

    /// For whom diffs are written.
    pub(crate) fn audience(&self) -> Audience {
        let for_eyes = io::stdout().is_terminal() || self.color == ColorChoice::Always;
        if self.form == Form::Text && for_eyes { Audience::Terminal } else { Audience::Program }
    }

    /// The same for what a person decides on: as text it is escaped wherever it goes.
    pub(crate) fn audience_of_decisions(&self) -> Audience {
        match self.form {
            Form::Text => Audience::Terminal,
            Form::Json(_) => Audience::Program,
        }
    }

    /// Writes a result to standard output. Who stopped reading has seen enough.
    pub(crate) fn show(&self, document: &impl Document) -> Result<(), Failure> {
        if self.form == Form::Json(Detail::Brief) {
            return unless_unread(brief_line::show(document.brief()));
        }
        self.show_next(document).map(drop)
    }

    /// Shows on standard error what a person is asked about. Who cannot be shown it is not asked.
    pub(crate) fn tell_text(&self, document: &impl Document) -> Result<(), Failure> {
        self.tell_lines(|out| document.write_text(out))
    }

    /// Shows on standard error what a user is asked about, where no document has it.
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

    /// Writes one result of many; false where nobody reads any more.
    pub(crate) fn show_next(&self, document: &impl Document) -> Result<bool, Failure> {
        match self.write(document) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            written => written.map(|()| true).map_err(|source| Failure::Unwritten { source }),
        }
    }

    /// Writes a document that stands for itself, in the same bytes whatever form was asked for. A terminal gets
    /// the same JSON with what it does not show escaped.
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

    /// Ends with `exit`, and with `--json=brief` writes the line that the command has not written before: only its exit
    /// code says how it ended.
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

    /// Says something on standard error.
    pub(crate) fn note(&self, note: impl Display) {
        self.say(style::NOTE, "note", note);
    }

    /// Tells of a failure; gives the code to end with.
    pub(crate) fn failure(&self, failure: &Failure) -> Exit {
        let in_json = self.form != Form::Text && !matches!(failure, Failure::Unwritten { .. });
        if !in_json || self.write(failure).is_err() {
            self.tell_failure(failure);
        }
        failure.exit()
    }

    /// The same on standard error alone, behind a document that was written.
    pub(crate) fn tell_failure(&self, failure: &Failure) {
        match failure.queued() {
            None => self.say(style::ERROR, "error", failure.message()),
            Some(_) => self.say(style::NOTE, "queued", failure.message()),
        }
        self.tell_more(failure);
    }

    /// Tells of a failure that comes after other work of the same command.
    pub(crate) fn tell_failure_after_work(&self, failure: &Failure) {
        self.say(style::ERROR, "error", failure.message_after_work());
        self.tell_more(failure);
    }

    /// What helps with a failure.
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
        // Some have an example of several lines.
        for hint in hints {
            self.tell(format_args!("{}: {hint}", style::Painted(style::HINT, "hint")));
        }
    }

    /// Whether a stream gets colours: as the command line says, else as its terminal and the environment allow.
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

    /// Text for programs goes out as it is: what looks like a colour in it belongs to it.
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

    /// Writes one line: whatever a message quotes, no line of it can stand as a message of its own.
    fn say(&self, style: Style, kind: &str, what: impl Display) {
        let what = what.to_string();
        self.tell(format_args!("{}: {}", style::Painted(style, kind), Harmless(what.as_bytes())));
    }

    /// In one piece: what is escaped is written a letter at a time, and standard error keeps nothing back.
    /// Where it cannot be written to, there is nobody left to tell.
    fn tell(&self, line: impl Display) {
        let mut err = io::stderr().lock();
        let mut text = Vec::new();
        let guarded =
            Guard::text(&mut text, self.colors(&err)).write_all(format!("{line}\n").as_bytes());
        drop(guarded.and_then(|()| err.write_all(&text)));
    }
}

/// Whether it was written. Who stopped reading has seen enough.
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

    /// As text a failure is told on standard error.
    fn write_text(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
