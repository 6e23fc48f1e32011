//! The server: the protocol on one thread, each call of a tool on another.

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

/// Limit of the calls that are carried out at the same time; further ones wait.
const CALLS_MAX: usize = 8;
/// Interval at which a long call reports its progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);
/// Time limit of calls that cannot be cancelled, once the client is gone. A change that is cut off
/// is rolled back later.
const GRACE: Duration = Duration::from_secs(30);

const INSTRUCTIONS: &str = "Changes through actum are all or nothing and can be undone. A refusal has a reason and hints. \
    A change that needs approval waits as a plan; only a person approves it, on the command line.";

/// Settings of a server.
pub struct Config {
    /// Version of the program.
    pub version: String,
    /// Session of the client, by which repeated calls are recognised.
    pub session: String,
    /// Name under which the client's runs are recorded, instead of its own.
    pub agent: Option<String>,
    /// Waits until the server has to end.
    pub wait_for_end: Box<dyn FnOnce() + Send>,
}

/// Failure of the server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There can be no thread or no runtime.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
    /// The client did not begin a session.
    #[error("the client began no session")]
    NoSession(#[source] Box<ServerInitializeError>),
    /// The protocol failed.
    #[error("the server failed")]
    Failed(#[source] JoinError),
}

/// Serves a client until it is gone.
///
/// # Errors
/// [`ServeError`]. A client that closes its end causes no error.
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
            let message = format!("there is no tool `{name}`; there are {}", names.join(", "));
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
            // A client that takes no notifications still gets the answer.
            drop(context.peer.notify_progress(progress).await);
        };
        let answer = answer.unwrap_or_else(|_| Answer::defect(tool.name()));
        Ok(answer.into_result().into())
    }

    /// Answers a request that the protocol does not know: another method, or parameters that are
    /// not those of the method.
    fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CustomResult, ErrorData>> + Send + '_ {
        let method: String = request.method.chars().take(80).collect();
        let error = match method.as_str() {
            "tools/call" | "tools/list" | "initialize" | "server/discover" | "ping" => {
                let message = format!("the parameters of `{method}` are not those that MCP has");
                ErrorData::invalid_params(message, None)
            }
            _ => {
                let message = format!("there is no method `{method}`");
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
