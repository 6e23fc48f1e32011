//! The effects of statements and their failures (EX-11).

use actum_sql::{Problem, SqlError};

use crate::world::{DATABASE, World};

fn kinds(world: &World, query: &str) -> Vec<(String, u64)> {
    let statements = world.done(query).statements;
    statements.into_iter().map(|ran| (ran.kind, ran.rows)).collect()
}

/// EX-11: statements run in order, each on the result of the previous ones, and the report lists their effects.
#[test]
fn statements_run_in_order_and_are_counted() {
    let world = World::new();
    let query = "UPDATE customer SET balance = 1 WHERE id < 3;
        ALTER TABLE customer ADD COLUMN city VARCHAR;
        INSERT INTO customer BY NAME (SELECT 4 AS id, 'Di' AS name, 'Ulm' AS city);
        CREATE INDEX cities ON customer (city);
        DELETE FROM customer WHERE id = 3;
        SELECT * FROM customer";
    let expected =
        [("UPDATE", 2), ("ALTER", 0), ("INSERT", 1), ("CREATE", 0), ("DELETE", 1), ("SELECT", 3)];
    let expected = expected.map(|(kind, rows)| (kind.to_owned(), rows));
    assert_eq!(kinds(&world, query), expected);
    assert_eq!(world.rows("SELECT * FROM customer WHERE city = 'Ulm'"), 1);
}

/// EX-11: a step leaves the database as a single file that can be read completely.
#[test]
fn step_leaves_a_single_readable_database_file() {
    let world = World::new();
    let done = world.done("INSERT INTO customer SELECT i, 'x', i FROM range(10, 1010) t(i)");
    assert_eq!((done.tables, done.rows), (1, 1003));
    assert_eq!(done.version, "v2.0.1");
    assert!(world.path(DATABASE).exists());
    assert!(!world.path(&format!("{DATABASE}.wal")).exists());
}

/// EX-11: parameters are bound by name and keep their JSON values.
#[test]
fn parameters_are_bound_by_name() {
    let world = World::new()
        .with("id", "2")
        .with("name", r#""Bo'; DROP TABLE customer; --""#)
        .with("balance", "1234567.05")
        .with("none", "null");
    world.done(
        "UPDATE customer SET name = $name, balance = $balance WHERE id = $id;
         UPDATE customer SET name = $none WHERE id = 3",
    );
    let world = World { parameters: std::collections::BTreeMap::new(), ..world };
    assert_eq!(
        world.rows("SELECT 1 FROM customer WHERE balance = 1234567.05 AND name LIKE 'Bo''%'"),
        1
    );
    assert_eq!(world.rows("SELECT 1 FROM customer WHERE name IS NULL"), 1);
}

/// EX-11: a parameter that is missing, unused, unnamed or of the wrong type is rejected.
#[test]
fn mismatched_parameters_are_rejected() {
    let world = World::new().with("id", "1");
    for (query, message) in [
        ("SELECT 1", "no statement uses the parameter `id`"),
        ("SELECT $id + $more", "`parameters` has no value for `$more`"),
        ("SELECT $id, ?", ""),
        ("SELECT ?", "a parameter has no name"),
    ] {
        let failure = world.failed(query);
        assert!(failure.message.contains(message), "{query}: {failure:?}");
        assert!(
            matches!(failure.problem, Problem::Parameter | Problem::Syntax | Problem::Binding),
            "{query}: {failure:?}"
        );
    }
    let world = World::new().with("id", r#""no number""#);
    let failure = world.failed("SELECT * FROM customer WHERE id = $id");
    assert!(failure.message.contains("no number"), "{failure:?}");
}

/// EX-11: each failure reports its kind, its statement and the message of DuckDB.
#[test]
fn sql_failures_report_kind_statement_and_message() {
    let world = World::new();
    for (query, problem, statement) in [
        ("", Problem::Count, None),
        (" ;; -- nothing\n", Problem::Count, None),
        ("SELEC 1", Problem::Syntax, None),
        ("SELECT 1; SELECT * FROM nobody", Problem::Binding, Some(2)),
        ("SELECT 1; INSERT INTO customer VALUES (1, 'again', 0)", Problem::Execution, Some(2)),
        ("SELECT 'x'::INTEGER", Problem::Execution, Some(1)),
        ("BEGIN; DELETE FROM customer", Problem::OpenTransaction, None),
        ("COPY customer TO 'out.csv'", Problem::NotAllowed, Some(1)),
    ] {
        let failure = world.failed(query);
        assert_eq!(
            (failure.problem, failure.statement),
            (problem, statement),
            "{query}: {failure:?}"
        );
        assert!(!failure.message.is_empty(), "{query}");
    }
    let syntax = world.failed("SELECT 1;\nSELECT 2 FROM;\n").message;
    assert!(syntax.contains("(line 2, column "), "{syntax}");
    assert_eq!(world.problem(&"SELECT 1;".repeat(10_001)), Problem::Count);
    assert_eq!(world.done(&"SELECT 1;\n".repeat(10_000)).statements.len(), 10_000);
}

/// EX-11: the rows of the last statement are saved as Parquet; its parameters apply as well.
#[test]
fn the_rows_of_the_last_statement_are_saved() {
    let world = World { save_results_to: Some("rows.parquet"), ..World::new() }.with("least", "2");
    let query = "UPDATE customer SET name = 'a;b' WHERE id = 2; -- SELECT ';'
        SELECT id, name FROM customer WHERE id >= $least AND name <> ';' ORDER BY id; -- the end";
    assert_eq!(world.rows(query), 2);
    let bytes = std::fs::read(world.path("rows.parquet")).unwrap();
    assert_eq!(
        (bytes.get(..4), bytes.get(bytes.len() - 4..)),
        (Some(&b"PAR1"[..]), Some(&b"PAR1"[..]))
    );
    let world = World { save_results_to: Some("no.parquet"), ..World::new() };
    assert_eq!(world.problem("DELETE FROM customer RETURNING id"), Problem::Result);
}

/// EX-21: a query that exceeds a limit is stopped, and the error names the limit.
#[test]
fn excessive_query_is_stopped_by_its_limit() {
    let mut world = World::new();
    world.limits.time = std::time::Duration::from_secs(2);
    let bomb = "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i FROM t) SELECT count(*) FROM t";
    let ended = world.run(bomb);
    assert!(matches!(ended, Err(SqlError::Limit { .. })), "{ended:?}");
    let mut world = World::new();
    world.limits.memory_bytes_max = 200 << 20;
    world.limits.spill_bytes_max = 8 << 20;
    let failure = world.failed(
        "CREATE TABLE big AS SELECT hash(i) h, i::VARCHAR v FROM range(30000000) t(i) ORDER BY 1",
    );
    assert_eq!(failure.problem, Problem::Resources, "{failure:?}");
}
