//! Edits of real JSON and YAML files that change nothing: every byte has to stay (EX-10).

use actum_core::edit::json_patch::JsonText;
use actum_core::edit::{Edit, JsonPath, JsonValueEdit, YamlUpdate};
use actum_core::splice::Splice;

use super::tree::Tree;

/// How many values of one file are edited.
const VALUES_MAX: usize = 4;
/// Larger files are left out: they take seconds to be read strictly.
const FILE_BYTES_MAX: usize = 2 << 20;

/// What was tried, and what came out otherwise.
#[derive(Debug, Default)]
pub(super) struct Tried {
    pub(super) json_files: usize,
    pub(super) yaml_files: usize,
    pub(super) edits: usize,
    pub(super) problems: Vec<String>,
}

impl Tried {
    /// Edits the files of a tree.
    pub(super) fn add(&mut self, package: &str, tree: &Tree) {
        for (path, leaf) in &tree.files {
            let name = String::from_utf8_lossy(path);
            let content = &*leaf.content;
            if content.len() > FILE_BYTES_MAX {
                continue;
            }
            let outcome = if name.ends_with(".json") {
                json(content).inspect(|_| self.json_files += 1)
            } else if name.ends_with(".yml") || name.ends_with(".yaml") {
                yaml(content).inspect(|_| self.yaml_files += 1)
            } else {
                continue;
            };
            match outcome {
                Some(Ok(edits)) => self.edits += edits,
                Some(Err(problem)) => self.problems.push(format!("{package}, {name}: {problem}")),
                None => {}
            }
        }
    }

    /// What was tried, on a line.
    pub(super) fn told(&self) -> String {
        let Self { json_files, yaml_files, edits, problems } = self;
        format!(
            "Edits that change nothing: {edits} in {json_files} JSON and {yaml_files} YAML files; {} \
             left other bytes.\n",
            problems.len()
        )
    }
}

/// How many values were set to what they are; none where it is no JSON object with values that are spelled plainly.
fn json(content: &[u8]) -> Option<Result<usize, String>> {
    let value: serde_json::Value = serde_json::from_slice(content).ok()?;
    let text = std::str::from_utf8(content).ok()?;
    let plain = value.as_object()?.iter().filter_map(|(key, value)| {
        let spelled = serde_json::to_string(value).ok()?;
        let is_plain = !value.is_object() && !value.is_array() && text.contains(&spelled);
        is_plain.then_some((key, spelled))
    });
    let plain: Vec<_> = plain.take(VALUES_MAX).collect();
    if plain.is_empty() {
        return None;
    }
    let one = |edits: usize, (key, value): &(&String, String)| {
        let (path, value) = (path(key)?, json_text(value)?);
        let edit = Edit::JsonValue(JsonValueEdit::UpdateValue { path, value });
        must_stay(&edit, key, content).map(|()| edits + 1)
    };
    Some(plain.iter().try_fold(0, one))
}

/// How many values were set to what they are; none where there is none that is spelled as in JSON.
fn yaml(content: &[u8]) -> Option<Result<usize, String>> {
    let text = std::str::from_utf8(content).ok()?;
    let is_plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let scalars = text.lines().filter_map(|line| {
        let (key, value) = line.split_once(": ")?;
        let is_scalar = value == "true"
            || value == "false"
            || value.parse::<u32>().is_ok_and(|n| n.to_string() == value);
        (is_plain(key) && is_scalar).then_some((key, value))
    });
    let scalars: Vec<_> = scalars.take(VALUES_MAX).collect();
    if scalars.is_empty() || text.contains("\n---") {
        return None;
    }
    let one = |edits: usize, (key, value): &(&str, &str)| {
        let edit = Edit::Yaml(YamlUpdate { path: path(key)?, value: json_text(value)? });
        must_stay(&edit, key, content).map(|()| edits + 1)
    };
    Some(scalars.iter().try_fold(0, one))
}

fn must_stay(edit: &Edit, key: &str, content: &[u8]) -> Result<(), String> {
    let splices = edit.splices(content).map_err(|error| format!("`{key}`: {error}"))?;
    let edited = Splice::apply(&splices, content).map_err(|error| error.to_string())?;
    if edited == content { Ok(()) } else { Err(format!("`{key}` is not what it was")) }
}

fn json_text(text: &str) -> Result<JsonText, String> {
    JsonText::new(text).map_err(|error| format!("`{text}`: {error}"))
}

fn path(key: &str) -> Result<JsonPath, String> {
    let quoted = key.replace('\\', "\\\\").replace('\'', "\\'");
    JsonPath::new(&format!("$['{quoted}']")).map_err(|error| format!("`{key}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-10
    #[test]
    fn a_value_that_is_set_to_what_it_is_leaves_every_byte() {
        let content = b"{\r\n\t\"a'b\" : \"x\",\"c\":\"\\u00e9\", \"d\" :  [1,2] , \"e\": 2 }";
        assert_eq!(json(content), Some(Ok(2)));
        assert_eq!(json(b"[1]"), None);
        assert_eq!(json(b"{"), None);
        assert_eq!(yaml(b"# kept\na: 1   \nb: true\nc: x\n"), Some(Ok(1)));
        assert_eq!(yaml(b"c: x\n"), None);
    }
}
