//! JSONPath (RFC 9535), which selects the place in a document that an edit changes. A path must select exactly one place.
//!
//! A path that consists only of names and indices is followed directly. Any other path is evaluated as a query on the parsed
//! document. Because the cost of a query depends on the path and on the document, both are limited.

mod error;
mod node_path;
mod order;
mod singular;

pub use error::{JsonPathError, JsonPathSyntax, PathProblem, Stop};
pub(super) use node_path::{NodePath, Step};

use actum_core::count;
use actum_core::place::Excerpt;
use serde::{Deserialize, Serialize};

/// Maximum length of a path in bytes.
pub const PATH_BYTES_MAX: usize = 1_024;
/// Maximum nesting depth of brackets and parentheses in a path.
pub const PATH_NESTING_MAX: usize = 16;
/// Maximum number of nodes that a query may have to visit, according to an upper estimate.
pub const QUERY_WORK_MAX: u64 = 50_000_000;
/// Maximum number of places that an error message lists if a path selects several.
pub const PLACES_SHOWN_MAX: usize = 3;

/// Functions of RFC 9535 that are not supported because they evaluate regular expressions, whose cost is unbounded.
const PATTERN_FUNCTIONS: [&str; 2] = ["match", "search"];

/// Valid JSONPath (RFC 9535) that does not call the functions `match` and `search`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct JsonPath(String);

impl JsonPath {
    /// Parses a JSONPath.
    ///
    /// # Errors
    /// Returns a [`JsonPathError`] if the path does not follow RFC 9535, exceeds a limit, or calls an unsupported function.
    pub fn new(text: &str) -> Result<Self, JsonPathError> {
        let refused = |problem| JsonPathError { given: Excerpt::new(text.as_bytes()), problem };
        if text.len() > PATH_BYTES_MAX {
            return Err(refused(JsonPathSyntax::TooLong { bytes: text.len() }));
        }
        if nesting(text) > PATH_NESTING_MAX {
            return Err(refused(JsonPathSyntax::TooDeep));
        }
        match serde_json_path::JsonPath::parse(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => {
                if let Some(name) = pattern_function(text) {
                    return Err(refused(JsonPathSyntax::Pattern { name }));
                }
                let before = error.position().saturating_sub(1);
                let found = text.get(before..).unwrap_or_default();
                let found = found.chars().next().map(|c| Excerpt::new(c.to_string().as_bytes()));
                Err(refused(JsonPathSyntax::Syntax { byte: count(before) + 1, found }))
            }
        }
    }

    /// Returns the text of the path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the steps if the path consists only of names and non-negative indices.
    pub(super) fn steps(&self) -> Option<NodePath> {
        singular::steps(&self.0)
    }

    /// Returns the excerpt of the path that an error message shows.
    pub(super) fn shown(&self) -> Excerpt {
        Excerpt::new(self.0.as_bytes())
    }

    /// Whether the path may contain a filter, which can compare values.
    pub(super) fn compares(&self) -> bool {
        self.0.contains('?')
    }

    /// Returns all places that the path selects in `documents`, each with the index of its document.
    ///
    /// # Errors
    /// Returns [`PathProblem::TooMuch`] if the evaluation could take too long. Returns [`PathProblem::Repeated`] if the path
    /// selects a single place more than once, because RFC 9535 (section 2.1.2) counts it as several nodes.
    pub(super) fn places(
        &self,
        documents: &[serde_json::Value],
    ) -> Result<Vec<(usize, NodePath)>, PathProblem> {
        let refused = || PathProblem::TooMuch { path: self.shown() };
        let work = documents.iter().map(|document| self.work(document));
        if work.fold(0, u64::saturating_add) > QUERY_WORK_MAX {
            return Err(refused());
        }
        let text = order::rewritten(&self.0);
        let path = serde_json_path::JsonPath::parse(&text).map_err(|_| refused())?;
        let (mut places, mut times) = (Vec::new(), 0usize);
        for (index, document) in documents.iter().enumerate() {
            let found = path.query_located(document);
            times = times.saturating_add(found.len());
            for found in found.dedup() {
                places.push((index, NodePath::new(found.location())));
            }
        }
        match &*places {
            [(_, way)] if times > 1 => {
                let place = Excerpt::new(way.to_string().as_bytes());
                Err(PathProblem::Repeated { path: self.shown(), place, times })
            }
            _ => Ok(places),
        }
    }

    /// Returns the only place in `places`.
    ///
    /// # Errors
    /// Returns [`PathProblem::Nothing`] or [`PathProblem::Several`] if there is not exactly one place.
    pub(super) fn only<T>(
        &self,
        mut places: Vec<(T, NodePath)>,
        shown: impl Fn(&T, &NodePath) -> String,
    ) -> Result<(T, NodePath), PathProblem> {
        let path = self.shown();
        match (places.pop(), places.is_empty()) {
            (None, _) => Err(PathProblem::Nothing { path }),
            (Some(place), true) => Ok(place),
            (Some(last), false) => {
                places.push(last);
                let first = places.iter().take(PLACES_SHOWN_MAX);
                let first = first.map(|(at, way)| Excerpt::new(shown(at, way).as_bytes()));
                Err(PathProblem::Several { path, count: places.len(), first: first.collect() })
            }
        }
    }

    /// Returns an upper estimate of the number of nodes that a query may visit.
    ///
    /// A `..` or a filter may visit each value once for every container around it, and a `$` in a filter evaluates a path from the
    /// root for each candidate. A comma can double the selection, and each `<=` and `>=` is evaluated twice.
    fn work(&self, document: &serde_json::Value) -> u64 {
        let (values, depth) = extent(document);
        let times = |text: &str| u32::try_from(self.0.matches(text).count()).unwrap_or(u32::MAX);
        let again = times("..").saturating_add(times("?")).saturating_sub(1);
        values
            .saturating_mul(depth.saturating_pow(again))
            .saturating_mul(values.saturating_pow(times("$").saturating_sub(1)))
            .saturating_mul(2u64.saturating_pow(times(",").saturating_add(times("="))))
    }
}

impl TryFrom<String> for JsonPath {
    type Error = JsonPathError;

    fn try_from(text: String) -> Result<Self, JsonPathError> {
        Self::new(&text)
    }
}

/// Converts a number for use in a query. Returns `None` if a 64-bit floating-point number cannot represent it exactly enough to
/// be compared.
pub(super) fn comparable(spelled: &str) -> Option<serde_json::Number> {
    let number: serde_json::Number = spelled.parse().ok()?;
    let mantissa = spelled.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_matches('0');
    // A double preserves 15 significant digits. A number other than zero must not be rounded to zero.
    let number = number.as_f64()?;
    let is_exact = digits.len() <= 15 && (number.abs() < f64::MIN_POSITIVE) == digits.is_empty();
    // All numbers are floating-point numbers, so that 1 and 1.0 are also equal inside arrays and objects.
    serde_json::Number::from_f64(number).filter(|_| is_exact)
}

/// Returns the unsupported function that a path calls, if there is one.
fn pattern_function(text: &str) -> Option<&'static str> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let calls = |name: &&str| {
        order::outside_quotes(text).any(|at| {
            let before = text.get(..at).is_some_and(|before| !before.ends_with(in_name));
            let rest = text.get(at..).and_then(|rest| rest.strip_prefix(*name));
            before && rest.is_some_and(|rest| rest.starts_with('('))
        })
    };
    PATTERN_FUNCTIONS.into_iter().find(calls)
}

/// Returns the number of values in a document, including the document itself, and its nesting depth, where a scalar has depth 1.
fn extent(value: &serde_json::Value) -> (u64, u64) {
    use serde_json::Value;
    let sum = |children: &mut dyn Iterator<Item = &Value>| {
        children.map(extent).fold((1u64, 1u64), |(values, depth), (more, below)| {
            (values.saturating_add(more), depth.max(below.saturating_add(1)))
        })
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (1, 1),
        Value::Array(elements) => sum(&mut elements.iter()),
        Value::Object(members) => sum(&mut members.values()),
    }
}

/// Returns the nesting depth of brackets and parentheses outside of quotes.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for at in order::outside_quotes(text) {
        match text.as_bytes().get(at) {
            Some(b'[' | b'(') => depth += 1,
            Some(b']' | b')') => depth = depth.saturating_sub(1),
            Some(_) | None => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests;
