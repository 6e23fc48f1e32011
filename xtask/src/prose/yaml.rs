//! Subset of YAML used by rule files: keys with a scalar, a list or a map of scalars.
//!
//! Any other line is an error, so that no file is interpreted differently from vale.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Scalar(String),
    List(Vec<String>),
    Map(Vec<(String, String)>),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(super) struct YamlError {
    line: usize,
    problem: &'static str,
}

pub(super) fn read(text: &str) -> Result<BTreeMap<String, Value>, YamlError> {
    let mut values = BTreeMap::new();
    let mut open: Option<String> = None;
    for (line, number) in text.lines().zip(1..) {
        let error = |problem| YamlError { line: number, problem };
        let content = line.trim_end();
        if content.is_empty() || content == "---" || content.trim_start().starts_with('#') {
            continue;
        }
        let Some(item) = content.strip_prefix("  ") else {
            let (key, rest) = entry(content).ok_or_else(|| error("write `key: value`"))?;
            let value = match rest {
                "" => Value::List(Vec::new()),
                rest => Value::Scalar(scalar(rest).map_err(error)?),
            };
            open = (rest.is_empty()).then(|| key.clone());
            if values.insert(key, value).is_some() {
                return Err(error("this key stands twice"));
            }
            continue;
        };
        let value = open.as_ref().and_then(|key| values.get_mut(key));
        let value =
            value.ok_or_else(|| error("an indented line belongs below a key without a value"))?;
        if let Some(item) = item.strip_prefix("- ") {
            let Value::List(list) = value else { return Err(error("a list and a map are mixed")) };
            list.push(scalar(item).map_err(error)?);
        } else {
            let (key, rest) = entry(item).ok_or_else(|| error("write `- item` or `key: value`"))?;
            if *value == Value::List(Vec::new()) {
                *value = Value::Map(Vec::new());
            }
            let Value::Map(map) = value else { return Err(error("a list and a map are mixed")) };
            map.push((key, scalar(rest).map_err(error)?));
        }
    }
    Ok(values)
}

/// Splits a line into its key and the text after the colon.
fn entry(text: &str) -> Option<(String, &str)> {
    let (key, rest) = match text.strip_prefix('\'') {
        Some(quoted) => quoted.split_once("':")?,
        None => text.split_once(':')?,
    };
    let is_key = !key.is_empty() && !key.starts_with([' ', '-', '"', '{', '[', '?', '&', '*', '!']);
    let is_separate = rest.is_empty() || rest.starts_with(' ');
    (is_key && is_separate && !key.contains('\'')).then(|| (key.to_owned(), rest.trim_start()))
}

/// Parses a plain or single-quoted scalar. Double quotes are rejected, because their escapes are not supported.
fn scalar(text: &str) -> Result<String, &'static str> {
    if let Some(quoted) = text.strip_prefix('\'') {
        let inner =
            quoted.strip_suffix('\'').ok_or("a quote is not closed at the end of the line")?;
        let unescaped = inner.replace("''", "\n");
        return match unescaped.contains('\'') {
            true => Err("a quote within quotes is written twice"),
            false => Ok(unescaped.replace('\n', "'")),
        };
    }
    let is_plain = !text.is_empty()
        && !text.starts_with(|char| "\"{}[]&*!|>%@`#,?-:".contains(char))
        && !text.contains(": ")
        && !text.contains(" #");
    if is_plain { Ok(text.to_owned()) } else { Err("put the value in single quotes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_lists_and_maps_are_read() {
        let text = "---\n# Note\nextends: existence\nmessage: 'it''s: \"%s\"'\n\ntokens:\n  # Note\n  - a b\n  - '\\A(?:c)'\nswap:\n  '(?:d|e)': f\n  g h: 'i'\n";
        let string = str::to_owned;
        let expected = [
            ("extends", Value::Scalar(string("existence"))),
            ("message", Value::Scalar(string("it's: \"%s\""))),
            ("tokens", Value::List(vec![string("a b"), string("\\A(?:c)")])),
            (
                "swap",
                Value::Map(vec![(string("(?:d|e)"), string("f")), (string("g h"), string("i"))]),
            ),
        ];
        let expected = expected.map(|(key, value)| (string(key), value));
        assert_eq!(read(text), Ok(BTreeMap::from(expected)));
    }

    #[test]
    fn unsupported_yaml_line_is_an_error_with_its_line_number() {
        let cases = [
            ("a", "line 1: write `key: value`"),
            ("\na: \"b\"", "line 2: put the value in single quotes"),
            ("a: [b]", "line 1: put the value in single quotes"),
            ("a: b: c", "line 1: put the value in single quotes"),
            ("a: b #c", "line 1: put the value in single quotes"),
            ("a: 'b", "line 1: a quote is not closed at the end of the line"),
            ("a: 'b'c'", "line 1: a quote within quotes is written twice"),
            ("a: b\na: c", "line 2: this key stands twice"),
            ("a: b\n  - c", "line 2: an indented line belongs below a key without a value"),
            ("a:\n  - b\n  c: d", "line 3: a list and a map are mixed"),
            ("a:\n  b: c\n  - d", "line 3: a list and a map are mixed"),
            ("a:\n  b", "line 2: write `- item` or `key: value`"),
        ];
        for (text, problem) in cases {
            assert_eq!(read(text).map_err(|error| error.to_string()), Err(problem.to_owned()));
        }
    }
}
