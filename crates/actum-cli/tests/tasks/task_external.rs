//! External pipelines of task plans. They have effects outside the workspace, run last, and cannot be rolled back
//! (EX-9, EX-12).

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;

use crate::program::{Ended, actum, approval_key, command, operator_of, workspace};
use crate::task::{action, after, create, document, plan, put, report, run, tree};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// Service outside the workspace that records each message it receives.
struct Service {
    listener: TcpListener,
    port: u16,
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        Self { listener, port }
    }

    /// Returns the messages received since the last call.
    fn messages(&self) -> Vec<String> {
        let mut messages = Vec::new();
        while let Ok((mut stream, _)) = self.listener.accept() {
            let mut message = String::new();
            stream.set_nonblocking(false).unwrap();
            stream.read_to_string(&mut message).unwrap();
            messages.push(message.trim().to_owned());
        }
        messages
    }
}

/// Returns a shell command that sends the first line of a file to the service.
fn send(service: &Service, file: &str) -> String {
    let port = service.port;
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; read -r line < {file}; echo \"$line $0\" >&3; exec 3>&-"
    )
}

fn external(name: &str, script: &str) -> String {
    let steps = json!([["bash", "-c", script, "{to}"]]);
    format!(
        "[[pipeline]]\nname = \"{name}\"\nexternal = true\nsteps = {steps}\n\
         [[pipeline.parameter]]\nname = \"to\"\none_of = [\"test\", \"production\"]\ndefault = \"test\"\n"
    )
}

fn declare(root: &Path, pipelines: &str) {
    let configuration = operator_of(root).join("actum");
    fs::create_dir_all(&configuration).unwrap();
    fs::write(configuration.join("actum.toml"), format!("version = 1\n{pipelines}")).unwrap();
}

fn pipeline(id: &str, name: &str) -> Value {
    let operation = json!({ "type": "pipeline_run", "pipeline": name });
    action(id, "PIPELINE_RUN", "ship.txt", operation)
}

/// Returns a plan that rolls nothing back after a failure.
fn keeping(actions: Value) -> Value {
    let mut plan = plan(actions);
    plan["execution_instructions"] = json!({ "rollback_on_failure": false });
    plan
}

/// Creates a workspace with an approval key, and returns the path of its passphrase file.
fn signed() -> (tempfile::TempDir, PathBuf, String) {
    let (directory, root) = workspace();
    let key = approval_key(&root);
    (directory, root, key)
}

fn approve(root: &Path, key: &str, id: &str, plan: &Value) -> Ended {
    put(root, plan, "");
    actum(root, &["plan", "approve", "../plan.json", "--task", id, "--passphrase-file", key])
}

fn run_approved(root: &Path) -> Ended {
    actum(root, &["run", "../task_envelope.json"])
}

/// Runs the approved task, and sends a signal once a pipeline has reached the service.
fn run_until_signal(root: &Path, service: &Service, signal: Signal) {
    let mut started = command(root, &["run", "../task_envelope.json"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while service.messages().is_empty() {
        assert!(started.try_wait().unwrap().is_none());
        thread::yield_now();
    }
    kill(Pid::from_raw(started.id().try_into().unwrap()), signal).unwrap();
    started.wait().unwrap();
}

/// Returns the external pipelines of the newest finished run, as recorded in its receipt.
fn recorded(root: &Path) -> Vec<Value> {
    let shown: Value = serde_json::from_str(&actum(root, &["show", "--json"]).stdout).unwrap();
    shown["record"]["external"].as_array().unwrap_or_else(|| panic!("{shown:#}")).clone()
}

/// EX-9, EX-13, D-8: an external pipeline has network access, sees the published changes, and runs once, after a signed
/// approval. The preview and the approval list its steps without running them, and the receipt and the report record
/// them. A rollback restores only the files and reports this.
#[test]
fn an_external_pipeline_runs_once_after_the_change_is_published() {
    let (_directory, root, key) = signed();
    let service = Service::start();
    declare(&root, &external("deploy", &send(&service, "ship.txt")));
    let before = tree(&root);
    let mut deploy = after(pipeline("deploy", "deploy"), "make");
    deploy["operation"]["parameters"] = json!({ "to": "production" });
    let steps = keeping(json!([create("make", "ship.txt"), deploy]));

    let unsigned = run(&root, &steps);
    assert_eq!(unsigned.code, 6, "{unsigned:?}");
    let error = document(&root, "error_report.json");
    assert_eq!(error["error_code"], 1007, "{error:#}");
    let ground =
        "R4: the plan runs `deploy` outside the workspace, where its effects cannot be undone";
    assert!(error["message"].as_str().unwrap().contains(ground), "{error:#}");
    let queued = actum(&root, &["queue", "--json"]);
    let queued: Value = serde_json::from_str(&queued.stdout).unwrap();
    let waiting = queued["plans"][0]["plan"].as_str().unwrap_or_else(|| panic!("{queued:#}"));
    let asked = actum(&root, &["queue", waiting]).stdout;
    assert!(asked.contains("runs     ") && asked.contains("/dev/tcp/127.0.0.1"), "{asked}");
    let preview = actum(&root, &["plan", "preview", "../plan.json"]);
    for shown in [
        "later    deploy  Pipeline 'deploy' runs after the change",
        "/dev/tcp/127.0.0.1",
        " production\n",
        ground,
    ] {
        assert!(preview.stdout.contains(shown), "{shown}: {}", preview.stdout);
    }
    let approved = approve(&root, &key, "ship", &steps);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert!(approved.stderr.contains(" production\n"), "{approved:?}");
    assert_eq!(service.messages(), [""; 0]);

    let done = run_approved(&root);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(service.messages(), ["made production"]);
    let report = document(&root, "execution_report.json");
    assert_eq!(report["status"], "SUCCESS", "{report:#}");
    let output = report["actions_completed"][1]["output"].as_str().unwrap();
    assert!(output.contains("their effects cannot be rolled back"), "{output}");
    assert_eq!(report["actions_completed"][1]["details"]["pipeline"]["name"], "deploy");
    let ran = &recorded(&root)[0];
    assert_eq!((&ran["ended"], &ran["name"]), (&json!("succeeded"), &json!("deploy")));
    assert_eq!(ran["commands"][0]["argv"][3], "production", "{ran:#}");
    let shown = actum(&root, &["show"]).stdout;
    assert!(
        shown.contains(
            "outside    pipeline deploy: it succeeded; undoing the run does not undo its effects"
        ),
        "{shown}"
    );

    let again = run_approved(&root);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(service.messages(), [""; 0], "a task is carried out once");
    let back = actum(&root, &["rollback", "ship"]);
    assert_eq!(back.code, 0, "{back:?}");
    assert!(format!("{}{}", back.stdout, back.stderr).contains("`deploy`"), "{back:?}");
    assert_eq!(tree(&root), before);
    assert_eq!(service.messages(), [""; 0]);
}

/// EX-9, EX-12: a plan that promises a rollback after a failure cannot contain an external pipeline. It is rejected
/// before anything is done, with an error code and a position. An action after an external pipeline and a declaration
/// with outputs are rejected in the same way.
#[test]
fn plan_that_cannot_keep_its_rollback_guarantee_is_refused() {
    let (_directory, root) = workspace();
    declare(&root, &external("deploy", "true"));
    let lint = |plan: &Value| {
        put(&root, plan, "");
        let shown = actum(&root, &["plan", "lint", "../plan.json"]);
        assert_eq!(shown.code, 1, "{shown:?}");
        shown.stdout
    };
    let rolls_back = lint(&plan(json!([create("make", "ship.txt"), pipeline("deploy", "deploy")])));
    assert!(rolls_back.contains("(1051 NOT_REVERSIBLE)"), "{rolls_back}");
    assert!(rolls_back.contains("`rollback_on_failure` to `false` in"), "{rolls_back}");
    let preview = actum(&root, &["plan", "preview", "../plan.json"]);
    assert!(preview.code == 1 && preview.stdout.contains("(1051 NOT_REVERSIBLE)"), "{preview:?}");
    let mut first = create("make", "b.txt");
    first["depends_on"] = json!(["deploy"]);
    let behind = lint(&keeping(json!([pipeline("deploy", "deploy"), first])));
    assert!(behind.contains("(1054 PIPELINE_NOT_LAST)"), "{behind}");
    for (key, shown) in [
        ("outputs = [\"a\"]", "cannot change the workspace"),
        ("inputs = [\"a\"]", "always runs after all other actions"),
    ] {
        let text =
            format!("[[pipeline]]\nname = \"x\"\nexternal = true\nsteps = [[\"true\"]]\n{key}\n");
        declare(&root, &text);
        let check = actum(&root, &["policy", "check"]);
        assert!(check.code != 0 && check.stderr.contains(shown), "{key}: {check:?}");
    }
    let own = external("deploy", "true");
    declare(&root, "");
    fs::write(root.join("actum.toml"), format!("version = 1\n{own}")).unwrap();
    let check = actum(&root, &["policy", "check"]);
    assert!(check.stderr.contains("it sets `pipeline`"), "a workspace declares none: {check:?}");
}

/// EX-9, EX-18: after an external pipeline fails, the earlier change stays published, the pipeline's own writes are
/// refused, and later pipelines do not start. The report, the exit code and the receipt record the failure.
#[test]
fn failed_external_pipeline_keeps_the_change_and_stops_later_ones() {
    let (_directory, root, key) = signed();
    let service = Service::start();
    let deploy = send(&service, "ship.txt");
    let fails = external("fails", "echo x > ship.txt || { echo refused >&2; exit 3; }");
    declare(&root, &(fails + &external("deploy", &deploy)));
    let steps = keeping(json!([
        create("make", "ship.txt"),
        after(pipeline("fails", "fails"), "make"),
        after(pipeline("deploy", "deploy"), "fails"),
    ]));
    assert_eq!(approve(&root, &key, "ship", &steps).code, 0);
    let ended = run_approved(&root);
    assert_eq!(ended.code, 4, "{ended:?}");
    assert_eq!(service.messages(), [""; 0]);
    assert_eq!(fs::read_to_string(root.join("ship.txt")).unwrap(), "made\n");
    let report = document(&root, "execution_report.json");
    assert_eq!(report["status"], "PARTIAL", "{report:#}");
    let failed = &report["actions_failed"][0];
    assert_eq!((&failed["action_id"], &failed["error_code"]), (&json!("fails"), &json!(1130)));
    let message = failed["error_message"].as_str().unwrap();
    assert!(message.contains("it exited with code 3") && message.contains("refused"), "{message}");
    assert_eq!(report["actions_skipped"][0]["reason"], "Dependency failed: `fails`");
    assert_eq!(document(&root, "error_report.json")["error_code"], 1130);
    let ends: Vec<_> = recorded(&root).iter().map(|it| it["ended"].clone()).collect();
    assert_eq!(ends, ["failed", "not_started"]);

    let path = crate::task::report(&root).join("execution_report.json");
    let forged = fs::read_to_string(&path).unwrap().replace("1130", "2007");
    fs::write(&path, &forged).unwrap();
    let same = run_approved(&root);
    assert_eq!(same.code, 4, "an external action is no part of the digest: {same:?}");
    let mut forged: Value = serde_json::from_str(&forged).unwrap();
    let mut done = forged["actions_completed"][0].clone();
    done["action_id"] = json!("fails");
    forged["actions_completed"].as_array_mut().unwrap().push(done);
    forged["actions_failed"] = json!([]);
    forged["actions_summary"] = json!({ "total": 3, "completed": 2, "failed": 0, "skipped": 1 });
    fs::write(&path, forged.to_string()).unwrap();
    let refused = run_approved(&root);
    assert!(refused.stdout.contains("was changed since"), "{refused:?}");
}

/// EX-9: no external pipeline starts if the change is not published, or if an action that it depends on was not done.
#[test]
fn an_external_pipeline_does_not_start_without_its_change() {
    let (_directory, root, key) = signed();
    let service = Service::start();
    declare(&root, &external("deploy", &send(&service, "ship.txt")));
    fs::write(root.join("kept.txt"), "kept\n").unwrap();
    let mut wrong = create("make", "ship.txt");
    wrong["preconditions"] = json!([{ "type": "file_exists", "path": "none.txt" }]);
    let steps = keeping(json!([wrong, after(pipeline("deploy", "deploy"), "make")]));
    let refused = approve(&root, &key, "ship", &steps);
    assert_ne!(refused.code, 0, "a plan that would fail is not approved: {refused:?}");

    let steps =
        keeping(json!([create("make", "ship.txt"), after(pipeline("deploy", "deploy"), "make")]));
    assert_eq!(approve(&root, &key, "ship", &steps).code, 0);
    fs::write(root.join("ship.txt"), "somebody else's\n").unwrap();
    let ended = run_approved(&root);
    assert_ne!(ended.code, 0, "{ended:?}");
    assert_eq!(service.messages(), [""; 0]);
}

/// EX-9: if another process changes a file while one external pipeline runs, the next one does not start.
#[test]
fn external_pipeline_does_not_start_on_files_changed_since() {
    let (_directory, root, key) = signed();
    let service = Service::start();
    let waits = format!("exec 3<>/dev/tcp/127.0.0.1/{}; read -r -u 3 line", service.port);
    declare(&root, &(external("first", &waits) + &external("deploy", &send(&service, "ship.txt"))));
    let steps = keeping(json!([
        create("make", "ship.txt"),
        pipeline("first", "first"),
        pipeline("deploy", "deploy"),
    ]));
    assert_eq!(approve(&root, &key, "ship", &steps).code, 0);
    let started = command(&root, &["run", "../task_envelope.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stream = loop {
        match service.listener.accept() {
            Ok((stream, _)) => break stream,
            Err(_) => thread::yield_now(),
        }
    };
    fs::write(root.join("ship.txt"), "somebody else's\n").unwrap();
    stream.write_all(b"go\n").unwrap();
    let ended: Ended = started.wait_with_output().unwrap().into();
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(
        ended
            .stdout
            .contains("The pipeline was not started: `ship.txt` was changed by another process"),
        "{ended:?}"
    );
    assert_eq!(document(&root, "error_report.json")["error_code"], 1132);
    assert_eq!(service.messages(), [""; 0]);
}

/// EX-1, EX-9, D-3: an approval covers only the commands that were shown. Changing the declaration or a parameter value
/// makes it a different plan.
#[test]
fn approval_covers_only_the_commands_shown() {
    let (_directory, root, key) = signed();
    let service = Service::start();
    declare(&root, &external("deploy", &send(&service, "ship.txt")));
    let steps = keeping(json!([create("make", "ship.txt"), pipeline("deploy", "deploy")]));
    assert_eq!(approve(&root, &key, "ship", &steps).code, 0);
    declare(&root, &external("deploy", &format!("{} # changed", send(&service, "ship.txt"))));
    let ended = run_approved(&root);
    assert_eq!(ended.code, 1, "{ended:?}");
    let error = document(&root, "error_report.json");
    assert_eq!(error["error_code"], 1005, "{error:#}");
    assert!(
        error["message"].as_str().unwrap().contains("an external pipeline of the plan is declared"),
        "{error:#}"
    );
    assert!(!root.join("ship.txt").exists());
    assert_eq!(service.messages(), [""; 0]);
}

/// EX-9: a plan with only external effects is also a run with a receipt, and is carried out once.
#[test]
fn a_plan_can_consist_of_an_external_pipeline() {
    let (_directory, root, key) = signed();
    let service = Service::start();
    fs::write(root.join("ship.txt"), "there\n").unwrap();
    declare(&root, &external("deploy", &send(&service, "ship.txt")));
    let before = tree(&root);
    let steps = keeping(json!([pipeline("deploy", "deploy")]));
    assert_eq!(approve(&root, &key, "ship", &steps).code, 0);
    for expected in [vec!["there test"], Vec::new()] {
        let ended = run_approved(&root);
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(service.messages(), expected);
        assert_eq!(document(&root, "execution_report.json")["status"], "SUCCESS");
    }
    assert_eq!(recorded(&root)[0]["ended"], "succeeded");
    assert_eq!(tree(&root), before);
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

/// EX-9, EX-13, EX-18: if the process of a task is killed while an external pipeline runs, the next process reports it.
/// The change is published, the pipeline's effect is unknown, an alert is raised, and nothing runs again.
#[test]
fn external_pipeline_outcome_is_unknown_after_a_kill() {
    let (_directory, root, key) = signed();
    let service = Service::start();
    let script = format!("{}; sleep 1000", send(&service, "ship.txt"));
    declare(&root, &(external("deploy", &script) + &external("tell", &send(&service, "ship.txt"))));
    let steps = keeping(json!([
        create("make", "ship.txt"),
        after(pipeline("deploy", "deploy"), "make"),
        after(pipeline("tell", "tell"), "deploy"),
    ]));
    assert_eq!(approve(&root, &key, "ship", &steps).code, 0);
    run_until_signal(&root, &service, Signal::SIGKILL);
    let recovered = actum(&root, &["recover"]);
    assert_eq!(recovered.code, 0, "{recovered:?}");
    let shown = document(&root, "execution_report.json");
    assert_eq!(shown["status"], "PARTIAL", "{shown:#}");
    assert_eq!(shown["actions_completed"][0]["action_id"], "make");
    let failed = &shown["actions_failed"][0];
    assert_eq!((&failed["action_id"], &failed["error_code"]), (&json!("deploy"), &json!(5004)));
    assert_eq!(shown["actions_skipped"][0]["action_id"], "tell");
    assert_eq!(document(&root, "error_report.json")["error_code"], 5004);
    assert_eq!(recorded(&root)[0]["ended"], "unknown");
    let alerts = actum(&root, &["queue"]);
    assert!(format!("{}{}", alerts.stdout, alerts.stderr).contains("5004"), "{alerts:?}");
    let reported = report(&root);
    let again = run_approved(&root);
    assert_eq!(report(&root), reported, "{again:?}");
    assert_eq!(service.messages(), [""; 0]);
}

/// EX-9, EX-22: a signal stops the running pipeline, prevents later ones, and keeps the change. An undo names the
/// pipeline whose effects remain.
#[test]
fn signal_stops_an_external_pipeline_and_keeps_the_change() {
    let (_directory, root, key) = signed();
    let service = Service::start();
    let script = format!("{}; sleep 1000", send(&service, "ship.txt"));
    declare(&root, &(external("deploy", &script) + &external("tell", &send(&service, "ship.txt"))));
    let steps = keeping(json!([
        create("make", "ship.txt"),
        pipeline("deploy", "deploy"),
        pipeline("tell", "tell"),
    ]));
    assert_eq!(approve(&root, &key, "ship", &steps).code, 0);
    run_until_signal(&root, &service, Signal::SIGINT);
    let shown = document(&root, "execution_report.json");
    assert_eq!(shown["status"], "PARTIAL", "{shown:#}");
    assert_eq!(shown["actions_failed"][0]["action_id"], "deploy", "{shown:#}");
    assert_eq!(shown["actions_skipped"][0]["action_id"], "tell", "{shown:#}");
    assert_eq!(fs::read_to_string(root.join("ship.txt")).unwrap(), "made\n");
    assert_eq!(service.messages(), [""; 0]);
    assert_eq!(recorded(&root)[0]["ended"], "failed");
    let undone = actum(&root, &["undo"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert!(
        undone.stderr.contains("the pipeline `deploy` ran outside the workspace"),
        "{undone:?}"
    );
    assert!(!undone.stderr.contains("`tell`") && !root.join("ship.txt").exists(), "{undone:?}");
    for verb in ["redo", "undo"] {
        let done = actum(&root, &[verb]);
        assert_eq!(done.code, 0, "{done:?}");
        assert!(done.stderr.contains("cannot be undone or redone"), "{verb}: {done:?}");
    }
    assert_eq!(service.messages(), [""; 0]);
}

/// EX-9, EX-21: an external pipeline cannot reach host sockets by path or by abstract name. It cannot send raw packets
/// or see actum's state, and its time is limited.
#[test]
fn external_pipeline_gets_only_network_access() {
    let (_directory, root, key) = signed();
    let attempts = [
        "socket.socket(socket.AF_UNIX)",
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "open('new.txt', 'w')",
        "os.listdir('.actum/runs')",
    ];
    let script = format!(
        "import os, socket, sys\nsocket.socket(socket.AF_INET).close()\nfor attempt in {attempts:?}:\n    try:\n        eval(attempt)\n    \
         except OSError:\n        continue\n    sys.exit(attempt)\n"
    );
    let steps = json!([["python3", "-c", script]]);
    let text = format!(
        "[[pipeline]]\nname = \"tries\"\nexternal = true\nsteps = {steps}\n\
         [[pipeline]]\nname = \"hangs\"\nexternal = true\nsteps = [[\"sleep\", \"1000\"]]\ntimeout_seconds = 1\n"
    );
    declare(&root, &text);
    let steps = keeping(json!([pipeline("tries", "tries"), pipeline("hangs", "hangs")]));
    assert_eq!(approve(&root, &key, "ship", &steps).code, 0);
    let ended = run_approved(&root);
    assert_eq!(ended.code, 4, "{ended:?}");
    let report = document(&root, "execution_report.json");
    assert_eq!(report["actions_completed"][0]["action_id"], "tries", "{report:#}");
    assert_eq!(report["actions_failed"][0]["error_code"], 2007, "{report:#}");
}
