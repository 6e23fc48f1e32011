//! Answers of a step, including missing ones and lines that package code forges in place of the driver.

use actum::plugin::PluginError;
use serde_json::{Value, json};

use super::{executed, played, refused};
use crate::library::{Grounds, runner};
use crate::package::Written;

/// AA-10: an answer that package code writes itself is validated by the same rules.
#[test]
fn verify_that_bypasses_the_driver_is_validated_the_same_way() {
    let lines = [
        "{\"actum\":1,\"ok\":true,\"output\":{\"checks\":[]}}",
        "{\"actum\":1,\"ok\":true,\"output\":{\"checks\":[{\"name\":\"\",\"ok\":true}]}}",
        "{\"actum\":1,\"ok\":true,\"output\":{\"checks\":[{\"name\":\"a\",\"ok\":1}]}}",
        "{\"actum\":1,\"ok\":true,\"output\":{\"checks\":[{\"name\":\"a\",\"ok\":true,\"x\":1}]}}",
        "{\"actum\":1,\"ok\":true}",
        "{\"actum\":2,\"ok\":true,\"output\":{}}",
        "{\"actum\":1,\"ok\":true,\"ok\":true,\"output\":{}}",
        "{\"actum\":1,\"ok\":false,\"error\":{\"kind\":\"fine\",\"message\":\"\"}}",
        "not json",
        "",
    ];
    let grounds = Grounds::new();
    for line in lines {
        let verify = format!(
            "fs.writeSync(1, {} + '\\n'); process.kill(process.pid, 'SIGSTOP'); process.exit(0);",
            Value::from(line)
        )
        .replace("process.kill(process.pid, 'SIGSTOP'); ", "");
        let written = Written::new().verify(&verify);
        let error = played(&grounds, &written, &json!({})).verified.unwrap_err();
        assert!(
            matches!(error, PluginError::NoAnswer { .. } | PluginError::Failed { .. }),
            "{line}: {error}"
        );
    }
}

/// AA-10
#[test]
fn step_without_exactly_one_answer_fails() {
    let answer = "'{\"actum\":1,\"ok\":true,\"output\":{}}\\n'";
    let cases = [
        (format!("fs.writeSync(1, {answer}); return {{}};"), "step_unanswered"),
        (
            format!("fs.writeSync(1, {answer}); fs.writeSync(1, {answer}); process.exit(0);"),
            "step_unanswered",
        ),
        ("fs.writeSync(1, '\\n'); return {};".to_owned(), "step_unanswered"),
        ("process.kill(process.pid, 'SIGKILL');".to_owned(), "step_unanswered"),
        ("process.exit(0);".to_owned(), "step_failed"),
        ("return 'x'.repeat(2 << 20);".to_owned(), "step_failed"),
        ("return { at: new Date() };".to_owned(), "step_failed"),
        ("throw new Error('sorry');".to_owned(), "step_failed"),
        ("await new Promise(() => {});".to_owned(), "step_failed"),
        ("return null;".to_owned(), "output_invalid"),
    ];
    for (execute, kind) in cases {
        let error = refused(&execute);
        assert_eq!(error.kind(), kind, "{execute}: {error}");
    }
}

/// AA-10: package code runs in the process that answers, so `actum` detects from outside when that process dies.
#[test]
fn early_exit_or_memory_exhaustion_of_a_step_is_reported() {
    let ended = |code| format!("the code exited the process (exit code {code}) before it answered");
    let never = "await new Promise(() => {});";
    let cases = [
        ("process.exit(0);", "did_not_settle", ended(0)),
        ("process.exit(3);", "did_not_settle", ended(3)),
        ("process.reallyExit(0);", "did_not_settle", ended(0)),
        (&format!("process.removeAllListeners(); {never}"), "did_not_settle", ended(0)),
        (never, "did_not_settle", "the code waits for something that will never happen".to_owned()),
        (
            "const all = []; for (;;) all.push(new Array(1e6).fill(all.length));",
            "threw",
            "the code used more than 512 MiB of memory".to_owned(),
        ),
    ];
    for (execute, expected, expected_message) in cases {
        let error = refused(execute);
        let PluginError::Failed { kind, message, .. } = &error else { panic!("{error}") };
        assert_eq!((kind.as_str(), message), (expected, &expected_message), "{execute}");
    }
    let grounds = Grounds::new();
    let written = Written::new().execute(
        "const { heap_size_limit } = (await import('node:v8')).getHeapStatistics(); \
         return { mebibytes: heap_size_limit / 2 ** 20 };",
    );
    let limit = executed(&grounds, &written, &runner(&grounds.root), &json!({})).unwrap().output;
    let mebibytes = limit["mebibytes"].as_f64().unwrap();
    assert!((512.0..600.0).contains(&mebibytes), "{mebibytes}: with room for what is young");
}

/// AA-10: package code gains nothing by writing the answer line in place of the driver.
#[test]
fn forged_driver_line_gains_nothing_over_a_return_value() {
    let grounds = Grounds::new();
    let write = |output: &str| {
        let line = format!("`{{\"actum\":1,\"ok\":true,\"output\":${{{output}}}}}\\n`");
        let execute = format!(
            "const line = {line}; let done = 0; const bytes = Buffer.from(line); \
             while (done < bytes.length) done += fs.writeSync(1, bytes, done); \
             process.reallyExit(0);"
        );
        executed(&grounds, &Written::new().execute(&execute), &runner(&grounds.root), &json!({}))
    };
    let around = r#"{"a":""}"#.len();
    let fits = (1 << 20) - around;
    let text = |length: usize| format!("`{{\"a\":\"${{'x'.repeat({length})}}\"}}`");
    assert_eq!(write("'{}'").unwrap().output, json!({}), "as if it had been returned");
    assert_eq!(write(&text(fits)).unwrap().output["a"].as_str().unwrap().len(), fits);
    let refused = [
        (text(fits + 1), "is longer than the maximum answer"),
        ("'{\"a\":\"\\\\ud800\"}'".to_owned(), "is not a valid driver answer"),
        ("'[1]'.padStart(300, '[').padEnd(600, ']')".to_owned(), "is not a valid driver answer"),
    ];
    for (output, expected_message) in refused {
        let error = write(&output).unwrap_err();
        assert!(matches!(error, PluginError::NoAnswer { .. }), "{output}: {error}");
        assert!(error.to_string().contains(expected_message), "{output}: {error}");
    }
    assert_eq!(write("'[1]'").unwrap_err().kind(), "output_invalid");
}
