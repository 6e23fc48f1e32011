//! Creates simulations from the active actions of a catalog.

use std::collections::BTreeMap;

use actum::{Catalog, Registered, RollbackKind};
use actum_core::ActionName;
use serde_json::{Map, Value};

use crate::finder::Finder;
use crate::phrase::Phrase;
use crate::simulation::{
    ANY_LANGUAGE, Frame, FrameError, FrameWords, Parameter, ParameterKind, Rollback, Simulation,
};

/// Names of string properties whose values are treated as file paths.
const PATH_NAMES: [&str; 5] = ["file", "from", "path", "source", "to"];

impl Finder {
    /// Returns the simulations of all active actions in a catalog (AEC-6). An action of a package matches by its name
    /// and by the phrases that the operator registered for it.
    ///
    /// # Errors
    /// Returns [`FrameError`] if an action cannot be turned into a valid frame.
    pub fn simulations(&self, catalog: &Catalog) -> Result<Vec<Simulation>, FrameError> {
        let active = catalog.actions().filter(|registered| registered.is_active());
        active.map(|registered| self.simulation(registered)).collect()
    }

    fn simulation(&self, registered: &Registered) -> Result<Simulation, FrameError> {
        let Registered { name, version, access, rollback, .. } = registered;
        let core = name.core().and_then(|action| self.core_simulation(action));
        let frames = match core {
            Some(core) => core.frames.clone(),
            None => vec![package_frame(registered)?],
        };
        Ok(Simulation {
            id: name.clone(),
            version: version.clone(),
            access_action: access.as_str().to_owned(),
            rollback: match rollback {
                RollbackKind::None => Rollback::None,
                RollbackKind::Undo | RollbackKind::Package => Rollback::UndoRun,
            },
            frames,
        })
    }
}

/// Creates the frame of a package action. Each property of the input schema becomes a parameter, and the words of its
/// name become cue words.
///
/// A declared phrase that cannot occur in an utterance is skipped, so that one package cannot break the search for all
/// others. [`Phrase::from_declared`] rejects such phrases before a package is registered.
fn package_frame(registered: &Registered) -> Result<Frame, FrameError> {
    let parameters = parameters(&registered.input_schema);
    // If the schema cannot be represented by a frame, the Finder asks the user for the entire input instead.
    let parameters = match Frame::new("package", parameters.clone(), []) {
        Ok(_) => parameters,
        Err(_) => vec![input()],
    };
    let cues = parameters.iter().map(|it| (it.pointer.as_str(), it.member().split('_').collect()));
    let cues: Vec<(&str, Vec<&str>)> = cues.collect();
    let mut words: BTreeMap<&str, Vec<Phrase>> = BTreeMap::new();
    // A name such as `step_2` does not yield a phrase, because `2` is a number and not a word.
    words.insert(ANY_LANGUAGE, name_phrase(&registered.name).into_iter().collect());
    for (language, phrases) in &registered.phrases {
        let phrases = phrases.iter().filter_map(|text| Phrase::from_declared(text).ok());
        words.entry(language).or_default().extend(phrases);
    }
    let words = words.iter().filter(|(_, phrases)| !phrases.is_empty());
    let words = words.map(|(language, phrases)| {
        let phrases = phrases.iter().map(Phrase::as_str);
        Ok((*language, FrameWords::new(phrases, [], cues.iter().cloned())?))
    });
    let words = words.collect::<Result<Vec<_>, FrameError>>()?;
    Frame::new("package", parameters.clone(), words)
}

/// Returns the words of an action's name as a phrase, or `None` if they do not form a valid one.
fn name_phrase(name: &ActionName) -> Option<Phrase> {
    Phrase::new(&name.as_str().replace('_', " ")).ok()
}

/// Creates a parameter that stands for an entire input. No value in an utterance can fill it.
fn input() -> Parameter {
    let kind = ParameterKind::Other;
    Parameter { pointer: "/input".to_owned(), kind, required: true, needs_cue: true }
}

/// Creates one parameter for each property of a schema. No utterance can fill the parameter of a list or object, so
/// the Finder asks the user for the value if the property is required.
fn parameters(schema: &Map<String, Value>) -> Vec<Parameter> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|it| it.iter().any(|it| it == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut properties: Vec<(&String, &Value)> = properties.into_iter().flatten().collect();
    properties.sort_by_key(|(name, _)| *name);
    let parameter = |(name, property): (&String, &Value)| {
        let kind = match property.get("type").and_then(Value::as_str) {
            Some("string") if PATH_NAMES.contains(&name.as_str()) => ParameterKind::Path,
            Some("string") => ParameterKind::Text,
            Some("integer" | "number") => ParameterKind::Number,
            Some("boolean") => ParameterKind::Flag,
            Some(_) | None => ParameterKind::Other,
        };
        let needs_cue = kind != ParameterKind::Path;
        Parameter { pointer: format!("/{name}"), required: is_required(name), kind, needs_cue }
    };
    properties.into_iter().map(parameter).collect()
}
