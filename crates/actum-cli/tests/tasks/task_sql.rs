//! SQL steps of task plans (EX-9, EX-11).

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::duckdb::{install_duckdb, installed};
use crate::program::{actum, approval_key, command, home_of, workspace};
use crate::task::{action, after, create, document, plan, put, report, run, run_as, tree};
use actum_core::Digest;
use serde_json::{Value, json};

/// Creates a workspace in which a task has created a database of three customers.
pub(crate) fn shop() -> (tempfile::TempDir, std::path::PathBuf) {
    let (directory, root) = workspace();
    install_duckdb(&root);
    fs::create_dir(root.join("queries")).unwrap();
    query(
        &root,
        "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR, balance DECIMAL(9,2));
         INSERT INTO customer VALUES (1, 'Ada', 10.50), (2, 'Bo', 0), (3, 'Cy', NULL);",
    );
    let mut empty = create("make", "shop.duckdb");
    empty["operation"] = json!({"type": "create", "content": ""});
    let made = run_as(&root, "make", &plan(json!([empty, after(sql(json!({})), "make")])));
    assert_eq!(made.code, 0, "{made:?}");
    (directory, root)
}

pub(crate) fn query(root: &Path, text: impl AsRef<[u8]>) {
    fs::write(root.join("queries/q.sql"), text).unwrap();
}

/// Returns an SQL step with these additional fields.
pub(crate) fn sql(more: Value) -> Value {
    let mut operation =
        json!({"type": "sql_execute", "query_file": "queries/q.sql", "connection": "duckdb"});
    for (name, value) in more.as_object().unwrap() {
        operation[name] = value.clone();
    }
    action("sql", "SQL_EXECUTE", "shop.duckdb", operation)
}

/// Returns the code of the first failed action of the newest report.
pub(crate) fn code(root: &Path) -> Value {
    let report = document(root, "execution_report.json");
    report["actions_failed"][0]["error_code"].clone()
}

/// EX-9, EX-11, EX-13, EX-15: SQL statements change the database, their rows are exported, and all of it is reported.
/// The task can be rolled back byte for byte, with and without actum.
#[test]
fn sql_statements_change_a_database_and_are_rolled_back() {
    let (_directory, root) = shop();
    query(
        &root,
        "UPDATE customer SET balance = $balance WHERE id = $id;
         SELECT id, balance FROM customer WHERE balance = $balance;",
    );
    let before = tree(&root);
    let step = sql(json!({
        "parameters": {"id": 2, "balance": 1234567.05},
        "expect_results": true,
        "save_results_to": "out/rows.parquet",
    }));
    let ended = run(&root, &plan(json!([step])));
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains("1 SELECT (1 row), 1 UPDATE (1 row)"), "{ended:?}");
    assert!(fs::read(root.join("out/rows.parquet")).unwrap().starts_with(b"PAR1"));
    assert_ne!(tree(&root), before);
    let log = document(&root, "change_log.json");
    let changes = log["changes"].as_array().unwrap().iter();
    let changes: Vec<_> = changes.map(|it| (&it["file_path"], &it["operation"])).collect();
    assert_eq!(
        changes,
        [(&json!("shop.duckdb"), &json!("MODIFY")), (&json!("out/rows.parquet"), &json!("CREATE"))]
    );

    let name = report(&root).file_name().unwrap().to_str().unwrap().to_owned();
    let copy = root.join("../copy");
    assert!(Command::new("cp").arg("-a").args([&root, &copy]).status().unwrap().success());
    let script = format!("{}/{name}/rollback.sh", crate::task::REPORTS);
    let script = Command::new("sh").arg(script).current_dir(&copy).output().unwrap();
    assert!(script.status.success(), "{script:?}");
    assert_eq!(tree(&copy), before);
    let rolled_back = actum(&root, &["rollback", "task-7"]);
    assert_eq!(rolled_back.code, 0, "{rolled_back:?}");
    assert_eq!(tree(&root), before);
}

/// EX-11, EX-13: the report contains the details of the SQL step, and `show` prints the digests from the receipt.
#[test]
fn report_contains_sql_details_and_show_prints_the_digests() {
    let (_directory, root) = shop();
    let text = "UPDATE customer SET balance = $balance WHERE id <= $id; SELECT id FROM customer";
    query(&root, text);
    let sha256 = |file: &str| json!(Digest::of(&fs::read(root.join(file)).unwrap()));
    let before = sha256("shop.duckdb");
    let parameters = json!({"id": 2, "balance": 7});
    let ended = run(&root, &plan(json!([sql(json!({"parameters": parameters}))])));
    assert_eq!(ended.code, 0, "{ended:?}");
    let (_, library) = installed();

    let report = document(&root, "execution_report.json");
    let details = report["actions_completed"][0]["details"].clone();
    let mut step = details["sql"].clone();
    assert_eq!(details, json!({"sql": step}), "{report:#}");
    // These values differ between hosts.
    let mut measured = |name: &str| step.as_object_mut().unwrap().remove(name).unwrap();
    assert!(measured("peak_memory_bytes").as_u64().unwrap() > 1 << 20);
    assert!(measured("process_ms").is_u64());
    assert!(measured("engine")["version"].as_str().unwrap().starts_with("v2."));
    assert_eq!(measured("confinement")["tier"], "N");
    let parameters_sha256 = measured("parameters_sha256");
    assert_eq!(
        step,
        json!({
            "database_sha256_after": sha256("shop.duckdb"),
            "database_sha256_before": before,
            "library_sha256": library,
            "query_sha256": Digest::of(text.as_bytes()),
            "rows_changed": 2,
            "statements": [{"kind": "UPDATE", "rows": 2}, {"kind": "SELECT", "rows": 3}],
            "was_kept": false,
        })
    );

    let shown = actum(&root, &["show", "--json", "--no-diff"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let expected = json!([{
        "action": "sql",
        "database": "shop.duckdb",
        "library": library,
        "parameters": parameters_sha256,
        "query": Digest::of(text.as_bytes()),
    }]);
    assert_eq!(shown["record"]["queries"], expected, "{shown:#}");
    let shown = actum(&root, &["show", "--no-diff"]);
    let line = format!("sql        sql on shop.duckdb: query {}", Digest::of(text.as_bytes()));
    assert!(shown.stdout.lines().any(|it| it == line), "{shown:?}");
    // The report of a run without SQL steps does not have this field.
    assert_eq!(run_as(&root, "none", &plan(json!([create("a", "new.txt")]))).code, 0);
    let shown: Value = serde_json::from_str(&actum(&root, &["show", "--json"]).stdout).unwrap();
    assert_eq!(shown["record"].get("queries"), None, "{shown:#}");
}

/// EX-11, EX-12, EX-18: a failed query changes nothing, and the report contains the error code and DuckDB's message.
#[test]
fn failed_query_changes_nothing_and_reports_the_error() {
    let (_directory, root) = shop();
    let before = tree(&root);
    let cases: [(&[u8], Value, u64, &str); 12] = [
        (b"SELEC 1", json!({}), 1120, "syntax error"),
        (b"UPDATE customer SET name = 'x'; SELEC 1", json!({}), 1120, "(line 1, column 33)"),
        (b"\xff", json!({}), 1120, "is not valid UTF-8 (at byte offset 0)"),
        (b" -- nothing\n", json!({}), 1121, "0 statements"),
        (b"UPDATE customer SET nobody = 1", json!({}), 1122, "statement 1: Binder Error"),
        (b"DELETE FROM customer", json!({"save_results_to": "r.parquet"}), 1123, "`SELECT`"),
        (b"SELECT $a", json!({}), 1124, "`$a`"),
        (b"SELECT 1", json!({"parameters": {"a": [1]}}), 1124, "`a` is an array"),
        (b"SELECT 1; INSERT INTO customer VALUES (1, 'x', 0)", json!({}), 1125, "statement 2"),
        (b"SELECT 1 WHERE false", json!({"expect_results": true}), 1126, "no row"),
        (b"BEGIN; DELETE FROM customer", json!({}), 1127, "COMMIT"),
        (b"DELETE FROM customer; ATTACH '/tmp/x.db'", json!({}), 1128, "statement 2"),
    ];
    for (number, (text, more, wanted, message)) in cases.into_iter().enumerate() {
        query(&root, text);
        let id = format!("case-{number}");
        let ended = run_as(&root, &id, &plan(json!([sql(more)])));
        let shown = String::from_utf8_lossy(text).into_owned();
        assert_eq!(ended.code, 3, "{shown}: {ended:?}");
        assert_eq!(code(&root), wanted, "{shown}: {ended:?}");
        let report_text = document(&root, "execution_report.json").to_string();
        assert!(report_text.contains(message), "{shown}: {report_text}");
        query(&root, "");
        let now: Vec<_> =
            tree(&root).into_iter().filter(|(path, _)| !path.ends_with("q.sql")).collect();
        let then: Vec<_> =
            before.iter().filter(|(path, _)| !path.ends_with("q.sql")).cloned().collect();
        assert_eq!(now, then, "{shown}");
    }
}

/// EX-11: a file is rejected if it is not a database, cannot be opened, or is open in another process.
#[test]
fn locked_invalid_or_missing_database_is_refused() {
    let (_directory, root) = shop();
    query(&root, "SELECT 1");
    let mut writer = Command::new("python3")
        .args(["-c", "import fcntl,sys; f=open('shop.duckdb','r+b'); fcntl.lockf(f,fcntl.LOCK_EX); print('held',flush=True); sys.stdin.read()"])
        .current_dir(&root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(writer.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ended = run_as(&root, "held", &plan(json!([sql(json!({}))])));
    assert_eq!((ended.code, code(&root)), (3, json!(2011)), "{ended:?}");
    assert!(ended.stdout.contains(&format!("process {}", writer.id())), "{ended:?}");
    drop(writer.stdin.take());
    writer.wait().unwrap();
    fs::write(
        root.join("shop.duckdb"),
        "no database at all, but long enough to be one".repeat(200),
    )
    .unwrap();
    let ended = run_as(&root, "text", &plan(json!([sql(json!({}))])));
    assert_eq!((ended.code, code(&root)), (3, json!(2012)), "{ended:?}");
    fs::remove_file(root.join("queries/q.sql")).unwrap();
    let ended = run_as(&root, "query", &plan(json!([sql(json!({}))])));
    assert_eq!((ended.code, code(&root)), (3, json!(2001)), "{ended:?}");
    fs::remove_file(root.join("shop.duckdb")).unwrap();
    let ended = run_as(&root, "target", &plan(json!([sql(json!({}))])));
    assert_eq!((ended.code, code(&root)), (3, json!(2001)), "{ended:?}");
}

/// EX-9: without the library, only plans with SQL steps are rejected, and nothing in them runs.
#[test]
fn only_sql_plans_are_refused_without_the_library() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join("queries")).unwrap();
    query(&root, "SELECT 1");
    fs::write(root.join("shop.duckdb"), "").unwrap();
    let before = tree(&root);
    let both = plan(json!([create("a", "new.txt"), sql(json!({}))]));
    let ended = run_as(&root, "both", &both);
    assert_eq!(ended.code, 1, "{ended:?}");
    let error = document(&root, "error_report.json");
    assert_eq!(error["error_code"], 1050, "{error:#}");
    assert!(error.to_string().contains("actum sql install"), "{error:#}");
    assert_eq!(tree(&root), before);
    let ended = run_as(&root, "one", &plan(json!([create("a", "new.txt")])));
    assert_eq!(ended.code, 0, "{ended:?}");
}

/// EX-21: a query that exceeds its time limit is stopped and leaves nothing behind.
#[test]
fn query_over_its_time_limit_is_stopped() {
    let (_directory, root) = shop();
    query(
        &root,
        "DELETE FROM customer;
         WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i FROM t) SELECT count(*) FROM t",
    );
    let before = tree(&root);
    let mut step = sql(json!({}));
    step["timeout_seconds"] = json!(1);
    let ended = run(&root, &plan(json!([step])));
    assert_eq!((ended.code, code(&root)), (3, json!(2007)), "{ended:?}");
    assert_eq!(tree(&root), before);
}

/// EX-1, EX-11, D-3: only the approved result is published, even if running the query again would produce a different
/// one.
#[test]
fn approved_sql_result_is_the_one_published() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    install_duckdb(&root);
    fs::create_dir(root.join("queries")).unwrap();
    let text = "CREATE TABLE IF NOT EXISTS t AS SELECT random() AS r FROM range(1000);
        SELECT r FROM t";
    query(&root, text);
    fs::write(root.join("shop.duckdb"), "").unwrap();
    let mut step = sql(json!({"save_results_to": "rows.parquet"}));
    step["risk_level"] = json!("HIGH");
    put(&root, &plan(json!([step])), "");
    let approve = ["plan", "approve", "../plan.json", "--passphrase-file", &key];
    let approved = actum(&root, &approve);
    assert_eq!(approved.code, 0, "{approved:?}");
    // A different query is not covered by the approval.
    query(&root, "CREATE TABLE t AS SELECT 1 AS r; SELECT r FROM t");
    let other = actum(&root, &["run", "../task_envelope.json"]);
    assert_eq!(other.code, 1, "{other:?}");
    assert_eq!(fs::read(root.join("shop.duckdb")).unwrap(), b"");
    query(&root, text);
    let done = actum(&root, &["run", "../task_envelope.json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let shown = format!("{}{}", approved.stdout, approved.stderr);
    let digest = Digest::of(&fs::read(root.join("rows.parquet")).unwrap());
    assert!(shown.contains(&digest.to_string()), "{digest}: {shown}");
}

/// EX-7, EX-11, EX-22: a task that is killed during its query leaves the database unchanged, and the next run removes
/// its copy.
#[test]
fn task_killed_during_its_query_leaves_the_database_unchanged() {
    let (_directory, root) = shop();
    let before = fs::read(root.join("shop.duckdb")).unwrap();
    query(
        &root,
        "DELETE FROM customer;
         WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i FROM t) SELECT count(*) FROM t",
    );
    put(&root, &plan(json!([sql(json!({}))])), "");
    let mut started = command(&root, &["run", "../task.json"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stage = root.join(".actum/stage");
    let copies = || -> Vec<_> {
        let entries = fs::read_dir(&stage).into_iter().flatten();
        entries
            .filter_map(|it| Some(it.ok()?.path().join("shop.duckdb")))
            .filter(|it| it.exists())
            .collect()
    };
    while copies().is_empty() {
        assert!(started.try_wait().unwrap().is_none(), "it ends by its query alone");
        std::thread::yield_now();
    }
    started.kill().unwrap();
    started.wait().unwrap();
    assert_eq!(fs::read(root.join("shop.duckdb")).unwrap(), before);
    query(&root, "UPDATE customer SET name = 'Eva' WHERE id = 1");
    let ended = run_as(&root, "next", &plan(json!([sql(json!({}))])));
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stderr.contains("ended before it reported the outcome"), "{ended:?}");
    assert_eq!(copies().len(), 0, "what was staged is gone");
}

/// EX-11, EX-12: a stored result that differs from the one shown is not published. It is removed, so the query runs
/// again.
#[test]
fn a_damaged_kept_result_is_not_published() {
    let (_directory, root) = shop();
    query(&root, "UPDATE customer SET name = 'Eva' WHERE id = 1");
    put(&root, &plan(json!([sql(json!({}))])), "");
    assert_eq!(actum(&root, &["plan", "preview", "../plan.json"]).code, 0);
    let results = fs::read_dir(home_of(&root).join("sql/results")).unwrap();
    let kept: Vec<_> = results.map(|kept| kept.unwrap().path().join("database")).collect();
    assert_eq!(kept.len(), 1);
    fs::write(&kept[0], "").unwrap();
    let before = fs::read(root.join("shop.duckdb")).unwrap();
    let damaged = run_as(&root, "damaged", &plan(json!([sql(json!({}))])));
    assert_eq!((damaged.code, code(&root)), (3, json!(2004)), "{damaged:?}");
    assert_eq!(fs::read(root.join("shop.duckdb")).unwrap(), before);
    let again = run_as(&root, "again", &plan(json!([sql(json!({}))])));
    assert_eq!(again.code, 0, "{again:?}");
    assert_ne!(fs::read(root.join("shop.duckdb")).unwrap(), before);
}

/// EX-8, EX-11: SQL steps on different databases run concurrently in a parallel plan. If one fails, the others leave
/// nothing behind.
#[test]
fn sql_steps_on_different_databases_run_in_parallel() {
    let (_directory, root) = shop();
    let good = fs::read(root.join("shop.duckdb")).unwrap();
    let names = ["one", "two", "three", "four", "five"];
    let step = |name: &str, query: &str| {
        fs::write(root.join(format!("queries/{name}.sql")), query).unwrap();
        let mut step = sql(json!({ "query_file": format!("queries/{name}.sql") }));
        step["action_id"] = json!(name);
        step["target"] = json!(format!("{name}.duckdb"));
        step
    };
    for name in names {
        fs::write(root.join(format!("{name}.duckdb")), &good).unwrap();
    }
    let update = "UPDATE customer SET name = 'x' WHERE id = 1";
    let with_last = |last: &str| {
        let queries = [update, update, update, update, last];
        let steps: Vec<_> = names.iter().zip(queries).map(|(name, it)| step(name, it)).collect();
        let mut plan = plan(json!(steps));
        plan["execution_instructions"] = json!({ "execution_order": "parallel" });
        plan
    };
    put(&root, &with_last("UPDATE customer SET none = 1"), "");
    let before = tree(&root);
    let failed = run_as(&root, "failed", &with_last("UPDATE customer SET none = 1"));
    assert_eq!((failed.code, code(&root)), (3, json!(1122)), "{failed:?}");
    assert!(tree(&root) == before);

    let ended = run_as(&root, "all", &with_last(update));
    assert_eq!(ended.code, 0, "{ended:?}");
    let report = document(&root, "execution_report.json");
    let begun = report["actions_completed"].as_array().unwrap().iter();
    let begun: Vec<_> = begun.map(|it| it["started_at"].clone()).collect();
    assert!(begun[..4].iter().all(|it| *it == begun[0]) && begun[4] != begun[0], "{begun:?}");
    for name in names {
        assert!(fs::read(root.join(format!("{name}.duckdb"))).unwrap() != good, "{name}");
    }
}
