//! The steps of a path that has only names and indices from the front.
//!
//! Only the spelling of a path is read here that another parser has found sound. What is not
//! plain is left to that parser: nothing is ever read differently here.

use super::{NodePath, Step};

/// The steps of `path`; none where it may select anything but one place.
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

/// `name` and what follows.
fn shorthand(text: &str) -> Option<(Step, &str)> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let (name, rest) = text.split_at_checked(text.find(|c| !in_name(c)).unwrap_or(text.len()))?;
    (!name.is_empty()).then(|| (Step::Name(name.to_owned()), rest))
}

/// `'name']`, `"name"]` or `0]`, and what follows.
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

/// A name up to its quote, with what its escapes stand for, and what follows.
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
                    // Not of half a pair.
                    char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
                }
                itself @ ('/' | '\\' | '\'' | '"') => itself,
                _ => return None,
            },
            plain => plain,
        });
    }
}
