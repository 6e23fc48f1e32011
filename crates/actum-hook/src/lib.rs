//! Hooks for agent clients, which run `actum hook` before and after they edit files with their own tools.
//!
//! Before an edit, actum computes the change and evaluates the gates ([`before`]). If they allow the edit,
//! actum takes a snapshot of the files, and the client makes the edit itself. After the edit, the actual
//! change becomes a run ([`after`]): the gates evaluate it again, and it is signed and can be undone. If the
//! gates refuse it this time, actum undoes the change.
//!
//! At the start of a turn, actum records the state of the workspace. At its end, actum finds changes that
//! were made without a run, for example by a command ([`Moment::TurnStart`], [`Moment::TurnEnd`]).
//!
//! The differences between clients are in one table per [`Client`].

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
