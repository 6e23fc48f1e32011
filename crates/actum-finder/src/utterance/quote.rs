//! Parses quotes and unquoted blocks of text in an utterance.

/// Result of parsing a quote at the start of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Quote<'t> {
    /// The text does not start with a quote.
    None,
    /// The text starts with a complete quote.
    Closed {
        /// Text between the quotes.
        text: &'t str,
        /// Text after the quotes.
        behind: &'t str,
    },
    /// The text starts with a quote that has no end.
    Unclosed,
}

const FENCE: &str = "```";

/// Returns true if the character begins or ends a quote, even directly after a letter.
pub(super) fn opens(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '‟' | '«' | '»' | '‹' | '›' | '`')
}

/// Parses a quote at the start of `text`. `before` is the preceding character.
pub(super) fn quote(text: &str, before: char) -> Quote<'_> {
    if let Some(behind) = text.strip_prefix(FENCE) {
        return fence(behind);
    }
    let Some(first) = text.chars().next() else { return Quote::None };
    let behind = text.get(first.len_utf8()..).unwrap_or_default();
    let ends: &[char] = match first {
        '"' => &['"'],
        '“' => &['”', '“'],
        '„' | '‟' => &['“', '”', '"'],
        '«' => &['»'],
        '»' => &['«'],
        '‹' => &['›'],
        '›' => &['‹'],
        '`' => &['`'],
        '\'' | '‘' | '‚' if !before.is_alphanumeric() => return single_quote(first, behind),
        '”' => return Quote::Unclosed,
        _ => return Quote::None,
    };
    match behind.split_once(ends) {
        Some((text, behind)) if first == '«' => {
            Quote::Closed { text: text.trim_matches([' ', '\u{a0}', '\u{202f}']), behind }
        }
        Some((text, behind)) => Quote::Closed { text, behind },
        None => Quote::Unclosed,
    }
}

/// Parses text in single quotes. The closing quote must not be followed by a letter or digit, because it would then be
/// an apostrophe.
fn single_quote(first: char, behind: &str) -> Quote<'_> {
    let ends: &[char] = match first {
        '\'' => &['\''],
        _ => &['’', '‘'],
    };
    for (at, end) in behind.match_indices(ends) {
        let (text, rest) = behind.split_at(at);
        let rest = rest.get(end.len()..).unwrap_or_default();
        if !text.is_empty() && !rest.starts_with(char::is_alphanumeric) {
            return Quote::Closed { text, behind: rest };
        }
    }
    Quote::None
}

/// Parses a fenced code block. The rest of the first line is the name of a language, which is left out.
fn fence(behind: &str) -> Quote<'_> {
    let Some((inside, behind)) = behind.split_once(FENCE) else { return Quote::Unclosed };
    let text = inside.split_once('\n').map_or(inside, |(_, text)| text);
    Quote::Closed { text, behind }
}

/// Returns an unquoted diff or patch that begins at the start of a line and extends to the end of the utterance.
pub(super) fn block(text: &str, before: char) -> Option<&str> {
    let is_diff = text.starts_with("diff --git ")
        || text.starts_with("*** Begin Patch\n")
        || (text.starts_with("--- ") && text.lines().nth(1)?.starts_with("+++ "));
    (before == '\n' && is_diff).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-1
    #[test]
    fn quotation_marks_of_each_language_enclose_their_text() {
        for text in
            ["\"x y\" z", "“x y” z", "„x y“ z", "»x y« z", "« x y » z", "'x y' z", "`x y` z"]
        {
            assert_eq!(quote(text, ' '), Quote::Closed { text: "x y", behind: " z" }, "{text}");
        }
        assert_eq!(quote("'s file", 'r'), Quote::None);
        assert_eq!(quote("```sh\nx\n``` z", ' '), Quote::Closed { text: "x\n", behind: " z" });
        assert_eq!(quote("``` z", ' '), Quote::Unclosed);
        assert_eq!(block("--- a\n+++ b\n", '\n'), Some("--- a\n+++ b\n"));
        assert_eq!(block("--- a\nb\n", '\n'), None);
    }
}
