//! A proof that a client calls the hook: a model made of a script, on the loopback interface, tells the person's own client to edit
//! files, and reads what its tools answered.
//!
//! It speaks the Messages API of Anthropic, streamed and not, as far as a client needs it for one conversation.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// Bytes of one request at most: 16 MiB. A client sends its prompt and the descriptions of its tools.
const REQUEST_BYTES_MAX: u64 = 16 << 20;
/// Connections that are served at most.
const CONNECTIONS_MAX: usize = 200;
/// How long a client may take to send one request.
const REQUEST_TIME: Duration = Duration::from_secs(20);

/// Call of a tool that the model makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool, as the client names it.
    pub tool: &'static str,
    /// Its input.
    pub input: Value,
}

/// What a tool of the client answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// Whether the client says that it failed.
    pub is_error: bool,
    /// The text that the model reads.
    pub text: String,
}

/// A model that makes one call after the other, and then ends.
pub struct ScriptedModel {
    address: SocketAddr,
    script: Arc<Vec<Call>>,
    results: Arc<Mutex<Vec<Option<ToolResult>>>>,
    is_over: Arc<AtomicBool>,
}

impl ScriptedModel {
    /// Serves the script on a free port of 127.0.0.1, in threads of its own.
    ///
    /// # Errors
    /// Those of binding the port.
    pub fn serve(script: Vec<Call>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let results = Arc::new(Mutex::new(vec![None; script.len()]));
        let model = Self { address, script: Arc::new(script), results, is_over: Arc::default() };
        let (script, results) = (Arc::clone(&model.script), Arc::clone(&model.results));
        let is_over = Arc::clone(&model.is_over);
        thread::spawn(move || {
            for stream in listener.incoming().take(CONNECTIONS_MAX) {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (script, results) = (Arc::clone(&script), Arc::clone(&results));
                // A connection that breaks is the client's to open again.
                thread::spawn(move || drop(answer(&stream, &script, &results)));
            }
        });
        Ok(model)
    }

    /// Where the client finds the model.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the tools answered, in the order of the script; `None` for a call that was not answered.
    pub fn results(&self) -> Vec<Option<ToolResult>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address)); // wakes the thread, which ends then
    }
}

/// Answers the requests of one connection.
fn answer(
    stream: &TcpStream,
    script: &[Call],
    results: &Mutex<Vec<Option<ToolResult>>>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_TIME))?;
    let mut reader = BufReader::new(stream);
    let Some((method, path, length)) = read_head(&mut reader)? else { return Ok(()) };
    let mut body = Vec::new();
    reader.take(length.min(REQUEST_BYTES_MAX)).read_to_end(&mut body)?;
    let path = path.split('?').next().unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if method != "POST" {
        return respond(stream, "application/json", b"{}");
    }
    if path.ends_with("count_tokens") {
        return respond(stream, "application/json", b"{\"input_tokens\":1}");
    }
    if !path.ends_with("/messages") {
        return write_response(stream, "404 Not Found", "application/json", b"{}");
    }
    note_results(&body, script, results);
    let message = message(&body, script);
    match body.get("stream").and_then(Value::as_bool) {
        Some(true) => respond(stream, "text/event-stream", events(&message).as_bytes()),
        Some(false) | None => respond(stream, "application/json", message.to_string().as_bytes()),
    }
}

/// Method, path and length of the body of a request; `None` where the connection is closed.
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

fn messages(body: &Value) -> &[Value] {
    body.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// With which the ids of the calls begin.
pub const CALL_PREFIX: &str = "toolu_actum_";

/// Id of the call at this place of the script.
fn call_id(index: usize) -> String {
    format!("{CALL_PREFIX}{index}")
}

/// Notes what tools answered. Each request has the whole conversation.
fn note_results(body: &Value, script: &[Call], results: &Mutex<Vec<Option<ToolResult>>>) {
    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
    let blocks = messages(body).iter().filter_map(|message| message.get("content")?.as_array());
    for block in blocks.flatten() {
        let id = block.get("tool_use_id").and_then(Value::as_str);
        let index = (0..script.len()).find(|index| Some(call_id(*index).as_str()) == id);
        let Some(result) = index.and_then(|index| results.get_mut(index)) else { continue };
        let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        let text = match block.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(content) => content.to_string(),
            None => String::new(),
        };
        *result = Some(ToolResult { is_error, text });
    }
}

/// The next message of the model: the call behind those that were made, or the end. A request without tools is about something
/// else, such as a title.
fn message(body: &Value, script: &[Call]) -> Value {
    let has_tools = body.get("tools").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    let is_mine =
        |message: &&Value| message.get("role").and_then(Value::as_str) == Some("assistant");
    let index = messages(body).iter().filter(is_mine).count();
    let (content, stop) = match script.get(index).filter(|_| has_tools) {
        Some(Call { tool, input }) => (
            json!([{ "type": "tool_use", "id": call_id(index), "name": tool, "input": input }]),
            "tool_use",
        ),
        None => (json!([{ "type": "text", "text": "done" }]), "end_turn"),
    };
    json!({
        "id": format!("msg_actum_{index}"), "type": "message", "role": "assistant",
        "model": body.get("model"), "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": { "input_tokens": 1, "output_tokens": 1 },
    })
}

/// The same message as server-sent events.
fn events(message: &Value) -> String {
    let mut start = message.clone();
    if let Some(start) = start.as_object_mut() {
        start.insert("content".to_owned(), json!([]));
        start.insert("stop_reason".to_owned(), Value::Null);
    }
    let mut events = vec![json!({ "type": "message_start", "message": start })];
    let blocks = message.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (index, block) in blocks.iter().enumerate() {
        // A block begins empty, and one delta has all of it.
        let mut opened = block.as_object().cloned().unwrap_or_default();
        let delta = match opened.get("input") {
            Some(input) => {
                let partial = input.to_string();
                opened.insert("input".to_owned(), json!({}));
                json!({ "type": "input_json_delta", "partial_json": partial })
            }
            None => {
                let text = opened.insert("text".to_owned(), json!(""));
                json!({ "type": "text_delta", "text": text })
            }
        };
        events.push(
            json!({ "type": "content_block_start", "index": index, "content_block": opened }),
        );
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": message.get("stop_reason"), "stop_sequence": null });
    let usage = json!({ "output_tokens": 1 });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    events.push(json!({ "type": "message_stop" }));
    let mut text = String::new();
    for event in events {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        text.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
    }
    text
}
