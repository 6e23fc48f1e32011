//! A client that starts `actum mcp` in a workspace and communicates with it over JSON-RPC.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};

use serde_json::{Value, json};

use crate::program::{Ended, actum, command, workspace};

/// A workspace in which commands have the environment of a client.
pub(crate) struct Place {
    _directory: tempfile::TempDir,
    pub(crate) root: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let (directory, root) = workspace();
        Self { _directory: directory, root: root.canonicalize().unwrap() }
    }

    pub(crate) fn actum(&self, arguments: &[&str]) -> Ended {
        actum(&self.root, arguments)
    }

    /// Returns the runs, newest first.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let log = self.actum(&["log", "--json"]);
        let log: Value = serde_json::from_str(&log.stdout).unwrap();
        log["runs"].as_array().unwrap().clone()
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        fs::write(self.root.join(path), content).unwrap();
    }
}

/// A running server and the client's connection to it.
pub(crate) struct Client {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
}

/// The answer to a tool call.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) is_error: bool,
    pub(crate) text: String,
    pub(crate) structured: Value,
}

impl Client {
    /// Starts a server without beginning a session.
    pub(crate) fn start(root: &Path) -> Self {
        let mut command = command(root, &["mcp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output, id: 0 }
    }

    /// Starts a server and begins a session with the handshake.
    pub(crate) fn new(root: &Path) -> Self {
        let mut client = Self::start(root);
        let answer = client.initialize();
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        client
    }

    pub(crate) fn initialize(&mut self) -> Value {
        let client = json!({"name": "test-client", "version": "1"});
        let parameters =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let answer = self.request("initialize", &parameters);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        answer
    }

    pub(crate) fn send(&mut self, frame: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(frame.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    /// Returns the next message of the server.
    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the server closed its end");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request and returns its id.
    pub(crate) fn begin(&mut self, method: &str, parameters: &Value) -> u64 {
        self.id += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": parameters});
        self.send(&request.to_string());
        self.id
    }

    pub(crate) fn request(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.begin(method, parameters);
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Answer {
        self.call_as(None, tool, arguments)
    }

    /// Calls a tool with an id chosen by the client.
    pub(crate) fn call_as(&mut self, id: Option<&str>, tool: &str, arguments: &Value) -> Answer {
        let answer = self.request("tools/call", &parameters(id, tool, arguments));
        let result = &answer["result"];
        assert!(result.is_object(), "{answer}");
        Answer {
            is_error: result["isError"].as_bool().unwrap(),
            text: result["content"][0]["text"].as_str().unwrap().to_owned(),
            structured: result["structuredContent"].clone(),
        }
    }

    /// Closes the client's side, and returns the remaining output and the exit status of the server.
    pub(crate) fn close(&mut self) -> (String, ExitStatus) {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap())
    }
}

/// Stops the server if a failed test leaves it running, because it would outlive the test.
impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn parameters(id: Option<&str>, tool: &str, arguments: &Value) -> Value {
    let mut parameters = json!({"name": tool, "arguments": arguments});
    if let Some(id) = id {
        parameters["_meta"] = json!({"claudecode/toolUseId": id});
    }
    parameters
}
