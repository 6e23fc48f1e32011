//! SQL steps with bad input. Each fails with its own code, reports the problem, and changes nothing (EX-11, EX-12,
//! EX-18).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::duckdb::install_duckdb;
use crate::program::{Ended, actum, approval_key, command, home_of, workspace};
use crate::task::{document, plan, put, run_as, tree};
use crate::task_sql::{query, shop, sql};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// Returns the files of the workspace and its reports, except the query.
fn kept(root: &Path) -> Vec<(PathBuf, String)> {
    let all = tree(root).into_iter().map(|(path, kept)| (path, format!("{kept:?}")));
    all.filter(|(path, _): &(PathBuf, String)| !path.ends_with("q.sql")).collect()
}

/// Asserts that a step fails with this code, that its report contains these words, and that nothing changes.
fn fails(root: &Path, id: &str, step: &Value, wanted: u64, words: &[&str]) {
    let before = kept(root);
    let ended = run_as(root, id, &plan(json!([step])));
    failed(root, id, &ended, wanted, words);
    assert_eq!(kept(root), before, "{id}");
}

fn failed(root: &Path, id: &str, ended: &Ended, wanted: u64, words: &[&str]) {
    let report = document(root, "error_report.json");
    assert_ne!(ended.code, 0, "{id}: {ended:?}");
    let output = format!("{}{}{report}", ended.stdout, ended.stderr);
    assert_eq!(report["error_code"], wanted, "{id}: {report:#}");
    for word in words {
        assert!(output.contains(word), "{id}: `{word}` is not in {output}");
    }
}

fn library(root: &Path) -> PathBuf {
    let mut libraries = fs::read_dir(home_of(root).join("sql")).unwrap();
    libraries.find_map(|it| Some(it.unwrap().path()).filter(|it| it.is_file())).unwrap()
}

/// EX-9, EX-12: a library is not loaded if it was modified after installation, is not a valid library, or cannot be
/// read.
#[test]
fn modified_or_invalid_library_is_not_loaded() {
    let (_directory, root) = shop();
    query(&root, "UPDATE customer SET name = 'Eva'");
    let path = library(&root);
    let bytes = fs::read(&path).unwrap();
    // The file shares its inode with the library of the other tests.
    fs::remove_file(&path).unwrap();
    let words = ["SHA-256", "actum sql install", path.to_str().unwrap()];
    let mut changed = bytes.clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(&path, changed).unwrap();
    fails(&root, "changed", &sql(json!({})), 1050, &words);
    fs::write(&path, "no library").unwrap();
    let words = ["is not a shared library", "actum sql install", path.to_str().unwrap()];
    fails(&root, "text", &sql(json!({})), 1050, &words);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    fails(&root, "directory", &sql(json!({})), 1050, &["actum sql install"]);
    fs::remove_dir(&path).unwrap();
    fails(
        &root,
        "missing",
        &sql(json!({})),
        1050,
        &["there is no DuckDB library", "actum sql install"],
    );
    fs::write(&path, bytes).unwrap();
    let ended = run_as(&root, "again", &plan(json!([sql(json!({}))])));
    assert_eq!(ended.code, 0, "{ended:?}");
}

/// EX-11, EX-21: a query file must be in the workspace, and its size is limited.
#[test]
fn unreadable_or_invalid_query_file_is_refused() {
    let (_directory, root) = shop();
    let file = |path: &str| sql(json!({ "query_file": path }));
    fs::write(root.join("../out.sql"), "SELECT 1").unwrap();
    symlink("../../out.sql", root.join("queries/link.sql")).unwrap();
    fs::create_dir(root.join("queries/directory.sql")).unwrap();
    fails(&root, "missing", &file("queries/none.sql"), 2001, &["queries/none.sql"]);
    fails(&root, "outside", &file("../out.sql"), 1020, &["../out.sql"]);
    fails(&root, "absolute", &file("/etc/passwd"), 1020, &["/etc/passwd"]);
    fails(&root, "link", &file("queries/link.sql"), 1022, &["queries/link.sql"]);
    fails(&root, "directory", &file("queries/directory.sql"), 2003, &["queries/directory.sql"]);
    fails(&root, "journal", &file(".actum/q.sql"), 3100, &[".actum"]);
    query(&root, b"SELECT '\xff'");
    fails(&root, "bytes", &sql(json!({})), 1120, &["is not valid UTF-8 (at byte offset 8)"]);
    query(&root, "SELECT 1\0");
    fails(&root, "nul", &sql(json!({})), 1120, &["NUL"]);
    query(&root, "SELECT 1;\nSELECT 2 FROM;\n");
    fails(&root, "syntax", &sql(json!({})), 1120, &["(line 2, column "]);
    query(&root, "");
    fails(&root, "empty", &sql(json!({})), 1121, &["0 statements", "1 to 10000"]);
    query(&root, "SELECT 1;\n".repeat(10_001));
    fails(&root, "many", &sql(json!({})), 1121, &["10001 statements", "1 to 10000"]);
    let max = 10 << 20;
    query(&root, format!("SELECT 1 /*{}*/", "x".repeat(max - 12)));
    fails(&root, "large", &sql(json!({})), 1041, &["10485761 bytes", "10485760"]);
    query(&root, format!("SELECT 1 /*{}*/", "x".repeat(max - 13)));
    let ended = run_as(&root, "allowed", &plan(json!([sql(json!({}))])));
    assert_eq!(ended.code, 0, "{ended:?}");
    query(&root, "SELECT 1;\n".repeat(10_000));
    let ended = run_as(&root, "statements", &plan(json!([sql(json!({}))])));
    assert_eq!(ended.code, 0, "{ended:?}");
}

/// EX-1, EX-11: a query that changed after its approval does not run.
#[test]
fn a_query_that_changed_after_approval_is_not_run() {
    let (_directory, root) = workspace();
    // The key is valid immediately only if nothing has been recorded yet.
    let key = approval_key(&root);
    install_duckdb(&root);
    fs::create_dir(root.join("queries")).unwrap();
    fs::write(root.join("shop.duckdb"), "").unwrap();
    query(&root, "CREATE TABLE t AS SELECT 1 AS a");
    let mut step = sql(json!({}));
    step["risk_level"] = json!("HIGH");
    put(&root, &plan(json!([step])), "");
    let approve = ["plan", "approve", "../plan.json", "--passphrase-file", &key];
    let approved = actum(&root, &approve);
    assert_eq!(approved.code, 0, "{approved:?}");
    query(&root, "CREATE TABLE t AS SELECT 2 AS a");
    let before = kept(&root);
    let ended = actum(&root, &["run", "../task_envelope.json"]);
    failed(&root, "approved", &ended, 1005, &["shop.duckdb"]);
    assert_eq!(kept(&root), before);
}

/// EX-11: a file that DuckDB cannot open or considers damaged is rejected with DuckDB's message.
#[test]
fn a_database_that_duckdb_cannot_open_is_refused() {
    let (_directory, root) = shop();
    query(&root, "UPDATE customer SET name = 'Eva' WHERE id = 1");
    let path = root.join("shop.duckdb");
    let good = fs::read(&path).unwrap();
    let put = |id: &str, bytes: &[u8], words: &[&str]| {
        fs::write(&path, bytes).unwrap();
        fails(&root, id, &sql(json!({})), 2012, words);
    };
    put("text", "no database".repeat(1000).as_bytes(), &["not a valid DuckDB database"]);
    put("zeros", &[0; 20_000], &["not a valid DuckDB database"]);
    put("short", &good[..2000], &["v2.0.1 cannot open the database"]);
    put("half", &good[..good.len() / 2], &["shop.duckdb"]);
    // The format version follows the checksum, which no longer matches, and `DUCK`.
    let mut newer = good.clone();
    newer[12..20].copy_from_slice(&[0xff, 0xff, 0, 0, 0, 0, 0, 0]);
    put("newer", &newer, &["v2.0.1 cannot open the database"]);
    let mut header = good.clone();
    header[4096 + 16] ^= 1;
    header[8192 + 16] ^= 1;
    put("header", &header, &["v2.0.1 cannot open the database"]);
    let mut damaged = good.clone();
    for byte in &mut damaged[12_288..] {
        *byte ^= 0x55;
    }
    put("damaged", &damaged, &["v2.0.1 cannot open the database"]);
    let encrypted = fixture(&root).join("encrypted.duckdb");
    put(
        "encrypted",
        &fs::read(encrypted).unwrap(),
        &["v2.0.1 cannot open the database", "encrypted"],
    );
    fs::write(root.join("shop.duckdb"), &good).unwrap();
    fs::write(root.join("shop.duckdb.wal"), "no log".repeat(100)).unwrap();
    // DuckDB ignores a log that it cannot read, and a rollback restores that log too.
    let before = kept(&root);
    let ended = run_as(&root, "log", &plan(json!([sql(json!({}))])));
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(actum(&root, &["rollback", "log"]).code, 0);
    assert_eq!(kept(&root), before);
    fs::remove_file(root.join("shop.duckdb.wal")).unwrap();
    fs::remove_file(root.join("shop.duckdb")).unwrap();
    fails(&root, "missing", &sql(json!({})), 2001, &["shop.duckdb"]);
    fs::create_dir(root.join("shop.duckdb")).unwrap();
    fails(&root, "directory", &sql(json!({})), 2003, &["shop.duckdb"]);
    fs::remove_dir(root.join("shop.duckdb")).unwrap();
    fs::write(root.join("other.duckdb"), &good).unwrap();
    symlink("other.duckdb", root.join("shop.duckdb")).unwrap();
    fails(&root, "link", &sql(json!({})), 1022, &["shop.duckdb"]);
}

/// Unpacks, beside the workspace, the databases that `tests/fixtures/duckdb-2.0.1.py` created.
fn fixture(root: &Path) -> PathBuf {
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/duckdb-2.0.1.tar.gz");
    let place = root.parent().unwrap().join("fixture");
    fs::create_dir(&place).unwrap();
    let unpacked = Command::new("tar").args(["-xzf", archive, "-C"]).arg(&place).status().unwrap();
    assert!(unpacked.success());
    place
}

/// EX-11, EX-15: rows that are committed only in the write-ahead log belong to the database. The step removes the log,
/// and its rollback restores it.
#[test]
fn rows_in_the_write_ahead_log_are_kept() {
    let (_directory, root) = shop();
    let fixture = fixture(&root);
    let target = |id: &str, text: &str| {
        query(&root, text);
        let mut step = sql(json!({"expect_results": true}));
        step["target"] = json!("log.duckdb");
        run_as(&root, id, &plan(json!([step])))
    };
    for name in ["log.duckdb", "log.duckdb.wal"] {
        fs::copy(fixture.join(name), root.join(name)).unwrap();
    }
    let before = kept(&root);
    let ended = target("with", "UPDATE visit SET id = id + 10");
    assert!(ended.stdout.contains("1 UPDATE (7 rows)"), "{ended:?}");
    assert!(!root.join("log.duckdb.wal").exists());
    let counted = target("counted", "SELECT 1 FROM visit HAVING sum(id) = 98");
    assert_eq!(counted.code, 0, "{counted:?}");
    let back = actum(&root, &["rollback", "with"]);
    assert_eq!(back.code, 0, "{back:?}");
    assert_eq!(kept(&root), before);
    // Without the log the rows are missing, which shows that the fixture really tests this.
    fs::remove_file(root.join("log.duckdb.wal")).unwrap();
    let ended = target("without", "UPDATE visit SET id = id + 10");
    assert!(ended.stdout.contains("1 UPDATE (1 row)"), "{ended:?}");
}

/// EX-11, EX-21: a step fails if its requirements are not met or if it needs more memory than it may use.
#[test]
fn sql_steps_with_unmet_requirements_fail() {
    let (_directory, root) = shop();
    let saved = || json!({"save_results_to": "rows.parquet"});
    let cases: [(&str, &str, Value, u64, &[&str]); 12] = [
        ("structure-without-fields", "SELECT {} AS s", saved(), 1123, &["STRUCT"]),
        ("changes", "UPDATE customer SET name = 'x' RETURNING id", saved(), 1123, &["`SELECT`"]),
        (
            "no-rows",
            "DELETE FROM customer WHERE id = 9",
            json!({"expect_results": true}),
            1126,
            &["no row"],
        ),
        ("transaction", "BEGIN; SELECT 1", json!({}), 1127, &["COMMIT"]),
        ("unused", "SELECT 1", json!({"parameters": {"id": 1}}), 1124, &["`id`"]),
        ("absent", "SELECT $id", json!({}), 1124, &["`$id`"]),
        (
            "type",
            "SELECT * FROM customer WHERE id = $id",
            json!({"parameters": {"id": "x"}}),
            1125,
            &["'x'"],
        ),
        (
            "structure",
            "SELECT $id",
            json!({"parameters": {"id": {}}}),
            1124,
            &["`id` is an object"],
        ),
        (
            "large",
            "SELECT $id",
            json!({"parameters": {"id": 1}, "timeout_seconds": 1}),
            1014,
            &["timeout_seconds"],
        ),
        ("setting", "FROM enable_logging()", json!({}), 1128, &["locked"]),
        (
            "memory",
            "SELECT len(range(2000000000))",
            json!({}),
            2013,
            &["Out of Memory", "fewer rows"],
        ),
        (
            "brackets",
            &format!("SELECT {}1", "(".repeat(3_000_000)),
            json!({}),
            2013,
            &["Out of Memory"],
        ),
    ];
    for (id, text, more, wanted, words) in cases {
        query(&root, text);
        fails(&root, id, &sql(more), wanted, words);
    }
}

/// EX-11, EX-21: a full disk fails the step without leftovers, so the next step has the full space again.
#[test]
fn full_disk_fails_the_step_without_leftovers() {
    let (directory, root) = shop();
    query(
        &root,
        "CREATE TABLE big AS SELECT hash(i) AS a, hash(i + 1) AS b FROM range(20000000) t(i)",
    );
    put(&root, &plan(json!([sql(json!({}))])), "");
    let small = directory.path().join("small");
    fs::create_dir(&small).unwrap();
    // The workspace is moved to a file system of 24 MiB that exists only in its mount namespace. Its content is copied
    // out at the end.
    let script = "mount -t tmpfs -o size=24m tmpfs \"$0\" && cp -a \"$1\" \"$0/workspace\" && cp ../task.json ../plan.json ../config.yaml \"$0\" && \
        cd \"$0/workspace\" && { \"$2\" run ../task.json; ended=$?; rm -rf \"$1\" && cp -a \"$0/workspace\" \"$1\"; exit $ended; }";
    let mut unshare = Command::new("unshare");
    let is_root = nix::unistd::geteuid().is_root();
    unshare.arg("--mount").args((!is_root).then_some("--map-root-user"));
    unshare.args(["sh", "-c", script]).arg(&small).arg(&root).arg(env!("CARGO_BIN_EXE_actum"));
    unshare.current_dir(&root).env("ACTUM_HOME", home_of(&root));
    unshare.env("XDG_CONFIG_HOME", crate::program::operator_of(&root));
    let before = kept(&root);
    let ended = Ended::from(unshare.output().unwrap());
    failed(&root, "full", &ended, 2005, &["No space left on device"]);
    assert_eq!(kept(&root), before);
    assert_eq!(staged(&root), [""; 0]);
}

/// Returns the file names in the directory for staged changes.
fn staged(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root.join(".actum/stage")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// EX-7, EX-12: cancelling a run during its query stops the worker, leaves the database unchanged, and is reported.
#[test]
fn cancelled_query_leaves_the_database_unchanged() {
    let (_directory, root) = shop();
    query(&root, "DELETE FROM customer; SELECT sum(i) FROM range(1000000000000) t(i)");
    let before = kept(&root);
    put(&root, &plan(json!([sql(json!({}))])), "");
    let mut started = command(&root, &["run", "../task.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while staged(&root).is_empty() {
        assert!(started.try_wait().unwrap().is_none(), "it ends by its query alone");
        std::thread::yield_now();
    }
    kill(Pid::from_raw(i32::try_from(started.id()).unwrap()), Signal::SIGINT).unwrap();
    let ended = Ended::from(started.wait_with_output().unwrap());
    failed(&root, "cancelled", &ended, 5003, &["cancel"]);
    assert_eq!(kept(&root), before);
    assert_eq!(staged(&root), [""; 0]);
}
