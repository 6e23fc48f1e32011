//! Hooks of agent clients. A client runs `actum hook` before and after it edits files with its own
//! tools.
//!
//! Before an edit, actum computes the change and lets the gates judge it. An allowed edit is made
//! by the client itself; actum keeps what the files held ([`before`]). After the edit the change
//! becomes a run ([`after`]): judged as it really is, signed, and undoable. A change that the gates
//! refuse only then is undone.
//!
//! At the beginning of a turn actum notes the state of the workspace, and at its end it finds what
//! was changed without a run, such as by a command ([`Moment::TurnStart`], [`Moment::TurnEnd`]).
//!
//! [`Client`] has what differs between clients, as one table each.

mod answer;
mod client;
mod edit;
mod error;
mod event;
mod handle;
pub mod probe;
pub mod settings;
pub mod shell;

pub use answer::Answer;
pub use client::Client;
pub use edit::{Edit, EditError, resolve_links};
pub use error::{EventError, INPUT_BYTES_MAX};
pub use event::{Event, Moment, session_digest};
pub use handle::{After, Before, Caller, after, before, files};
