//! MCP server as seen by a client.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::bench::Failure;

/// Running server, which exits at the end of its input.
pub(super) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Server {
    pub(super) fn start(command: &mut Command) -> Result<Self, Failure> {
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = streams.spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("the server has no output")?);
        let mut server = Self { child, input, output, id: 0 };
        let client = json!({ "name": "bench", "version": "1" });
        let begin =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        server.request("initialize", &begin)?;
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(server)
    }

    fn send(&mut self, message: &Value) -> Result<(), Failure> {
        let input = self.input.as_mut().ok_or("the server was ended")?;
        Ok(input.write_all(format!("{message}\n").as_bytes())?)
    }

    /// Sends a request and waits for its result.
    pub(super) fn request(&mut self, method: &str, parameters: &Value) -> Result<Value, Failure> {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the server ended".into());
            }
            let mut answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == json!(id) {
                return match answer["result"].take() {
                    Value::Null => Err(answer.to_string().into()),
                    result => Ok(result),
                };
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.child.wait());
    }
}
