//! Differences between the tables before and after a step (EX-11).

use std::time::Duration;

use actum_sql::{
    CELL_CHARACTERS_MAX, Compared, Comparison, Done, ObjectKind, Report, RowDifference, SqlError,
    TableDifference,
};

use crate::world::World;

impl World {
    fn comparing() -> Self {
        Self { compares: true, ..Self::new() }
    }

    fn compared(&self, query: &str) -> Comparison {
        differences(self.done(query))
    }
}

fn differences(done: Done) -> Comparison {
    match done.comparison {
        Some(Compared::Differences(comparison)) => comparison,
        other => panic!("{other:?}"),
    }
}

fn only(comparison: Comparison) -> TableDifference {
    let [table] = <[_; 1]>::try_from(comparison.tables).unwrap();
    table
}

fn cells(values: &[&str]) -> Option<Vec<Option<String>>> {
    Some(values.iter().map(|it| (*it != "NULL").then(|| (*it).to_owned())).collect())
}

fn row(old: Option<Vec<Option<String>>>, new: Option<Vec<Option<String>>>) -> RowDifference {
    RowDifference { old, new }
}

/// EX-11: rows of a table with a primary key are matched by that key, and changed columns are listed first.
#[test]
fn rows_are_compared_by_primary_key() {
    let table = only(World::comparing().compared(
        "UPDATE customer SET balance = 2.5 WHERE id = 2;
         DELETE FROM customer WHERE id = 1;
         INSERT INTO customer VALUES (9, NULL, 7)",
    ));
    let names: Vec<_> = table.columns.iter().map(|it| format!("{} {}", it.name, it.kind)).collect();
    assert_eq!(names, ["id INTEGER", "balance DECIMAL(9,2)", "name VARCHAR"]);
    assert_eq!((&*table.schema, &*table.name, table.key_columns), ("main", "customer", 1));
    assert_eq!(
        (table.rows_before, table.rows_after, table.rows_changed),
        (Some(3), Some(3), Some(3))
    );
    let expected = [
        row(cells(&["1", "10.50", "Ada"]), None),
        row(cells(&["2", "0.00", "Bo"]), cells(&["2", "2.50", "Bo"])),
        row(None, cells(&["9", "7.00", "NULL"])),
    ];
    assert_eq!(table.rows, expected);
}

/// EX-11: rows of a table without a primary key are compared as a multiset.
#[test]
fn rows_without_a_primary_key_compare_as_a_multiset() {
    let world = World::comparing();
    world.done(
        "CREATE TABLE t (a INT, b VARCHAR); INSERT INTO t VALUES (1, 'x'), (1, 'x'), (2, NULL)",
    );
    let table =
        only(world.compared("DELETE FROM t WHERE rowid = 0; UPDATE t SET b = 'y' WHERE a = 2"));
    assert_eq!((table.rows_changed, table.key_columns), (Some(2), 0));
    let expected = [
        row(cells(&["1", "x"]), None),
        row(cells(&["2", "NULL"]), None),
        row(None, cells(&["2", "y"])),
    ];
    assert_eq!(table.rows, expected);
}

/// EX-11: added, removed and retyped tables and columns are listed, and unchanged tables are counted.
#[test]
fn added_removed_and_retyped_tables_and_columns_are_listed() {
    let world = World::comparing();
    world.done("CREATE TABLE gone (a INT); INSERT INTO gone VALUES (7); CREATE TABLE same (a INT)");
    let compared = world.compared(
        "DROP TABLE gone; CREATE TABLE made AS SELECT 5 AS a;
         ALTER TABLE customer ADD COLUMN city VARCHAR;
         ALTER TABLE customer DROP COLUMN name;
         ALTER TABLE customer ALTER balance TYPE VARCHAR;
         UPDATE customer SET city = 'Ulm' WHERE id = 3",
    );
    assert_eq!((compared.unchanged, compared.rows_changed, compared.tables_left_out), (1, 5, 0));
    let [customer, gone, made] = <[_; 3]>::try_from(compared.tables).unwrap();
    let named = |columns: &[actum_sql::Column]| -> Vec<String> {
        columns.iter().map(|it| format!("{} {}", it.name, it.kind)).collect()
    };
    assert_eq!(named(&customer.columns_added), ["city VARCHAR"]);
    assert_eq!(named(&customer.columns_removed), ["name VARCHAR"]);
    let [(retyped, before)] = <[_; 1]>::try_from(customer.columns_retyped).unwrap();
    assert_eq!((named(&[retyped]), &*before), (vec!["balance VARCHAR".to_owned()], "DECIMAL(9,2)"));
    assert_eq!((gone.rows_before, gone.rows_after), (Some(1), None));
    assert_eq!(gone.rows, [row(cells(&["7"]), None)]);
    assert_eq!((made.rows_before, made.rows_after), (None, Some(1)));
    assert_eq!(made.rows, [row(None, cells(&["5"]))]);
}

/// EX-11: views and indexes that exist on only one side are listed, including those of a removed table.
#[test]
fn added_and_removed_views_and_indexes_are_listed() {
    let world = World::comparing();
    world.done(
        "CREATE VIEW kept AS SELECT id FROM customer; CREATE VIEW gone AS SELECT 1 AS a;
         CREATE TABLE t (a INT); CREATE INDEX of_t ON t (a); CREATE TABLE u (a INT)",
    );
    let compared = world.compared(
        "DROP VIEW gone; CREATE VIEW made AS SELECT 2 AS a; DROP INDEX of_t; DROP TABLE t;
         CREATE SCHEMA s; CREATE VIEW s.made AS SELECT 3 AS a; CREATE UNIQUE INDEX of_u ON u (a)",
    );
    let listed = compared.objects.iter().map(|it| {
        let kind = match &it.kind {
            ObjectKind::View => "view".to_owned(),
            ObjectKind::Index(table) => format!("index on {table}"),
        };
        format!("{kind} {}.{} {:?}", it.schema, it.name, it.change)
    });
    assert_eq!(
        listed.collect::<Vec<_>>(),
        [
            "view main.gone Removed",
            "view main.made Added",
            "view s.made Added",
            "index on t main.of_t Removed",
            "index on u main.of_u Added",
        ]
    );
    assert_eq!(compared.objects_left_out, 0);
    let many: String = (0..201).map(|at| format!("CREATE VIEW v{at} AS SELECT 1 AS a;")).collect();
    let compared = World::comparing().compared(&many);
    assert_eq!((compared.objects.len(), compared.objects_left_out), (200, 1));
}

/// EX-11: at most twenty rows are shown across all tables, but all are counted.
#[test]
fn shows_at_most_twenty_rows_and_counts_all() {
    let world = World::comparing();
    let compared = world.compared(
        "CREATE TABLE a AS SELECT i FROM range(1000) t(i); CREATE TABLE b AS SELECT i FROM range(500) t(i)",
    );
    let shown: Vec<_> = compared.tables.iter().map(|it| it.rows.len()).collect();
    assert_eq!((shown, compared.rows_changed), (vec![10, 10], 1500));
}

/// EX-11: changes that statements do not report are counted, such as those from a `SELECT`, an `EXPLAIN ANALYZE` or a replaced
/// table.
#[test]
fn comparison_counts_changes_that_statements_do_not_report() {
    for query in [
        "WITH gone AS (DELETE FROM customer RETURNING id) SELECT count(*) FROM gone",
        "EXPLAIN ANALYZE DELETE FROM customer",
        "CREATE OR REPLACE TABLE customer AS FROM customer WHERE false",
        "DROP TABLE customer",
    ] {
        let world = World::comparing();
        let done = world.done(query);
        assert_eq!(done.rows_changed(), 3, "{query}");
        let world = World::new();
        let done = world.done(query);
        assert_eq!((done.rows_changed(), done.comparison), (0, None), "{query}: not compared");
    }
}

/// EX-11: committed rows in a write-ahead log belong to the database before the step.
#[test]
fn committed_rows_in_the_wal_are_not_a_difference() {
    let mut world = World::comparing();
    let log = world.with_a_write_ahead_log();
    let table = only(world.compared("DELETE FROM customer WHERE id = 1"));
    assert!(!log.exists());
    assert_eq!((table.rows_before, table.rows_changed), (Some(4), Some(1)));
}

/// EX-11: hostile values are shown as text of limited length and never interpreted.
#[test]
fn hostile_values_are_truncated_and_returned_as_text() {
    let world = World::comparing();
    let table = only(world.compared(
        "CREATE TABLE \"a\"\"b\nc\" AS SELECT chr(27) || '[2J' AS a, repeat('é', 1000000) AS b,
            '\\x00\\xFF'::BLOB AS c, {'k': [1, NULL], 's': 'it''s'} AS d, MAP {'x': 1} AS e, '日本' AS f, NULL AS g,
            'a' || chr(10) || 'b' || chr(0) || 'c' AS h, true AS i, DATE '2026-01-02' AS j",
    ));
    assert_eq!(table.name, "a\"b\nc");
    let [RowDifference { old: None, new: Some(cells) }] = &*table.rows else { panic!("{table:?}") };
    let text = |at: usize| cells[at].clone().unwrap();
    assert_eq!(text(0), "\u{1b}[2J");
    assert_eq!(text(1).chars().count(), CELL_CHARACTERS_MAX);
    assert!(text(1).ends_with("é…"));
    assert_eq!(text(2), "\\x00\\xFF");
    assert_eq!(text(3), "{'k': [1, NULL], 's': 'it\\'s'}");
    assert_eq!((text(4), text(5)), ("{x=1}".to_owned(), "日本".to_owned()));
    assert_eq!((cells[6].clone(), text(7)), (None, "a\nb\0c".to_owned()));
    assert_eq!((text(8), text(9)), ("true".to_owned(), "2026-01-02".to_owned()));
}

/// EX-11: a table that is too large is not compared. All its rows count as changed, and the step succeeds.
#[test]
fn oversized_table_is_not_compared() {
    let world = World::comparing();
    world.done("CREATE TABLE t AS SELECT i FROM range(2500001) t(i)");
    let table = only(world.compared("DELETE FROM t WHERE i = 0"));
    assert_eq!((table.rows_changed, table.rows.len()), (None, 0));
    let why = table.not_compared.unwrap();
    assert!(why.contains("5000001 rows"), "{why}");
}

/// EX-11: a comparison that takes too long is interrupted, and the step succeeds within its time.
///
/// Comparing this table takes longer than the step itself. The first time limit under which the step succeeds therefore interrupts
/// the comparison, on a machine of any speed.
#[test]
fn slow_comparison_is_interrupted_within_the_time_limit() {
    let mut world = World::comparing();
    world.done(
        "CREATE TABLE t AS SELECT i, hash(i)::VARCHAR || hash(i + 1)::VARCHAR AS a, hash(i + 2)::VARCHAR AS b
         FROM range(2000000) t(i)",
    );
    world.limits.time = Duration::from_millis(250);
    let done = loop {
        match world.run("DELETE FROM t WHERE i = (SELECT min(i) FROM t)") {
            Ok(ran) => match ran.report {
                Report::Done(done) => break done,
                Report::Failed(failure) => panic!("{failure:?}"),
            },
            Err(SqlError::Limit { .. }) => world.limits.time *= 2,
            Err(error) => panic!("{error}"),
        }
        if world.path("actum-before").exists() {
            std::fs::remove_dir_all(world.path("actum-before")).unwrap();
        }
    };
    // A loaded machine may have no time left for the other table.
    let tables = differences(done).tables;
    let table = tables.into_iter().find(|table| table.name == "t").unwrap();
    let why = table.not_compared.expect("it takes longer than it may");
    assert!(why.contains("exceeded its time limit"), "{why}");
}
