//! Steps of benign and hostile plugin packages: their changes are captured, their answers are validated, and nothing else reaches
//! the workspace.

mod plugin_answers;

use std::fs;
use std::path::{Path, PathBuf};

use crate::library::{Grounds, runner, tree};
use crate::package::Written;
use actum::plugin::{
    Call, Difference, Executed, Node, Package, PluginCode, PluginError, RollbackEvidence, Step,
    Steps,
};
use actum::{Cedar, Clock, PolicyFiles, PolicyInForce, Runner, StagedView};
use actum_action::{Check, PlanScope};
use actum_sandbox::{Enforcement, Resource, SandboxPolicy};
use actum_workspace::{RunOptions, Workspace};
use serde_json::{Value, json};

/// Combines the given operator policy with the policy of the workspace.
fn in_force(grounds: &Grounds, operator: &str) -> actum::Result<PolicyInForce> {
    let directory = grounds.beside("operator");
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("actum.toml");
    fs::write(&file, operator).unwrap();
    let home = grounds.beside("home");
    let files = PolicyFiles {
        is_known_place: |_| true,
        system: None,
        operator: Some(file),
        named: None,
        home,
        cedar: Cedar::default(),
        clock: Clock::fixed(0),
    };
    files.read(&grounds.root)
}

fn allowed(grounds: &Grounds) -> PluginCode {
    let operator = "version = 1\n[plugins]\nallowPluginCodeExecution = true\n";
    in_force(grounds, operator).unwrap().plugin_code().unwrap()
}

/// Results of the `execute`, `verify` and `rollback` steps.
struct Played {
    executed: Executed,
    verified: Result<Vec<Check>, PluginError>,
    rolled_back: Result<RollbackEvidence, PluginError>,
}

fn executed(
    grounds: &Grounds,
    written: &Written,
    runner: &Runner,
    input: &Value,
) -> Result<Executed, PluginError> {
    let package = Package::read(&written.directory).unwrap();
    let steps = Steps::prepare(&package, runner, allowed(grounds)).unwrap();
    let (input, scope) = (input.as_object().unwrap(), &PlanScope::default());
    steps.execute(Call { input, scope })
}

fn played(grounds: &Grounds, written: &Written, input: &Value) -> Played {
    let runner = &runner(&grounds.root);
    let package = Package::read(&written.directory).unwrap();
    let steps = Steps::prepare(&package, runner, allowed(grounds)).unwrap();
    let (input, scope) = (input.as_object().unwrap(), &PlanScope::default());
    let call = Call { input, scope };
    let executed = steps.execute(call).unwrap();
    let mut workspace = Workspace::open(&grounds.root).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.operate_all(&executed.captured.operations).unwrap();
    let staged = &StagedView::new(runner, &mut transaction).unwrap();
    let change = &transaction.effects();
    let (verified, rolled_back) = std::thread::scope(|scope| {
        let verified = scope.spawn(|| steps.verify(call, &executed.output, staged));
        let rolled_back = steps.rollback(call, Some(&executed.output), staged, change);
        (verified.join().unwrap(), rolled_back)
    });
    Played { executed, verified, rolled_back }
}

/// Returns the error of an `execute` step with this body, and asserts that the workspace is unchanged.
fn refused(execute: &str) -> PluginError {
    refused_of(Written::new().execute(execute))
}

fn refused_of(written: Written) -> PluginError {
    let grounds = Grounds::new();
    let before = tree(&grounds.root);
    let error = executed(&grounds, &written, &runner(&grounds.root), &json!({})).unwrap_err();
    assert_eq!(tree(&grounds.root), before);
    error
}

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../actions").join(name)
}

/// AA-8, AA-10, AA-11: all steps of a package that is shipped with actum succeed.
#[test]
fn package_works_on_a_view_and_proves_its_rollback() {
    let grounds = Grounds::new();
    fs::write(grounds.root.join("package.json"), "{\n  \"version\": \"1.2.3\"\n}\n").unwrap();
    let before = tree(&grounds.root);
    let written = Written::at(shipped("bump_version"));
    let Played { executed, verified, rolled_back } =
        played(&grounds, &written, &json!({ "part": "minor" }));
    assert_eq!(executed.output["to"], "1.3.0");
    assert_eq!(executed.captured.operations.len(), 1);
    let checks = verified.unwrap();
    assert!(!checks.is_empty() && checks.iter().all(|check| check.ok), "{checks:?}");
    let evidence = rolled_back.unwrap();
    assert_eq!((evidence.files, evidence.digest_before), (1, evidence.digest_restored));
    assert_eq!(tree(&grounds.root), before);
}

/// AA-11: the rollback restores created, changed and removed files together with their directories and modes.
#[test]
fn rollback_of_a_mixed_change_is_proven() {
    let written = Written::new()
        .execute(
            "fs.writeFileSync('a.txt', 'changed'); fs.chmodSync('a.txt', 0o755); \
             fs.rmSync('sub', { recursive: true }); fs.mkdirSync('new/deep', { recursive: true }); \
             fs.writeFileSync('new/deep/file', 'x'); return {};",
        )
        .rollback(
            "fs.rmSync('new', { recursive: true }); fs.mkdirSync('sub'); \
             for (const file of ['a.txt', 'sub/b.txt']) { \
               fs.copyFileSync(`${context.before}/${file}`, file); fs.chmodSync(file, 0o644); } \
             for (const made of ['sub']) fs.chmodSync(made, 0o755);",
        );
    let grounds = Grounds::new();
    let before = tree(&grounds.root);
    let played = played(&grounds, &written, &json!({}));
    let evidence = played.rolled_back.unwrap();
    assert_eq!(evidence.files, 6, "a.txt, sub, sub/b.txt, new, new/deep, new/deep/file");
    assert_eq!(evidence.digest_before, evidence.digest_restored);
    assert_eq!(tree(&grounds.root), before);
}

/// AA-11
#[test]
fn incomplete_rollback_is_rejected_with_path_and_difference() {
    let change = "fs.writeFileSync('a.txt', 'changed'); fs.writeFileSync('n', ''); return {};";
    let restore = "fs.writeFileSync('a.txt', '1\\n'); fs.rmSync('n');";
    let cases = [
        ("", "a.txt", Difference::Content, 1),
        ("fs.rmSync('n');", "a.txt", Difference::Content, 0),
        ("fs.writeFileSync('a.txt', '1\\n');", "n", Difference::Added, 0),
        ("fs.rmSync('n'); fs.rmSync('a.txt');", "a.txt", Difference::Missing, 0),
        (
            "fs.rmSync('n'); fs.rmSync('a.txt'); fs.mkdirSync('a.txt');",
            "a.txt",
            Difference::Kind,
            0,
        ),
        ("RESTORE fs.chmodSync('a.txt', 0o600);", "a.txt", Difference::Mode, 0),
        ("RESTORE fs.writeFileSync('sub/b.txt', '3');", "sub/b.txt", Difference::Untouched, 0),
        ("RESTORE fs.writeFileSync('other', '');", "other", Difference::Untouched, 0),
        ("RESTORE fs.symlinkSync('x', 'other');", "other", Difference::Untouched, 0),
        ("RESTORE fs.chmodSync('sub', 0o700);", "sub", Difference::Untouched, 0),
    ];
    for (rollback, at, differs, others) in cases {
        let grounds = Grounds::new();
        let before = tree(&grounds.root);
        let rollback = rollback.replace("RESTORE", restore);
        let written = Written::new().execute(change).rollback(&rollback);
        let error = played(&grounds, &written, &json!({})).rolled_back.unwrap_err();
        let PluginError::NotRestored { path, how, more } = error else {
            panic!("{rollback}: {error}")
        };
        assert_eq!((path.to_str().unwrap(), how, more), (at, differs, others), "{rollback}");
        assert_eq!(tree(&grounds.root), before);
    }
    // A change that cancels itself out is not a difference.
    let grounds = Grounds::new();
    let rollback =
        format!("{restore} fs.appendFileSync('sub/b.txt', ''); fs.utimesSync('sub/b.txt', 1, 1);");
    let written = Written::new().execute(change).rollback(&rollback);
    assert!(played(&grounds, &written, &json!({})).rolled_back.is_ok());
}

/// AA-10, AA-11
#[test]
fn failed_rollback_or_verify_is_reported_with_its_location() {
    let written = Written::new()
        .execute("fs.writeFileSync('a.txt', 'changed'); return {};")
        .verify("return { checks: [] };")
        .rollback("throw new Error('no way back');");
    let grounds = Grounds::new();
    let played = played(&grounds, &written, &json!({}));
    let error = played.rolled_back.unwrap_err();
    let PluginError::Failed { step, kind, message, at, .. } = &error else { panic!("{error}") };
    assert_eq!((*step, kind.as_str(), message.as_str()), (Step::Rollback, "threw", "no way back"));
    assert!(at.as_ref().unwrap().starts_with("rollback.js:"), "{error}");
    let error = played.verified.unwrap_err();
    let PluginError::Failed { step, kind, .. } = &error else { panic!("{error}") };
    assert_eq!((*step, kind.as_str()), (Step::Verify, "bad_checks"));
}

/// AA-10: a failed check is reported as a result. `verify` sees the tree before and after, and its own changes are discarded.
#[test]
fn verify_sees_before_and_after_and_changes_nothing() {
    let written = Written::new()
        .execute("fs.writeFileSync('a.txt', 'after'); return { n: 1 };")
        .output(
            json!({ "type": "object", "required": ["n"], "properties": { "n": { "const": 1 } } }),
        )
        .verify(
            "const read = (root) => fs.readFileSync(`${root}/a.txt`, 'utf8'); \
             let refused = false; \
             try { fs.writeFileSync(`${context.before}/a.txt`, 'x'); } catch { refused = true; } \
             fs.writeFileSync('a.txt', 'scribble'); \
             return { checks: [ \
               { name: 'before', ok: read(context.before) === '1\\n' }, \
               { name: 'refused', ok: refused }, \
               { name: 'output', ok: context.output.n === 1 }, \
               { name: 'not', ok: false, message: 'told' } ] };",
        )
        .rollback("fs.writeFileSync('a.txt', fs.readFileSync(`${context.before}/a.txt`));");
    let grounds = Grounds::new();
    let played = played(&grounds, &written, &json!({}));
    let checks = played.verified.unwrap();
    let found: Vec<_> = checks.iter().map(|check| (check.name.as_str(), check.ok)).collect();
    assert_eq!(found, [("before", true), ("refused", true), ("output", true), ("not", false)]);
    assert_eq!(checks[3].message.as_deref(), Some("told"));
    assert!(played.rolled_back.is_ok());
}

/// AA-8
#[test]
fn input_and_output_are_validated_against_the_schemas() {
    let grounds = Grounds::new();
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": { "names": { "type": "array", "items": { "type": "string" } } },
    });
    let written =
        Written::new().input(schema.clone()).output(schema).execute("return { names: [1] };");
    let runner = &runner(&grounds.root);
    let error = executed(&grounds, &written, runner, &json!({ "names": ["a", 2] })).unwrap_err();
    let PluginError::Input { problem, .. } = &error else { panic!("{error}") };
    assert_eq!(problem.pointer, "/names/1");
    let error = executed(&grounds, &written, runner, &json!({ "names": [] })).unwrap_err();
    let PluginError::Output(problem) = &error else { panic!("{error}") };
    assert_eq!(problem.pointer, "/names/0");
}

/// AA-10
#[test]
fn step_that_hangs_or_floods_output_is_killed() {
    let grounds = Grounds::new();
    let before = tree(&grounds.root);
    let policy = crate::library::policy(&grounds.root);
    let limits = policy.limits.clone().with(Resource::Wall, 1500, Enforcement::Polled).with(
        Resource::Output,
        1 << 20,
        Enforcement::Polled,
    );
    let runner = runner(&grounds.root).confined_by(SandboxPolicy { limits, ..policy });
    let cases = [
        ("for (;;);", "step_timed_out"),
        ("await new Promise((done) => setTimeout(done, 1e6));", "step_timed_out"),
        ("for (;;) try { fs.writeSync(1, 'x'.repeat(65536)); } catch {}", "step_flooded"),
        ("for (;;) console.error('x'.repeat(65536));", "step_flooded"),
    ];
    for (execute, kind) in cases {
        let written = Written::new().execute(&format!("fs.writeFileSync('a.txt', 'x'); {execute}"));
        let error = executed(&grounds, &written, &runner, &json!({})).unwrap_err();
        assert_eq!(error.kind(), kind, "{execute}: {error}");
        assert_eq!(tree(&grounds.root), before);
    }
}

/// AA-8: a package is read in the same way whatever its `package.json` omits and whatever files are next to it.
#[test]
fn package_is_read_the_same_everywhere_and_without_files_beside_it() {
    let grounds = Grounds::new();
    let runner = runner(&grounds.root);
    let run = |files: &[(&str, &str)]| {
        let written = Written::new();
        let beside = written.directory.parent().unwrap();
        fs::create_dir_all(beside.join("node_modules/dep")).unwrap();
        fs::write(beside.join("node_modules/dep/index.js"), "module.exports = 1;").unwrap();
        fs::write(beside.join("package.json"), "{\"type\": \"module\"}").unwrap();
        fs::write(beside.join("outside.js"), "export default 1;").unwrap();
        files.iter().for_each(|(name, text)| written.put(name, text));
        executed(&grounds, &written, &runner, &json!({})).map(|executed| executed.output)
    };
    let common = "module.exports = () => ({ a: typeof require });";
    let module = "import a from './a.js'; export default () => ({ a });";
    let a = ("a.js", "export default 1;");
    let two = json!({ "a": "function" });
    assert_eq!(run(&[("execute.js", common)]).unwrap(), two);
    assert_eq!(run(&[("execute.js", common), ("package.json", "{}")]).unwrap(), two);
    for text in ["{\"type\": \"module\"}", "{\"type\": \"other\"}\n", "{ \"name\": \"x\" }"] {
        let files = [("execute.js", module), a, ("package.json", text)];
        assert_eq!(run(&files).unwrap(), json!({ "a": 1 }), "{text}");
    }
    // Node uses the first matching condition, so the order of conditions must be preserved.
    let imports = r##"{ "imports": { "#a": { "node": "./a.js", "default": "./b.js" } } }"##;
    let of_imports = "import a from '#a'; export default () => ({ a });";
    let files = [("execute.js", of_imports), a, ("package.json", imports)];
    assert_eq!(run(&files).unwrap(), json!({ "a": 1 }));
    for outside in [
        "const a = require('dep'); module.exports = () => ({ a });",
        "import a from '../outside.js'; export default () => ({ a });",
    ] {
        let error = run(&[("execute.js", outside)]).unwrap_err();
        assert!(error.to_string().contains("Cannot find module"), "{outside}: {error}");
    }
}

/// AA-10: a step can access only its workspace.
#[test]
fn step_cannot_reach_network_secrets_or_outside_files() {
    let grounds = Grounds::new();
    let outside = grounds.beside("secret");
    fs::write(&outside, "secret").unwrap();
    let tries = format!(
        "const found = []; \
         const attempt = async (name, act) => {{ try {{ await act(); found.push(name); }} catch {{}} }}; \
         await attempt('read outside', () => fs.readFileSync({0})); \
         try {{ fs.writeFileSync({0}, 'in its own scratch directory'); }} catch {{}} \
         await attempt('list root', () => {{ if (fs.readdirSync('/root').length > 0) return; throw 0; }}); \
         await attempt('write etc', () => fs.writeFileSync('/etc/actum', 'x')); \
         await attempt('write package', () => fs.writeFileSync(process.argv[1], 'x')); \
         await attempt('write own', () => fs.writeFileSync(new URL('own', import.meta.url), 'x')); \
         await attempt('network', () => fetch('http://127.0.0.1:1/')); \
         await attempt('socket', () => new Promise((yes, no) => net.connect(80, '192.0.2.1').on('connect', yes).on('error', no))); \
         await attempt('unix', () => new Promise((yes, no) => net.createServer().on('error', no).listen('/tmp/s', yes))); \
         const names = Object.keys(process.env).sort(); \
         return {{ found, names }};",
        Value::from(outside.to_str().unwrap())
    );
    let written = Written::new().execute(&tries);
    let policy = crate::library::policy(&grounds.root);
    let mut env = policy.env.clone();
    env.insert("SECRET".to_owned(), "hidden".to_owned());
    let runner = runner(&grounds.root).confined_by(SandboxPolicy { env, ..policy });
    let executed = executed(&grounds, &written, &runner, &json!({})).unwrap();
    assert_eq!(executed.output, json!({ "found": [], "names": ["HOME", "PATH", "TMPDIR"] }));
    assert_eq!(fs::read_to_string(outside).unwrap(), "secret");
    assert!(executed.captured.is_empty());
}

/// AA-10
#[test]
fn changes_no_run_can_make_are_rejected_by_name() {
    let cases = [
        ("fs.symlinkSync('/etc/passwd', 'made');", "symbolic link"),
        ("child.execFileSync('mkfifo', ['made']);", "a pipe, a socket or a device"),
        ("fs.rmSync('a.txt'); fs.symlinkSync('sub/b.txt', 'a.txt');", "symbolic link"),
        ("fs.chmodSync('sub', 0o700);", "permissions changed"),
        (
            "fs.mkdirSync('.actum/x', { recursive: true }); fs.writeFileSync('.actum/x/y', '');",
            "cannot be part of a run",
        ),
    ];
    for (execute, message) in cases {
        let error = refused(&format!("{execute} return {{}};"));
        let is_reported =
            matches!(error, PluginError::Unkept(_)) && error.to_string().contains(message);
        assert!(is_reported, "{execute}: {error}");
    }
    // Devices, setuid files and sockets cannot even be created.
    let never = [
        "child.execFileSync('mknod', ['made', 'c', '1', '3']);",
        "fs.writeFileSync('made', ''); fs.chmodSync('made', 0o4755);",
        "await new Promise((yes, no) => net.createServer().on('error', no).listen('made', yes));",
    ];
    for execute in never {
        assert_eq!(refused(execute).kind(), "step_failed", "{execute}");
    }
}

/// AA-10: a file that another process changes during the step is a conflict, not part of the original state.
#[test]
fn concurrent_change_during_a_step_is_rejected() {
    let grounds = Grounds::new();
    let written = Written::new().execute(
        "fs.readFileSync('a.txt'); await new Promise((done) => setTimeout(done, 2000)); \
         fs.appendFileSync('a.txt', 'mine'); return {};",
    );
    let runner = runner(&grounds.root);
    let error = std::thread::scope(|scope| {
        let ran = scope.spawn(|| executed(&grounds, &written, &runner, &json!({})).unwrap_err());
        std::thread::sleep(std::time::Duration::from_millis(1200));
        fs::write(grounds.root.join("a.txt"), "somebody else's\n").unwrap();
        ran.join().unwrap()
    });
    assert_eq!(error.kind(), "left_unkept", "{error}");
    assert!(error.to_string().contains("`a.txt` was changed by another process"), "{error}");
    assert_eq!(fs::read_to_string(grounds.root.join("a.txt")).unwrap(), "somebody else's\n");
}

/// AA-10
#[test]
fn package_gets_only_the_filesystem_access_it_requests() {
    let read = || Written::new().filesystem("read", "R1");
    let error = refused_of(read().execute("fs.writeFileSync('a.txt', ''); return {};"));
    let PluginError::Changed { path, more } = &error else { panic!("{error}") };
    assert_eq!((path.to_str().unwrap(), *more), ("a.txt", 0));
    let error = refused_of(read().execute("fs.symlinkSync('x', 'y'); return {};"));
    assert_eq!(error.kind(), "changed_read_only");
    let grounds = Grounds::new();
    let runner = &runner(&grounds.root);
    let looks = |root: &str| {
        format!(
            "return {{ seen: fs.readdirSync('.').length > 0, other: fs.existsSync({}) }};",
            Value::from(root)
        )
    };
    let root = grounds.root.to_str().unwrap();
    let written = read().execute(&looks(root));
    let found = executed(&grounds, &written, runner, &json!({})).unwrap();
    assert_eq!(found.output, json!({ "seen": true, "other": true }));
    let written = Written::new().filesystem("none", "R1").execute(&looks(root));
    let found = executed(&grounds, &written, runner, &json!({})).unwrap();
    assert_eq!(found.output, json!({ "seen": false, "other": false }));
    let none = Written::new().filesystem("none", "R1");
    assert_eq!(
        refused_of(none.execute("fs.writeFileSync('x', ''); return {};")).kind(),
        "changed_read_only"
    );
}

/// AA-10: the executed code is exactly the code that was read, even if the files change afterwards.
#[test]
fn package_runs_the_code_that_was_read() {
    let grounds = Grounds::new();
    let written = Written::new().execute("return { which: 'read' };");
    let package = Package::read(&written.directory).unwrap();
    fs::write(written.directory.join("execute.js"), "throw new Error('another')").unwrap();
    let runner = runner(&grounds.root);
    let steps = Steps::prepare(&package, &runner, allowed(&grounds)).unwrap();
    let (input, scope) = (&serde_json::Map::new(), &PlanScope::default());
    let executed = steps.execute(Call { input, scope }).unwrap();
    assert_eq!(executed.output, json!({ "which": "read" }));
    assert_ne!(Package::read(&written.directory).unwrap().digest, package.digest);
}

/// AA-10
#[test]
fn missing_node_is_reported_with_a_hint() {
    let grounds = Grounds::new();
    let policy = crate::library::policy(&grounds.root);
    let with = |path: &Path| {
        let env = [("PATH".to_owned(), path.to_str().unwrap().to_owned())].into();
        let exec = policy.exec.iter().cloned().chain([path.to_owned()]).collect();
        let read = policy.read.iter().cloned().chain([path.to_owned()]).collect();
        runner(&grounds.root).confined_by(SandboxPolicy { env, exec, read, ..policy.clone() })
    };
    let place = grounds.beside("bin");
    fs::create_dir(&place).unwrap();
    let written = Written::new();
    let package = &Package::read(&written.directory).unwrap();
    let ran = |runner: &Runner| {
        let steps = Steps::prepare(package, runner, allowed(&grounds))?;
        let (input, scope) = (&serde_json::Map::new(), &PlanScope::default());
        steps.execute(Call { input, scope }).map(drop)
    };
    for error in [Node::find(&with(&place)).unwrap_err(), ran(&with(&place)).unwrap_err()] {
        assert!(matches!(error, PluginError::NoNode { .. }), "{error}");
        assert!(error.to_string().contains("install Node.js 18 or newer"), "{error}");
    }
    for text in ["v16.20.0", "none", "v"] {
        let node = place.join("node");
        fs::write(&node, format!("#!/bin/sh\necho {text}\n")).unwrap();
        fs::set_permissions(&node, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        for error in [Node::find(&with(&place)).unwrap_err(), ran(&with(&place)).unwrap_err()] {
            assert!(matches!(error, PluginError::OldNode { .. }), "{error}");
            assert!(error.to_string().contains(&format!("the version `{text}`")), "{error}");
        }
    }
    // A `node` that has a supported version but gives no answer is assumed to have run the package.
    fs::write(place.join("node"), "#!/bin/sh\necho v20.0.0\n").unwrap();
    let error = ran(&with(&place)).unwrap_err();
    assert!(matches!(error, PluginError::NoAnswer { .. }), "{error}");
}

/// AA-9
#[test]
fn plugin_code_runs_only_if_the_operators_policy_allows_it() {
    let grounds = Grounds::new();
    let policy_with = |text: &str| in_force(&grounds, &format!("version = 1\n{text}"));
    assert!(policy_with("").unwrap().plugin_code().is_none());
    assert!(policy_with("[plugins]\n").unwrap().plugin_code().is_none());
    let no = "[plugins]\nallowPluginCodeExecution = false\n";
    let yes = "[plugins]\nallowPluginCodeExecution = true\n";
    assert!(policy_with(no).unwrap().plugin_code().is_none());
    assert!(policy_with(yes).unwrap().plugin_code().is_some());
    assert!(policy_with("[plugins]\nallowPluginCodeExecution = \"true\"\n").is_err());
    assert!(policy_with("[plugins]\nallow = true\n").is_err());
    // The policy of the workspace can neither allow nor forbid plugin code; an attempt is an error.
    for own in [no, yes] {
        fs::write(grounds.root.join("actum.toml"), format!("version = 1\n{own}")).unwrap();
        let error = policy_with(yes).unwrap_err().to_string();
        assert!(error.contains("only the operator's policy can"), "{error}");
    }
}
