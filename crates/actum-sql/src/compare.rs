//! Compares the tables of a database before and after a step. The comparison runs in a separate, locked engine to which
//! both versions of the database are attached.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::comparison::{
    CELL_CHARACTERS_MAX, Cell, Column, Comparison, ObjectChange, ObjectDifference, ObjectKind,
    RowDifference, TableDifference,
};
use crate::duckdb::{Connection, DuckDb};
use crate::job::Job;
use crate::lockdown::{Access, quoted, settings};
use crate::message::on_one_line;

/// Maximum time for all comparisons of a step.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Maximum number of rows of a table that are compared, counting the rows before and after.
const ROWS_MAX: u64 = 5_000_000;
/// Maximum number of differing rows that are shown, over all tables.
const SHOWN_ROWS_MAX: usize = 20;
/// Maximum number of columns of a row that are read.
const READ_COLUMNS_MAX: usize = 100;
/// Maximum number of columns of a row that are shown.
const SHOWN_COLUMNS_MAX: usize = 32;
/// Maximum number of differing tables that are listed.
const TABLES_MAX: usize = 200;
/// Maximum number of added and removed views and indexes that are listed.
const OBJECTS_MAX: usize = 200;
/// Maximum number of columns of a table that are listed as added. Equal limits apply to removed and retyped columns.
const LISTED_COLUMNS_MAX: usize = 100;

type Result<T> = std::result::Result<T, String>;

/// Copy of the database and its write-ahead log before the step. It is stored in a new directory next to the database.
pub(crate) struct Before {
    directory: PathBuf,
    /// Path of the copy, or `None` if the step creates the database.
    database: Option<PathBuf>,
}

/// Side of the comparison: the database before or after the step.
#[derive(Clone, Copy)]
enum Side {
    Old,
    New,
}

/// Columns, primary key and row count of a table on one side.
struct Table {
    columns: Vec<Column>,
    key: Vec<String>,
    rows: u64,
}

type Tables = BTreeMap<(String, String), Table>;

impl Before {
    /// Copies the database before the first statement runs.
    pub(crate) fn keep(job: &Job) -> std::io::Result<Self> {
        let directory = job.database.with_file_name("actum-before");
        std::fs::create_dir(&directory)?;
        let Some(name) = job.database.file_name().filter(|_| job.database.exists()) else {
            return Ok(Self { directory, database: None });
        };
        let copy = directory.join(name);
        std::fs::copy(&job.database, &copy)?;
        let log = log_of(&job.database);
        if log.exists() {
            std::fs::copy(&log, log_of(&copy))?;
        }
        Ok(Self { directory, database: Some(copy) })
    }

    /// Compares the copy with the database after the last statement, and then removes the copy. The comparison may take
    /// at most half of the time that is left until `end`, and never more than [`TIME_MAX`].
    pub(crate) fn compare(self, duckdb: &DuckDb, job: &Job, end: Instant) -> Result<Comparison> {
        let left = end.saturating_duration_since(Instant::now()) / 2;
        let deadline = Instant::now() + left.min(TIME_MAX);
        let compared = compare(duckdb, job, (self.database.as_deref(), deadline));
        let removed = std::fs::remove_dir_all(&self.directory);
        removed.map_err(|error| format!("failed to remove the copy of the database: {error}"))?;
        compared
    }
}

fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".wal");
    PathBuf::from(name)
}

fn compare(
    duckdb: &DuckDb,
    job: &Job,
    (before, deadline): (Option<&Path>, Instant),
) -> Result<Comparison> {
    let database = duckdb.open(Path::new(":memory:"), &settings(job, Access::Memory).pairs())?;
    let connection = database.connect()?;
    let attach = |path: &Path, side: Side| {
        let (path, name) = (quoted(&path.to_string_lossy()), side.name());
        connection.command(&format!("ATTACH {path} AS {name} (READ_ONLY)"))
    };
    attach(&job.database, Side::New)?;
    if let Some(before) = before {
        attach(before, Side::Old)?;
    }
    for text in ["SET enable_external_access = false", "SET lock_configuration = true"] {
        connection.command(text)?;
    }
    let (old, new) = (tables(&connection, Side::Old)?, tables(&connection, Side::New)?);
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let mut differences = Vec::new();
    let mut comparison = Comparison::default();
    for name in names {
        let pair = Pair { connection: &connection, name, old: old.get(name), new: new.get(name) };
        let difference = pair.difference(deadline);
        comparison.rows_changed = comparison.rows_changed.saturating_add(difference.rows_counted());
        match difference.is_none() {
            true => comparison.unchanged = comparison.unchanged.saturating_add(1),
            false => differences.push((pair, difference)),
        }
    }
    let left_out = differences.len().saturating_sub(TABLES_MAX);
    comparison.tables_left_out = u64::try_from(left_out).unwrap_or(u64::MAX);
    differences.truncate(TABLES_MAX);
    let mut rows_left = SHOWN_ROWS_MAX;
    let mut tables_left = differences.len();
    for (pair, difference) in &mut differences {
        // Each table may show an equal share of the rows that the tables before it left.
        let count = rows_left.div_ceil(tables_left.max(1));
        tables_left = tables_left.saturating_sub(1);
        pair.show(difference, count, deadline);
        rows_left = rows_left.saturating_sub(difference.rows.len());
    }
    comparison.tables = differences.into_iter().map(|(_, difference)| difference).collect();
    let mut objects = object_differences(&connection)?;
    let left_out = objects.len().saturating_sub(OBJECTS_MAX);
    comparison.objects_left_out = u64::try_from(left_out).unwrap_or(u64::MAX);
    objects.truncate(OBJECTS_MAX);
    comparison.objects = objects;
    Ok(comparison)
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Old => "actum_old",
            Self::New => "actum_new",
        }
    }
}

/// Reads the names, columns, primary keys and row counts of all tables.
fn tables(connection: &Connection<'_>, side: Side) -> Result<Tables> {
    let database = side.name();
    let of = format!("database_name = '{database}' AND NOT internal");
    let mut tables = Tables::new();
    let read = |text: String| connection.extract(&text)?.prepare(0)?.execute()?.rows();
    let named = read(format!("SELECT schema_name, table_name FROM duckdb_tables() WHERE {of}"))?;
    for row in named {
        let [Some(schema), Some(name)] = &*row else { continue };
        let table = place(side, (schema, name));
        let count = read(format!("SELECT count(*)::VARCHAR FROM {table}"))?;
        let count = count.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
        let table = Table { columns: Vec::new(), key: Vec::new(), rows: count.unwrap_or(0) };
        tables.insert((schema.clone(), name.clone()), table);
    }
    let columns = read(format!(
        "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() WHERE {of} ORDER BY column_index"
    ))?;
    for row in columns {
        let [Some(schema), Some(table), Some(name), Some(kind)] = &*row else { continue };
        let column = Column { name: name.clone(), kind: kind.clone() };
        if let Some(table) = tables.get_mut(&(schema.clone(), table.clone())) {
            table.columns.push(column);
        }
    }
    let keys = read(format!(
        "SELECT schema_name, table_name, unnest(constraint_column_names) FROM duckdb_constraints()
         WHERE database_name = '{database}' AND constraint_type = 'PRIMARY KEY'"
    ))?;
    for row in keys {
        let [Some(schema), Some(table), Some(column)] = &*row else { continue };
        if let Some(table) = tables.get_mut(&(schema.clone(), table.clone())) {
            table.key.push(column.clone());
        }
    }
    Ok(tables)
}

/// Finds the views and indexes that exist on only one side.
fn object_differences(connection: &Connection<'_>) -> Result<Vec<ObjectDifference>> {
    let (old, new) = (objects(connection, Side::Old)?, objects(connection, Side::New)?);
    let differences = old.symmetric_difference(&new).map(|object| {
        let (kind, schema, name) = object;
        let kind = match kind {
            ObjectKind::View => ObjectKind::View,
            ObjectKind::Index(table) => ObjectKind::Index(cut_text(table)),
        };
        let change = match new.contains(object) {
            true => ObjectChange::Added,
            false => ObjectChange::Removed,
        };
        ObjectDifference { kind, schema: cut_text(schema), name: cut_text(name), change }
    });
    Ok(differences.collect())
}

/// Reads the kinds, schemas and names of all views and indexes.
fn objects(
    connection: &Connection<'_>,
    side: Side,
) -> Result<BTreeSet<(ObjectKind, String, String)>> {
    let database = side.name();
    let text = format!(
        "SELECT schema_name, view_name, NULL::VARCHAR FROM duckdb_views()
         WHERE database_name = '{database}' AND NOT internal
         UNION ALL SELECT schema_name, index_name, table_name FROM duckdb_indexes()
         WHERE database_name = '{database}'"
    );
    let rows = connection.extract(&text)?.prepare(0)?.execute()?.rows()?;
    let objects = rows.iter().filter_map(|row| {
        let [Some(schema), Some(name), table] = &**row else { return None };
        let kind = table.clone().map_or(ObjectKind::View, ObjectKind::Index);
        Some((kind, schema.clone(), name.clone()))
    });
    Ok(objects.collect())
}

fn place(side: Side, (schema, name): (&str, &str)) -> String {
    format!("{}.{}.{}", side.name(), identifier(schema), identifier(name))
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Table before and after the step. One of the two can be missing.
struct Pair<'c> {
    connection: &'c Connection<'c>,
    name: &'c (String, String),
    old: Option<&'c Table>,
    new: Option<&'c Table>,
}

impl Pair<'_> {
    /// Compares the columns of the table, and counts the rows that differ.
    fn difference(&self, deadline: Instant) -> TableDifference {
        let (old, new) = (columns(self.old), columns(self.new));
        let lacks = |columns: &[Column], name: &str| !columns.iter().any(|it| it.name == name);
        let only = |these: &[Column], others: &[Column]| -> Vec<Column> {
            let only = these.iter().filter(|it| lacks(others, &it.name));
            only.take(LISTED_COLUMNS_MAX).map(cut).collect()
        };
        let retyped = new.iter().filter_map(|column| {
            let before = old.iter().find(|it| it.name == column.name)?;
            (before.kind != column.kind).then(|| (cut(column), cut_text(&before.kind)))
        });
        let is_in_both = self.old.is_some() && self.new.is_some();
        let (added, removed) =
            if is_in_both { (only(new, old), only(old, new)) } else { (Vec::new(), Vec::new()) };
        let counted = self.count(deadline);
        let (schema, name) = self.name;
        TableDifference {
            schema: cut_text(schema),
            name: cut_text(name),
            rows_before: self.old.map(|table| table.rows),
            rows_after: self.new.map(|table| table.rows),
            columns_added: added,
            columns_removed: removed,
            columns_retyped: retyped.take(LISTED_COLUMNS_MAX).collect(),
            rows_changed: counted.as_ref().ok().copied(),
            not_compared: counted.err(),
            ..TableDifference::default()
        }
    }

    /// Returns the number of rows that differ.
    fn count(&self, deadline: Instant) -> Result<u64> {
        let (Some(old), Some(new)) = (self.old, self.new) else {
            return Ok(self.old.or(self.new).map_or(0, |table| table.rows));
        };
        let rows = old.rows.saturating_add(new.rows);
        if rows > ROWS_MAX {
            let message = format!(
                "{rows} rows before and after exceed the limit of {ROWS_MAX} for a comparison"
            );
            return Err(message);
        }
        let text = match self.key(old, new) {
            Some(key) => format!("SELECT count(*)::VARCHAR FROM {}", self.joined(&key)),
            None => {
                let [gone, come] = self.gone_and_come();
                format!(
                    "SELECT greatest((SELECT count(*) FROM ({gone})), (SELECT count(*) FROM ({come})))::VARCHAR"
                )
            }
        };
        let rows = self.read(&text, deadline)?;
        let count = rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
        count.ok_or_else(|| "DuckDB returned no row count".to_owned())
    }

    /// Adds at most `count` differing rows to `difference`.
    fn show(&self, difference: &mut TableDifference, count: usize, deadline: Instant) {
        if count == 0 || difference.rows_changed.is_none_or(|rows| rows == 0) {
            return;
        }
        if let Err(why) = self.try_show(difference, count, deadline) {
            difference.not_compared = Some(format!("failed to read the rows: {why}"));
        }
    }

    fn try_show(
        &self,
        difference: &mut TableDifference,
        count: usize,
        deadline: Instant,
    ) -> Result<()> {
        let key = match (self.old, self.new) {
            (Some(old), Some(new)) => self.key(old, new),
            (Some(_), None) | (None, Some(_)) | (None, None) => None,
        };
        let all = self.all_columns();
        let is_key = |column: &Column| key.as_ref().is_some_and(|key| key.contains(&column.name));
        let (of_key, others): (Vec<_>, Vec<_>) = all.iter().partition(|column| is_key(column));
        let key_columns = of_key.len();
        let read: Vec<&Column> = of_key.into_iter().chain(others).take(READ_COLUMNS_MAX).collect();
        let cells = |side: Side, alias: &str| -> String {
            let columns = match side {
                Side::Old => columns(self.old),
                Side::New => columns(self.new),
            };
            let cells =
                read.iter().map(|column| match columns.iter().any(|it| it.name == column.name) {
                    true => format!(
                        "left({alias}.{}::VARCHAR, {})",
                        identifier(&column.name),
                        CELL_CHARACTERS_MAX + 1
                    ),
                    false => "NULL::VARCHAR".to_owned(),
                });
            cells.collect::<Vec<_>>().join(", ")
        };
        let (old_place, new_place) = (self.place(Side::Old), self.place(Side::New));
        let rows = match &key {
            Some(names) => {
                let first = names.first().map(|name| identifier(name)).unwrap_or_default();
                let order = names.iter().map(|name| {
                    let name = identifier(name);
                    format!("coalesce(o.{name}, n.{name})")
                });
                let order = order.collect::<Vec<_>>().join(", ");
                let text = format!(
                    "SELECT CASE WHEN o.{first} IS NULL THEN '+' WHEN n.{first} IS NULL THEN '-' ELSE '~' END, {}, {} \
                     FROM {} ORDER BY {order} LIMIT {count}",
                    cells(Side::Old, "o"),
                    cells(Side::New, "n"),
                    self.joined(names)
                );
                self.read(&text, deadline)?
            }
            None => {
                let [gone, come] = match (self.old, self.new) {
                    (Some(_), Some(_)) => {
                        self.gone_and_come().map(|it| format!("({it} ORDER BY ALL)"))
                    }
                    (Some(_), None) | (None, Some(_)) | (None, None) => [old_place, new_place],
                };
                let mut rows = Vec::new();
                let half = count.div_ceil(2);
                let sides = [
                    (self.old.is_some(), gone, "-", cells(Side::Old, "t")),
                    (self.new.is_some(), come, "+", cells(Side::New, "t")),
                ];
                let empty = vec!["NULL::VARCHAR"; read.len()].join(", ");
                for (is_there, from, mark, cells) in sides {
                    if !is_there {
                        continue;
                    }
                    let limit = match (self.old, self.new, mark) {
                        (Some(_), Some(_), "-") => half,
                        (Some(_), Some(_), _) => count.saturating_sub(rows.len()),
                        (_, _, _) => count,
                    };
                    let (old, new) =
                        if mark == "-" { (&*cells, &*empty) } else { (&*empty, &*cells) };
                    let text =
                        format!("SELECT '{mark}', {old}, {new} FROM {from} AS t LIMIT {limit}");
                    rows.extend(self.read(&text, deadline)?);
                }
                rows
            }
        };
        let (mut shown, key_columns) =
            (rows.iter().map(|row| of_row(row, read.len())).collect::<Vec<_>>(), key_columns);
        let differs = |at: usize| {
            shown.iter().any(|row| match (&row.old, &row.new) {
                (Some(old), Some(new)) => old.get(at) != new.get(at),
                (Some(_), None) | (None, Some(_)) | (None, None) => false,
            })
        };
        let rest = key_columns..read.len();
        let (differing, same): (Vec<_>, Vec<_>) = rest.partition(|at| differs(*at));
        let order: Vec<usize> =
            (0..key_columns).chain(differing).chain(same).take(SHOWN_COLUMNS_MAX).collect();
        let pick = |cells: &Vec<Cell>| -> Vec<Cell> {
            order.iter().map(|at| cells.get(*at).cloned().flatten()).collect()
        };
        for row in &mut shown {
            row.old = row.old.as_ref().map(pick);
            row.new = row.new.as_ref().map(pick);
        }
        difference.columns =
            order.iter().filter_map(|at| read.get(*at)).map(|column| cut(column)).collect();
        difference.columns_left_out =
            u64::try_from(all.len().saturating_sub(order.len())).unwrap_or(u64::MAX);
        difference.key_columns = u64::try_from(key_columns).unwrap_or(u64::MAX);
        difference.rows = shown;
        Ok(())
    }

    fn place(&self, side: Side) -> String {
        let (schema, name) = self.name;
        place(side, (schema, name))
    }

    /// Returns the primary key if both tables have an equal one, including its column types.
    fn key(&self, old: &Table, new: &Table) -> Option<Vec<String>> {
        let kind = |table: &Table, name: &String| {
            table.columns.iter().find(|it| it.name == *name).map(|it| it.kind.clone())
        };
        let is_same = !old.key.is_empty()
            && old.key == new.key
            && old.key.iter().all(|name| kind(old, name) == kind(new, name));
        is_same.then(|| new.key.clone())
    }

    /// Returns the columns after the step, followed by those that existed only before it.
    fn all_columns(&self) -> Vec<Column> {
        let (old, new) = (columns(self.old), columns(self.new));
        let gone = old.iter().filter(|column| !new.iter().any(|it| it.name == column.name));
        new.iter().chain(gone).cloned().collect()
    }

    /// Returns an SQL clause for the rows that differ. It joins the old rows `o` and the new rows `n` by the primary
    /// key.
    fn joined(&self, key: &[String]) -> String {
        let (old, new) = (columns(self.old), columns(self.new));
        let on = key.iter().map(|name| {
            let name = identifier(name);
            format!("o.{name} = n.{name}")
        });
        let on = on.collect::<Vec<_>>().join(" AND ");
        let first = key.first().map(|name| identifier(name)).unwrap_or_default();
        let mut differs = vec![format!("o.{first} IS NULL"), format!("n.{first} IS NULL")];
        for column in self.all_columns().iter().filter(|column| !key.contains(&column.name)) {
            let name = identifier(&column.name);
            let kind = |columns: &[Column]| {
                columns.iter().find(|it| it.name == column.name).map(|it| it.kind.clone())
            };
            differs.push(match (kind(old), kind(new)) {
                (Some(old), Some(new)) if old == new => {
                    format!("o.{name} IS DISTINCT FROM n.{name}")
                }
                (Some(_), Some(_)) => {
                    format!("o.{name}::VARCHAR IS DISTINCT FROM n.{name}::VARCHAR")
                }
                (Some(_), None) => format!("o.{name} IS NOT NULL"),
                (None, _) => format!("n.{name} IS NOT NULL"),
            });
        }
        let (old, new) = (self.place(Side::Old), self.place(Side::New));
        let differs = differs.join(" OR ");
        format!("{old} AS o FULL OUTER JOIN {new} AS n ON {on} WHERE {differs}")
    }

    /// Returns one query for the removed rows and one for the added rows of a table without a common primary key. A
    /// duplicate row counts as often as one side has more copies of it than the other.
    fn gone_and_come(&self) -> [String; 2] {
        let (old, new) = (columns(self.old), columns(self.new));
        let select = |side: Side, own: &[Column], other: &[Column]| {
            let columns = self.all_columns();
            let columns = columns.iter().map(|column| {
                let name = identifier(&column.name);
                let find = |columns: &[Column]| {
                    columns.iter().find(|it| it.name == column.name).map(|it| it.kind.clone())
                };
                match (find(own), find(other)) {
                    (Some(own), Some(other)) if own != other => {
                        format!("{name}::VARCHAR AS {name}")
                    }
                    (Some(_), _) => name,
                    (None, _) => format!("NULL AS {name}"),
                }
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            format!("SELECT {columns} FROM {}", self.place(side))
        };
        let (old, new) = (select(Side::Old, old, new), select(Side::New, new, old));
        [format!("{old} EXCEPT ALL {new}"), format!("{new} EXCEPT ALL {old}")]
    }

    /// Runs one of the comparison's own queries, whose columns must all be of type `VARCHAR`. Returns an error after
    /// the deadline.
    fn read(&self, text: &str, deadline: Instant) -> Result<Vec<Vec<Cell>>> {
        let read = || self.connection.extract(text)?.prepare(0)?.execute()?.rows();
        let rows = self.connection.until(deadline, read)?;
        match Instant::now() < deadline {
            true => rows.map_err(|why| on_one_line(&why)),
            false => Err("the comparison exceeded its time limit".to_owned()),
        }
    }
}

fn columns(table: Option<&Table>) -> &[Column] {
    table.map_or(&[], |table| &table.columns)
}

/// Splits a row of a query result into its mark and the cells before and after.
fn of_row(row: &[Cell], columns: usize) -> RowDifference {
    let (mark, cells) = row.split_first().unwrap_or((&None, &[]));
    let (old, new) = cells.split_at_checked(columns).unwrap_or((cells, &[]));
    let side = |cells: &[Cell]| cells.iter().map(|cell| cell.as_deref().map(cut_text)).collect();
    RowDifference {
        old: (mark.as_deref() != Some("+")).then(|| side(old)),
        new: (mark.as_deref() != Some("-")).then(|| side(new)),
    }
}

fn cut(Column { name, kind }: &Column) -> Column {
    Column { name: cut_text(name), kind: cut_text(kind) }
}

fn cut_text(text: &str) -> String {
    match text.char_indices().nth(CELL_CHARACTERS_MAX - 1) {
        Some((at, last)) if at + last.len_utf8() < text.len() => {
            format!("{}…", text.get(..at).unwrap_or_default())
        }
        Some(_) | None => text.to_owned(),
    }
}
