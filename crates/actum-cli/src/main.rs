//! The `actum` program, which parses the command line, runs one verb and reports its outcome.
//!
//! Standard output carries results, and standard error carries messages. The engine makes all decisions; this crate only
//! requests and prints them.
#![forbid(unsafe_code)]

mod actor;
mod agent_hints;
mod approval_key;
mod change_list;
mod client_session;
mod clock;
mod code_document;
mod count;
mod diff_text;
mod duration;
mod exit;
mod failure;
mod file_diffs;
mod folded_paths;
mod gate_view;
mod guard;
mod hint;
mod home;
mod input;
mod lease;
mod lease_failure;
mod ledger_failure;
mod ledger_queue;
mod look_alike;
mod manifests;
mod new_home;
mod notify;
mod obstacle;
mod operator_key;
mod operators_policy;
mod output;
mod output_file;
mod own_format;
mod pager;
mod passphrase;
mod plan_failure;
mod plans;
mod policy;
mod private_place;
mod progress;
mod record;
mod records;
mod recovery_note;
mod requested_run;
mod root;
mod run_arguments;
mod run_end;
mod run_prefix;
mod selected_path;
mod session;
mod session_runs;
mod shown_path;
mod signals;
mod size;
mod snippet;
mod sql_view;
mod status_lines;
mod style;
mod task_settings;
mod timestamp;
mod trusted;
mod verb;
mod waiting;
mod workspace_file;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use actum_core::path::Harmless;
use clap::Parser;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::{Mode, umask};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::home::Tenant;
use crate::output::{Detail, Form, Screen};
use crate::session::Session;
use crate::verb::command_line::CommandLine;

fn main() -> ExitCode {
    // These calls do not return if this process was started as a sandbox helper.
    actum_sandbox::inside::enter();
    actum_file::sandboxed::enter();
    actum_sql::enter();
    bound_umask();
    leave_no_core();
    raise_open_files();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match <CommandLine>::try_parse_from(&arguments) {
        Ok(command_line) => run(&command_line).into(),
        Err(error) => not_run(error, &arguments).into(),
    }
}

/// Adjusts the umask so that the owner can always access new files, and users outside the group can never write them.
fn bound_umask() {
    let umask = umask(Mode::S_IRWXG | Mode::S_IRWXO);
    nix::sys::stat::umask((umask - Mode::S_IRWXU) | Mode::S_IWOTH);
}

/// Disables core files (core(5)), because one could contain private keys and would be written to the current directory
/// without being checked by any gate.
fn leave_no_core() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_CORE) {
        // Lowering a soft limit needs no privilege, so this call cannot fail.
        let _cannot_fail = setrlimit(Resource::RLIMIT_CORE, 0, hard);
    }
}

/// Raises the soft limit of open files to the hard limit, because an undo of many large files keeps a handle for each of
/// them. Sandboxed commands are not affected, since their policy sets their limit.
fn raise_open_files() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // If this fails, runs are limited to fewer files, but everything else works.
        let _tried = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

fn run(command_line: &CommandLine) -> Exit {
    let screen = command_line.screen();
    let tenant = Tenant::new(command_line.tenant.clone());
    let ended = root::start(command_line.directory.as_deref()).and_then(|start| {
        let session = Session { start, screen, tenant };
        command_line
            .verb
            .run_and_remind(&session)
            .map_err(|failure| verb::explained(failure, &session))
    });
    let exit = ended.unwrap_or_else(|failure| {
        let exit = screen.failure(&failure);
        // Clients stop only if their hook exits with code 2.
        if command_line.verb.is_hook() { Exit::Usage } else { exit }
    });
    // A hook's standard output belongs to its client, so no `--json=brief` line is added.
    if command_line.verb.is_hook() { exit } else { screen.end(exit) }
}

/// Handles a command line that clap did not turn into a verb. Help and version are printed as results; any other outcome is
/// a usage error.
fn not_run(error: clap::Error, arguments: &[OsString]) -> Exit {
    let error = harmless(error, arguments);
    if let (true, Some(detail)) = (error.use_stderr(), detail(arguments)) {
        let text = error.to_string();
        // clap describes the usage after the first paragraph.
        let message = text.split("\n\n").next().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
        return Screen::plain(Form::Json(detail)).failure(&Failure::Usage { message });
    }
    drop(error.print()); // if nothing reads the output, the failure cannot be reported either
    if error.use_stderr() { Exit::Usage } else { Exit::Success }
}

/// Returns the JSON form that `arguments` request, even though they are not a valid command line.
fn detail(arguments: &[OsString]) -> Option<Detail> {
    arguments.iter().find_map(|argument| match argument.to_str()? {
        "--json=brief" => Some(Detail::Brief),
        text if text == "--json" || text.starts_with("--json=") => Some(Detail::Full),
        _ => None,
    })
}

/// Returns a version of the error that is safe to print, because clap quotes arguments without escaping them. The arguments
/// are escaped and parsed again. If the result is accepted, the original error was about invalid UTF-8, and quotes nothing.
fn harmless(error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let shown = arguments.iter().map(|argument| Harmless(argument.as_bytes()).to_string());
    CommandLine::error(shown).unwrap_or(error)
}
