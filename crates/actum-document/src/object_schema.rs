//! Data model that describes JSON documents. The reader validates documents against it, and the JSON Schema files are generated
//! from it.

use std::fmt;

use actum_core::{ActionName, Digest, PathRule, RelPath, Timestamp, plain_id};

/// Schema of a JSON object with a fixed set of named members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectSchema {
    /// Name of the object type in error messages, including the article.
    pub name: &'static str,
    /// Description of the object type, as one sentence.
    pub about: &'static str,
    /// Members of the object, in the order in which they are written.
    pub members: &'static [Member],
    /// Whether members that are not in `members` are rejected or ignored.
    pub others: Others,
}

/// Schema of a member of a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Name of the member.
    pub name: &'static str,
    /// Whether the member is required or optional.
    pub need: Need,
    /// Required form of the value.
    pub form: Form,
    /// Description of the member, as one sentence.
    pub about: &'static str,
}

/// Whether an object must have a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// An object without the member is rejected.
    Required,
    /// The member may be absent.
    Optional,
}

/// Treatment of unknown members of an object (D-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Unknown members are rejected. This is used for inputs.
    Refused,
    /// Unknown members are ignored. This is used for results, which may gain new fields in later versions.
    PassedOver,
}

/// Required form of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A string.
    Text(Text),
    /// A string that must be one of the listed words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A number from 0 to 1, not necessarily an integer.
    Share,
    /// An integer in a range. Both ends of the range are included.
    Whole {
        /// Minimum value.
        min: i64,
        /// Maximum value.
        max: i64,
    },
    /// An array of strings.
    Texts {
        /// Required form of each string.
        of: Text,
        /// Maximum number of strings.
        count_max: usize,
    },
    /// An object with a fixed set of members.
    Object(&'static ObjectSchema),
    /// An array of objects with a fixed set of members.
    Objects {
        /// Schema of each object.
        of: &'static ObjectSchema,
        /// Maximum number of objects.
        count_max: usize,
    },
    /// An array whose elements all have one form.
    List {
        /// Required form of each element.
        of: &'static Form,
        /// Maximum number of elements.
        count_max: usize,
    },
    /// An object with arbitrary member names, whose values all have one form.
    Map {
        /// Required form of each name.
        names: Text,
        /// Required form of each value.
        of: &'static Form,
        /// Maximum number of members.
        count_max: usize,
    },
    /// An object with arbitrary members.
    AnyObject,
    /// `null`, a string, or an object with arbitrary members.
    NullTextOrObject(Text),
    /// Any value.
    Any,
    /// Only the value `true`. The value `false` is rejected as well.
    True,
    /// A non-empty array of objects with a fixed set of members.
    SomeObjects {
        /// Schema of each object.
        of: &'static ObjectSchema,
        /// Maximum number of objects.
        count_max: usize,
    },
    /// An object of one of several kinds, which a tag selects.
    Tagged(&'static Tagged),
    /// An array of tagged objects.
    TaggedList {
        /// Schema of each object.
        of: &'static Tagged,
        /// Minimum number of objects.
        count_min: usize,
        /// Maximum number of objects.
        count_max: usize,
    },
    /// Any JSON value, whose exact text is kept.
    Json,
    /// An object with arbitrary members, whose exact text is kept.
    JsonObject,
    /// `null`, or a value of the given form.
    NullOr(&'static Form),
}

/// Schema of an object that can be of several kinds. The value of one member, the tag, selects the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tagged {
    /// Name of the object type in error messages, including the article.
    pub name: &'static str,
    /// Name of the object type in the `$defs` section of a JSON Schema.
    pub id: &'static str,
    /// Description of the object type, as one sentence.
    pub about: &'static str,
    /// Name of the tag, which is a member of every branch.
    pub tag: &'static str,
    /// Tag values of `branches`, in the same order.
    pub words: &'static [&'static str],
    /// Schemas of the kinds.
    pub branches: &'static [Branch],
    /// Name of a nested object in which all members except the tag can be set instead, if the object type allows that.
    pub nested: Option<&'static str>,
}

/// One of the kinds of a tagged object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// Tag value that selects this kind.
    pub word: &'static str,
    /// Members of an object of this kind, including the tag.
    pub shape: &'static ObjectSchema,
}

/// Required form of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    /// Minimum number of characters.
    pub chars_min: usize,
    /// Maximum number of characters.
    pub chars_max: usize,
    /// Characters or syntax that the string must have.
    pub characters: Characters,
    /// Strings that are rejected because actum uses these names itself.
    pub taken: &'static [&'static str],
}

/// Characters that a string may contain, or the syntax that it must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Characters {
    /// Any characters.
    Any,
    /// Any characters except NUL, which a path cannot contain.
    NoNul,
    /// Any characters except control characters, so the string is a single line.
    OneLine,
    /// Name of an action: lowercase letters, digits and `_`, starting with a letter.
    Name,
    /// Version of three numbers with an optional suffix, such as `1.20.3-rc.1`.
    Version,
    /// Lowercase letters from a to z, as in a language subtag (BCP 47).
    Lowercase,
    /// Identifier that can be used in a file name: letters, digits, `.`, `_` and `-`.
    Id,
    /// Relative path below the workspace root.
    Path,
    /// Path rule, such as `config/**`.
    Rule,
    /// SHA-256 digest of 64 hexadecimal digits in either case.
    Digest,
    /// JSONPath (RFC 9535). Only its first character, `$`, is checked.
    Selector,
    /// SHA-256 digest of 64 lowercase hexadecimal digits.
    Sha256,
    /// Point in time, in the format of [`Timestamp`](actum_core::Timestamp).
    Time,
    /// File mode of four octal digits, such as `0644`.
    Mode,
    /// Uppercase letters, digits and `_`, starting with a letter.
    Capitals,
}

impl ObjectSchema {
    /// Returns the schema of the member with the given name, or `None` if the object has no such member.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

impl Member {
    /// Creates the schema of a required member.
    pub const fn required(name: &'static str, form: Form, about: &'static str) -> Self {
        Self { name, need: Need::Required, form, about }
    }

    /// Creates the schema of an optional member.
    pub const fn optional(name: &'static str, form: Form, about: &'static str) -> Self {
        Self { name, need: Need::Optional, form, about }
    }
}

impl Text {
    /// Creates the form of a string with arbitrary characters, which may be empty.
    pub const fn any(chars_max: usize) -> Self {
        Self { chars_min: 0, chars_max, characters: Characters::Any, taken: &[] }
    }

    /// Creates the form of a string that must not be empty.
    pub const fn filled(chars_max: usize, characters: Characters) -> Self {
        Self { chars_min: 1, chars_max, characters, taken: &[] }
    }
}

impl Text {
    /// Checks whether `text` has an allowed length, has only allowed characters, and is not a reserved name.
    pub fn holds(&self, text: &str) -> bool {
        (self.chars_min..=self.chars_max).contains(&text.chars().count())
            && self.characters.hold(text)
            && !self.taken.contains(&text)
    }
}

impl Characters {
    /// Checks whether `text` has only allowed characters and the required syntax.
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

/// Checks whether `text` is a version such as `1.20.3` or `1.20.3-rc.1`. Letters, digits, dots and hyphens may follow the first
/// hyphen.
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

/// Formats the requirement as the object of "expected" in an error message.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "a string {text}"),
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
                write!(f, "a list of at most {count_max} strings, each {of}")
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
                    "an object with at most {count_max} members, each with a name {names} and a value that is {of}"
                )
            }
            Self::AnyObject | Self::JsonObject => f.write_str("an object"),
            Self::NullTextOrObject(text) => write!(f, "`null`, an object or a string {text}"),
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
            Characters::Name => " (a-z, 0-9 and `_`, starting with a letter)",
            Characters::Version => " that is a version, such as `1.20.3` or `1.20.3-rc.1`",
            Characters::Lowercase => " (a-z)",
            Characters::Id => " (letters, digits, `.`, `_` and `-`)",
            Characters::Path => " that is a path below the workspace root, such as `src/main.rs`",
            Characters::Rule => " that is a path rule, such as `config/**`",
            Characters::Digest => " (0-9 and a-f)",
            Characters::Selector => " that is a JSONPath starting with `$`",
            Characters::Sha256 => " that is a SHA-256 digest in lowercase hexadecimal digits",
            Characters::Time => " that is a time such as `2026-11-21T18:03:07.000000Z`",
            Characters::Mode => " that is a mode, such as `0644`",
            Characters::Capitals => " (A-Z, 0-9 and `_`, starting with a letter)",
        })
    }
}
