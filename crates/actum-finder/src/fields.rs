//! Assigns the values of an utterance to the parameters of a simulation.

use std::collections::{BTreeMap, BTreeSet};

use actum_core::canonical::COUNT_MAX;
use actum_core::path::needs_escape;
use actum_core::{RelPath, RunId};
use serde_json::{Map, Value, json};

use crate::fold::Terms;
use crate::simulation::{Frame, FrameWords, Parameter, ParameterKind};
use crate::utterance::{Given, Token, Utterance, is_path_like};

/// Maximum length of a command line in an input, in characters.
const COMMAND_CHARS_MAX: usize = 4096;
/// Maximum length of a path in an input, in bytes.
const PATH_BYTES_MAX: usize = 4095;

/// Values of an utterance, assigned to the parameters of a frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    /// Assigned values, keyed by the index of their parameter.
    values: BTreeMap<usize, Value>,
    /// Index of the first parameter whose value is of the right kind but cannot be used.
    doubtful: Option<usize>,
    /// Number of values in the utterance that no parameter accepts.
    pub(crate) surplus: usize,
    /// Positions of the cue words that introduce a value or set a flag.
    pub(crate) cues: BTreeSet<usize>,
}

/// Context in which the values of an utterance are interpreted.
pub(crate) struct Setting<'a> {
    pub(crate) utterance: &'a Utterance,
    /// Positions of the words that match the phrase.
    pub(crate) matched: &'a [usize],
    pub(crate) function_words: &'a Terms,
    pub(crate) words: &'a FrameWords,
}

/// Result of checking whether a value fits a parameter.
enum Fit {
    /// The value fits the parameter, in this JSON form.
    Value(Value),
    /// The value is of the right kind, but cannot be used.
    Doubtful,
    /// The parameter does not accept values of this kind.
    Other,
}

impl Fields {
    /// Assigns the values of an utterance to the parameters of a frame. Values after a cue word are assigned first, then
    /// the others in order.
    pub(crate) fn assign(frame: &Frame, setting: &Setting<'_>) -> Self {
        let mut fields = Self::default();
        let mut uncued = Vec::new();
        for (at, given) in setting.utterance.given() {
            match setting.cued(frame, at, given) {
                Some((cue, index)) => {
                    fields.cues.insert(cue);
                    fields.take(frame, index, given, setting);
                }
                None => uncued.push(given),
            }
        }
        for given in uncued {
            match fields.free_parameter(frame, given, setting) {
                Some(index) => fields.take(frame, index, given, setting),
                None => fields.surplus += 1,
            }
        }
        for (index, parameter) in frame.parameters.iter().enumerate() {
            match &parameter.kind {
                ParameterKind::Fixed(value) => {
                    fields.values.insert(index, value.clone());
                }
                ParameterKind::Flag => {
                    let words = setting.utterance.words();
                    let is_cue = |word: &str| setting.is_cue(parameter, word);
                    let at: Vec<usize> =
                        words.filter(|(_, word)| is_cue(word)).map(|(at, _)| at).collect();
                    if !at.is_empty() {
                        fields.values.insert(index, Value::Bool(true));
                    }
                    fields.cues.extend(at);
                }
                ParameterKind::Path
                | ParameterKind::Text
                | ParameterKind::Command
                | ParameterKind::Run
                | ParameterKind::Number
                | ParameterKind::Other => {}
            }
        }
        fields
    }

    /// Returns the first parameter whose value is unusable, or is required but missing.
    pub(crate) fn missing<'f>(&self, frame: &'f Frame) -> Option<&'f Parameter> {
        let is_missing = |(index, parameter): &(usize, &Parameter)| {
            self.doubtful == Some(*index)
                || (parameter.required && !self.values.contains_key(index))
        };
        frame.parameters.iter().enumerate().find(is_missing).map(|(_, parameter)| parameter)
    }

    /// Returns the number of required values that the utterance provides. Values fixed by the frame are not counted.
    pub(crate) fn given_count(&self, frame: &Frame) -> u32 {
        let is_given = |(index, parameter): &(usize, &Parameter)| {
            let is_fixed = matches!(parameter.kind, ParameterKind::Fixed(_));
            parameter.required && !is_fixed && self.values.contains_key(index)
        };
        let count = frame.parameters.iter().enumerate().filter(is_given).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Returns true if the utterance has a value, usable or not.
    pub(crate) fn has_given(&self, frame: &Frame) -> bool {
        self.doubtful.is_some() || self.given_count(frame) > 0
    }

    /// Returns the assigned values as the JSON input of the simulation.
    pub(crate) fn to_object(&self, frame: &Frame) -> Map<String, Value> {
        let mut object = Value::Object(Map::new());
        for (index, value) in &self.values {
            if let Some(parameter) = frame.parameters.get(*index) {
                merge(&mut object, nest(&parameter.pointer, value.clone()));
            }
        }
        match object {
            Value::Object(object) => object,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        }
    }

    fn take(&mut self, frame: &Frame, index: usize, given: &Given, setting: &Setting<'_>) {
        let Some(parameter) = frame.parameters.get(index) else { return };
        match (setting.fit(parameter, given), self.values.contains_key(&index)) {
            (Fit::Value(value), false) => {
                self.values.insert(index, value);
            }
            (Fit::Doubtful, false) => self.doubtful = self.doubtful.or(Some(index)),
            (Fit::Value(_) | Fit::Doubtful, true) | (Fit::Other, _) => self.surplus += 1,
        }
    }

    /// Returns the first unassigned parameter that accepts this value without a cue word. Quoted text goes to a path
    /// parameter only if no other parameter accepts it.
    fn free_parameter(&self, frame: &Frame, given: &Given, setting: &Setting<'_>) -> Option<usize> {
        let is_free = |(index, parameter): &(usize, &Parameter)| {
            !parameter.needs_cue
                && !self.values.contains_key(index)
                && self.doubtful != Some(*index)
                && !matches!(setting.fit(parameter, given), Fit::Other)
        };
        let free = || frame.parameters.iter().enumerate().filter(is_free);
        let is_text = |(_, parameter): &(usize, &Parameter)| parameter.kind != ParameterKind::Path;
        let preferred = match given {
            Given::Quoted(_) => free().find(is_text),
            Given::Path(_) | Given::Run(_) | Given::Number(_) | Given::Unclear(_) => None,
        };
        preferred.or_else(|| free().next()).map(|(index, _)| index)
    }
}

impl Setting<'_> {
    /// Returns the position of the cue word that introduces a value, and the index of its parameter. Other words may
    /// separate the two, but no other value and no word of the phrase.
    fn cued(&self, frame: &Frame, at: usize, given: &Given) -> Option<(usize, usize)> {
        let before = self.utterance.tokens.get(..at)?.iter().enumerate().rev();
        for (at, token) in before {
            let Token::Word(word) = token else { return None };
            let is_fit = |parameter: &Parameter| {
                self.is_cue(parameter, word) && !matches!(self.fit(parameter, given), Fit::Other)
            };
            if let Some(index) = frame.parameters.iter().position(is_fit) {
                return Some((at, index));
            }
            if self.matched.contains(&at) {
                return None;
            }
        }
        None
    }

    fn is_cue(&self, parameter: &Parameter, word: &str) -> bool {
        self.words.cues.get(&parameter.pointer).is_some_and(|cues| cues.has(word))
    }

    fn fit(&self, parameter: &Parameter, given: &Given) -> Fit {
        match (&parameter.kind, given) {
            (ParameterKind::Path, Given::Path(path)) => path_fit(path),
            (ParameterKind::Path, Given::Quoted(text)) if is_path_like(text) => path_fit(text),
            (ParameterKind::Path, Given::Quoted(text)) if self.has_object() => path_fit(text),
            (ParameterKind::Path, Given::Quoted(_) | Given::Unclear(_)) => Fit::Doubtful,
            (ParameterKind::Text, Given::Quoted(text)) => Fit::Value(Value::from(text.as_str())),
            (ParameterKind::Command, Given::Quoted(text)) => command_fit(text),
            (ParameterKind::Run, Given::Run(run)) => Fit::Value(Value::from(run.as_str())),
            (ParameterKind::Run, Given::Quoted(run)) => match RunId::from_text(run.as_bytes()) {
                Some(_) => Fit::Value(Value::from(run.as_str())),
                None => Fit::Doubtful,
            },
            (ParameterKind::Number, Given::Number(number)) => match number.parse::<u64>() {
                Ok(number) if number <= COUNT_MAX => Fit::Value(Value::from(number)),
                Ok(_) | Err(_) => Fit::Doubtful,
            },
            (
                ParameterKind::Path
                | ParameterKind::Text
                | ParameterKind::Command
                | ParameterKind::Run
                | ParameterKind::Number
                | ParameterKind::Flag
                | ParameterKind::Other
                | ParameterKind::Fixed(_),
                _,
            ) => Fit::Other,
        }
    }

    /// Returns true if the utterance contains an object word such as `file`, so that quoted text may be a path.
    fn has_object(&self) -> bool {
        self.utterance.words().any(|(_, word)| self.words.objects.has(word))
    }

    /// Returns true if the frame explains the word at this position, so that it needs no further interpretation.
    pub(crate) fn explains(&self, at: usize, word: &str) -> bool {
        self.matched.contains(&at)
            || self.function_words.has(word)
            || self.words.objects.has(word)
            || self.words.cues.values().any(|cues| cues.has(word))
    }
}

/// Interprets text as the path of a file in the workspace. Directories, absolute paths and glob patterns are doubtful.
fn path_fit(text: &str) -> Fit {
    let path = text.strip_prefix("./").unwrap_or(text);
    let is_usable = path.len() <= PATH_BYTES_MAX
        && !path.starts_with('~')
        && !path.ends_with(['/', ' '])
        && !path.contains(['\\', '*', '?'])
        && !path.contains(needs_escape)
        && RelPath::new(path).is_ok();
    if is_usable { Fit::Value(Value::from(path)) } else { Fit::Doubtful }
}

fn command_fit(text: &str) -> Fit {
    let command = text.trim();
    let is_usable = (1..=COMMAND_CHARS_MAX).contains(&command.chars().count())
        && !command.contains(char::is_control);
    if is_usable { Fit::Value(Value::from(command)) } else { Fit::Doubtful }
}

/// Creates nested objects that contain `value` at the given JSON Pointer. The segment `0` creates a list with one
/// element.
fn nest(pointer: &str, value: Value) -> Value {
    pointer.split('/').skip(1).collect::<Vec<_>>().into_iter().rev().fold(
        value,
        |value, segment| match segment {
            "0" => json!([value]),
            name => Value::Object(Map::from_iter([(name.to_owned(), value)])),
        },
    )
}

/// Merges `from` into `into` recursively. Objects are merged by name, and lists by position.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                match into.get_mut(&name) {
                    Some(known) => merge(known, value),
                    None => drop(into.insert(name, value)),
                }
            }
        }
        (Value::Array(into), Value::Array(from)) => {
            for (known, value) in into.iter_mut().zip(from) {
                merge(known, value);
            }
        }
        (into, from) => *into = from,
    }
}
