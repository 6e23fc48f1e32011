//! Scripted model server on the loopback interface, used to try out the hooks of a real client.
//!
//! A client that uses this server as its model receives the tool calls of a script one after another, and
//! the server collects the results of the tools. Each submodule implements as much of one model API as a
//! client needs for a single conversation.

mod chat;
mod gemini;
mod messages;
mod responses;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// Maximum size of a request, in bytes: 16 MiB. Requests are large because clients send their system prompt
/// and the descriptions of all tools.
const REQUEST_BYTES_MAX: u64 = 16 << 20;
/// Maximum number of connections that the server accepts during its lifetime.
const CONNECTIONS_MAX: usize = 200;
/// Time after which a read from a client's connection fails.
const REQUEST_TIME: Duration = Duration::from_secs(20);
/// Prefix of the tool call ids that the server assigns.
pub const CALL_PREFIX: &str = "toolu_actum_";
/// Message of the model that ends the conversation.
const END: &str = "done";

/// Model API that the server implements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Messages API of Anthropic.
    Messages,
    /// Responses API of OpenAI.
    Responses,
    /// Chat Completions API of OpenAI.
    Chat,
    /// Gemini API with `generateContent` and `streamGenerateContent`.
    Gemini,
}

/// Tool call in the script of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Name of the tool in the client.
    pub tool: &'static str,
    /// Input of the tool. With [`Wire::Responses`], a string as input calls a free-form tool.
    pub input: Value,
}

/// Result of a tool call, as the client reports it to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// Whether the tool failed, or `None` if the protocol cannot express that.
    pub is_error: Option<bool>,
    /// Text of the result for the model.
    pub text: String,
}

/// State of the conversation in a request. Every request contains the complete conversation, so a retry is
/// harmless.
#[derive(Debug, PartialEq)]
struct Conversation {
    /// Whether the model may call tools. Clients also send requests without tools, for example to generate a
    /// title.
    has_tools: bool,
    /// Whether the client requested the answer as a stream of events.
    is_streamed: bool,
    /// Number of tool calls that the model has made so far.
    calls: usize,
    /// Results of tool calls, each with the index of its call in the script.
    results: Vec<(usize, ToolResult)>,
}

/// Answer of the model, which is either the next tool call or the end of the conversation.
struct Answer<'a> {
    /// Index of the call in the script.
    index: usize,
    call: Option<&'a Call>,
    /// Name of the model, copied from the request.
    model: Value,
    is_streamed: bool,
}

impl Wire {
    /// Parses a request, or returns `None` if the path does not belong to this API.
    fn read(self, path: &str, body: &Value) -> Option<Conversation> {
        match self {
            Self::Messages => messages::read(path, body),
            Self::Responses => responses::read(path, body),
            Self::Chat => chat::read(path, body),
            Self::Gemini => gemini::read(path, body),
        }
    }

    /// Formats an answer as a JSON document or as a stream of events.
    fn write(self, answer: &Answer<'_>) -> String {
        match self {
            Self::Messages => messages::write(answer),
            Self::Responses => responses::write(answer),
            Self::Chat => chat::write(answer),
            Self::Gemini => gemini::write(answer),
        }
    }
}

/// Model server that makes the tool calls of a script one after another, and then ends the conversation.
pub struct ScriptedModel {
    address: SocketAddr,
    exchange: Arc<Exchange>,
    is_over: Arc<AtomicBool>,
}

/// State that is shared by all connections of a server.
struct Exchange {
    wire: Wire,
    script: Vec<Call>,
    results: Mutex<Vec<Option<ToolResult>>>,
}

impl ScriptedModel {
    /// Starts a server for the script on a free port of 127.0.0.1, in background threads.
    ///
    /// # Errors
    /// Returns an error if no port can be bound.
    pub fn serve(wire: Wire, script: Vec<Call>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let exchange = Arc::new(Exchange::new(wire, script));
        let model = Self { address, exchange: Arc::clone(&exchange), is_over: Arc::default() };
        let is_over = Arc::clone(&model.is_over);
        thread::spawn(move || {
            for stream in listener.incoming().take(CONNECTIONS_MAX) {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let exchange = Arc::clone(&exchange);
                // Errors are ignored, because a client opens a new connection if this one breaks.
                thread::spawn(move || drop(exchange.serve(&stream)));
            }
        });
        Ok(model)
    }

    /// Returns the base URL of the server, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the results of the tool calls in script order, with `None` for a call that has no result yet.
    pub fn results(&self) -> Vec<Option<ToolResult>> {
        self.exchange.results.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address)); // wakes the server thread, which then exits
    }
}

impl Exchange {
    fn new(wire: Wire, script: Vec<Call>) -> Self {
        let results = Mutex::new(vec![None; script.len()]);
        Self { wire, script, results }
    }

    /// Reads one request from a connection and answers it.
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(REQUEST_TIME))?;
        let mut reader = BufReader::new(stream);
        let Some((method, path, length)) = read_head(&mut reader)? else { return Ok(()) };
        let mut body = Vec::new();
        reader.take(length.min(REQUEST_BYTES_MAX)).read_to_end(&mut body)?;
        let path = path.split('?').next().unwrap_or_default();
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        if method != "POST" {
            return respond(
                stream,
                "application/json",
                br#"{"object":"list","data":[],"models":[]}"#,
            );
        }
        if path.ends_with("count_tokens") || path.ends_with(":countTokens") {
            return respond(stream, "application/json", br#"{"input_tokens":1,"totalTokens":1}"#);
        }
        match self.answer(path, &body) {
            Some((kind, text)) => respond(stream, kind, text.as_bytes()),
            None => write_response(stream, "404 Not Found", "application/json", b"{}"),
        }
    }

    /// Stores the tool results of a request, and returns the content type and body of the answer. Returns `None`
    /// if the path does not belong to the model API.
    fn answer(&self, path: &str, body: &Value) -> Option<(&'static str, String)> {
        let conversation = self.wire.read(path, body)?;
        let Conversation { has_tools, is_streamed, calls: index, results } = conversation;
        let mut known = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, result) in results {
            if let Some(known) = known.get_mut(place) {
                *known = Some(result);
            }
        }
        drop(known);
        let call = self.script.get(index).filter(|_| has_tools);
        let model = body.get("model").cloned().unwrap_or(Value::Null);
        let text = self.wire.write(&Answer { index, call, model, is_streamed });
        Some((if is_streamed { "text/event-stream" } else { "application/json" }, text))
    }
}

/// Reads the head of a request, and returns its method, path and body length. Returns `None` if the connection
/// was closed or the request line is malformed.
fn read_head(reader: &mut impl BufRead) -> io::Result<Option<(String, String, u64)>> {
    let mut head = reader.take(64 << 10);
    let mut line = String::new();
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let mut length = 0;
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 || line.trim().is_empty() {
            return Ok(Some((method, path, length)));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
}

fn respond(stream: &TcpStream, kind: &str, body: &[u8]) -> io::Result<()> {
    write_response(stream, "200 OK", kind, body)
}

fn write_response(mut stream: &TcpStream, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

/// Returns the id of the tool call with this index in the script.
fn call_id(index: usize) -> String {
    format!("{CALL_PREFIX}{index}")
}

/// Returns the script index of the tool call whose id is in the given field.
fn call_index(item: &Value, field: &str) -> Option<usize> {
    text(item, field)?.strip_prefix(CALL_PREFIX)?.parse().ok()
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_streamed(body: &Value) -> bool {
    body.get("stream").and_then(Value::as_bool) == Some(true)
}

/// Returns the text of a message content, which is either a string or a list of text blocks.
fn flatten(content: Option<&Value>) -> String {
    match content {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().filter_map(|block| text(block, "text"));
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(other) => other.to_string(),
    }
}

/// Formats server-sent events that are named after their `type` field.
fn named_events(events: &[Value]) -> String {
    let event = |event: &Value| {
        let kind = text(event, "type").unwrap_or_default();
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns an exchange with a script of two tool calls.
    pub(super) fn exchange(wire: Wire) -> Exchange {
        let call = |number: u32| Call { tool: "write", input: json!({ "number": number }) };
        Exchange::new(wire, vec![call(0), call(1)])
    }

    /// Returns the answer to a request, which must not be a stream.
    pub(super) fn ask(exchange: &Exchange, path: &str, body: &Value) -> Value {
        let (kind, text) = exchange.answer(path, body).unwrap();
        assert_eq!(kind, "application/json");
        serde_json::from_str(&text).unwrap()
    }

    /// Returns the documents of an answer, which must be a stream of events.
    pub(super) fn ask_stream(exchange: &Exchange, path: &str, body: &Value) -> Vec<Value> {
        let (kind, text) = exchange.answer(path, body).unwrap();
        assert_eq!(kind, "text/event-stream");
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }

    pub(super) fn result(exchange: &Exchange, index: usize) -> Option<ToolResult> {
        exchange.results.lock().unwrap()[index].clone()
    }

    fn request(url: &str, head: &str, body: &str) -> String {
        let address = url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        write!(stream, "{head} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Issue 27: the server answers only the API that it was started for.
    #[test]
    fn the_server_answers_its_api_and_rejects_other_paths() {
        let model = ScriptedModel::serve(Wire::Chat, Vec::new()).unwrap();
        let body = r#"{"messages":[],"tools":[{}]}"#;
        let answer = request(&model.url(), "POST /v1/chat/completions?x=1", body);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(END), "{answer}");
        assert!(request(&model.url(), "POST /v1/messages", body).starts_with("HTTP/1.1 404"));
        assert!(request(&model.url(), "GET /v1/models", "").contains("\"models\":[]"));
    }
}
