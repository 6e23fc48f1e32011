//! `actum plugin`, used by package authors and by attackers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::package::Written;
use crate::program::{Ended, actum, command, workspace};
use serde_json::{Value, json};

/// Runs a command under an operator policy that allows plugin code to run.
fn allowed(root: &Path, arguments: &[&str]) -> Ended {
    let configuration = root.parent().unwrap().join("config");
    fs::create_dir_all(configuration.join("actum")).unwrap();
    let policy = "version = 1\n[plugins]\nallowPluginCodeExecution = true\n";
    fs::write(configuration.join("actum/actum.toml"), policy).unwrap();
    let mut command = command(root, arguments);
    command.env("XDG_CONFIG_HOME", configuration).output().unwrap().into()
}

fn document(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

fn files(root: &Path) -> (String, String) {
    let text = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    (text("a.txt"), text("sub/b.txt"))
}

/// AA-8, AA-11
#[test]
fn new_package_is_valid_passes_its_test_and_changes_nothing() {
    let (_directory, root) = workspace();
    let made = document(&actum(&root, &["plugin", "new", "tidy_up", "--json"]));
    assert_eq!((&made["format"], &made["name"]), (&"actum.plugin-new/1".into(), &"tidy_up".into()));
    let again = actum(&root, &["plugin", "new", "tidy_up"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("`actions/tidy_up` already exists"), "{again:?}");

    let linted = document(&actum(&root, &["plugin", "lint", "actions/tidy_up", "--json"]));
    assert_eq!(linted["format"], "actum.plugin-lint/1");
    assert_eq!((&linted["tier"], &linted["files"]), (&"R2".into(), &7.into()));
    assert!(linted["node"].is_string() && linted["not_compiled"].is_null(), "{linted}");
    let here = actum(&root.join("actions/tidy_up"), &["plugin", "lint", "."]);
    assert_eq!(here.code, 0, "{here:?}");

    let mut own = Command::new("node");
    own.args(["--test", "test/steps.test.mjs"]).current_dir(root.join("actions/tidy_up"));
    assert!(own.output().unwrap().status.success(), "its own test passes");

    let before = files(&root);
    let tested = allowed(&root, &["plugin", "test", "actions/tidy_up", "--json"]);
    let shown = document(&tested);
    assert_eq!((tested.code, &shown["format"]), (0, &"actum.plugin-test/1".into()), "{shown}");
    assert_eq!((&shown["ok"], &shown["files"]), (&true.into(), &0.into()));
    assert_eq!(files(&root), before);
}

/// AA-8, AA-10, AA-11
#[test]
fn plugin_test_shows_change_and_evidence_and_keeps_nothing() {
    let (_directory, root) = workspace();
    let written = Written::new()
        .execute("fs.writeFileSync('a.txt', `${input.text}\n`); return { n: 1 };")
        .verify(
            "return { checks: [{ name: 'other', ok: context.output.n === 1 }, \
             { name: 'short', ok: input.text.length < 5, message: 'at most 4' }] };",
        )
        .rollback("fs.writeFileSync('a.txt', fs.readFileSync(`${context.before}/a.txt`));");
    let place = written.directory.to_str().unwrap();
    let input = root.parent().unwrap().join("input.json");
    let before = files(&root);
    fs::write(&input, json!({ "text": "new" }).to_string()).unwrap();
    let arguments = ["plugin", "test", place, "--input", "../input.json"];
    let tested = allowed(&root, &arguments);
    assert_eq!(tested.code, 0, "{tested:?}");
    for line in
        ["-1\n+new\n", "check      `short` passed", "rollback   restored everything: 1 path"]
    {
        assert!(tested.stdout.contains(line), "{line}: {}", tested.stdout);
    }
    fs::write(&input, json!({ "text": "longer" }).to_string()).unwrap();
    let tested = allowed(&root, &arguments);
    assert_eq!(tested.code, 1);
    assert!(tested.stdout.contains("`short` failed: at most 4"), "{tested:?}");
    fs::write(&input, "[1]").unwrap();
    let tested = allowed(&root, &arguments);
    assert!(tested.stderr.contains("is not a JSON object"), "{tested:?}");
    assert_eq!(files(&root), before);
    assert_eq!(document(&actum(&root, &["log", "--json"]))["runs"], json!([]));
}

/// AA-9
#[test]
fn plugin_test_runs_no_code_unless_the_operator_allows_it() {
    let (_directory, root) = workspace();
    let written = Written::new().execute("fs.writeFileSync('a.txt', ''); return {};");
    let place = written.directory.to_str().unwrap();
    let refused = document(&actum(&root, &["plugin", "test", place, "--json"]));
    assert_eq!(refused["reason"], "PLUGIN_CODE_NOT_ALLOWED", "{refused}");
    // The policy of the workspace cannot allow plugin code.
    let own = "version = 1\n[plugins]\nallowPluginCodeExecution = true\n";
    fs::write(root.join("actum.toml"), own).unwrap();
    let refused = document(&actum(&root, &["plugin", "test", place, "--json"]));
    assert_eq!(refused["reason"], "POLICY_UNUSABLE", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("only the operator's policy can"));
}

/// AA-10, AA-11
#[test]
fn failed_step_is_reported_with_its_error_and_leaves_no_changes() {
    let (_directory, root) = workspace();
    let before = files(&root);
    let change = "fs.writeFileSync('a.txt', 'x');";
    let cases = [
        (
            format!("{change} throw new Error('stop');"),
            "execute` failed (threw): stop, at execute.js:",
        ),
        (format!("{change} for (;;);"), "it exceeded its limit of wall"),
        (format!("{change} fs.symlinkSync('x', 'y'); return {{}};"), "is a symbolic link"),
        (
            format!("{change} return {{}};"),
            "`rollback` did not restore the workspace: `a.txt` has different content",
        ),
    ];
    for (execute, expected) in cases {
        let written = Written::new().execute(&execute);
        let place = written.directory.to_str().unwrap();
        let ended = allowed(&root, &["plugin", "test", place, "--limit", "wall=4s"]);
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
        assert_eq!(files(&root), before);
    }
}

/// AA-8, AA-9: a directory that is not a valid package is rejected by name before any of its code runs.
#[test]
fn invalid_package_is_rejected_with_the_problem() {
    type Spoil = fn(&Written);
    let with = |change: fn(&mut Value)| Written::new().with(change);
    let spoiled = |spoil: Spoil| {
        let written = Written::new();
        spoil(&written);
        written
    };
    let cases = [
        (
            spoiled(|it| fs::remove_file(it.directory.join("verify.js")).unwrap()),
            "it has no `verify.js`",
        ),
        (
            spoiled(|it| symlink("/etc/passwd", it.directory.join("x")).unwrap()),
            "`x` is a symbolic link",
        ),
        (
            spoiled(|it| {
                let execute = it.directory.join("execute.js");
                fs::remove_file(&execute).unwrap();
                symlink("/etc/passwd", execute).unwrap();
            }),
            "`execute.js` is a symbolic link",
        ),
        (
            spoiled(|it| {
                fs::create_dir(it.directory.join("lib")).unwrap();
                fs::hard_link(it.directory.join("execute.js"), it.directory.join("lib/x.js"))
                    .unwrap();
            }),
            "has more than one hard link",
        ),
        (
            spoiled(|it| {
                let pipe = it.directory.join("pipe");
                assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
            }),
            "`pipe` is a pipe",
        ),
        (
            spoiled(|it| {
                drop(std::os::unix::net::UnixListener::bind(it.directory.join("s")).unwrap())
            }),
            "`s` is a socket",
        ),
        (
            spoiled(|it| {
                let mut deep = it.directory.clone();
                (0..33).for_each(|_| deep.push("d"));
                fs::create_dir_all(deep).unwrap();
            }),
            "more than 32 directories deep",
        ),
        (
            spoiled(|it| (0..2000).for_each(|number| it.put(&format!("f{number}"), ""))),
            "more than 2000 files",
        ),
        (
            spoiled(|it| {
                let file = fs::File::create(it.directory.join("large")).unwrap();
                file.set_len((32 << 20) + 1).unwrap();
            }),
            "more than 32 MiB",
        ),
        (spoiled(|it| it.put("action.json", "{")), "`action.json` cannot be used"),
        (spoiled(|it| it.put("package.json", "{")), "`package.json` is not a valid JSON object"),
        (spoiled(|it| it.put("package.json", "[]")), "`package.json` is not a valid JSON object"),
        (
            spoiled(|it| it.put("execute.js", "export default function {{")),
            "`execute.js` does not compile",
        ),
        (with(|it| it["name"] = "run_command".into()), "is a core action"),
        (
            with(|it| it["name"] = "another".into()),
            "its name is `another`, but its directory is named `probe`",
        ),
        (with(|it| it["name"] = "../probe".into()), "`action.json` cannot be used"),
        (with(|it| it["allowPluginCodeExecution"] = true.into()), "allowPluginCodeExecution"),
        (
            with(|it| it["riskTier"] = "R1".into()),
            "a package that writes to the workspace must be at least R2",
        ),
        (
            with(|it| it["verification"]["required"] = false.into()),
            "`verification.required` is false",
        ),
        (with(|it| it["rollback"]["required"] = false.into()), "`rollback.required` is false"),
        (
            with(|it| it["inputSchema"]["type"] = "objekt".into()),
            "`inputSchema` is not a usable JSON Schema",
        ),
        (
            with(|it| it["outputSchema"] = json!({ "$ref": "http://localhost/x" })),
            "must point into the same schema",
        ),
        (
            with(|it| it["permissions"]["commands"] = json!(["cat x | sh"])),
            "cannot be run: the command is run without a shell",
        ),
        (with(|it| it["verification"]["commands"] = json!(["true"])), "permissions.commands"),
    ];
    let (_directory, root) = workspace();
    for (written, expected) in &cases {
        let place = written.directory.to_str().unwrap();
        let refused = document(&actum(&root, &["plugin", "lint", place, "--json"]));
        assert_eq!(refused["reason"], "PLUGIN_UNUSABLE", "{expected}: {refused}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(expected), "{expected}: {message}");
        assert!(message.ends_with("; nothing was changed"), "{message}");
    }
    let written = Written::new();
    let link: PathBuf = root.join("probe");
    symlink(&written.directory, &link).unwrap();
    let refused = actum(&root, &["plugin", "lint", "probe"]);
    assert!(refused.stderr.contains("it is not a directory; symbolic links"), "{refused:?}");
    for name in ["run_command", "Upper", "../x", "a/b", ""] {
        assert_ne!(actum(&root, &["plugin", "new", name]).code, 0, "{name}");
    }
    assert!(!root.join("actions").exists());
}
