//! Errors that occur when a client's event is read.

use actum_core::path::Quoted;

/// Maximum size of an event, in bytes: 64 MiB.
pub const INPUT_BYTES_MAX: usize = 64 << 20;

/// Reason why the input is not a usable event of the client.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The event is larger than [`INPUT_BYTES_MAX`].
    #[error("the event is larger than {INPUT_BYTES_MAX} bytes")]
    TooLarge,
    /// Standard input contains no event.
    #[error("expected an event of the client on standard input, which is empty")]
    Empty,
    /// The event is not valid JSON.
    #[error("the event is not valid JSON: {problem}")]
    NotJson {
        /// Error of the JSON parser, with its position.
        problem: String,
    },
    /// A required field is missing or has an unexpected type or value.
    #[error("the event's field `{field}` is missing or invalid")]
    Field {
        /// Name of the field.
        field: &'static str,
    },
    /// The event marks the start or end of a turn and cannot be used. The client does not have to be stopped, because
    /// it asks for no decision at such an event.
    #[error("the event about a turn cannot be used: {problem}")]
    OfTurn {
        /// Reason why the event cannot be used.
        problem: String,
    },
    /// The event is unknown, since no tested version of the client sends it.
    #[error("the event `{}` is unknown", Quoted(name.as_bytes()))]
    Unknown {
        /// Name of the event, as the client sent it.
        name: String,
    },
}
