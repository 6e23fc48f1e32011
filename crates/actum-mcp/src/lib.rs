//! MCP server on stdio: tools by which agents change a workspace all-or-nothing, undoable.
//!
//! A [`Host`] carries out the tools in a workspace. This crate has the protocol, the tools and
//! their arguments, the answers in both forms, the digests of files that the client has seen, and
//! the request keys.
#![forbid(unsafe_code)]

mod answer;
mod arguments;
mod call;
mod runs;
mod seen;
mod server;
mod tool;
mod transport;

pub use answer::{Answer, Changed, ChangedPath, Excerpt, Executed, FileRead, Refused};
pub use arguments::{Apply, Change, Command, Exec, Log, Read, Show, Status, Undo};
pub use call::{Call, Host};
pub use runs::{Listed, Shown};
pub use seen::{Seen, Stale};
pub use server::{Config, ServeError, serve};
pub use tool::Tool;
