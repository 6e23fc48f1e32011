//! Tests of the text view of SQL effects.

use super::*;

fn text(preview: &SqlPreview, width: usize) -> String {
    let mut out = Vec::new();
    write(preview, width, &mut out).unwrap();
    // Colour marks have no width, and `guard` replaces them, so they are removed here.
    String::from_utf8(out).unwrap().replace(|c| ('\u{fdd0}'..='\u{fdef}').contains(&c), "")
}

fn columns(all: &[(&str, &str)]) -> Vec<SqlColumn> {
    all.iter()
        .map(|(name, kind)| SqlColumn { name: (*name).into(), kind: (*kind).into() })
        .collect()
}

fn cells(all: &[Option<&str>]) -> Option<Vec<Option<String>>> {
    Some(all.iter().map(|cell| cell.map(ToOwned::to_owned)).collect())
}

fn customer() -> SqlTable {
    SqlTable {
        schema: "main".into(),
        name: "customer".into(),
        rows_before: Some(3),
        rows_after: Some(3),
        rows_changed: Some(3),
        columns: columns(&[("id", "INTEGER"), ("balance", "DECIMAL(9,2)"), ("name", "VARCHAR")]),
        key_columns: 1,
        rows: vec![
            SqlRow { old: cells(&[Some("1"), Some("10.50"), Some("Ada")]), new: None },
            SqlRow {
                old: cells(&[Some("2"), Some("0.00"), Some("O'Hara")]),
                new: cells(&[Some("2"), Some("2.50"), Some("NULL")]),
            },
            SqlRow { old: None, new: cells(&[Some("9"), Some("7.00"), None]) },
        ],
        ..SqlTable::default()
    }
}

/// EX-11: changed rows are shown side by side, removed rows on the left, and new rows on the right.
#[test]
fn changed_rows_are_shown_side_by_side() {
    let preview = SqlPreview {
        statements: vec![SqlStatement { kind: "UPDATE".into(), rows: 1 }],
        tables: vec![customer()],
        unchanged: 1,
        ..SqlPreview::default()
    };
    let expected = "
     1  UPDATE        1 row
    main.customer: 3 -> 3 rows, 3 changed
        id  balance  name      | id  balance  name
      - 1   10.50    'Ada'     |
      ~ 2   0.00     'O''Hara' | 2   2.50     'NULL'
      +                        | 9   7.00     NULL
    1 other table unchanged
"
    .trim_start_matches('\n');
    let shown = text(&preview, 80);
    let expected = expected.trim_start_matches('\n').replace(
        "           + 9                      |\n",
        "           +                        | 9   7.00     NULL\n",
    );
    assert_eq!(shown, expected);
}

/// EX-11, EX-20: views and indexes are listed below the tables, with their names escaped and shortened.
#[test]
fn views_and_indexes_are_listed_below_the_tables() {
    let object = |kind, name: &str, table: Option<&str>, change| SqlObject {
        kind,
        schema: "main".into(),
        name: name.into(),
        table: table.map(ToOwned::to_owned),
        change,
    };
    let preview = SqlPreview {
        objects: vec![
            object(SqlObjectKind::View, "totals", None, SqlObjectChange::Added),
            object(SqlObjectKind::View, "\u{1b}[2J", None, SqlObjectChange::Removed),
            object(SqlObjectKind::Index, "by_name", Some("customer"), SqlObjectChange::Added),
            object(SqlObjectKind::Index, "by_id", Some(&"x".repeat(40)), SqlObjectChange::Removed),
        ],
        objects_left_out: 3,
        unchanged: 2,
        ..SqlPreview::default()
    };
    assert_eq!(
        text(&preview, 40),
        "    2 tables unchanged
    main.totals: new view
    main.<\\033>[2J: view removed
    main.by_name: new index on customer
    main.by_id: index on xxxxxxxxxxxxxx…
    … and 3 more views and indexes
"
    );
}

/// EX-11, EX-20: hostile names and values are escaped, and no line is wider than the screen.
#[test]
fn hostile_values_are_escaped_and_cut() {
    let long = "x".repeat(119) + "…";
    let hostile = [
        "\u{1b}[2Ja\nb\tc\0",
        "日本語日本語日本語日本語日本語",
        &long,
        "\u{202e}abc",
        "e\u{301}".repeat(40).leak(),
    ];
    let kinds = ["VARCHAR", "VARCHAR", "VARCHAR", "BLOB", "STRUCT(a INTEGER)"];
    let names = ["\u{1b}]0;x\u{7}", "名前", "c", "d\ne", "f"];
    let pairs: Vec<_> = names.into_iter().zip(kinds).collect();
    let row = cells(&hostile.map(Some));
    let table = SqlTable {
        name: "t\n\u{1b}[31m".into(),
        columns: columns(&pairs),
        columns_left_out: 7,
        columns_added: columns(&pairs),
        columns_removed: columns(&pairs),
        columns_retyped: vec![SqlRetypedColumn {
            name: "\r".into(),
            kind: "ENUM('\u{1b}')".into(),
            type_before: "x".repeat(500),
        }],
        not_compared: Some("\u{9b}31m".into()),
        rows: vec![SqlRow { old: row.clone(), new: row.clone() }, SqlRow { old: None, new: row }],
        ..customer()
    };
    for width in [40, 41, 80, 200] {
        let mut table = table.clone();
        for order in 0..5 {
            table.columns.rotate_left(order);
            for side in table.rows.iter_mut().flat_map(|row| [&mut row.old, &mut row.new]).flatten()
            {
                side.rotate_left(order);
            }
            let preview = SqlPreview { tables: vec![table.clone()], ..SqlPreview::default() };
            let shown = text(&preview, width);
            for line in shown.lines() {
                assert!(line.width() <= width, "{width}: {line:?}");
            }
            assert!(!shown.contains(|c: char| c != '\n' && c.is_control()), "{shown:?}");
            assert!(!shown.contains('\u{202e}') && shown.contains("not shown"), "{shown:?}");
        }
    }
}

/// EX-11: `NULL`, the text `NULL` and an empty text look different, and a shortened value has no closing quote.
#[test]
fn null_text_and_empty_values_look_different() {
    let table = SqlTable { columns: columns(&[("a", "VARCHAR"), ("b", "BLOB")]), ..customer() };
    let long = "x".repeat(119) + "…";
    for (cell, expected) in [
        (None, "NULL"),
        (Some("NULL"), "'NULL'"),
        (Some(""), "''"),
        (Some("it's"), "'it''s'"),
        (Some(&*long), &*format!("'{long}")),
    ] {
        assert_eq!(values(&table, &cells(&[cell]).unwrap()), [expected]);
    }
    assert_eq!(values(&table, &cells(&[None, Some("\\x00")]).unwrap())[1], "\\x00");
}

/// EX-11: statements, rows and tables beyond the limits are not shown, but their number is.
#[test]
fn omitted_statements_rows_and_tables_are_counted() {
    let statement = SqlStatement { kind: "INSERT".into(), rows: 1 };
    let preview = SqlPreview {
        statements: vec![statement; 22],
        tables: vec![SqlTable { rows_changed: Some(1003), columns_left_out: 2, ..customer() }],
        tables_left_out: 5,
        ..SqlPreview::default()
    };
    let shown = text(&preview, 80);
    for expected in [
        "… and 2 more statements",
        "… and 1000 more changed rows, 2 columns not shown",
        "5 more tables changed",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}
