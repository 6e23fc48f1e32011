//! Options of `cargo xtask realworld`.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::catalogue::{PAIRS, Pair};

/// Try published packages in every format against git, TPC-H through SQL steps, and real builds as pipelines
///
/// `packages` takes two published versions of well-known packages and writes the change between them in every format that can
/// express it. Actum applies that change, undoes it and applies it again. Every tree is compared byte for byte with the published
/// one, and so is the result of `git apply` with the same diff. If a file has moved down by three lines, its diff must be rejected.
/// No code of a package is ever run. Downloads are kept in `target/realworld`.
///
/// `sql` runs the 22 queries of TPC-H and 30 updates as task plans of the real program, and undoes them byte for byte. DuckDB's own
/// Python driver checks the results. `pipelines` does the same with a `make` and a `dbt build`. Both install the tools they need
/// into `target/tools`.
#[derive(Args)]
pub(crate) struct Options {
    /// Run only this part
    part: Option<Part>,
    /// Try only the pairs of this package
    #[arg(long, value_name = "NAME", conflicts_with = "part", value_parser = packages(), hide_possible_values = true)]
    pub(super) only: Option<String>,
    /// Use only earlier downloads
    #[arg(long)]
    offline: bool,
}

/// Part of the trials that can be run separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// Changes between versions of published packages.
    Packages,
    /// TPC-H.
    Sql,
    /// Pipelines with `make` and `dbt build`.
    Pipelines,
}

impl Part {
    pub(super) const ALL: [Self; 3] = [Self::Packages, Self::Sql, Self::Pipelines];

    /// Name under which the required programs of this part are listed.
    pub(super) fn needs(self) -> &'static str {
        match self {
            Self::Packages => "realworld",
            Self::Sql => "realworld of SQL",
            Self::Pipelines => "realworld of pipelines",
        }
    }
}

/// Whether missing files may be downloaded.
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

    /// Whether the run includes every package.
    pub(super) fn is_whole(&self) -> bool {
        self.only.is_none()
    }

    /// Whether this part is run.
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
