//! Parses the file names in a diff, with git's quoting and its `a/` and `b/` prefixes.

use std::borrow::Cow;

use actum_core::RelPath;
use actum_core::place::{Excerpt, Place};

use super::lines::Text;
use super::problem::DiffProblem;
use crate::format::{ParseError, Problem, RootPrefix};

/// Unquoted file name in a diff, including its prefix, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) place: Place,
}

/// Prefixes of the old and the new name in a diff.
pub(super) type Prefixes = (&'static str, &'static str);

/// Pairs of prefixes that git writes: by default, with `diff.noprefix`, and with `diff.mnemonicPrefix` (git-config(1)),
/// each with and without `-R`.
pub(super) const GIT_PREFIXES: &[Prefixes] = &[
    ("a/", "b/"),
    ("b/", "a/"),
    ("", ""),
    ("i/", "w/"),
    ("w/", "i/"),
    ("c/", "i/"),
    ("i/", "c/"),
    ("c/", "w/"),
    ("w/", "c/"),
    ("o/", "w/"),
    ("w/", "o/"),
    ("1/", "2/"),
    ("2/", "1/"),
];

/// Pairs of prefixes in a diff that was not written by git.
pub(super) const PLAIN_PREFIXES: &[Prefixes] = &[("a/", "b/"), ("", "")];

/// Name on a side of the diff where the file does not exist.
pub(super) const DEV_NULL: &[u8] = b"/dev/null";

impl<'a> Name<'a> {
    /// Parses `text` as a single name.
    pub(super) fn whole(text: Text<'a>) -> Result<Self, ParseError> {
        if !text.bytes.starts_with(b"\"") {
            return Ok(Self { bytes: Cow::Borrowed(text.bytes), place: text.place });
        }
        let (name, rest) = Self::quoted(text)?;
        if rest.bytes.is_empty() { Ok(name) } else { Err(after_name(rest)) }
    }

    /// Parses the name in a `---` or `+++` line, and returns it with the text after the optional tab.
    pub(super) fn before_tab(text: Text<'a>) -> Result<(Self, &'a [u8]), ParseError> {
        if text.bytes.starts_with(b"\"") {
            let (name, rest) = Self::quoted(text)?;
            return match rest.bytes {
                [] => Ok((name, b"")),
                [b'\t', stamp @ ..] => Ok((name, stamp)),
                [..] => Err(after_name(rest)),
            };
        }
        let tab = memchr::memchr(b'\t', text.bytes).unwrap_or(text.bytes.len());
        let (bytes, rest) = text.bytes.split_at(tab);
        let name = Self { bytes: Cow::Borrowed(bytes), place: text.place };
        Ok((name, rest.strip_prefix(b"\t").unwrap_or_default()))
    }

    /// Parses the quoted name at the start of `text` (git's `quote.c`), and returns it with the rest.
    fn quoted(text: Text<'a>) -> Result<(Self, Text<'a>), ParseError> {
        let mut bytes = Vec::new();
        let mut rest = text.bytes.strip_prefix(b"\"").unwrap_or_default();
        loop {
            let (byte, after) = match *rest {
                [b'"', ref after @ ..] => {
                    let place = text.place.right(text.bytes.len() - after.len());
                    let name = Self { bytes: Cow::Owned(bytes), place: text.place };
                    return Ok((name, Text { bytes: after, place }));
                }
                [
                    b'\\',
                    high @ b'0'..=b'3',
                    middle @ b'0'..=b'7',
                    low @ b'0'..=b'7',
                    ref after @ ..,
                ] => (((high - b'0') << 6) | ((middle - b'0') << 3) | (low - b'0'), after),
                [b'\\', letter, ref after @ ..] => {
                    let byte = match letter {
                        b'a' => 7,
                        b'b' => 8,
                        b't' => b'\t',
                        b'n' => b'\n',
                        b'v' => 11,
                        b'f' => 12,
                        b'r' => b'\r',
                        b'"' | b'\\' => letter,
                        _ => {
                            let place = text.place.right(text.bytes.len() - rest.len());
                            let name = Excerpt::new(text.bytes);
                            return Err(ParseError::diff(place, DiffProblem::Escape { name }));
                        }
                    };
                    (byte, after)
                }
                [b'\\'] | [] => {
                    let name = Excerpt::new(text.bytes);
                    return Err(ParseError::diff(text.place, DiffProblem::Unclosed { name }));
                }
                [byte, ref after @ ..] => (byte, after),
            };
            bytes.push(byte);
            rest = after;
        }
    }

    pub(super) fn is_dev_null(&self) -> bool {
        *self.bytes == *DEV_NULL
    }

    /// Converts the name into a path relative to `root`, after stripping `prefix` if the name starts with it.
    pub(super) fn path(&self, prefix: &str, root: &RootPrefix) -> Result<RelPath, ParseError> {
        let bytes = self.bytes.strip_prefix(prefix.as_bytes()).unwrap_or(&self.bytes);
        RelPath::new(root.relative(bytes))
            .map_err(|error| ParseError::at(self.place, Problem::Path(error)))
    }

    pub(super) fn excerpt(&self) -> Excerpt {
        Excerpt::new(&self.bytes)
    }
}

fn after_name(rest: Text<'_>) -> ParseError {
    ParseError::diff(rest.place, DiffProblem::AfterName { found: Excerpt::new(rest.bytes) })
}

/// Returns the first pair of prefixes for which both names refer to the same path.
pub(super) fn common_prefixes(
    old: &Name<'_>,
    new: &Name<'_>,
    prefixes: &[Prefixes],
) -> Option<Prefixes> {
    prefixes.iter().copied().find(|(before, after)| {
        let old = old.bytes.strip_prefix(before.as_bytes());
        old.is_some() && old == new.bytes.strip_prefix(after.as_bytes())
    })
}

/// Pair of names in a `diff --git` line, separated by a space.
///
/// Unquoted names can contain spaces as well. In this case, the start of the second name is known only if one of the names
/// is known.
pub(super) enum NamePair<'a> {
    /// At least one name is quoted, so the boundary between the names is known.
    Split(Name<'a>, Name<'a>),
    /// Neither name is quoted, so the boundary between the names is unknown.
    Joined(Text<'a>),
}

impl<'a> NamePair<'a> {
    pub(super) fn new(text: Text<'a>) -> Result<Self, ParseError> {
        if text.bytes.starts_with(b"\"") {
            let (old, rest) = Name::quoted(text)?;
            return match rest.bytes {
                [b' ', new @ ..] => {
                    let new = Text { bytes: new, place: rest.place.right(1) };
                    Ok(Self::Split(old, Name::whole(new)?))
                }
                [..] => Err(after_name(rest)),
            };
        }
        // Git quotes a name that contains a quote, so the first quote starts the second name.
        let Some(quote) = memchr::memchr(b'"', text.bytes) else {
            return Ok(Self::Joined(text));
        };
        let (old, new) = text.bytes.split_at(quote);
        let new = Text { bytes: new, place: text.place.right(quote) };
        match old.strip_suffix(b" ") {
            Some(old) => {
                let old = Name { bytes: Cow::Borrowed(old), place: text.place };
                Ok(Self::Split(old, Name::whole(new)?))
            }
            None => Err(after_name(new)),
        }
    }

    /// Splits the pair under the assumption that both names refer to the same path. They then have the same length, so
    /// the space between them is in the middle.
    pub(super) fn equal(&self) -> Option<(Name<'a>, Name<'a>)> {
        match self {
            Self::Split(old, new) => Some((old.clone(), new.clone())),
            Self::Joined(text) => {
                let (old, rest) = text.bytes.split_at(text.bytes.len() / 2);
                let new = rest.strip_prefix(b" ")?;
                let place = text.place.right(old.len() + 1);
                let old = Name { bytes: Cow::Borrowed(old), place: text.place };
                Some((old, Name { bytes: Cow::Borrowed(new), place }))
            }
        }
    }

    /// Checks whether the pair consists of the names `old` and `new`.
    fn is(&self, old: &[u8], new: &[u8]) -> bool {
        match self {
            Self::Split(a, b) => *a.bytes == *old && *b.bytes == *new,
            Self::Joined(text) => {
                let rest = text.bytes.strip_prefix(old).and_then(|rest| rest.strip_prefix(b" "));
                rest == Some(new)
            }
        }
    }

    /// Returns the pair of prefixes for which the names refer to the paths `from` and `to`.
    pub(super) fn prefixes(&self, from: &RelPath, to: &RelPath) -> Option<Prefixes> {
        GIT_PREFIXES.iter().copied().find(|(before, after)| {
            let with = |prefix: &str, path: &RelPath| [prefix.as_bytes(), path.as_bytes()].concat();
            self.is(&with(before, from), &with(after, to))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &str) -> Text<'_> {
        Text { bytes: bytes.as_bytes(), place: Place { line: 3, column: 5 } }
    }

    fn error<T: std::fmt::Debug>(result: Result<T, ParseError>) -> String {
        result.unwrap_err().to_string()
    }

    /// FO-10
    #[test]
    fn quoted_names_are_unescaped_according_to_git() {
        let name = Name::whole(text(r#""a/sp\303\251 \"\\\a\b\t\n\v\f\r\001é""#)).unwrap();
        assert_eq!(*name.bytes, *b"a/sp\xc3\xa9 \"\\\x07\x08\t\n\x0b\x0c\r\x01\xc3\xa9");
        assert_eq!(*Name::whole(text("a/x \"y")).unwrap().bytes, *b"a/x \"y");
    }

    #[test]
    fn quoted_names_git_would_not_write_are_rejected() {
        assert_eq!(
            error(Name::whole(text(r#""a/\400""#))),
            "line 3, column 8: the quoted name `\"a/\\\\400\"` contains an escape sequence that git does not use"
        );
        for wrong in [r#""\x41""#, r#""\18""#, r#""\77""#] {
            assert!(error(Name::whole(text(wrong))).contains("escape"), "{wrong}");
        }
        for wrong in [r#""a/x"#, r#"""#, r#""a\"#, r#""a\""#] {
            assert!(error(Name::whole(text(wrong))).contains("no closing quote"), "{wrong}");
        }
        assert_eq!(
            error(Name::whole(text(r#""a" b"#))),
            "line 3, column 8: unexpected ` b` after the file name"
        );
        assert!(Name::before_tab(text(r#""a"b"#)).is_err());
    }

    #[test]
    fn a_name_ends_at_a_tab() {
        let (name, stamp) = Name::before_tab(text("a/s p\t2024-01-01\t1")).unwrap();
        assert_eq!((&*name.bytes, stamp), (&b"a/s p"[..], &b"2024-01-01\t1"[..]));
        let (name, stamp) = Name::before_tab(text("\"a/s\\tp\"\t2024")).unwrap();
        assert_eq!((&*name.bytes, stamp), (&b"a/s\tp"[..], &b"2024"[..]));
        let (name, stamp) = Name::before_tab(text("a/x")).unwrap();
        assert_eq!((&*name.bytes, stamp), (&b"a/x"[..], &b""[..]));
    }

    /// FO-10
    #[test]
    fn equal_names_with_spaces_are_found_in_the_header() {
        let path = |bytes: &str| {
            let (old, new) = NamePair::new(text(bytes)).unwrap().equal()?;
            let (prefix, _) = common_prefixes(&old, &new, GIT_PREFIXES)?;
            Some(old.path(prefix, RootPrefix::NONE).unwrap().to_string())
        };
        assert_eq!(path("a/x b/x").as_deref(), Some("x"));
        assert_eq!(path("a/x b/x b/x b/x").as_deref(), Some("x b/x"));
        assert_eq!(path("b/x a/x").as_deref(), Some("x"));
        assert_eq!(path("s p s p").as_deref(), Some("s p"));
        assert_eq!(path("a/x a/x").as_deref(), Some("a/x"));
        assert_eq!(path("i/x w/x").as_deref(), Some("x"));
        assert_eq!(path("\"a/\\303\\251\" \"b/\\303\\251\"").as_deref(), Some("é"));
        for differ in ["a/x b/y", "x/x y/x", "a/x b/xy", "a/x", "", "a/x \"b/y\""] {
            assert_eq!(path(differ), None, "{differ}");
        }
    }

    #[test]
    fn differing_names_are_recognised_in_the_header_when_known() {
        let prefixes = |bytes: &str, from: &str, to: &str| {
            let (from, to) = (RelPath::new(from).unwrap(), RelPath::new(to).unwrap());
            NamePair::new(text(bytes)).unwrap().prefixes(&from, &to)
        };
        assert_eq!(prefixes("a/x b/y z", "x", "y z"), Some(("a/", "b/")));
        assert_eq!(prefixes("a/x b/y z", "a/x", "b/y z"), Some(("", "")));
        assert_eq!(prefixes("a/x \"b/\\tz\"", "x", "\tz"), Some(("a/", "b/")));
        assert_eq!(prefixes("\"a/\\tx\" b/y z", "\tx", "y z"), Some(("a/", "b/")));
        assert_eq!(prefixes("a/x b/y", "x", "z"), None);
    }

    #[test]
    fn header_with_text_outside_its_quotes_is_rejected() {
        for wrong in [r#""a/x"b/x"#, r#""a/x""#, r#"a/x"b/x""#, r#"a/x "b/x" "#] {
            assert!(NamePair::new(text(wrong)).is_err(), "{wrong}");
        }
    }
}
