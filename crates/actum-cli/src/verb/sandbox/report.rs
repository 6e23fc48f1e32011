//! What a command in a sandbox did, for people and for programs.

use std::borrow::Borrow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_core::path::Quoted;
use actum_sandbox::{
    Change, Ended, InForce, Limits, Node, Outcome, Resource, SandboxPolicy, Usage, Violation,
};
use serde::Serialize;

use crate::change_list::count;
use crate::exit::Exit;
use crate::output::{Document, Form, Screen};
use crate::shown_path::text;
use crate::size::Size;

/// What a shell adds to the number of the signal by which a program ended.
const SIGNAL: i32 = 128;
const SIGKILL: i32 = 9;
/// How many changes are told one by one.
const TOLD_MAX: usize = 50;
/// What timeout(1) ends with.
const OVER: u8 = 124;

#[derive(Serialize)]
pub(crate) struct Report {
    command: Vec<String>,
    /// How it ended by itself, or nothing.
    ended: Option<Ended>,
    violated: Vec<Violation>,
    usage: Usage,
    in_force: InForce,
    #[serde(skip)]
    limits: Limits,
    #[serde(skip)]
    caches: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<Shown>>,
    #[serde(flatten)]
    output: Written,
}

/// What it wrote: the exact text, or what can be shown of it and all bytes.
#[derive(Serialize)]
struct Written {
    stdout: String,
    stderr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_hex: Option<String>,
}

/// One path that it changed.
#[derive(Serialize)]
struct Shown {
    path: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<ShownNode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<ShownNode>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ShownNode {
    File { mode: String, size: u64 },
    Directory { mode: String },
    Symlink { target: String },
    Special { mode: String },
}

fn hex(bytes: &[u8]) -> Option<String> {
    let is_text = std::str::from_utf8(bytes).is_ok();
    (!is_text).then(|| {
        bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
            let digit = |half: u8| char::from_digit(u32::from(half), 16);
            hex.extend([byte >> 4, byte & 15].into_iter().filter_map(digit));
            hex
        })
    })
}

impl Report {
    pub(crate) fn of(
        command: &[OsString],
        policy: &SandboxPolicy,
        outcome: &Outcome,
        changes: Option<Vec<Change>>,
    ) -> Self {
        let Outcome { ended, violated, usage, in_force, stdout, stderr, captured: _ } = outcome;
        Self {
            command: command.iter().map(|word| text(word.as_bytes())).collect(),
            ended: *ended,
            violated: violated.clone(),
            usage: *usage,
            in_force: in_force.clone(),
            limits: policy.limits.clone(),
            caches: policy.view.iter().flat_map(|view| view.caches.clone()).collect(),
            changes: changes.map(|changes| changes.into_iter().map(Shown::of).collect()),
            output: Written {
                stdout: String::from_utf8_lossy(stdout).into_owned(),
                stderr: String::from_utf8_lossy(stderr).into_owned(),
                stdout_hex: hex(stdout),
                stderr_hex: hex(stderr),
            },
        }
    }

    /// Tells it; gives what to end with.
    pub(super) fn tell(&self, screen: &Screen, quiet: bool) -> Exit {
        match screen.form {
            Form::Json => {
                if let Err(failure) = screen.show(self) {
                    return screen.failure(&failure);
                }
            }
            Form::Text => self.note(screen, quiet),
        }
        self.exit()
    }

    /// Standard output is the command's; what there is to say goes beside it.
    fn note(&self, screen: &Screen, quiet: bool) {
        self.note_violations(screen);
        if !quiet {
            self.note_usage(screen);
        }
        self.note_changes(screen);
    }

    /// Tells what it was ended for.
    pub(crate) fn note_violations(&self, screen: &Screen) {
        for violation in &self.violated {
            match violation {
                Violation::Limit(resource) => {
                    let max = amount(*resource, self.limits.of(*resource).max);
                    screen.note(format_args!("{violation} ({max})"));
                }
                Violation::Unwatched | Violation::Made(_) | Violation::Interrupted => {
                    screen.note(violation)
                }
            }
        }
        if self.ended.is_none() && self.violated.is_empty() {
            screen.note("the command was ended from outside");
        }
    }

    fn note_usage(&self, screen: &Screen) {
        let Usage { wall, cpu, memory, processes, .. } = self.usage;
        screen.note(format_args!(
            "tier {}: {}, {} of processor, {}, {}",
            self.in_force.tier,
            time(wall),
            time(cpu),
            Size(memory),
            match processes {
                1 => "1 process".to_owned(),
                more => format!("{more} processes and threads"),
            },
        ));
    }

    fn note_changes(&self, screen: &Screen) {
        let Some(changes) = &self.changes else { return };
        for change in changes.iter().take(TOLD_MAX) {
            screen.note(change.line());
        }
        if let Some(more @ 1..) = changes.len().checked_sub(TOLD_MAX) {
            screen.note(format_args!("and {more} more; `--json` has all"));
        }
        let told = count(u64::try_from(changes.len()).unwrap_or(u64::MAX), "change");
        let but: Vec<_> = self.caches.iter().map(|path| format!("`{}`", path.display())).collect();
        if but.is_empty() {
            screen.note(format_args!("{told} captured; the directory is as before"));
        } else {
            let but = but.join(", ");
            screen.note(format_args!("{told} captured; the directory is as before, but for {but}"));
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        let code = match (self.violated.is_empty(), self.ended) {
            (false, _) => return Exit::Passed(OVER),
            (true, Some(Ended::Code(code))) => code,
            (true, Some(Ended::Signal(signal))) => SIGNAL + signal,
            (true, None) => SIGNAL + SIGKILL,
        };
        Exit::Passed(u8::try_from(code).unwrap_or(u8::MAX))
    }
}

fn time(milliseconds: u64) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        _ => format!("{}.{:02} s", milliseconds / 1000, milliseconds % 1000 / 10),
    }
}

fn amount(resource: Resource, max: u64) -> String {
    match resource.unit() {
        "ms" => time(max),
        "bytes" => Size(max).to_string(),
        _ => max.to_string(),
    }
}

impl Shown {
    fn of(change: Change) -> Self {
        let Change { path, before, after, is_disturbed: _ } = change;
        let kind = match (&before, &after) {
            (None, Some(Node::Directory { .. })) => "directory_created",
            (None, _) => "created",
            (Some(Node::Directory { .. }), None) => "directory_removed",
            (Some(_), None) => "deleted",
            (Some(_), Some(_)) => "modified",
        };
        Self {
            kind,
            path_hex: hex(path.as_os_str().as_bytes()),
            path: text(path.as_os_str().as_bytes()),
            before: before.map(ShownNode::of),
            after: after.map(ShownNode::of),
        }
    }

    fn line(&self) -> String {
        let path = Quoted(self.path.as_bytes());
        let verb = match self.kind {
            "directory_created" => "created",
            "directory_removed" => "deleted",
            kind => kind,
        };
        match self.after.as_ref().or(self.before.as_ref()) {
            Some(ShownNode::Directory { .. }) => format!("{verb} {path}/"),
            _ if self.after.is_none() => format!("{verb} {path}"),
            Some(ShownNode::File { mode, size }) => {
                format!("{verb} {path} ({}, mode {mode})", Size(*size))
            }
            Some(ShownNode::Symlink { target }) => {
                format!("{verb} {path} (link to {})", Quoted(target.as_bytes()))
            }
            Some(ShownNode::Special { .. }) => format!("{verb} {path} (a pipe, socket or device)"),
            None => format!("{verb} {path}"),
        }
    }
}

impl ShownNode {
    fn of(node: Node) -> Self {
        let octal = |mode: u32| format!("{mode:04o}");
        match node {
            Node::File { mode, size } => Self::File { mode: octal(mode), size },
            Node::Directory { mode } => Self::Directory { mode: octal(mode) },
            Node::Symlink { target } => {
                Self::Symlink { target: text(target.as_os_str().as_bytes()) }
            }
            Node::Special { mode } => Self::Special { mode: octal(mode) },
        }
    }
}

impl actum_api::Document for Report {
    const FORMAT: &'static str = "actum.sandbox/1";
}

impl Document for Report {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    /// As text it is told on standard error.
    fn write_text(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
