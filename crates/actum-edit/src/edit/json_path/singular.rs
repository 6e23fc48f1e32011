//! Parser for JSONPaths that consist only of names and non-negative indices.
//!
//! The full JSONPath parser has already accepted the path. This parser returns `None` for everything that is not clearly a name
//! or an index, so the two parsers cannot disagree.

use super::{NodePath, Step};

/// Returns the steps of `path`, or `None` if it is not a plain path that can only select a single place.
pub(super) fn steps(path: &str) -> Option<NodePath> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('.') {
            Some(name) => shorthand(name)?,
            None => bracketed(rest.strip_prefix('[')?)?,
        };
        steps.push(step);
        rest = after;
    }
    Some(NodePath(steps))
}

/// Parses a name in the shorthand `.name`, from which the dot has been removed. Returns the step and the remaining text.
fn shorthand(text: &str) -> Option<(Step, &str)> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let (name, rest) = text.split_at_checked(text.find(|c| !in_name(c)).unwrap_or(text.len()))?;
    (!name.is_empty()).then(|| (Step::Name(name.to_owned()), rest))
}

/// Parses `'name']`, `"name"]` or `0]`. Returns the step and the remaining text.
fn bracketed(text: &str) -> Option<(Step, &str)> {
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'));
    let Some(quote) = quote else {
        let (digits, rest) = text.split_once(']')?;
        let is_index = digits.bytes().all(|byte| byte.is_ascii_digit());
        return (is_index).then(|| digits.parse().ok()).flatten().map(|at| (Step::Index(at), rest));
    };
    let (name, rest) = quoted(text.get(1..)?, quote)?;
    Some((Step::Name(name), rest.strip_prefix(']')?))
}

/// Parses a quoted name up to its closing quote and decodes its escapes. Returns the name and the remaining text.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text.chars();
    loop {
        name.push(match rest.next()? {
            end if end == quote => return Some((name, rest.as_str())),
            '\\' => match rest.next()? {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let (digits, after) = rest.as_str().split_at_checked(4)?;
                    rest = after.chars();
                    // A surrogate is not a character, so names with surrogate pairs are left to the full parser.
                    char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
                }
                itself @ ('/' | '\\' | '\'' | '"') => itself,
                _ => return None,
            },
            plain => plain,
        });
    }
}
