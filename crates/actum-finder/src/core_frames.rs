//! Creates the frames and simulations of the core actions.

use std::collections::BTreeMap;

use actum_core::canonical;
use actum_core::{CoreAction, CoreEffect};
use serde::Deserialize;

use crate::lexicon::{LexiconError, Lexicons};
use crate::simulation::{Frame, Parameter, Rollback, Simulation};

static DOCUMENT: &[u8] = include_bytes!("../data/core_frames.json");
/// Required value of `format` in the frame document.
const FORMAT: &str = "actum.finder-frames/1";
/// Version of the core actions' inputs, as listed in the catalog.
const VERSION: &str = "1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    /// Parameters of each frame. The keys have the form `ACTION.FRAME`.
    frames: BTreeMap<String, Vec<Parameter>>,
}

/// Creates the simulations of all core actions, in the order in which the actions are documented.
pub(crate) fn core_simulations(lexicons: &Lexicons) -> Result<Vec<Simulation>, LexiconError> {
    let document: Document = serde_json::from_value(canonical::read(DOCUMENT)?)
        .map_err(|error| LexiconError::Form { message: canonical::describe(&error) })?;
    if document.format != FORMAT {
        return Err(LexiconError::Format { language: "core".to_owned() });
    }
    let names = lexicons.languages().flat_map(|(_, lexicon)| lexicon.frame_names());
    if let Some(frame) = names.into_iter().find(|name| !document.frames.contains_key(*name)) {
        return Err(LexiconError::UnknownFrame { frame: frame.clone() });
    }
    CoreAction::ALL.iter().map(|action| simulation(*action, &document, lexicons)).collect()
}

fn simulation(
    action: CoreAction,
    document: &Document,
    lexicons: &Lexicons,
) -> Result<Simulation, LexiconError> {
    let name = action.as_str();
    let unknown = |frame: &str| LexiconError::UnknownFrame { frame: frame.to_owned() };
    let frames = document.frames.iter().filter_map(|(key, parameters)| {
        let (of, frame) = key.split_once('.')?;
        (of == name).then_some((key, frame, parameters))
    });
    let frames = frames.map(|(key, frame, parameters)| {
        let words = lexicons.languages().map(|(code, lexicon)| {
            let words = lexicon.frame(key).ok_or_else(|| unknown(key))?;
            Ok((code, words.clone()))
        });
        let words = words.collect::<Result<Vec<_>, LexiconError>>()?;
        let wrong = |source| LexiconError::Frame { frame: key.clone(), source };
        Frame::new(frame, parameters.clone(), words).map_err(wrong)
    });
    let (access_action, rollback) = match action.effect() {
        CoreEffect::ChangesFiles => ("change_files", Rollback::UndoRun),
        CoreEffect::RunsCommand => ("run_command", Rollback::UndoRun),
        CoreEffect::Diagnoses => ("run_command", Rollback::None),
    };
    Ok(Simulation {
        id: name.parse().map_err(|_| unknown(name))?,
        version: Some(VERSION.to_owned()),
        access_action: access_action.to_owned(),
        rollback,
        frames: frames.collect::<Result<_, LexiconError>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-20
    #[test]
    fn only_file_deletion_has_destructive_verbs() {
        let lexicons = Lexicons::built_in().unwrap();
        for simulation in core_simulations(&lexicons).unwrap() {
            let of_simulation = simulation.frames.iter().flat_map(Frame::all_words);
            for (language, words) in of_simulation {
                let destructive = &lexicons.get(language).destructive;
                for phrase in &words.phrases {
                    let mut verbs = phrase.words().iter().flat_map(|words| words.iter());
                    let has_one = verbs.any(|verb| destructive.has(verb));
                    let expected = simulation.id.as_str() == "file_delete";
                    assert_eq!(has_one, expected, "{language} {}", phrase.as_str());
                }
            }
        }
    }

    /// AEC-1: only `diagnose_error` may use guard words as its own words, because it answers questions.
    #[test]
    fn only_error_diagnosis_permits_guard_words() {
        let lexicons = Lexicons::built_in().unwrap();
        for simulation in core_simulations(&lexicons).unwrap() {
            let of_simulation = simulation.frames.iter().flat_map(Frame::all_words);
            for (language, words) in of_simulation {
                let lexicon = lexicons.get(language);
                let guards: Vec<&str> =
                    words.objects.iter().filter(|word| lexicon.guards.has(word)).collect();
                let permits = simulation.id.as_str() == "diagnose_error";
                assert!(permits || guards.is_empty(), "{language} {}: {guards:?}", simulation.id);
                let both = lexicon.function_words.iter().find(|word| lexicon.guards.has(word));
                assert_eq!(both, None, "{language}");
            }
        }
    }

    /// AEC-1
    #[test]
    fn lexicon_is_parsed_strictly() {
        use crate::lexicon::Lexicon;
        let text = include_str!("../data/en.json");
        assert!(Lexicon::read("en", text.as_bytes()).is_ok());
        let is_refused = |text: &str| Lexicon::read("en", text.as_bytes()).is_err();
        assert!(is_refused(&text.replacen("\"guards\"", "\"guard\"", 1)));
        assert!(is_refused(&text.replacen("\"language\": \"en\"", "\"language\": \"de\"", 1)));
        assert!(is_refused(&text.replacen("lexicon/1", "lexicon/2", 1)));
        assert!(is_refused(&text.replacen("\"empty\": \"", "\"other\": \"", 1)));
        assert!(is_refused(&text.replacen("MONEY_TRANSFER", "MONEY", 1)));
        assert!(is_refused(&format!("{text}{}", " ".repeat(crate::limits::LEXICON_BYTES_MAX))));
    }
}
