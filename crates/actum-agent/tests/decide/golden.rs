//! Golden decisions must be identical for every time zone, locale, hash seed and number of threads (AEC-11).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use actum_agent::bundle::AgentBundle;
use actum_agent::{AgentDecision, decide};
use actum_core::Digest;
use actum_testkit::Random;
use serde::{Deserialize, Serialize};

use crate::model::random_bundle;

/// Number of bundles in the corpus.
const BUNDLES: usize = 40;
/// Environment variable with the number of threads that a child process uses.
const THREADS: &str = "ACTUM_GOLDEN_THREADS";

/// A bundle with its decision and the digests of both.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Golden {
    bundle: AgentBundle,
    decision: AgentDecision,
    digest: Digest,
}

impl Golden {
    fn new(bundle: AgentBundle) -> Self {
        let decision = decide(&bundle);
        let digest = decision.digest(&bundle.to_vec().unwrap()).unwrap();
        Self { bundle, decision, digest }
    }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decide/golden.jsonl")
}

fn read() -> Vec<Golden> {
    let text = std::fs::read_to_string(file()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Decides the whole corpus in each of `threads` threads, and compares the decisions.
fn check(threads: usize) {
    let golden = read();
    assert_eq!(golden.len(), BUNDLES);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for golden in &golden {
                    assert_eq!(*golden, Golden::new(golden.bundle.clone()));
                }
            });
        }
    });
}

/// AEC-11: a changed decision requires a new version of the rules. Set `UPDATE_GOLDEN` to rewrite the corpus.
#[test]
fn golden_decisions_hold_across_time_zones_locales_and_threads() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let mut random = Random::new(17);
        let golden = (0..BUNDLES).map(|_| Golden::new(random_bundle(&mut random)));
        let lines = golden.map(|golden| serde_json::to_string(&golden).unwrap() + "\n");
        std::fs::write(file(), lines.collect::<String>()).unwrap();
    }
    if let Ok(threads) = std::env::var(THREADS) {
        return check(threads.parse().unwrap());
    }
    check(1);
    // Every process uses its own random hash seed.
    let environments = [
        ("UTC", "C", "1"),
        ("Pacific/Kiritimati", "tr_TR.UTF-8", "2"),
        ("America/St_Johns", "de_DE.UTF-8", "8"),
        (":/no/such/zone", "ar_EG.UTF-8", "16"),
    ];
    let name = "golden::golden_decisions_hold_across_time_zones_locales_and_threads";
    for (zone, locale, threads) in environments {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--test-threads=1"])
            .env_remove("UPDATE_GOLDEN")
            .envs([("TZ", zone), ("LC_ALL", locale), ("LANG", locale), (THREADS, threads)])
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(child.status.success() && stdout.contains("1 passed"), "{zone} {locale}: {stdout}");
    }
}
