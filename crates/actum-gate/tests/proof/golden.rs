//! Golden decisions in `vectors/decisions.json`. They are reproduced in any environment, and each gate decides at least one of them
//! alone.
#![allow(clippy::disallowed_methods, reason = "these tests start themselves elsewhere")]

use std::path::Path;
use std::process::Command;

use actum_gate::{Bundle, Decision, GateName, NoAccess, Policy, Verdict, decide};
use actum_record::receipt::{DecisionRecord, GateRecord};
use serde_json::Value;

/// Returns the stored parts of each golden decision: the bundle, the policy and the record.
fn corpus() -> Vec<(String, Bundle, Policy, DecisionRecord)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/decisions.json");
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let accepted = file["cases"].as_array().unwrap().iter().filter(|it| it["expect"] == "accept");
    let read = |case: &Value| {
        let text = |name: &str| case["input"][name].as_str().unwrap().as_bytes();
        let name = case["name"].as_str().unwrap().to_owned();
        let record = serde_json::from_value(case["input"]["record"].clone()).unwrap();
        (name, Bundle::read(text("bundle")).unwrap(), Policy::read(text("policy")).unwrap(), record)
    };
    accepted.map(read).collect()
}

/// AEC-11: the environment does not affect decisions. Each child process judges the entire corpus in a different environment.
#[test]
fn golden_decisions_do_not_depend_on_time_zone_locale_or_threads() {
    let surroundings = [
        ("Pacific/Kiritimati", "tr_TR.UTF-8", "1"),
        ("America/St_Johns", "C", "8"),
        ("Asia/Kathmandu", "ar_EG.UTF-8", "3"),
    ];
    for (zone, locale, threads) in surroundings {
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "golden::golden_decisions_are_reproduced_by_concurrent_threads"])
            .env_clear()
            .envs([("TZ", zone), ("LC_ALL", locale), ("LANG", locale)])
            .env("RUST_TEST_THREADS", threads)
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(ended.status.success() && stdout.contains("1 passed"), "{zone} {locale}: {stdout}");
    }
}

/// AEC-11: each process uses different hash seeds, and many threads judge at the same time.
#[test]
fn golden_decisions_are_reproduced_by_concurrent_threads() {
    let corpus = corpus();
    assert!(corpus.len() > 60, "{}", corpus.len());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let corpus = &corpus;
            scope.spawn(move || {
                for (name, bundle, policy, record) in
                    corpus.iter().cycle().skip(thread * 31).take(corpus.len())
                {
                    let bytes = bundle.to_vec().unwrap();
                    let made = decide(bundle, policy, &NoAccess).record(&bytes).unwrap();
                    assert_eq!(&made, record, "{name}");
                }
            });
        }
    });
}

/// AEC-10: this test fails if a gate stops having an effect. Access policies have their own tests because the corpus is judged
/// without Cedar.
#[test]
fn each_gate_alone_decides_a_golden_decision() {
    let corpus = corpus();
    let (_, bundle, policy, _) = corpus.first().unwrap();
    let gates = decide(bundle, policy, &NoAccess).gates.into_iter().map(|it| it.gate);
    assert_eq!(gates.collect::<Vec<_>>(), GateName::ALL);
    for gate in GateName::ALL.iter().copied().filter(|&gate| gate != GateName::Access) {
        let decided_by_it = corpus.iter().find(|(_, bundle, policy, _)| {
            let Decision { verdict, gates, .. } = decide(bundle, policy, &NoAccess);
            let gates: Vec<_> = gates.iter().map(|gate| gate.record().unwrap()).collect();
            assert_eq!(Verdict::together(&gates), verdict);
            // The approval gate only repeats that another gate requires an approval.
            let is_left = |record: &GateRecord| {
                ![gate, GateName::Approval].map(GateName::as_str).contains(&&*record.gate)
            };
            let without: Vec<GateRecord> = gates.into_iter().filter(is_left).collect();
            Verdict::together(&without) != verdict
        });
        assert!(decided_by_it.is_some(), "no golden decision rests on the gate `{gate}` alone");
    }
}
