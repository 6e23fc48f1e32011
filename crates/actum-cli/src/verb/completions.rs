//! `actum completions`: prints a script that completes command lines.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::program::Completions;
use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::verb::command_line::CommandLine;

/// Write a script that completes the command line in a shell
///
/// For bash: `actum completions bash > ~/.local/share/bash-completion/completions/actum`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of the shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let script = generate(arguments.shell);
    session.screen.show(&Completions { shell: arguments.shell.to_string(), script })?;
    Ok(Exit::Success)
}

/// Statement in the generated bash script that completes file names without quoting them.
const UNQUOTED: &str = r#"COMPREPLY=($(compgen -f "${cur}"))"#;
/// Statement that leaves the completion of file names to readline (`complete -o default`), which quotes them.
const QUOTED: &str = "COMPREPLY=()";

fn generate(shell: Shell) -> String {
    let mut script = Vec::new();
    let mut command = set_hints(CommandLine::described());
    clap_complete::generate(shell, &mut command, "actum", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    // Bash before version 4, as on macOS, does not support `compopt -o filenames`.
    if shell == Shell::Bash { script.replace(UNQUOTED, QUOTED) } else { script }
}

/// Sets the value hint of every argument in the command tree.
fn set_hints(command: Command) -> Command {
    command.mut_args(set_hint).mut_subcommands(set_hints)
}

/// Sets what a shell offers as the value of an argument. Without a hint, bash would offer file names for every value.
fn set_hint(argument: Arg) -> Arg {
    if !argument.get_action().takes_values() || !argument.get_possible_values().is_empty() {
        return argument;
    }
    let is_path = argument.get_value_hint() == ValueHint::AnyPath;
    let name = argument.get_value_names().and_then(<[_]>::first).map(|name| name.as_str());
    let hint = match name {
        Some("DIR" | "DIRECTORY") => ValueHint::DirPath,
        Some("FILE" | "PATH" | "PATH|RUN" | "OLD") => ValueHint::FilePath,
        Some("COMMAND") if argument.is_trailing_var_arg_set() => ValueHint::CommandWithArguments,
        Some(_) | None if is_path => ValueHint::FilePath,
        Some(_) | None => ValueHint::Other,
    };
    argument.value_hint(hint)
}

impl Document for Completions {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.script.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments_of(command: &Command) -> Vec<&Arg> {
        let below = command.get_subcommands().flat_map(arguments_of);
        command.get_arguments().chain(below).collect()
    }

    #[test]
    fn every_value_has_a_hint() {
        let command = set_hints(CommandLine::described());
        for argument in arguments_of(&command) {
            let is_closed = !argument.get_possible_values().is_empty();
            if argument.get_action().takes_values() && !is_closed {
                assert_ne!(argument.get_value_hint(), ValueHint::Unknown, "{argument}");
                assert_ne!(argument.get_value_hint(), ValueHint::AnyPath, "{argument}");
            }
        }
    }

    /// D-4: `compgen -f` offers names unescaped, which bash would insert as code.
    #[test]
    fn bash_completion_leaves_file_names_to_readline() {
        let script = generate(Shell::Bash);
        assert!(!script.contains("compgen -f"), "{script}");
        assert!(!script.contains("compgen -d"), "{script}");
        assert!(script.contains("-o default"), "{script}");
    }
}
