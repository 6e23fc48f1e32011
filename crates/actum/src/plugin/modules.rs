//! Module kind of the `.js` files of a package, so that every version of Node reads them alike.

use serde_json::{Map, Value};

use super::directory::Files;

/// Manifest that Node reads.
pub(super) const NODE_MANIFEST: &str = "package.json";
/// Values of its `type` field for `.js` files: CommonJS or ES modules.
const KINDS: [&str; 2] = ["commonjs", "module"];

/// Returns the `package.json` that a package runs with: its own, if that declares the module kind. Otherwise there are
/// two versions with a declared kind. The driver takes the first if the step's file compiles as that kind, else the
/// second.
pub(super) fn kinds(files: &Files) -> Result<Vec<Vec<u8>>, serde_json::Error> {
    let text = files.get(NODE_MANIFEST).map_or(b"{}".as_slice(), |file| &file.bytes);
    let fields: Map<String, Value> = serde_json::from_slice(text)?;
    if fields.get("type").and_then(Value::as_str).is_some_and(|kind| KINDS.contains(&kind)) {
        return Ok(vec![text.to_owned()]);
    }
    // Serializing it again would change the order of `exports`, which has a meaning. Of two equal fields the last one
    // counts.
    let open = text.trim_ascii_end();
    let open = open.strip_suffix(b"}").unwrap_or(open);
    let comma = if fields.is_empty() { "" } else { "," };
    let said = |kind| [open, format!("{comma}\"type\":\"{kind}\"}}").as_bytes()].concat();
    Ok(KINDS.map(said).to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::directory::PackedFile;
    use super::*;

    /// AA-8
    #[test]
    fn what_a_package_leaves_unsaid_is_said_in_both_ways_and_nothing_else_is_changed() {
        let kinds = |text: &str| {
            let bytes = text.as_bytes().to_owned();
            let file = PackedFile { is_executable: false, bytes };
            let kinds = kinds(&Files::from([(NODE_MANIFEST.to_owned(), file)])).ok()?;
            let text = |bytes| String::from_utf8(bytes).ok();
            kinds.into_iter().map(text).collect::<Option<Vec<_>>>()
        };
        let both =
            |open: &str| Some(KINDS.map(|kind| format!("{open}\"type\":\"{kind}\"}}")).to_vec());
        for said in [r#"{"type":"module"}"#, "{ \"type\": \"commonjs\" }\n"] {
            assert_eq!(kinds(said), Some(vec![said.to_owned()]));
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
