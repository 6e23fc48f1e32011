//! Plays a scenario directory.
//!
//! ```text
//! NNN_sentence/
//!   before/     the workspace at the start; absent where it is empty
//!   input.*     lies beside the workspace, so that commands name it `../input.diff`
//!   command     one command line a line, without `actum`; ` => N` is the expected exit code
//!   after/      the workspace at the end
//!   modes       optional: `before 0640 path`, `after 0750 directory/`, also for empty directories
//!   stdout      what was written, each command line before its output
//!   stderr      the same; absent where nothing was written
//! ```
//!
//! Run ids become `RUN000000001` and so on in the order of the log, which commands may use. Key ids become
//! `KEY0000000000001` and so on, times become the year 2000, and the directory becomes `/WORK`. `UPDATE_SCENARIOS=1`
//! regenerates `stdout` and `stderr`, never `after`.

mod tree;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use self::tree::Tree;
use super::program::{Ended, actum, home_of, without_chance, without_ledger};

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/scenarios");

/// Returns the names of all scenario directories in sorted order.
pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(DIRECTORY).unwrap().map(Result::unwrap);
    let directories = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let mut names: Vec<_> =
        directories.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the sentence in the name of a scenario directory.
pub(crate) fn sentence(name: &str) -> &str {
    let (number, sentence) = name.split_once('_').expect("a scenario is called NNN_sentence");
    assert!(number.len() == 3 && number.parse::<u16>().is_ok(), "{name}: no number of 3 digits");
    sentence
}

/// Runs the scenario whose directory name contains this sentence.
pub(crate) fn play(wanted: &str) {
    let name = names().into_iter().find(|name| sentence(name) == wanted);
    let name = name.unwrap_or_else(|| panic!("there is no scenario NNN_{wanted}"));
    let scenario = Path::new(DIRECTORY).join(name);
    let stage = Stage::set(&scenario);
    let mut output = Transcript::default();
    for line in read(&scenario.join("command")).lines().filter(|line| !line.trim().is_empty()) {
        output.add(&stage, line);
    }
    let expected = Tree::of_fixture(&scenario.join("after"), &scenario.join("modes"), "after");
    let found = Tree::of_workspace(&stage.workspace, &expected);
    assert_eq!(found, expected, "the workspace at the end");
    compare(&scenario.join("stdout"), &output.stdout);
    compare(&scenario.join("stderr"), &output.stderr);
}

/// Commands that show several keys of one ledger, which are distinguished by their positions in the keyring.
const LEDGER_VERBS: [&str; 5] = ["key", "ledger", "receipt", "replay", "verify"];

/// Copy of a scenario's files in a directory of its own.
struct Stage {
    directory: tempfile::TempDir,
    workspace: PathBuf,
}

impl Stage {
    fn set(scenario: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().join("workspace");
        fs::create_dir(&workspace).unwrap();
        Tree::of_fixture(&scenario.join("before"), &scenario.join("modes"), "before")
            .write(&workspace);
        for entry in fs::read_dir(scenario).unwrap().map(Result::unwrap) {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with("input")) {
                fs::copy(entry.path(), directory.path().join(entry.file_name())).unwrap();
            }
        }
        // Create a workspace here, so that no directory above can be used instead.
        assert_eq!(actum(&workspace, &["init"]).code, 0);
        // A scenario also shows the first use of a workspace.
        without_ledger(&workspace);
        Self { directory, workspace }
    }

    /// Returns the ids of all finished runs, oldest first.
    fn runs(&self) -> Vec<String> {
        let log = actum(&self.workspace, &["log", "--json", "-n", "1000"]);
        let log: serde_json::Value = serde_json::from_str(&log.stdout).unwrap();
        let runs = log["runs"].as_array().unwrap().iter().rev();
        runs.map(|run| run["run"].as_str().unwrap().to_owned()).collect()
    }

    fn normalised(&self, typed: &str, text: &str) -> String {
        let mut text = text.replace(self.directory.path().to_str().unwrap(), "/WORK");
        for (index, run) in self.runs().iter().enumerate() {
            text = text.replace(run, &placeholder(index));
        }
        if LEDGER_VERBS.iter().any(|verb| typed.starts_with(verb)) {
            for (found, shown) in self.names() {
                text = text.replace(&found, &shown);
            }
        }
        without_chance(&without_times(&text))
    }

    /// Returns the names in the ledger that differ between runs of the test.
    fn names(&self) -> Vec<(String, String)> {
        let home = home_of(&self.workspace);
        let mut names = Vec::new();
        let keyring = fs::read_to_string(home.join("keys/keyring.json")).unwrap_or_default();
        let ids = keyring.split("\"id\":\"").skip(1).filter_map(|rest| rest.split('"').next());
        for (id, number) in ids.zip(1..) {
            names.push((id.to_owned(), format!("KEY{number:013}")));
        }
        if !home.join("tenants").exists() {
            return Vec::new();
        }
        let output = |arguments: &[&str]| {
            let output =
                actum(&self.workspace, &[&["--json", "ledger"], arguments].concat()).stdout;
            serde_json::from_str::<serde_json::Value>(&output).unwrap()
        };
        let (verified, first) = (output(&["verify"]), output(&["show", "1"]));
        let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
        names.push((text(&verified["root"]), "ROOT".to_owned()));
        names.push((text(&verified["origin"]), "actum/LOG/default".to_owned()));
        names.push((text(&first["body"]["workspace"]), "WORKSPACE".to_owned()));
        let decision = &first["body"]["decision"];
        names.push((text(&decision["bundle"]), "BUNDLE".to_owned()));
        names.push((text(&decision["digest"]), "DECISION".to_owned()));
        names
    }
}

fn placeholder(index: usize) -> String {
    format!("RUN{:09}", index + 1)
}

/// Transcript of the output so far.
#[derive(Default)]
struct Transcript {
    stdout: String,
    stderr: String,
}

impl Transcript {
    fn add(&mut self, stage: &Stage, line: &str) {
        let (typed, code) = match line.split_once(" => ") {
            Some((typed, code)) => (typed, code.trim().parse().expect("an exit code after ` => `")),
            None => (line, 0),
        };
        let mut arguments = typed.to_owned();
        for (index, run) in stage.runs().iter().enumerate() {
            arguments = arguments.replace(&placeholder(index), run);
        }
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let ended = actum(&stage.workspace, &arguments);
        assert_eq!(ended.code, code, "the exit code of `{typed}`: {ended:#?}");
        let Ended { stdout, stderr, .. } = ended;
        for (output, written) in [(&mut self.stdout, stdout), (&mut self.stderr, stderr)] {
            if !written.is_empty() {
                write!(output, "$ actum {typed}\n{}", stage.normalised(typed, &written)).unwrap();
            }
        }
    }
}

fn compare(expected: &Path, output: &str) {
    #[allow(clippy::disallowed_methods, reason = "the one switch of this runner")]
    if std::env::var_os("UPDATE_SCENARIOS").is_some() {
        if output.is_empty() {
            drop(fs::remove_file(expected)); // in most cases it does not exist
        } else {
            fs::write(expected, output).unwrap();
        }
    }
    let text = if expected.exists() { read(expected) } else { String::new() };
    assert!(output == text, "{} holds\n{text}\nbut written was\n{output}", expected.display());
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Replaces each RFC 3339 time in UTC with a fixed time.
fn without_times(text: &str) -> String {
    let pattern = "0000-00-00T00:00:00";
    let fits = |candidate: &[u8]| {
        candidate.iter().zip(pattern.bytes()).all(|(found, wanted)| match wanted {
            b'0' => found.is_ascii_digit(),
            _ => *found == wanted,
        })
    };
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = rest.as_bytes().windows(pattern.len()).position(fits) {
        out.push_str(&rest[..at]);
        let behind =
            rest[at + pattern.len()..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        out.push_str("2000-01-01T00:00:00");
        rest = behind;
    }
    out + rest
}
