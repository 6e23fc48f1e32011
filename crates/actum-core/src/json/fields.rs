//! Reads JSON objects with a fixed set of fields, and rejects unknown, missing and duplicate fields.

use std::fmt;

use super::{Content, Kind, Member, Value};
use crate::place::Excerpt;
use crate::suggestion;

/// Names of the fields that one type of object has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// Name of the object type with its article, such as `an edit`, for error messages.
    pub name: &'static str,
    /// Names of the fields.
    pub fields: &'static [&'static str],
    /// Alternative names of fields, as pairs of an alias and the field that it stands for.
    pub aliases: &'static [(&'static str, &'static str)],
}

/// Fields of one JSON object that conforms to a [`Schema`], except that fields may be missing.
#[derive(Debug, Clone)]
pub struct Fields<'v> {
    schema: Schema,
    start: usize,
    fields: Vec<Field<'v>>,
}

/// Field of a JSON object.
#[derive(Debug, Clone, Copy)]
pub struct Field<'v> {
    /// Name of the field in the text, which may be an alias.
    pub name: &'v str,
    /// Value of the field.
    pub value: &'v Value<'v>,
}

/// Error for a JSON value that does not have the required form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ShapeError {
    /// Byte offset at which the problem was found.
    pub offset: usize,
    /// Description of the problem.
    #[source]
    pub problem: ShapeProblem,
}

/// Reason why a JSON value does not have the required form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeProblem {
    /// The value is not an object.
    #[error("{name} must be an object, found {found}")]
    NoObject {
        /// Name of the expected object.
        name: &'static str,
        /// Kind of the value that was found.
        found: Kind,
    },
    /// The object has a field with an unknown name.
    #[error("unknown field `{field}`{}; fields of {name}: {}", Suggestion(*suggested), Names(fields))]
    Unknown {
        /// Name of the unknown field.
        field: Excerpt,
        /// Known field with a similar name.
        suggested: Option<&'static str>,
        /// Name of the object type.
        name: &'static str,
        /// Fields that objects of this type have.
        fields: &'static [&'static str],
    },
    /// A required field is missing.
    #[error("missing field `{field}`; fields of {name}: {}", Names(fields))]
    Missing {
        /// Name of the missing field.
        field: &'static str,
        /// Name of the object type.
        name: &'static str,
        /// Fields that objects of this type have.
        fields: &'static [&'static str],
    },
    /// A field occurs twice in an object.
    #[error("duplicate field `{field}`")]
    Doubled {
        /// Name of the field.
        field: Excerpt,
    },
    /// A field is given under its name and also under an alias.
    #[error("`{alias}` is an alias of `{field}`, which is also present; use only one of them")]
    BothNames {
        /// Name of the field.
        field: &'static str,
        /// Alias of the field.
        alias: &'static str,
    },
    /// A field is given under two of its aliases.
    #[error("`{alias}` and `{before}` are both aliases of `{field}`; use only one of them")]
    TwoAliases {
        /// Name of the field.
        field: &'static str,
        /// Alias that comes first in the text.
        before: &'static str,
        /// Alias that comes second in the text.
        alias: &'static str,
    },
    /// The value of a field has the wrong kind.
    #[error("`{field}` must be {expected}, found {found}")]
    Kind {
        /// Name of the field.
        field: Excerpt,
        /// Kind of value that the field requires.
        expected: Expected,
        /// Kind of the value that was found.
        found: Kind,
    },
    /// A number is not an integer, or is outside the range of its field.
    #[error("`{field}` must be a whole number from 0 to {max}, found `{found}`")]
    Number {
        /// Name of the field.
        field: Excerpt,
        /// Largest number that is allowed.
        max: u64,
        /// Number as spelled in the text.
        found: Excerpt,
    },
    /// An array that must have at least one element is empty.
    #[error("`{field}` is empty, so there is nothing to change")]
    Empty {
        /// Name of the field.
        field: Excerpt,
    },
}

/// Kind of value that a field requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Any string.
    String,
    /// An integer that is not negative.
    WholeNumber,
    /// The literal `true` or `false`.
    Boolean,
    /// Any array.
    Array,
}

impl Schema {
    /// Reads the fields of an object.
    ///
    /// # Errors
    /// [`ShapeError`] if `value` is not an object, or if it has a duplicate or unknown field.
    pub fn fields<'v>(&self, value: &'v Value<'v>) -> Result<Fields<'v>, ShapeError> {
        let Content::Object(members) = &value.content else {
            let problem = ShapeProblem::NoObject { name: self.name, found: value.kind() };
            return Err(ShapeError { offset: value.span.start, problem });
        };
        let mut fields: Vec<Field<'_>> = Vec::with_capacity(members.len().min(self.fields.len()));
        for member in members {
            let refused = |problem| ShapeError { offset: member.name_span.start, problem };
            self.check(member, &fields).map_err(refused)?;
            fields.push(Field { name: &member.name, value: &member.value });
        }
        Ok(Fields { schema: *self, start: value.span.start, fields })
    }

    fn check(&self, member: &Member<'_>, before: &[Field<'_>]) -> Result<(), ShapeProblem> {
        let Some(name) = self.names().find(|name| **name == *member.name) else {
            let (field, fields) = (Excerpt::new(member.name.as_bytes()), self.fields);
            let suggested = suggestion::suggest(&member.name, &self.names().collect::<Vec<_>>());
            return Err(ShapeProblem::Unknown { field, suggested, name: self.name, fields });
        };
        let field = self.meaning(name);
        let earlier = before.iter().find(|before| self.meaning(before.name) == field);
        let Some(earlier) = earlier else { return Ok(()) };
        if earlier.name == name {
            return Err(ShapeProblem::Doubled { field: Excerpt::new(name.as_bytes()) });
        }
        let alias = |of: &str| self.aliases.iter().map(|(alias, _)| *alias).find(|it| *it == of);
        let field = self.fields.iter().find(|it| **it == field).copied().unwrap_or(name);
        Err(match (alias(earlier.name), alias(name)) {
            (Some(before), Some(alias)) => ShapeProblem::TwoAliases { field, before, alias },
            (Some(alias), None) | (None, Some(alias)) => ShapeProblem::BothNames { field, alias },
            (None, None) => ShapeProblem::Doubled { field: Excerpt::new(name.as_bytes()) },
        })
    }

    /// Iterates over the names of the fields, followed by their aliases.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().copied().chain(self.aliases.iter().map(|(alias, _)| *alias))
    }

    /// Resolves an alias to the name of its field. Any other name is returned unchanged.
    fn meaning<'n>(&self, name: &'n str) -> &'n str {
        let alias = self.aliases.iter().find(|(alias, _)| *alias == name);
        alias.map_or(name, |(_, field)| field)
    }
}

impl<'v> Fields<'v> {
    /// Returns the field with this name, even if its value is `null`.
    pub fn get(&self, name: &str) -> Option<Field<'v>> {
        let aliases = self.schema.aliases;
        let is_requested = |found: &str| found == name || aliases.contains(&(found, name));
        self.fields.iter().find(|field| is_requested(field.name)).copied()
    }

    /// Returns the field with this name, unless it is missing or `null`.
    pub fn optional(&self, name: &str) -> Option<Field<'v>> {
        self.get(name).filter(|field| field.value.kind() != Kind::Null)
    }

    /// Returns the field with this name, which must be present.
    ///
    /// # Errors
    /// [`ShapeProblem::Missing`], located at the start of the object.
    pub fn required(&self, field: &'static str) -> Result<Field<'v>, ShapeError> {
        let Schema { name, fields, .. } = self.schema;
        let problem = ShapeProblem::Missing { field, name, fields };
        self.get(field).ok_or(ShapeError { offset: self.start, problem })
    }
}

impl<'v> Field<'v> {
    /// Returns the decoded string that is the value of the field.
    ///
    /// # Errors
    /// [`ShapeProblem::Kind`].
    pub fn string(&self) -> Result<&'v str, ShapeError> {
        let Content::String(text) = &self.value.content else {
            return Err(self.not(Expected::String));
        };
        Ok(text)
    }

    /// Returns the boolean that is the value of the field.
    ///
    /// # Errors
    /// [`ShapeProblem::Kind`].
    pub fn boolean(&self) -> Result<bool, ShapeError> {
        let Content::Boolean(value) = &self.value.content else {
            return Err(self.not(Expected::Boolean));
        };
        Ok(*value)
    }

    /// Returns the elements of the array that is the value of the field.
    ///
    /// # Errors
    /// [`ShapeProblem::Kind`].
    pub fn array(&self) -> Result<&'v [Value<'v>], ShapeError> {
        let Content::Array(elements) = &self.value.content else {
            return Err(self.not(Expected::Array));
        };
        Ok(elements)
    }

    /// Returns the elements of the array that is the value of the field, which must not be empty.
    ///
    /// # Errors
    /// [`ShapeProblem::Kind`] and [`ShapeProblem::Empty`].
    pub fn filled_array(&self) -> Result<&'v [Value<'v>], ShapeError> {
        let elements = self.array()?;
        if elements.is_empty() {
            return Err(self.refused(ShapeProblem::Empty { field: self.shown() }));
        }
        Ok(elements)
    }

    /// Returns the value of the field as an integer. It must consist of digits only, so `1.0` and `1e0` are rejected.
    ///
    /// # Errors
    /// [`ShapeProblem::Kind`] and [`ShapeProblem::Number`].
    pub fn u32(&self) -> Result<u32, ShapeError> {
        self.whole_number(u64::from(u32::MAX))
    }

    /// Returns the value of the field as an integer up to 2⁶⁴ − 1, otherwise like [`u32`](Self::u32).
    ///
    /// # Errors
    /// [`ShapeProblem::Kind`] and [`ShapeProblem::Number`].
    pub fn u64(&self) -> Result<u64, ShapeError> {
        self.whole_number(u64::MAX)
    }

    fn whole_number<N: std::str::FromStr>(&self, max: u64) -> Result<N, ShapeError> {
        let Content::Number(digits) = self.value.content else {
            return Err(self.not(Expected::WholeNumber));
        };
        digits.parse().map_err(|_| {
            let found = Excerpt::new(digits.as_bytes());
            self.refused(ShapeProblem::Number { field: self.shown(), max, found })
        })
    }

    fn not(&self, expected: Expected) -> ShapeError {
        let (field, found) = (self.shown(), self.value.kind());
        self.refused(ShapeProblem::Kind { field, expected, found })
    }

    fn refused(&self, problem: ShapeProblem) -> ShapeError {
        ShapeError { offset: self.value.span.start, problem }
    }

    fn shown(&self) -> Excerpt {
        Excerpt::new(self.name.as_bytes())
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String => "a string",
            Self::WholeNumber => "a whole number",
            Self::Boolean => "`true` or `false`",
            Self::Array => "an array",
        })
    }
}

/// Suffix of an error message about an unknown name, which suggests a known name.
struct Suggestion(Option<&'static str>);

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |name| write!(f, " (did you mean `{name}`?)"))
    }
}

/// Comma-separated list of field names for an error message.
pub(crate) struct Names<'a>(pub(crate) &'a [&'static str]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            write!(f, "{}`{name}`", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THING: Schema = Schema {
        name: "a thing",
        fields: &["path", "lines", "all", "parts"],
        aliases: &[("file_path", "path"), ("filename", "path")],
    };

    fn refused<T>(text: &str, read: fn(Fields<'_>) -> Result<T, ShapeError>) -> (usize, String) {
        let value = Value::read(text.as_bytes()).unwrap();
        let error = THING.fields(&value).and_then(read).err().unwrap();
        (error.offset, error.to_string())
    }

    #[test]
    fn fields_are_found_by_name_in_any_order() {
        let text = r#"{"parts":[1],"all":true,"file_path":"é\n","lines":4294967295}"#;
        let value = Value::read(text.as_bytes()).unwrap();
        let fields = THING.fields(&value).unwrap();
        assert_eq!(fields.required("path").unwrap().string(), Ok("é\n"));
        assert_eq!(fields.required("lines").unwrap().u32(), Ok(u32::MAX));
        assert_eq!(fields.required("lines").unwrap().u64(), Ok(u64::from(u32::MAX)));
        assert_eq!(fields.required("all").unwrap().boolean(), Ok(true));
        assert_eq!(fields.required("parts").unwrap().array().unwrap().len(), 1);
        let value = Value::read(br#"{"all": null}"#).unwrap();
        let fields = THING.fields(&value).unwrap();
        assert!(fields.get("all").is_some());
        assert!(fields.optional("all").is_none() && fields.optional("path").is_none());
    }

    /// D-4
    #[test]
    fn unknown_missing_and_duplicate_fields_are_refused() {
        let any = |_: Fields<'_>| Ok(());
        for (text, offset, message) in [
            ("[]", 0, "a thing must be an object, found an array"),
            (" null", 1, "a thing must be an object, found `null`"),
            (
                r#"{"path":"a","foo\n":1}"#,
                12,
                "unknown field `foo\\n`; fields of a thing: `path`, `lines`, `all`, `parts`",
            ),
            (r#"{"all":true,"\u0061ll":1}"#, 12, "duplicate field `all`"),
            (
                r#"{"path":"a","file_path":"b"}"#,
                12,
                "`file_path` is an alias of `path`, which is also present; use only one of them",
            ),
            (
                r#"{"file_path":"a","path":"b"}"#,
                17,
                "`file_path` is an alias of `path`, which is also present; use only one of them",
            ),
            (
                r#"{"filename":"a","file_path":"b"}"#,
                16,
                "`file_path` and `filename` are both aliases of `path`; use only one of them",
            ),
            (r#"{"filename":"a","filename":"b"}"#, 16, "duplicate field `filename`"),
            (
                r#"{"Path":"a"}"#,
                1,
                "unknown field `Path` (did you mean `path`?); fields of a thing: `path`, `lines`, `all`, `parts`",
            ),
            (
                r#"{"fileName":"a"}"#,
                1,
                "unknown field `fileName` (did you mean `filename`?); fields of a thing: `path`, \
                 `lines`, `all`, `parts`",
            ),
        ] {
            assert_eq!(refused(text, any), (offset, message.to_owned()), "{text}");
        }
        assert_eq!(
            refused(" {}", |fields| fields.required("path").map(drop)),
            (
                1,
                "missing field `path`; fields of a thing: `path`, `lines`, `all`, `parts`"
                    .to_owned()
            )
        );
        let (_, long) = refused(&format!(r#"{{"{}":1}}"#, "\\u001b".repeat(500)), any);
        assert!(long.len() < 600 && !long.contains('\u{1b}'), "{long}");
    }

    /// D-4
    #[test]
    fn wrong_value_kinds_are_reported_in_plain_words() {
        let path = |fields: Fields<'_>| fields.required("path")?.string().map(drop);
        assert_eq!(
            refused(r#"{"path": 7}"#, path),
            (9, "`path` must be a string, found a number".to_owned())
        );
        assert_eq!(
            refused(r#"{"file_path": null}"#, path),
            (14, "`file_path` must be a string, found `null`".to_owned())
        );
        let all = |fields: Fields<'_>| fields.required("all")?.boolean().map(drop);
        assert_eq!(
            refused(r#"{"all":"true"}"#, all),
            (7, "`all` must be `true` or `false`, found a string".to_owned())
        );
        let parts = |fields: Fields<'_>| fields.required("parts")?.filled_array().map(drop);
        assert_eq!(
            refused(r#"{"parts":{}}"#, parts),
            (9, "`parts` must be an array, found an object".to_owned())
        );
        assert_eq!(
            refused(r#"{"parts":[]}"#, parts),
            (9, "`parts` is empty, so there is nothing to change".to_owned())
        );
        let lines = |fields: Fields<'_>| fields.required("lines")?.u32().map(drop);
        assert_eq!(
            refused(r#"{"lines":"1"}"#, lines),
            (9, "`lines` must be a whole number, found a string".to_owned())
        );
        for wrong in ["-1", "1.5", "4294967296", "1e0", "-0", "1.0"] {
            assert_eq!(
                refused(&format!("{{\"lines\":{wrong}}}"), lines),
                (
                    9,
                    format!("`lines` must be a whole number from 0 to 4294967295, found `{wrong}`")
                )
            );
        }
    }
}
