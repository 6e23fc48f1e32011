//! Tests for parsing task manifests.

use super::*;

const MOVE: &str = r#"{"task_id":"t-1","capability_id":"FILE_MOVE","input":{"source_path":"/b/a","destination_path":"/b/c"},"constraints":{"reversible":true}}"#;
const DELETE: &str = r#"{"task_id":"t-1","capability_id":"FILE_DELETE","input":{"source_path":"/b/a"},"constraints":{"reversible":true}}"#;

fn error(text: &str) -> ManifestError {
    Manifest::read(text.as_bytes()).unwrap_err()
}

/// FE-1, FE-3
#[test]
fn manifest_has_normalised_paths_and_the_digest_of_its_bytes() {
    let text = MOVE.replace("/b/a", "//b/./a");
    let read = Manifest::read(text.as_bytes()).unwrap();
    assert_eq!(read.task.as_str(), "t-1");
    assert_eq!(read.digest, Digest::of(text.as_bytes()));
    let path = |path| FilePath::new(path).unwrap();
    assert_eq!(read.work, FileWork::Move { source: path("/b/a"), destination: path("/b/c") });
    let copied = Manifest::read(MOVE.replace("MOVE", "COPY").as_bytes()).unwrap();
    assert_eq!(copied.work.capability(), FileCapability::FileCopy);
    let deleted = Manifest::read(DELETE.as_bytes()).unwrap();
    assert_eq!((deleted.work.destination(), deleted.work.source().as_str()), (None, "/b/a"));
}

/// FE-2: an unsupported capability is reported even if the rest of the manifest is invalid.
#[test]
fn unsupported_capability_is_reported_before_other_manifest_errors() {
    for other in ["FILE_CHMOD", "file_move", "FILE_MOVE ", "", "APPLY", "ACTION:x", "FILE_*"] {
        for text in [
            MOVE.replace("FILE_MOVE", other),
            MOVE.replace("FILE_MOVE", other).replace("\"input\"", "\"inputs\""),
            format!(r#"{{"capability_id":"{other}"}}"#),
        ] {
            assert_eq!(error(&text), ManifestError::Unsupported { given: other.to_owned() });
        }
    }
    for text in [
        MOVE.replace("\"FILE_MOVE\"", "1"),
        MOVE.replace("FILE_MOVE\"", "FILE_MOVE\",\"capability_id\":\"X\""),
    ] {
        assert!(matches!(error(&text), ManifestError::Document(_)), "{text}");
    }
}

/// FE-3
#[test]
fn manifest_with_unknown_duplicate_missing_or_invalid_fields_is_rejected() {
    for (from, to) in [
        ("{\"task_id\"", "{\"more\":1,\"task_id\""),
        ("\"input\":{", "\"input\":{\"more\":1,"),
        ("\"constraints\":{", "\"constraints\":{\"more\":1,"),
        ("{\"task_id\"", "{\"task_id\":\"t-1\",\"task_id\""),
        ("\"input\":{", "\"input\":{\"source_path\":\"/b/a\","),
        ("\"task_id\":\"t-1\",", ""),
        ("\"capability_id\":\"FILE_MOVE\",", ""),
        ("\"source_path\":\"/b/a\",", ""),
        (",\"destination_path\":\"/b/c\"", ""),
        ("\"t-1\"", "\"\""),
        ("\"t-1\"", "\"a b\""),
        ("\"t-1\"", "\"a\\n\""),
        ("\"t-1\"", "7"),
        ("\"/b/a\"", "\"b/a\""),
        ("\"/b/a\"", "\"\""),
        ("\"/b/a\"", "[]"),
        ("\"/b/a\"", "\"/b/../a\""),
        ("\"/b/a\"", "\"/b/a/\""),
        ("\"/b/a\"", "\"/b/a\\u0000\""),
        ("\"/b/a\"", "\"/b/a\\n\""),
        ("\"/b/a\"", "\"/b//./c\""),
        ("true", "1"),
        ("true", "\"true\""),
        ("}}", "}"),
        ("}}", "}} x"),
    ] {
        let text = MOVE.replacen(from, to, 1);
        assert_ne!(text, MOVE);
        assert!(matches!(error(&text), ManifestError::Document(_)), "{text}");
    }
    let mut not_utf8 = MOVE.replace("/b/a", "/b/?").into_bytes();
    let at = not_utf8.iter().position(|&byte| byte == b'?').unwrap();
    not_utf8[at] = 0xff;
    assert!(Manifest::read(&not_utf8).is_err());
}

/// FE-5
#[test]
fn a_deletion_must_be_declared_reversible() {
    assert!(Manifest::read(DELETE.as_bytes()).is_ok());
    let found = |text: &str| match error(text) {
        ManifestError::Irreversible { found } => found,
        other @ (ManifestError::Unsupported { .. } | ManifestError::Document(_)) => {
            panic!("{other}")
        }
    };
    assert_eq!(found(&DELETE.replace("true", "false")), Some(false));
    assert_eq!(found(&DELETE.replace("\"reversible\":true", "")), None);
    assert_eq!(found(&DELETE.replace(",\"constraints\":{\"reversible\":true}", "")), None);
    let with_destination = DELETE.replace("\"/b/a\"", "\"/b/a\",\"destination_path\":\"/b/c\"");
    assert!(matches!(error(&with_destination), ManifestError::Document(_)));
}

/// FE-3: manifests of exactly the maximum size and of one byte more.
#[test]
fn manifest_size_is_limited_to_64_kib() {
    let padded = |bytes: usize| format!("{MOVE}{}", " ".repeat(bytes - MOVE.len()));
    assert!(Manifest::read(padded(MANIFEST_BYTES_MAX).as_bytes()).is_ok());
    assert!(Manifest::read(padded(MANIFEST_BYTES_MAX + 1).as_bytes()).is_err());
}

/// FE-14: the result for a rejected manifest contains the task id, so that a kernel can assign the result to its task.
#[test]
fn rejected_manifest_still_provides_a_valid_task_id() {
    let asked = Asked::new(MOVE.replace("\"input\"", "\"inputs\"").as_bytes());
    assert_eq!(asked.task.unwrap().as_str(), "t-1");
    assert_eq!(asked.capability.unwrap(), "FILE_MOVE");
    assert_eq!(Asked::new(b"no JSON").task, None);
    assert_eq!(Asked::new(MOVE.replace("t-1", "t 1").as_bytes()).task, None);
}

/// FE-3
#[test]
fn published_manifest_schema_agrees_with_the_reader() {
    let [file, _] = crate::schemas();
    let schema = serde_json::from_str(&file.text).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let is_valid = |text: &str| schema.is_valid(&serde_json::from_str(text).unwrap());
    assert!(is_valid(MOVE) && is_valid(DELETE));
    assert!(!is_valid(&MOVE.replace("\"input\":{", "\"input\":{\"more\":1,")));
    assert!(!is_valid(&MOVE.replace("FILE_MOVE", "FILE_CHMOD")));
}
