//! Declares the module kind of a package's `.js` files, so that every version of Node.js interprets them the same way.

use serde_json::{Map, Value};

use super::directory::Files;

/// Name of the manifest that Node.js reads.
pub(super) const NODE_MANIFEST: &str = "package.json";
/// Values of the `type` field in `package.json`, which selects CommonJS or ES modules for `.js` files.
const KINDS: [&str; 2] = ["commonjs", "module"];

/// Returns the versions of `package.json` that a package runs with.
///
/// If the package declares the module kind, its own file is the only version. Otherwise there is one version for each
/// kind. The driver uses CommonJS if the file of the step compiles as CommonJS, and ES modules if it does not.
pub(super) fn kinds(files: &Files) -> Result<Vec<Vec<u8>>, serde_json::Error> {
    let text = files.get(NODE_MANIFEST).map_or(b"{}".as_slice(), |file| &file.bytes);
    let fields: Map<String, Value> = serde_json::from_slice(text)?;
    if fields.get("type").and_then(Value::as_str).is_some_and(|kind| KINDS.contains(&kind)) {
        return Ok(vec![text.to_owned()]);
    }
    // Append the field to the text instead of serializing the object again, because the order of keys in `exports` is
    // significant. If `type` is already present, the appended duplicate overrides it.
    let open = text.trim_ascii_end();
    let open = open.strip_suffix(b"}").unwrap_or(open);
    let comma = if fields.is_empty() { "" } else { "," };
    let variant = |kind| [open, format!("{comma}\"type\":\"{kind}\"}}").as_bytes()].concat();
    Ok(KINDS.map(variant).to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::directory::PackedFile;
    use super::*;

    /// AA-8: a missing or invalid `type` is added in both variants, and the rest of `package.json` stays unchanged.
    #[test]
    fn missing_package_type_is_added_in_both_variants_and_nothing_else() {
        let kinds = |text: &str| {
            let bytes = text.as_bytes().to_owned();
            let file = PackedFile { is_executable: false, bytes };
            let kinds = kinds(&Files::from([(NODE_MANIFEST.to_owned(), file)])).ok()?;
            let text = |bytes| String::from_utf8(bytes).ok();
            kinds.into_iter().map(text).collect::<Option<Vec<_>>>()
        };
        let both =
            |open: &str| Some(KINDS.map(|kind| format!("{open}\"type\":\"{kind}\"}}")).to_vec());
        for text in [r#"{"type":"module"}"#, "{ \"type\": \"commonjs\" }\n"] {
            assert_eq!(kinds(text), Some(vec![text.to_owned()]));
        }
        assert_eq!(kinds("{}"), both("{"));
        assert_eq!(kinds(" {\"b\":1, \"a\":{} }\n\n"), both(" {\"b\":1, \"a\":{} ,"));
        for other in ["7", "null", "\"Module\"", "\"module\",\"type\":1"] {
            let open = format!("{{\"type\":{other}");
            assert_eq!(kinds(&format!("{open}}}")), both(&format!("{open},")));
        }
        for none in ["", "{", "[]", "null", "\u{feff}{}", "{} {}"] {
            assert_eq!(kinds(none), None, "{none}");
        }
    }
}
