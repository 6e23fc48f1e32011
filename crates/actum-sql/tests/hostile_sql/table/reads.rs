//! Attacks that read a file of this user.

use crate::attack::{ABSENT, Attack, Boundary, CANARY, DENIED, Harm, attack, hidden, read};

pub(crate) const ATTACKS: &[Attack] = &[
    // Attacks with table functions.
    hidden("CREATE TABLE loot AS SELECT * FROM read_text('{secret}')"),
    hidden("CREATE TABLE loot AS SELECT content::VARCHAR FROM read_blob('{secret}')"),
    read("CREATE TABLE loot AS SELECT * FROM read_csv('{secret}')"),
    read("CREATE TABLE loot AS SELECT * FROM read_csv_auto('{secret}')"),
    attack(
        "CREATE TABLE loot AS SELECT * FROM sniff_csv('{secret}')",
        Harm::Shows("'Delimiter': ','"),
        Boundary::Lock(DENIED),
        Boundary::Sandbox(ABSENT),
    ),
    read("CREATE TABLE loot AS SELECT * FROM read_json('{json}')"),
    read("CREATE TABLE loot AS SELECT * FROM read_json_auto('{json}')"),
    read("CREATE TABLE loot AS SELECT * FROM read_json_objects('{json}')"),
    read("CREATE TABLE loot AS SELECT * FROM read_json_objects_auto('{json}')"),
    read("CREATE TABLE loot AS SELECT * FROM read_ndjson('{json}')"),
    read("CREATE TABLE loot AS SELECT * FROM read_ndjson_auto('{json}')"),
    read("CREATE TABLE loot AS SELECT * FROM read_ndjson_objects('{json}')"),
    read("CREATE TABLE loot AS SELECT * FROM read_parquet('{parquet}')"),
    read("CREATE TABLE loot AS SELECT * FROM parquet_scan('{parquet}')"),
    read("CREATE TABLE loot AS SELECT * FROM parquet_metadata('{parquet}')"),
    read("CREATE TABLE loot AS SELECT * FROM parquet_schema('{parquet}')"),
    read("CREATE TABLE loot AS SELECT value::VARCHAR FROM parquet_kv_metadata('{parquet}')"),
    read("CREATE TABLE loot AS SELECT * FROM parquet_full_metadata('{parquet}')"),
    read("CREATE TABLE loot AS SELECT * FROM read_duckdb('{foreign}', table_name = 't')"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text(['{json}', '{secret}'])"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text('{outside}/secret.[cj]s*')"),
    read("CREATE TABLE loot AS SELECT * FROM read_csv('{outside}/**/*.csv', union_by_name = true)"),
    attack(
        "CREATE TABLE loot AS SELECT * FROM glob('{outside}/*')",
        Harm::Shows("secret.csv"),
        Boundary::Lock(DENIED),
        Boundary::Harmless,
    ),
    attack(
        "CREATE TABLE loot AS SELECT * FROM glob('/etc/*')",
        Harm::Shows("/etc/passwd"),
        Boundary::Lock(DENIED),
        Boundary::Harmless,
    ),
    // Attacks with file names in place of tables.
    read("CREATE TABLE loot AS FROM '{secret}'"),
    read("CREATE TABLE loot AS FROM \"{secret}\""),
    read("CREATE TABLE loot AS FROM '{parquet}'"),
    read("CREATE TABLE loot AS FROM '{json}'"),
    read("CREATE TABLE loot AS SELECT * FROM query_table('{secret}')"),
    hidden("CREATE TABLE loot AS SELECT * FROM query('FROM read_text(''{secret}'')')"),
    read("CREATE TABLE loot AS SUMMARIZE '{secret}'"),
    read(
        "CREATE TABLE loot AS (DESCRIBE FROM read_csv('{secret}', header = false, names = ['canary-5f1d', 'b']))",
    ),
    // Attacks that spell the name of a function differently.
    hidden("CREATE TABLE loot AS SELECT * FROM system.main.read_text('{secret}')"),
    hidden("CREATE TABLE loot AS SELECT * FROM \"READ_TEXT\"('{secret}')"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text /* a */ ( -- b\n '{secret}')"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text(chr(47) || substr('{secret}', 2))"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text(E'\\x2f' || substr('{secret}', 2))"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text($${secret}$$)"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text('file://{secret}')"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text('file:{secret}')"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text('{relative}')"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text('/proc/self/root{secret}')"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text('/proc/self/cwd/{relative}')"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text('{dir}/{relative}')"),
    hidden("CREATE TABLE loot AS SELECT * FROM read_text('{dir}/./{relative}')"),
    // Attacks hidden inside other statements.
    hidden("CREATE VIEW x AS FROM read_text('{secret}'); CREATE TABLE loot AS SELECT * FROM x"),
    hidden("CREATE MACRO x() AS TABLE FROM read_text('{secret}'); CREATE TABLE loot AS FROM x()"),
    hidden(
        "CREATE MACRO x(f) AS (SELECT content FROM read_text('{secret}')); CREATE TABLE loot AS SELECT x(1)",
    ),
    hidden("CREATE MACRO x(f) AS TABLE FROM read_text(f); CREATE TABLE loot AS FROM x('{secret}')"),
    hidden(
        "CREATE TYPE x AS ENUM (SELECT content FROM read_text('{secret}')); CREATE TABLE loot AS SELECT enum_range(NULL::x)",
    ),
    hidden("INSERT INTO customer SELECT 9, content, 0 FROM read_text('{secret}')"),
    hidden("UPDATE customer SET name = (SELECT content FROM read_text('{secret}')) WHERE id = 1"),
    hidden("UPDATE customer SET name = f.content FROM read_text('{secret}') AS f WHERE id = 1"),
    hidden(
        "MERGE INTO customer USING (SELECT 1 AS id, content FROM read_text('{secret}')) AS f USING (id) WHEN MATCHED THEN UPDATE SET name = f.content",
    ),
    hidden("CREATE TABLE loot AS WITH x AS MATERIALIZED (FROM read_text('{secret}')) FROM x"),
    hidden(
        "CREATE TABLE loot AS WITH RECURSIVE x(i, c) AS (SELECT 1, '' UNION ALL SELECT i + 1, content FROM x, read_text('{secret}') WHERE i < 2) FROM x",
    ),
    hidden("CREATE TABLE loot AS SELECT (SELECT content FROM read_text('{secret}')) FROM customer"),
    hidden(
        "CREATE TABLE loot AS SELECT CASE WHEN true THEN (SELECT content FROM read_text('{secret}')) END",
    ),
    hidden("CREATE TABLE loot AS SELECT content FROM customer JOIN read_text('{secret}') ON true"),
    hidden(
        "CREATE TABLE loot AS FROM (VALUES ('{secret}')) p(f), LATERAL (SELECT content FROM read_text('{secret}'))",
    ),
    hidden(
        "CREATE TABLE loot AS SELECT content FROM read_text('{secret}') UNION ALL SELECT name FROM customer",
    ),
    hidden("BEGIN; CREATE TABLE loot AS FROM read_text('{secret}'); COMMIT"),
    hidden("CREATE TEMP TABLE loot AS FROM read_text('{secret}')"),
    hidden("EXPLAIN ANALYZE CREATE TABLE loot AS FROM read_text('{secret}')"),
    hidden("EXPLAIN ANALYZE INSERT INTO customer SELECT 9, content, 0 FROM read_text('{secret}')"),
    hidden(
        "CREATE TABLE loot AS FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{secret}'')'))",
    ),
    hidden(
        "CREATE TABLE loot AS SELECT error('x') FROM read_text('{secret}') WHERE content = ''; CREATE TABLE more AS FROM read_text('{secret}')",
    ),
    hidden("SELECT error(content) FROM read_text('{secret}')"),
    hidden("SELECT content::INTEGER FROM read_text('{secret}')"),
    // Attacks on files of the system and the kernel.
    attack(
        "CREATE TABLE loot AS FROM read_text('/etc/passwd')",
        Harm::Shows("root:"),
        Boundary::Lock(DENIED),
        Boundary::Harmless,
    ),
    attack(
        "CREATE TABLE loot AS SELECT content::VARCHAR FROM read_blob('/proc/self/environ')",
        Harm::Shows(CANARY),
        Boundary::Lock(DENIED),
        Boundary::Harmless,
    ),
    attack(
        "CREATE TABLE loot AS SELECT content::VARCHAR FROM read_blob('/proc/self/cmdline')",
        Harm::Shows(CANARY),
        Boundary::Lock(DENIED),
        Boundary::Harmless,
    ),
    // A link in place of the only file that the locked engine may open. Its target is missing in the sandbox, so the engine takes
    // it for a directory, which it may not read.
    attack(
        "CREATE TABLE loot AS FROM read_csv('{dir}/rows.csv'); SELECT 1",
        Harm::Shows(CANARY),
        Boundary::Sandbox(DENIED),
        Boundary::Harmless,
    ),
];
