//! What goes to standard output and standard error.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Failure;

/// What a verb has to say: one JSON document, or the same as text.
pub(crate) trait Document: Serialize {
    /// The value of the field `format`; a change that breaks readers gets a new number.
    fn format(&self) -> &'static str;
    /// The text, which ends with a newline.
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// The form of what goes to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Where results and talk go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    form: Form,
}

#[derive(Serialize)]
struct Tagged<'a, D> {
    format: &'static str,
    #[serde(flatten)]
    document: &'a D,
}

impl Screen {
    pub(crate) fn new(form: Form) -> Self {
        Self { form }
    }

    /// Writes a result to standard output. Who stopped reading has seen enough.
    pub(crate) fn show(&self, document: &impl Document) -> Result<(), Failure> {
        match self.write(document) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|source| Failure::Unwritten { source }),
        }
    }

    /// Says something on standard error.
    pub(crate) fn note(&self, note: impl Display) {
        say("note", note);
    }

    /// Tells of a failure; gives the code to end with.
    pub(crate) fn failure(&self, failure: &Failure) -> Exit {
        let in_json = self.form == Form::Json && !matches!(failure, Failure::Unwritten { .. });
        if !in_json || self.write(failure).is_err() {
            say("error", failure);
            for hint in failure.hints() {
                say("hint", hint);
            }
        }
        failure.exit()
    }

    fn write(&self, document: &impl Document) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        match self.form {
            Form::Text => document.write_text(&mut out)?,
            Form::Json => {
                let tagged = Tagged { format: document.format(), document };
                serde_json::to_writer(&mut out, &tagged)?;
                out.write_all(b"\n")?;
            }
        }
        out.flush()
    }
}

/// Where standard error cannot be written to, there is nobody left to tell.
fn say(kind: &str, what: impl Display) {
    drop(writeln!(io::stderr().lock(), "{kind}: {what}"));
}
