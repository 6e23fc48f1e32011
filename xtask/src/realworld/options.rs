//! What `cargo xtask realworld` was asked to do.

use super::catalogue::{PAIRS, Pair};

pub(super) const USAGE: &str = "\
usage: cargo xtask realworld [--only NAME] [--offline]

  --only NAME  the pairs of this package alone
  --offline    what was downloaded before, and nothing else

Takes two published versions of well-known packages, writes the change from one to the other in
every format that can carry it, applies that with actum, takes it back and applies it again. Every
tree is compared byte for byte with what was published, and so is what `git apply` makes of the
same diff. A diff whose file has moved down by three lines must be refused. Nothing of a package is
ever run. What was downloaded is kept in `target/realworld`.
";

/// What the arguments say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Run(Options),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) only: Option<String>,
    pub(super) network: Network,
}

/// Whether what is missing may be downloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    Use,
    Avoid,
}

impl Options {
    pub(super) fn selects(&self, pair: &Pair) -> bool {
        self.only.as_ref().is_none_or(|only| only == pair.name)
    }
}

pub(super) fn parse(arguments: &[String]) -> Result<Command, String> {
    let mut options = Options { only: None, network: Network::Use };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--offline" => options.network = Network::Avoid,
            "--only" => {
                let value = rest.next().ok_or_else(|| refusal("`--only` needs a value"))?;
                if !PAIRS.iter().any(|pair| pair.name == value) {
                    return Err(refusal(&format!("`{value}` is not one of the packages")));
                }
                options.only = Some(value.clone());
            }
            other => return Err(refusal(&format!("there is no argument `{other}`"))),
        }
    }
    Ok(Command::Run(options))
}

fn refusal(why: &str) -> String {
    format!("{why}; nothing was run\n\n{USAGE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Result<Command, String> {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        super::parse(&arguments)
    }

    #[test]
    fn arguments_choose_packages_and_network() {
        let options = |only: Option<&str>, network| {
            Ok(Command::Run(Options { only: only.map(str::to_owned), network }))
        };
        assert_eq!(parse(""), options(None, Network::Use));
        assert_eq!(parse("--only serde --offline"), options(Some("serde"), Network::Avoid));
        assert_eq!(parse("--offline -h"), Ok(Command::Help));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_the_usage() {
        let refusal = |arguments| {
            let message = parse(arguments).unwrap_err();
            message.strip_suffix(USAGE).unwrap().trim_end().to_owned()
        };
        assert_eq!(
            ["--only", "--only no-such-package", "--fast"].map(refusal),
            [
                "`--only` needs a value; nothing was run",
                "`no-such-package` is not one of the packages; nothing was run",
                "there is no argument `--fast`; nothing was run",
            ]
        );
    }
}
