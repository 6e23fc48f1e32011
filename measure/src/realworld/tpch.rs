//! TPC-H at scale factor 0.01: 22 queries and 30 updates as task plans through the real `actum`, with each update undone byte for
//! byte. DuckDB's own Python driver checks the results.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::Failure;
use super::child;
use super::tools::Tools;
use super::tree::Tree;
use super::workspace::Workspace;

const TABLES: &str = include_str!("tpch/tables.sql");
const QUERIES: &str = include_str!("tpch/queries.sql");
const UPDATES: &str = include_str!("tpch/updates.sql");
const JUDGE: &str = include_str!("tpch/judge.py");
const DATABASE: &str = "tpch.duckdb";
/// Name of the step that creates the tables.
const MADE: &str = "tables";
/// Total number of rows in the eight tables, about as many as at scale factor 0.01.
const ROWS: u64 = 86_680;
/// Time limit of the judge.
const JUDGE_MAX: Duration = Duration::from_secs(120);

/// SQL statements of a step, with their parameters.
#[derive(Debug)]
struct Step {
    name: &'static str,
    parameters: &'static str,
    text: &'static str,
}

/// Verdict of the judge on one case.
#[derive(Debug, Deserialize)]
struct Verdict {
    name: String,
    rows: u64,
    differs: Option<String>,
}

/// Results of this part.
#[derive(Debug, Default)]
pub(super) struct Findings {
    queries: usize,
    updates: usize,
    rows: u64,
    seconds: u64,
    pub(super) problems: Vec<String>,
}

impl Findings {
    /// Formats the results on one line.
    pub(super) fn summary(&self) -> String {
        let Self { queries, updates, rows, seconds, problems } = self;
        format!(
            "TPC-H at scale factor 0.01: {queries} queries and {updates} updates as task plans, each taken back to the byte; the \
             judge compared {rows} rows; {} problems; {seconds} s.\n",
            problems.len()
        )
    }
}

/// Runs all steps, and has the judge compare the results.
pub(super) fn run(tools: &Tools, place: &Path) -> Result<Findings, Failure> {
    let begun = Instant::now();
    let workspace = Workspace::new(tools, &place.join("tpch"), "version = 1\n")?;
    let copies = place.join("copies");
    super::download::fresh(&copies)?;
    let (queries, updates) = (steps(QUERIES)?, steps(UPDATES)?);
    workspace.write(&format!("queries/{MADE}.sql"), TABLES)?;
    for step in queries.iter().chain(&updates) {
        workspace.write(&format!("queries/{}.sql", step.name), step.text)?;
    }
    eprintln!("TPC-H: making the tables");
    load(&workspace)?;
    let before = copies.join("before.duckdb");
    fs::copy(workspace.root.join(DATABASE), &before)?;

    let empty = copies.join("empty.duckdb");
    fs::write(&empty, "")?;
    let tables = Step { name: MADE, parameters: "{}", text: TABLES };

    eprintln!("TPC-H: {} queries", queries.len());
    let mut cases = ask(&workspace, &queries, (&before, &copies))?;
    cases.push(tables.case(&empty, "after", &before)?);
    for (number, update) in updates.iter().enumerate() {
        eprintln!("TPC-H: update {} of {}", number + 1, updates.len());
        let after = copies.join(format!("{}.duckdb", update.name));
        change(&workspace, (number, update), &after)
            .map_err(|failure| format!("{}: {failure}", update.name))?;
        cases.push(update.case(&before, "after", &after)?);
    }
    let mut findings =
        Findings { queries: queries.len(), updates: updates.len(), ..Findings::default() };
    findings.judge(tools, place, cases, (&before, &copies))?;
    findings.seconds = begun.elapsed().as_secs();
    Ok(findings)
}

/// Creates the database with a task, and counts its rows.
fn load(workspace: &Workspace<'_>) -> Result<(), Failure> {
    let empty = json!({
        "action_id": "make", "action_type": "FILE_CREATE", "target": DATABASE,
        "operation": { "type": "create", "content": "" },
    });
    let tables = action(MADE, None, json!({ "expect_results": true }))?;
    workspace.approve_and_run(MADE, &[empty, tables])?;
    Ok(())
}

/// Runs all queries as one task that saves their rows, copies the saved rows, and undoes the task.
fn ask(
    workspace: &Workspace<'_>,
    queries: &[Step],
    (before, copies): (&Path, &Path),
) -> Result<Vec<Value>, Failure> {
    let save = |step: &Step| {
        let saved = format!("results/{}.parquet", step.name);
        action(step.name, Some(step), json!({ "expect_results": true, "save_results_to": saved }))
    };
    let actions = queries.iter().map(save).collect::<Result<Vec<_>, _>>()?;
    let tree = workspace.tree()?;
    workspace.run("queries", &actions)?;
    if fs::read(workspace.root.join(DATABASE))? != fs::read(before)? {
        return Err("queries changed the database".into());
    }
    let mut cases = Vec::new();
    for query in queries {
        let name = format!("{}.parquet", query.name);
        let copy = copies.join(&name);
        fs::copy(workspace.root.join("results").join(&name), &copy)?;
        cases.push(query.case(before, "result", &copy)?);
    }
    workspace.check_undone(&["rollback", "queries"], &tree)?;
    Ok(cases)
}

/// Runs an update as a task, copies the resulting database, and undoes the task in one of three ways.
fn change(
    workspace: &Workspace<'_>,
    (number, update): (usize, &Step),
    after: &Path,
) -> Result<(), Failure> {
    let before: Tree = workspace.tree()?;
    workspace.run(update.name, &[action(update.name, Some(update), json!({}))?])?;
    fs::copy(workspace.root.join(DATABASE), after)?;
    if workspace.tree()? == before {
        return Err("it changed nothing".into());
    }
    if number % 3 == 0 {
        workspace.check_taken_back_by_script(update.name, &before)?;
    }
    let undo_command: &[&str] =
        if number % 2 == 0 { &["rollback", update.name] } else { &["undo"] };
    workspace.check_undone(undo_command, &before)
}

/// Returns an SQL action of a plan.
fn action(id: &str, step: Option<&Step>, more: Value) -> Result<Value, Failure> {
    let mut operation = more;
    operation["type"] = json!("sql_execute");
    operation["connection"] = json!("duckdb");
    operation["query_file"] = json!(format!("queries/{id}.sql"));
    if let Some(step) = step {
        operation["parameters"] = step.values()?;
    }
    Ok(json!({
        "action_id": id, "action_type": "SQL_EXECUTE", "target": DATABASE, "operation": operation,
    }))
}

impl Step {
    fn values(&self) -> Result<Value, Failure> {
        Ok(serde_json::from_str(self.parameters)?)
    }

    /// Returns a case for the judge.
    fn case(&self, before: &Path, what: &str, path: &Path) -> Result<Value, Failure> {
        Ok(json!({
            "name": self.name, "before": before, "query": self.text, "parameters": self.values()?, what: path,
        }))
    }
}

impl Findings {
    /// Has the judge compare all cases, and two controls in which it must find a difference.
    fn judge(
        &mut self,
        tools: &Tools,
        place: &Path,
        mut cases: Vec<Value>,
        (before, copies): (&Path, &Path),
    ) -> Result<(), Failure> {
        let first = cases.first().ok_or("no case")?.clone();
        let last = cases.last().ok_or("no case")?.clone();
        let controls =
            [(first, "result", copies.join("q03.parquet")), (last, "after", before.to_owned())];
        let control_names = ["control of queries", "control of updates"];
        for ((mut case, what, path), name) in controls.into_iter().zip(control_names) {
            case[what] = json!(path);
            case["name"] = json!(name);
            cases.push(case);
        }
        let verdicts = verdicts(tools, place, &cases)?;
        if verdicts.len() != cases.len() {
            self.problems.push(format!("{} verdicts on {} cases", verdicts.len(), cases.len()));
        }
        for Verdict { name, rows, differs } in verdicts {
            self.rows += rows;
            match (control_names.contains(&&*name), differs) {
                (false, None) if name == MADE && rows != ROWS => {
                    self.problems.push(format!("{name}: {rows} rows, and not {ROWS}"));
                }
                (false, None) if rows == 0 => self.problems.push(format!("{name}: no rows")),
                (false, None) | (true, Some(_)) => {}
                (false, Some(why)) => self.problems.push(format!("{name}: {why}")),
                (true, None) => self.problems.push(format!("{name}: the judge saw no difference")),
            }
        }
        Ok(())
    }
}

fn verdicts(tools: &Tools, place: &Path, cases: &[Value]) -> Result<Vec<Verdict>, Failure> {
    eprintln!("TPC-H: the judge compares {} cases", cases.len());
    let input = place.join("cases.json");
    fs::File::create(&input)?.write_all(&serde_json::to_vec(cases)?)?;
    let mut judge = Command::new(tools.python());
    judge.args(["-c", JUDGE]).stdin(Stdio::from(fs::File::open(&input)?));
    let output = child::run(&mut judge, JUDGE_MAX)?;
    let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Ok(lines.map(serde_json::from_slice).collect::<Result<_, _>>()?)
}

/// Parses the steps of a file. Each step follows a line with its name and parameters.
fn steps(text: &'static str) -> Result<Vec<Step>, Failure> {
    let mut steps = Vec::new();
    let parts = text.split("\n-- ").skip(1);
    for part in parts {
        let (line, text) = part.split_once('\n').ok_or("a step without statements")?;
        let (name, parameters) = line.split_once(' ').ok_or("a step without parameters")?;
        steps.push(Step { name, parameters, text });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-11: the set of compared queries is complete.
    #[test]
    fn there_are_22_tpc_h_queries_and_30_updates() {
        let names = |text, letter: char, count: usize| {
            let steps = steps(text).unwrap();
            assert!(steps.iter().all(|step| step.values().is_ok_and(|it| it.is_object())));
            let names: Vec<_> = steps.iter().map(|step| step.name.to_owned()).collect();
            let expected: Vec<_> = (1..=count).map(|it| format!("{letter}{it:02}")).collect();
            assert_eq!(names, expected);
        };
        names(QUERIES, 'q', 22);
        names(UPDATES, 'u', 30);
    }
}
