//! What `cargo xtask bench` was asked to do.

use std::path::PathBuf;

pub(super) const USAGE: &str = "\
usage: cargo xtask bench [--quick] [--rounds N] [--only PATTERN]

  --quick         few rounds, on the machine's own file system alone
  --rounds N      exactly N rounds of each work
  --only PATTERN  only works whose name contains PATTERN, such as `own/10-of-10000`, `ext4/`,
                  `/50-mb`, `/size`, `syscalls`, `memory`

A run with neither --quick nor --only writes docs/benchmarks.md. As root it also measures on ext4
with a journal and on xfs, loop-mounted from files that are removed at the end.
";

/// What the arguments say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Measure(Options),
    Child(Child),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) extent: Extent,
    /// Instead of as many as the time allows.
    pub(super) rounds: Option<usize>,
    pub(super) only: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Full,
    Quick,
}

/// The work of a process that is measured from outside.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) extent: ChildExtent,
    pub(super) workspace: PathBuf,
    /// A file that holds it as JSON.
    pub(super) change_set: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildExtent {
    Apply,
    ApplyAndRevert,
}

impl ChildExtent {
    pub(super) const ALL: [Self; 2] = [Self::Apply, Self::ApplyAndRevert];

    pub(super) fn argument(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::ApplyAndRevert => "apply-and-revert",
        }
    }
}

/// Not for people, so not in the usage.
pub(super) const CHILD: &str = "--in-child";

impl Options {
    /// Whether the work of this name is to be done.
    pub(super) fn selects(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|pattern| name.contains(pattern))
    }
}

pub(super) fn parse(arguments: &[String]) -> Result<Command, String> {
    if let [first, extent, workspace, change_set] = arguments
        && first == CHILD
        && let Some(extent) = ChildExtent::ALL.into_iter().find(|one| one.argument() == extent)
    {
        let (workspace, change_set) = (workspace.into(), change_set.into());
        return Ok(Command::Child(Child { extent, workspace, change_set }));
    }
    let mut options = Options { extent: Extent::Full, rounds: None, only: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || {
            let value = rest.next();
            value.ok_or_else(|| refusal(&format!("`{argument}` needs a value")))
        };
        match argument.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--quick" => options.extent = Extent::Quick,
            "--only" => options.only = Some(value()?.clone()),
            "--rounds" => {
                let value = value()?;
                let rounds = value.parse().ok().filter(|&rounds| rounds > 0);
                let number = || refusal(&format!("`{value}` is not a number of rounds"));
                options.rounds = Some(rounds.ok_or_else(number)?);
            }
            other => return Err(refusal(&format!("there is no argument `{other}`"))),
        }
    }
    Ok(Command::Measure(options))
}

fn refusal(why: &str) -> String {
    format!("{why}; nothing was measured\n\n{USAGE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Result<Command, String> {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        super::parse(&arguments)
    }

    #[test]
    fn arguments_choose_how_much_is_measured() {
        let options = |extent, rounds, only: Option<&str>| {
            Ok(Command::Measure(Options { extent, rounds, only: only.map(str::to_owned) }))
        };
        assert_eq!(parse(""), options(Extent::Full, None, None));
        assert_eq!(parse("--quick --rounds 3"), options(Extent::Quick, Some(3), None));
        assert_eq!(parse("--only ext4/"), options(Extent::Full, None, Some("ext4/")));
        assert_eq!(parse("--quick -h"), Ok(Command::Help));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_the_usage() {
        let refusal = |arguments| {
            let message = parse(arguments).unwrap_err();
            message.strip_suffix(USAGE).unwrap().trim_end().to_owned()
        };
        assert_eq!(
            ["--rounds", "--rounds 0", "--fast"].map(refusal),
            [
                "`--rounds` needs a value; nothing was measured",
                "`0` is not a number of rounds; nothing was measured",
                "there is no argument `--fast`; nothing was measured",
            ]
        );
    }

    #[test]
    fn a_pattern_selects_by_part_of_the_name() {
        let options =
            Options { extent: Extent::Full, rounds: None, only: Some("ext4/".to_owned()) };
        assert!(options.selects("ext4/10-of-10000"));
        assert!(!options.selects("own/10-of-10000"));
    }
}
