//! Reads a TOML file key by key, so that each mistake can be reported with its key and line.

use std::rc::Rc;

use actum_core::PathRule;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::{Diagnostic, MistakeProblem, kind, listed, no_toml, shown};

/// Content of a TOML file, with the positions of its line breaks.
pub(super) struct Text<'t> {
    text: &'t str,
    /// Byte offsets of the line breaks.
    ends: Vec<usize>,
}

/// Table in a TOML file.
pub(super) struct Table<'t> {
    text: &'t Text<'t>,
    /// Dotted key of the table, or an empty string for the top level of the file.
    key: Rc<str>,
    at: usize,
    entries: &'t DeTable<'t>,
}

/// Value in a TOML file.
pub(super) struct Value<'t> {
    text: &'t Text<'t>,
    key: Rc<str>,
    /// Number of the item in its list, starting at 1, or `None` if the value is not in a list.
    item: Option<usize>,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Text<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { text, ends: ends.map(|(at, _)| at).collect() }
    }

    /// Parses the file as TOML.
    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'t>>, Diagnostic> {
        DeTable::parse(self.text).map_err(|error| {
            let place = error.span().unwrap_or_default();
            let excerpt = self.text.get(place.clone()).unwrap_or_default();
            Diagnostic {
                line: self.line(place.start),
                column: Some(self.column(place.start)),
                problem: no_toml(error.message(), excerpt),
            }
        })
    }

    /// Returns the top-level table of the file.
    pub(super) fn root(&'t self, parsed: &'t Spanned<DeTable<'t>>) -> Table<'t> {
        Table { text: self, key: Rc::from(""), at: 0, entries: parsed.get_ref() }
    }

    fn line(&self, at: usize) -> u64 {
        let before = self.ends.partition_point(|&end| end < at);
        u64::try_from(before).unwrap_or(u64::MAX).saturating_add(1)
    }

    fn column(&self, at: usize) -> u64 {
        let before = self.ends.partition_point(|&end| end < at);
        let start =
            before.checked_sub(1).and_then(|last| self.ends.get(last)).map_or(0, |end| end + 1);
        let characters = self.text.get(start..at).unwrap_or_default().chars().count();
        u64::try_from(characters).unwrap_or(u64::MAX).saturating_add(1)
    }

    fn mistake(&self, at: usize, problem: MistakeProblem) -> Diagnostic {
        Diagnostic { line: self.line(at), column: None, problem }
    }
}

impl<'t> Table<'t> {
    /// Returns the line number at which the table starts.
    pub(super) fn line(&self) -> u64 {
        self.text.line(self.at)
    }

    /// Rejects keys that are not in `known`. With [`Secret::Perhaps`], the message does not repeat the unknown
    /// key.
    pub(super) fn only(
        &self,
        known: &'static [&'static str],
        secret: Secret,
    ) -> Result<(), Diagnostic> {
        let unknown = self.entries.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        // Report the first unknown key by position, not by name.
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let shown = match secret {
            Secret::No => Some(key.get_ref().to_string()),
            Secret::Perhaps => None,
        };
        let problem = MistakeProblem::Unknown { table: self.key.to_string(), key: shown, known };
        Err(self.text.mistake(key.span().start, problem))
    }

    /// Returns the value of a key, if it exists.
    pub(super) fn get(&self, key: &str) -> Option<Value<'t>> {
        let value = self.entries.get(key)?;
        let dot = if self.key.is_empty() { "" } else { "." };
        let key = Rc::from(format!("{}{dot}{key}", self.key));
        Some(Value { text: self.text, key, item: None, value })
    }

    /// Returns the value of a required key, or an error if it is missing.
    pub(super) fn need(&self, key: &'static str) -> Result<Value<'t>, Diagnostic> {
        self.get(key).ok_or_else(|| {
            let problem = MistakeProblem::Missing { table: self.key.to_string(), key };
            self.text.mistake(self.at, problem)
        })
    }

    /// Returns the table under a key, if it exists.
    pub(super) fn table(&self, key: &str) -> Result<Option<Self>, Diagnostic> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let expected = || format!("a single table (`[{}]`)", value.key);
        value.table().map(Some).ok_or_else(|| value.other(expected()))
    }

    /// Returns the tables of a list, or no tables if the list is missing.
    pub(super) fn tables(&self, key: &str) -> Result<Vec<Self>, Diagnostic> {
        let Some(list) = self.get(key) else { return Ok(Vec::new()) };
        let expected = || format!("a list of tables (`[[{}]]`)", list.key);
        let items = list.value.get_ref().as_array().ok_or_else(|| list.other(expected()))?;
        let table = |item: Value<'t>| item.table().ok_or_else(|| item.other("a table".to_owned()));
        list.items(items).map(table).collect()
    }

    /// Reads the list under a key item by item. Returns `None` if it is missing.
    pub(super) fn list<T>(
        &self,
        key: &str,
        of: &str,
        read: impl Fn(&Value<'t>) -> Result<T, Diagnostic>,
    ) -> Result<Option<Vec<T>>, Diagnostic> {
        self.get(key).map(|list| list.list(of, read)).transpose()
    }
}

/// Whether a table may contain a secret that was pasted there by mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Secret {
    No,
    Perhaps,
}

impl<'t> Value<'t> {
    fn items(&self, items: &'t [Spanned<DeValue<'t>>]) -> impl Iterator<Item = Self> {
        let (text, key) = (self.text, &self.key);
        let item = move |(value, item)| Self { text, key: Rc::clone(key), item: Some(item), value };
        items.iter().zip(1..).map(item)
    }

    /// Reads a list item by item. `of` is the plural noun for its items, for messages.
    pub(super) fn list<T>(
        &self,
        of: &str,
        read: impl Fn(&Self) -> Result<T, Diagnostic>,
    ) -> Result<Vec<T>, Diagnostic> {
        let items = self.value.get_ref().as_array();
        let items = items.ok_or_else(|| self.other(format!("a list of {of} (`[…]`)")))?;
        self.items(items).map(|item| read(&item)).collect()
    }

    /// Returns the value as a table, if it is one.
    pub(super) fn table(&self) -> Option<Table<'t>> {
        let (key, at) = (Rc::clone(&self.key), self.value.span().start);
        let entries = self.value.get_ref().as_table()?;
        Some(Table { text: self.text, key, at, entries })
    }

    /// Reads a string. `expected` describes it in messages.
    pub(super) fn text(&self, expected: &str) -> Result<&'t str, Diagnostic> {
        self.value.get_ref().as_str().ok_or_else(|| self.other(expected.to_owned()))
    }

    /// Reads a boolean.
    pub(super) fn truth(&self) -> Result<bool, Diagnostic> {
        let expected = || self.other("`true` or `false`".to_owned());
        self.value.get_ref().as_bool().ok_or_else(expected)
    }

    /// Returns true if the value is a list.
    pub(super) fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// Reads an integer, which may be negative.
    pub(super) fn whole(&self) -> Result<i64, Diagnostic> {
        self.number(|digits, radix| i64::from_str_radix(digits, radix).ok(), "a whole number")
    }

    /// Reads a non-negative integer.
    pub(super) fn count(&self) -> Result<u64, Diagnostic> {
        self.number(
            |digits, radix| u64::from_str_radix(digits, radix).ok(),
            "a whole number, 0 or more",
        )
    }

    fn number<T>(
        &self,
        read: impl Fn(&str, u32) -> Option<T>,
        in_range: &str,
    ) -> Result<T, Diagnostic> {
        let number = self.value.get_ref().as_integer();
        let number = number.ok_or_else(|| self.other("a whole number".to_owned()))?;
        read(number.as_str(), number.radix())
            .ok_or_else(|| self.other_than(in_range.to_owned(), shown(&number.to_string())))
    }

    /// Reads a string that must be the word for one of the items in `all`.
    pub(super) fn one_of<T: Copy>(
        &self,
        all: &[T],
        word: impl Fn(T) -> &'static str,
    ) -> Result<T, Diagnostic> {
        let expected = || listed(all.iter().map(|it| word(*it)), "or");
        let text = self.text(&expected())?;
        let found = all.iter().copied().find(|it| word(*it) == text);
        found.ok_or_else(|| self.other_than(expected(), format!("`{}`", shown(text))))
    }

    /// Reads a path pattern. A pattern that is not UTF-8 is written as a table with the key `hex`.
    pub(super) fn pattern(&self) -> Result<PathRule, Diagnostic> {
        if let Some(table) = self.table() {
            table.only(&["hex"], Secret::No)?;
            let hex = table.need("hex")?.text("a string of hexadecimal digits")?.to_owned();
            let read = PathRule::deserialize(serde_json::json!({ "hex": hex }));
            return read.map_err(|error| self.unusable(&error));
        }
        PathRule::new(self.text("a pattern (a string)")?).map_err(|error| self.unusable(&error))
    }

    /// Reports a value of the wrong type.
    pub(super) fn other(&self, expected: String) -> Diagnostic {
        self.other_than(expected, kind(self.value.get_ref()).to_owned())
    }

    /// Reports an unexpected value, which `found` describes.
    pub(super) fn other_than(&self, expected: String, found: String) -> Diagnostic {
        let problem = MistakeProblem::Other { key: self.name(), expected, found };
        self.text.mistake(self.value.span().start, problem)
    }

    /// Reports a value that has the right type but cannot be used.
    pub(super) fn unusable(&self, why: &dyn std::fmt::Display) -> Diagnostic {
        let problem = MistakeProblem::Unusable { key: self.name(), why: why.to_string() };
        self.text.mistake(self.value.span().start, problem)
    }

    fn name(&self) -> String {
        match self.item {
            None => format!("`{}`", self.key),
            Some(item) => format!("item {item} of `{}`", self.key),
        }
    }
}
