//! Bombs: allowed statements that exceed the time, memory or disk limit of a step. As a control, a smaller version of each
//! succeeds.

use std::time::Duration;

use actum_sandbox::Resource;
use actum_sql::{Problem, Report, SqlError, SqlLimits};
use libtest_mimic::Failed;

use crate::ground::{End, Ground, LIMITS, Shared};
use crate::worker::Walls;

/// A bomb that can be built in any size.
pub(crate) struct Bomb {
    pub(crate) name: &'static str,
    /// Returns the statements of a bomb of the given size.
    pub(crate) text: fn(usize) -> String,
    /// Size at which the bomb succeeds.
    small: usize,
    /// Size at which the bomb exceeds a limit.
    large: usize,
    end: Ends,
}

/// The limit that stops a bomb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// The time limit of the step.
    Time,
    /// The memory limit of the engine. If the engine does not enforce it, the sandbox stops the bomb.
    Memory,
    /// The file size limit of the sandbox.
    File,
    /// The maximum number of statements.
    Count,
    /// The time or memory limit of the sandbox, whichever this machine reaches first.
    TimeOrMemory,
}

const fn bomb(
    name: &'static str,
    text: fn(usize) -> String,
    small: usize,
    large: usize,
    end: Ends,
) -> Bomb {
    Bomb { name, text, small, large, end }
}

/// Repeats a text `n` times.
fn times(text: &str, n: usize) -> String {
    text.repeat(n)
}

pub(crate) const BOMBS: &[Bomb] = &[
    // Bombs that use too much time.
    bomb(
        "a_recursive_query",
        |n| {
            format!(
                "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < {n}) SELECT count(*) FROM t"
            )
        },
        10,
        1_000_000_000,
        Ends::Time,
    ),
    bomb(
        "a_recursive_query_with_a_key",
        |n| {
            format!(
                "WITH RECURSIVE t(i, j) USING KEY (i) AS (SELECT 1, 1 UNION ALL SELECT i, j + 1 FROM t WHERE j < {n}) SELECT count(*) FROM t"
            )
        },
        10,
        1_000_000_000,
        Ends::Time,
    ),
    bomb(
        "a_cross_join",
        |n| {
            format!(
                "SELECT count(*) FROM range({n}) a(i), range({n}) b(i), range({n}) c(i) WHERE a.i + b.i * c.i = 7"
            )
        },
        10,
        1_000_000,
        Ends::Time,
    ),
    bomb(
        "a_range",
        |n| format!("SELECT sum(i) FROM range({n}) t(i)"),
        10,
        1_000_000_000_000,
        Ends::Time,
    ),
    bomb(
        "a_series",
        |n| format!("SELECT sum(hash(i)) FROM generate_series(1, {n}) t(i)"),
        10,
        1_000_000_000_000,
        Ends::Time,
    ),
    bomb(
        "a_series_of_times",
        |n| {
            format!(
                "SELECT count(DISTINCT year(i)) FROM generate_series(TIMESTAMP '2000-01-01', TIMESTAMP '2000-01-01' + INTERVAL ({n}) HOUR, INTERVAL 1 SECOND) t(i)"
            )
        },
        1,
        2_000_000_000,
        Ends::Time,
    ),
    bomb("a_sleep", |n| format!("SELECT sleep_ms({n})"), 1, 3_600_000, Ends::Time),
    bomb(
        "a_distance_of_texts",
        |n| format!("SELECT levenshtein(repeat('a', {n}), repeat('b', {n}))"),
        10,
        1_000_000,
        Ends::Time,
    ),
    bomb(
        "a_series_in_the_plan",
        |n| format!("EXPLAIN ANALYZE SELECT sum(i) FROM range({n}) t(i)"),
        10,
        1_000_000_000_000,
        Ends::Time,
    ),
    bomb(
        "a_view_of_views",
        |n| {
            let mut text = "CREATE VIEW v0 AS SELECT 1 AS a;\n".to_owned();
            for i in 0..n {
                text += &format!("CREATE VIEW v{} AS SELECT x.a FROM v{i} x, v{i} y;\n", i + 1);
            }
            text + &format!("SELECT count(*) FROM v{n}")
        },
        3,
        40,
        Ends::Time,
    ),
    bomb(
        "a_query_of_queries",
        |n| {
            let mut text = "WITH v0 AS NOT MATERIALIZED (SELECT 1 AS a)".to_owned();
            for i in 0..n {
                text +=
                    &format!(", v{} AS NOT MATERIALIZED (SELECT x.a FROM v{i} x, v{i} y)", i + 1);
            }
            text + &format!(" SELECT count(*) FROM v{n}")
        },
        3,
        40,
        Ends::Time,
    ),
    bomb(
        "an_update",
        |n| format!("UPDATE customer SET balance = (SELECT sum(hash(i) % 2) FROM range({n}) t(i))"),
        10,
        1_000_000_000_000,
        Ends::Time,
    ),
    // Bombs that use too much memory.
    bomb(
        "a_repeated_text",
        |n| format!("SELECT length(repeat('x', {n}))"),
        10,
        4_000_000_000,
        Ends::Memory,
    ),
    bomb(
        "a_formatted_text",
        |n| format!("SELECT length(format('{{:>{n}}}', 'x'))"),
        10,
        2_000_000_000,
        Ends::Memory,
    ),
    bomb(
        "doubled_texts",
        |n| {
            format!(
                "WITH RECURSIVE t(i, s) AS (SELECT 0, 'x' UNION ALL SELECT i + 1, s || s FROM t WHERE i < {n}) SELECT max(length(s)) FROM t"
            )
        },
        4,
        40,
        Ends::Memory,
    ),
    bomb(
        "a_list",
        |n| format!("SELECT len(list(i)) FROM range({n}) t(i)"),
        10,
        1_000_000_000,
        Ends::Memory,
    ),
    bomb(
        "a_list_of_numbers",
        |n| format!("SELECT len(range({n}))"),
        10,
        1_000_000_000,
        Ends::Memory,
    ),
    bomb(
        "a_list_of_lists",
        |n| format!("SELECT len(list_transform(range({n}), lambda x: range({n})))"),
        10,
        100_000,
        Ends::Memory,
    ),
    bomb(
        "an_aggregated_text",
        |n| format!("SELECT length(string_agg(repeat('x', 1000), ',')) FROM range({n})"),
        10,
        100_000_000,
        Ends::Memory,
    ),
    bomb(
        "groups",
        |n| {
            format!(
                "SELECT count(*) FROM (SELECT hash(i), count(*) FROM range({n}) t(i) GROUP BY ALL)"
            )
        },
        10,
        1_000_000_000,
        Ends::Memory,
    ),
    bomb(
        "a_sort",
        |n| {
            format!(
                "SELECT max(s) FROM (SELECT repeat('x', 1000) || hash(i) AS s FROM range({n}) t(i) ORDER BY s OFFSET 5)"
            )
        },
        10,
        1_000_000_000,
        Ends::Memory,
    ),
    bomb(
        "a_window",
        |n| {
            format!(
                "SELECT max(s) FROM (SELECT sum(i) OVER (ORDER BY hash(i)) AS s FROM range({n}) t(i))"
            )
        },
        10,
        1_000_000_000,
        Ends::Memory,
    ),
    bomb(
        "a_join_of_texts",
        |n| {
            format!(
                "SELECT count(*) FROM (SELECT hash(i)::VARCHAR AS s FROM range({n}) t(i)) a JOIN (SELECT hash(i + 1)::VARCHAR AS s FROM range({n}) t(i)) b USING (s)"
            )
        },
        10,
        1_000_000_000,
        Ends::Memory,
    ),
    bomb(
        "a_macro_of_macros",
        |n| {
            format!(
                "CREATE MACRO twice(x) AS x || x; SELECT length({}'x'{})",
                times("twice(", n),
                times(")", n)
            )
        },
        3,
        40,
        Ends::TimeOrMemory,
    ),
    // Bombs that use too much disk space.
    bomb(
        "a_table",
        |n| {
            format!(
                "CREATE TABLE big AS SELECT hash(i) AS a, hash(i + 1) AS b FROM range({n}) t(i)"
            )
        },
        10,
        1_000_000_000,
        Ends::File,
    ),
    bomb(
        "a_doubled_table",
        |n| {
            format!(
                "CREATE TABLE big AS SELECT random() AS a FROM range(1000); {}",
                times("INSERT INTO big SELECT random() FROM big;\n", n)
            )
        },
        2,
        40,
        Ends::File,
    ),
    // Bombs that are expensive to parse.
    bomb("statements", |n| times("SELECT 1;", n), 10, 10_001, Ends::Count),
    bomb(
        "brackets",
        |n| format!("SELECT {}1{}", times("(", n), times(")", n)),
        100,
        1_000_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "open_brackets",
        |n| format!("SELECT {}", if n > 10 { times("(", n) } else { "1".to_owned() }),
        10,
        5_000_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "minus_signs",
        |n| format!("SELECT {}1", times("- ", n)),
        100,
        1_000_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "negations",
        |n| format!("SELECT {}true", times("NOT ", n)),
        100,
        1_000_000,
        Ends::TimeOrMemory,
    ),
    bomb("terms", |n| format!("SELECT 1{}", times("+1", n)), 100, 1_000_000, Ends::TimeOrMemory),
    bomb(
        "alternatives",
        |n| format!("SELECT 1 WHERE false{}", times(" OR true", n)),
        100,
        1_000_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "subqueries",
        |n| format!("SELECT {}1{}", times("(SELECT ", n), times(")", n)),
        50,
        500_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "queries_in_queries",
        |n| format!("{}SELECT 1{}", times("SELECT * FROM (", n), times(")", n)),
        50,
        300_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "unions",
        |n| format!("SELECT 1{}", times(" UNION ALL SELECT 1", n)),
        100,
        300_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "joins",
        |n| format!("SELECT 1 FROM customer{}", times(" NATURAL JOIN customer", n)),
        1,
        300_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "lists_in_lists",
        |n| format!("SELECT {}1{}", times("[", n), times("]", n)),
        50,
        1_000_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "types_of_lists",
        |n| format!("SELECT NULL::INTEGER{}", times("[]", n)),
        50,
        1_000_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "calls",
        |n| format!("SELECT {}1{}", times("abs(", n), times(")", n)),
        50,
        500_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "cases",
        |n| format!("SELECT {}1{}", times("CASE WHEN true THEN ", n), times(" END", n)),
        50,
        200_000,
        Ends::TimeOrMemory,
    ),
    bomb(
        "values",
        |n| format!("SELECT 1 WHERE 1 IN (1{})", times(",2", n)),
        100,
        3_000_000,
        Ends::TimeOrMemory,
    ),
    bomb("columns", |n| format!("SELECT 1{}", times(",1", n)), 100, 3_000_000, Ends::TimeOrMemory),
    // Bombs with a large result.
    bomb(
        "an_error",
        |n| format!("SELECT CASE WHEN {n} > 10 THEN error(repeat('x', {n})) END"),
        10,
        100_000_000,
        Ends::TimeOrMemory,
    ),
];

/// EX-21: a large bomb is stopped by the limit named in the table, and a small one runs to completion.
pub(crate) fn judge(bomb: &Bomb) -> Result<(), Failed> {
    let shared = Shared::get();
    let time = match bomb.end {
        Ends::Time | Ends::TimeOrMemory => Duration::from_secs(1),
        Ends::Memory | Ends::File | Ends::Count => LIMITS.time,
    };
    let limits =
        SqlLimits { time, memory_bytes_max: 192 << 20, spill_bytes_max: 16 << 20, ..LIMITS };
    let mut wrong = Vec::new();
    let small = Ground::new(shared, false).as_a_step(shared, &(bomb.text)(bomb.small), LIMITS);
    if !matches!(small, Ok(Report::Done(_))) {
        wrong.push(format!("a small one does not run: {}", shown(&small)));
    }
    let large = (bomb.text)(bomb.large);
    let ended = Ground::new(shared, false).as_a_step(shared, &large, limits);
    if !is_ended(bomb.end, &ended) {
        wrong.push(format!("{:?} is not what ends it: {}", bomb.end, shown(&ended)));
    }
    if bomb.end == Ends::Memory {
        let walls = Walls { list: true, lock: false };
        let ended = Ground::new(shared, false).confined(shared, walls, &large, limits);
        if !is_ended(bomb.end, &ended) && !matches!(ended, Err(SqlError::Limit { .. })) {
            wrong.push(format!("the sandbox alone does not end it: {}", shown(&ended)));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

fn is_ended(end: Ends, ended: &End) -> bool {
    match (end, ended) {
        (Ends::Time, Err(SqlError::Limit { resource })) => {
            matches!(resource, Resource::Wall | Resource::Cpu)
        }
        (Ends::TimeOrMemory, Err(SqlError::Limit { resource })) => {
            matches!(resource, Resource::Wall | Resource::Cpu | Resource::Memory)
        }
        (Ends::File, Err(SqlError::Limit { resource })) => *resource == Resource::FileSize,
        (Ends::Memory | Ends::TimeOrMemory, Ok(Report::Failed(failure))) => {
            failure.problem == Problem::Resources
        }
        (Ends::Count, Ok(Report::Failed(failure))) => failure.problem == Problem::Count,
        (Ends::Time | Ends::Memory | Ends::File | Ends::Count | Ends::TimeOrMemory, _) => false,
    }
}

fn shown(ended: &End) -> String {
    format!("{ended:?}").chars().take(400).collect()
}
