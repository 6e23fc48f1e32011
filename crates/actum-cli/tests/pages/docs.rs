//! Runs the examples in the documentation: each page must show the real output of the program.
//!
//! A page is run from top to bottom in a directory of its own, which the page calls `/home/you/greeter`. A fenced block
//! whose info string ends with `file=NAME` writes that file, relative to the directory. In a `console` block, each line
//! that starts with `$ ` is a shell command, and the lines below it are its complete output. All other blocks,
//! including `console pending`, are only shown.
//!
//! Run ids are replaced by those in [`IDS`], in the order of the log, and commands may use these ids. Times, users and
//! the directory are replaced by fixed values, and JSON is broken into lines. `UPDATE_DOCS=1` regenerates the outputs.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use actum_core::CORE_ACTIONS;
use actum_edit::format::Format;

use crate::duckdb::install_duckdb;
use crate::program::{actum, at_known_place, home_of, without_chance};

pub(crate) const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// Run ids shown in the pages, in the order of the log. Their first four characters are unique because commands may
/// give only these.
const IDS: [&str; 12] = [
    "f3k7t2mzq9ra",
    "0m8qwd41cyxn",
    "c63d68hhs2pf",
    "x5rvn0je7b3k",
    "92hjzt6p1wqs",
    "vdm4y8qkg05c",
    "6xnb3w1t9rfh",
    "hs7e2pz0dj4m",
    "4cyq91vrk8nt",
    "rw2t6jx5hb7g",
    "y8p0mk3zc4qe",
    "1bfg5s9wnd2v",
];
const PREFIX: usize = 4;

/// Ids of lease blocks shown in the pages, in the order of their first occurrence.
const LEASES: [&str; 3] = [
    "9c41f0d27ab86e35c1f97d204b8ea6130d5c72fe94ab1836e07f2cd95b148a60",
    "4be7a90c15d8f326702ce91ab4d58f63e1097bc25da8f4603917cbe5820dfa16",
    "d06a3f81e92b47c5580e1dc7f4a93b260c8e5d71b9f2460ea7135dc84be09f72",
];
/// Length of an id in a list of leases, in characters.
const SHORT: usize = 12;

/// Maximum length of a line of JSON, in characters. A value that cannot be broken may exceed it.
const JSON_WIDTH_MAX: usize = 96;

#[test]
fn tutorial_matches_the_program_output() {
    play("tutorial.md");
}

#[test]
fn ledger_page_matches_the_program_output() {
    play("ledger.md");
}

#[test]
fn policy_page_matches_the_program_output() {
    play("policy.md");
}

#[test]
fn approvals_page_matches_the_program_output() {
    play("approvals.md");
}

/// FE-17, D-7
#[test]
fn leases_page_matches_the_program_output() {
    play("leases.md");
}

#[test]
fn task_plans_page_matches_the_program_output() {
    play("task-plans.md");
}

/// EX-9, EX-11
#[test]
fn sql_page_matches_the_program_output() {
    play("sql.md");
}

/// EX-8, EX-9
#[test]
fn pipelines_page_matches_the_program_output() {
    play("pipelines.md");
}

#[test]
fn exec_page_matches_the_program_output() {
    play("exec.md");
}

#[test]
fn actions_page_matches_the_program_output() {
    let page = fs::read_to_string(Path::new(DOCS).join("actions.md")).unwrap();
    for name in CORE_ACTIONS {
        assert!(page.contains(&format!("`{name}`")), "docs/actions.md has no row for {name}");
    }
    play("actions.md");
}

#[test]
fn json_page_matches_the_program_output() {
    play("json.md");
}

#[test]
fn format_pages_match_the_program_output() {
    let pages = fs::read_dir(Path::new(DOCS).join("formats")).unwrap();
    let mut names: Vec<_> =
        pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let mut expected = Format::ALL.map(|format| format!("{}.md", format.name())).to_vec();
    expected.push("README.md".to_owned());
    expected.sort();
    assert_eq!(names, expected, "docs/formats has a page for each format");
    let overview = fs::read_to_string(Path::new(DOCS).join("formats/README.md")).unwrap();
    for format in Format::ALL {
        let link = format!("]({}.md)", format.name());
        assert!(
            overview.contains(&link),
            "docs/formats/README.md has no link to {}",
            format.name()
        );
    }
    for name in names {
        play(&format!("formats/{name}"));
    }
}

/// Returns the document names in a text that have the form `actum.NAME/1`.
pub(crate) fn documents_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "./-".contains(c)));
    let is_document = |word: &&str| {
        let numbered = word.strip_prefix("actum.").and_then(|word| word.split_once('/'));
        numbered.is_some_and(|(name, number)| !name.is_empty() && number.parse::<u8>().is_ok())
    };
    words.filter(is_document).map(str::to_owned).collect()
}

#[test]
fn every_relative_link_points_to_an_existing_file() {
    let root = Path::new(DOCS).join("..");
    let above = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md"];
    let mut pages: Vec<_> = above.iter().map(|name| root.join(name)).collect();
    pages.extend(files_below(Path::new(DOCS)));
    let mut links = 0;
    for page in pages.iter().filter(|page| page.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(page).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://")) {
            let file = target.split('#').next().unwrap();
            let found = page.parent().unwrap().join(file);
            assert!(found.exists(), "{}: `{target}` leads nowhere", page.display());
            links += 1;
        }
    }
    assert!(links > 0);
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn long_json_documents_are_wrapped_across_lines() {
    let short = r#"{"a":[1,"x,[\":"],"b":{}}"#;
    assert_eq!(spread(short, 0), r#"{ "a": [1, "x,[\":"], "b": {} }"#);
    let long = format!(r#"{{"a":["{0}","{0}"],"b":null}}"#, "x".repeat(60));
    let lines = format!(
        "{{\n  \"a\": [\n    \"{0}\",\n    \"{0}\"\n  ],\n  \"b\": null\n}}",
        "x".repeat(60)
    );
    assert_eq!(spread(&long, 0), lines);
}

fn play(name: &str) {
    let path = Path::new(DOCS).join(name);
    let page = fs::read_to_string(&path).unwrap();
    let stage = Stage::set();
    if name == "sql.md" {
        install_duckdb(&stage.root());
    }
    let played = stage.played(&page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &played).unwrap();
    }
    let page = fs::read_to_string(&path).unwrap();
    assert!(played == page, "{name} does not show what the program says, which is\n{played}");
}

/// Block of a page to which a line belongs.
enum Block {
    Text,
    File(PathBuf, String),
    Console,
    Other,
}

/// Directory in which the commands of a page are run.
struct Stage {
    directory: tempfile::TempDir,
    /// Exit code of the last command.
    code: i32,
    /// Ids of all finished runs, oldest first.
    runs: Vec<String>,
    /// Ids of all lease blocks that were shown, in the order of their first occurrence.
    leases: Vec<String>,
}

impl Stage {
    fn set() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("greeter")).unwrap();
        Self { directory, code: 0, runs: Vec::new(), leases: Vec::new() }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("greeter")
    }

    /// Returns the page with the current output of its commands.
    fn played(mut self, page: &str) -> String {
        let mut out = String::new();
        let mut block = Block::Text;
        for line in page.lines() {
            let is_fence = line.starts_with("```");
            block = match block {
                Block::Text if is_fence => self.opened(line),
                Block::File(path, text) if is_fence => {
                    let directory = path.parent().unwrap();
                    fs::create_dir_all(directory).unwrap();
                    fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
                    fs::write(&path, text).unwrap();
                    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
                    Block::Text
                }
                Block::Console | Block::Other if is_fence => Block::Text,
                Block::File(path, text) => Block::File(path, text + line + "\n"),
                Block::Console => {
                    // The recorded output of a command is replaced by its new output.
                    if let Some(typed) = line.strip_prefix("$ ") {
                        out.push_str(&format!("{line}\n{}", self.run(typed)));
                    }
                    Block::Console
                }
                block @ (Block::Text | Block::Other) => block,
            };
            if !matches!(block, Block::Console) || is_fence {
                out.push_str(&format!("{line}\n"));
            }
        }
        assert!(matches!(block, Block::Text), "a block does not end");
        out
    }

    fn opened(&self, fence: &str) -> Block {
        let info = fence.trim_start_matches('`');
        match (info, info.split_once("file=")) {
            ("console", _) => Block::Console,
            (_, Some((_, name))) => Block::File(self.root().join(name), String::new()),
            (_, None) => Block::Other,
        }
    }

    /// Returns the complete output of a command in the form that the page shows.
    fn run(&mut self, typed: &str) -> String {
        let mut command = typed.to_owned();
        for (shown, run) in IDS.iter().zip(&self.runs) {
            command = command.replace(shown, run);
            command =
                command.replace(&format!(" {}", &shown[..PREFIX]), &format!(" {}", &run[..PREFIX]));
        }
        let program = Path::new(env!("CARGO_BIN_EXE_actum")).parent().unwrap().to_str().unwrap();
        let script = format!("umask 022; exec 2>&1; (exit {}); {command}", self.code);
        let configuration = self.directory.path().join(".config");
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", &script])
            .current_dir(self.root())
            .env_clear()
            .env("PATH", format!("{program}:/usr/bin:/bin"))
            .env("ACTUM_HOME", home_of(&self.root()))
            .env("HOME", self.directory.path())
            .env("XDG_CONFIG_HOME", &configuration);
        let policy = fs::read_to_string(configuration.join("actum/actum.toml"));
        let declares = policy.is_ok_and(|policy| policy.contains("[[pipeline]]"));
        let mut command = if declares { at_known_place(command) } else { command };
        let ended = command.output().unwrap();
        self.code = ended.status.code().expect("a command of a page is not killed");
        self.learn_runs();
        self.shown(&String::from_utf8(ended.stdout).unwrap())
    }

    /// Records the ids of the last command's runs, because later commands may remove those runs.
    fn learn_runs(&mut self) {
        let log = actum(&self.root(), &["log", "--json", "-n", "1000"]);
        let log: serde_json::Value = serde_json::from_str(&log.stdout).unwrap();
        for run in log["runs"].as_array().into_iter().flatten().rev() {
            let run = run["run"].as_str().unwrap();
            if !self.runs.iter().any(|known| known == run) {
                self.runs.push(run.to_owned());
            }
        }
        // A pending plan has its own id.
        let queue = actum(&self.root(), &["queue", "--json"]);
        let queue: serde_json::Value = serde_json::from_str(&queue.stdout).unwrap();
        for plan in queue["plans"].as_array().into_iter().flatten() {
            let plan = plan["plan"].as_str().unwrap();
            if !self.runs.iter().any(|known| known == plan) {
                self.runs.push(plan.to_owned());
            }
        }
        assert!(self.runs.len() <= IDS.len(), "give more ids to the pages");
    }

    /// Replaces the ids of lease blocks with fixed ones.
    fn without_leases(&mut self, text: &str) -> String {
        let mut out = text.to_owned();
        for marker in ["lease ", "block 1   ", "block 2   ", "of the lease ("] {
            for rest in text.split(marker).skip(1) {
                let id: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
                if id.len() == LEASES[0].len() && !self.leases.contains(&id) {
                    self.leases.push(id);
                }
            }
        }
        assert!(self.leases.len() <= LEASES.len(), "give more ids of leases to the pages");
        for (shown, lease) in LEASES.iter().zip(&self.leases) {
            out = out.replace(lease, shown).replace(&lease[..SHORT], &shown[..SHORT]);
        }
        out
    }

    fn shown(&mut self, text: &str) -> String {
        let directory = self.directory.path().canonicalize().unwrap();
        let mut text = self.without_leases(text).replace(directory.to_str().unwrap(), "/home/you");
        for (shown, run) in IDS.iter().zip(&self.runs) {
            text = text.replace(run, shown);
        }
        // The approver is the user who runs the test.
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        let user = String::from_utf8(user).unwrap();
        text =
            text.replace(&format!("note: approved by {}", user.trim()), "note: approved by root");
        let text = without_chance(&without_stamps(&without_times(&text)));
        let lines = text.lines().map(|line| match line.starts_with("{\"format\":") {
            true => spread(&without_users(line), 0) + "\n",
            false => format!("{line}\n"),
        });
        lines.collect()
    }
}

/// Replaces each RFC 3339 time in UTC with a fixed time.
fn without_times(text: &str) -> String {
    const FIXED: &str = "2026-11-20T20:38:23";
    let fits = |candidate: &[u8]| {
        candidate.iter().zip(FIXED.bytes()).all(|(found, wanted)| match wanted.is_ascii_digit() {
            true => found.is_ascii_digit(),
            false => *found == wanted,
        })
    };
    let (mut rest, mut out) = (text, String::new());
    while let Some(at) = rest.as_bytes().windows(FIXED.len()).position(fits) {
        let behind = &rest[at + FIXED.len()..];
        let fraction = behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        out.push_str(&format!("{}{FIXED}", &rest[..at]));
        out.push_str(if fraction.len() < behind.len() { ".518203942" } else { "" });
        rest = fraction;
    }
    out + rest
}

/// Replaces the time at the start of the name of a report directory or an archived plan.
fn without_stamps(text: &str) -> String {
    const FIXED: &str = "20261120_203823_";
    let mut out = text.to_owned();
    for directory in ["reports/", "archive/"] {
        let mut parts = out.split(directory).map(str::to_owned);
        let first = parts.next().unwrap();
        let rest = parts.map(|part| match part.split_at_checked(FIXED.len()) {
            Some((stamp, behind)) if stamp.bytes().all(|b| b.is_ascii_digit() || b == b'_') => {
                format!("{directory}{FIXED}{behind}")
            }
            Some(_) | None => format!("{directory}{part}"),
        });
        out = first + &rest.collect::<String>();
    }
    out
}

/// Replaces user and group ids.
fn without_users(json: &str) -> String {
    let mut json = json.to_owned();
    for field in ["\"user\":", "\"group\":"] {
        let mut parts = json.split(field).map(str::to_owned);
        let first = parts.next().unwrap();
        let rest = parts.map(|part| match part.starts_with(|c: char| c.is_ascii_digit()) {
            true => {
                format!("{field}1000{}", part.trim_start_matches(|c: char| c.is_ascii_digit()))
            }
            false => format!("{field}{part}"),
        });
        json = first + &rest.collect::<String>();
    }
    json
}

/// Returns a JSON value broken into lines of limited length.
fn spread(value: &str, indent: usize) -> String {
    let (open, inner) = match value.as_bytes() {
        [b'{' | b'[', .., b'}' | b']'] => (&value[..1], &value[1..value.len() - 1]),
        _ => return value.to_owned(),
    };
    let (close, pad) = if open == "{" { ("}", " ") } else { ("]", "") };
    let parts = parts(inner, b',');
    let on_one_line = parts.iter().map(|part| member(part, 0, true)).collect::<Vec<_>>().join(", ");
    let on_one_line = match parts.is_empty() {
        true => format!("{open}{close}"),
        false => format!("{open}{pad}{on_one_line}{pad}{close}"),
    };
    if indent + on_one_line.len() <= JSON_WIDTH_MAX && !on_one_line.contains('\n') {
        return on_one_line;
    }
    let (inside, outside) = (" ".repeat(indent + 2), " ".repeat(indent));
    let lines: Vec<_> =
        parts.iter().map(|part| format!("{inside}{}", member(part, indent + 2, false))).collect();
    format!("{open}\n{}\n{outside}{close}", lines.join(",\n"))
}

/// Returns the text of an object member or an array element.
fn member(part: &str, indent: usize, short: bool) -> String {
    let within = |value: &str| match short {
        true => spread(value, 0),
        false => spread(value, indent),
    };
    match parts(part, b':').as_slice() {
        [name, value] => format!("{name}: {}", within(value)),
        _ => within(part),
    }
}

/// Splits a JSON text at separators that are neither nested nor inside strings.
fn parts(text: &str, separator: u8) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !escaped => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth -= 1,
            _ if byte == separator && !in_string && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        escaped = in_string && byte == b'\\' && !escaped;
    }
    if start < text.len() {
        parts.push(&text[start..]);
    }
    parts
}
