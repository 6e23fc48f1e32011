//! Reports the result of a command in a sandbox, as notes for users or as a JSON document.

use std::borrow::Borrow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_api::change::ChangeKind;
use actum_api::command::{Execution, NodeChange, NodeType, Output, Sandbox};
use actum_api::path::{WorkspacePath, hexadecimal};
use actum_core::path::Quoted;
use actum_sandbox::{
    Change, Ended, Enforcement, InForce, Limits, Node, Outcome, Resource, SandboxPolicy, Usage,
    Violation,
};

use crate::count::{count, number};
use crate::exit::Exit;
use crate::output::{Document, Form, Screen, Verbosity};
use crate::shown_path::text;
use crate::size::Size;

/// Offset that shells add to the number of a signal to get the exit code of a program that it ended.
const SIGNAL: i32 = 128;
const SIGKILL: i32 = 9;
/// Maximum number of changes that are listed one by one.
const SHOWN_MAX: usize = 50;
/// Exit code for a command that was killed because of a violation, which is also that of timeout(1).
const OVER: u8 = 124;

/// Result of a command, with the parts of its policy that the notes mention.
pub(crate) struct Report {
    pub(crate) document: Sandbox,
    violated: Vec<Violation>,
    limits: Limits,
    caches: Vec<PathBuf>,
}

fn hex(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).is_err().then(|| hexadecimal(bytes))
}

impl Report {
    pub(crate) fn new(
        command: &[OsString],
        policy: &SandboxPolicy,
        outcome: &Outcome,
        changes: Option<Vec<Change>>,
    ) -> Self {
        let Outcome { ended, violated, usage, in_force, stdout, stderr, captured: _ } = outcome;
        let execution = Execution {
            command: command.iter().map(|word| text(word.as_bytes())).collect(),
            ended: ended.map(|ended| match ended {
                Ended::Code(code) => actum_api::command::Ended::Code(code),
                Ended::Signal(signal) => actum_api::command::Ended::Signal(signal),
            }),
            violated: violated.iter().map(violation).collect(),
            usage: used(*usage),
            in_force: in_force_of(in_force),
        };
        let output = Output {
            stdout: String::from_utf8_lossy(stdout).into_owned(),
            stderr: String::from_utf8_lossy(stderr).into_owned(),
            stdout_hex: hex(stdout),
            stderr_hex: hex(stderr),
        };
        let changes = changes.map(|changes| changes.into_iter().map(changed).collect());
        Self {
            document: Sandbox { execution, changes, output },
            violated: violated.clone(),
            limits: policy.limits.clone(),
            caches: policy.view.iter().flat_map(|view| view.caches.clone()).collect(),
        }
    }

    /// Reports the result on the screen, and returns the exit code of the command.
    pub(super) fn show(&self, screen: &Screen) -> Exit {
        match screen.form {
            Form::Json(_) => {
                if let Err(failure) = screen.show(self) {
                    return screen.failure(&failure);
                }
            }
            Form::Text => self.note(screen),
        }
        self.exit()
    }

    /// Prints the result as notes on standard error, because standard output belongs to the command.
    fn note(&self, screen: &Screen) {
        self.note_violations(screen);
        if screen.verbosity == Verbosity::Normal {
            self.note_usage(screen);
        }
        self.note_changes(screen);
    }

    /// Prints the violations for which the command was killed.
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
        if self.document.execution.ended.is_none() && self.violated.is_empty() {
            screen.note("the command was killed by another process");
        }
    }

    fn note_usage(&self, screen: &Screen) {
        let Execution { usage, in_force, .. } = &self.document.execution;
        let actum_api::command::Usage { wall, cpu, memory, processes, .. } = *usage;
        screen.note(format_args!(
            "tier {}: {}, {} of CPU time, {}, {}",
            in_force.tier,
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
        let Some(changes) = &self.document.changes else { return };
        for change in changes.iter().take(SHOWN_MAX) {
            screen.note(line(change));
        }
        if let Some(more @ 1..) = changes.len().checked_sub(SHOWN_MAX) {
            screen.note(format_args!("and {more} more; pass `--json` to list all"));
        }
        let change_count = count(number(changes.len()), "change");
        let but: Vec<_> = self.caches.iter().map(|path| format!("`{}`", path.display())).collect();
        if but.is_empty() {
            screen.note(format_args!("{change_count} captured; the directory is unchanged"));
        } else {
            let but = but.join(", ");
            screen.note(format_args!(
                "{change_count} captured; the directory is unchanged except for {but}"
            ));
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        let code = match (self.violated.is_empty(), self.document.execution.ended) {
            (false, _) => return Exit::Passed(OVER),
            (true, Some(actum_api::command::Ended::Code(code))) => code,
            (true, Some(actum_api::command::Ended::Signal(signal))) => SIGNAL + signal,
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

fn violation(violation: &Violation) -> actum_api::command::Violation {
    match violation {
        Violation::Limit(resource) => actum_api::command::Violation::Limit(resource.name().into()),
        Violation::Unwatched => actum_api::command::Violation::Unwatched,
        Violation::Made(path) => {
            actum_api::command::Violation::Made(text(path.as_os_str().as_bytes()))
        }
        Violation::Interrupted => actum_api::command::Violation::Interrupted,
    }
}

fn used(usage: Usage) -> actum_api::command::Usage {
    let Usage { wall, cpu, memory, storage_read, storage_write, processes, output } = usage;
    actum_api::command::Usage { wall, cpu, memory, storage_read, storage_write, processes, output }
}

fn in_force_of(in_force: &InForce) -> actum_api::command::InForce {
    let InForce { tier, landlock, ipc_confined, is_root, limits } = in_force;
    let limit = |(resource, enforcement): (&Resource, &Enforcement)| {
        (resource.name().into(), enforcement.to_string().as_str().into())
    };
    actum_api::command::InForce {
        tier: tier.to_string(),
        landlock: *landlock,
        ipc_confined: *ipc_confined,
        is_root: *is_root,
        limits: limits.iter().map(limit).collect(),
    }
}

/// Converts a captured change to its form in JSON documents.
fn changed(Change { path, before, after, is_disturbed: _ }: Change) -> NodeChange {
    let kind = match (&before, &after) {
        (None, Some(Node::Directory { .. })) => ChangeKind::DirectoryCreated,
        (None, _) => ChangeKind::Created,
        (Some(Node::Directory { .. }), None) => ChangeKind::DirectoryRemoved,
        (Some(_), None) => ChangeKind::Deleted,
        (Some(_), Some(_)) => ChangeKind::Modified,
    };
    let WorkspacePath { path, path_hex } = WorkspacePath::new(path.as_os_str().as_bytes());
    NodeChange { path, kind, path_hex, before: before.map(node), after: after.map(node) }
}

/// Formats a captured change as a human-readable line.
fn line(NodeChange { path, kind, before, after, .. }: &NodeChange) -> String {
    let path = Quoted(path.as_bytes());
    let verb = match kind {
        ChangeKind::DirectoryCreated => "created",
        ChangeKind::DirectoryRemoved => "deleted",
        ChangeKind::Created
        | ChangeKind::Modified
        | ChangeKind::Renamed
        | ChangeKind::Mode
        | ChangeKind::Attributes
        | ChangeKind::Deleted
        | ChangeKind::Other(_) => kind.as_str(),
    };
    let Some(node) = after.as_ref().or(before.as_ref()) else { return format!("{verb} {path}") };
    match (&node.r#type, after) {
        (NodeType::Directory, _) => format!("{verb} {path}/"),
        (_, None) => format!("{verb} {path}"),
        (NodeType::File, Some(actum_api::command::Node { mode, size, .. })) => {
            let (mode, size) = (mode.as_deref().unwrap_or_default(), size.unwrap_or_default());
            format!("{verb} {path} ({}, mode {mode})", Size(size))
        }
        (NodeType::Symlink, Some(actum_api::command::Node { target, .. })) => {
            let target = target.as_deref().unwrap_or_default();
            format!("{verb} {path} (symbolic link to {})", Quoted(target.as_bytes()))
        }
        (NodeType::Special | NodeType::Other(_), Some(_)) => {
            format!("{verb} {path} (a pipe, socket or device)")
        }
    }
}

fn node(node: Node) -> actum_api::command::Node {
    let octal = |mode: u32| Some(format!("{mode:04o}"));
    let (r#type, mode, size, target) = match node {
        Node::File { mode, size } => (NodeType::File, octal(mode), Some(size), None),
        Node::Directory { mode } => (NodeType::Directory, octal(mode), None, None),
        Node::Symlink { target } => {
            (NodeType::Symlink, None, None, Some(text(target.as_os_str().as_bytes())))
        }
        Node::Special { mode } => (NodeType::Special, octal(mode), None, None),
    };
    actum_api::command::Node { r#type, mode, size, target }
}

impl Document for Report {
    type Api = Sandbox;

    fn document(&self) -> impl Borrow<Sandbox> {
        &self.document
    }

    /// Writes nothing, because the text form of the report consists of notes on standard error.
    fn write_text(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
