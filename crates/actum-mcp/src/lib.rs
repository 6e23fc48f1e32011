//! MCP server on stdio, whose tools let agents change a workspace atomically and undo the changes.
//!
//! A [`Host`] executes the tools in a workspace. This crate implements the protocol, the definitions of the tools, and their
//! arguments and answers. It also derives request keys, and detects edits that are based on outdated file content.
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
