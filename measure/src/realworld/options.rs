//! Options of `cargo xtask realworld`.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::catalogue::{PAIRS, Pair};

/// Try published packages in every format against git, TPC-H through SQL steps, and real builds as
/// pipelines
///
/// `packages` takes two published versions of well-known packages and writes the change from one to
/// the other in every format that can carry it. It applies that with actum, undoes it and applies
/// it again. Every tree is compared byte for byte with what was published, and so is what `git
/// apply` makes of the same diff. A diff whose file has moved down by three lines must be refused.
/// Nothing of a package is ever run. Downloads are kept in `target/realworld`.
///
/// `sql` runs the 22 queries of TPC-H and 30 updates as task plans of the real program, and undoes
/// them to the byte; DuckDB's own Python driver judges the results. `pipelines` does the same with
/// a `make` and a `dbt build`. Both install what they need into `target/tools`.
#[derive(Args)]
pub(crate) struct Options {
    /// This part alone
    part: Option<Part>,
    /// The pairs of this package alone
    #[arg(long, value_name = "NAME", conflicts_with = "part", value_parser = packages(), hide_possible_values = true)]
    pub(super) only: Option<String>,
    /// Use only earlier downloads
    #[arg(long)]
    offline: bool,
}

/// Part that can be run by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// Published packages.
    Packages,
    /// TPC-H.
    Sql,
    /// `make` and `dbt build`.
    Pipelines,
}

impl Part {
    pub(super) const ALL: [Self; 3] = [Self::Packages, Self::Sql, Self::Pipelines];

    /// Name under which the programs that it calls are listed.
    pub(super) fn needs(self) -> &'static str {
        match self {
            Self::Packages => "realworld",
            Self::Sql => "realworld of SQL",
            Self::Pipelines => "realworld of pipelines",
        }
    }
}

/// Permission to download what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    Use,
    Avoid,
}

fn packages() -> PossibleValuesParser {
    PAIRS.iter().map(|pair| pair.name).collect::<Vec<_>>().into()
}

impl Options {
    pub(super) fn selects(&self, pair: &Pair) -> bool {
        self.only.as_ref().is_none_or(|only| only == pair.name)
    }

    /// Returns true if no package is left out.
    pub(super) fn is_whole(&self) -> bool {
        self.only.is_none()
    }

    /// Returns true if this part is run.
    pub(super) fn runs(&self, part: Part) -> bool {
        match self.part {
            Some(chosen) => chosen == part,
            None => self.is_whole() || part == Part::Packages,
        }
    }

    pub(super) fn network(&self) -> Network {
        if self.offline { Network::Avoid } else { Network::Use }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Parser, error::ErrorKind};

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn all_parts_run_unless_one_is_selected() {
        let runs = |arguments: &[&str]| {
            let parsed = CommandLine::try_parse_from([&["realworld"], arguments].concat());
            let options = parsed.map_err(|error| error.kind())?.options;
            Ok(Part::ALL.into_iter().filter(|part| options.runs(*part)).collect::<Vec<_>>())
        };
        assert_eq!(runs(&[]), Ok(Part::ALL.to_vec()));
        assert_eq!(runs(&["sql", "--offline"]), Ok(vec![Part::Sql]));
        assert_eq!(runs(&["--only", "clap"]), Ok(vec![Part::Packages]));
        assert_eq!(runs(&["sql", "--only", "clap"]), Err(ErrorKind::ArgumentConflict));
    }
}
