//! Rewrites the comparisons in a JSONPath so that they only use `<` and `==`.
//!
//! The JSONPath library evaluates `a > b` as "neither less nor equal" and `a >= b` as "not less". That is wrong for values without
//! an order, for which RFC 9535 (section 2.3.5.2.2) defines both comparisons as false. The library evaluates `<` and `==` as
//! the RFC requires.

/// Returns the offsets of all bytes of `text` that are outside of quoted strings.
pub(super) fn outside_quotes(text: &str) -> impl Iterator<Item = usize> + '_ {
    let (mut quote, mut escaped) = (None, false);
    text.bytes().enumerate().filter_map(move |(at, byte)| {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if byte == b'\\' => escaped = true,
            Some(open) if open == byte => quote = None,
            Some(_) => {}
            None if matches!(byte, b'\'' | b'"') => quote = Some(byte),
            None => return Some(at),
        }
        None
    })
}

/// Comparison that is being read, at one nesting level of brackets and parentheses.
struct Frame {
    /// Offset in the output at which the comparison starts.
    start: usize,
    /// Operator of the comparison, with the offsets at which it starts and ends.
    operator: Option<(&'static str, usize, usize)>,
}

/// Returns the path with `a > b` rewritten as `b < a`, `a <= b` as `(a < b || a == b)`, and `a >= b` as `(b < a || a == b)`. The
/// path must be valid.
pub(super) fn rewritten(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut frames = vec![Frame { start: 0, operator: None }];
    let mut copied = 0;
    for at in outside_quotes(path) {
        if at < copied {
            continue;
        }
        let rest = path.get(at..).unwrap_or_default();
        let Some(token) = TOKENS.into_iter().find(|token| rest.starts_with(token)) else {
            continue;
        };
        out.push_str(path.get(copied..at).unwrap_or_default());
        copied = at + token.len();
        let Some(frame) = frames.last_mut() else { continue };
        match token {
            "<" | "<=" | ">" | ">=" => {
                frame.operator = Some((token, out.len(), out.len() + token.len()));
                out.push_str(token);
            }
            "==" => out.push_str(token),
            "[" | "(" => {
                out.push_str(token);
                frames.push(Frame { start: out.len(), operator: None });
            }
            "]" | ")" => {
                frame.finish(&mut out);
                frames.pop();
                out.push_str(token);
            }
            _ => {
                frame.finish(&mut out);
                out.push_str(token);
                *frame = Frame { start: out.len(), operator: None };
            }
        }
    }
    out.push_str(path.get(copied..).unwrap_or_default());
    out
}

/// Tokens that delimit a comparison. If one token is a prefix of another, the longer one comes first.
const TOKENS: [&str; 13] = ["==", "<=", ">=", "<", ">", "[", "]", "(", ")", "?", ",", "&&", "||"];

impl Frame {
    /// Rewrites the comparison at the end of the output.
    fn finish(&mut self, out: &mut String) {
        let Some((operator, from, to)) = self.operator.take() else { return };
        let part = |part: Option<&str>| part.unwrap_or_default().trim().to_owned();
        let (a, b) = (part(out.get(self.start..from)), part(out.get(to..)));
        let comparison = match operator {
            ">" => format!("{b} < {a}"),
            "<=" => format!("({a} < {b} || {a} == {b})"),
            ">=" => format!("({b} < {a} || {a} == {b})"),
            _ => return,
        };
        out.truncate(self.start);
        out.push_str(&comparison);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordering_operators_are_rewritten_to_less_and_equal() {
        for (path, expected) in [
            ("$.a[1:2]['>=']", "$.a[1:2]['>=']"),
            ("$[?@.a > 1]", "$[?1 < @.a]"),
            (
                "$[?@.a<=1&&@.b >= $['<']]",
                "$[?(@.a < 1 || @.a == 1)&&($['<'] < @.b || @.b == $['<'])]",
            ),
            (
                "$[?(1 > count(@[?@ >= 2])), ?@ == 1]",
                "$[?(count(@[?(2 < @ || @ == 2)]) < 1), ?@ == 1]",
            ),
            ("$[?@['\\'>'] < 1 || !(@.x > 'a\\'b')]", "$[?@['\\'>'] < 1 || !('a\\'b' < @.x)]"),
        ] {
            let rewritten = rewritten(path);
            assert_eq!(rewritten, expected, "{path}");
            assert!(serde_json_path::JsonPath::parse(&rewritten).is_ok(), "{rewritten}");
        }
    }
}
