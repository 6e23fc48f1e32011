//! Pipelines of task plans (EX-8, EX-9).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use crate::program::{actum, approval_key, command, home_of, operator_of, workspace};
use crate::task::{action, after, create, document, plan, put, run, run_as, tree};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// Creates a workspace whose operator declares these pipelines.
fn declared(pipelines: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let (directory, root) = workspace();
    declare(&root, pipelines);
    (directory, root)
}

fn declare(root: &Path, pipelines: &str) {
    let configuration = operator_of(root).join("actum");
    fs::create_dir_all(&configuration).unwrap();
    fs::write(configuration.join("actum.toml"), format!("version = 1\n{pipelines}")).unwrap();
}

fn pipeline(id: &str, target: &str, name: &str, parameters: Value) -> Value {
    let operation = json!({"type": "pipeline_run", "pipeline": name, "parameters": parameters});
    action(id, "PIPELINE_RUN", target, operation)
}

/// Returns the code and message of the first failed action in the newest report.
fn failed(root: &Path) -> (Value, String) {
    let report = document(root, "execution_report.json");
    let failed = &report["actions_failed"][0];
    (failed["error_code"].clone(), failed["error_message"].as_str().unwrap_or_default().to_owned())
}

const BUILD: &str = r#"
[[pipeline]]
name = "build"
steps = [
    ["sh", "-c", "mkdir -p out/deep && cat src.txt > out/deep/one.txt && echo x > out/gone", "sh"],
    ["sh", "-c", "tr a-z A-Z < out/deep/one.txt > out/two.txt; echo $0 $LEVEL > out/level; rm out/gone", "{level}"],
]
env = ["LEVEL=high"]
outputs = ["out/**"]
[[pipeline.parameter]]
name = "level"
min = 1
max = 9
default = 3

[[pipeline]]
name = "check"
steps = [["grep", "-q", "MADE", "two.txt"]]
cwd = "out"
outputs = []
"#;

/// EX-9, EX-13, EX-15: the steps of a pipeline see the staged changes of earlier actions and the files of earlier
/// steps. Their commands and outputs are reported and recorded. The task can be rolled back byte for byte, with and
/// without actum.
#[test]
fn pipeline_runs_on_staged_files_and_is_rolled_back() {
    let (_directory, root) = declared(BUILD);
    let before = tree(&root);
    let actions = json!([
        create("make", "src.txt"),
        after(pipeline("build", "out", "build", json!({"level": 7})), "make"),
        after(pipeline("check", "out/two.txt", "check", json!({})), "build"),
    ]);
    let ended = run(&root, &plan(actions));
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains("Pipeline 'build' ran 2 steps and changed 3 files"), "{ended:?}");
    assert_eq!(fs::read_to_string(root.join("out/two.txt")).unwrap(), "MADE\n");
    assert_eq!(fs::read_to_string(root.join("out/level")).unwrap(), "7 high\n");
    assert!(!root.join("out/gone").exists());
    let log = document(&root, "change_log.json");
    let changes = log["changes"].as_array().unwrap().iter();
    let changes: BTreeSet<_> = changes.map(|it| it["file_path"].as_str().unwrap()).collect();
    let expected = ["out/deep/one.txt", "out/level", "out/two.txt", "src.txt"];
    assert_eq!(changes, BTreeSet::from(expected));
    let report = document(&root, "execution_report.json");
    let details = &report["actions_completed"][1]["details"]["pipeline"];
    let program = &details["steps"][1]["program"];
    assert_eq!((&details["name"], program), (&json!("build"), &json!("sh")), "{report:#}");
    assert_eq!(details["confinement"]["tier"], "N");
    let shown = actum(&root, &["show", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let made = shown["record"]["commands"]["made"].as_array().unwrap();
    assert_eq!(made.len(), 3, "{shown:#}");
    assert_eq!(made[2]["argv"], json!(["grep", "-q", "MADE", "two.txt"]));

    let name = crate::task::report(&root).file_name().unwrap().to_str().unwrap().to_owned();
    let copy = root.join("../copy");
    let copied = std::process::Command::new("cp").arg("-a").args([&root, &copy]).status();
    assert!(copied.unwrap().success());
    let script = format!("{}/{name}/rollback.sh", crate::task::REPORTS);
    let script = std::process::Command::new("sh").arg(script).current_dir(&copy).output().unwrap();
    assert!(script.status.success(), "{script:?}");
    assert_eq!(tree(&copy), before);
    let rolled_back = actum(&root, &["rollback", "task-7"]);
    assert_eq!(rolled_back.code, 0, "{rolled_back:?}");
    assert_eq!(tree(&root), before);
}

/// EX-9, EX-12, EX-18, EX-21: a pipeline has no effect if it fails, hangs, floods its output, or changes files that are
/// not declared outputs. The report names the step and the reason.
#[test]
fn failed_pipeline_changes_nothing_and_reports_the_step() {
    let step = |name: &str, script: &str| {
        let script = json!(["sh", "-c", script]).to_string();
        format!(
            "[[pipeline]]\nname = \"{name}\"\nsteps = [[\"true\"], {script}]\noutputs = [\"out/**\"]\n"
        )
    };
    let cases = [
        ("fails", "echo broken >&2; exit 7", 1130, "; its output: broken"),
        (
            "outside",
            "echo x > other.txt",
            1131,
            "changed `other.txt`, but the pipeline's outputs are `out/**`",
        ),
        ("removes", "rm a.txt", 1131, "changed `a.txt`"),
        ("empties", "mkdir elsewhere", 1131, "changed `elsewhere`"),
        ("links", "mkdir out; ln -s /etc/passwd out/link", 1131, "`out/link` is a symbolic link"),
        ("hides", "mkdir out; echo x > out/.env", 3100, ".env"),
        ("hangs", "sleep 1000", 2007, "exceeded the pipeline's time limit of 1 s"),
        ("floods", "yes", 1130, "its limit of output"),
        ("killed", "kill -9 $$", 1130, "signal 9"),
        ("misses", "exec /no/such/program", 1130, "not found"),
    ];
    let pipelines: String = cases.iter().map(|(name, script, ..)| step(name, script)).collect();
    let absent = "[[pipeline]]\nname = \"absent\"\nsteps = [[\"no-such-program\"]]\noutputs = []\n";
    let unstarted = "[[pipeline]]\nname = \"unstarted\"\nsteps = [[\"./tool\"]]\noutputs = []\n";
    let (_directory, root) = declared(&(pipelines + absent + unstarted));
    fs::write(root.join("tool"), "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(root.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    let before = tree(&root);
    let cases = cases.into_iter().map(|(name, _, code, expected)| (name, code, expected));
    let others =
        [("absent", 1130, "cannot find `no-such-program`"), ("unstarted", 1130, "its interpreter")];
    for (name, code, expected) in cases.chain(others) {
        let mut run = pipeline("run", "out", name, json!({}));
        run["timeout_seconds"] = json!(if name == "hangs" { 1 } else { 60 });
        let ended = run_as(&root, name, &plan(json!([run])));
        assert_ne!(ended.code, 0, "{name}: {ended:?}");
        let message = match code {
            3100 => ended.stderr + &ended.stdout,
            _ => {
                let (found, message) = failed(&root);
                assert_eq!(found, json!(code), "{name}: {message}");
                message
            }
        };
        assert!(message.contains(expected), "{name}: {message}");
        assert_eq!(tree(&root), before, "{name}");
    }
}

/// EX-4, EX-9: a plan may only name pipelines that the operator declares, with their parameters, or else the entire
/// plan is rejected. A workspace cannot declare pipelines.
#[test]
fn a_plan_runs_only_declared_pipelines_with_their_parameters() {
    let (_directory, root) = declared(BUILD);
    let before = tree(&root);
    let cases = [
        ("biuld", json!({}), 1052, "does not declare a pipeline `biuld`; did you mean `build`?"),
        ("build", json!({"level": 10}), 1053, "must be a whole number from 1 to 9, but is `10`"),
        ("build", json!({"level": "7; rm"}), 1053, "is a string"),
        ("build", json!({"level": 1.5}), 1053, "`1.5`"),
        ("build", json!({"other": 1}), 1053, "no parameter `other`; valid parameters: `level`"),
    ];
    for (name, parameters, code, expected) in cases {
        let actions = json!([create("make", "src.txt"), pipeline("run", "out", name, parameters)]);
        let ended = run_as(&root, "refused", &plan(actions));
        assert_eq!(ended.code, 1, "{ended:?}");
        let error = document(&root, "error_report.json");
        assert_eq!(error["error_code"], json!(code), "{error:#}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(tree(&root), before);
    fs::write(root.join("actum.toml"), format!("version = 1\n{BUILD}")).unwrap();
    let refused = actum(&root, &["policy", "check"]);
    assert!(refused.stderr.contains("only the operator's policy can"), "{refused:?}");
}

/// Returns pipelines that wait until a file `go` appears in a directory outside the workspace.
fn waiting(root: &Path, token: &str) -> String {
    let outside = signals(root);
    fs::create_dir_all(&outside).unwrap();
    let outside = outside.to_str().unwrap();
    let sandbox = format!("[sandbox]\nread = [{}]\n", json!(outside));
    ["a", "b", "c", "d"].iter().fold(sandbox, |text, name| {
        let script = "until [ -e $2/go ]; do sleep 0.05; done; mkdir $0; echo $1 > $0/result";
        let script = json!(["sh", "-c", script, name, token, outside]).to_string();
        text + &format!(
            "[[pipeline]]\nname = \"{name}\"\nsteps = [{script}]\ninputs = [\"{name}/**\"]\noutputs = [\"{name}/**\"]\n"
        )
    })
}

fn signals(root: &Path) -> std::path::PathBuf {
    root.canonicalize().unwrap().with_file_name("signals")
}

/// Returns the directories whose pipelines are running, read from the arguments of their shells.
fn at_work(token: &str) -> BTreeSet<Vec<u8>> {
    let arguments = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let arguments = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        let words: Vec<&[u8]> = arguments.split(|byte| *byte == 0).collect();
        let [_, b"-c", _, name, found, ..] = words.as_slice() else { return None };
        (*found == token.as_bytes()).then(|| name.to_vec())
    });
    arguments.collect()
}

fn four(order: &str) -> Value {
    let each = ["a", "b", "c", "d"];
    let actions = each.map(|name| pipeline(name, &format!("{name}/result"), name, json!({})));
    let mut plan = plan(json!(actions));
    plan["execution_instructions"] = json!({ "execution_order": order });
    plan
}

/// Returns a report without the values that differ between runs.
fn without_chance(root: &Path) -> (Value, Value) {
    fn clear(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.retain(|name, _| {
                    let chance = [
                        "_id",
                        "_at",
                        "_to",
                        "_ms",
                        "timestamp",
                        "modified",
                        "duration",
                        "run",
                        "receipt",
                        "notes",
                    ];
                    !chance.iter().any(|it| name.contains(it)) || name == "action_id"
                });
                members.values_mut().for_each(clear);
            }
            Value::Array(values) => values.iter_mut().for_each(clear),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut reports = ["execution_report.json", "change_log.json"].map(|it| document(root, it));
    reports.iter_mut().for_each(clear);
    let [report, log] = reports;
    (report, log)
}

/// EX-8: independent pipelines run concurrently if the plan allows it, up to `max_parallel` of them. Their reports
/// equal those of a plan that runs them one after another.
#[test]
fn parallel_pipelines_report_like_sequential_ones() {
    let token = "actum-pipelines-at-once";
    let (_directory, root) = workspace();
    declare(&root, &waiting(&root, token));
    put(&root, &four("parallel"), "");
    let mut started = command(&root, &["run", "../task.json"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while at_work(token).len() < 4 {
        assert!(started.try_wait().unwrap().is_none(), "{:?}", at_work(token));
        std::thread::yield_now();
    }
    fs::write(signals(&root).join("go"), "").unwrap();
    assert!(started.wait().unwrap().success());
    let at_once = without_chance(&root);
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    let one_after_the_other = run_as(&root, "sequential", &four("sequential"));
    assert_eq!(one_after_the_other.code, 0, "{one_after_the_other:?}");
    assert_eq!(without_chance(&root), at_once);
    assert_eq!(actum(&root, &["rollback", "sequential"]).code, 0);

    put(&root, &four("parallel"), "limits: {max_parallel: 2}\n");
    crate::task::edit_envelope(&root, |envelope| envelope["task_id"] = json!("two"));
    assert_eq!(actum(&root, &["run", "../task.json"]).code, 0);
    let report = document(&root, "execution_report.json");
    let begun = report["actions_completed"].as_array().unwrap().iter();
    let begun: Vec<_> = begun.map(|it| it["started_at"].clone()).collect();
    assert_eq!(begun.len(), 4);
    assert!(begun[0] == begun[1] && begun[1] != begun[2] && begun[2] == begun[3], "{begun:?}");
}

/// EX-7, EX-8, EX-22: a task that is killed or interrupted while four pipelines run leaves no processes and no changes.
#[test]
fn task_killed_during_its_pipelines_leaves_no_processes_or_changes() {
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let token = format!("actum-pipelines-killed-{signal}");
        let (_directory, root) = workspace();
        declare(&root, &waiting(&root, &token));
        let before = tree(&root);
        put(&root, &four("parallel"), "");
        let mut started = command(&root, &["run", "../task.json"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while at_work(&token).len() < 4 {
            assert!(started.try_wait().unwrap().is_none());
            std::thread::yield_now();
        }
        kill(Pid::from_raw(started.id().try_into().unwrap()), signal).unwrap();
        started.wait().unwrap();
        while !at_work(&token).is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(tree(&root), before);
        if signal == Signal::SIGINT {
            assert_eq!(document(&root, "execution_report.json")["status"], "CANCELLED");
        }
        assert_eq!(run_as(&root, "next", &plan(json!([create("a", "new.txt")]))).code, 0);
    }
}

/// EX-8, EX-9: a pipeline that may read the output of another step does not run concurrently with it.
#[test]
fn a_pipeline_that_may_read_another_output_runs_after_it() {
    let (_directory, root) = declared(
        r#"
[[pipeline]]
name = "write"
steps = [["sh", "-c", "echo one > a.out"]]
outputs = ["a.out"]
[[pipeline]]
name = "read"
steps = [["cp", "a.out", "b.out"]]
outputs = ["b.out"]
"#,
    );
    let actions = json!([
        pipeline("write", "a.out", "write", json!({})),
        pipeline("read", "b.out", "read", json!({})),
    ]);
    let mut both = plan(actions);
    both["execution_instructions"] = json!({ "execution_order": "parallel" });
    let ended = run(&root, &both);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(fs::read_to_string(root.join("b.out")).unwrap(), "one\n");
}

/// EX-1, EX-9: a pipeline's change is approved like any other. If its result varies, the one that was shown is
/// published as long as its inputs and outputs are unchanged. Without declared inputs this cannot be checked, so the
/// plan is not approved.
#[test]
fn signed_approval_covers_only_the_result_shown() {
    let (_directory, root) = declared(
        r#"
[[pipeline]]
name = "same"
steps = [["sh", "-c", "echo same > out.txt"]]
outputs = ["out.txt"]
[[pipeline]]
name = "other"
steps = [["cp", "/proc/sys/kernel/random/uuid", "out.txt"]]
outputs = ["out.txt"]
[[pipeline]]
name = "kept"
steps = [["sh", "-c", "cat in.txt /proc/sys/kernel/random/uuid > out.txt"]]
inputs = ["in.txt"]
outputs = ["out.txt"]
"#,
    );
    fs::write(root.join("in.txt"), "one\n").unwrap();
    let key = approval_key(&root);
    let approve = |name: &str| {
        let mut run = pipeline("run", "out.txt", name, json!({}));
        run["risk_level"] = json!("HIGH");
        let mut plan = plan(json!([run]));
        plan["plan_id"] = json!(name);
        put(&root, &plan, "");
        actum(&root, &["plan", "approve", "../plan.json", "--passphrase-file", &key])
    };
    let refused = approve("other");
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("is not reproducible"), "{refused:?}");
    let approved = approve("same");
    assert_eq!(approved.code, 0, "{approved:?}");
    let ended = actum(&root, &["run", "../task_envelope.json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(fs::read_to_string(root.join("out.txt")).unwrap(), "same\n");

    let approved = approve("kept");
    assert_eq!(approved.code, 0, "{approved:?}");
    // A stored result that a power failure damaged is computed again.
    let kept: Vec<_> = fs::read_dir(home_of(&root).join("sql/results")).unwrap().collect();
    for kept in kept {
        fs::write(kept.unwrap().path().join("report"), "").unwrap();
    }
    let approved = approve("kept");
    assert_eq!(approved.code, 0, "{approved:?}");
    fs::write(root.join("in.txt"), "two\n").unwrap();
    let moved = actum(&root, &["run", "../task_envelope.json"]);
    assert_ne!(moved.code, 0, "another input gives another result: {moved:?}");
    assert_eq!(document(&root, "error_report.json")["error_code"], 1005);
    assert_eq!(fs::read_to_string(root.join("out.txt")).unwrap(), "same\n");
    fs::write(root.join("in.txt"), "one\n").unwrap();
    let ended = actum(&root, &["run", "../task_envelope.json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let report = document(&root, "execution_report.json");
    assert_eq!(report["actions_completed"][0]["details"]["pipeline"]["was_kept"], true);
    let preview = actum(&root, &["show", "--diff"]);
    let left = fs::read_to_string(root.join("out.txt")).unwrap();
    assert!(left.starts_with("one\n") && left.len() == 41, "{left} {preview:?}");
}
