//! Transport for JSON-RPC messages, with one message per line (a frame).
//!
//! An invalid frame is answered with an error instead of ending the session, so that the client learns about its mistake.
//! Frames are read on a separate thread, so the input does not have to be asynchronous.

use std::future::{self, Future};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rmcp::model::{ClientRequest, ErrorCode, ErrorData, GetMeta, ProtocolVersion};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Maximum size of a frame, in bytes.
pub(crate) const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Maximum number of messages that wait to be handled. Once it is reached, no further frames are read.
const WAITING_MAX: usize = 64;

type Message = RxJsonRpcMessage<RoleServer>;

/// Output for frames. The lock ensures that concurrently written frames do not interleave.
type Output = Arc<Mutex<Box<dyn Write + Send>>>;

/// Transport that exchanges frames with an MCP client.
pub(crate) struct Frames {
    messages: Receiver<Event>,
    output: Output,
    /// Whether the client has begun a session. Before that, everything except requests is ignored.
    has_begun: bool,
}

/// Event that the reading thread reports.
enum Event {
    Message(Box<Message>),
    End,
}

/// Handle that ends the session from another thread.
pub(crate) struct Ender(Sender<Event>);

impl Ender {
    /// Ends the session as if the client had closed the connection. Does nothing if the session is already over.
    pub(crate) fn end(self) {
        drop(self.0.blocking_send(Event::End));
    }
}

impl Frames {
    /// Starts a thread that reads frames from `input`. Responses are written to `output`.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub(crate) fn new(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> io::Result<(Self, Ender)> {
        let (sender, messages) = channel(WAITING_MAX);
        let output: Output = Arc::new(Mutex::new(Box::new(output)));
        let (to, errors) = (sender.clone(), Arc::clone(&output));
        let read = move || read_all(BufReader::new(input), &to, &errors);
        thread::Builder::new().name("frames".to_owned()).spawn(read)?;
        Ok((Self { messages, output, has_begun: false }, Ender(sender)))
    }
}

impl Transport<RoleServer> for Frames {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        future::ready(
            serde_json::to_vec(&item)
                .map_err(Into::into)
                .and_then(|frame| write(&self.output, frame)),
        )
    }

    async fn receive(&mut self) -> Option<Message> {
        loop {
            let message = match self.messages.recv().await? {
                Event::Message(message) => *message,
                Event::End => return None,
            };
            self.has_begun = self.has_begun || begins(&message);
            // A notification that arrives before the session has begun refers to nothing.
            if self.has_begun || matches!(message, Message::Request(_)) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.messages.close();
        Ok(())
    }
}

/// Whether a message begins a session. This is either an `initialize` request or, in protocol versions without a
/// handshake, a request whose metadata states the protocol version, the client and its capabilities.
fn begins(message: &Message) -> bool {
    let Message::Request(request) = message else { return false };
    let request = &request.request;
    if matches!(request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)) {
        return false;
    }
    let meta = request.get_meta();
    let version = meta.protocol_version();
    let says_all = version.is_some_and(|it| ProtocolVersion::KNOWN_VERSIONS.contains(&it))
        && meta.client_info().is_some()
        && meta.client_capabilities().is_some();
    says_all || matches!(request, ClientRequest::InitializeRequest(_))
}

fn write(output: &Output, mut frame: Vec<u8>) -> io::Result<()> {
    frame.push(b'\n');
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    output.write_all(&frame)?;
    output.flush()
}

/// Reads frames until the input ends or the receiver is dropped.
fn read_all(mut input: impl BufRead, to: &Sender<Event>, errors: &Output) {
    loop {
        let frame = match read_frame(&mut input) {
            Ok(Some(frame)) => frame,
            // The client closed the connection, which ends the session.
            Ok(None) | Err(_) => return drop(to.blocking_send(Event::End)),
        };
        let delivered = match parse(&frame) {
            Ok(None) => Ok(()),
            Ok(Some(message)) => to.blocking_send(Event::Message(message)).map_err(drop),
            Err(error) => write(errors, error.to_string().into_bytes()).map_err(drop),
        };
        if delivered.is_err() {
            return;
        }
    }
}

/// Reads one line and returns it without its line feed. A line that is too long is truncated to one byte more than the limit.
/// Returns `None` at the end of the input, and ignores a last line without a line feed.
fn read_frame(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut frame = Vec::new();
    loop {
        let available = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            available => available?,
        };
        if available.is_empty() {
            return Ok(None);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let bytes = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        let room = (FRAME_BYTES_MAX + 1).saturating_sub(frame.len());
        frame.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        let taken = bytes.len() + usize::from(end.is_some());
        input.consume(taken);
        if end.is_some() {
            return Ok(Some(frame));
        }
    }
}

/// Parses a frame as a message. Returns `None` for an empty line. If the frame is invalid, the error is the response to send.
fn parse(frame: &[u8]) -> Result<Option<Box<Message>>, Value> {
    let frame = frame.trim_ascii();
    if frame.is_empty() {
        return Ok(None);
    }
    if frame.len() > FRAME_BYTES_MAX {
        let message = format!("a frame may be at most {FRAME_BYTES_MAX} bytes");
        return Err(answer(&Value::Null, ErrorCode::INVALID_REQUEST, &message));
    }
    match serde_json::from_slice::<Message>(frame) {
        Ok(message) => Ok(Some(Box::new(message))),
        Err(problem) => Err(reject(frame, &problem)),
    }
}

/// Returns the error response to a frame that is not a valid message.
fn reject(frame: &[u8], problem: &serde_json::Error) -> Value {
    let value = match serde_json::from_slice::<Value>(frame) {
        Ok(value) => value,
        Err(problem) => {
            let message = format!("the frame is not valid JSON: {problem}");
            return answer(&Value::Null, ErrorCode::PARSE_ERROR, &message);
        }
    };
    if value.is_array() {
        let message = "batches are not supported; send each message on its own line";
        return answer(&Value::Null, ErrorCode::INVALID_REQUEST, message);
    }
    let id = value.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64());
    let message = format!("the frame is not an MCP message: {problem}");
    answer(id.unwrap_or(&Value::Null), ErrorCode::INVALID_REQUEST, &message)
}

fn answer(id: &Value, code: ErrorCode, message: &str) -> Value {
    let error = ErrorData::new(code, message.to_owned(), None);
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(frame: &str) -> (Value, Value) {
        let error = parse(frame.as_bytes()).unwrap_err();
        (error["error"]["code"].clone(), error["id"].clone())
    }

    /// Issue 27: an invalid frame gets a JSON-RPC error, with the id of the request if it can be read.
    #[test]
    fn invalid_frame_gets_an_error_response() {
        assert_eq!(code("{"), (json!(-32700), Value::Null));
        assert_eq!(code("[]"), (json!(-32600), Value::Null));
        assert_eq!(code("1"), (json!(-32600), Value::Null));
        assert_eq!(code(r#"{"id": 7, "jsonrpc": "2.0"}"#), (json!(-32600), json!(7)));
        let long = format!("\"{}\"", "x".repeat(FRAME_BYTES_MAX));
        assert_eq!(code(&long), (json!(-32600), Value::Null));
        assert!(parse(b"  \r").unwrap().is_none());
        assert!(parse(br#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#).unwrap().is_some());
    }

    /// Issue 27: a frame that is too long is truncated, and the frame after it is still read.
    #[test]
    fn oversized_frame_is_truncated_and_the_next_one_is_read() {
        let input = format!("{}\nnext\nunfinished", "x".repeat(FRAME_BYTES_MAX + 10));
        let mut input = input.as_bytes();
        assert_eq!(
            read_frame(&mut input).unwrap().map(|frame| frame.len()),
            Some(FRAME_BYTES_MAX + 1)
        );
        assert_eq!(read_frame(&mut input).unwrap().as_deref(), Some(&b"next"[..]));
        assert_eq!(read_frame(&mut input).unwrap(), None);
    }
}
