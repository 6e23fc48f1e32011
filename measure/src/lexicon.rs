//! `cargo xtask lexicon`: derives the confirmation lexicon from an extract of CLDR and a reviewed overlay (AEC-5).

mod derive;
mod extract;
mod fetch;
mod json;
mod overlay;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use actum_agent::confirmation::{Lexicon, Words};

use crate::Outcome;
use extract::Extract;
use overlay::Overlay;

/// CLDR release that the lexicon is derived from.
const CLDR: &str = "48.2.0";
const EXTRACT: &str = "lexicon/cldr-48.2.0.json";
const OVERLAY: &str = "lexicon/overlay.json";
const LICENCE: &str = "lexicon/LICENSE-Unicode";
const LEXICON: &str = "crates/actum-agent/src/confirmation/confirm_lexicon.json";

/// Write the confirmation lexicon from `lexicon/`
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write nothing, and fail if the lexicon is out of date
    #[arg(long, conflicts_with = "fetch")]
    check: bool,
    /// First download CLDR from the npm registry and update the extract
    #[arg(long)]
    fetch: bool,
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    if options.fetch {
        fetch::run(root)?;
    }
    let text = lexicon(root)?;
    let path = root.join(LEXICON);
    let is_same = fs::read(&path).is_ok_and(|found| found == text.as_bytes());
    if !is_same && !options.check {
        fs::write(&path, &text).map_err(|error| format!("writing {LEXICON}: {error}"))?;
    }
    let lexicon = Lexicon::read(text.as_bytes())?;
    let state = match (is_same, options.check) {
        (true, _) => "as generated",
        (false, true) => "not as generated; run `cargo xtask lexicon`",
        (false, false) => "written",
    };
    eprintln!("{LEXICON}: {state}; {}", figures(&lexicon));
    Ok(if options.check && !is_same { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the text of the lexicon. The same sources always produce the same bytes.
fn lexicon(root: &Path) -> Result<String, Box<dyn Error>> {
    let read =
        |path: &str| fs::read(root.join(path)).map_err(|error| format!("reading {path}: {error}"));
    let extract = Extract::read(&read(EXTRACT)?).map_err(|error| format!("{EXTRACT}: {error}"))?;
    let overlay = Overlay::read(&read(OVERLAY)?).map_err(|error| format!("{OVERLAY}: {error}"))?;
    let derived = derive::derive(&extract, &overlay)?;
    Ok(write(&derived))
}

/// Words of all languages, and the data needed to look up a language tag.
struct Derived {
    version: String,
    aliases: BTreeMap<String, String>,
    region_scripts: BTreeMap<String, String>,
    banned: Vec<String>,
    languages: BTreeMap<String, Words>,
}

fn write(derived: &Derived) -> String {
    let Derived { version, aliases, region_scripts, banned, languages } = derived;
    let words = |Words { script, affirmative, negative, banned }: &Words| {
        json::object(&[
            ("script", json::value(script)),
            ("affirmative", json::value(affirmative)),
            ("negative", json::value(negative)),
            ("banned", json::value(banned)),
        ])
    };
    let languages = languages.iter().map(|(tag, of_tag)| (tag.as_str(), words(of_tag)));
    json::document(&[
        ("format", json::value(&Lexicon::FORMAT)),
        ("version", json::value(version)),
        ("aliases", json::lines(json::members(aliases))),
        ("region_scripts", json::lines(json::members(region_scripts))),
        ("banned", json::value(banned)),
        ("languages", json::lines(languages)),
    ])
}

fn figures(lexicon: &Lexicon) -> String {
    let sum = |list: fn(&Words) -> &Vec<String>| -> usize {
        lexicon.languages().map(|(_, words)| list(words).len()).sum()
    };
    format!(
        "{} languages, {} with their scripts; {} affirmatives, {} negatives, {} banned in one \
         language, {} in all",
        languages(lexicon),
        lexicon.languages().count(),
        sum(|words| &words.affirmative),
        sum(|words| &words.negative),
        sum(|words| &words.banned),
        lexicon.banned().len(),
    )
}

/// Returns the number of languages, regardless of scripts.
fn languages(lexicon: &Lexicon) -> usize {
    let language = |tag: &str| tag.split('-').next().unwrap_or(tag).to_owned();
    let languages = lexicon.languages().map(|(tag, _)| language(tag));
    languages.collect::<std::collections::BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-5
    #[test]
    fn committed_lexicon_matches_the_generated_one() {
        let root = xtask::root();
        let generated = lexicon(&root).unwrap();
        assert!(
            fs::read_to_string(root.join(LEXICON)).unwrap() == generated,
            "{LEXICON} is stale: run `cargo xtask lexicon`"
        );
        assert_eq!(lexicon(&root).unwrap(), generated);
        assert_eq!(Lexicon::built_in().unwrap().bytes(), generated.as_bytes());
    }

    /// AEC-5
    #[test]
    fn the_lexicon_has_at_least_130_languages() {
        let lexicon = Lexicon::built_in().unwrap();
        assert!(languages(&lexicon) >= 130, "{}", figures(&lexicon));
    }

    /// AEC-5
    #[test]
    fn check_fails_when_the_lexicon_is_missing_or_stale() {
        let root = tempfile::tempdir().unwrap();
        for path in [EXTRACT, OVERLAY] {
            let to = root.path().join(path);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(xtask::root().join(path), to).unwrap();
        }
        let path = root.path().join(LEXICON);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let run = |check| run(root.path(), &Options { check, fetch: false }).unwrap();
        assert_eq!(run(true), ExitCode::FAILURE);
        assert!(!path.exists());
        assert_eq!(run(false), ExitCode::SUCCESS);
        assert_eq!(run(true), ExitCode::SUCCESS);
        fs::write(&path, "{}").unwrap();
        assert_eq!(run(true), ExitCode::FAILURE);
        assert_eq!(fs::read(&path).unwrap(), b"{}");
    }
}
