//! MCP server. It handles the protocol on one thread and executes each tool call on another.

use std::future::Future;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{QuitReason, RequestContext, RoleServer, ServerInitializeError, serve_server};
use rmcp::{ServerHandler, model};
use serde_json::{Map, Value};
use tokio::task::JoinError;
use tokio::time::timeout;

use crate::answer::Answer;
use crate::arguments;
use crate::call::{self, Call, Host};
use crate::seen::Seen;
use crate::tool::Tool;
use crate::transport::Frames;

/// Maximum number of tool calls that are executed at the same time. Further calls wait.
const CALLS_MAX: usize = 8;
/// Interval at which a long call sends progress notifications.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);
/// Maximum time that the server waits for running calls after the client has disconnected. A change that is interrupted after
/// that is rolled back later.
const GRACE: Duration = Duration::from_secs(30);

const INSTRUCTIONS: &str = "Changes made through actum are applied completely or not at all, and can be undone. \
    A refusal includes a reason and hints. A change that needs approval is queued as a plan, which only a user can \
    approve, on the command line.";

/// Settings of an MCP server.
pub struct Config {
    /// Version of actum, which is sent to the client.
    pub version: String,
    /// Name of the client's session. Repeated calls are only recognized within the same session.
    pub session: String,
    /// Name that is recorded for the client's runs, instead of the name that the client sends.
    pub agent: Option<String>,
    /// Function that blocks until the server must stop, for example because of a signal.
    pub wait_for_end: Box<dyn FnOnce() + Send>,
}

/// Failure of an MCP server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The system could not create the threads or the runtime of the server.
    #[error("cannot start the MCP server")]
    Start(#[source] io::Error),
    /// The client sent something other than the initialization of a session.
    #[error("the client did not start an MCP session")]
    NoSession(#[source] Box<ServerInitializeError>),
    /// The task that handles the protocol panicked or was cancelled.
    #[error("the MCP server failed")]
    Failed(#[source] JoinError),
}

/// Serves a client until it disconnects or the server must stop.
///
/// # Errors
/// Returns [`ServeError`] if the server cannot start or the protocol fails. It is not an error if the client closes the
/// connection.
pub fn serve(
    host: impl Host,
    config: Config,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(CALLS_MAX)
        .build()
        .map_err(ServeError::Start)?;
    let Config { version, session, agent, wait_for_end } = config;
    let (frames, ender) = Frames::new(input, output).map_err(ServeError::Start)?;
    let wait = move || {
        wait_for_end();
        ender.end();
    };
    thread::Builder::new().name("end".to_owned()).spawn(wait).map_err(ServeError::Start)?;
    let server =
        Server { host: Arc::new(host), version, session, agent, seen: Arc::new(Seen::default()) };
    let ended = runtime.block_on(async {
        let running = match serve_server(server, frames).await {
            Ok(running) => running,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::NoSession(Box::new(error))),
        };
        let reason = running.waiting().await.map_err(ServeError::Failed)?;
        if let QuitReason::JoinError(error) = reason {
            return Err(ServeError::Failed(error));
        }
        Ok(())
    });
    runtime.shutdown_timeout(GRACE);
    ended
}

struct Server<H> {
    host: Arc<H>,
    version: String,
    session: String,
    agent: Option<String>,
    seen: Arc<Seen>,
}

impl<H: Host> ServerHandler for Server<H> {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("actum", &self.version))
            .with_instructions(INSTRUCTIONS)
    }

    fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send + '_ {
        let tools = Tool::ALL.into_iter().map(Tool::listed).collect();
        std::future::ready(Ok(ListToolsResult::with_all_items(tools)))
    }

    fn get_tool(&self, name: &str) -> Option<model::Tool> {
        Tool::from_name(name).map(Tool::listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::from_name(&request.name) else {
            let names: Vec<_> = Tool::ALL.iter().map(|tool| tool.name()).collect();
            let name: String = request.name.chars().take(80).collect();
            let message = format!("unknown tool `{name}`; available tools: {}", names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let named = context.client_info().and_then(|client| call::agent(&client.name));
        let cancelled = context.ct.clone();
        let call = Call {
            agent: self.agent.clone().or(named),
            key: call::key(&self.session, tool.name(), &context.meta),
            seen: Arc::clone(&self.seen),
            is_cancelled: Box::new(move || cancelled.is_cancelled()),
        };
        let (host, arguments) = (Arc::clone(&self.host), request.arguments.unwrap_or_default());
        let mut answer =
            tokio::task::spawn_blocking(move || carry_out(&*host, tool, arguments, &call));
        let token = context.meta.get_progress_token();
        let mut periods: u32 = 0;
        let answer = loop {
            if let Ok(answer) = timeout(PROGRESS_EVERY, &mut answer).await {
                break answer;
            }
            let Some(token) = token.clone() else { continue };
            periods = periods.saturating_add(1);
            let message = format!("`{}` is running", tool.name());
            let progress =
                ProgressNotificationParam::new(token, periods.into()).with_message(message);
            // Ignore errors, because a client that does not accept notifications must still get the answer.
            drop(context.peer.notify_progress(progress).await);
        };
        let answer = answer.unwrap_or_else(|_| Answer::defect(tool.name()));
        Ok(answer.into_result().into())
    }

    /// Returns the error for a request that `rmcp` does not recognize, because its method is unknown or its parameters are
    /// invalid for the method.
    fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CustomResult, ErrorData>> + Send + '_ {
        let method: String = request.method.chars().take(80).collect();
        let error = match method.as_str() {
            "tools/call" | "tools/list" | "initialize" | "server/discover" | "ping" => {
                let message = format!("invalid parameters for `{method}`");
                ErrorData::invalid_params(message, None)
            }
            _ => {
                let message = format!("unknown method `{method}`");
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
            }
        };
        std::future::ready(Err(error))
    }
}

fn carry_out(host: &impl Host, tool: Tool, arguments: Map<String, Value>, call: &Call) -> Answer {
    if call.is_cancelled() {
        return Answer::cancelled(tool.name());
    }
    let answered = match tool {
        Tool::Apply => arguments::read(arguments).map(|it| host.apply(it, call)),
        Tool::Exec => arguments::read(arguments).map(|it| host.exec(it, call)),
        Tool::Undo => arguments::read(arguments).map(|it| host.undo(it, call)),
        Tool::Log => arguments::read(arguments).map(|it| host.log(it)),
        Tool::Show => arguments::read(arguments).map(|it| host.show(it)),
        Tool::Status => arguments::read(arguments).map(|it| host.status(it)),
        Tool::Read => arguments::read(arguments).map(|it| host.read(it, call)),
    };
    answered.unwrap_or_else(|problem| Answer::usage(tool.name(), &problem))
}
