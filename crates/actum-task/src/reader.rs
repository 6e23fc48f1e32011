//! Reads the documents of a task and reports all problems, not only the first.
//!
//! Each value is checked against the form of its member, by the same functions as in the action API. Problems
//! are collected on the way; a document is built only if no problem was found.

use std::collections::BTreeSet;

use actum_core::json::{Content, Kind, Member, Value};
use actum_core::place::Excerpt;
use actum_core::{Digest, PathRule, RelPath, suggestion};
use actum_document::{Diagnostic, Fault, Form, JsonPath, ObjectSchema, Problem, Tagged, reader};
use actum_edit::edit::json_patch::JsonText;

use super::diagnostics::Mistakes;
use super::limits::PROBLEMS_MAX;

/// Problems of a part of a document, as far as they are reported.
#[derive(Debug, Default)]
pub(super) struct Faults {
    list: Vec<Fault>,
    is_cut: bool,
}

/// Part of a document, or its problems.
pub(super) type Taken<T> = Result<T, Faults>;

/// Members of one object, and the problems found in them so far.
pub(super) struct Fields<'v> {
    shape: &'static ObjectSchema,
    value: &'v Value<'v>,
    /// Member that holds the kind of the object.
    tag: Option<&'static str>,
    /// Name and value of the inner object that can hold the same members except the tag.
    nested: Option<(&'static str, &'v Value<'v>)>,
    faults: Faults,
}

/// Reads a JSON document. `take` also gets the text, since some values keep their spelling.
pub(super) fn read<T>(
    document: &[u8],
    bytes_max: usize,
    take: impl FnOnce(&str, &Value<'_>) -> Taken<T>,
) -> Result<T, Mistakes> {
    check_size(document, bytes_max)?;
    let syntax = |error: actum_core::json::SyntaxError| {
        Mistakes::of_one(Fault::at(error.offset, Problem::Syntax(error.problem)).placed(document))
    };
    let text = actum_core::json::text(document).map_err(syntax)?;
    let value = Value::read(document).map_err(syntax)?;
    take_all(document, &value, |value| take(text, value))
}

/// Rejects a document over the size limit before it is parsed.
pub(super) fn check_size(document: &[u8], bytes_max: usize) -> Result<(), Mistakes> {
    if document.len() <= bytes_max {
        return Ok(());
    }
    let problem = Problem::TooLarge { bytes: document.len(), bytes_max };
    Err(Mistakes::of_one(Diagnostic { place: None, path: JsonPath::default(), problem }))
}

/// Builds the result of `take`, if neither `value` nor any name in it has a problem.
pub(super) fn take_all<'v, T>(
    document: &[u8],
    value: &'v Value<'v>,
    take: impl FnOnce(&'v Value<'v>) -> Taken<T>,
) -> Result<T, Mistakes> {
    let mut faults = Faults::default();
    check_names(value, &mut faults);
    match take(value) {
        Ok(taken) if faults.list.is_empty() => return Ok(taken),
        Ok(_) => {}
        Err(others) => faults.add(others),
    }
    let is_cut = faults.is_cut;
    let mut list: Vec<_> =
        faults.list.into_iter().map(|fault| (fault.offset(), fault.placed(document))).collect();
    list.sort_by_key(|(offset, _)| *offset);
    Err(Mistakes { list: list.into_iter().map(|(_, mistake)| mistake).collect(), is_cut })
}

/// Finds names that occur twice in one object, at any depth: readers differ in which value they use.
fn check_names(value: &Value<'_>, faults: &mut Faults) {
    if faults.is_full() {
        return;
    }
    match &value.content {
        Content::Null | Content::Boolean(_) | Content::Number(_) | Content::String(_) => {}
        Content::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let mut below = Faults::default();
                check_names(element, &mut below);
                faults.add(below.map(|fault| fault.in_element(index)));
            }
        }
        Content::Object(members) => {
            let mut names = BTreeSet::new();
            for Member { name_span, name, value } in members {
                if !names.insert(&**name) {
                    let fault = Fault::at(name_span.start, Problem::Doubled);
                    faults.add(fault.in_member(name).into());
                }
                let mut below = Faults::default();
                check_names(value, &mut below);
                faults.add(below.map(|fault| fault.in_member(name)));
            }
        }
    }
}

impl Faults {
    /// Adds other problems up to the limit.
    pub(super) fn add(&mut self, others: Self) {
        self.is_cut |= others.is_cut;
        for fault in others.list {
            if self.is_full() {
                self.is_cut = true;
                return;
            }
            self.list.push(fault);
        }
    }

    fn is_full(&self) -> bool {
        self.list.len() >= PROBLEMS_MAX
    }

    fn map(mut self, with: impl Fn(Fault) -> Fault) -> Self {
        self.list = self.list.into_iter().map(with).collect();
        self
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self { list: vec![fault], is_cut: false }
    }
}

/// Reads the members of an object with this schema.
pub(super) fn object<'v>(
    shape: &'static ObjectSchema,
    form: Form,
    value: &'v Value<'v>,
) -> Taken<Fields<'v>> {
    of_shape(shape, form, value, None, None)
}

/// Reads the members of a tagged object, and the word that names its kind.
pub(super) fn tagged<'v>(form: Form, value: &'v Value<'v>) -> Taken<(&'static str, Fields<'v>)> {
    let Form::Tagged(kind) = form else { return Err(reader::not(form, value).into()) };
    of_kind(kind, value)
}

fn of_kind<'v>(kind: &'static Tagged, value: &'v Value<'v>) -> Taken<(&'static str, Fields<'v>)> {
    let form = Form::Tagged(kind);
    let Content::Object(_) = &value.content else { return Err(reader::not(form, value).into()) };
    let words = Form::Word(kind.words);
    let tag = member_of(value, kind.tag).ok_or_else(|| {
        let missing = Fault::at(value.span.start, Problem::Missing { expected: words });
        missing.in_member(kind.tag)
    })?;
    let meant = |word: &str| kind.branches.iter().find(|branch| branch.word == word);
    let branch = reader::word(words, tag, meant).map_err(|fault| fault.in_member(kind.tag))?;
    Ok((branch.word, of_shape(branch.shape, form, value, Some(kind.tag), kind.nested)?))
}

fn of_shape<'v>(
    shape: &'static ObjectSchema,
    form: Form,
    value: &'v Value<'v>,
    tag: Option<&'static str>,
    nested: Option<&'static str>,
) -> Taken<Fields<'v>> {
    let Content::Object(members) = &value.content else {
        return Err(reader::not(form, value).into());
    };
    let mut fields = Fields { shape, value, tag, nested: None, faults: Faults::default() };
    for member in members {
        if nested.is_some_and(|nested| member.name == nested) {
            continue;
        }
        if shape.member(&member.name).is_none() {
            if fields.faults.is_full() {
                fields.faults.is_cut = true;
                break;
            }
            let unknown = fields.unknown(member, shape.members.iter().map(|known| known.name));
            fields.faults.add(unknown);
        }
    }
    if let Some((name, object)) = nested.and_then(|name| Some((name, member_of(value, name)?))) {
        fields.nest(name, object);
    }
    Ok(fields)
}

impl<'v> Fields<'v> {
    /// Adds the inner object that can hold the same members.
    fn nest(&mut self, nested: &'static str, object: &'v Value<'v>) {
        let Content::Object(members) = &object.content else {
            let fault = reader::not(Form::AnyObject, object);
            self.faults.add(fault.in_member(nested).into());
            return;
        };
        for member in members {
            if self.faults.is_full() {
                self.faults.is_cut = true;
                break;
            }
            let name = &*member.name;
            let mut known = self.shape.members.iter().map(|known| known.name);
            if Some(name) == self.tag || !known.any(|known| known == name) {
                let known = self.shape.members.iter().map(|known| known.name);
                let unknown = self.unknown(member, known.filter(|known| Some(*known) != self.tag));
                self.faults.add(unknown.map(|fault| fault.in_member(nested)));
            } else if let Some(beside) = member_name(self.value, name) {
                let fault = Fault::at(beside.name_span.start, Problem::AlsoNested { nested });
                self.faults.add(fault.in_member(name).into());
            }
        }
        self.nested = Some((nested, object));
    }

    fn unknown(&self, member: &Member<'_>, known: impl Iterator<Item = &'static str>) -> Faults {
        let known: Vec<&'static str> = known.collect();
        let nearest = suggestion::suggest(&member.name, &known);
        let problem = Problem::Unknown { name: self.shape.name, nearest, known };
        Fault::at(member.name_span.start, problem).in_member(&member.name).into()
    }

    /// Reads a required member. Returns `None` after recording a problem.
    pub(super) fn required<T, E: Into<Faults>>(
        &mut self,
        name: &'static str,
        take: impl FnOnce(Form, &'v Value<'v>) -> Result<T, E>,
    ) -> Option<T> {
        if self.find(name).is_none() {
            let expected = self.form_of(name);
            let missing = Fault::at(self.value.span.start, Problem::Missing { expected });
            self.faults.add(missing.in_member(name).into());
        }
        self.optional(name, take)
    }

    /// Reads an optional member. Returns `None` if it is missing, or after recording a problem.
    pub(super) fn optional<T, E: Into<Faults>>(
        &mut self,
        name: &'static str,
        take: impl FnOnce(Form, &'v Value<'v>) -> Result<T, E>,
    ) -> Option<T> {
        let (value, nested) = self.find(name)?;
        match take(self.form_of(name), value) {
            Ok(taken) => Some(taken),
            Err(faults) => {
                let faults = faults.into().map(|fault| fault.in_member(name));
                self.faults.add(match nested {
                    Some(nested) => faults.map(|fault| fault.in_member(nested)),
                    None => faults,
                });
                None
            }
        }
    }

    /// Records a problem that a member has because of another member.
    pub(super) fn refuse(&mut self, name: &'static str, problem: Problem) {
        let Some((value, nested)) = self.find(name) else { return };
        let fault = Fault::at(value.span.start, problem).in_member(name);
        self.faults.add(match nested {
            Some(nested) => fault.in_member(nested).into(),
            None => fault.into(),
        });
    }

    /// Returns `made`, if no member had a problem.
    ///
    /// INVARIANT: `made` is `None` only if a problem was recorded.
    pub(super) fn finish<T>(self, made: Option<T>) -> Taken<T> {
        match made {
            Some(made) if self.faults.list.is_empty() => Ok(made),
            Some(_) | None => Err(self.faults),
        }
    }

    fn form_of(&self, name: &str) -> Form {
        // No value matches a member without a schema.
        self.shape.member(name).map_or(Form::Word(&[]), |member| member.form)
    }

    fn find(&self, name: &str) -> Option<(&'v Value<'v>, Option<&'static str>)> {
        let beside = member_of(self.value, name).map(|value| (value, None));
        let inside = || {
            let (nested, object) = self.nested?;
            member_of(object, name).map(|value| (value, Some(nested)))
        };
        beside.or_else(inside)
    }
}

fn member_name<'v>(object: &'v Value<'v>, name: &str) -> Option<&'v Member<'v>> {
    object.members().iter().find(|member| member.name == name)
}

/// Returns the value of a member, if `object` is an object and has it.
pub(super) fn member_of<'v>(object: &'v Value<'v>, name: &str) -> Option<&'v Value<'v>> {
    member_name(object, name).map(|member| &member.value)
}

/// Reads each element of a list of objects.
pub(super) fn objects<'v, T>(
    form: Form,
    value: &'v Value<'v>,
    mut take: impl FnMut(Fields<'v>) -> Taken<T>,
) -> Taken<Vec<T>> {
    let (shape, least, most) = if let Form::SomeObjects { of, count_max } = form {
        (of, 1, count_max)
    } else if let Form::Objects { of, count_max } = form {
        (of, 0, count_max)
    } else {
        return Err(reader::not(form, value).into());
    };
    each(form, value, (least, most), |element| take(object(shape, Form::Object(shape), element)?))
}

/// Reads each element of a list of tagged objects, with its word.
pub(super) fn tagged_list<'v, T>(
    form: Form,
    value: &'v Value<'v>,
    mut take: impl FnMut(&'v Value<'v>, &'static str, Fields<'v>) -> Taken<T>,
) -> Taken<Vec<T>> {
    let Form::TaggedList { of, count_min, count_max } = form else {
        return Err(reader::not(form, value).into());
    };
    each(form, value, (count_min, count_max), |element| {
        let (word, fields) = of_kind(of, element)?;
        take(element, word, fields)
    })
}

fn each<'v, T>(
    form: Form,
    value: &'v Value<'v>,
    (least, most): (usize, usize),
    mut take: impl FnMut(&'v Value<'v>) -> Taken<T>,
) -> Taken<Vec<T>> {
    let Content::Array(elements) = &value.content else {
        return Err(reader::not(form, value).into());
    };
    let count = elements.len();
    if !(least..=most).contains(&count) {
        return Err(Fault::at(value.span.start, Problem::TooMany { expected: form, count }).into());
    }
    let (mut taken, mut faults) = (Vec::with_capacity(count), Faults::default());
    for (index, element) in elements.iter().enumerate() {
        match take(element) {
            Ok(element) => taken.push(element),
            Err(others) => faults.add(others.map(|fault| fault.in_element(index))),
        }
        if faults.is_full() {
            faults.is_cut |= index + 1 < count;
            break;
        }
    }
    // INVARIANT: an element is left out only if a problem was recorded for it.
    if taken.len() == count { Ok(taken) } else { Err(faults) }
}

/// Reads a path of the workspace.
pub(super) fn path(form: Form, value: &Value<'_>) -> Result<RelPath, Fault> {
    let Content::String(text) = &value.content else { return Err(reader::not(form, value)) };
    RelPath::new(text.as_bytes()).map_err(|error| Fault::at(value.span.start, Problem::Path(error)))
}

/// Reads rules for paths of the workspace.
pub(super) fn rules(form: Form, value: &Value<'_>) -> Taken<Vec<PathRule>> {
    let Form::Texts { of, count_max } = form else { return Err(reader::not(form, value).into()) };
    each(form, value, (0, count_max), |element| {
        let Content::String(text) = &element.content else {
            return Err(reader::not(Form::Text(of), element).into());
        };
        PathRule::new(text.as_bytes())
            .map_err(|error| Fault::at(element.span.start, Problem::Rule(error)).into())
    })
}

/// Reads a digest.
pub(super) fn digest(form: Form, value: &Value<'_>) -> Result<Digest, Fault> {
    parsed(form, value)
}

/// Parses a text into another type.
pub(super) fn parsed<T: std::str::FromStr>(form: Form, value: &Value<'_>) -> Result<T, Fault> {
    let text = reader::text(form, value)?;
    let Form::Text(expected) = form else { return Err(reader::not(form, value)) };
    text.parse().map_err(|_| {
        let found = Excerpt::new(text.as_bytes());
        Fault::at(value.span.start, Problem::Characters { expected, found })
    })
}

/// Reads a value with its spelling in `text`, the document.
pub(super) fn json(text: &str, form: Form, value: &Value<'_>) -> Taken<JsonText> {
    if form == Form::JsonObject && value.kind() != Kind::Object {
        return Err(reader::not(form, value).into());
    }
    // INVARIANT: it fails only if a name occurs twice in it, which `check_names` reports.
    JsonText::from_value(value, text).map_err(|_| Faults::default())
}

/// Requires `true`.
pub(super) fn truth(form: Form, value: &Value<'_>) -> Result<(), Fault> {
    match &value.content {
        Content::Boolean(true) => Ok(()),
        Content::Boolean(false) => {
            let found = Excerpt::new(b"false");
            Err(Fault::at(value.span.start, Problem::Word { expected: form, found, nearest: None }))
        }
        Content::Null
        | Content::Number(_)
        | Content::String(_)
        | Content::Array(_)
        | Content::Object(_) => Err(reader::not(form, value)),
    }
}
