//! Edits of real JSON and YAML files that set values to themselves, so no byte may change (EX-10).

use actum_edit::edit::json_patch::JsonText;
use actum_edit::edit::{Edit, JsonPath, JsonValueEdit, YamlUpdate};
use actum_edit::splice::Splice;
use serde_json::Value;

use super::tree::Tree;

/// Maximum number of values edited in one file.
const VALUES_MAX: usize = 4;
/// Maximum file size in bytes. Larger files are skipped because strict parsing takes seconds.
const FILE_BYTES_MAX: usize = 2 << 20;
/// Maximum length of a path in bytes. Values below longer paths are not examined.
const PATH_MAX: usize = 512;

/// Number of trials, and the problems.
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

    /// Adds the trials of another thread.
    pub(super) fn add_all(&mut self, other: Self) {
        let Self { json_files, yaml_files, edits, problems } = other;
        self.json_files += json_files;
        self.yaml_files += yaml_files;
        self.edits += edits;
        self.problems.extend(problems);
    }

    /// Summarises the trials on one line.
    pub(super) fn summary(&self) -> String {
        let Self { json_files, yaml_files, edits, problems } = self;
        format!(
            "Edits that change nothing: {edits} in {json_files} JSON and {yaml_files} YAML files; {} \
             left other bytes.\n",
            problems.len()
        )
    }
}

/// Returns the number of values that were replaced by themselves, or `None` if the file is not JSON whose values have only one
/// spelling.
fn json(content: &[u8]) -> Option<Result<usize, String>> {
    let value: Value = serde_json::from_slice(content).ok()?;
    let text = std::str::from_utf8(content).ok()?;
    let mut plain = Vec::new();
    leaves(&value, &mut "$".to_owned(), !text.contains('\\'), &mut plain);
    if plain.is_empty() {
        return None;
    }
    let one = |edits: usize, (path, value): &(String, String)| {
        let (of, value) = (json_path(path)?, json_text(value)?);
        let edit = Edit::JsonValue(JsonValueEdit::UpdateValue { path: of, value });
        check_unchanged(&edit, path, content).map(|()| edits + 1)
    };
    Some(plain.iter().try_fold(0, one))
}

/// Collects the paths and spellings of the first values: words, integers, and strings without escapes.
fn leaves(value: &Value, path: &mut String, is_unescaped: bool, found: &mut Vec<(String, String)>) {
    if found.len() >= VALUES_MAX || path.len() > PATH_MAX {
        return;
    }
    let above = path.len();
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let name = name.replace('\\', "\\\\").replace('\'', "\\'");
                path.push_str(&format!("['{name}']"));
                leaves(value, path, is_unescaped, found);
                path.truncate(above);
            }
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate().take(VALUES_MAX) {
                path.push_str(&format!("[{index}]"));
                leaves(value, path, is_unescaped, found);
                path.truncate(above);
            }
        }
        Value::String(_) if !is_unescaped => {}
        Value::Number(number) if !number.is_u64() => {}
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            found.push((path.clone(), value.to_string()));
        }
    }
}

/// Returns the number of values that were replaced by themselves, or `None` if no value is spelled as in JSON.
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
        let path = json_path(&format!("$['{key}']"))?;
        let edit = Edit::Yaml(YamlUpdate { path, document: None, value: json_text(value)? });
        check_unchanged(&edit, key, content).map(|()| edits + 1)
    };
    Some(scalars.iter().try_fold(0, one))
}

fn check_unchanged(edit: &Edit, key: &str, content: &[u8]) -> Result<(), String> {
    let splices = edit.splices(content).map_err(|error| format!("`{key}`: {error}"))?;
    let edited = Splice::apply(&splices, content).map_err(|error| error.to_string())?;
    if edited == content { Ok(()) } else { Err(format!("`{key}` is not what it was")) }
}

fn json_text(text: &str) -> Result<JsonText, String> {
    JsonText::new(text).map_err(|error| format!("`{text}`: {error}"))
}

fn json_path(path: &str) -> Result<JsonPath, String> {
    JsonPath::new(path).map_err(|error| format!("`{path}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-10
    #[test]
    fn setting_a_value_to_itself_preserves_every_byte() {
        let content = b"{\r\n\t\"a'b\" : \"x\",\"c\":{\"y\" :null}, \"d\" :  [1,2] , \"e\": 2.50 }";
        assert_eq!(json(content), Some(Ok(4)));
        let escaped = b"[ {\"c\":\"\\u00e9\", \"d\" : true, \"e\": -1 } ]";
        assert_eq!(json(escaped), Some(Ok(1)), "only what is spelled in one way alone");
        assert_eq!(json(b"[1.0]"), None);
        assert_eq!(json(b"{"), None);
        assert_eq!(yaml(b"# kept\na: 1   \nb: true\nc: x\n"), Some(Ok(1)));
        assert_eq!(yaml(b"c: x\n"), None);
    }
}
