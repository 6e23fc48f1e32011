//! Serialization of byte strings that are usually text. Valid UTF-8 is written as a string, and anything else as an object with
//! a `base64` member. Each byte string has exactly one serialized form.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Serialized form of bytes that are not valid UTF-8.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Encoded {
    base64: String,
}

/// Serializes bytes as a string, or as an object with `base64` if they are not valid UTF-8.
pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serializer.serialize_str(text),
        Err(_) => Encoded { base64: STANDARD.encode(bytes) }.serialize(serializer),
    }
}

/// Deserializes bytes from either form that [`serialize`] writes. An owned string is reused without copying.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    deserializer.deserialize_any(Reader)
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an object with `base64`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(text.as_bytes().to_vec())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Vec<u8>, E> {
        Ok(text.into_bytes())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<u8>, A::Error> {
        let Encoded { base64 } = Encoded::deserialize(MapAccessDeserializer::new(map))?;
        let bytes = STANDARD
            .decode(base64)
            .map_err(|_| A::Error::custom("`base64` is not valid base64"))?;
        match std::str::from_utf8(&bytes) {
            Ok(_) => {
                Err(A::Error::custom("`base64` contains UTF-8, which must be written as a string"))
            }
            Err(_) => Ok(bytes),
        }
    }
}

/// Serialization of lists of byte strings, in which each element has the form that [`serialize`] writes.
pub(crate) mod list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize)]
    struct Written<'b>(#[serde(serialize_with = "super::serialize")] &'b [u8]);

    #[derive(Deserialize)]
    struct Read(#[serde(deserialize_with = "super::deserialize")] Vec<u8>);

    /// Serializes a list of byte strings.
    pub(crate) fn serialize<S: Serializer>(list: &[Vec<u8>], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(list.iter().map(|bytes| Written(bytes)))
    }

    /// Deserializes a list of byte strings.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Vec<u8>>, D::Error> {
        let list = Vec::<Read>::deserialize(from)?;
        Ok(list.into_iter().map(|Read(bytes)| bytes).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Both(#[serde(with = "crate::byte_text")] Vec<u8>, #[serde(with = "list")] Vec<Vec<u8>>);

    #[test]
    fn bytes_serialize_as_a_string_or_as_base64_if_not_utf8() {
        let both = Both(b"a\n\xff".to_vec(), vec![b"\0\xc3\xa9\"".to_vec(), vec![0x80], vec![]]);
        let json = r#"[{"base64":"YQr/"},["\u0000é\"",{"base64":"gA=="},""]]"#;
        assert_eq!(serde_json::to_string(&both).unwrap(), json);
        assert_eq!(serde_json::from_str::<Both>(json).unwrap(), both);
        let value = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::from_value::<Both>(value).unwrap(), both);
    }

    /// D-4
    #[test]
    fn non_canonical_byte_encodings_are_refused() {
        for (json, problem) in [
            (r#"{"base64":"YQ=="}"#, "`base64` contains UTF-8, which must be written as a string"),
            (r#"{"base64":""}"#, "`base64` contains UTF-8, which must be written as a string"),
            (r#"{"base64":"gA"}"#, "`base64` is not valid base64"),
            (r#"{"base64":"gB=="}"#, "`base64` is not valid base64"),
            (r#"{"base64":"g A=="}"#, "`base64` is not valid base64"),
            (r#"{"base64":"gA==","hex":"80"}"#, "unknown field `hex`, expected `base64`"),
            ("{}", "missing field `base64`"),
            ("[128]", "invalid type: sequence, expected a string or an object with `base64`"),
        ] {
            let error = serde_json::from_str::<Both>(&format!("[{json},[]]")).unwrap_err();
            assert!(error.to_string().starts_with(problem), "{json}: {error}");
        }
    }
}
