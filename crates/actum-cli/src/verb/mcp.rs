//! `actum mcp`: a Model Context Protocol (MCP) server, which an agent's client starts.

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

/// Serve the tools of actum to an agent's client with MCP over standard input and output
///
/// The client starts the server in a project and calls its tools `apply`, `exec`, `undo`, `log`, `show`, `status` and
/// `read`. Changes made with these tools are judged and recorded like those of `actum apply`, and can be undone. A
/// change that needs approval is queued as a plan, whose id is in the answer. No tool can approve a plan. The server
/// exits when the client closes the connection.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Record NAME as the agent that makes the requests, instead of the name of the client
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    /// Set the session of the calls. A call that is repeated with the same id in the same session is carried out only
    /// once. By default, the session is identified by the process that started the server
    #[arg(long, value_name = "NAME", value_parser = label)]
    session: Option<String>,
    #[command(flatten)]
    lease: LeaseArgument,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    if io::stdin().is_terminal() {
        session.screen.note("waiting for an MCP client on standard input; see `actum help mcp`");
    }
    // Threads inherit the signal mask of the thread that starts them, so no signal can interrupt a run from here on.
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
            message: format!(
                "the client did not start an MCP session: {source}; nothing was changed"
            ),
        }),
        Err(error @ (ServeError::Start(_) | ServeError::Failed(_))) => {
            Err(failed(io::Error::other(error)))
        }
    }
}

/// Wraps an I/O error of the server in a `Failure`.
fn failed(source: io::Error) -> Failure {
    Failure::Unreadable { input: "the client".to_owned(), source }
}
