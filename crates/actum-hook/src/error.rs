//! Errors of reading an event of a client.

use actum_core::path::Quoted;

/// Bytes of an event at most: 64 MiB.
pub const INPUT_BYTES_MAX: usize = 64 << 20;

/// Input that is no event of the client.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The event is too large.
    #[error("the event has more than {INPUT_BYTES_MAX} bytes")]
    TooLarge,
    /// The input is empty.
    #[error("no event is on standard input, where the client writes it")]
    Empty,
    /// The event is no JSON.
    #[error("the event is no JSON: {problem}")]
    NotJson {
        /// Position and reason.
        problem: String,
    },
    /// A field is missing or of another type.
    #[error("the event has no field `{field}` that is a text")]
    Field {
        /// The field.
        field: &'static str,
    },
    /// The event is about a turn, and something else is missing: nothing has to be refused.
    #[error("the event is about a turn, and {problem}")]
    OfTurn {
        /// Description of the problem.
        problem: String,
    },
    /// The client of the versions that were tested sends no such event.
    #[error("the event `{}` is unknown", Quoted(name.as_bytes()))]
    Unknown {
        /// Name of the event.
        name: String,
    },
}
