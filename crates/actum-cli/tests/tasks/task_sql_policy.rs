//! Policy section `[sql]`, and the preview of SQL steps (EX-9, EX-11, D-3).

use std::fs;
use std::path::{Path, PathBuf};

use crate::duckdb::{install_duckdb, installed};
use crate::program::{Ended, actum, approval_key, home_of, operator_of, workspace};
use crate::task::{action, after, create, document, plan, put, run, run_as};
use actum_core::Digest;
use serde_json::{Value, json};

fn query(root: &Path, text: &str) {
    fs::create_dir_all(root.join("queries")).unwrap();
    fs::write(root.join("queries/q.sql"), text).unwrap();
}

fn step() -> Value {
    let operation =
        json!({"type": "sql_execute", "query_file": "queries/q.sql", "connection": "duckdb"});
    action("sql", "SQL_EXECUTE", "shop.duckdb", operation)
}

fn operators(root: &Path, text: &str) {
    let directory = operator_of(root).join("actum");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("actum.toml"), format!("version = 1\n[sql]\n{text}\n")).unwrap();
}

/// Creates a workspace in which a task has created a database of ten customers.
fn shop() -> (tempfile::TempDir, PathBuf) {
    let (directory, root) = workspace();
    install_duckdb(&root);
    make(&root);
    (directory, root)
}

fn make(root: &Path) {
    query(
        root,
        "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR);
         INSERT INTO customer SELECT i, 'n' || i FROM range(10) t(i);",
    );
    let mut empty = create("make", "shop.duckdb");
    empty["operation"] = json!({"type": "create", "content": ""});
    let made = run_as(root, "make", &plan(json!([empty, after(step(), "make")])));
    assert_eq!(made.code, 0, "{made:?}");
}

fn doctor(root: &Path) -> (String, String) {
    let reported = actum(root, &["doctor", "--json"]);
    let reported: Value = serde_json::from_str(&reported.stdout).unwrap();
    let sql =
        reported["findings"].as_array().unwrap().iter().find(|it| it["what"] == "sql").unwrap();
    (sql["verdict"].as_str().unwrap().to_owned(), sql["detail"].as_str().unwrap().to_owned())
}

/// EX-9: a library that the operator's policy pins by its digest is loaded instead of the tested one, and no other file
/// is. `actum doctor` shows its path, version and digest, or the problem with it.
#[test]
fn a_pinned_library_is_loaded_and_shown_by_doctor() {
    let (directory, root) = workspace();
    let (library, sha256) = installed();
    let copy = directory.path().join("libduckdb.so");
    fs::copy(&library, &copy).unwrap();
    let pin = |path: &Path, sha256: &str| {
        operators(&root, &format!("library = {path:?}\nsha256 = '{sha256}'"));
    };
    pin(&copy, &sha256);
    make(&root);
    assert!(!home_of(&root).join("sql/duckdb-2.0.1-x86_64.so").exists());
    let shown =
        format!("DuckDB v2.0.1 at `{}`, sha256 {sha256}, as pinned by the policy", copy.display());
    assert_eq!(doctor(&root), ("ok".to_owned(), shown));
    let check = actum(&root, &["policy", "check"]);
    assert!(check.stdout.contains(&format!("sql        library: {}", copy.display())), "{check:?}");

    query(&root, "DELETE FROM customer");
    let (text, arm) = (directory.path().join("a.txt"), directory.path().join("arm.so"));
    fs::write(&text, "no library").unwrap();
    let mut bytes = fs::read(&copy).unwrap();
    bytes[18] = 183;
    fs::write(&arm, &bytes).unwrap();
    let arm_digest = Digest::of(&bytes).to_string();
    let none = directory.path().join("none.so");
    let other = sha256.replace(['0', '1'], "2");
    for (path, digest, reported) in [
        (&copy, &other, "changed since the policy pinned it"),
        (&none, &sha256, "there is no DuckDB library at"),
        (&text, &sha256, "is not a shared library"),
        (&arm, &arm_digest, "is for aarch64, but this processor is x86_64"),
    ] {
        pin(path, digest);
        let (verdict, detail) = doctor(&root);
        assert_eq!(verdict, "bad", "{detail}");
        assert!(detail.contains(reported) && detail.contains("`[sql]"), "{reported}: {detail}");
        let before = fs::read(root.join("shop.duckdb")).unwrap();
        let ended = run_as(&root, &reported.replace([' ', ','], "-"), &plan(json!([step()])));
        assert_ne!(ended.code, 0, "{reported}: {ended:?}");
        assert_eq!(fs::read(root.join("shop.duckdb")).unwrap(), before, "{reported}");
        let output = format!("{}{}", ended.stdout, ended.stderr);
        assert!(output.contains("1050"), "{reported}: {output}");
    }
}

/// EX-9: only the operator's own policy in the user's real configuration directory can choose a library and limits. A
/// workspace policy can only require approval for fewer rows.
#[test]
fn workspace_policy_cannot_choose_the_sql_library_or_limits() {
    let (_directory, root) = shop();
    query(&root, "DELETE FROM customer WHERE id < 3");
    let own =
        |text: &str| fs::write(root.join("actum.toml"), format!("version = 1\n[sql]\n{text}\n"));
    let (library, sha256) = installed();
    for text in [format!("library = {library:?}\nsha256 = '{sha256}'"), "max_bytes = 1".to_owned()]
    {
        own(&text).unwrap();
        let refused = actum(&root, &["policy", "check"]);
        assert!(refused.stderr.contains("it sets `sql`"), "{refused:?}");
    }
    own("ask_over_rows = 2").unwrap();
    let check = actum(&root, &["policy", "check"]);
    let line = "sql        this workspace's policy: more than 2 changed rows need an approval";
    assert!(check.stdout.contains(line), "{check:?}");
    let ended = run(&root, &plan(json!([step()])));
    assert_eq!(ended.code, 6, "{ended:?}");
    assert_eq!(document(&root, "error_report.json")["error_code"], 1007);
}

/// EX-21: the policy's limits on database size and engine memory are enforced.
#[test]
fn sql_limits_of_the_policy_are_enforced() {
    let (_directory, root) = shop();
    query(&root, "SELECT 1");
    let failed = |id: &str| {
        let ended = run_as(&root, id, &plan(json!([step()])));
        assert_eq!(ended.code, 3, "{ended:?}");
        let report = document(&root, "execution_report.json");
        let failed = &report["actions_failed"][0];
        (failed["error_code"].clone(), failed["error_message"].as_str().unwrap().to_owned())
    };
    operators(&root, "max_bytes = 4096");
    let (code, message) = failed("small");
    assert_eq!(code, 1041, "{message}");
    assert!(message.contains("(`[sql] max_bytes` in the operator's policy)"), "{message}");
    operators(&root, "memory_bytes = 201326592\nspill_bytes = 1048576");
    query(
        &root,
        "CREATE TABLE big AS SELECT hash(i)::VARCHAR || hash(i + 1)::VARCHAR AS a FROM range(6000000) t(i) ORDER BY 1",
    );
    let (code, message) = failed("memory");
    assert_eq!(code, 2013, "{message}");
}

/// EX-9, EX-11, D-3: a plan whose SQL steps change more rows than `ask_over_rows` has risk tier R3. An unsigned
/// envelope is rejected before anything is published, with the rows, the limit and the next step. A signed approval of
/// the plan and config lets it run, and the receipt records the reason.
#[test]
fn more_rows_than_the_limit_need_a_signed_approval() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    install_duckdb(&root);
    make(&root);
    operators(&root, "ask_over_rows = 4");
    let ground = "R3: the SQL steps change 5 rows, but `[sql] ask_over_rows` only allows 4 without an approval (the operator's policy)";
    query(&root, "UPDATE customer SET name = 'x' WHERE id < 4");
    let few = run_as(&root, "few", &plan(json!([step()])));
    assert_eq!(few.code, 0, "{few:?}");
    let before = fs::read(root.join("shop.duckdb")).unwrap();
    // A `SELECT` that deletes rows does not count them itself.
    query(
        &root,
        "WITH gone AS (DELETE FROM customer WHERE id < 5 RETURNING id) SELECT count(*) FROM gone",
    );
    let many = plan(json!([step()]));
    let rejected = run_as(&root, "many", &many);
    assert_eq!(rejected.code, 6, "{rejected:?}");
    let error = document(&root, "error_report.json");
    assert_eq!(
        (&error["status"], &error["error_code"]),
        (&json!("REJECTED"), &json!(1007)),
        "{error:#}"
    );
    assert!(error["message"].as_str().unwrap().contains(ground), "{error:#}");
    assert!(error.to_string().contains("actum plan approve"), "{error:#}");
    assert_eq!(fs::read(root.join("shop.duckdb")).unwrap(), before);

    put(&root, &many, "");
    let preview = actum(&root, &["plan", "preview", "../plan.json"]);
    assert!(
        preview.stdout.contains(&format!("gate     tier: needs approval, {ground}")),
        "{preview:?}"
    );
    let approve =
        ["plan", "approve", "../plan.json", "--task", "agreed", "--passphrase-file", &key];
    let approved = actum(&root, &approve);
    assert_eq!(approved.code, 0, "{approved:?}");
    let done = actum(&root, &["run", "../task_envelope.json"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_ne!(fs::read(root.join("shop.duckdb")).unwrap(), before);
    let shown: Value = serde_json::from_str(&actum(&root, &["show", "--json"]).stdout).unwrap();
    assert!(shown.to_string().contains("\"kind\":\"sql_rows\""), "{shown:#}");
    let replayed: Ended = actum(&root, &["replay", shown["run"].as_str().unwrap()]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}

/// EX-11: the preview shows statements, tables and changed rows in 80 columns, as text and as JSON. The result that was
/// shown is published, and a second preview is equal.
#[test]
fn preview_shows_the_published_result() {
    let (_directory, root) = shop();
    query(
        &root,
        "UPDATE customer SET name = chr(27) || '[2J' || repeat('日本', 500) WHERE id = 2;
         DELETE FROM customer WHERE id = 3; INSERT INTO customer VALUES (77, NULL);
         CREATE TABLE log AS SELECT random() AS r;
         ALTER TABLE customer ADD COLUMN city VARCHAR",
    );
    put(&root, &plan(json!([step()])), "");
    let first = actum(&root, &["plan", "preview", "../plan.json"]);
    assert_eq!(first.code, 0, "{first:?}");
    for line in [
        "     1  UPDATE        1 row\n",
        "    main.customer: 10 -> 10 rows, 3 changed\n",
        "      + column city VARCHAR\n",
        "      - 3   'n3'",
        "      + ",
        "    main.log: new table, 1 row\n",
    ] {
        assert!(first.stdout.contains(line), "{line}: {}", first.stdout);
    }
    assert!(
        !first.stdout.contains('\u{1b}') && first.stdout.contains("'<\\033>[2J日本"),
        "{first:?}"
    );
    let second = actum(&root, &["plan", "preview", "../plan.json"]);
    assert_eq!(second.stdout, first.stdout);
    let shown: Value =
        serde_json::from_str(&actum(&root, &["plan", "preview", "--json", "../plan.json"]).stdout)
            .unwrap();
    let sql = &shown["actions"][0]["sql"];
    assert_eq!(sql["rows_changed"], 4, "{sql:#}");
    let log = sql["tables"].as_array().unwrap().iter().find(|it| it["name"] == "log").unwrap();
    let random = log["rows"][0]["new"][0].as_str().unwrap().to_owned();

    let done = actum(&root, &["run", "../task.json"]);
    assert_eq!(done.code, 0, "{done:?}");
    query(&root, &format!("SELECT 1 FROM log WHERE r::VARCHAR = '{random}'"));
    let mut found = step();
    found["operation"]["expect_results"] = json!(true);
    let same = run_as(&root, "same", &plan(json!([found])));
    assert_eq!(same.code, 0, "what was shown is what was published: {same:?}");
}

/// EX-9: a run without a preview does not compare tables, unless a policy limits the number of changed rows.
#[test]
fn run_without_a_preview_compares_no_tables() {
    let (_directory, root) = shop();
    query(&root, "WITH gone AS (DELETE FROM customer RETURNING id) SELECT count(*) FROM gone");
    let ended = run(&root, &plan(json!([step()])));
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(!home_of(&root).join("sql/results").exists());
}
