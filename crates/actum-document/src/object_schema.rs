//! Description of the documents of the contract, for the reader that checks them and for their
//! schemas.

use std::fmt;

use actum_core::{ActionName, Digest, PathRule, RelPath, Timestamp, plain_id};

/// An object whose members are known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectSchema {
    /// Name in messages, with its article.
    pub name: &'static str,
    /// Description in a sentence.
    pub about: &'static str,
    /// Its members, in the order in which they are written.
    pub members: &'static [Member],
    /// Treatment of other members.
    pub others: Others,
}

/// A member of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// Required or optional.
    pub need: Need,
    /// Form of its value.
    pub form: Form,
    /// Meaning in a sentence.
    pub about: &'static str,
}

/// Need for a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The member is required.
    Required,
    /// The member can be left out.
    Optional,
}

/// Treatment of members that are not known (D-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// They are refused: of inputs.
    Refused,
    /// Unknown members are ignored: of results, which may gain fields.
    PassedOver,
}

/// Required form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A text.
    Text(Text),
    /// One of some words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A number from 0 to 1.
    Share,
    /// A whole number.
    Whole {
        /// The least.
        min: i64,
        /// The largest.
        max: i64,
    },
    /// A list of texts.
    Texts {
        /// Each of them.
        of: Text,
        /// The most of them.
        count_max: usize,
    },
    /// An object with known members.
    Object(&'static ObjectSchema),
    /// A list of such objects.
    Objects {
        /// Each of them.
        of: &'static ObjectSchema,
        /// The most of them.
        count_max: usize,
    },
    /// A list of values of one form.
    List {
        /// Each of them.
        of: &'static Form,
        /// The most of them.
        count_max: usize,
    },
    /// An object that maps names to values of one form.
    Map {
        /// Each name.
        names: Text,
        /// Each value.
        of: &'static Form,
        /// The most members.
        count_max: usize,
    },
    /// An object with any members.
    AnyObject,
    /// `null`, a text, or an object with any members.
    NullTextOrObject(Text),
    /// Any value.
    Any,
    /// `true`, and nothing else.
    True,
    /// A list with at least one object with known members.
    SomeObjects {
        /// Each of them.
        of: &'static ObjectSchema,
        /// The most of them.
        count_max: usize,
    },
    /// An object of one of several kinds.
    Tagged(&'static Tagged),
    /// A list of such objects.
    TaggedList {
        /// Each of them.
        of: &'static Tagged,
        /// The fewest of them.
        count_min: usize,
        /// The most of them.
        count_max: usize,
    },
    /// Any value, as it is spelled.
    Json,
    /// An object with any members, as they are spelled.
    JsonObject,
    /// `null`, or what this says.
    NullOr(&'static Form),
}

/// An object of one of several kinds: one of its members, the tag, says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tagged {
    /// Name in messages, with its article.
    pub name: &'static str,
    /// Its name among the definitions of a schema.
    pub id: &'static str,
    /// Description in a sentence.
    pub about: &'static str,
    /// Member that names the kind. It is in the shape of each.
    pub tag: &'static str,
    /// Words of `branches`, in their order.
    pub words: &'static [&'static str],
    /// The kinds.
    pub branches: &'static [Branch],
    /// An object among its members in which its other members can stand as well.
    pub nested: Option<&'static str>,
}

/// A kind of tagged object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// The value of the tag.
    pub word: &'static str,
    /// Its members, the tag among them.
    pub shape: &'static ObjectSchema,
}

/// Required form of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    /// Smallest number of characters.
    pub chars_min: usize,
    /// Largest number of characters.
    pub chars_max: usize,
    /// Allowed characters.
    pub characters: Characters,
    /// Words that are not allowed, because actum itself has these names.
    pub taken: &'static [&'static str],
}

/// Set of characters of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Characters {
    /// Any.
    Any,
    /// Any but NUL, which no path has.
    NoNul,
    /// Any but control characters: one line.
    OneLine,
    /// Characters of the name of an action.
    Name,
    /// Characters of a version in three numbers.
    Version,
    /// Lower-case letters from a to z: those of a language subtag (BCP 47).
    Lowercase,
    /// Characters of a name that can be part of the name of a file.
    Id,
    /// Characters of a path of the workspace.
    Path,
    /// Characters of a rule for paths.
    Rule,
    /// Characters of a digest.
    Digest,
    /// Characters of a JSONPath (RFC 9535), of which only the beginning is checked.
    Selector,
    /// 64 hexadecimal digits.
    Sha256,
    /// A moment, as [`Timestamp`](actum_core::Timestamp) writes it.
    Time,
    /// Four octal digits.
    Mode,
    /// Characters of a word in capitals.
    Capitals,
}

impl ObjectSchema {
    /// The member of this name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

impl Member {
    /// A member that must be there.
    pub const fn required(name: &'static str, form: Form, about: &'static str) -> Self {
        Self { name, need: Need::Required, form, about }
    }

    /// A member that can be left out.
    pub const fn optional(name: &'static str, form: Form, about: &'static str) -> Self {
        Self { name, need: Need::Optional, form, about }
    }
}

impl Text {
    /// A text with any characters.
    pub const fn any(chars_max: usize) -> Self {
        Self { chars_min: 0, chars_max, characters: Characters::Any, taken: &[] }
    }

    /// A text with something in it.
    pub const fn filled(chars_max: usize, characters: Characters) -> Self {
        Self { chars_min: 1, chars_max, characters, taken: &[] }
    }
}

impl Text {
    /// Returns true if `text` meets these limits.
    pub fn holds(&self, text: &str) -> bool {
        (self.chars_min..=self.chars_max).contains(&text.chars().count())
            && self.characters.hold(text)
            && !self.taken.contains(&text)
    }
}

impl Characters {
    /// Returns true if `text` has only such characters.
    pub fn hold(self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::NoNul => !text.contains('\0'),
            Self::OneLine => !text.contains(char::is_control),
            Self::Name => ActionName::has_its_characters(text),
            Self::Version => is_version(text),
            Self::Lowercase => text.bytes().all(|byte| byte.is_ascii_lowercase()),
            Self::Id => plain_id::has_its_characters(text),
            Self::Path => RelPath::new(text).is_ok(),
            Self::Rule => PathRule::new(text).is_ok(),
            Self::Digest => Digest::from_text(text.as_bytes()).is_some(),
            Self::Selector => text.starts_with('$'),
            Self::Sha256 => {
                text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
            }
            Self::Time => Timestamp::from_text(text.as_bytes()).is_some(),
            Self::Mode => text.len() == 4 && text.bytes().all(|b| matches!(b, b'0'..=b'7')),
            Self::Capitals => is_capitals(text),
        }
    }
}

fn is_capitals(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// `1.20.3`, or `1.20.3-rc.1` with letters, digits, dots and hyphens behind the first hyphen.
fn is_version(text: &str) -> bool {
    let (numbers, rest) = text.split_once('-').map_or((text, None), |(n, rest)| (n, Some(rest)));
    let is_number = |n: &str| {
        !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) && (n == "0" || !n.starts_with('0'))
    };
    let is_rest = |rest: &str| {
        !rest.is_empty()
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
    };
    numbers.split('.').count() == 3 && numbers.split('.').all(is_number) && rest.is_none_or(is_rest)
}

/// Writes the requirement as it follows "expected" in a message.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "a text {text}"),
            Self::Word(words) => {
                for (index, word) in words.iter().enumerate() {
                    let between = match index {
                        0 => "",
                        _ if index + 1 == words.len() => " or ",
                        _ => ", ",
                    };
                    write!(f, "{between}`{word}`")?;
                }
                Ok(())
            }
            Self::Flag => f.write_str("`true` or `false`"),
            Self::Share => f.write_str("a number from 0 to 1"),
            Self::Whole { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Texts { count_max, of } => {
                write!(f, "a list of at most {count_max} texts, each {of}")
            }
            Self::Object(shape) => write!(f, "{}, which is an object", shape.name),
            Self::Objects { of, count_max } => {
                write!(f, "a list of at most {count_max} objects, each {}", of.name)
            }
            Self::List { of, count_max } => {
                write!(f, "a list of at most {count_max} values, each {of}")
            }
            Self::Map { names, of, count_max } => {
                write!(
                    f,
                    "an object of at most {count_max} members, each with a name {names} and {of}"
                )
            }
            Self::AnyObject | Self::JsonObject => f.write_str("an object"),
            Self::NullTextOrObject(text) => write!(f, "`null`, an object or a text {text}"),
            Self::Any | Self::Json => f.write_str("any value"),
            Self::True => f.write_str("`true`"),
            Self::SomeObjects { of, count_max } => {
                write!(f, "a list of 1 to {count_max} objects, each {}", of.name)
            }
            Self::Tagged(tagged) => write!(f, "{}, which is an object", tagged.name),
            Self::TaggedList { of, count_min: 0, count_max } => {
                write!(f, "a list of at most {count_max} objects, each {}", of.name)
            }
            Self::TaggedList { of, count_min, count_max } => {
                write!(f, "a list of {count_min} to {count_max} objects, each {}", of.name)
            }
            Self::NullOr(form) => write!(f, "`null` or {form}"),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.chars_min {
            0 => write!(f, "of at most {} characters", self.chars_max),
            least if least == self.chars_max => write!(f, "of {least} characters"),
            least => write!(f, "of {least} to {} characters", self.chars_max),
        }?;
        f.write_str(match self.characters {
            Characters::Any => "",
            Characters::NoNul => " without NUL",
            Characters::OneLine => " without control characters",
            Characters::Name => " of a-z, 0-9 and `_`, the first of them a letter",
            Characters::Version => " that is a version, such as `1.20.3` or `1.20.3-rc.1`",
            Characters::Lowercase => " of a-z",
            Characters::Id => " of letters, digits, `.`, `_` and `-`",
            Characters::Path => " that is a path below the root, such as `src/main.rs`",
            Characters::Rule => " that is a rule for paths, such as `config/**`",
            Characters::Digest => " of 0-9 and a-f",
            Characters::Selector => " that is a JSONPath, which begins with `$`",
            Characters::Sha256 => " that is a SHA-256 digest in lowercase hexadecimal digits",
            Characters::Time => " that is a time such as `2026-11-21T18:03:07.000000Z`",
            Characters::Mode => " that is a mode, such as `0644`",
            Characters::Capitals => " of A-Z, 0-9 and `_`, the first of them a letter",
        })
    }
}
