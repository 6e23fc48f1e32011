//! What `cargo xtask realworld` was asked to do.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::catalogue::{PAIRS, Pair};

/// Published versions of crates and npm packages, in every format, against git
///
/// Takes two published versions of well-known packages, writes the change from one to the other in
/// every format that can carry it, applies that with actum, takes it back and applies it again. Every
/// tree is compared byte for byte with what was published, and so is what `git apply` makes of the
/// same diff. A diff whose file has moved down by three lines must be refused. Nothing of a package is
/// ever run. What was downloaded is kept in `target/realworld`.
#[derive(Args)]
pub(crate) struct Options {
    /// The pairs of this package alone
    #[arg(long, value_name = "NAME", value_parser = packages(), hide_possible_values = true)]
    pub(super) only: Option<String>,
    /// What was downloaded before, and nothing else
    #[arg(long)]
    offline: bool,
}

/// Whether what is missing may be downloaded.
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

    /// Whether nothing is left out.
    pub(super) fn is_whole(&self) -> bool {
        self.only.is_none()
    }

    pub(super) fn network(&self) -> Network {
        if self.offline { Network::Avoid } else { Network::Use }
    }
}
