"""Judges results of actum with DuckDB's own Python driver.

Reads cases as JSON from standard input: `before` is a copy of a database, and `query` and `parameters` are what a step ran on it. With
`result` the rows that the step saved as Parquet are compared with those of the query; with `after` all tables that it left are compared with
those that the same statements leave here. Prints a line of JSON for each case: `differs` is null or says how.
"""

import decimal
import json
import os
import shutil
import sys

import duckdb

SCHEMA = """
    SELECT 'column', table_name, column_name, data_type, is_nullable, column_default FROM duckdb_columns() WHERE database_name = $name
    UNION ALL SELECT 'view', view_name, sql, NULL, NULL, NULL FROM duckdb_views() WHERE database_name = $name AND NOT internal
    UNION ALL SELECT 'index', table_name, index_name, sql, NULL, NULL FROM duckdb_indexes() WHERE database_name = $name
    UNION ALL SELECT 'constraint', table_name, constraint_text, NULL, NULL, NULL FROM duckdb_constraints() WHERE database_name = $name
    ORDER BY ALL
"""


def rows_of_query(case):
    with duckdb.connect(case["before"], read_only=True) as connection:
        expected = connection.execute(case["query"], case["parameters"] or None)
        names, rows = [it[0] for it in expected.description], expected.fetchall()
    with duckdb.connect() as connection:
        saved = connection.execute("SELECT * FROM read_parquet($path)", {"path": case["result"]})
        saved_names, saved_rows = [it[0] for it in saved.description], saved.fetchall()
    if saved_names != names:
        return len(rows), f"columns {saved_names}, and not {names}"
    if saved_rows != rows:
        at = next((i for i, pair in enumerate(zip(saved_rows, rows)) if pair[0] != pair[1]), min(len(rows), len(saved_rows)))
        return len(rows), f"{len(saved_rows)} rows, and not {len(rows)}, or other ones from row {at}"
    return len(rows), None


def tables_after(case):
    own = case["before"] + ".judged"
    # An empty file is a database without anything in it; DuckDB makes one where there is no file.
    if os.path.getsize(case["before"]):
        shutil.copyfile(case["before"], own)
    with duckdb.connect(own) as connection:
        for statement in connection.extract_statements(case["query"]):
            values = {name: case["parameters"][name] for name in statement.named_parameters}
            connection.execute(statement, values or None).fetchall()
    if os.path.exists(case["after"] + ".wal"):
        return 0, "a write-ahead log is left"
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{own}' AS wanted (READ_ONLY)")
        connection.execute(f"ATTACH '{case['after']}' AS found (READ_ONLY)")
        wanted, found = (connection.execute(SCHEMA, {"name": name}).fetchall() for name in ("wanted", "found"))
        if wanted != found:
            return 0, "other tables, columns, views, indexes or constraints"
        tables = sorted({row[1] for row in wanted if row[0] == "column"})
        count = 0
        for table in tables:
            count += connection.execute(f'SELECT COUNT(*) FROM wanted."{table}"').fetchone()[0]
            for one, other in (("wanted", "found"), ("found", "wanted")):
                differing = f'SELECT COUNT(*) FROM (FROM {one}."{table}" EXCEPT ALL FROM {other}."{table}")'
                rows = connection.execute(differing).fetchone()[0]
                if rows:
                    return count, f"{rows} rows of `{table}` are in {one} alone"
    os.remove(own)
    return count, None


for case in json.load(sys.stdin, parse_float=decimal.Decimal):
    rows, differs = rows_of_query(case) if case.get("result") else tables_after(case)
    print(json.dumps({"name": case["name"], "rows": rows, "differs": differs}), flush=True)
