//! Run ids as users type them: the complete id or a unique prefix of it.

use std::str::FromStr;

use actum_core::RunId;
use actum_workspace::{Outcome, View};

use crate::failure::Failure;

/// Minimum length of a run id prefix, in characters.
pub(crate) const LENGTH_MIN: usize = 4;
const LENGTH_MAX: usize = 12;

/// Complete run id or a prefix of one, as typed by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunPrefix(String);

/// Error for a text that cannot be a prefix of a run id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected {LENGTH_MIN} to {LENGTH_MAX} characters of a run id (0-9 and a-z without i, l, o, u)"
)]
pub(crate) struct RunPrefixError;

impl FromStr for RunPrefix {
    type Err = RunPrefixError;

    fn from_str(text: &str) -> Result<Self, RunPrefixError> {
        let filled = format!("{text:0<LENGTH_MAX$}");
        if text.len() < LENGTH_MIN || filled.parse::<RunId>().is_err() {
            return Err(RunPrefixError);
        }
        Ok(Self(text.to_owned()))
    }
}

impl std::fmt::Display for RunPrefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl RunPrefix {
    /// Returns the only run whose id matches. A complete id is returned without a check, because the engine reports an
    /// unknown run.
    pub(crate) fn resolve(&self, view: &View) -> Result<RunId, Failure> {
        if let Some(run) = self.whole() {
            return Ok(run);
        }
        self.pick(view.runs()?.into_iter().map(|known| known.run))
    }

    /// Returns the run id, if the user typed all of its characters.
    pub(crate) fn whole(&self) -> Option<RunId> {
        self.0.parse().ok()
    }

    /// Returns whether the id of `run` begins with this prefix.
    pub(crate) fn begins(&self, run: RunId) -> bool {
        run.to_string().starts_with(&self.0)
    }

    fn pick(&self, runs: impl Iterator<Item = RunId>) -> Result<RunId, Failure> {
        let found: Vec<_> = runs.filter(|&run| self.begins(run)).collect();
        match found.as_slice() {
            [run] => Ok(*run),
            [] => Err(Failure::NoSuchRun { prefix: self.0.clone() }),
            [_, _, ..] => Err(Failure::AmbiguousRun { prefix: self.0.clone(), runs: found }),
        }
    }
}

/// Returns the newest committed run, which commands use if the user names none.
pub(crate) fn newest(view: &View) -> Result<RunId, Failure> {
    let runs = view.runs()?;
    let made = runs.iter().rev().find(|known| known.outcome == Outcome::Committed);
    Ok(made.ok_or(Failure::NoRunYet)?.run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_4_to_12_characters_of_a_run_id() {
        for good in ["0123", "abcdefghjkmn"] {
            assert!(good.parse::<RunPrefix>().is_ok(), "{good}");
        }
        for bad in ["", "012", "abcdefghjkmnp", "ABCD", "abco", "ab-d", "éé"] {
            assert_eq!(bad.parse::<RunPrefix>(), Err(RunPrefixError), "{bad}");
        }
    }
    #[test]
    fn run_prefix_resolves_to_its_unique_run() {
        let runs = ["0123aaaaaaaa", "0124aaaaaaaa", "0124bbbbbbbb"].map(|id| id.parse().unwrap());
        let pick = |text: &str| {
            let prefix: RunPrefix = text.parse().unwrap();
            prefix.pick(runs.into_iter()).map_err(|failure| failure.to_string())
        };
        assert_eq!(pick("0123"), Ok(runs[0]));
        assert_eq!(pick("0124b"), Ok(runs[2]));
        assert_eq!(
            pick("0124").unwrap_err(),
            "the run id `0124` is ambiguous: it matches 2 runs: `0124aaaaaaaa`, `0124bbbbbbbb`"
        );
        assert_eq!(pick("0125").unwrap_err(), "there is no run whose id begins with `0125`");
    }
}
