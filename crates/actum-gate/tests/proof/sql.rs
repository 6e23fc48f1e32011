//! The `[sql]` section of a policy, and plans whose SQL steps change many rows.

use actum_core::{Budget, Digest, RiskTier, Scope};
use actum_gate::policy::{PinnedLibrary, SqlSettings, Trust};
use actum_gate::{
    Bundle, Case, Decision, GateName, NoAccess, Policy, PolicyFile, Verdict, decide, replay,
};
use actum_record::receipt::{DecisionRecord, EffectKind, PathEffect};

use crate::material::{case, path};

const DIGEST: &str = "3960999149b18c2ead5013a5080ed9f8a48a7e12cb61ba3748a9d158478a30d8";

fn read(text: &str) -> Result<PolicyFile, String> {
    let read = PolicyFile::read(format!("version = 1\n[sql]\n{text}").as_bytes());
    read.map_err(|error| error.to_string())
}

/// Judges a plan whose SQL steps change this number of rows, under limits of the operator and the workspace.
fn judged(rows: Option<u64>, operator: &str, workspace: &str) -> (Decision, String) {
    let (operator, workspace) = (read(operator).unwrap(), read(workspace).unwrap());
    let (policy, ignored) = Policy::new(Some(operator), Some((workspace, Trust::Untrusted)));
    assert!(ignored.is_empty());
    let change = vec![PathEffect {
        path: path("shop.duckdb"),
        effect: EffectKind::Modified,
        from: None,
        before: None,
        after: None,
        added: 0,
        removed: 0,
    }];
    let case = case(Scope::everything(), Budget::unlimited(), change);
    let bytes = policy.to_vec().unwrap();
    let bundle = Bundle::new(Digest::of(&bytes), Case { sql_rows: rows, ..case });
    let decision = decide(&bundle, &policy, &NoAccess);
    let written = bundle.to_vec().unwrap();
    assert_eq!(Bundle::read(&written).unwrap(), bundle);
    assert_eq!(Policy::read(&bytes).unwrap(), policy);
    let record: DecisionRecord = decision.record(&written).unwrap();
    replay(&written, &bytes, &record, &NoAccess).unwrap();
    let gate = decision.gates.iter().find(|gate| gate.gate == GateName::Tier).unwrap();
    let ground = gate.ground.to_string();
    (decision, ground)
}

/// EX-9, EX-11, D-3: a plan whose SQL steps change more rows than the strictest limit is R3. The ground contains the number of
/// rows, the limit and its policy, and the decision can be replayed from the stored documents.
#[test]
fn a_plan_that_changes_more_rows_than_a_limit_is_r3() {
    let allowed = (Verdict::Allow, RiskTier::R2);
    let asked = (Verdict::NeedsApproval, RiskTier::R3);
    let (ten, five) = ("ask_over_rows = 10", "ask_over_rows = 5");
    for (rows, operator, workspace, expected) in [
        (Some(10), ten, "", allowed),
        (Some(11), ten, "", asked),
        (Some(6), ten, five, asked),
        (Some(6), five, ten, asked),
        (Some(5), ten, five, allowed),
        (Some(u64::MAX), "", "", allowed),
        (Some(0), "ask_over_rows = 0", "", allowed),
        (Some(1), "ask_over_rows = 0", "", asked),
        (None, "ask_over_rows = 0", "", allowed),
    ] {
        let (decision, ground) = judged(rows, operator, workspace);
        assert_eq!(
            (decision.verdict, decision.tier),
            expected,
            "{rows:?} {operator} {workspace}: {ground}"
        );
    }
    assert_eq!(
        judged(Some(1204), "ask_over_rows = 1000", "").1,
        "R3: the SQL steps change 1204 rows, but `[sql] ask_over_rows` only allows 1000 without an approval (the operator's policy)"
    );
    assert!(judged(Some(6), ten, five).1.ends_with("(this workspace's policy)"));
}

/// EX-9, EX-21: the library and the limits of SQL steps are parsed, and defaults replace unset values.
#[test]
fn sql_settings_are_parsed_and_defaults_apply() {
    let all = format!(
        "library = '/opt/duckdb.so'\nsha256 = '{DIGEST}'\nmax_bytes = 1\nmemory_bytes = 201326592\nspill_bytes = 0\nthreads = 1"
    );
    let library =
        PinnedLibrary { path: "/opt/duckdb.so".to_owned(), sha256: DIGEST.parse().unwrap() };
    let expected = SqlSettings {
        library: Some(library),
        max_bytes: Some(1),
        memory_bytes: Some(201_326_592),
        spill_bytes: Some(0),
        threads: Some(1),
    };
    assert_eq!(read(&all).unwrap().sql, expected);
    let none = read("").unwrap().sql;
    assert!(none.is_empty() && !none.loosens());
    let in_force = [
        none.database_bytes_max(),
        none.memory_bytes_max(),
        none.spill_bytes_max(),
        none.threads_max(),
    ];
    assert_eq!(in_force, [2 << 30, 512 << 20, 1 << 30, 4]);
}

/// EX-9: the error for a library without a digest, a digest without a library, a relative path or an impossible limit contains the
/// key.
#[test]
fn invalid_sql_section_is_rejected_with_its_key() {
    let pinned = |path: &str, digest: &str| format!("library = '{path}'\nsha256 = '{digest}'");
    for (text, expected) in [
        ("library = '/opt/duckdb.so'".to_owned(), "line 2: `sql` has no `sha256`"),
        (format!("sha256 = '{DIGEST}'"), "line 2: `sql` has no `library`"),
        (
            pinned("lib/duckdb.so", DIGEST),
            "line 3: `sql.library` must be an absolute path, but is `lib/duckdb.so`",
        ),
        (
            pinned("/opt/duckdb.so", "39609"),
            "line 4: `sql.sha256` must be a digest of 64 hexadecimal characters, but is `39609`",
        ),
        (
            "memory_bytes = 201326591".to_owned(),
            "line 3: `sql.memory_bytes` must be a whole number from 201326592 to 70368744177664, but is 201326591",
        ),
        (
            "threads = 5".to_owned(),
            "line 3: `sql.threads` must be a whole number from 1 to 4, but is 5",
        ),
        ("threads = 0".to_owned(), "line 3: `sql.threads` must be"),
        ("max_bytes = 0".to_owned(), "line 3: `sql.max_bytes` must be"),
        (
            "max_bytes = '2 GiB'".to_owned(),
            "line 3: `sql.max_bytes` must be a whole number, but is a string",
        ),
        ("ask_over_rows = -1".to_owned(), "line 3: `sql.ask_over_rows` must be"),
        (
            "ask_over_row = 1".to_owned(),
            "line 3: unknown key `sql.ask_over_row` (did you mean `ask_over_rows`?)",
        ),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

/// AEC-10, EX-9: the smaller of two policies' limits applies, and a policy that loosens a default is reported.
#[test]
fn smaller_limits_of_two_policies_apply() {
    let sql = |text: &str| read(text).unwrap().sql;
    let one = sql("max_bytes = 100\nthreads = 4");
    let other = sql("max_bytes = 200\nthreads = 2\nspill_bytes = 7");
    let both = one.clone().tightened(other.clone());
    assert_eq!(both, other.tightened(one.clone()));
    assert_eq!((both.max_bytes, both.threads, both.spill_bytes), (Some(100), Some(2), Some(7)));
    assert!(!one.loosens());
    let large = sql("max_bytes = 70368744177664\nthreads = 1");
    assert!(large.loosens());
    assert_eq!(large.held(), sql("max_bytes = 2147483648\nthreads = 1"));
    let pinned = sql(&format!("library = '/a'\nsha256 = '{DIGEST}'"));
    assert!(pinned.loosens() && pinned.held().is_empty());
}
