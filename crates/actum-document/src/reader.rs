//! Reads JSON documents and validates every value against the form that the document schema requires.

use std::collections::{BTreeMap, BTreeSet};

use actum_core::canonical::NUMBER_MAX;
use actum_core::json::{self, Content, SyntaxProblem, Value};
use actum_core::place::Excerpt;
use actum_core::suggestion;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number};

use super::DEPTH_MAX;
use super::diagnostic::{Diagnostic, Fault, JsonPath, Problem};
use super::object_schema::{Form, Member, Need, ObjectSchema, Others, Text};

/// Members of a JSON object, together with the schema that describes them.
pub struct Members<'v> {
    shape: &'static ObjectSchema,
    value: &'v Value<'v>,
}

/// Parses a JSON document of at most `bytes_max` bytes and converts it with `take`.
///
/// Duplicate names, inexact numbers and excessive nesting are rejected before `take` is called. So are unknown members of the
/// outermost object, if `shape` does not allow them.
pub fn read<T>(
    document: &[u8],
    bytes_max: usize,
    shape: &'static ObjectSchema,
    take: fn(&Members<'_>) -> Result<T, Fault>,
) -> Result<T, Diagnostic> {
    if document.len() > bytes_max {
        let problem = Problem::TooLarge { bytes: document.len(), bytes_max };
        return Err(Diagnostic { place: None, path: JsonPath::default(), problem });
    }
    let value = Value::read(document).map_err(|error| {
        let is_too_deep = error.problem == SyntaxProblem::TooDeep;
        let problem = if is_too_deep { Problem::TooDeep } else { Problem::Syntax(error.problem) };
        Fault::at(error.offset, problem).placed(document)
    })?;
    check_all(&value, 0)
        .and_then(|()| take(&object_of(shape, Form::Object(shape), &value)?))
        .map_err(|fault| fault.placed(document))
}

/// Validates a JSON document against `shape` and then deserializes it with `serde`.
///
/// The type `T` can enforce rules that a schema cannot express, such as sums that must match.
pub fn read_as<T: DeserializeOwned>(
    document: &[u8],
    bytes_max: usize,
    shape: &'static ObjectSchema,
) -> Result<T, Diagnostic> {
    read(document, bytes_max, shape, hold_members)?;
    serde_json::from_slice(document).map_err(|error| {
        let problem = Problem::Contradiction { what: error.to_string() };
        Diagnostic { place: None, path: JsonPath::default(), problem }
    })
}

/// Checks that a value has the required form, including all values inside it.
fn hold<'v>(form: Form, value: &'v Value<'v>) -> Result<(), Fault> {
    match form {
        Form::Text(_) => text(form, value).map(drop),
        Form::Word(_) => word(form, value, |_| Some(())),
        Form::Flag => flag(form, value).map(drop),
        Form::Share => share(form, value).map(drop),
        Form::Whole { .. } => whole::<i64>(form, value).map(drop),
        Form::Texts { .. } => texts(form, value).map(drop),
        Form::Object(_) => hold_members(&object(form, value)?),
        Form::Objects { .. } => {
            objects(form, value)?.iter().enumerate().try_for_each(|(index, members)| {
                hold_members(members).map_err(|fault| fault.in_element(index))
            })
        }
        Form::List { .. } => list(form, value, hold).map(drop),
        Form::Map { .. } => map(form, value, hold).map(drop),
        Form::AnyObject => any_object(form, value).map(drop),
        Form::NullTextOrObject(expected) => match &value.content {
            Content::Null | Content::Object(_) => Ok(()),
            Content::String(_) => one_text(expected, value).map(drop),
            Content::Boolean(_) | Content::Number(_) | Content::Array(_) => Err(not(form, value)),
        },
        Form::Any => Ok(()),
        Form::NullOr(_) if value.content == Content::Null => Ok(()),
        Form::NullOr(other) => hold(*other, value),
        // Only the documents of tasks use these forms, and they have their own reader.
        Form::True
        | Form::SomeObjects { .. }
        | Form::Tagged(_)
        | Form::TaggedList { .. }
        | Form::Json
        | Form::JsonObject => Err(not(form, value)),
    }
}

fn hold_members(members: &Members<'_>) -> Result<(), Fault> {
    members.shape.members.iter().try_for_each(|member| match member.need {
        Need::Required => members.required(member.name, hold),
        Need::Optional => members.optional(member.name, hold).map(drop),
    })
}

/// Serializes a document as JSON.
pub fn write(document: &impl Serialize) -> Result<Vec<u8>, Diagnostic> {
    serde_json::to_vec(document).map_err(|_| Diagnostic {
        place: None,
        path: JsonPath::default(),
        problem: Problem::Unwritable,
    })
}

/// Checks that every JSON parser would read the same value: numbers must be exact and names unique, and the nesting depth is
/// limited. This applies even to members that may have any value.
fn check_all(value: &Value<'_>, depth: usize) -> Result<(), Fault> {
    let start = value.span.start;
    match &value.content {
        Content::Null | Content::Boolean(_) | Content::String(_) => Ok(()),
        Content::Number(number) => {
            let is_exact = number.parse::<f64>().is_ok_and(|n| n.abs() <= NUMBER_MAX);
            if is_exact { Ok(()) } else { Err(inexact(start, number)) }
        }
        Content::Array(_) | Content::Object(_) if depth >= DEPTH_MAX => {
            Err(Fault::at(start, Problem::TooDeep))
        }
        Content::Array(elements) => elements.iter().enumerate().try_for_each(|(index, element)| {
            check_all(element, depth + 1).map_err(|fault| fault.in_element(index))
        }),
        Content::Object(members) => {
            let mut names = BTreeSet::new();
            members.iter().try_for_each(|member| {
                if !names.insert(&*member.name) {
                    let fault = Fault::at(member.name_span.start, Problem::Doubled);
                    return Err(fault.in_member(&member.name));
                }
                check_all(&member.value, depth + 1).map_err(|fault| fault.in_member(&member.name))
            })
        }
    }
}

fn inexact(offset: usize, number: &str) -> Fault {
    Fault::at(offset, Problem::Inexact { number: Excerpt::new(number.as_bytes()) })
}

fn object_of<'v>(
    shape: &'static ObjectSchema,
    form: Form,
    value: &'v Value<'v>,
) -> Result<Members<'v>, Fault> {
    let Content::Object(members) = &value.content else { return Err(not(form, value)) };
    let is_unknown = |name: &str| shape.others == Others::Refused && shape.member(name).is_none();
    if let Some(member) = members.iter().find(|member| is_unknown(&member.name)) {
        let known: Vec<&'static str> = shape.members.iter().map(|member| member.name).collect();
        let nearest = suggestion::suggest(&member.name, &known);
        let problem = Problem::Unknown { name: shape.name, nearest, known };
        return Err(Fault::at(member.name_span.start, problem).in_member(&member.name));
    }
    Ok(Members { shape, value })
}

impl<'v> Members<'v> {
    /// Converts the member with the given name. Returns an error if the member is missing or invalid.
    pub fn required<T>(
        &self,
        name: &'static str,
        take: fn(Form, &'v Value<'v>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let missing = |expected| {
            Fault::at(self.value.span.start, Problem::Missing { expected }).in_member(name)
        };
        let expected = self.shape.member(name).map_or(Form::Any, |member| member.form);
        self.optional(name, take)?.ok_or_else(|| missing(expected))
    }

    /// Converts the member with the given name, or returns `None` if it is missing.
    pub fn optional<T>(
        &self,
        name: &'static str,
        take: fn(Form, &'v Value<'v>) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let Some(value) = member_of(self.value, name) else { return Ok(None) };
        // A name that is not in the schema is a bug in the caller. An empty word list rejects every value.
        let form = self.shape.member(name).map_or(Form::Word(&[]), |Member { form, .. }| *form);
        take(form, value).map(Some).map_err(|fault| fault.in_member(name))
    }

    /// Returns the byte offset of the value of the named member. If the member is missing, returns the offset of the object.
    pub fn start_of_member(&self, name: &str) -> usize {
        member_of(self.value, name).unwrap_or(self.value).span.start
    }

    /// Returns the byte offset of an element of the array at the path `names`. If the element is missing, returns the offset of
    /// the object.
    pub fn start_of(&self, names: &[&str], index: usize) -> usize {
        let down = |value: &'v Value<'v>, name: &&str| member_of(value, name);
        let list = names.iter().try_fold(self.value, down);
        list.and_then(|list| list.each().get(index))
            .map_or(self.value.span.start, |it| it.span.start)
    }
}

fn member_of<'v>(object: &'v Value<'v>, name: &str) -> Option<&'v Value<'v>> {
    object.members().iter().find(|member| member.name == name).map(|member| &member.value)
}

/// Creates the error for a value whose kind does not match the expected form.
pub fn not(expected: Form, value: &Value<'_>) -> Fault {
    let problem = Problem::Kind { expected, found: value.kind() };
    Fault::at(value.span.start, problem)
}

/// Reads an object with a fixed set of members.
pub fn object<'v>(form: Form, value: &'v Value<'v>) -> Result<Members<'v>, Fault> {
    let Form::Object(shape) = form else { return Err(not(form, value)) };
    object_of(shape, form, value)
}

/// Reads an array of objects.
pub fn objects<'v>(form: Form, value: &'v Value<'v>) -> Result<Vec<Members<'v>>, Fault> {
    let (Form::Objects { of, count_max }, Content::Array(elements)) = (form, &value.content) else {
        return Err(not(form, value));
    };
    check_count(form, value, elements.len(), count_max)?;
    let object = |(index, element)| {
        object_of(of, Form::Object(of), element).map_err(|fault| fault.in_element(index))
    };
    elements.iter().enumerate().map(object).collect()
}

/// Reads a string.
pub fn text(form: Form, value: &Value<'_>) -> Result<String, Fault> {
    let Form::Text(text) = form else { return Err(not(form, value)) };
    one_text(text, value)
}

/// Reads an array of strings.
pub fn texts(form: Form, value: &Value<'_>) -> Result<Vec<String>, Fault> {
    let (Form::Texts { of, count_max }, Content::Array(elements)) = (form, &value.content) else {
        return Err(not(form, value));
    };
    check_count(form, value, elements.len(), count_max)?;
    let text =
        |(index, element)| one_text(of, element).map_err(|fault: Fault| fault.in_element(index));
    elements.iter().enumerate().map(text).collect()
}

/// Reads an array whose elements all have one form, and converts each element with `take`.
pub fn list<'v, T>(
    form: Form,
    value: &'v Value<'v>,
    take: fn(Form, &'v Value<'v>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let (Form::List { of, count_max }, Content::Array(elements)) = (form, &value.content) else {
        return Err(not(form, value));
    };
    check_count(form, value, elements.len(), count_max)?;
    let element = |(index, element): (usize, &'v Value<'v>)| {
        take(*of, element).map_err(|fault| fault.in_element(index))
    };
    elements.iter().enumerate().map(element).collect()
}

/// Reads an object with arbitrary member names, and converts each value with `take`.
pub fn map<'v, T>(
    form: Form,
    value: &'v Value<'v>,
    take: fn(Form, &'v Value<'v>) -> Result<T, Fault>,
) -> Result<BTreeMap<String, T>, Fault> {
    let (Form::Map { names, of, count_max }, Content::Object(members)) = (form, &value.content)
    else {
        return Err(not(form, value));
    };
    check_count(form, value, members.len(), count_max)?;
    let member = |member: &'v json::Member<'v>| {
        check_text(names, &member.name, member.name_span.start)
            .and_then(|()| Ok((member.name.clone().into_owned(), take(*of, &member.value)?)))
            .map_err(|fault| fault.in_member(&member.name))
    };
    members.iter().map(member).collect()
}

fn check_count(
    expected: Form,
    value: &Value<'_>,
    count: usize,
    count_max: usize,
) -> Result<(), Fault> {
    if count <= count_max {
        return Ok(());
    }
    Err(Fault::at(value.span.start, Problem::TooMany { expected, count }))
}

fn one_text(expected: Text, value: &Value<'_>) -> Result<String, Fault> {
    let Content::String(text) = &value.content else {
        return Err(not(Form::Text(expected), value));
    };
    check_text(expected, text, value.span.start)?;
    Ok(text.clone().into_owned())
}

/// Checks that a string, which starts at byte `offset` of the document, has the expected form.
fn check_text(expected: Text, text: &str, offset: usize) -> Result<(), Fault> {
    let refused = |problem| Fault::at(offset, problem);
    let chars = text.chars().count();
    if !(expected.chars_min..=expected.chars_max).contains(&chars) {
        return Err(refused(Problem::Length { expected, chars }));
    }
    let found = || Excerpt::new(text.as_bytes());
    if !expected.characters.hold(text) {
        return Err(refused(Problem::Characters { expected, found: found() }));
    }
    if expected.taken.contains(&text) {
        return Err(refused(Problem::CoreName { name: found() }));
    }
    Ok(())
}

/// Reads a string that must be one of a list of words, and converts it with `meaning`.
pub fn word<T>(
    form: Form,
    value: &Value<'_>,
    meaning: impl FnOnce(&str) -> Option<T>,
) -> Result<T, Fault> {
    let (Form::Word(words), Content::String(text)) = (form, &value.content) else {
        return Err(not(form, value));
    };
    let refused = || {
        let (found, nearest) = (Excerpt::new(text.as_bytes()), suggestion::suggest(text, words));
        Fault::at(value.span.start, Problem::Word { expected: form, found, nearest })
    };
    words.contains(&&**text).then(|| meaning(text)).flatten().ok_or_else(refused)
}

/// Reads a boolean.
pub fn flag(form: Form, value: &Value<'_>) -> Result<bool, Fault> {
    let (Form::Flag, Content::Boolean(flag)) = (form, &value.content) else {
        return Err(not(form, value));
    };
    Ok(*flag)
}

/// Reads a number from 0 to 1.
pub fn share(form: Form, value: &Value<'_>) -> Result<f64, Fault> {
    let (Form::Share, Content::Number(number)) = (form, &value.content) else {
        return Err(not(form, value));
    };
    let share = number.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    // Adding 0.0 turns a negative zero into a positive one.
    share.map(|share: f64| share + 0.0).ok_or_else(|| wrong_number(form, value, number))
}

/// Reads an integer. As in JSON Schema, `1.0` and `1e0` are integers as well.
pub fn whole<N: TryFrom<i64>>(form: Form, value: &Value<'_>) -> Result<N, Fault> {
    let (Form::Whole { min, max }, Content::Number(number)) = (form, &value.content) else {
        return Err(not(form, value));
    };
    let spelled = || {
        let float = number.parse::<f64>().ok().filter(|float| float.fract() == 0.0)?;
        format!("{float:.0}").parse::<i64>().ok()
    };
    let whole = number.parse::<i64>().ok().or_else(spelled);
    whole
        .filter(|whole| (min..=max).contains(whole))
        .and_then(|whole| N::try_from(whole).ok())
        .ok_or_else(|| wrong_number(form, value, number))
}

fn wrong_number(expected: Form, value: &Value<'_>, number: &str) -> Fault {
    let found = Excerpt::new(number.as_bytes());
    Fault::at(value.span.start, Problem::Number { expected, found })
}

/// Reads an object with arbitrary members.
pub fn any_object(form: Form, value: &Value<'_>) -> Result<Map<String, serde_json::Value>, Fault> {
    let Content::Object(members) = &value.content else { return Err(not(form, value)) };
    members
        .iter()
        .map(|member| Ok((member.name.clone().into_owned(), any(Form::Any, &member.value)?)))
        .collect()
}

/// Reads an arbitrary JSON value.
pub fn any(_: Form, value: &Value<'_>) -> Result<serde_json::Value, Fault> {
    Ok(match &value.content {
        Content::Null => serde_json::Value::Null,
        Content::Boolean(flag) => serde_json::Value::Bool(*flag),
        Content::Number(number) => {
            let taken = number.parse::<Number>();
            serde_json::Value::Number(taken.map_err(|_| inexact(value.span.start, number))?)
        }
        Content::String(text) => serde_json::Value::String(text.clone().into_owned()),
        Content::Array(elements) => {
            let elements = elements.iter().map(|element| any(Form::Any, element));
            serde_json::Value::Array(elements.collect::<Result<_, _>>()?)
        }
        Content::Object(_) => serde_json::Value::Object(any_object(Form::AnyObject, value)?),
    })
}
