//! Checks the vectors with `vectors/check.py`, which shares no code with actum.

use std::path::Path;
use std::process::{Command, Output};

use super::directory;

/// Python interpreters to try: the one in `PATH`, and the system's, for which Debian installs its packages.
const INTERPRETERS: [&str; 2] = ["python3", "/usr/bin/python3"];
/// Exit code of the checker if it cannot run.
const CANNOT_RUN: i32 = 2;

/// Runs the checker on a directory of vectors. The test is never skipped: if no interpreter can run the checker, the test fails and
/// lists the missing package.
fn check(vectors: &Path) -> Output {
    let script = directory().join("check.py");
    let run = |python: &&str| Command::new(python).arg(&script).arg(vectors).output();
    let outputs: Vec<_> = INTERPRETERS.iter().map(run).collect();
    let ran = |output: &&std::io::Result<Output>| {
        output.as_ref().is_ok_and(|output| output.status.code() != Some(CANNOT_RUN))
    };
    match outputs.iter().find(ran) {
        Some(Ok(output)) => output.clone(),
        Some(Err(_)) | None => panic!(
            "`vectors/check.py` cannot run: {outputs:?}. It wants Python 3.9 or later with the \
             package `cryptography` (Debian: `apt-get install python3-cryptography`)"
        ),
    }
}

/// FE-14, AEC-8, AEC-11
#[test]
fn independent_checker_agrees_with_every_vector() {
    let output = check(&directory());
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let count: usize = super::all().iter().map(|vectors| vectors.cases.len()).sum();
    assert!(stdout.ends_with(&format!("{count} vectors, 0 disagreements\n")), "{stdout}");
}

/// The checker rejects every vector whose statement was made false.
#[test]
fn checker_rejects_vectors_with_false_statements() {
    let place = tempfile::tempdir().unwrap();
    let (mut count, mut wrong) = (0, 0);
    for vectors in super::all() {
        let mut whole: serde_json::Value = serde_json::from_str(&vectors.to_text()).unwrap();
        for case in whole["cases"].as_array_mut().unwrap() {
            (count, wrong) = (count + 1, wrong + 1);
            match (case["reason"].is_string(), case["result"].is_object()) {
                (true, _) => case["reason"] = "SOMETHING_ELSE".into(),
                (false, true) => case["result"]["more"] = 1.into(),
                (false, false) => case["result"] = "something else".into(),
            }
        }
        let path = place.path().join(format!("{}.json", vectors.name));
        std::fs::write(path, whole.to_string()).unwrap();
    }
    let output = check(place.path());
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    assert!(stdout.ends_with(&format!("{count} vectors, {wrong} disagreements\n")), "{stdout}");
    let nowhere = check(&place.path().join("nowhere"));
    assert_eq!(nowhere.status.code(), Some(1), "no vectors are no agreement");
}
