//! Attacks that change a setting of the engine.

use crate::attack::{Attack, Boundary, CANARY, DENIED, Harm, LOCKED, attack, listed};

const fn set(text: &'static str, harm: Harm) -> Attack {
    listed("SET", text, harm, LOCKED)
}

const fn pragma(text: &'static str, harm: Harm) -> Attack {
    listed("SET", text, harm, LOCKED)
}

/// A `CALL` is bound before its kind is known, so the locked engine rejects it first.
const fn call(text: &'static str) -> Attack {
    attack(text, Harm::Writes, Boundary::Lock(LOCKED), Boundary::List("CALL"))
}

/// Attack with a query that changes a setting through a function.
const fn query(text: &'static str, harm: Harm) -> Attack {
    attack(text, harm, Boundary::Lock(LOCKED), Boundary::Harmless)
}

pub(crate) const ATTACKS: &[Attack] = &[
    set(
        "SET lock_configuration = false; CREATE TABLE loot AS FROM read_text('{secret}')",
        Harm::Shows(CANARY),
    ),
    set(
        "RESET lock_configuration; CREATE TABLE loot AS FROM read_text('{secret}')",
        Harm::Shows(CANARY),
    ),
    set(
        "SET allowed_paths = ['{secret}']; CREATE TABLE loot AS FROM read_text('{secret}')",
        Harm::Shows(CANARY),
    ),
    set(
        "SET allowed_directories = ['{outside}']; CREATE TABLE loot AS FROM read_text('{secret}')",
        Harm::Shows(CANARY),
    ),
    set(
        "SET file_search_path = '{outside}'; CREATE TABLE loot AS FROM 'secret.csv'",
        Harm::Shows(CANARY),
    ),
    set(
        "SET temp_directory = '{outside}/spilled'; CREATE TABLE loot AS SELECT current_setting('temp_directory')",
        Harm::Sets("/spilled"),
    ),
    set(
        "SET GLOBAL memory_limit = '100GB'; CREATE TABLE loot AS SELECT current_setting('memory_limit')",
        Harm::Sets("93.1 GiB"),
    ),
    set(
        "set max_memory to '100GB'; CREATE TABLE loot AS SELECT current_setting('memory_limit')",
        Harm::Sets("93.1 GiB"),
    ),
    set(
        "SET GLOBAL threads = 77; CREATE TABLE loot AS SELECT current_setting('threads')",
        Harm::Sets("77"),
    ),
    set(
        "SET \"worker_threads\" = 77; CREATE TABLE loot AS SELECT current_setting('threads')",
        Harm::Sets("77"),
    ),
    set(
        "SET/**/max_temp_directory_size/**/=/**/'77GB'; CREATE TABLE loot AS SELECT current_setting('max_temp_directory_size')",
        Harm::Sets("71.7 GiB"),
    ),
    set(
        "SET home_directory = '{outside}'; CREATE TABLE loot AS FROM read_text('~/secret.csv')",
        Harm::Shows(CANARY),
    ),
    set(
        "SET secret_directory = '{out}'; CREATE TABLE loot AS SELECT current_setting('secret_directory')",
        Harm::Sets("/out"),
    ),
    set("SET log_query_path = '{out}'; SELECT 1", Harm::Writes),
    set("SET enable_profiling = 'json'; SET profiling_output = '{out}'; SELECT 42", Harm::Writes),
    set(
        "SET http_proxy = 'http://127.0.0.1:{port}'; CREATE TABLE loot AS SELECT current_setting('http_proxy')",
        Harm::Sets("http://127.0.0.1"),
    ),
    set(
        "SET allow_community_extensions = false; CREATE TABLE loot AS SELECT 'c' || current_setting('allow_community_extensions')",
        Harm::Sets("cfalse"),
    ),
    attack(
        "SET VARIABLE x = (SELECT content FROM read_text('{secret}')); CREATE TABLE loot AS SELECT getvariable('x')",
        Harm::Shows(CANARY),
        Boundary::Lock(DENIED),
        Boundary::List("SET"),
    ),
    attack(
        "SET VARIABLE x = 'reached'; CREATE TABLE loot AS SELECT getvariable('x')",
        Harm::Sets("reached"),
        Boundary::List("SET"),
        Boundary::Harmless,
    ),
    pragma(
        "PRAGMA memory_limit = '100GB'; CREATE TABLE loot AS SELECT current_setting('memory_limit')",
        Harm::Sets("93.1 GiB"),
    ),
    pragma(
        "pragma threads = 77; CREATE TABLE loot AS SELECT current_setting('threads')",
        Harm::Sets("77"),
    ),
    pragma(
        "PRAGMA temp_directory = '{outside}/spilled'; CREATE TABLE loot AS SELECT current_setting('temp_directory')",
        Harm::Sets("/spilled"),
    ),
    pragma("PRAGMA log_query_path = '{out}'; SELECT 1", Harm::Writes),
    pragma(
        "PRAGMA enable_profiling = 'json'; PRAGMA profiling_output = '{out}'; SELECT 42",
        Harm::Writes,
    ),
    pragma(
        "PRAGMA enable_profiling = 'json'; PRAGMA profile_output = '{out}'; SELECT 42",
        Harm::Writes,
    ),
    call("CALL enable_logging(storage = 'file', storage_path = '{out}'); SELECT 1"),
    call("CALL enable_profiling(format = 'json', save_location = '{out}'); SELECT 42"),
    query(
        "SELECT * FROM enable_logging(storage = 'file', storage_path = '{out}'); SELECT 1",
        Harm::Writes,
    ),
    query(
        "CREATE TABLE x AS FROM enable_logging(storage = 'file', storage_path = '{out}'); SELECT 1",
        Harm::Writes,
    ),
    query(
        "EXPLAIN ANALYZE SELECT * FROM enable_logging(storage = 'file', storage_path = '{out}'); SELECT 1",
        Harm::Writes,
    ),
    query(
        "SELECT * FROM enable_profiling(format = 'json', save_location = '{out}'); SELECT 42",
        Harm::Writes,
    ),
];
