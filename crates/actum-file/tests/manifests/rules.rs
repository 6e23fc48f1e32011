//! Rules that must hold when any bytes are parsed as a task manifest. The fuzzer includes this file.

use actum_core::Digest;
use actum_file::{Asked, FileWork, Manifest, ManifestError};
use serde_json::Value;

/// Parses bytes as a manifest, and compares the result with that of another JSON parser.
pub(crate) fn check(bytes: &[u8]) {
    let asked = Asked::new(bytes);
    assert_eq!(asked.digest, Digest::of(bytes));
    match Manifest::read(bytes) {
        Ok(manifest) => accepted(bytes, &manifest, &asked),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.chars().any(char::is_control), "{text:?}");
            assert!(text.len() < 2_000, "{text}");
            if let ManifestError::Unsupported { given } = error {
                assert!(capabilities().all(|known| known != given), "{given}");
            }
        }
    }
}

fn capabilities() -> impl Iterator<Item = &'static str> {
    actum_file::FileCapability::ALL.iter().map(|capability| capability.as_str())
}

fn accepted(bytes: &[u8], manifest: &Manifest, asked: &Asked) {
    let value: Value = serde_json::from_slice(bytes).unwrap();
    let names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let known = ["task_id", "capability_id", "input", "constraints"];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    assert_eq!(value["task_id"], manifest.task.as_str());
    assert_eq!(value["capability_id"], manifest.work.capability().as_str());
    assert_eq!(manifest.asked(), *asked);
    let paths = [manifest.work.source()].into_iter().chain(manifest.work.destination());
    for path in paths.clone() {
        let text = path.as_str();
        assert!(text.starts_with('/') && !text.chars().any(char::is_control), "{text:?}");
        assert!(path.names().all(|name| !matches!(name, "" | "." | "..")), "{text:?}");
        assert!(path.names().count() > 0 && text.len() < 4096, "{text:?}");
    }
    let normal = |text: &Value| -> Vec<String> {
        let names = text.as_str().unwrap().split('/');
        names.filter(|name| !matches!(*name, "" | ".")).map(str::to_owned).collect()
    };
    let written = ["source_path", "destination_path"].map(|name| &value["input"][name]);
    let written = written.into_iter().filter(|path| !path.is_null()).map(normal);
    let read = paths.map(|path| path.names().map(str::to_owned).collect::<Vec<_>>());
    assert!(read.eq(written), "{value}");
    match &manifest.work {
        FileWork::Delete { .. } => assert_eq!(value["constraints"]["reversible"], true),
        FileWork::Move { source, destination } | FileWork::Copy { source, destination } => {
            assert_ne!(source, destination);
        }
    }
}
