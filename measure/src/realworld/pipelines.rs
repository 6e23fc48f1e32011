//! Runs a real `make` and a real `dbt build` as declared pipelines of the real `actum`. Each runs on a staged view, its changes are
//! captured, and they are undone byte for byte.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Failure;
use super::child;
use super::tools::Tools;
use super::workspace::Workspace;

/// Error code of a pipeline with a failed step.
const FAILED: u64 = 1130;
/// Time limit of a command run by the test itself.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Sources of a C program with a makefile.
const MAKE: [(&str, &str); 5] = [
    ("Makefile", include_str!("pipelines/make/Makefile")),
    ("expected.txt", "Hello, Ada!\n"),
    ("src/main.c", include_str!("pipelines/make/main.c")),
    ("src/words.c", include_str!("pipelines/make/words.c")),
    ("src/words.h", include_str!("pipelines/make/words.h")),
];
/// A dbt project of three models, with tests.
const DBT: [(&str, &str); 7] = [
    ("shop/dbt_project.yml", include_str!("pipelines/dbt/dbt_project.yml")),
    ("shop/profiles.yml", include_str!("pipelines/dbt/profiles.yml")),
    ("shop/seeds/orders.csv", include_str!("pipelines/dbt/orders.csv")),
    ("shop/models/cleaned.sql", include_str!("pipelines/dbt/models/cleaned.sql")),
    ("shop/models/totals.sql", include_str!("pipelines/dbt/models/totals.sql")),
    ("shop/models/best.sql", include_str!("pipelines/dbt/models/best.sql")),
    ("shop/models/schema.yml", include_str!("pipelines/dbt/models/schema.yml")),
];
/// Python program that prints the rows of the query `argv[2]` on the database `argv[1]`, one per line.
const ROWS: &str = "\
import duckdb, sys
for row in duckdb.connect(sys.argv[1], read_only=True).execute(sys.argv[2]).fetchall():
    print(*row)
";

/// Project built by a pipeline, and how its product is inspected independently.
struct Project<'p> {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    policy: String,
    /// Command that prints the built files, and its expected output.
    look: &'p dyn Fn(&Path) -> Command,
    built: &'static str,
    /// Edits (path, old text, new text) before the second build, and the expected output after it.
    edits: &'static [(&'static str, &'static str, &'static str)],
    rebuilt: &'static str,
    /// Edit that makes the build fail.
    breaks: (&'static str, &'static str, &'static str),
}

/// Results of this part.
#[derive(Debug, Default)]
pub(super) struct Findings {
    lines: Vec<String>,
    pub(super) problems: Vec<String>,
}

impl Findings {
    /// Formats the results, one line per project.
    pub(super) fn summary(&self) -> String {
        self.lines.concat()
    }
}

/// Builds all projects.
pub(super) fn run(tools: &Tools, place: &Path) -> Result<Findings, Failure> {
    let python = tools.python();
    let greet = |root: &Path| {
        let mut command = Command::new(root.join("build/greet"));
        command.arg("Ada");
        command
    };
    let totals = |root: &Path| {
        let mut command = Command::new(&python);
        command.args(["-c", ROWS]).arg(root.join("shop/shop.duckdb"));
        command.arg("SELECT customer, orders, total FROM totals ORDER BY customer");
        command
    };
    let make = Project {
        name: "make",
        files: &MAKE,
        policy: declared(json!({
            "name": "build", "steps": [["make", "-j2"], ["make", "check"]], "outputs": ["build/**"],
        })),
        look: &greet,
        built: "Hello, Ada!\n",
        edits: &[
            ("src/words.c", "\"Hello\"", "\"Good day\""),
            ("expected.txt", "Hello", "Good day"),
        ],
        rebuilt: "Good day, Ada!\n",
        breaks: ("src/words.c", "\"Hello\"", "1"),
    };
    let dbt = Project {
        name: "dbt build",
        files: &DBT,
        policy: dbt_policy(tools)?,
        look: &totals,
        built: "Ada 2 14.50\nBo 1 3.25\nCy 1 7.75\n",
        edits: &[("shop/models/cleaned.sql", "cast(amount", "2 * cast(amount")],
        rebuilt: "Ada 2 29.00\nBo 1 6.50\nCy 1 15.50\n",
        breaks: ("shop/seeds/orders.csv", "4,Cy", "1,Cy"),
    };
    let mut findings = Findings::default();
    for project in [make, dbt] {
        eprintln!("pipeline: {}", project.name);
        let begun = Instant::now();
        if let Err(failure) = project.there_and_back(tools, place) {
            findings.problems.push(format!("{}: {failure}", project.name));
        }
        let seconds = begun.elapsed().as_secs();
        let line = "built twice and broken once, each taken back to the byte";
        findings.lines.push(format!("Pipeline `{}`: {line}; {seconds} s.\n", project.name));
    }
    Ok(findings)
}

impl Project<'_> {
    fn there_and_back(&self, tools: &Tools, place: &Path) -> Result<(), Failure> {
        let workspace = Workspace::new(tools, &place.join("pipelines"), &self.policy)?;
        for (path, text) in self.files {
            workspace.write(path, text)?;
        }
        let build = json!({
            "action_id": "build", "action_type": "PIPELINE_RUN", "target": "out",
            "operation": { "type": "pipeline_run", "pipeline": "build" },
        });
        let sources = workspace.tree()?;
        workspace.run("first", std::slice::from_ref(&build))?;
        self.check_shown(&workspace, self.built)?;
        let first = workspace.tree()?;

        let edits: Vec<Value> = self.edits.iter().map(edit).collect();
        workspace.run("second", &[edits, vec![build.clone()]].concat())?;
        self.check_shown(&workspace, self.rebuilt)?;
        workspace.check_taken_back_by_script("second", &first)?;
        workspace.check_undone(&["rollback", "second"], &first)?;
        self.check_shown(&workspace, self.built)?;

        workspace.check_failure(("broken", FAILED), &[edit(&self.breaks), build], &first)?;
        workspace.check_taken_back_by_script("first", &sources)?;
        workspace.check_undone(&["rollback", "first"], &sources)
    }

    fn check_shown(&self, workspace: &Workspace<'_>, wanted: &str) -> Result<(), Failure> {
        let shown = child::run((self.look)(&workspace.root).stdin(Stdio::null()), TIME_MAX)?;
        let shown = String::from_utf8(shown)?;
        if shown == wanted {
            Ok(())
        } else {
            Err(format!("it built {shown:?}, and not {wanted:?}").into())
        }
    }
}

fn edit((path, old, new): &(&str, &str, &str)) -> Value {
    json!({
        "action_id": path.replace(['/', '.'], "-"), "action_type": "FILE_MODIFY", "target": path,
        "operation": { "type": "text_replace", "pattern": old, "replacement": new },
    })
}

/// Returns a policy with one pipeline. JSON strings and lists are also valid TOML.
fn declared(pipeline: Value) -> String {
    let fields = pipeline.as_object().into_iter().flatten();
    let lines: String = fields.map(|(key, value)| format!("{key} = {value}\n")).collect();
    format!("version = 1\n\n[[pipeline]]\n{lines}")
}

/// Returns the dbt policy of `docs/pipelines.md` for an environment whose Python may be installed in another directory.
fn dbt_policy(tools: &Tools) -> Result<String, Failure> {
    let mut base = Command::new(tools.python());
    base.args(["-c", "import sys; print(sys.base_prefix)"]).stdin(Stdio::null());
    let base = String::from_utf8(child::run(&mut base, TIME_MAX)?)?;
    let exec = json!([tools.environment, base.trim()]);
    let dbt = tools.environment.join("bin/dbt");
    let pipeline = declared(json!({
        "name": "build",
        "steps": [[dbt, "build", "--profiles-dir", "."]],
        "cwd": "shop",
        "env": ["HOME=/tmp", "DBT_USE_COLORS=false", "DBT_SEND_ANONYMOUS_USAGE_STATS=false", "PYTHONDONTWRITEBYTECODE=1"],
        "outputs": ["shop/target/**", "shop/logs/**", "shop/shop.duckdb"],
    }));
    Ok(format!("{pipeline}\n[sandbox]\nexec = {exec}\n"))
}
