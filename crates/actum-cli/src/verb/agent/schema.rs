//! `actum agent schema`: prints the published JSON Schemas of the core.

use actum_agent::schemas;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Session;

/// Print the JSON Schema of a goal, of a packet of a Finder, or of an outcome
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Document whose schema to print
    #[arg(value_enum)]
    document: SchemaOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SchemaOf {
    /// Input of `actum agent dispatch`
    Goal,
    /// Packet: a simulation matches
    Match,
    /// Packet: a question to the user
    Clarify,
    /// Packet: the goal is refused
    Refuse,
    /// Packet: no simulation exists
    Missing,
    /// Output of `actum agent dispatch`
    Outcome,
}

impl SchemaOf {
    fn file(self) -> &'static str {
        match self {
            Self::Goal => "agent-goal.schema.json",
            Self::Match => "finder-match.schema.json",
            Self::Clarify => "finder-clarify.schema.json",
            Self::Refuse => "finder-refuse.schema.json",
            Self::Missing => "finder-missing.schema.json",
            Self::Outcome => "agent-outcome.schema.json",
        }
    }
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    for schema in schemas().iter().filter(|schema| schema.name == arguments.document.file()) {
        session.screen.hand_over(schema.text.as_bytes())?;
    }
    Ok(Exit::Success)
}
