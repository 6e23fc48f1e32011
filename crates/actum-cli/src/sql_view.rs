//! Text and JSON views of the effects of an SQL step for an approver: statements, tables, and changed rows side by
//! side.

use std::fmt::Write as _;
use std::io::{self, Write};

use actum_api::sql_preview::{
    SqlColumn, SqlObject, SqlObjectChange, SqlObjectKind, SqlPreview, SqlRetypedColumn, SqlRow,
    SqlStatement, SqlTable,
};
use actum_core::path::Harmless;
use actum_sql::{
    CELL_CHARACTERS_MAX, Column, Compared, Comparison, Done, ObjectChange, ObjectDifference,
    ObjectKind, RowDifference, TableDifference,
};
use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::count::count;
use crate::style::{self, Painted};

/// Maximum width of a table column that is shown together with others.
const CELL_WIDTH_MAX: usize = 24;
/// Minimum width at which a table column is still shown.
const CELL_WIDTH_MIN: usize = 6;
/// Maximum number of statements that are listed individually.
const STATEMENTS_MAX: usize = 20;
/// Indentation of each line of the view.
const INDENT: &str = "    ";

/// Converts the effects of a step to their form in JSON documents.
pub(crate) fn document(done: &Done) -> SqlPreview {
    let statements = done.statements.iter().map(|ran| {
        let (kind, rows) = (ran.kind.clone(), ran.rows);
        SqlStatement { kind, rows }
    });
    let preview = SqlPreview {
        version: done.version.clone(),
        statements: statements.collect(),
        rows_changed: done.rows_changed(),
        ..SqlPreview::default()
    };
    match &done.comparison {
        None => preview,
        Some(Compared::Unknown(why)) => SqlPreview { not_compared: Some(why.clone()), ..preview },
        Some(Compared::Differences(comparison)) => {
            let Comparison {
                tables,
                tables_left_out,
                unchanged,
                rows_changed: _,
                objects,
                objects_left_out,
            } = comparison;
            SqlPreview {
                tables: tables.iter().map(table).collect(),
                tables_left_out: *tables_left_out,
                unchanged: *unchanged,
                objects: objects.iter().map(object).collect(),
                objects_left_out: *objects_left_out,
                ..preview
            }
        }
    }
}

fn object(ObjectDifference { kind, schema, name, change }: &ObjectDifference) -> SqlObject {
    let (kind, table) = match kind {
        ObjectKind::View => (SqlObjectKind::View, None),
        ObjectKind::Index(table) => (SqlObjectKind::Index, Some(table.clone())),
    };
    let change = match change {
        ObjectChange::Added => SqlObjectChange::Added,
        ObjectChange::Removed => SqlObjectChange::Removed,
    };
    SqlObject { kind, schema: schema.clone(), name: name.clone(), table, change }
}

fn table(difference: &TableDifference) -> SqlTable {
    let columns = |columns: &[Column]| columns.iter().map(column).collect();
    let retyped = difference.columns_retyped.iter().map(|(Column { name, kind }, before)| {
        let (name, kind, type_before) = (name.clone(), kind.clone(), before.clone());
        SqlRetypedColumn { name, kind, type_before }
    });
    let rows = difference.rows.iter().map(|RowDifference { old, new }| {
        let (old, new) = (old.clone(), new.clone());
        SqlRow { old, new }
    });
    SqlTable {
        schema: difference.schema.clone(),
        name: difference.name.clone(),
        rows_before: difference.rows_before,
        rows_after: difference.rows_after,
        rows_changed: difference.rows_changed,
        not_compared: difference.not_compared.clone(),
        columns_added: columns(&difference.columns_added),
        columns_removed: columns(&difference.columns_removed),
        columns_retyped: retyped.collect(),
        columns: columns(&difference.columns),
        key_columns: difference.key_columns,
        columns_left_out: difference.columns_left_out,
        rows: rows.collect(),
    }
}

fn column(Column { name, kind }: &Column) -> SqlColumn {
    SqlColumn { name: name.clone(), kind: kind.clone() }
}

/// Writes the effects of a step as text in which no line is wider than `width`.
pub(crate) fn write(preview: &SqlPreview, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let SqlPreview { statements, tables, tables_left_out, unchanged, not_compared, .. } = preview;
    let mut line = |style: Style, text: &str| {
        let text = fitting(text, width.saturating_sub(INDENT.len()));
        writeln!(out, "{INDENT}{}", Painted(style, text))
    };
    for (number, SqlStatement { kind, rows }) in (1..=STATEMENTS_MAX).zip(statements) {
        // For most other kinds of statements, DuckDB reports a row count of 0, which is not shown.
        let rows = match &**kind {
            "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "MERGE" => count(*rows, "row"),
            _ if *rows > 0 => count(*rows, "row"),
            _ => String::new(),
        };
        line(Style::new(), format!("{number:>2}  {:12}  {rows}", shown(kind)).trim_end())?;
    }
    if let Some(more) = statements.len().checked_sub(STATEMENTS_MAX).filter(|more| *more > 0) {
        line(Style::new(), &format!("… and {more} more statements"))?;
    }
    if let Some(why) = not_compared {
        line(style::CHANGED, &format!("the tables were not compared: {}", shown(why)))?;
        return Ok(());
    }
    for table in tables {
        write_table(table, width, out)?;
    }
    let mut line = |text: &str| writeln!(out, "{INDENT}{}", fitting(text, width - INDENT.len()));
    if *tables_left_out > 0 {
        line(&format!("{} changed", count(*tables_left_out, "more table")))?;
    }
    if *unchanged > 0 {
        let other = if tables.is_empty() { "" } else { "other " };
        line(&format!("{} unchanged", count(*unchanged, &format!("{other}table"))))?;
    }
    for object in &preview.objects {
        write_object(object, width, out)?;
    }
    if preview.objects_left_out > 0 {
        let more = format!("… and {} more views and indexes", preview.objects_left_out);
        writeln!(out, "{INDENT}{}", fitting(&more, width.saturating_sub(INDENT.len())))?;
    }
    Ok(())
}

/// Writes a line about a view or an index that was added or removed.
fn write_object(object: &SqlObject, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let SqlObject { kind, schema, name, table, change } = object;
    let table = table.as_ref().map(|table| format!(" on {}", shown(table))).unwrap_or_default();
    let what = format!("{}{table}", shown(kind.as_str()));
    let (style, description) = match change {
        SqlObjectChange::Added => (style::ADDED, format!("new {what}")),
        SqlObjectChange::Removed => (style::REMOVED, format!("{what} removed")),
        SqlObjectChange::Other(word) => (style::CHANGED, format!("{what}: {}", shown(word))),
    };
    let text = format!("{}.{}: {description}", shown(schema), shown(name));
    let text = fitting(&text, width.saturating_sub(INDENT.len()));
    writeln!(out, "{INDENT}{}", Painted(style, text))
}

fn write_table(table: &SqlTable, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let SqlTable { schema, name, rows_before, rows_after, rows_changed, .. } = table;
    let mut line = |style: Style, text: String| {
        let text = fitting(&text, width.saturating_sub(INDENT.len()));
        writeln!(out, "{INDENT}{}", Painted(style, text))
    };
    let name = format!("{}.{}", shown(schema), shown(name));
    let (style, description) = match (rows_before, rows_after) {
        (None, Some(after)) => (style::ADDED, format!("new table, {}", count(*after, "row"))),
        (Some(before), None) => (style::REMOVED, format!("removed, {}", count(*before, "row"))),
        (before, after) => {
            let (before, after) = (before.unwrap_or(0), after.unwrap_or(0));
            let rows = format!("{before} -> {}", count(after, "row"));
            let changed = rows_changed.map(|changed| format!(", {changed} changed"));
            (style::CHANGED, format!("{rows}{}", changed.unwrap_or_default()))
        }
    };
    line(style, format!("{name}: {description}"))?;
    for SqlColumn { name, kind } in &table.columns_added {
        line(style::ADDED, format!("  + column {} {}", shown(name), shown(kind)))?;
    }
    for SqlColumn { name, kind } in &table.columns_removed {
        line(style::REMOVED, format!("  - column {} {}", shown(name), shown(kind)))?;
    }
    for SqlRetypedColumn { name, kind, type_before } in &table.columns_retyped {
        let (name, before, after) = (shown(name), shown(type_before), shown(kind));
        line(style::CHANGED, format!("  ~ column {name} {before} -> {after}"))?;
    }
    if let Some(why) = &table.not_compared {
        line(style::CHANGED, format!("  rows not shown: {}", shown(why)))?;
    }
    write_rows(table, width, out)
}

/// Writes the changed rows side by side, with the old rows on the left and the new rows on the right.
fn write_rows(table: &SqlTable, width: usize, out: &mut dyn Write) -> io::Result<()> {
    if table.rows.is_empty() {
        return Ok(());
    }
    let (has_old, has_new) = (
        table.rows.iter().any(|row| row.old.is_some()),
        table.rows.iter().any(|row| row.new.is_some()),
    );
    let mark = "  ~ ".len();
    let left = width.saturating_sub(INDENT.len() + mark);
    // The rows of a new or removed table have only one side.
    let half = if has_old && has_new { left.saturating_sub(" | ".len()) / 2 } else { left };
    let columns = Columns::fitting(table, half);
    let rest = |text: String| text.trim_end().to_owned();
    let names: Vec<_> = table.columns.iter().map(|column| shown(&column.name)).collect();
    let header = columns.line(&names);
    let header = match (has_old, has_new) {
        (true, true) => rest(format!("{header} | {header}")),
        _ => rest(header),
    };
    writeln!(out, "{INDENT}    {}", Painted(Style::new().bold(), header))?;
    let empty = " ".repeat(columns.width());
    for SqlRow { old, new } in &table.rows {
        let side = |cells: &Option<Vec<Option<String>>>| match cells {
            Some(cells) => columns.line(&values(table, cells)),
            None => empty.clone(),
        };
        let (mark, style) = match (old, new) {
            (None, _) => ("+", style::ADDED),
            (Some(_), None) => ("-", style::REMOVED),
            (Some(_), Some(_)) => ("~", style::CHANGED),
        };
        let row = match (has_old, has_new) {
            (true, true) => format!("{} | {}", side(old), side(new)),
            (true, false) => side(old),
            (false, _) => side(new),
        };
        writeln!(out, "{INDENT}  {} {}", Painted(style, mark), rest(row))?;
    }
    let mut more = String::new();
    let rows = u64::try_from(table.rows.len()).unwrap_or(u64::MAX);
    let left_out = table.rows_changed.map_or(0, |changed| changed.saturating_sub(rows));
    if left_out > 0 {
        write!(more, "… and {}", count(left_out, "more changed row")).map_err(io::Error::other)?;
    }
    let hidden = columns.hidden(table);
    if hidden > 0 {
        let separator = if more.is_empty() { "… " } else { ", " };
        let what = count(hidden, "column");
        write!(more, "{separator}{what} not shown").map_err(io::Error::other)?;
    }
    if more.is_empty() { Ok(()) } else { writeln!(out, "{INDENT}    {}", fitting(&more, left)) }
}

/// Widths of the table columns that fit on the screen.
struct Columns(Vec<usize>);

impl Columns {
    /// Chooses as many columns as fit into `width`, each as wide as its widest value.
    fn fitting(table: &SqlTable, width: usize) -> Self {
        let mut widths: Vec<usize> =
            table.columns.iter().map(|column| shown(&column.name).width()).collect();
        for row in &table.rows {
            for cells in [&row.old, &row.new].into_iter().flatten() {
                for (widest, value) in widths.iter_mut().zip(values(table, cells)) {
                    *widest = (*widest).max(value.width());
                }
            }
        }
        let only = widths.len() == 1;
        let (mut chosen, mut left) = (Vec::new(), width);
        for widest in widths {
            let gap = if chosen.is_empty() { 0 } else { 2 };
            let wanted = if only { widest } else { widest.min(CELL_WIDTH_MAX) };
            let room = left.saturating_sub(gap);
            if wanted > room && room < CELL_WIDTH_MIN && !chosen.is_empty() {
                break;
            }
            chosen.push(wanted.min(room));
            left = room.saturating_sub(wanted);
        }
        Self(chosen)
    }

    fn width(&self) -> usize {
        let gaps = self.0.len().saturating_sub(1).saturating_mul(2);
        self.0.iter().sum::<usize>().saturating_add(gaps)
    }

    /// Formats one row, with each text padded or cut to the width of its column.
    fn line(&self, texts: &[String]) -> String {
        let cells = self.0.iter().zip(texts).map(|(width, text)| {
            let text = fitting(text, *width);
            let space = " ".repeat(width.saturating_sub(text.width()));
            format!("{text}{space}")
        });
        cells.collect::<Vec<_>>().join("  ")
    }

    /// Returns the number of columns that are not shown.
    fn hidden(&self, table: &SqlTable) -> u64 {
        let hidden = table.columns.len().saturating_sub(self.0.len());
        u64::try_from(hidden).unwrap_or(u64::MAX).saturating_add(table.columns_left_out)
    }
}

/// Formats the values of a row: a text is quoted, and all other values are shown as DuckDB formats them.
fn values(table: &SqlTable, cells: &[Option<String>]) -> Vec<String> {
    let values = table.columns.iter().zip(cells).map(|(column, cell)| match cell {
        None => "NULL".to_owned(),
        Some(text) if column.kind == "VARCHAR" => {
            let is_cut = text.ends_with('…') && text.chars().count() == CELL_CHARACTERS_MAX;
            let end = if is_cut { "" } else { "'" };
            format!("'{}{end}", shown(text).replace('\'', "''"))
        }
        Some(text) => shown(text),
    });
    values.collect()
}

/// Escapes control characters in a text, including tabs, because the width of a tab depends on its position.
fn shown(text: &str) -> String {
    Harmless(text.as_bytes()).to_string().replace('\t', "<\\011>")
}

/// Shortens a text to `width` columns, with `…` at its end if it was cut.
fn fitting(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut cut, mut used) = (String::new(), 0);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests;
