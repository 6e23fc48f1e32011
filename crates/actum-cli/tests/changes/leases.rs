//! Leases at every entry point: what they permit, when they end, and that no token is ever stored.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program::{Ended, actum, approval_key, command, home_of, operator_of, text, workspace};
use crate::task::{create, plan, put};

/// A workspace with a lease key, whose passphrase is stored in a file.
pub(crate) struct Installation {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) root: PathBuf,
    passphrase: String,
}

impl Installation {
    pub(crate) fn new() -> Self {
        let (directory, root) = workspace();
        Self::with_key(directory, root)
    }

    pub(crate) fn with_key(directory: tempfile::TempDir, root: PathBuf) -> Self {
        let file = directory.path().join("passphrase-of-leases");
        fs::write(&file, "correct horse battery staple\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let passphrase = file.to_str().unwrap().to_owned();
        let made = actum(&root, &["key", "make", "lease", "--passphrase-file", &passphrase]);
        assert_eq!(made.code, 0, "{made:?}");
        Self { directory, root, passphrase }
    }

    /// Runs the program in the workspace.
    pub(crate) fn actum(&self, arguments: &[&str]) -> Ended {
        actum(&self.root, arguments)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    /// Grants a lease with the default terms plus these options, and returns the path of the lease file.
    pub(crate) fn grant(&self, name: &str, options: &[&str]) -> String {
        let (file, secret) = (self.file(name), &self.passphrase);
        let usual = ["lease", "grant", "--output", &file, "--passphrase-file", secret];
        let granted = self.actum(&[&usual, options].concat());
        assert_eq!(granted.code, 0, "{granted:?}");
        assert!(!granted.stdout.contains(text(&self.root, &file).trim()), "{granted:?}");
        file
    }

    /// Narrows a lease, and returns the path of the new lease file.
    fn attenuate(&self, from: &str, name: &str, options: &[&str]) -> String {
        let file = self.file(name);
        let ended =
            self.actum(&[&["lease", "attenuate", from, "--output", &file], options].concat());
        assert_eq!(ended.code, 0, "{ended:?}");
        file
    }

    fn revoke(&self, lease: &str, options: &[&str]) -> Ended {
        let usual = ["lease", "revoke", lease, "--passphrase-file", &self.passphrase, "--json"];
        self.actum(&[&usual, options].concat())
    }

    /// Applies a change that writes one file under a lease.
    fn write(&self, path: &str, lease: &str, options: &[&str]) -> Ended {
        let change = json!({ "files": [{ "path": path, "content": format!("{path}\n") }] });
        let input = self.file("write.json");
        fs::write(&input, change.to_string()).unwrap();
        self.actum(&[&["--json", "apply", &input, "--lease", lease], options].concat())
    }

    fn verify(&self, lease: &str) -> (i32, Value) {
        let ended = self.actum(&["lease", "verify", lease, "--json"]);
        (ended.code, value(&ended))
    }

    /// Returns the state of each block of a lease.
    fn states(&self, lease: &str) -> Vec<String> {
        let (_, verified) = self.verify(lease);
        let blocks = verified["blocks"].as_array().unwrap().iter();
        blocks.map(|block| block["state"].as_str().unwrap().to_owned()).collect()
    }
}

fn value(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

/// Asserts that the lease gate denied the request for this reason.
fn assert_denied(ended: &Ended, why: &str) {
    let error = value(ended);
    let message = error["message"].as_str().unwrap();
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(message.contains(why), "{message}");
    assert!(message.ends_with("nothing was changed"), "{message}");
}

/// Asserts that the command failed with this reason.
fn assert_fails(ended: &Ended, reason: &str) {
    assert_eq!((ended.code, &value(ended)["reason"]), (1, &json!(reason)), "{ended:?}");
}

/// Returns all files below a directory, without following symbolic links.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        match (kind.is_dir(), kind.is_file()) {
            (true, _) => found.extend(files_below(&entry.path())),
            (false, true) => found.push(entry.path()),
            (false, false) => {}
        }
    }
    found
}

/// Asserts that no file in the directory contains a token, or the secret or seal at its end.
fn assert_no_token_in(directory: &Path, tokens: &[String]) {
    use base64::Engine;
    let alphabet = base64::engine::general_purpose::URL_SAFE;
    for token in tokens {
        let bytes = alphabet.decode(token).unwrap();
        let secret = &bytes[bytes.len() - 32..];
        for file in files_below(directory) {
            let content = fs::read(&file).unwrap();
            for part in [token.as_bytes(), secret] {
                let is_there = content.windows(part.len()).any(|window| window == part);
                assert!(!is_there, "{} has a part of a token", file.display());
            }
        }
    }
}

/// FE-17, D-7
#[test]
fn lease_allows_exactly_its_terms() {
    let here = Installation::new();
    let terms = ["--capability", "APPLY", "--capability", "EXEC", "--base", "sub"];
    let planner = here.grant("planner.lease", &[&terms[..], &["--agent", "planner"]].concat());
    assert_eq!(fs::metadata(&planner).unwrap().mode() & 0o7777, 0o600);

    let inside = here.write("sub/one.txt", &planner, &[]);
    assert_eq!(inside.code, 0, "{inside:?}");
    let outside = here.write("one.txt", &planner, &[]);
    assert_denied(&outside, "block 1 of the lease");
    assert_denied(&outside, "has no base directory that contains `one.txt`");
    let beside = here.write("sub-evil/one.txt", &planner, &[]);
    assert_denied(&beside, "has no base directory that contains `sub-evil");
    let other = here.write("sub/two.txt", &planner, &["--agent", "other"]);
    assert_denied(&other, "is for the agent `planner`, but the request names `other`");

    // A sub-agent gets a narrower lease, and the chain of agents is recorded.
    let narrow = ["--agent", "planner/copier", "--allow", "*.md", "--uses", "2"];
    let copier = here.attenuate(&planner, "copier.lease", &narrow);
    assert_denied(&here.write("sub/two.txt", &copier, &[]), "block 2 of the lease");
    assert_denied(
        &here.write("sub/a.md", &copier, &["--agent", "planner"]),
        "block 2 of the lease",
    );
    assert_eq!(here.write("sub/a.md", &copier, &["--dry-run"]).code, 0);
    assert_denied(&here.write("a.md", &copier, &["--dry-run"]), "block 1 of the lease");
    assert_eq!(here.verify(&copier).1["blocks"][1]["used"], 0, "a dry run uses nothing");
    let change = json!({ "files": [{ "path": "sub/a.md", "content": "a\n" }] });
    fs::write(here.file("a.json"), change.to_string()).unwrap();
    let mut apply = command(&here.root, &["apply", "../a.json", "--json"]);
    let by_environment: Ended = apply.env("ACTUM_LEASE", &copier).output().unwrap().into();
    assert_eq!(by_environment.code, 0, "{by_environment:?}");
    let newest = value(&here.actum(&["ledger", "show", "--json", "-n", "1"]));
    let entry = newest["entries"][0]["index"].to_string();
    let receipt = value(&here.actum(&["ledger", "show", &entry, "--json"]));
    let predicate = &receipt["payload"]["predicate"];
    let agents: Vec<&Value> =
        predicate["lease"]["blocks"].as_array().unwrap().iter().map(|it| &it["agent"]).collect();
    assert_eq!(agents, [&json!("planner"), &json!("planner/copier")]);
    assert_eq!(predicate["actor"]["agent"], "planner/copier");

    // An undo counts as a use too, and the number of uses is limited.
    assert_eq!(here.actum(&["undo", "--lease", &copier]).code, 0);
    assert_denied(
        &here.write("sub/b.md", &copier, &[]),
        "allows 2 runs, which have all been started",
    );
    let verified = here.verify(&copier);
    assert_eq!((verified.0, &verified.1["usable"]), (1, &json!(false)));
    assert_eq!(here.states(&copier), ["in_force", "used_up"]);
    assert_eq!(here.states(&planner), ["in_force"]);

    // The wall-time quota of the lease limits the command.
    let quick = here.attenuate(&planner, "quick.lease", &["--max-wall", "1s"]);
    let exec = ["--json", "exec", "--lease", &quick, "--"];
    let kept = here.actum(&[&exec[..], &["sh", "-c", "echo x > sub/by-command"]].concat());
    assert_eq!((kept.code, text(&here.root, "sub/by-command")), (0, "x\n".to_owned()), "{kept:?}");
    let ended = here.actum(&[&exec[..], &["sleep", "60"]].concat());
    assert_eq!(value(&ended)["violated"], json!([{ "limit": "wall" }]), "{ended:?}");
    let files = here.attenuate(&planner, "files.lease", &["--max-files", "1"]);
    let exec = ["--json", "exec", "--lease", &files, "--"];
    let many = here.actum(&[&exec[..], &["sh", "-c", "touch sub/1 sub/2"]].concat());
    assert!(
        many.stdout.contains("limits the number of changed files to 1, but the request has 2"),
        "{many:?}"
    );
    assert!(!here.root.join("sub/1").exists());

    // Revoking the first block of a lease revokes all of them.
    let revoked = here.revoke(&planner, &["--message", "done"]);
    assert_eq!((revoked.code, &value(&revoked)["reason"]), (0, &json!("done")), "{revoked:?}");
    assert_denied(&here.write("sub/c.md", &planner, &[]), "was revoked");
    assert_denied(&here.write("sub/c.txt", &quick, &[]), "block 1 of the lease");
    assert_eq!(here.states(&quick), ["revoked", "in_force"]);
    let again = here.revoke(&planner, &[]);
    assert_fails(&again, "LEASE_NOT_IN_FORCE");
    let list = value(&here.actum(&["lease", "list", "--json"]));
    assert_eq!(list["leases"][0]["state"], "revoked");

    let tokens =
        [&planner, &copier, &quick, &files].map(|file| text(&here.root, file).trim().to_owned());
    assert_no_token_in(&home_of(&here.root), &tokens);
    assert_no_token_in(&here.root, &tokens);
}

/// FE-17: a lease is valid only in the ledger that granted it, and only if its signed content is unmodified.
#[test]
fn foreign_or_modified_lease_is_rejected() {
    let here = Installation::new();
    let short = ["--capability", "APPLY", "--base", ".", "--expires", "1s"];
    let short = here.grant("short.lease", &short);
    let later = ["--capability", "APPLY", "--base", ".", "--not-before", "1h"];
    let later = here.grant("later.lease", &later);
    assert_denied(&here.write("new.txt", &later, &[]), "is not valid before");
    let exec = here.grant("exec.lease", &["--capability", "EXEC", "--base", "."]);
    assert_denied(&here.write("new.txt", &exec, &[]), "does not allow APPLY");
    let task = ["--capability", "APPLY", "--base", ".", "--task", "task-7"];
    let task = here.grant("task.lease", &task);
    assert_denied(&here.write("new.txt", &task, &[]), "is for the task `task-7`");
    assert_eq!(here.write("key.txt", &task, &["--request-key", "task-7"]).code, 0);

    let other = ["--tenant", "other", "--capability", "APPLY", "--base", "."];
    let other = here.grant("tenant.lease", &other);
    assert_denied(&here.write("new.txt", &other, &[]), "has no record of its grant in this ledger");
    assert_eq!(here.states(&other), ["not_granted"]);

    let (directory, root) = workspace();
    let there = Installation::with_key(directory, root);
    let foreign = there.grant("foreign.lease", &["--capability", "APPLY", "--base", "."]);
    assert_fails(&here.write("new.txt", &foreign, &[]), "LEASE_KEY_UNKNOWN");
    assert_fails(&here.actum(&["lease", "verify", &foreign, "--json"]), "LEASE_KEY_UNKNOWN");
    assert_fails(&here.revoke(&foreign, &[]), "LEASE_KEY_UNKNOWN");

    let token = text(&here.root, &exec);
    let swapped = if &token[100..101] == "A" { "B" } else { "A" };
    let changed = format!("{}{swapped}{}", &token[..100], &token[101..]);
    for (content, reasons) in [
        ("no token\n", &["LEASE_MALFORMED"][..]),
        ("", &["LEASE_MALFORMED"]),
        ("bm8gdG9rZW4=", &["LEASE_MALFORMED"]),
        (&changed, &["LEASE_SIGNATURE_INVALID", "LEASE_FORM_UNKNOWN", "LEASE_MALFORMED"]),
        (&"A".repeat(30_000), &["LEASE_TOO_LARGE"]),
    ] {
        let file = here.file("wrong.lease");
        fs::write(&file, content).unwrap();
        let ended = here.write("new.txt", &file, &[]);
        let reason = value(&ended)["reason"].as_str().unwrap().to_owned();
        assert!(ended.code == 1 && reasons.contains(&reason.as_str()), "{ended:?}");
        let quotes = |part: &str| part.len() > 3 && ended.stdout.contains(part);
        assert!(!quotes(content.trim()) && !quotes(&token[120..]), "{ended:?}");
    }
    let missing = here.write("new.txt", "nowhere.lease", &[]);
    assert_fails(&missing, "INPUT_UNREADABLE");

    while here.states(&short) == ["in_force"] {
        std::thread::yield_now();
    }
    assert_denied(&here.write("new.txt", &short, &[]), "expired at");
    assert_eq!(here.states(&short), ["expired"]);
    let list = value(&here.actum(&["lease", "list", "--json", "-n", "2"]));
    let states: Vec<&Value> =
        list["leases"].as_array().unwrap().iter().map(|it| &it["state"]).collect();
    assert_eq!(
        (states, &list["more"]),
        (vec![&json!("in_force"), &json!("in_force")], &json!(true))
    );
    let all = value(&here.actum(&["lease", "list", "--json", "--all"]));
    let states: Vec<&Value> =
        all["leases"].as_array().unwrap().iter().map(|it| &it["state"]).collect();
    assert_eq!(
        states,
        [&json!("in_force"), &json!("in_force"), &json!("waiting"), &json!("expired")]
    );

    // A lease can be looked up by its full id or a prefix, but not by an unknown id.
    let id = all["leases"][0]["id"].as_str().unwrap();
    let revoked = here.revoke(&id[..8], &[]);
    assert_eq!(value(&revoked)["revoked"], json!(id), "{revoked:?}");
    assert_fails(&here.revoke("0000000", &[]), "LEASE_UNKNOWN");
    let unknown = "0".repeat(64);
    assert_eq!(value(&here.revoke(&unknown, &[]))["revoked"], json!(unknown));
    assert_fails(&here.revoke(&exec, &["--block", "2"]), "LEASE_UNKNOWN");
}

/// D-7: if the operator requires leases, every entry point needs one.
#[test]
fn a_policy_can_require_a_lease_at_every_entry_point() {
    let here = Installation::new();
    let lease = [
        &["--base", "."][..],
        &["--capability", "APPLY", "--capability", "EXEC", "--capability", "TASK"],
        &["--capability", "ACTION:file_modify"],
    ];
    let lease = here.grant("all.lease", &lease.concat());
    let policy = "version = 1\n[lease]\nrequired = [\"apply\", \"exec\", \"action\", \"task\"]\n";
    fs::create_dir_all(operator_of(&here.root).join("actum")).unwrap();
    fs::write(operator_of(&here.root).join("actum/actum.toml"), policy).unwrap();
    put(&here.root, &plan(json!([create("a", "made.txt")])), "");
    let action = json!({
        "actionId": "action:test", "actionType": "file_modify", "riskTier": "R2", "confidence": 0.9,
        "reason": "a test", "input": { "path": "a.txt", "content": "2\n" }, "rollbackPlan": "undo",
        "verification": { "required": true, "commands": [] },
        "scope": { "allowedFiles": [], "allowedDirs": ["."], "forbiddenFiles": [] }
    });
    fs::write(here.file("action.json"), action.to_string()).unwrap();
    let verbs: [&[&str]; 4] = [
        &["apply", "../change.diff"],
        &["exec", "--", "touch", "by-command"],
        &["action", "run", "-"],
        &["run", "../task.json"],
    ];
    let run = |verb: &[&str], lease: Option<&str>| -> Ended {
        let mut command = command(&here.root, verb);
        command.env("ACTUM_LEASE", lease.unwrap_or_default());
        command.stdin(File::open(here.file("action.json")).unwrap()).output().unwrap().into()
    };
    for verb in verbs {
        let without = run(verb, None);
        assert_ne!(without.code, 0, "{verb:?}: {without:?}");
        let shown = format!("{}{}", without.stdout, without.stderr);
        assert!(shown.contains("needs a lease"), "{verb:?}: {without:?}");
    }
    assert_eq!(text(&here.root, "a.txt"), "1\n");
    assert!(!here.root.join("by-command").exists() && !here.root.join("made.txt").exists());
    for verb in verbs {
        let with = run(verb, Some(&lease));
        assert_eq!(with.code, 0, "{verb:?}: {with:?}");
    }
    assert!(here.root.join("by-command").exists() && here.root.join("made.txt").exists());
    // A part of a plan that was requested under a lease needs one as well.
    let queued = [&["exec", "--review", "--", "touch", "by-part"][..]].concat();
    assert_eq!(run(&queued, Some(&lease)).code, 116);
    let queue = value(&here.actum(&["queue", "--json"]));
    let id = queue["plans"].as_array().unwrap().last().unwrap()["plan"].as_str().unwrap();
    let part = ["review", id, "--only", "by-part"];
    let without = run(&part, None);
    assert!(without.code != 0 && without.stderr.contains("needs a lease"), "{without:?}");
    assert_eq!(run(&part, Some(&lease)).code, 6, "it was declared R3");
    // An undo that only restores content needs no lease.
    assert_eq!(here.actum(&["undo"]).code, 0);
    assert_no_token_in(&home_of(&here.root), &[text(&here.root, &lease).trim().to_owned()]);
}

/// D-7, AA-5: the operator approves the plan without the token, and the lease is checked again when the plan is carried out.
#[test]
fn plan_requested_under_a_lease_is_approved_without_the_token() {
    let (directory, root) = workspace();
    let key = approval_key(&root);
    let here = Installation::with_key(directory, root);
    let lease = here.grant("agent.lease", &["--capability", "APPLY", "--base", "."]);
    let token = text(&here.root, &lease).trim().to_owned();
    let asked = |path: &str| {
        let ended = here.write(path, &lease, &[]);
        assert_eq!(ended.code, 6, "{ended:?}");
        value(&ended)["plan"].as_str().unwrap().to_owned()
    };
    let (first, second) = (asked(".github/workflows/a.yml"), asked(".github/workflows/b.yml"));
    fs::remove_file(&lease).unwrap();
    let approve = |plan: &str| here.actum(&["--json", "approve", plan, "--passphrase-file", &key]);
    let approved = approve(&first);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert!(here.root.join(".github/workflows/a.yml").exists());
    let list = value(&here.actum(&["lease", "list", "--json"]));
    assert_eq!(list["leases"][0]["used"], 1, "{list}");
    let id = list["leases"][0]["id"].as_str().unwrap();
    assert_eq!(here.revoke(id, &[]).code, 0);
    let rejected = approve(&second);
    assert_ne!(rejected.code, 0, "{rejected:?}");
    assert!(rejected.stdout.contains("revoked"), "{rejected:?}");
    assert!(!here.root.join(".github/workflows/b.yml").exists());
    assert_no_token_in(&home_of(&here.root), std::slice::from_ref(&token));
    assert_no_token_in(&here.root, &[token]);
}

/// FE-17: impossible terms are rejected before the passphrase is read, and no file is created.
#[test]
fn impossible_lease_terms_are_rejected() {
    let (_directory, root) = workspace();
    let usual = ["--json", "lease", "grant", "--capability", "APPLY", "--base", "."];
    let grant = |options: &[&str]| {
        let output = ["--output", "../new.lease", "--passphrase-file", "nowhere"];
        let ended = actum(&root, &[&usual, &output[..], options].concat());
        assert!(!root.join("../new.lease").exists(), "{ended:?}");
        ended
    };
    symlink("sub", root.join("link")).unwrap();
    let link = grant(&["--base", "link"]);
    assert_fails(&link, "LEASE_TERMS_INVALID");
    assert!(value(&link)["hints"][0].as_str().unwrap().ends_with("workspace/sub`"), "{link:?}");
    for wrong in [
        &["--base", "nowhere"][..],
        &["--base", "a.txt"],
        &["--base", "a\"b"],
        &["--expires", "367d"],
        &["--expires", "2020-01-01T00:00:00Z"],
        &["--expires", "0s"],
        &["--not-before", "2h", "--expires", "2020-01-01T00:00:00Z"],
    ] {
        assert_fails(&grant(wrong), "LEASE_TERMS_INVALID");
    }
    for wrong in [
        &["--capability", "SUDO"][..],
        &["--expires", "1500ms"],
        &["--expires", "soon"],
        &["--agent", "a b"],
        &["--uses", "0"],
        &["--max-space", "many"],
    ] {
        assert_eq!(grant(wrong).code, 2, "{wrong:?}");
    }
    assert_eq!(actum(&root, &["lease", "grant", "--base", ".", "--output", "x"]).code, 2);
    let without_key = grant(&[]);
    assert_fails(&without_key, "KEY_UNUSABLE");
    let hint = value(&without_key)["hints"][0].as_str().unwrap().to_owned();
    assert!(hint.contains("`actum key make lease`"), "{hint}");
}

/// FE-17: narrowing a lease needs neither the key nor the ledger, and the token is printed only on request.
#[test]
fn lease_can_be_narrowed_offline_until_it_is_sealed() {
    let here = Installation::new();
    let printed = here.actum(
        &[
            &[
                "lease",
                "grant",
                "--capability",
                "APPLY",
                "--base",
                "sub",
                "--output",
                "-",
                "--json",
            ][..],
            &["--passphrase-file", &here.passphrase],
        ]
        .concat(),
    );
    let token = printed.stdout.trim().to_owned();
    assert!(printed.code == 0 && token.len() > 100 && !token.contains('\n'), "{printed:?}");
    let file = here.file("printed.lease");
    fs::write(&file, &printed.stdout).unwrap();
    assert_eq!(here.verify(&file).0, 0);

    let elsewhere = here.file("elsewhere");
    let offline = |arguments: &[&str]| -> Ended {
        let mut command = command(&here.root, arguments);
        command.env("ACTUM_HOME", &elsewhere).output().unwrap().into()
    };
    let narrowed = here.file("narrowed.lease");
    let narrow = ["--json", "lease", "attenuate", &file, "--output", &narrowed];
    let ended = offline(&[&narrow[..], &["--seal", "--agent", "a", "--max-space", "1K"]].concat());
    assert_eq!((ended.code, &value(&ended)["sealed"]), (0, &json!(true)), "{ended:?}");
    assert!(!Path::new(&elsewhere).exists());
    assert_fails(&offline(&[&narrow[..], &["--uses", "1"]].concat()), "OUTPUT_REFUSED");
    let further = ["--json", "lease", "attenuate", &narrowed, "--output", "x", "--uses", "1"];
    assert_fails(&offline(&further), "LEASE_SEALED");
    let empty = ["--json", "lease", "attenuate", &file, "--output", "x"];
    assert_fails(&offline(&empty), "LEASE_TERMS_INVALID");
    assert!(!here.root.join("x").exists());
    let nothing = here.actum(&[&empty[..5], &["y", "--capability", "EXEC"]].concat());
    assert!(nothing.stderr.contains("allows nothing"), "{nothing:?}");
    assert_eq!(here.verify(&narrowed).0, 0);
    let shown = offline(&["lease", "show", &narrowed]);
    assert!(shown.stdout.contains("the lease was not verified"), "{shown:?}");
    for output in [&shown.stdout, &ended.stdout, &ended.stderr, &printed.stderr] {
        assert!(!output.contains(&token[..40]), "{output}");
    }
    assert_denied(&here.write("sub/large", &narrowed, &["--agent", "b"]), "block 2 of the lease");
}

/// FE-17: a lease file named by the environment is used even if its name is not valid UTF-8.
#[test]
fn lease_file_with_a_non_utf8_name_is_read_from_the_environment() {
    let here = Installation::new();
    let lease = here.grant("l", &["--capability", "APPLY", "--base", "sub"]);
    let odd = here.directory.path().join(OsStr::from_bytes(b"l\xff"));
    fs::rename(lease, &odd).unwrap();
    let input = here.file("write.json");
    fs::write(&input, r#"{ "files": [{ "path": "outside", "content": "o" }] }"#).unwrap();
    let apply = |file: &Path| {
        let mut apply = command(&here.root, &["--json", "apply", &input]);
        Ended::from(apply.env("ACTUM_LEASE", file).output().unwrap())
    };
    assert_denied(&apply(&odd), "has no base directory that contains `outside`");
    assert_eq!(apply(&here.directory.path().join(OsStr::from_bytes(b"none\xff"))).code, 1);
    assert!(!here.root.join("outside").exists());
}

/// FE-17, D-7: `policy explain` takes the lease into account.
#[test]
fn policy_explain_applies_the_lease() {
    let here = Installation::new();
    let lease = here.grant("l", &["--capability", "APPLY", "--base", "sub"]);
    let explained = |path: &str| here.actum(&["policy", "explain", path, "--lease", &lease]).stdout;
    assert!(explained("sub/x").contains("gate  lease: allow"), "{}", explained("sub/x"));
    assert!(
        explained("x").contains("has no base directory that contains `x`"),
        "{}",
        explained("x")
    );
}

/// FE-17: a lease file with extra bytes after the token is rejected.
#[test]
fn overlong_lease_file_is_rejected() {
    let here = Installation::new();
    let lease = here.grant("l", &["--capability", "APPLY", "--base", "sub"]);
    let token = fs::read_to_string(&lease).unwrap();
    fs::write(&lease, format!("{token}{}rest", "\n".repeat(30_000))).unwrap();
    assert_fails(&here.write("sub/x", &lease, &[]), "LEASE_TOO_LARGE");
}
