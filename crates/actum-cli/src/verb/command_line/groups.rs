//! List of verbs in the help, grouped by the purpose of the verbs.

use clap::Command;

/// Verbs of each group, in the order in which the help lists them.
const GROUPS: [(&str, &[&str]); 10] = [
    ("Start", &["init", "protect", "demo", "doctor"]),
    ("Change", &["apply", "exec", "undo", "redo", "adopt"]),
    ("Look back", &["log", "show", "diff", "status"]),
    ("Agents", &["mcp", "hook", "action", "agent", "lease", "catalog", "plugin", "feedback"]),
    ("Approvals", &["queue", "review", "approve", "deny", "revoke"]),
    ("Task plans", &["plan", "run", "rollback", "file", "sql"]),
    ("Policy", &["policy", "trust", "sandbox"]),
    ("Proof", &["receipt", "verify", "replay", "ledger", "key", "bind"]),
    ("Upkeep", &["recover", "resolve", "gc"]),
    ("Help", &["explain", "completions", "man"]),
];

/// Maximum width of the list, in columns.
const COLUMNS: usize = 80;
/// Width of the column with the names, including the space around them.
const NAME_COLUMNS: usize = 15;

const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}Options:
{options}{after-help}";

/// Sets the help of the command line to a template that lists the verbs in groups.
pub(super) fn grouped(command: Command) -> Command {
    let list = list(&command);
    command.before_help(list).help_template(TEMPLATE)
}

fn list(command: &Command) -> String {
    let mut list = String::new();
    for (group, names) in GROUPS {
        list += &format!("{group}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            list += &entry(name, &about);
        }
        list.push('\n');
    }
    list + "`actum help COMMAND` describes a command."
}

/// Formats a verb and its description, wrapped at [`COLUMNS`].
fn entry(name: &str, about: &str) -> String {
    let mut lines = vec![String::new()];
    for word in about.split_whitespace() {
        let fits = |line: &String| line.len() + 1 + word.len() <= COLUMNS - NAME_COLUMNS;
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if fits(line) => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    let lines = names.zip(lines).map(|(name, line)| {
        let width = NAME_COLUMNS - 2;
        format!("  {name:width$}{line}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::verb::command_line::CommandLine;

    #[test]
    fn every_verb_is_in_one_group() {
        let command = CommandLine::described();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        grouped.sort_unstable();
        let verbs: BTreeSet<_> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(grouped, verbs.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn long_description_wraps_below_the_description_column() {
        let about = "word ".repeat(20);
        let entry = entry("name", &about);
        let lines: Vec<_> = entry.lines().collect();
        assert!(lines.iter().all(|line| line.len() <= COLUMNS), "{entry}");
        assert!(lines.len() == 2 && lines[1].starts_with(&" ".repeat(NAME_COLUMNS)), "{entry}");
    }
}
