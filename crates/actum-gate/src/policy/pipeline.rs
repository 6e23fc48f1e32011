//! Pipelines that task plans may run: `[[pipeline]]` (EX-9).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use actum_core::canonical::{self, CanonicalError};
use actum_core::json::{Content, Value as Json};
use actum_core::{Digest, PathRule, RelPath};
use serde::Serialize;

use super::diagnostic::{Diagnostic, shown};
use super::written::{Secret, Table, Value};

/// Maximum number of pipelines in one policy.
const PIPELINES_MAX: usize = 1000;
/// Maximum number of steps in one pipeline.
const STEPS_MAX: usize = 100;
/// Maximum number of arguments of one step, including the program.
const ARGUMENTS_MAX: usize = 1000;
/// Maximum length of a name, in bytes.
const NAME_BYTES_MAX: usize = 100;
/// Maximum time of one run, in seconds (seed 000, section 11.1).
const TIMEOUT_SECONDS_MAX: u64 = 3600;
/// Default maximum length of a text parameter, in characters.
const TEXT_CHARS_DEFAULT: u64 = 200;
/// Largest integer that JSON holds exactly (RFC 8259, section 6), as the digest of a declaration requires.
const WHOLE_MAX: u64 = (1 << 53) - 1;
/// Maximum length of a text parameter, in characters.
const TEXT_CHARS_MAX: u64 = 4096;

/// Pipeline declared by the operator. A task plan only names it and sets its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeclaredPipeline {
    /// Name.
    pub name: String,
    /// Steps in order: each a program with its arguments, without a shell.
    pub steps: Vec<Vec<Argument>>,
    /// True if the pipeline has external effects. Its steps have the network of the host, run after the
    /// change of the plan is published, and change nothing in the workspace.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// Directory in which the steps start; absent for the root of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<RelPath>,
    /// Names of environment variables to pass to the steps, or `NAME=VALUE`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Paths on which the result depends; absent if it may depend on all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<PathRule>>,
    /// Paths that the steps may change.
    pub outputs: Vec<PathRule>,
    /// Time limit of one run, if it is lower than that of the plan.
    #[serde(rename = "timeout_seconds", skip_serializing_if = "Option::is_none", with = "seconds")]
    pub timeout: Option<Duration>,
    /// Parameters by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, ParameterRule>,
}

/// Argument of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// Literal text.
    Text(String),
    /// Value of the parameter with this name, as the whole argument.
    Parameter(String),
}

/// Parameter of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParameterRule {
    /// Allowed values.
    pub values: ParameterValues,
    /// Default value; without one the plan must set the parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Allowed values of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterValues {
    /// One of these texts.
    OneOf(BTreeSet<String>),
    /// Integer between the first and the second, inclusive.
    Whole(i64, i64),
    /// Text of one line with at most this number of characters, not starting with `-`.
    Text(u64),
}

/// Error in the parameters that a plan sets for a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// Unknown parameter.
    #[error("the pipeline `{pipeline}` has no parameter `{name}`{}", list(known))]
    Unknown {
        /// Pipeline.
        pipeline: String,
        /// Name.
        name: String,
        /// Known names.
        known: Vec<String>,
    },
    /// Missing value.
    #[error("the pipeline `{pipeline}` needs the parameter `{name}`, {wanted}")]
    Missing {
        /// Pipeline.
        pipeline: String,
        /// Name.
        name: String,
        /// Description of the allowed values.
        wanted: String,
    },
    /// Disallowed value.
    #[error(
        "the parameter `{name}` of the pipeline `{pipeline}` is {found}, and it has to be {wanted}"
    )]
    Value {
        /// Pipeline.
        pipeline: String,
        /// Name.
        name: String,
        /// Description of the value.
        found: String,
        /// Description of the allowed values.
        wanted: String,
    },
}

fn list(names: &[String]) -> String {
    match names {
        [] => "; it has none".to_owned(),
        names => format!("; it has `{}`", names.join("`, `")),
    }
}

impl DeclaredPipeline {
    /// Returns the arguments of each step with the values of a plan.
    ///
    /// # Errors
    /// [`ParameterError`]
    pub fn steps_with(
        &self,
        parameters: Option<&Json<'_>>,
    ) -> Result<Vec<Vec<String>>, ParameterError> {
        let pipeline = || self.name.clone();
        let mut values: BTreeMap<&str, String> = BTreeMap::new();
        for member in parameters.iter().flat_map(|it| it.members()) {
            let name: &str = &member.name;
            let Some((name, rule)) = self.parameters.get_key_value(name) else {
                let known = self.parameters.keys().cloned().collect();
                return Err(ParameterError::Unknown {
                    pipeline: pipeline(),
                    name: name.to_owned(),
                    known,
                });
            };
            let value = rule.values.read(&member.value).map_err(|found| {
                let wanted = rule.values.to_string();
                ParameterError::Value { pipeline: pipeline(), name: name.clone(), found, wanted }
            })?;
            values.insert(name, value);
        }
        for (name, rule) in &self.parameters {
            if values.contains_key(name.as_str()) {
                continue;
            }
            let Some(default) = &rule.default else {
                let wanted = rule.values.to_string();
                return Err(ParameterError::Missing {
                    pipeline: pipeline(),
                    name: name.clone(),
                    wanted,
                });
            };
            values.insert(name, default.clone());
        }
        let argument = |argument: &Argument| match argument {
            Argument::Text(text) => text.clone(),
            // A step only names declared parameters.
            Argument::Parameter(name) => values.get(name.as_str()).cloned().unwrap_or_default(),
        };
        Ok(self.steps.iter().map(|step| step.iter().map(argument).collect()).collect())
    }

    /// Returns the SHA-256 of the declaration as canonical JSON.
    ///
    /// # Errors
    /// `Number` if a number of it has no exact form in JSON.
    pub fn digest(&self) -> Result<Digest, CanonicalError> {
        Ok(Digest::of(&canonical::to_vec(self)?))
    }

    /// Returns true if the steps may change a path.
    pub fn may_change(&self, path: &RelPath) -> bool {
        self.outputs.iter().any(|rule| rule.covers(path))
    }

    /// Returns true if the result may depend on a path.
    pub fn depends_on(&self, path: &RelPath) -> bool {
        self.inputs.as_ref().is_none_or(|inputs| inputs.iter().any(|rule| rule.covers(path)))
    }

    /// Returns true if two pipelines cannot affect each other, judging by the literal prefixes of their patterns.
    pub fn is_independent_of(&self, other: &Self) -> bool {
        let meets = |changed: &[PathRule], touched: &[PathRule]| {
            changed.iter().any(|one| touched.iter().any(|other| one.may_meet(other)))
        };
        let disturbs = |one: &Self, other: &Self| match (&other.inputs, one.outputs.is_empty()) {
            (None, is_silent) => !is_silent,
            (Some(inputs), _) => meets(&one.outputs, inputs),
        };
        !disturbs(self, other) && !disturbs(other, self) && !meets(&self.outputs, &other.outputs)
    }

    /// Reads the tables.
    pub(super) fn read_all(root: &Table<'_>) -> Result<Vec<Self>, Diagnostic> {
        let mut read: Vec<Self> = Vec::new();
        for table in root.tables("pipeline")? {
            let pipeline = Self::read(&table)?;
            let name = table.need("name")?;
            if read.iter().any(|other| other.name == pipeline.name) {
                return Err(name.unusable(&"two pipelines have this name"));
            }
            if read.len() >= PIPELINES_MAX {
                return Err(
                    name.unusable(&format!("a policy has at most {PIPELINES_MAX} pipelines"))
                );
            }
            read.push(pipeline);
        }
        Ok(read)
    }

    fn read(table: &Table<'_>) -> Result<Self, Diagnostic> {
        let known = &[
            "name",
            "steps",
            "external",
            "cwd",
            "env",
            "inputs",
            "outputs",
            "timeout_seconds",
            "parameter",
        ];
        table.only(known, Secret::No)?;
        let name = name(&table.need("name")?)?;
        let mut parameters = BTreeMap::new();
        for parameter in table.tables("parameter")? {
            let (name, rule) = ParameterRule::read(&parameter)?;
            if parameters.insert(name, rule).is_some() {
                return Err(parameter.need("name")?.unusable(&"two parameters have this name"));
            }
        }
        let step = |step: &Value<'_>| {
            let arguments = step.list("texts", |text| argument(text, &parameters))?;
            match arguments.first() {
                Some(Argument::Text(program)) if !program.is_empty() => {}
                Some(_) => {
                    return Err(step.unusable(
                        &"its first text must be a program, not a parameter or an empty text",
                    ));
                }
                None => return Err(step.unusable(&"it is empty; a step begins with its program")),
            }
            match arguments.len() > ARGUMENTS_MAX {
                true => Err(step.unusable(&format!("it has more than {ARGUMENTS_MAX} texts"))),
                false => Ok(arguments),
            }
        };
        let all = table.need("steps")?;
        let steps = all.list("steps, each a list of texts", step)?;
        if steps.is_empty() || steps.len() > STEPS_MAX {
            return Err(all.unusable(&format!("a pipeline has 1 to {STEPS_MAX} steps")));
        }
        if let Some(unused) = parameters.keys().find(|name| {
            let is_used = |it: &Argument| matches!(it, Argument::Parameter(used) if used == *name);
            !steps.iter().flatten().any(is_used)
        }) {
            let why = format!(
                "no step has the argument `{{{unused}}}`, so the parameter `{unused}` has no effect"
            );
            return Err(all.unusable(&why));
        }
        let external = table.get("external").map(|it| it.truth()).transpose()?.unwrap_or_default();
        let inputs = table.list("inputs", "patterns", Value::pattern)?;
        let outputs = match (external, table.get("outputs")) {
            (true, None) => Vec::new(),
            _ => table.need("outputs")?.list("patterns", Value::pattern)?,
        };
        if let (true, Some(paths)) =
            (external, table.get("outputs").filter(|_| !outputs.is_empty()))
        {
            return Err(paths.unusable(
                &"an external pipeline changes nothing in the workspace: `outputs = []`",
            ));
        }
        if let (true, Some(paths)) = (external, table.get("inputs")) {
            return Err(paths.unusable(
                &"an external pipeline runs after all other actions, whatever it reads",
            ));
        }
        let cwd = table.get("cwd").map(|cwd| directory(&cwd)).transpose()?.flatten();
        let timeout = table.get("timeout_seconds").map(|value| match value.count()? {
            seconds @ 1..=TIMEOUT_SECONDS_MAX => Ok(Duration::from_secs(seconds)),
            other => {
                let wanted = format!("1 to {TIMEOUT_SECONDS_MAX} seconds");
                Err(value.other_than(wanted, other.to_string()))
            }
        });
        Ok(Self {
            name,
            steps,
            cwd,
            env: table.list("env", "variables", super::sandbox::variable)?.unwrap_or_default(),
            inputs,
            outputs,
            external,
            timeout: timeout.transpose()?,
            parameters,
        })
    }
}

impl ParameterRule {
    fn read(table: &Table<'_>) -> Result<(String, Self), Diagnostic> {
        table.only(&["name", "one_of", "min", "max", "max_chars", "default"], Secret::No)?;
        let written = table.need("name")?;
        let name = name(&written)?;
        let one_of = table.list("one_of", "texts", |text| Ok(line(text)?.to_owned()))?;
        let whole = |key| {
            let value = table.get(key).map(|value| match value.whole()? {
                number if number.unsigned_abs() <= WHOLE_MAX => Ok(number),
                other => {
                    let wanted = format!("-{WHOLE_MAX} to {WHOLE_MAX}, which JSON holds exactly");
                    Err(value.other_than(wanted, other.to_string()))
                }
            });
            value.transpose()
        };
        let chars = table.get("max_chars").map(|value| match value.count()? {
            count @ 1..=TEXT_CHARS_MAX => Ok(count),
            other => Err(value.other_than(format!("1 to {TEXT_CHARS_MAX}"), other.to_string())),
        });
        let values = match (one_of, whole("min")?, whole("max")?, chars.transpose()?) {
            (Some(texts), None, None, None) if !texts.is_empty() => {
                ParameterValues::OneOf(texts.into_iter().collect())
            }
            (None, Some(min), Some(max), None) if min <= max => ParameterValues::Whole(min, max),
            (None, None, None, chars) => ParameterValues::Text(chars.unwrap_or(TEXT_CHARS_DEFAULT)),
            _ => {
                let why = "a parameter has either `one_of` with at least one text, or `min` and `max`, or `max_chars`";
                return Err(written.unusable(&why));
            }
        };
        let default = table.get("default").map(|value| {
            let text = match values {
                ParameterValues::Whole(..) => value.whole()?.to_string(),
                ParameterValues::OneOf(_) | ParameterValues::Text(_) => line(&value)?.to_owned(),
            };
            match values.allows(&text) {
                true => Ok(text),
                false => Err(value.other_than(values.to_string(), format!("`{text}`"))),
            }
        });
        let default = default.transpose()?;
        Ok((name, Self { values, default }))
    }
}

impl ParameterValues {
    /// Reads a value of a plan.
    ///
    /// # Errors
    /// Description of the value, if it is not allowed.
    fn read(&self, value: &Json<'_>) -> Result<String, String> {
        let text = match (self, &value.content) {
            (Self::Whole(..), Content::Number(number)) => (*number).to_owned(),
            (Self::OneOf(_) | Self::Text(_), Content::String(text)) => text.to_string(),
            (Self::Whole(..) | Self::OneOf(_) | Self::Text(_), _) => {
                return Err(value.kind().to_string());
            }
        };
        match self.allows(&text) {
            true => Ok(text),
            false => Err(format!("`{}`", text.escape_debug())),
        }
    }

    fn allows(&self, text: &str) -> bool {
        match self {
            Self::OneOf(texts) => texts.contains(text),
            Self::Whole(min, max) => {
                text.parse().is_ok_and(|value: i64| (*min..=*max).contains(&value))
            }
            Self::Text(max) => {
                let is_short = actum_core::count(text.chars().count()) <= *max;
                is_short && !text.starts_with('-') && !text.chars().any(char::is_control)
            }
        }
    }
}

impl std::fmt::Display for ParameterValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OneOf(texts) => {
                let texts: Vec<_> = texts.iter().map(|text| format!("`{text}`")).collect();
                write!(f, "one of {}", texts.join(", "))
            }
            Self::Whole(min, max) => write!(f, "a whole number from {min} to {max}"),
            Self::Text(max) => write!(
                f,
                "a text of at most {max} characters, without control characters and without `-` at its beginning"
            ),
        }
    }
}

/// Reads a name: letters, digits, `_` and `-`.
fn name(value: &Value<'_>) -> Result<String, Diagnostic> {
    let text = value.text("a name, which is a text")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    match !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => {
            let wanted = format!("1 to {NAME_BYTES_MAX} letters, digits, `_` and `-`");
            Err(value.other_than(wanted, format!("`{}`", shown(text))))
        }
    }
}

/// Reads a text that can be an argument of a program.
fn line<'t>(value: &Value<'t>) -> Result<&'t str, Diagnostic> {
    let text = value.text("a text")?;
    match text.contains('\0') {
        true => Err(value.unusable(&"it contains a NUL byte")),
        false => Ok(text),
    }
}

/// Reads an argument. `{name}` is the value of a parameter; inside a longer text, braces are literal.
fn argument(
    value: &Value<'_>,
    parameters: &BTreeMap<String, ParameterRule>,
) -> Result<Argument, Diagnostic> {
    let text = line(value)?;
    let named = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let is_name = |it: &&str| !it.is_empty() && !it.contains(['{', '}']);
    match named.filter(is_name) {
        Some(name) if parameters.contains_key(name) => Ok(Argument::Parameter(name.to_owned())),
        Some(name) => {
            let why = format!(
                "it stands for the parameter `{name}`, which no `[[pipeline.parameter]]` declares"
            );
            Err(value.unusable(&why))
        }
        None => Ok(Argument::Text(text.to_owned())),
    }
}

/// Reads a directory of the workspace; `None` for its root.
fn directory(value: &Value<'_>) -> Result<Option<RelPath>, Diagnostic> {
    match value.text("a directory, which is a text")? {
        "." => Ok(None),
        text => {
            let path = RelPath::new(text.strip_suffix('/').unwrap_or(text));
            path.map(Some).map_err(|error| value.unusable(&error))
        }
    }
}

mod seconds {
    use std::time::Duration;

    use serde::Serializer;

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serializer.serialize_u64(time.as_secs()),
            None => serializer.serialize_none(),
        }
    }
}
