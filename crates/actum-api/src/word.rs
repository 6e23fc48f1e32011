//! Enums of strings that may gain values in future versions. Readers preserve values that they do not know.

/// Defines enums of strings. The variant `Other` holds any value that was added in a newer version.
macro_rules! words {
    ($(
        $(#[doc = $about:literal])+
        $name:ident { $( $(#[doc = $meaning:literal])+ $variant:ident = $word:literal, )+ }
    )+) => { $(
        $(#[doc = $about])+
        ///
        /// Future versions may add more values.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $( $(#[doc = $meaning])+ $variant, )+
            /// Value that was added in a newer version.
            Other(String),
        }

        impl $name {
            /// Returns the value used in the document.
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

/// Returns the JSON Schema of such an enum, which lists the known values and also permits others.
pub(crate) fn schema(about: &str, words: &[(&str, &str)]) -> Schema {
    let known =
        words.iter().map(|(word, meaning)| json!({ "description": meaning.trim(), "const": word }));
    let any_of: Vec<Value> = known
        .chain([json!({ "description": "Any other value, which a future version may add." })])
        .collect();
    json_schema!({ "description": about.trim(), "type": "string", "anyOf": any_of })
}

#[cfg(test)]
mod tests {
    use crate::gate::Verdict;

    /// D-4
    #[test]
    fn unknown_enum_values_round_trip_unchanged() {
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
