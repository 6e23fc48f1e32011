//! The fields of an object whose names are known: none unknown, none missing, none twice.

use std::fmt;

use super::{Content, Kind, Member, Value};
use crate::place::Excerpt;
use crate::suggestion;

/// Fields of one kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// Name of such an object, with its article: `an edit`.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [&'static str],
    /// Other names of fields, each before the field it stands for.
    pub aliases: &'static [(&'static str, &'static str)],
}

/// The fields of one object.
#[derive(Debug, Clone)]
pub struct Fields<'v> {
    schema: Schema,
    start: usize,
    fields: Vec<Field<'v>>,
}

/// One field.
#[derive(Debug, Clone, Copy)]
pub struct Field<'v> {
    /// Its name in the text.
    pub name: &'v str,
    /// Its value.
    pub value: &'v Value<'v>,
}

/// A value that is not of the form it must have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ShapeError {
    /// The byte where that shows.
    pub offset: usize,
    /// Problem.
    #[source]
    pub problem: ShapeProblem,
}

/// Reason why a value does not have the required form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeProblem {
    /// Something else stands where an object belongs.
    #[error("{name} must be an object, but here is {found}")]
    NoObject {
        /// Name of the expected object.
        name: &'static str,
        /// Kind of the value.
        found: Kind,
    },
    /// A field with a name that means nothing there.
    #[error("unknown field `{field}`{}; {name} has {}", Meant(*meant), Names(fields))]
    Unknown {
        /// The field.
        field: Excerpt,
        /// Known name that is almost the same.
        meant: Option<&'static str>,
        /// Name of the object.
        name: &'static str,
        /// Fields that the object has.
        fields: &'static [&'static str],
    },
    /// A field that must be there is not.
    #[error("the field `{field}` is missing; {name} has {}", Names(fields))]
    Missing {
        /// The field.
        field: &'static str,
        /// Name of the object.
        name: &'static str,
        /// Fields that the object has.
        fields: &'static [&'static str],
    },
    /// A name stands twice in one object.
    #[error("the field `{field}` stands here a second time")]
    Doubled {
        /// The field.
        field: Excerpt,
    },
    /// A field is given under both of its names.
    #[error("`{alias}` is another name of `{field}`, which is there too; give one of them")]
    BothNames {
        /// The field.
        field: &'static str,
        /// Its other name.
        alias: &'static str,
    },
    /// A field is given under two of its other names.
    #[error("`{alias}` and `{before}` are both names of `{field}`; give one of them")]
    TwoAliases {
        /// The field.
        field: &'static str,
        /// The other name that comes first.
        before: &'static str,
        /// The other name that comes second.
        alias: &'static str,
    },
    /// A field has a value of another kind.
    #[error("`{field}` must be {expected}, but here is {found}")]
    Kind {
        /// The field.
        field: Excerpt,
        /// Expected value.
        expected: Expected,
        /// Kind of the value.
        found: Kind,
    },
    /// A number is not one of those a field may have.
    #[error("`{field}` must be a whole number from 0 to {max}, but here is `{found}`")]
    Number {
        /// The field.
        field: Excerpt,
        /// The largest.
        max: u64,
        /// The number.
        found: Excerpt,
    },
    /// An array that must hold something holds nothing.
    #[error("`{field}` is empty, so there is nothing to change")]
    Empty {
        /// The field.
        field: Excerpt,
    },
}

/// Required value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// A string.
    String,
    /// A whole number.
    WholeNumber,
    /// `true` or `false`.
    Boolean,
    /// An array.
    Array,
}

impl Schema {
    /// The fields of `value`.
    ///
    /// # Errors
    /// [`ShapeError`] when it is no object, or has a field twice or one of another name.
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
            let meant = suggestion::suggest(&member.name, &self.names().collect::<Vec<_>>());
            return Err(ShapeProblem::Unknown { field, meant, name: self.name, fields });
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

    /// Names of its fields, then their other names.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().copied().chain(self.aliases.iter().map(|(alias, _)| *alias))
    }

    /// Name of the field that `name` stands for.
    fn meaning<'n>(&self, name: &'n str) -> &'n str {
        let alias = self.aliases.iter().find(|(alias, _)| *alias == name);
        alias.map_or(name, |(_, field)| field)
    }
}

impl<'v> Fields<'v> {
    /// The field of this name, if it is there; also where it has the value `null`.
    pub fn get(&self, name: &str) -> Option<Field<'v>> {
        let aliases = self.schema.aliases;
        let is_meant = |found: &str| found == name || aliases.contains(&(found, name));
        self.fields.iter().find(|field| is_meant(field.name)).copied()
    }

    /// The field of this name, unless it is left out or `null`.
    pub fn optional(&self, name: &str) -> Option<Field<'v>> {
        self.get(name).filter(|field| field.value.kind() != Kind::Null)
    }

    /// The field of this name, which must be there.
    ///
    /// # Errors
    /// [`ShapeProblem::Missing`] at the start of the object.
    pub fn required(&self, field: &'static str) -> Result<Field<'v>, ShapeError> {
        let Schema { name, fields, .. } = self.schema;
        let problem = ShapeProblem::Missing { field, name, fields };
        self.get(field).ok_or(ShapeError { offset: self.start, problem })
    }
}

impl<'v> Field<'v> {
    /// Its string, decoded.
    ///
    /// # Errors
    /// [`ShapeProblem::Kind`].
    pub fn string(&self) -> Result<&'v str, ShapeError> {
        let Content::String(text) = &self.value.content else {
            return Err(self.not(Expected::String));
        };
        Ok(text)
    }

    /// Its boolean.
    ///
    /// # Errors
    /// [`ShapeProblem::Kind`].
    pub fn boolean(&self) -> Result<bool, ShapeError> {
        let Content::Boolean(value) = &self.value.content else {
            return Err(self.not(Expected::Boolean));
        };
        Ok(*value)
    }

    /// Its elements.
    ///
    /// # Errors
    /// [`ShapeProblem::Kind`].
    pub fn array(&self) -> Result<&'v [Value<'v>], ShapeError> {
        let Content::Array(elements) = &self.value.content else {
            return Err(self.not(Expected::Array));
        };
        Ok(elements)
    }

    /// Its elements, of which there must be one.
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

    /// Its whole number: digits alone, neither `1.0` nor `1e0`.
    ///
    /// # Errors
    /// [`ShapeProblem::Kind`] and [`ShapeProblem::Number`].
    pub fn u32(&self) -> Result<u32, ShapeError> {
        self.whole_number(u64::from(u32::MAX))
    }

    /// Reads a number up to 2⁶⁴ - 1, like [`u32`](Self::u32).
    ///
    /// # Errors
    /// The same.
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

/// Suggestion of a known name, behind an unknown one.
struct Meant(Option<&'static str>);

impl fmt::Display for Meant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |name| write!(f, " (did you mean `{name}`?)"))
    }
}

/// Names of fields, as a message lists them.
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
    fn an_object_has_no_field_that_is_unknown_missing_or_doubled() {
        let any = |_: Fields<'_>| Ok(());
        for (text, offset, message) in [
            ("[]", 0, "a thing must be an object, but here is an array"),
            (" null", 1, "a thing must be an object, but here is `null`"),
            (
                r#"{"path":"a","foo\n":1}"#,
                12,
                "unknown field `foo\\n`; a thing has `path`, `lines`, `all`, `parts`",
            ),
            (r#"{"all":true,"\u0061ll":1}"#, 12, "the field `all` stands here a second time"),
            (
                r#"{"path":"a","file_path":"b"}"#,
                12,
                "`file_path` is another name of `path`, which is there too; give one of them",
            ),
            (
                r#"{"file_path":"a","path":"b"}"#,
                17,
                "`file_path` is another name of `path`, which is there too; give one of them",
            ),
            (
                r#"{"filename":"a","file_path":"b"}"#,
                16,
                "`file_path` and `filename` are both names of `path`; give one of them",
            ),
            (
                r#"{"filename":"a","filename":"b"}"#,
                16,
                "the field `filename` stands here a second time",
            ),
            (
                r#"{"Path":"a"}"#,
                1,
                "unknown field `Path` (did you mean `path`?); a thing has `path`, `lines`, `all`, `parts`",
            ),
            (
                r#"{"fileName":"a"}"#,
                1,
                "unknown field `fileName` (did you mean `filename`?); a thing has `path`, `lines`, `all`, \
                 `parts`",
            ),
        ] {
            assert_eq!(refused(text, any), (offset, message.to_owned()), "{text}");
        }
        assert_eq!(
            refused(" {}", |fields| fields.required("path").map(drop)),
            (
                1,
                "the field `path` is missing; a thing has `path`, `lines`, `all`, `parts`"
                    .to_owned()
            )
        );
        let (_, long) = refused(&format!(r#"{{"{}":1}}"#, "\\u001b".repeat(500)), any);
        assert!(long.len() < 600 && !long.contains('\u{1b}'), "{long}");
    }

    /// D-4
    #[test]
    fn a_value_of_another_kind_is_named_in_plain_words() {
        let path = |fields: Fields<'_>| fields.required("path")?.string().map(drop);
        assert_eq!(
            refused(r#"{"path": 7}"#, path),
            (9, "`path` must be a string, but here is a number".to_owned())
        );
        assert_eq!(
            refused(r#"{"file_path": null}"#, path),
            (14, "`file_path` must be a string, but here is `null`".to_owned())
        );
        let all = |fields: Fields<'_>| fields.required("all")?.boolean().map(drop);
        assert_eq!(
            refused(r#"{"all":"true"}"#, all),
            (7, "`all` must be `true` or `false`, but here is a string".to_owned())
        );
        let parts = |fields: Fields<'_>| fields.required("parts")?.filled_array().map(drop);
        assert_eq!(
            refused(r#"{"parts":{}}"#, parts),
            (9, "`parts` must be an array, but here is an object".to_owned())
        );
        assert_eq!(
            refused(r#"{"parts":[]}"#, parts),
            (9, "`parts` is empty, so there is nothing to change".to_owned())
        );
        let lines = |fields: Fields<'_>| fields.required("lines")?.u32().map(drop);
        assert_eq!(
            refused(r#"{"lines":"1"}"#, lines),
            (9, "`lines` must be a whole number, but here is a string".to_owned())
        );
        for wrong in ["-1", "1.5", "4294967296", "1e0", "-0", "1.0"] {
            assert_eq!(
                refused(&format!("{{\"lines\":{wrong}}}"), lines),
                (
                    9,
                    format!(
                        "`lines` must be a whole number from 0 to 4294967295, but here is `{wrong}`"
                    )
                )
            );
        }
    }
}
