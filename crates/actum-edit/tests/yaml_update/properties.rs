//! Edits random YAML documents in many styles. A YAML parser confirms that only the addressed value changed, and the surrounding
//! bytes must be unchanged.

use std::ops::Range;

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::members::removed;
use super::{edited, edited_in};

const KEYS: [&str; 7] = ["a", "b c", "é", "on", "x-y", "<", "#k"];

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        prop::sample::select(vec![
            "", "x", "a b", "1", "null", "yes", "it's", "- x", "a: b", "a #b", "x\ny\n",
            "x\n\n  y", " x\n", "é\"", "\t", "[", "*a", "x\n\n",
        ])
        .prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 16, 4, |inner| {
        let key = prop::sample::select(KEYS.to_vec()).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Positions of a written value: after the preceding indicator, and at its end.
struct Written {
    pointer: String,
    range: Range<usize>,
}

struct Writer<'b> {
    out: String,
    newline: &'static str,
    bits: std::iter::Cycle<std::slice::Iter<'b, u8>>,
    places: Vec<Written>,
    /// Pointer to the value with an anchor.
    anchored: Option<String>,
    /// Pointers to the values with a tag.
    tagged: Vec<String>,
    comments: usize,
}

impl Writer<'_> {
    fn pick(&mut self, of: u8) -> u8 {
        self.bits.next().unwrap() % of
    }

    fn line(&mut self, indent: usize) {
        self.out.push_str(self.newline);
        if self.pick(6) == 0 {
            self.comments += 1;
            self.out.push_str(&format!(
                "{}# {}: [{}",
                " ".repeat(indent),
                self.comments,
                self.newline
            ));
        }
        if self.pick(9) == 0 {
            self.out.push_str(self.newline);
        }
        self.out.push_str(&" ".repeat(indent));
    }

    fn string(&mut self, text: &str, in_flow: bool, indent: usize) -> String {
        let literal = text.strip_suffix('\n').unwrap_or(text);
        let fits = literal.contains('\n') && !literal.starts_with(' ') && !literal.ends_with('\n');
        if fits && !in_flow && self.pick(2) == 0 {
            let header = if text.ends_with('\n') { "|" } else { "|-" };
            let lines = literal.split('\n').map(|line| {
                let indent = if line.is_empty() { 0 } else { indent };
                format!("{}{}{line}", self.newline, " ".repeat(indent))
            });
            return format!("{header}{}", lines.collect::<String>());
        }
        let is_plain = ["x", "a b", "b c", "a", "é", "on", "x-y"].contains(&text);
        match self.pick(3) {
            0 if is_plain => text.to_owned(),
            1 if !text.contains(['\n', '\t']) => format!("'{}'", text.replace('\'', "''")),
            _ => Value::from(text).to_string(),
        }
    }

    fn place(&mut self, pointer: &str, slot: usize) {
        self.places.push(Written { pointer: pointer.to_owned(), range: slot..self.out.len() });
    }

    fn anchor(&mut self, pointer: &str) {
        if self.anchored.is_none() && !pointer.is_empty() && self.pick(5) == 0 {
            self.anchored = Some(pointer.to_owned());
            self.out.push_str("&k ");
        }
        if !pointer.is_empty() && self.pick(11) == 0 {
            self.tagged.push(pointer.to_owned());
            self.out.push_str("!t ");
        }
    }

    fn flow(&mut self, value: &Value, pointer: &str, slot: usize) {
        self.anchor(pointer);
        let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
        match value {
            Value::Array(_) | Value::Object(_) => {
                self.out.push(open);
                for (index, (step, name, child)) in children(value).into_iter().enumerate() {
                    self.out.push_str(if index == 0 { "" } else { "," });
                    if index > 0 && self.pick(4) == 0 {
                        self.line(30);
                    }
                    let mut slot = self.out.len();
                    if let Some(name) = name {
                        let name = self.string(&name, true, 0);
                        self.out.push_str(&format!(" {name}:"));
                        slot = self.out.len();
                    }
                    self.out.push(' ');
                    self.flow(child, &format!("{pointer}/{step}"), slot);
                }
                self.out.push(close);
            }
            Value::String(text) => {
                let text = self.string(text, true, 0);
                self.out.push_str(&text);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.out.push_str(&value.to_string())
            }
        }
        self.place(pointer, slot);
    }

    /// Writes a value after an indicator that ends at `slot`, with its lines indented by `indent`.
    fn block(&mut self, value: &Value, pointer: &str, slot: usize, indent: usize, in_item: bool) {
        let all = children(value);
        if all.is_empty() || self.pick(3) == 0 {
            if pointer.is_empty() {
                return self.flow(value, pointer, slot);
            }
            self.out.push(' ');
            if let Value::String(text) = value {
                self.anchor(pointer);
                let text = self.string(text, false, indent);
                self.out.push_str(&text);
                return self.place(pointer, slot);
            }
            if value.is_null() && self.pick(2) == 0 {
                self.out.pop();
                return self.place(pointer, slot);
            }
            return self.flow(value, pointer, slot);
        }
        if in_item && self.pick(2) == 0 {
            self.out.push(' ');
        } else if !pointer.is_empty() {
            if self.pick(4) == 0 {
                self.out.push_str(" # about it");
            }
            self.line(indent);
        }
        for (index, (step, name, child)) in all.into_iter().enumerate() {
            if index > 0 {
                let is_in_line = !self.out.ends_with(['\n', '\r']);
                if self.pick(4) == 0 && is_in_line && !self.ends_in_literal() {
                    self.out.push_str(" # end");
                }
                self.line(indent);
            }
            match &name {
                Some(name) => {
                    let name = self.string(name, true, 0);
                    self.out.push_str(&format!("{name}:"));
                }
                None => self.out.push('-'),
            }
            let slot = self.out.len();
            self.block(child, &format!("{pointer}/{step}"), slot, indent + 2, name.is_none());
        }
        self.place(pointer, slot);
    }

    /// Whether text appended to the current line would become part of a literal scalar.
    fn ends_in_literal(&self) -> bool {
        self.places.last().is_some_and(|place| self.out[place.range.clone()].contains('|'))
    }
}

fn children(value: &Value) -> Vec<(String, Option<String>, &Value)> {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().map(|(i, item)| (i.to_string(), None, item)).collect()
        }
        Value::Object(members) => {
            members.iter().map(|(name, v)| (name.clone(), Some(name.clone()), v)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn path(pointer: &str, document: &Value) -> String {
    let mut value = document;
    let mut path = "$".to_owned();
    for step in pointer.split('/').skip(1) {
        match value {
            Value::Array(items) => {
                path.push_str(&format!("[{step}]"));
                value = &items[step.parse::<usize>().unwrap()];
            }
            Value::Object(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => {
                path.push_str(&format!("['{step}']"));
                value = &value[step];
            }
        }
    }
    path
}

fn read(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// EX-10
    #[test]
    fn edits_change_only_the_addressed_value_and_its_bytes(
        before in prop::collection::vec((prop::sample::select(KEYS.to_vec()), value()), 1..5),
        bits in prop::collection::vec(any::<u8>(), 1..60),
        newline in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
        is_ended in any::<bool>(),
        place in any::<prop::sample::Index>(),
        new in value(),
    ) {
        let members: Map<_, _> = before.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let mut before = Value::Object(members);
        let mut writer = Writer {
            out: String::new(),
            newline,
            bits: bits.iter().cycle(),
            places: Vec::new(),
            anchored: None,
            tagged: Vec::new(),
            comments: 0,
        };
        writer.block(&before, "", 0, 0, false);
        let in_lines = !writer.out.starts_with('{');
        let Writer { mut out, places, anchored, tagged, .. } = writer;
        if let (Some(pointer), true) = (&anchored, in_lines) {
            let alias = before.pointer(pointer).unwrap().clone();
            before["zz"] = alias;
            out.push_str(&format!("{newline}zz: *k"));
        }
        if is_ended || out.contains('|') {
            out.push_str(newline);
        }
        prop_assert_eq!(read(&out), before.clone());
        let Written { pointer, range } = place.get(&places);
        let inside = |a: &str, b: &str| a == b || a.starts_with(&format!("{b}/"));
        let is_shared = in_lines
            && anchored.as_ref().is_some_and(|k| inside(k, pointer) || inside(pointer, k));
        let (path, new_text) = (path(pointer, &before), new.to_string());
        let result = edited(&path, &new_text, &out);
        if out.ends_with(newline) {
            let (first, last) = (format!("q: 1{newline}---{newline}"), format!("---{newline}- 1"));
            let within = edited_in(2, &path, &new_text, &format!("{first}{out}{last}"));
            let expected = result.as_ref().ok().map(|result| format!("{first}{result}{last}"));
            prop_assert_eq!(within.ok(), expected, "{:?}", out);
        }
        if tagged.contains(pointer) {
            let error = result.unwrap_err();
            prop_assert!(error.contains("has the tag `!t`"), "{}", error);
            return Ok(());
        }
        // An edit of the whole document covers both the anchor and the alias.
        if is_shared && !pointer.is_empty() {
            let error = result.unwrap_err();
            prop_assert!(error.starts_with("the edit would change the value of the anchor `&k`"), "{}", error);
            return Ok(());
        }
        let result = match result {
            Ok(result) => result,
            Err(error) => panic!("{error}\n{out:?}\n{pointer} {new}"),
        };
        let mut after = before.clone();
        *after.pointer_mut(pointer).unwrap() = new;
        prop_assert_eq!(read(&result), after, "{:?} {:?}", out, result);
        if pointer.is_empty() {
            return Ok(());
        }
        prop_assert!(result.starts_with(&out[..range.start]), "{:?} {:?}", out, result);
        prop_assert!(result.ends_with(&out[range.end..]), "{:?} {:?}", out, result);
    }

    /// EX-10
    #[test]
    fn adding_and_removing_a_member_preserves_all_other_bytes(
        before in prop::collection::vec((prop::sample::select(KEYS.to_vec()), value()), 1..5),
        bits in prop::collection::vec(any::<u8>(), 1..60),
        newline in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
        is_ended in any::<bool>(),
        place in any::<prop::sample::Index>(),
        new in value(),
    ) {
        let members: Map<_, _> = before.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let before = Value::Object(members);
        let mut writer = Writer {
            out: String::new(),
            newline,
            bits: bits.iter().cycle(),
            places: Vec::new(),
            anchored: None,
            tagged: Vec::new(),
            comments: 0,
        };
        writer.block(&before, "", 0, 0, false);
        let Writer { mut out, places, .. } = writer;
        if is_ended || out.contains('|') {
            out.push_str(newline);
        }
        let is_mapping = |it: &&Written| before.pointer(&it.pointer).unwrap().is_object();
        let mappings: Vec<_> = places.iter().filter(is_mapping).collect();
        let Written { pointer, .. } = place.get(&mappings);
        let path = format!("{}['new']", path(pointer, &before));
        let added = edited(&path, &new.to_string(), &out);
        let added = added.unwrap_or_else(|error| panic!("{error}\n{out:?}\n{path} {new}"));
        let mut after = before.clone();
        after.pointer_mut(pointer).unwrap()["new"] = new;
        prop_assert_eq!(read(&added), after, "{:?} {:?}", &out, &added);
        // The result must be a single insertion into the old text.
        let same = out.bytes().zip(added.bytes()).take_while(|(a, b)| a == b).count();
        let (head, tail) = (&out.as_bytes()[..same], &out.as_bytes()[same..]);
        prop_assert!(added.as_bytes().starts_with(head) && added.as_bytes().ends_with(tail));
        let back = removed(&path, &added);
        let back = back.unwrap_or_else(|error| panic!("{error}\n{added:?}\n{path}"));
        prop_assert_eq!(back, out);
    }

    /// EX-10
    #[test]
    fn removing_a_member_keeps_its_neighbours(
        before in prop::collection::vec((prop::sample::select(KEYS.to_vec()), value()), 1..5),
        bits in prop::collection::vec(any::<u8>(), 1..60),
        newline in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
        place in any::<prop::sample::Index>(),
    ) {
        let members: Map<_, _> = before.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let before = Value::Object(members);
        let mut writer = Writer {
            out: String::new(),
            newline,
            bits: bits.iter().cycle(),
            places: Vec::new(),
            anchored: None,
            tagged: Vec::new(),
            comments: 0,
        };
        writer.block(&before, "", 0, 0, false);
        let Writer { mut out, places, tagged, .. } = writer;
        out.push_str(newline);
        let above = |pointer: &str| {
            let (above, name) = pointer.rsplit_once('/')?;
            before.pointer(above)?.is_object().then(|| (above.to_owned(), name.to_owned()))
        };
        let of_mapping: Vec<_> =
            places.iter().filter_map(|it| Some((it, above(&it.pointer)?))).collect();
        let (Written { pointer, .. }, (above, name)) = place.get(&of_mapping);
        let mut after = before.clone();
        let members = after.pointer_mut(above).unwrap().as_object_mut().unwrap();
        members.remove(name);
        let path = path(pointer, &before);
        let result = match removed(&path, &out) {
            Ok(result) => result,
            // A mapping with a tag is not rewritten if it would become empty.
            Err(error) if members.is_empty() && tagged.contains(above) => {
                prop_assert!(error.contains("has the tag `!t`"), "{}", error);
                return Ok(());
            }
            Err(error) => panic!("{error}\n{out:?}\n{path}"),
        };
        prop_assert_eq!(read(&result), after, "{:?} {:?}", &out, &result);
        // Bytes may only be removed, except that `{}` may be added.
        let mut left = out.bytes();
        let is_rest = result.bytes().all(|byte| left.any(|it| it == byte));
        prop_assert!(is_rest || result.contains("{}"), "{:?} {:?}", out, result);
    }
}
