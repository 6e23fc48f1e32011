//! Verification of the stored file tasks and the index of open ones (FE-11).

use std::collections::HashMap;

use actum_record::lease::TaskName;

use crate::error::LedgerError;
use crate::finding::{Finding, Subject};
use crate::projection::KnownFileTask;
use crate::sqlite::fault::fault;
use crate::sqlite::link::Link;
use crate::sqlite::rows::file_task as file_task_of_row;

type FileTasks = HashMap<TaskName, KnownFileTask>;

/// Compares the stored file tasks and their index with the file tasks that were computed from the entries.
pub(in crate::sqlite) fn check(
    link: &Link,
    file_tasks: &FileTasks,
) -> Result<Vec<Finding>, LedgerError> {
    let findings = compare_rows(link, file_tasks).and_then(|mut findings| {
        findings.extend(compare_open(link, file_tasks)?);
        Ok(findings)
    });
    findings.map_err(|error| fault("read", &link.path, error))
}

fn compare_rows(link: &Link, file_tasks: &FileTasks) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut report = |subject, message: &str| {
        findings.push(Finding { subject, message: message.to_owned() });
    };
    let sql = "SELECT task, started, ended FROM file_task ORDER BY task";
    let mut statement = link.connection.prepare_cached(sql)?;
    let mut rows = statement.query(())?;
    let (mut count, mut last) = (0, None);
    while let Some(row) = rows.next()? {
        count += 1;
        match file_task_of_row(row) {
            Ok(row) => {
                if last.as_ref().is_some_and(|last| *last >= row.task) {
                    report(Subject::Database, "the file tasks are not sorted by id");
                }
                if file_tasks.get(&row.task).map(|known| &known.row) != Some(&row) {
                    let message = "the stored state does not match the entries";
                    report(Subject::FileTask(row.task.clone()), message);
                }
                last = Some(row.task);
            }
            Err(_) => report(Subject::Database, "the row of a file task cannot be read"),
        }
    }
    if count != file_tasks.len() {
        report(Subject::Database, "the number of file tasks does not match the entries");
    }
    Ok(findings)
}

fn compare_open(link: &Link, file_tasks: &FileTasks) -> rusqlite::Result<Vec<Finding>> {
    let sql = "SELECT task, started FROM file_task INDEXED BY file_task_open \
               WHERE started IS NOT NULL AND ended IS NULL ORDER BY started";
    let mut statement = link.connection.prepare_cached(sql)?;
    let found = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found = found.collect::<rusqlite::Result<Vec<(String, Option<u64>)>>>()?;
    let open = file_tasks.values().map(|known| &known.row).filter(|row| row.is_open());
    let mut expected: Vec<_> =
        open.map(|row| (row.task.as_str().to_owned(), row.started)).collect();
    expected.sort_unstable_by_key(|(_, started)| *started);
    let message = "the index of open file tasks does not match the entries".to_owned();
    Ok(match found == expected {
        true => Vec::new(),
        false => vec![Finding { subject: Subject::Database, message }],
    })
}
