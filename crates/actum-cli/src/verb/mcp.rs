//! `actum mcp`: a server of the Model Context Protocol, which an agent's client starts.

mod command;
mod host;

use std::io::{self, IsTerminal};

use actum_mcp::{Config, ServeError, serve};

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::LeaseArgument;
use crate::run_arguments::label;
use crate::{client_session, signals};
use host::ClientHost;

/// Serve the tools of actum to an agent's client, by MCP on standard input and output
///
/// The client starts the server in a project, and calls its tools: `apply`, `exec`, `undo`, `log`, `show`, `status` and
/// `read`. Each change is judged, recorded and undoable like one of `actum apply`. A change that needs approval waits
/// as a plan, which the answer names; no tool approves. The server ends when the client closes its end.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Record NAME as the agent that makes the requests, instead of the name of the client
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    /// Set the session of the calls: a call that is repeated under its id in the same session is carried out once.
    /// Without it, the session is the process that started this one
    #[arg(long, value_name = "NAME", value_parser = label)]
    session: Option<String>,
    #[command(flatten)]
    lease: LeaseArgument,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    if io::stdin().is_terminal() {
        session
            .screen
            .note("an MCP server waits for a client on standard input; see `actum help mcp`");
    }
    // All threads that start now hold signals, so that no signal interrupts a run.
    let _held = signals::hold();
    let waiting = signals::waiting().map_err(failed)?;
    let config = Config {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        session: arguments.session.clone().unwrap_or_else(client_session::name),
        agent: arguments.agent.clone(),
        wait_for_end: Box::new(move || {
            waiting.wait();
            waiting.take();
        }),
    };
    let host = ClientHost::new(session, arguments.lease.clone());
    match serve(host, config, io::stdin(), io::stdout()) {
        Ok(()) => Ok(Exit::Success),
        Err(ServeError::NoSession(source)) => Err(Failure::Usage {
            message: format!("the client began no session of MCP: {source}; nothing was changed"),
        }),
        Err(error @ (ServeError::Start(_) | ServeError::Failed(_))) => {
            Err(failed(io::Error::other(error)))
        }
    }
}

/// Makes the failure to run the server.
fn failed(source: io::Error) -> Failure {
    Failure::Unreadable { input: "the client".to_owned(), source }
}
