//! Recognizes shell texts that consist of a single simple command.

/// Punctuation that no shell treats as special inside a word.
const PLAIN: &str = "-_./,:+@%";

/// Splits a shell text into words if it is a single command without variables, patterns, redirections,
/// assignments or line breaks outside of quotes. Returns `None` for any other text, and for a text that
/// shells could interpret differently.
///
/// The result is valid for sh, bash and zsh. Quotes follow POSIX.1-2024 XCU 2.2.2 and 2.2.3, except that
/// characters with a special meaning inside double quotes are rejected.
pub fn plain_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.trim_matches([' ', '\n']).chars();
    while let Some(next) = rest.next() {
        match next {
            ' ' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        end if end == next => break,
                        '$' | '`' | '\\' | '!' if next == '"' => return None,
                        '\0' => return None,
                        inner => word.push(inner),
                    }
                }
            }
            _ if next.is_ascii_alphanumeric() || PLAIN.contains(next) => {
                word.get_or_insert_default().push(next);
            }
            // A `=` in the first word would be an assignment, and zsh expands words that start with `=`.
            '=' if !words.is_empty() && word.is_some() => {
                word.get_or_insert_default().push(next);
            }
            _ => return None,
        }
    }
    words.extend(word);
    Some(words).filter(|words| !words.is_empty())
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the test compares the result with that of a real shell"
)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// Issue 27: a single command is split into its words.
    #[test]
    fn simple_command_is_split_into_words() {
        let words = |text: &str| plain_words(text).map(|words| words.join("|"));
        assert_eq!(
            words("actum exec -- npm test --x=1").as_deref(),
            Some("actum|exec|--|npm|test|--x=1")
        );
        assert_eq!(words(" a 'b c;$x'\"d e\"f \n").as_deref(), Some("a|b c;$xd ef"));
        assert_eq!(words("a '' \"\"").as_deref(), Some("a||"));
    }

    /// Issue 27: texts with shell syntax other than plain and quoted words are rejected.
    #[test]
    fn text_with_other_shell_syntax_is_rejected() {
        for text in [
            "",
            " ",
            "a; b",
            "a && b",
            "a | b",
            "a & b",
            "a > f",
            "a < f",
            "a\nb",
            "a $x",
            "a `b`",
            "a \"$x\"",
            "a \"`b`\"",
            "a *",
            "a ~",
            "a {b,c}",
            "X=1 a",
            "a #",
            "a \\b",
            "a 'b",
            "a \"b",
            "(a)",
            "!a",
            "a [b]",
            "a ?",
            "a\tb",
            "a \u{a0}b",
            "a \"!b\"",
            "a\rb",
            "a 'b\0'",
        ] {
            assert_eq!(plain_words(text), None, "{text:?}");
        }
    }

    proptest! {
        /// Issue 27: a real shell passes the same words to the program.
        #[test]
        fn real_shell_splits_the_same_words(text in "[-a c='\"$;&|<>\n\\\\!#~*{},(`]{0,12}") {
            let text = format!("printf '%s\\n' {text}");
            if let Some(words) = plain_words(&text).filter(|_| text.lines().count() == 1) {
                for shell in ["sh", "bash"] {
                    let shown = Command::new(shell).args(["-c", &text]).output().unwrap();
                    let expected: String = match words.get(2..) {
                        None | Some([]) => "\n".to_owned(),
                        Some(words) => words.iter().map(|word| format!("{word}\n")).collect(),
                    };
                    prop_assert_eq!(String::from_utf8_lossy(&shown.stdout), expected, "{}", text);
                }
            }
        }
    }
}
