//! `cargo xtask bench hooks`: cost that actum adds to an agent's client. It compares hooks, as whole processes, with
//! `true`, `git status` and a plain write, and calls of the MCP server with those of an empty server.

mod page;
mod server;

use std::fs::{create_dir_all, write};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::contest::{Bar, Contest, Limit};
use super::machine::Machine;
use super::options::Options;
use super::place::Grounds;
use super::race::{Contestant, race, time};
use super::{Failure, finish, take_precedence};
use crate::{Outcome, packages};
use server::Server;

/// Page that a full run writes.
const PAGE: &str = "docs/benchmarks-hooks.md";
const TRUE: &str = "`true`";
const NOTHING: &str = "hook, nothing to say";
const COMMAND: &str = "hook, a command is judged";
const PLAIN: &str = "a plain write";
const EDIT: &str = "hook, write, hook";
const STATUS: &str = "`git status`";
const PROMPT: &str = "hook at a prompt";
const STOP: &str = "hook at the end of a turn";
const PING: &str = "`ping`";
const APPLY: &str = "`apply`, 1 file";
/// Number of files in the workspace in which turns begin and end.
const FILES: usize = 10_000;
/// Number of files in one directory.
const TOGETHER: usize = 50;

/// Results of the hook benchmark.
struct Results {
    machine: Machine,
    contests: Vec<Contest>,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    packages::require("bench")?;
    take_precedence();
    let program = super::build_actum(root)?;
    let grounds = Grounds::make()?;
    let results = measure(options, &program, &grounds);
    eprintln!("removing what was made");
    grounds.clear()?;
    let results = results?;
    if results.contests.is_empty() {
        return Err("the pattern selects nothing; nothing was measured".into());
    }
    finish(root, PAGE, &page::render(&results), options)
}

fn measure(options: &Options, program: &Path, grounds: &Grounds) -> Result<Results, Failure> {
    let mut results = Results { machine: Machine::this(&["git"]), contests: Vec::new() };
    let home = grounds.home()?;
    if options.selects("event") {
        eprintln!("calling the hook");
        let project = Project::make(program, &home.join("event"), 1)?;
        results.contests.push(project.events(options.rounds(201, 15)));
        results.contests.push(project.edits(options.rounds(101, 9)));
    }
    if options.selects("mcp") {
        eprintln!("calling the server");
        let project = Project::make(program, &home.join("mcp"), 1)?;
        results.contests.push(project.calls(options.rounds(201, 15))?);
    }
    // Turns are measured last, because the files that they create keep the disk busy for some time.
    if options.selects("turn") {
        eprintln!("beginning and ending turns");
        let project = Project::make(program, &home.join("turn"), FILES)?;
        results.contests.push(project.turns(options.rounds(61, 7))?);
    }
    Ok(results)
}

/// Workspace that is a git repository, with its own ledger home.
struct Project<'p> {
    program: &'p Path,
    home: PathBuf,
    root: PathBuf,
}

impl<'p> Project<'p> {
    fn make(program: &'p Path, directory: &Path, files: usize) -> Result<Self, Failure> {
        let (home, root) = (directory.join("home"), directory.join("workspace"));
        let project = Self { program, home, root };
        for index in 0..files {
            let path = project.root.join(format!("d{}/f{index}.txt", index / TOGETHER));
            create_dir_all(path.parent().unwrap_or(&project.root))?;
            write(path, "a line of text in a file of a workspace\n".repeat(20))?;
        }
        for arguments in [
            &["init", "--quiet", "--template="][..],
            &["add", "."],
            &[
                "-c",
                "user.name=bench",
                "-c",
                "user.email=bench@example.invalid",
                "commit",
                "-qm",
                "x",
            ],
        ] {
            project.finish(project.command("git").args(arguments), b"")?;
        }
        project.finish(project.command(program).arg("init"), b"")?;
        Ok(project)
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(&self.root).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("ACTUM_HOME", &self.home).env("GIT_CONFIG_GLOBAL", "/dev/null");
        command
    }

    /// Runs a command with this input until it exits.
    fn finish(&self, command: &mut Command, input: &[u8]) -> Result<(), Failure> {
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = streams.spawn()?;
        if let Some(mut to) = child.stdin.take() {
            drop(to.write_all(input)); // one that reads nothing has ended already
        }
        let output = child.wait_with_output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
        }
    }

    fn hook(&self, event: &Value) -> Result<Duration, Failure> {
        let input = event.to_string();
        let mut command = self.command(self.program);
        command.args(["hook", "claude"]);
        time(|| self.finish(&mut command, input.as_bytes()))
    }

    fn event(&self, name: &str, tool: &str, input: &Value) -> Value {
        json!({
            "hook_event_name": name, "session_id": "bench", "cwd": self.root,
            "tool_name": tool, "tool_use_id": "call", "tool_input": input,
        })
    }

    fn events(&self, rounds: usize) -> Contest {
        let read = self.event("PreToolUse", "Read", &json!({ "file_path": "d0/f0.txt" }));
        let bash = self.event("PreToolUse", "Bash", &json!({ "command": "cargo test > out.txt" }));
        let finishes = race(
            vec![
                Contestant::new(TRUE, || {
                    let mut command = self.command("/bin/true");
                    time(|| self.finish(&mut command, b""))
                }),
                Contestant::new(NOTHING, || self.hook(&read)),
                Contestant::new(COMMAND, || self.hook(&bash)),
            ],
            rounds,
        );
        Contest {
            title: "One event, whole processes".to_owned(),
            finishes,
            bars: vec![Bar { who: NOTHING, limit: Limit::More(6.0) }],
        }
    }

    fn edits(&self, rounds: usize) -> Contest {
        let path = self.root.join("d0/f0.txt");
        let mut round = 0;
        let finishes = race(
            vec![
                Contestant::new(PLAIN, || time(|| Ok(write(&path, "plain\n")?))),
                Contestant::new(EDIT, || {
                    round += 1;
                    let content = format!("round {round}\n");
                    let input = json!({ "file_path": path, "content": content });
                    let before = self.hook(&self.event("PreToolUse", "Write", &input))?;
                    let own = time(|| Ok(write(&path, &content)?))?;
                    let after = self.hook(&self.event("PostToolUse", "Write", &input))?;
                    Ok(before + own + after)
                }),
            ],
            rounds,
        );
        Contest {
            title: "An edit of a client becomes a run".to_owned(),
            finishes,
            bars: vec![Bar { who: EDIT, limit: Limit::More(25.0) }],
        }
    }

    fn turns(&self, rounds: usize) -> Result<Contest, Failure> {
        let event = |name: &str| self.event(name, "", &json!({}));
        let (prompt, stop) = (event("UserPromptSubmit"), event("Stop"));
        self.hook(&prompt)?; // the first copies what git does not have
        self.hook(&stop)?;
        let finishes = race(
            vec![
                Contestant::new(STATUS, || {
                    let mut command = self.command("git");
                    command.args(["status", "--short"]);
                    time(|| self.finish(&mut command, b""))
                }),
                Contestant::new(PROMPT, || {
                    let taken = self.hook(&prompt)?;
                    self.hook(&stop)?;
                    Ok(taken)
                }),
                Contestant::new(STOP, || {
                    self.hook(&prompt)?;
                    self.hook(&stop)
                }),
            ],
            rounds,
        );
        Ok(Contest {
            title: "A turn in a workspace of 10,000 files, whole processes".to_owned(),
            finishes,
            bars: vec![Bar { who: STOP, limit: Limit::InAll(40.0) }],
        })
    }

    fn calls(&self, rounds: usize) -> Result<Contest, Failure> {
        let mut command = self.command(self.program);
        command.arg("mcp");
        let server = std::cell::RefCell::new(Server::start(&mut command)?);
        let mut round = 0;
        let finishes = race(
            vec![
                Contestant::new(PING, || {
                    let mut server = server.borrow_mut();
                    time(|| server.request("ping", &json!({})).map(drop))
                }),
                Contestant::new(APPLY, || {
                    round += 1;
                    let change = json!({ "path": format!("new-{round}.txt"), "content": "text\n" });
                    let call = json!({ "name": "apply", "arguments": { "change": change } });
                    let mut server = server.borrow_mut();
                    time(|| match server.request("tools/call", &call)? {
                        answer if answer["isError"] == json!(false) => Ok(()),
                        answer => Err(answer.to_string().into()),
                    })
                }),
            ],
            rounds,
        );
        Ok(Contest {
            title: "Calls of `actum mcp`, through its pipe".to_owned(),
            finishes,
            bars: vec![
                Bar { who: APPLY, limit: Limit::InAll(4.0) },
                Bar { who: APPLY, limit: Limit::MostlyInAll(10.0) },
            ],
        })
    }
}
