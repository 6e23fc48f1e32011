//! Reads the documents of a task and reports all of their problems instead of only the first.
//!
//! Each value is checked against the schema of its field with the same functions as in the action API. The readers collect problems
//! as they go, and return a document only if they found no problem.

use std::collections::BTreeSet;

use actum_core::json::{Content, Kind, Member, Value};
use actum_core::place::Excerpt;
use actum_core::{Digest, PathRule, RelPath, suggestion};
use actum_document::{Diagnostic, Fault, Form, JsonPath, ObjectSchema, Problem, Tagged, reader};
use actum_edit::edit::json_patch::JsonText;

use super::diagnostics::Mistakes;
use super::limits::PROBLEMS_MAX;

/// Problems of a part of a document, up to the maximum number that is reported.
#[derive(Debug, Default)]
pub(super) struct Faults {
    list: Vec<Fault>,
    is_cut: bool,
}

/// Value that was read from a part of a document, or the problems of that part.
pub(super) type Taken<T> = Result<T, Faults>;

/// Fields of a JSON object that is being read, with the problems found so far.
pub(super) struct Fields<'v> {
    shape: &'static ObjectSchema,
    value: &'v Value<'v>,
    /// Name of the field that selects the kind of the object.
    tag: Option<&'static str>,
    /// Name and value of the nested object in which the same fields can be set, except for the tag.
    nested: Option<(&'static str, &'v Value<'v>)>,
    faults: Faults,
}

/// Parses a JSON document with `take`, which also receives the text because some values must keep their spelling.
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

/// Rejects a document that exceeds the size limit, before it is parsed.
pub(super) fn check_size(document: &[u8], bytes_max: usize) -> Result<(), Mistakes> {
    if document.len() <= bytes_max {
        return Ok(());
    }
    let problem = Problem::TooLarge { bytes: document.len(), bytes_max };
    Err(Mistakes::of_one(Diagnostic { place: None, path: JsonPath::default(), problem }))
}

/// Builds a document with `take`. Returns all problems if `take` fails or an object in `value` contains a name twice.
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

/// Finds duplicate names in objects at any depth. They are rejected because JSON parsers disagree about which of the values is
/// used.
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
    /// Adds further problems, up to the limit.
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

/// Reads the fields of an object that `shape` describes.
pub(super) fn object<'v>(
    shape: &'static ObjectSchema,
    form: Form,
    value: &'v Value<'v>,
) -> Taken<Fields<'v>> {
    of_shape(shape, form, value, None, None)
}

/// Reads the fields of a tagged object. Returns them with the value of the tag.
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
    let branch_named = |word: &str| kind.branches.iter().find(|branch| branch.word == word);
    let branch =
        reader::word(words, tag, branch_named).map_err(|fault| fault.in_member(kind.tag))?;
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
    /// Adds the nested object, and reports its unknown fields and those that are also set in the outer object.
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

    /// Reads a required field with `take`. If the field is missing or invalid, records a problem and returns `None`.
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

    /// Reads an optional field with `take`. Returns `None` if the field is missing, or after recording a problem.
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

    /// Records a problem with a field that is caused by the value of another field.
    pub(super) fn refuse(&mut self, name: &'static str, problem: Problem) {
        let Some((value, nested)) = self.find(name) else { return };
        let fault = Fault::at(value.span.start, problem).in_member(name);
        self.faults.add(match nested {
            Some(nested) => fault.in_member(nested).into(),
            None => fault.into(),
        });
    }

    /// Returns `made` if no problem was recorded for the object.
    ///
    /// INVARIANT: `made` is `None` only if a problem was recorded.
    pub(super) fn finish<T>(self, made: Option<T>) -> Taken<T> {
        match made {
            Some(made) if self.faults.list.is_empty() => Ok(made),
            Some(_) | None => Err(self.faults),
        }
    }

    fn form_of(&self, name: &str) -> Form {
        // A field without a schema gets a form that no value matches.
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

/// Returns the value of a member, or `None` if `object` is not an object or lacks the member.
pub(super) fn member_of<'v>(object: &'v Value<'v>, name: &str) -> Option<&'v Value<'v>> {
    member_name(object, name).map(|member| &member.value)
}

/// Reads the elements of a list of objects with `take`.
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

/// Reads the elements of a list of tagged objects with `take`, which also receives the value of the tag.
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
    // INVARIANT: an element is missing from `taken` only if a problem was recorded for it.
    if taken.len() == count { Ok(taken) } else { Err(faults) }
}

/// Reads a path in the workspace.
pub(super) fn path(form: Form, value: &Value<'_>) -> Result<RelPath, Fault> {
    let Content::String(text) = &value.content else { return Err(reader::not(form, value)) };
    RelPath::new(text.as_bytes()).map_err(|error| Fault::at(value.span.start, Problem::Path(error)))
}

/// Reads a list of rules that match paths in the workspace.
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

/// Reads a string and parses it as another type.
pub(super) fn parsed<T: std::str::FromStr>(form: Form, value: &Value<'_>) -> Result<T, Fault> {
    let text = reader::text(form, value)?;
    let Form::Text(expected) = form else { return Err(reader::not(form, value)) };
    text.parse().map_err(|_| {
        let found = Excerpt::new(text.as_bytes());
        Fault::at(value.span.start, Problem::Characters { expected, found })
    })
}

/// Reads a JSON value without changing its spelling. `text` is the text of the entire document.
pub(super) fn json(text: &str, form: Form, value: &Value<'_>) -> Taken<JsonText> {
    if form == Form::JsonObject && value.kind() != Kind::Object {
        return Err(reader::not(form, value).into());
    }
    // INVARIANT: this fails only if an object in the value contains a name twice, which `check_names` reports.
    JsonText::from_value(value, text).map_err(|_| Faults::default())
}

/// Checks that the value is `true`.
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
