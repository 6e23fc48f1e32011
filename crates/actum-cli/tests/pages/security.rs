//! Compares the lists in `SECURITY.md` with the code. `UPDATE_DOCS=1` regenerates the list of protected paths.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use actum::EntryPoint;
use actum_gate::Policy;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const END: &str = "<!-- end -->";

/// Splits the page into the text before the section that begins with `marker`, the section itself, and the text after
/// it.
fn section<'t>(page: &'t str, marker: &str) -> (&'t str, &'t str, &'t str) {
    let (before, rest) = page.split_once(marker).unwrap();
    let (line, rest) = rest.split_once('\n').unwrap();
    let (section, _) = rest.split_once(END).unwrap();
    let head = &page[..before.len() + marker.len() + line.len() + 1];
    (head, section, &page[head.len() + section.len()..])
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// D-5, AA-7
#[test]
fn security_page_lists_every_file_that_starts_programs() {
    let root = fs::canonicalize(ROOT).unwrap();
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let directory = entry.unwrap().path();
        // The test kit is built only for tests.
        if !directory.ends_with("actum-testkit") && directory.join("src").is_dir() {
            sources(&directory.join("src"), &mut files);
        }
    }
    let starts = |path: &&PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.any(|line| line.contains("Command::new(") || line.contains("execve("))
    };
    let relative = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    let found: BTreeSet<String> = files.iter().filter(starts).map(relative).collect();
    let page = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let (_, listed, _) = section(&page, "<!-- programs");
    let listed: BTreeSet<String> =
        listed.lines().filter_map(|row| Some(row.split('`').nth(1)?.to_owned())).collect();
    assert_eq!(found, listed);
}

/// D-5, issue 29: every test named in the threat model exists.
#[test]
fn every_test_named_in_the_threat_model_exists() {
    let root = fs::canonicalize(ROOT).unwrap();
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let tests = entry.unwrap().path().join("tests");
        if tests.is_dir() {
            sources(&tests, &mut files);
        }
    }
    let texts: Vec<_> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let page = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let (_, rest) = page.split_once("\n## Threat model\n").unwrap();
    let (table, _) = rest.split_once("\n## ").unwrap();
    // Test names are whole sentences in snake case. Other code in the claims is shorter or contains other characters.
    let is_test = |code: &str| {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        code.bytes().all(is_name) && code.matches('_').count() >= 3
    };
    let named: BTreeSet<_> =
        table.split('`').skip(1).step_by(2).filter(|code| is_test(code)).collect();
    assert!(named.len() > 60, "{}", named.len());
    let exists = |name: &&str| {
        let function = format!("fn {name}(");
        texts.iter().any(|text| text.contains(&function))
    };
    let missing: Vec<_> = named.iter().filter(|name| !exists(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// D-5: access policy rules can name every entry point.
#[test]
fn the_policy_page_lists_every_entry_point() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/policy.md")).unwrap();
    let row = page.lines().find(|line| line.starts_with("| `context` |")).unwrap();
    let names = EntryPoint::ALL.iter().map(|it| format!("`\"{}\"`", it.as_str()));
    let listed = format!("`door`, the entry point ({})", names.collect::<Vec<_>>().join(", "));
    assert!(row.contains(&listed), "{listed}");
}

/// AA-10, issue 22 (claims): the time limit of a command on a terminal is the largest configurable one.
#[test]
fn documented_terminal_time_limit_matches_the_code() {
    let (_, most) = actum_sandbox::Resource::Wall.sensible();
    assert_eq!(most, 7 * 24 * 60 * 60 * 1000);
    for page in ["SECURITY.md", "docs/exec.md"] {
        assert!(fs::read_to_string(Path::new(ROOT).join(page)).unwrap().contains(" 7 days"));
    }
}

/// AA-7, D-5, issue 22 (claims), issue 27: sockets occur in only three places. These are the filter that refuses them,
/// the loopback interface of a sandbox's network namespace, and the trial server on 127.0.0.1.
#[test]
fn no_source_opens_a_network_connection() {
    let root = fs::canonicalize(ROOT).unwrap();
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let directory = entry.unwrap().path();
        if !directory.ends_with("actum-testkit") && directory.join("src").is_dir() {
            sources(&directory.join("src"), &mut files);
        }
    }
    let names = [
        "TcpStream",
        "TcpListener",
        "UdpSocket",
        "AF_INET",
        "AddressFamily",
        "SYS_socket",
        "SYS_connect",
    ];
    let mut found = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        if names.iter().any(|name| text.contains(name)) {
            found.insert(file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
        }
    }
    let expected = [
        "crates/actum-hook/src/probe.rs",
        "crates/actum-sandbox/src/filter.rs",
        "crates/actum-sandbox/src/inside.rs",
    ];
    let expected = expected.map(str::to_owned);
    assert_eq!(found, BTreeSet::from(expected));
}

/// D-5
#[test]
fn security_page_lists_the_protected_paths() {
    let mut list = String::new();
    for group in Policy::default().protected_groups() {
        let names: Vec<_> = group.paths.patterns().map(|name| format!("`{name}`")).collect();
        list += &format!("- {}: {}\n", group.name, names.join(", "));
    }
    let file = Path::new(ROOT).join("SECURITY.md");
    let page = fs::read_to_string(&file).unwrap();
    let (before, listed, behind) = section(&page, "<!-- protected");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, format!("{before}{list}{behind}")).unwrap();
    } else {
        assert_eq!(listed, list, "UPDATE_DOCS=1 writes it anew");
    }
}
