//! Words of which more can come: a reader keeps one that it does not know.

/// Defines enums of words. `Other` holds a word of a newer version.
macro_rules! words {
    ($(
        $(#[doc = $about:literal])+
        $name:ident { $( $(#[doc = $meaning:literal])+ $variant:ident = $word:literal, )+ }
    )+) => { $(
        $(#[doc = $about])+
        ///
        /// More words can come.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $( $(#[doc = $meaning])+ $variant, )+
            /// Word of a newer version.
            Other(String),
        }

        impl $name {
            /// Returns the word in the document.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $word, )+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $( $word => Self::$variant, )+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <::std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Ok(Self::from(&*word))
            }
        }

        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $crate::word::schema(
                    concat!($($about),+),
                    &[$( ($word, concat!($($meaning),+)) ),+],
                )
            }
        }
    )+ };
}

pub(crate) use words;

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

/// Schema of a set of words. It lists the known ones and admits others.
pub(crate) fn schema(about: &str, words: &[(&str, &str)]) -> Schema {
    let known =
        words.iter().map(|(word, meaning)| json!({ "description": meaning.trim(), "const": word }));
    let any_of: Vec<Value> =
        known.chain([json!({ "description": "More words can come." })]).collect();
    json_schema!({ "description": about.trim(), "type": "string", "anyOf": any_of })
}

#[cfg(test)]
mod tests {
    use crate::gate::Verdict;

    /// D-4
    #[test]
    fn an_unknown_word_is_read_and_written_unchanged() {
        for (word, verdict) in [
            ("allow", Verdict::Allow),
            ("needs_approval", Verdict::NeedsApproval),
            ("warn", Verdict::Other("warn".to_owned())),
        ] {
            let json = format!("\"{word}\"");
            assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
            assert_eq!(serde_json::to_string(&verdict).unwrap(), json);
        }
    }
}
