//! Passes hostile text to every command in names, labels, agents, messages, check output and file content.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{Ended, actum, command, operator_of, workspace};
use actum_core::path::is_not_shown;
use serde_json::{Value, json};

/// Text that tries to forge a line, change colours, clear the screen, reverse the direction of text, hide text and
/// overwrite it.
const HOSTILE: &str = "h\nFORGED a\rFORGED b\x1b[35m\x1b[2K\u{9b}2J\u{202e}\u{2066}\u{200b}\u{feff}\
                       \u{ad}\u{2028}FORGED c\u{e0041}\u{61c}\x07\x7f\u{fdd1}z";
/// Part of the hostile text that remains after escaping, as a name and as a line.
const SEEN: [&str; 2] = ["FORGED b\\033[35m", "FORGED b<\\033>[35m"];

fn is_seen(text: &str) -> bool {
    SEEN.iter().any(|seen| text.contains(seen))
}
/// SGR attributes that the program itself uses: those of its own styles and of the command-line parser.
const ATTRIBUTES: [&str; 8] = ["0", "1", "2", "4", "31", "32", "33", "36"];

/// Expected form of the hostile text in the output of these cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// The text is escaped.
    Hostile,
    /// The text is escaped on a terminal, but written byte for byte to a pipe.
    HostileExact,
    /// The text does not appear.
    Nothing,
}
use Shows::{Hostile, HostileExact, Nothing};

/// Commands with their arguments. `{h}` is the hostile text, `{old}` is a file with such a name, and `{run}` is a run
/// that changed it. `{plan}` is a pending plan, `{fresh}` is a new plan for each use, and `{n}` is a counter.
const CASES: &[(&str, Shows, &[&[&str]])] = &[
    ("init", Hostile, &[&["../new{h}{n}"]]),
    (
        "apply",
        Hostile,
        &[
            &["../edit{n}.json", "--overwrite", "-m", "{h}", "--agent", "{h}", "--diff"],
            &["../missing{h}"],
            &["../stale.json"],
            &["../new.json"],
            &["../edit{n}.json", "--overwrite", "--deny", "{old}"],
            &["../edit{n}.json", "--overwrite", "--format", "{h}"],
        ],
    ),
    ("exec", Hostile, &[&["--", "missing{h}"], &["--agent", "{h}", "-m", "{h}", "--", "{h}"]]),
    ("action run", Hostile, &[&["../action.json", "--agent", "{h}"], &["missing{h}"]]),
    ("action schema", Hostile, &[&["{h}"]]),
    (
        "agent find",
        Hostile,
        &[
            &["{h}", "--language", "{h}"],
            &["{h}", "--correlation", "{h}"],
            &["delete a.txt", "--learning", "{h}"],
            &["delete a.txt", "--learning", "../edit{n}.json"],
            &["delete a.txt", "--evidence", "../missing/{h}"],
        ],
    ),
    ("agent dispatch", Hostile, &[&["{h}"], &["../action.json", "--agent", "{h}"]]),
    ("agent confirm", Hostile, &[&["{h}", "{h}", "--thread", "{h}", "--language", "{h}"]]),
    ("agent schema", Hostile, &[&["{h}"]]),
    ("agent show", Hostile, &[&["{h}"]]),
    ("agent replay", Hostile, &[&["{h}"]]),
    ("agent intake list", Nothing, &[&[]]),
    ("agent intake show", Hostile, &[&["{h}"]]),
    ("agent intake resolve", Hostile, &[&["{h}", "--simulation", "{h}", "--reason", "{h}"]]),
    (
        "agent learn",
        Hostile,
        &[&[], &["-o", "../missing/{h}", "--passphrase-file", "../passphrase"]],
    ),
    ("agent slo", Hostile, &[&["--window", "{h}"]]),
    ("agent waive", Hostile, &[&["--for", "{h}", "--reason", "{h}"]]),
    ("file run", Hostile, &[&["../action.json", "--lease", "{h}", "--agent", "{h}"], &["{h}"]]),
    ("file verify", Hostile, &[&["../receipt.json", "--task", "{h}"], &["{h}"]]),
    ("file restore", Hostile, &[&["{h}"]]),
    ("file release", Hostile, &[&["{h}", "--passphrase-file", "{h}"]]),
    ("plan new", Hostile, &[&["../planned{h}{n}"]]),
    ("plan lint", Hostile, &[&["../plan.json"], &["{h}"]]),
    ("plan preview", Hostile, &[&["../plan.json"], &["{h}"]]),
    ("plan approve", Hostile, &[&["../plan.json", "--task-id", "{h}"], &["{h}"]]),
    ("run", Hostile, &[&["../task.json", "--agent", "{h}"], &["{h}"]]),
    ("rollback", Hostile, &[&["{h}"]]),
    ("adopt", Hostile, &[&["--dry-run", "--diff", "--label", "{h}"], &["{h}"]]),
    ("undo", Hostile, &[&["{run}", "--dry-run", "--diff"], &["{h}"], &["--since", "{h}"]]),
    ("redo", Hostile, &[&["{h}"], &[]]),
    ("queue", Hostile, &[&[], &["{plan}"], &["{h}"], &["--seen", "{h}"]]),
    ("review", Hostile, &[&["{plan}", "--only", "{h}"], &["{h}", "--only", "a"]]),
    (
        "approve",
        Hostile,
        &[
            &["{fresh}", "--reason", "{h}", "--passphrase-file", "../passphrase"],
            &["{fresh}"],
            &["{h}"],
        ],
    ),
    (
        "deny",
        Hostile,
        &[
            &["{fresh}", "--reason", "{h}", "--passphrase-file", "../passphrase"],
            &["{h}", "--reason", "x"],
        ],
    ),
    ("revoke", Hostile, &[&["{h}"], &["{plan}"]]),
    ("feedback", Hostile, &[&[], &["--action", "{h}"]]),
    ("log", Hostile, &[&[], &["-n", "{h}"]]),
    ("show", Hostile, &[&["{run}"], &["{h}"]]),
    ("diff", HostileExact, &[&["{run}"]]),
    ("status", Hostile, &[&[]]),
    ("bind", Hostile, &[&[], &["{h}"]]),
    ("recover", Nothing, &[&[]]),
    ("resolve", Hostile, &[&["{old}"], &["../{h}"]]),
    ("receipt", Hostile, &[&["{run}"], &["{h}"]]),
    ("verify", Hostile, &[&["../receipt.json"], &["{h}"]]),
    ("ledger show", Hostile, &[&[], &["5"], &["6"], &["7"], &["8"], &["{h}"]]),
    ("ledger verify", Hostile, &[&[], &["{h}"]]),
    ("ledger prove", Hostile, &[&["{run}"], &["{h}"]]),
    ("ledger checkpoint", Hostile, &[&[], &["-o", "../missing/{h}"]]),
    ("ledger export", HostileExact, &[&["-o", "../missing/{h}"]]),
    ("replay", Hostile, &[&["{run}"], &["{h}"]]),
    (
        "lease grant",
        Hostile,
        &[
            &["--capability", "APPLY", "--base", "{h}", "--output", "../x{n}.lease"],
            &["--capability", "{h}", "--base", ".", "--output", "../x{n}.lease"],
            &[
                "--capability",
                "APPLY",
                "--base",
                ".",
                "--output",
                "../x{n}.lease",
                "--passphrase-file",
                "{h}",
            ],
        ],
    ),
    ("lease attenuate", Hostile, &[&["{h}", "--uses", "1", "--output", "../x{n}.lease"]]),
    ("lease show", Hostile, &[&["{h}"], &["../edit{n}.json"]]),
    ("lease verify", Hostile, &[&["{h}"]]),
    ("lease list", Nothing, &[&[], &["--all"]]),
    (
        "lease revoke",
        Hostile,
        &[&["{h}"], &["0000", "--message", "{h}", "--passphrase-file", "{h}"]],
    ),
    ("key list", Nothing, &[&[]]),
    ("key make", Hostile, &[&["{h}"]]),
    ("key rotate", Hostile, &[&["{h}"]]),
    ("key deny", Hostile, &[&["{h}"], &["approval"]]),
    ("key export", Hostile, &[&["-o", "../missing/{h}"]]),
    ("catalog list", Hostile, &[&[], &["{h}"]]),
    ("catalog show", Hostile, &[&["{h}"]]),
    ("catalog lint", Hostile, &[&["{h}"], &["../package"]]),
    ("catalog activate", Hostile, &[&["{h}", "--reason", "{h}"]]),
    ("catalog retire", Hostile, &[&["file_modify", "--reason", "{h}"], &["{h}"]]),
    ("policy check", Hostile, &[&[]]),
    ("policy test", Hostile, &[&["{h}"], &["../tests.toml"]]),
    (
        "policy explain",
        Hostile,
        &[
            &["--path", "{old}"],
            &["--path", "{h}", "--effect", "created", "--agent", "{h}"],
            &["{run}"],
            &["--command", "{h}"],
        ],
    ),
    ("policy suggest", Hostile, &[&[], &["{h}"]]),
    ("plugin new", Hostile, &[&["{h}"]]),
    ("plugin lint", Hostile, &[&["../package"], &["{h}"]]),
    ("plugin test", Nothing, &[&["../package"], &["{h}"]]),
    ("trust", Hostile, &[&[], &["{h}"]]),
    ("sandbox detect", Hostile, &[&[], &["{h}"]]),
    ("sandbox run", Hostile, &[&["--", "missing{h}"], &["--policy", "{h}", "--", "true"]]),
    ("sql install", Hostile, &[&["--python", "{h}"]]),
    (
        "protect",
        Hostile,
        &[&["{h}"], &["claude", "--check", "--no-pager"], &["codex", "--yes", "--{h}"]],
    ),
    ("hook", Hostile, &[&["{h}"], &["claude"]]),
    ("doctor", Hostile, &[&[], &["{h}"]]),
    ("explain", Hostile, &[&["{h}"]]),
    ("completions", Hostile, &[&["{h}"]]),
    ("man", Hostile, &[&["{h}"]]),
    ("mcp", Hostile, &[&["{h}"], &["--session", "{h}", "{h}"]]),
    ("demo", Hostile, &[&["{h}"]]),
    ("gc", Hostile, &[&[], &["--max-runs", "{h}"]]),
];

/// Workspace whose own name is hostile as well.
struct Stage {
    directory: tempfile::TempDir,
    root: PathBuf,
    old: String,
    run: String,
    plan: String,
    count: usize,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join(format!("root{HOSTILE}"));
        fs::create_dir(&root).unwrap();
        let old = format!("old{HOSTILE}");
        fs::write(root.join(&old), "before\n").unwrap();
        let passphrase = directory.path().join("passphrase");
        fs::write(&passphrase, "open sesame\n").unwrap();
        fs::set_permissions(&passphrase, Permissions::from_mode(0o600)).unwrap();
        let mut stage =
            Self { directory, root, old, run: String::new(), plan: String::new(), count: 0 };
        stage.must(&["init"], 0);
        stage.must(&["key", "make", "approval", "--passphrase-file", "../passphrase"], 0);
        stage.put_inputs();
        let made =
            [&stage.apply("edit"), "--overwrite", "-m", HOSTILE, "--agent", HOSTILE, "--json"]
                .map(str::to_owned);
        let arguments: Vec<&str> =
            std::iter::once("apply").chain(made.iter().map(String::as_str)).collect();
        stage.run = stage.must(&arguments, 0)["run"].as_str().unwrap().to_owned();
        let receipt = stage.actum(&["receipt", &stage.run]).stdout;
        fs::write(stage.directory.path().join("receipt.json"), receipt).unwrap();
        stage.plan = stage.fresh();
        stage.actum(&["run", "../task.json", "--agent", HOSTILE]);
        stage.actum(&["action", "run", "../action.json", "--agent", HOSTILE]);
        stage
    }

    fn actum(&self, arguments: &[&str]) -> Ended {
        actum(&self.root, arguments)
    }

    fn must(&self, arguments: &[&str], code: i32) -> Value {
        let ended = self.actum(arguments);
        assert_eq!(ended.code, code, "{arguments:?}: {ended:?}");
        serde_json::from_str(&ended.stdout).unwrap_or_default()
    }

    fn put(&self, name: &str, value: &Value) {
        fs::write(self.directory.path().join(name), value.to_string()).unwrap();
    }

    fn put_inputs(&self) {
        let edits =
            |old: &str| json!({ "edits": [{ "path": self.old, "old": old, "new": HOSTILE }] });
        self.put("stale.json", &edits(HOSTILE));
        self.put("new.json", &json!({ "files": [{ "path": HOSTILE, "content": HOSTILE }] }));
        self.put(
            "action.json",
            &json!({
                "actionType": "file_modify",
                "actionId": HOSTILE,
                "riskTier": "R2",
                "input": { "path": self.old, "content": HOSTILE },
                "rollbackPlan": { "kind": "file_restore" },
                "verification": { "required": true, "commands": [format!("sh {HOSTILE}")] },
                "scope": { "allowedFiles": [self.old] },
            }),
        );
        let operation = json!({ "type": "text_replace", "pattern": HOSTILE, "replacement": "x" });
        let action = |target: &str| {
            json!({
                "action_id": HOSTILE, "action_type": "FILE_MODIFY", "target": target,
                "operation": operation,
            })
        };
        let plan = json!({ "plan_id": "p", "action_plan": [action(".env"), action(&self.old)] });
        self.put("plan.json", &plan);
        fs::write(self.directory.path().join("config.yaml"), "").unwrap();
        let digest = |text: &str| actum_core::Digest::of(text.as_bytes()).to_string();
        self.put(
            "task.json",
            &json!({
                "format": "actum.task-envelope/1",
                "task_id": "task-7",
                "status": "APPROVED",
                "protocol_validation": true,
                "plan": { "file": "plan.json", "sha256": digest(&plan.to_string()) },
                "config": { "file": "config.yaml", "sha256": digest("") },
            }),
        );
        let package = self.directory.path().join("package");
        fs::create_dir(&package).unwrap();
        let manifest = json!({ "name": HOSTILE, "description": HOSTILE, HOSTILE: HOSTILE });
        fs::write(package.join("action.json"), manifest.to_string()).unwrap();
        fs::write(package.join(HOSTILE), HOSTILE).unwrap();
        let quoted = Value::from(HOSTILE).to_string().replace('\u{7f}', "\\u007f");
        let operator = operator_of(&self.root).join("actum");
        fs::create_dir_all(&operator).unwrap();
        let policy = format!(
            "version = 1\n[[tier]]\ntier = \"R3\"\npaths = [\"asks\"]\nwhy = {quoted}\n\
             [[command]]\nargv = [\"make\"]\ndecision = \"deny\"\nreason = {quoted}\n"
        );
        fs::write(operator.join("actum.toml"), policy).unwrap();
        fs::write(self.directory.path().join("tests.toml"), format!("{quoted} = 1\n")).unwrap();
    }

    /// Writes an input that changes the old file and, for a plan, the file `asks`. Returns the name of the input.
    fn apply(&mut self, kind: &str) -> String {
        self.count += 1;
        let content = format!("{} {HOSTILE}\n", self.count);
        let mut files = vec![json!({ "path": self.old, "content": content })];
        if kind == "asks" {
            files.push(json!({ "path": "asks", "content": content }));
        }
        let name = format!("{kind}{}.json", self.count);
        self.put(&name, &json!({ "files": files }));
        format!("../{name}")
    }

    /// Queues another plan.
    fn fresh(&mut self) -> String {
        let input = self.apply("asks");
        let arguments =
            ["apply", &input, "--overwrite", "-m", HOSTILE, "--agent", HOSTILE, "--json"];
        self.must(&arguments, 6)["plan"].as_str().unwrap().to_owned()
    }

    fn filled(&mut self, argument: &str) -> String {
        if argument == "{fresh}" {
            return self.fresh();
        }
        if argument == "../edit{n}.json" {
            return self.apply("edit");
        }
        self.count += 1;
        let old = self.old.clone();
        let filled = argument.replace("{old}", &old).replace("{h}", HOSTILE);
        let filled = filled.replace("{run}", &self.run).replace("{plan}", &self.plan);
        filled.replace("{n}", &self.count.to_string())
    }
}

/// Runs the program with standard output and standard error as pipes.
fn piped(root: &Path, arguments: &[&str]) -> Vec<u8> {
    let ended = command(root, arguments).stdin(Stdio::null()).output().unwrap();
    [ended.stdout, ended.stderr].concat()
}

/// Runs the program on a terminal that supports colours, and returns its complete output.
fn at_a_terminal(root: &Path, arguments: &[&str]) -> Vec<u8> {
    sent_to_terminal(command(root, &[&["--no-pager"], arguments].concat()))
}

fn sent_to_terminal(mut command: Command) -> Vec<u8> {
    let pty = nix::pty::openpty(None, None).unwrap();
    command.env("TERM", "xterm-256color").stdin(Stdio::null());
    command.stdout(pty.slave.try_clone().unwrap()).stderr(pty.slave);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut screen = Vec::new();
    // The terminal hangs up with EIO once the program has exited.
    fs::File::from(pty.master).read_to_end(&mut screen).ok();
    child.wait().unwrap();
    screen
}

/// D-5, AA-10
#[test]
fn environment_variables_cannot_start_a_pager_or_editor() {
    let (directory, root) = workspace();
    let marker = directory.path().join("started");
    let start = format!("touch {}", marker.display());
    let tool = directory.path().join("less");
    fs::write(&tool, format!("#!/bin/sh\n{start}\n")).unwrap();
    fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let mut log = command(&root, &["log"]);
    for name in ["ACTUM_PAGER", "PAGER", "EDITOR", "VISUAL", "LESSEDIT"] {
        log.env(name, &start);
    }
    log.env("PATH", directory.path());
    log.env("LESS", format!("+!{start}\n")).env("LESSOPEN", format!("||-{start}"));
    log.env("LESSCLOSE", &start).env("LESSKEYIN", directory.path().join("keys"));
    sent_to_terminal(log);
    assert!(!marker.exists());
}

/// Returns the text that a terminal would display for this output, or describes the control sequence that it would
/// obey.
fn shown(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        rest = rest.strip_prefix(c).unwrap_or_default();
        if c == '\x1b' {
            let sequence = rest.strip_prefix('[').and_then(|rest| rest.split_once('m'));
            let Some((_, behind)) = sequence.filter(|(words, _)| ATTRIBUTES.contains(words)) else {
                let next: String = rest.chars().take(8).collect();
                return Err(format!("obeys an escape before {next:?}"));
            };
            rest = behind;
        } else if is_not_shown(c) && !"\n\t".contains(c) && !(c == '\r' && rest.starts_with('\n')) {
            return Err(format!("is sent {c:?}"));
        } else if c != '\r' {
            shown.push(c);
        }
    }
    match shown.lines().find(|line| line.starts_with("FORGED")) {
        Some(line) => Err(format!("shows the forged line {line:?}")),
        None => Ok(shown),
    }
}

/// Returns the leaf commands of the command tree.
fn verbs(directory: &Path) -> BTreeSet<String> {
    let pages = directory.join("pages");
    fs::create_dir(&pages).unwrap();
    let ended = actum(directory, &["man", "--directory", "pages"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let names: Vec<_> = fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| Some(name.strip_suffix(".1")?.strip_prefix("actum-")?.to_owned()))
        .collect();
    let has_below =
        |name: &String| names.iter().any(|other| other.starts_with(&format!("{name}-")));
    names.iter().filter(|name| !has_below(name)).map(|name| name.replace('-', " ")).collect()
}

/// AA-5
#[test]
fn every_command_escapes_hostile_text() {
    let mut stage = Stage::new();
    let known: BTreeSet<_> = CASES.iter().map(|(verb, _, _)| (*verb).to_owned()).collect();
    assert_eq!(verbs(stage.directory.path()), known, "each verb has its cases");
    let mut wrong = Vec::new();
    for (verb, shows, lines) in CASES {
        let mut seen = false;
        for line in *lines {
            for is_terminal in [false, true] {
                let mut arguments: Vec<String> = verb.split(' ').map(str::to_owned).collect();
                arguments.extend(line.iter().map(|argument| stage.filled(argument)));
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let sent = match is_terminal {
                    false if *shows == HostileExact => continue,
                    false => piped(&stage.root, &arguments),
                    true => at_a_terminal(&stage.root, &arguments),
                };
                let what = format!("`actum {verb} {}`, terminal: {is_terminal}", line.join(" "));
                match shown(&sent) {
                    Ok(text) => seen |= is_seen(&text),
                    Err(why) => {
                        wrong.push(format!(
                            "{what} {why}\n{}",
                            String::from_utf8_lossy(&sent).escape_debug()
                        ));
                    }
                }
            }
        }
        let is_as_expected = seen == (*shows != Nothing);
        if !is_as_expected {
            wrong.push(format!("{verb}: shows hostile text: {seen}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Runs the program with a pipe and on a terminal, and returns both outputs as a reader sees them.
fn both(stage: &Stage, arguments: &[&str]) -> String {
    let seen = |sent: Vec<u8>| {
        shown(&sent).unwrap_or_else(|why| {
            panic!("{arguments:?} {why}\n{}", String::from_utf8_lossy(&sent).escape_debug())
        })
    };
    seen(piped(&stage.root, arguments)) + &seen(at_a_terminal(&stage.root, arguments))
}

/// AA-5
#[test]
fn every_command_escapes_tenant_names() {
    let stage = Stage::new();
    for (verb, _, _) in CASES {
        let mut arguments: Vec<&str> = verb.split(' ').collect();
        arguments.extend(["--tenant", HOSTILE]);
        assert!(is_seen(&both(&stage, &arguments)), "{verb}");
    }
}

/// AA-5: the operator owns the access policy, but texts quoted in it may come from another source.
#[test]
fn texts_in_access_policies_are_escaped() {
    let stage = Stage::new();
    let access = operator_of(&stage.root).join("actum/access");
    fs::create_dir(&access).unwrap();
    // The hostile text as a Cedar string, which accepts Rust's escape sequences.
    let quoted = format!("\"{}\"", HOSTILE.escape_unicode());
    let policies = [
        format!(
            "@id(\"all\")\npermit (principal, action, resource);\n@id({quoted})\n@reason({quoted})\nforbid (principal, action, resource);\n"
        ),
        format!(
            "@id(\"all\")\npermit (principal, action, resource) when {{ context[{quoted}] == 1 }};\n"
        ),
        format!(
            "permit (principal == User::{quoted}, action, resource) when {{ principal.{HOSTILE} }};\n"
        ),
        format!("@id({quoted}) permit (principal, action == Action::{quoted}, resource);\n"),
        HOSTILE.to_owned(),
    ];
    for policy in policies {
        fs::write(access.join("team.cedar"), &policy).unwrap();
        let mut seen = false;
        for arguments in [
            &["policy", "check"][..],
            &["policy", "explain", "a"],
            &["apply", "../stale.json"],
            &["status"],
            &["doctor"],
        ] {
            seen |= is_seen(&both(&stage, arguments));
        }
        assert!(seen, "{policy:?}");
    }
}

/// AA-9, AA-5: the output is escaped because the code of a package controls it.
#[test]
fn output_of_plugins_is_escaped() {
    let stage = Stage::new();
    let operator = operator_of(&stage.root).join("actum/actum.toml");
    fs::write(operator, "version = 1\n[plugins]\nallowPluginCodeExecution = true\n").unwrap();
    let package = stage.directory.path().join("probe");
    fs::create_dir(&package).unwrap();
    let manifest = json!({
        "name": "probe", "riskTier": "R2", "rollback": { "required": true },
        "inputSchema": { "type": "object" }, "outputSchema": { "type": "object" },
        "permissions": { "commands": [], "filesystem": "workspace" },
        "verification": { "required": true, "commands": [] },
    });
    fs::write(package.join("action.json"), manifest.to_string()).unwrap();
    let text = Value::from(HOSTILE).to_string().replace('\u{2028}', "\\u2028");
    let noise = format!("console.log({text}); console.error({text});");
    let checks =
        |ok: bool| format!("return {{ checks: [{{ name: {text}, ok: {ok}, message: {text} }}] }};");
    let thrown = format!("throw new Error({text});");
    let put = |name: &str, body: &str| {
        let code = format!("export default async function {name}() {{\n{noise}\n{body}\n}}\n");
        fs::write(package.join(format!("{name}.js")), code).unwrap();
    };
    put("rollback", "return null;");
    for (execute, verify) in [
        (format!("return {{ [{text}]: {text} }};"), checks(true)),
        ("return {};".to_owned(), checks(false)),
        (thrown.clone(), checks(true)),
        ("return {};".to_owned(), thrown.clone()),
    ] {
        put("execute", &execute);
        put("verify", &verify);
        assert!(is_seen(&both(&stage, &["plugin", "test", "../probe"])), "{execute} {verify}");
    }
}

/// D-5: a file with a confusable name cannot be created, but an existing one can be changed, deleted and restored.
#[test]
fn new_deceptive_names_are_denied_and_existing_ones_can_be_deleted() {
    let stage = Stage::new();
    let denied = stage.actum(&["apply", "../new.json"]);
    assert_eq!(denied.code, 1, "{denied:?}");
    assert!(denied.stderr.contains("the new name `h\\nFORGED a\\rFORGED b\\033[35m"), "{denied:?}");
    assert!(denied.stderr.contains("contains invisible characters"), "{denied:?}");
    fs::write(stage.root.join("plain"), "a\n").unwrap();
    let rename = "*** Begin Patch\n*** Update File: plain\n*** Move to: a\u{202e}b\n@@\n-a\n+b\n*** End Patch\n";
    fs::write(stage.directory.path().join("rename"), rename).unwrap();
    let denied = stage.actum(&["apply", "../rename"]);
    assert!(denied.stderr.contains("the new name `a\\342\\200\\256b`"), "{denied:?}");
    let delete = json!({ "files": [{ "path": stage.old, "content": null }] });
    stage.put("delete.json", &delete);
    let run = stage.must(&["apply", "../delete.json", "--json"], 0);
    assert!(!stage.root.join(&stage.old).exists());
    stage.must(&["undo", run["run"].as_str().unwrap()], 0);
    assert!(stage.root.join(&stage.old).exists());
}
