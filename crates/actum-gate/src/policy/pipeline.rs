//! Pipelines that task plans may run, as declared under `[[pipeline]]` (EX-9).

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
/// Maximum length of the name of a pipeline or parameter, in bytes.
const NAME_BYTES_MAX: usize = 100;
/// Maximum duration of one pipeline run, in seconds (seed 000, section 11.1).
const TIMEOUT_SECONDS_MAX: u64 = 3600;
/// Default maximum length of a string parameter, in characters.
const TEXT_CHARS_DEFAULT: u64 = 200;
/// Largest integer that JSON represents exactly (RFC 8259, section 6). The digest of a declaration requires
/// exact numbers.
const WHOLE_MAX: u64 = (1 << 53) - 1;
/// Upper bound for the maximum length of a string parameter, in characters.
const TEXT_CHARS_MAX: u64 = 4096;

/// Pipeline declared by the operator. A task plan only names it and sets its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeclaredPipeline {
    /// Name by which task plans refer to the pipeline.
    pub name: String,
    /// Steps in order. Each step is a program with its arguments and runs without a shell.
    pub steps: Vec<Vec<Argument>>,
    /// Whether the pipeline has external effects. Its steps use the host's network, run after the plan's change
    /// is published, and cannot change the workspace.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// Directory in which the steps start, or `None` for the root of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<RelPath>,
    /// Environment variables of the steps: a name to pass the variable on, or `NAME=VALUE` to set it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Paths on which the result depends, or `None` if it may depend on every path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<PathRule>>,
    /// Paths that the steps may change.
    pub outputs: Vec<PathRule>,
    /// Time limit of one pipeline run. It applies if it is lower than the plan's limit.
    #[serde(rename = "timeout_seconds", skip_serializing_if = "Option::is_none", with = "seconds")]
    pub timeout: Option<Duration>,
    /// Parameters of the pipeline, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, ParameterRule>,
}

/// Argument of a pipeline step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// The argument is a literal string.
    Text(String),
    /// The argument is the value of the parameter with this name.
    Parameter(String),
}

/// Declaration of a pipeline parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParameterRule {
    /// Values that a plan may set.
    pub values: ParameterValues,
    /// Default value. If it is `None`, the plan must set the parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Values that are allowed for a pipeline parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterValues {
    /// The value must be one of these strings.
    OneOf(BTreeSet<String>),
    /// The value must be an integer from the first to the second number, inclusive.
    Whole(i64, i64),
    /// The value must be a single-line string with at most this number of characters that does not start with
    /// `-`.
    Text(u64),
}

/// Reason why the parameters that a plan sets for a pipeline are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The plan sets a parameter that the pipeline does not have.
    #[error("the pipeline `{pipeline}` has no parameter `{name}`{}", list(known))]
    Unknown {
        /// Name of the pipeline.
        pipeline: String,
        /// Name of the parameter.
        name: String,
        /// Names of the parameters that the pipeline has.
        known: Vec<String>,
    },
    /// The plan does not set a required parameter.
    #[error("the pipeline `{pipeline}` requires the parameter `{name}` ({wanted})")]
    Missing {
        /// Name of the pipeline.
        pipeline: String,
        /// Name of the parameter.
        name: String,
        /// Description of the allowed values.
        wanted: String,
    },
    /// The plan sets a parameter to a value that is not allowed.
    #[error("the parameter `{name}` of the pipeline `{pipeline}` must be {wanted}, but is {found}")]
    Value {
        /// Name of the pipeline.
        pipeline: String,
        /// Name of the parameter.
        name: String,
        /// Description of the value that the plan sets.
        found: String,
        /// Description of the allowed values.
        wanted: String,
    },
}

fn list(names: &[String]) -> String {
    match names {
        [] => "; it takes no parameters".to_owned(),
        names => format!("; valid parameters: `{}`", names.join("`, `")),
    }
}

impl DeclaredPipeline {
    /// Returns the arguments of each step after inserting the parameters that a plan sets.
    ///
    /// # Errors
    /// Returns [`ParameterError`] if a parameter is unknown, missing or has a value that is not allowed.
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
            // Steps can only refer to declared parameters.
            Argument::Parameter(name) => values.get(name.as_str()).cloned().unwrap_or_default(),
        };
        Ok(self.steps.iter().map(|step| step.iter().map(argument).collect()).collect())
    }

    /// Returns the SHA-256 digest of the declaration as canonical JSON.
    ///
    /// # Errors
    /// Returns `Number` if JSON cannot represent a number of the declaration exactly.
    pub fn digest(&self) -> Result<Digest, CanonicalError> {
        Ok(Digest::of(&canonical::to_vec(self)?))
    }

    /// Returns true if the steps may change `path`.
    pub fn may_change(&self, path: &RelPath) -> bool {
        self.outputs.iter().any(|rule| rule.covers(path))
    }

    /// Returns true if the result may depend on `path`.
    pub fn depends_on(&self, path: &RelPath) -> bool {
        self.inputs.as_ref().is_none_or(|inputs| inputs.iter().any(|rule| rule.covers(path)))
    }

    /// Returns true if neither pipeline can change a path that the other one reads or changes. The comparison
    /// only uses the literal prefixes of patterns, so it may return false for pipelines that are independent.
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

    /// Reads all `[[pipeline]]` tables.
    pub(super) fn read_all(root: &Table<'_>) -> Result<Vec<Self>, Diagnostic> {
        let mut read: Vec<Self> = Vec::new();
        for table in root.tables("pipeline")? {
            let pipeline = Self::read(&table)?;
            let name = table.need("name")?;
            if read.iter().any(|other| other.name == pipeline.name) {
                return Err(name.unusable(&"another pipeline has the same name"));
            }
            if read.len() >= PIPELINES_MAX {
                return Err(
                    name.unusable(&format!("a policy may have at most {PIPELINES_MAX} pipelines"))
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
                return Err(parameter
                    .need("name")?
                    .unusable(&"another parameter has the same name"));
            }
        }
        let step = |step: &Value<'_>| {
            let arguments = step.list("strings", |text| argument(text, &parameters))?;
            match arguments.first() {
                Some(Argument::Text(program)) if !program.is_empty() => {}
                Some(_) => {
                    return Err(step.unusable(
                        &"its first string must be a program, not a parameter or an empty string",
                    ));
                }
                None => {
                    return Err(step.unusable(&"it is empty, but a step must start with a program"));
                }
            }
            match arguments.len() > ARGUMENTS_MAX {
                true => Err(step.unusable(&format!("it has more than {ARGUMENTS_MAX} strings"))),
                false => Ok(arguments),
            }
        };
        let all = table.need("steps")?;
        let steps = all.list("steps, each a list of strings", step)?;
        if steps.is_empty() || steps.len() > STEPS_MAX {
            return Err(all.unusable(&format!("a pipeline must have 1 to {STEPS_MAX} steps")));
        }
        if let Some(unused) = parameters.keys().find(|name| {
            let is_used = |it: &Argument| matches!(it, Argument::Parameter(used) if used == *name);
            !steps.iter().flatten().any(is_used)
        }) {
            let why = format!(
                "no step uses the argument `{{{unused}}}`, so the parameter `{unused}` has no effect"
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
                &"an external pipeline cannot change the workspace; set `outputs = []`",
            ));
        }
        if let (true, Some(paths)) = (external, table.get("inputs")) {
            return Err(paths.unusable(
                &"an external pipeline always runs after all other actions, so `inputs` has no effect",
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
        let one_of = table.list("one_of", "strings", |text| Ok(line(text)?.to_owned()))?;
        let whole = |key| {
            let value = table.get(key).map(|value| match value.whole()? {
                number if number.unsigned_abs() <= WHOLE_MAX => Ok(number),
                other => {
                    let wanted = format!(
                        "-{WHOLE_MAX} to {WHOLE_MAX}, the range that JSON represents exactly"
                    );
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
                let why = "set only `one_of` with at least one string, `min` and `max` in this order, or `max_chars`";
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
    /// Reads the value that a plan sets.
    ///
    /// # Errors
    /// Returns a description of the value if it is not allowed.
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
                "a string of at most {max} characters that has no control characters and does not start with `-`"
            ),
        }
    }
}

/// Reads a name, which consists of letters, digits, `_` and `-`.
fn name(value: &Value<'_>) -> Result<String, Diagnostic> {
    let text = value.text("a name (a string)")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    match !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => {
            let wanted = format!("1 to {NAME_BYTES_MAX} letters, digits, `_` and `-`");
            Err(value.other_than(wanted, format!("`{}`", shown(text))))
        }
    }
}

/// Reads a string that can be an argument of a program.
fn line<'t>(value: &Value<'t>) -> Result<&'t str, Diagnostic> {
    let text = value.text("a string")?;
    match text.contains('\0') {
        true => Err(value.unusable(&"it contains a NUL byte")),
        false => Ok(text),
    }
}

/// Reads an argument. If the entire argument is `{name}`, it is replaced with the value of a parameter. Braces
/// inside a longer string are literal.
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
                "it refers to the parameter `{name}`, which no `[[pipeline.parameter]]` declares"
            );
            Err(value.unusable(&why))
        }
        None => Ok(Argument::Text(text.to_owned())),
    }
}

/// Reads a directory of the workspace. Returns `None` for its root.
fn directory(value: &Value<'_>) -> Result<Option<RelPath>, Diagnostic> {
    match value.text("a directory (a string)")? {
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
