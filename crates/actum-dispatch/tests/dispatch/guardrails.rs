//! CI guardrails: `scripts/check_agent_execution_core.sh` finds each violation of seed 004, section 14 (AEC-14).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use actum_testkit::TestDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const SCRIPT: &str = "scripts/check_agent_execution_core.sh";
/// Files and directories that the script reads.
const PARTS: [&str; 5] = [
    SCRIPT,
    "crates/actum-agent",
    "crates/actum-dispatch",
    "crates/actum-ledger/src/sqlite/schema_agent.sql",
    "schemas",
];

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    } else {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}

/// Function that adds a violation to a copy of the tree.
type Seed = fn(&TestDir);

/// Copies the parts of the tree that the script reads.
fn tree() -> TestDir {
    let tree = TestDir::in_memory();
    for part in PARTS {
        copy(&Path::new(ROOT).join(part), &tree.join(part));
    }
    tree
}

/// Returns the numbers of the violations reported by the script.
fn violations(tree: &TestDir) -> Vec<String> {
    let output = Command::new("sh").arg(tree.join(SCRIPT)).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let numbers = stdout.lines().filter_map(|line| line.strip_prefix("violation ")?.get(..1));
    let mut numbers: Vec<String> = numbers.map(str::to_owned).collect();
    numbers.dedup();
    assert_eq!(output.status.success(), numbers.is_empty(), "{stdout}");
    numbers
}

fn edit(path: PathBuf, from: &str, to: &str) {
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{} has no `{from}`", path.display());
    fs::write(path, text.replace(from, to)).unwrap();
}

fn append(path: PathBuf, more: &str) {
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, text + more).unwrap();
}

/// AEC-14
#[test]
fn guardrail_script_passes_on_this_tree() {
    assert_eq!(violations(&tree()), [""; 0]);
}

/// AEC-14
#[test]
fn each_seeded_violation_fails_the_script_with_its_own_reason() {
    let seeded: [(&str, Seed); 13] = [
        ("1", |tree| {
            let more = "fn side_door(engine: &mut Engine) { engine.act(&proposal()); }\n";
            append(tree.join("crates/actum-dispatch/src/confirm.rs"), more);
        }),
        ("1", |tree| {
            let more = "actum.workspace = true\n";
            edit(
                tree.join("crates/actum-agent/Cargo.toml"),
                "[dependencies]\n",
                &format!("[dependencies]\n{more}"),
            );
        }),
        ("2", |tree| {
            let more = "fn keep(text: &str) { std::fs::write(\"state\", text).ok(); }\n";
            append(tree.join("crates/actum-dispatch/src/settle.rs"), more);
        }),
        ("2", |tree| {
            let more = "fn start() -> NewEntry { NewEntry { kind: EntryKind::EffectStarted, body, blobs } }\n";
            append(tree.join("crates/actum-dispatch/src/settle.rs"), more);
        }),
        ("3", |tree| {
            let more = "fn tool() -> ActionName { \"web_search\".parse().unwrap() }\n";
            append(tree.join("crates/actum-agent/src/plan.rs"), more);
        }),
        ("3", |tree| {
            let first = "filter(|it| it.id == candidate.simulation_id)";
            edit(tree.join("crates/actum-agent/src/decide.rs"), first, "filter(|_| true)");
        }),
        ("4", |tree| {
            let rule = "*impactful && planned.rollback == RollbackState::None";
            edit(tree.join("crates/actum-agent/src/decide.rs"), rule, "false");
        }),
        ("4", |tree| {
            let rule = "rollback_plan_ref IS NOT NULL";
            let schema = "crates/actum-ledger/src/sqlite/schema_agent.sql";
            edit(tree.join(schema), rule, "seq IS NOT NULL");
        }),
        ("5", |tree| {
            let stop = "FinderPacket::Missing(_) => Err(ReasonCode::SimulationMissing)";
            let go_on =
                "FinderPacket::Missing(it) => make_plan(bundle, &it.nearest(), plan_id.as_ref())";
            edit(tree.join("crates/actum-agent/src/decide.rs"), stop, go_on);
        }),
        ("6", |tree| {
            edit(
                tree.join("schemas/finder-clarify.schema.json"),
                "    \"finder_proof_ref\",\n",
                "",
            );
        }),
        ("6", |tree| {
            let path = tree.join("crates/actum-agent/src/packet.rs");
            edit(
                path,
                "Member::required(\"finder_proof_ref\"",
                "Member::optional(\"finder_proof_ref\"",
            );
        }),
        ("7", |tree| {
            let (field, maybe) =
                ("policy_snapshot_ref: Digest", "policy_snapshot_ref: Option<Digest>");
            edit(tree.join("crates/actum-agent/src/envelope.rs"), field, maybe);
        }),
        ("7", |tree| {
            let schema = "crates/actum-ledger/src/sqlite/schema_agent.sql";
            edit(
                tree.join(schema),
                "policy_snapshot_ref BLOB NOT NULL",
                "policy_snapshot_ref BLOB",
            );
        }),
    ];
    for (number, seed) in seeded {
        let tree = tree();
        seed(&tree);
        assert_eq!(violations(&tree), [number]);
    }
}
