//! Leases, and the requests that the gate allows under them (FE-17, D-7).

use std::collections::BTreeSet;

use actum_core::{Budget, Digest, FileMode, FileState, PathRule, Scope};
use actum_gate::decision::{LeaseBlock, LeaseCase, Undone};
use actum_gate::ground::{Ground, LeaseProblem};
use actum_gate::{
    Bundle, Case, CommandLine, GateName, NoAccess, Policy, PolicyFile, Verdict, WorkKind, decide,
};
use actum_record::lease::{Capability, LeaseId, LeaseTerms, Quotas};
use actum_record::ledger::Actor;
use actum_record::receipt::{EffectKind, PathEffect};
use actum_record::signer::{KeyId, KeyRole, Signer};
use proptest::prelude::*;

use crate::material::{TestKey, at, case, path, policy, policy_bytes};

fn effect(name: &str) -> PathEffect {
    PathEffect {
        path: path(name),
        effect: EffectKind::Modified,
        from: None,
        before: None,
        after: Some(FileState {
            sha256: Digest::of(name.as_bytes()),
            size: 100,
            mode: FileMode::REGULAR,
        }),
        added: 1,
        removed: 0,
    }
}

fn id(number: u8) -> LeaseId {
    LeaseId(Digest::of(&[number]))
}

fn terms() -> LeaseTerms {
    LeaseTerms {
        agent: Some("planner".parse().unwrap()),
        base_directories: Some(["/srv/data", "/srv/site"].map(|it| it.parse().unwrap()).into()),
        capabilities: Some([Capability::Apply, Capability::FileCopy].into()),
        expires: Some(at(60)),
        not_before: Some(at(0)),
        task: Some("t-1".parse().unwrap()),
        tenant: Some("default".parse().unwrap()),
        uses: Some(3),
        quotas: Quotas { files: Some(2), space_bytes: Some(250), ..Quotas::default() },
        scope: None,
    }
}

fn block(number: u8, terms: LeaseTerms) -> LeaseBlock {
    LeaseBlock { id: id(number), revoked: false, terms, used: 0 }
}

/// Creates a request in `/srv/data/project` that its lease of two blocks allows, and then modifies the lease.
pub fn leased(change: impl FnOnce(&mut LeaseCase)) -> Case {
    let narrowed = LeaseTerms {
        agent: Some("planner/copier".parse().unwrap()),
        base_directories: Some(
            [String::from("/srv/data/project")].map(|it| it.parse().unwrap()).into(),
        ),
        uses: Some(2),
        ..LeaseTerms::default()
    };
    let mut lease = LeaseCase {
        blocks: vec![block(1, terms()), block(2, narrowed)],
        capability: Capability::Apply,
        document: Digest::of(b"blocks"),
        granted: true,
        key: lease_key(),
        limits: Quotas::default(),
        task: Some("t-1".parse().unwrap()),
    };
    change(&mut lease);
    let change = vec![effect("a.txt"), effect("src/b.txt")];
    let actor =
        Actor { user: "ada".to_owned(), uid: 1000, agent: Some("planner/copier".to_owned()) };
    Case {
        actor,
        lease: Some(lease),
        root: "/srv/data/project".to_owned(),
        door: "command line".to_owned(),
        ..case(Scope::everything(), Budget::unlimited(), change)
    }
}

fn lease_key() -> KeyId {
    TestKey::new(KeyRole::Lease, 9).key_id()
}

/// Name of a request, the request itself, and the block and the kind of the term that denies it.
type Row = (&'static str, Case, Option<(u64, &'static str)>);

/// Returns requests that satisfy all terms of a lease, and requests that violate each term, at every boundary.
pub fn requests() -> Vec<Row> {
    let first = |change: &dyn Fn(&mut LeaseTerms)| leased(|it| change(&mut it.blocks[0].terms));
    let second = |change: &dyn Fn(&mut LeaseTerms)| leased(|it| change(&mut it.blocks[1].terms));
    let touching = |paths: &[&str]| Case {
        change: paths.iter().map(|it| effect(it)).collect(),
        ..leased(|it| it.blocks[0].terms.quotas = Quotas::default())
    };
    let by = |agent: Option<&str>| {
        let case = leased(|_| {});
        Case { actor: Actor { agent: agent.map(str::to_owned), ..case.actor.clone() }, ..case }
    };
    let scoped = |allow: Option<&[&str]>, deny: &[&str]| {
        let rules = |texts: &[&str]| texts.iter().map(|it| PathRule::new(it).unwrap()).collect();
        let scope = Scope { allow: allow.map(rules), deny: rules(deny) };
        second(&move |it| it.scope = Some(scope.clone()))
    };
    let directories =
        |list: &[&str]| -> BTreeSet<_> { list.iter().map(|it| it.parse().unwrap()).collect() };
    let in_root = |root: &str| Case { root: root.to_owned(), ..leased(|_| {}) };
    let runs = |limits: Quotas, wall: u64| Case {
        commands: Vec::new(),
        confined: vec![CommandLine::new(vec!["make".to_owned()]).unwrap()],
        ..leased(|it| {
            it.limits = limits;
            it.blocks[1].terms.quotas.wall_ms = Some(wall);
        })
    };
    let limits = Quotas { wall_ms: Some(1000), ..Quotas::default() };
    let one = |number, kind| Some((number, kind));
    vec![
        ("a request that a lease allows", leased(|_| {}), None),
        ("a lease that was not granted", leased(|it| it.granted = false), one(1, "not_granted")),
        (
            "a lease whose first block was revoked",
            leased(|it| it.blocks[0].revoked = true),
            one(1, "revoked"),
        ),
        (
            "a lease whose last block was revoked",
            leased(|it| it.blocks[1].revoked = true),
            one(2, "revoked"),
        ),
        (
            "a lease of another tenant",
            first(&|it| it.tenant = Some("other".parse().unwrap())),
            one(1, "other_tenant"),
        ),
        ("an agent that a lease names", second(&|it| it.agent = None), None),
        (
            "an agent above the one that a lease was handed to",
            by(Some("planner")),
            one(2, "other_agent"),
        ),
        ("an agent whose name begins alike", by(Some("planner/copier2")), one(2, "other_agent")),
        ("a sub-agent of the agent that a lease names", by(Some("planner/copier/x")), None),
        ("another agent", by(Some("tester")), one(1, "other_agent")),
        ("no agent", by(None), one(1, "other_agent")),
        ("another task", leased(|it| it.task = Some("t-2".parse().unwrap())), one(1, "other_task")),
        ("no task", leased(|it| it.task = None), one(1, "other_task")),
        ("a lease for any task", first(&|it| it.task = None), None),
        (
            "a capability that a lease does not have",
            leased(|it| it.capability = Capability::Exec),
            one(1, "capability"),
        ),
        (
            "a capability that a later block takes",
            second(&|it| it.capabilities = Some([Capability::FileCopy].into())),
            one(2, "capability"),
        ),
        ("a lease in its first moment", first(&|it| it.not_before = Some(at(30))), None),
        (
            "a lease that is not valid yet",
            first(&|it| it.not_before = Some(at(31))),
            one(1, "not_yet_valid"),
        ),
        ("a lease in its last moment", first(&|it| it.expires = Some(at(31))), None),
        ("a lease that has expired", first(&|it| it.expires = Some(at(30))), one(1, "expired")),
        (
            "a lease that expires before its end",
            second(&|it| it.expires = Some(at(1))),
            one(2, "expired"),
        ),
        ("the last use of a lease", leased(|it| it.blocks[1].used = 1), None),
        ("a lease that is used up", leased(|it| it.blocks[1].used = 2), one(2, "used_up")),
        ("a base directory above the workspace", second(&|it| it.base_directories = None), None),
        (
            "a base directory in the workspace",
            second(&move |it| it.base_directories = Some(directories(&["/srv/data/project/src"]))),
            one(2, "outside_directories"),
        ),
        (
            "a base directory whose name begins alike",
            in_root("/srv/data-evil"),
            one(1, "outside_directories"),
        ),
        (
            "a workspace outside of the base directories",
            in_root("/srv"),
            one(1, "outside_directories"),
        ),
        ("the other base directory", in_root("/srv/site"), one(2, "outside_directories")),
        ("paths in a base directory", touching(&["a/b/c", "z"]), None),
        ("a path that is allowed by a scope", scoped(Some(&["*.txt", "src/"]), &[]), None),
        (
            "a path that no rule of a scope allows",
            scoped(Some(&["src/"]), &[]),
            one(2, "outside_scope"),
        ),
        ("a path that a scope denies", scoped(None, &["src"]), one(2, "outside_scope")),
        (
            "too many files",
            Case { change: vec![effect("a"), effect("b"), effect("c")], ..leased(|_| {}) },
            one(1, "quota"),
        ),
        ("as much space as a quota has", first(&|it| it.quotas.space_bytes = Some(200)), None),
        (
            "more space than a quota has",
            first(&|it| it.quotas.space_bytes = Some(199)),
            one(1, "quota"),
        ),
        ("a command within its quota", runs(limits, 1000), None),
        ("a command with a higher limit than its quota", runs(limits, 999), one(2, "quota")),
        ("a command without a limit", runs(Quotas::default(), 1000), one(2, "quota")),
        ("a quota of time where nothing runs", second(&|it| it.quotas.wall_ms = Some(1)), None),
    ]
}

fn judge(case: &Case, policy: &Policy) -> (Verdict, Ground) {
    let bundle = Bundle::new(Digest::of(&policy.to_vec().unwrap()), case.clone());
    let decision = decide(&bundle, policy, &NoAccess);
    let gate = decision.gates.into_iter().find(|gate| gate.gate == GateName::Lease).unwrap();
    (gate.verdict, gate.ground.first)
}

fn kind(problem: &LeaseProblem) -> String {
    serde_json::to_value(problem).unwrap()["kind"].as_str().unwrap().to_owned()
}

/// FE-17, D-7
#[test]
fn a_request_must_meet_each_term_of_each_block() {
    for (name, case, expected) in requests() {
        let (verdict, ground) = judge(&case, &policy());
        let found = if let Ground::LeaseDenies { block, lease, problem } = &ground {
            assert_eq!(*lease, id(u8::try_from(*block).unwrap()), "{name}");
            Some((*block, kind(problem)))
        } else {
            assert_eq!(ground, Ground::LeaseAllows { lease: id(2) }, "{name}");
            None
        };
        assert_eq!(found, expected.map(|(block, kind)| (block, kind.to_owned())), "{name}");
        assert_eq!(verdict == Verdict::Deny, expected.is_some(), "{name}");
    }
}

/// D-7: a change must be allowed by both the policy and the lease.
#[test]
fn lease_cannot_allow_a_change_another_gate_denies() {
    let protected = Case { change: vec![effect(".env")], ..leased(|_| {}) };
    assert_eq!(judge(&protected, &policy()).0, Verdict::Allow);
    let bundle = Bundle::new(Digest::of(&policy_bytes()), protected);
    assert_eq!(decide(&bundle, &policy(), &NoAccess).verdict, Verdict::Deny);
}

/// D-7
#[test]
fn policy_can_require_a_lease_except_to_undo_own_work() {
    let file = PolicyFile::read(b"version = 1\n[lease]\nrequired = [\"apply\"]\n").unwrap();
    let (requiring, _) = Policy::new(None, Some((file, actum_gate::policy::Trust::Untrusted)));
    let without = Case { lease: None, ..leased(|_| {}) };
    assert_eq!(judge(&without, &policy()), (Verdict::Allow, Ground::NoLease));
    let (verdict, ground) = judge(&without, &requiring);
    assert_eq!(verdict, Verdict::Deny);
    assert_eq!(
        ground.to_string(),
        "a request from `command line` needs a lease but has none; see this workspace's policy"
    );
    for (door, expected) in [
        ("library", Verdict::Deny),
        ("exec", Verdict::Allow),
        ("action", Verdict::Allow),
        ("task plan", Verdict::Allow),
        ("file task", Verdict::Deny),
        ("a later entry point", Verdict::Deny),
    ] {
        let case = Case { door: door.to_owned(), ..without.clone() };
        assert_eq!(judge(&case, &requiring).0, expected, "{door}");
    }
    let undo = Case {
        work: WorkKind::Undo,
        undoes: "r0000000000n".parse().ok(),
        restores: true,
        undone: Some(Undone { actor: without.actor.clone(), approved: false }),
        ..without
    };
    assert_eq!(judge(&undo, &requiring), (Verdict::Allow, Ground::Restores));
    // If there is a lease, it also applies to an undo.
    let expired = leased(|it| it.blocks[1].terms.expires = Some(at(1))).lease;
    assert_eq!(judge(&Case { lease: expired, ..undo }, &requiring).0, Verdict::Deny);
}

/// D-7
#[test]
fn policy_with_unknown_request_kinds_is_rejected() {
    let error = PolicyFile::read(b"version = 1\n[lease]\nrequired = [\"aply\"]\n").unwrap_err();
    assert!(error.to_string().contains("`apply`"), "{error}");
    let error = PolicyFile::read(b"version = 1\n[lease]\nneeded = []\n").unwrap_err();
    assert!(error.to_string().contains("`required`"), "{error}");
}

/// Generates the terms of an additional block.
fn narrowing() -> impl Strategy<Value = LeaseTerms> {
    let agents =
        prop::option::of(prop::sample::select(vec!["planner", "planner/copier", "tester"]));
    let directories = prop::option::of(prop::collection::btree_set(
        prop::sample::select(vec!["/", "/srv/data", "/srv/data/project/src", "/etc"]),
        1..3,
    ));
    let capabilities = prop::option::of(prop::collection::btree_set(
        prop::sample::select(vec![Capability::Apply, Capability::Exec, Capability::FileMove]),
        1..3,
    ));
    let times = (prop::option::of(20..80_i64), prop::option::of(0..50_i64));
    let counts = (prop::option::of(0..4_u64), prop::option::of(0..4_u64));
    (agents, directories, capabilities, times, counts).prop_map(
        |(agent, directories, capabilities, (expires, not_before), (uses, files))| LeaseTerms {
            agent: agent.map(|agent| agent.parse().unwrap()),
            base_directories: directories
                .map(|list| list.into_iter().map(|it| it.parse().unwrap()).collect()),
            capabilities,
            expires: expires.map(at),
            not_before: not_before.map(at),
            uses,
            quotas: Quotas { files, ..Quotas::default() },
            ..LeaseTerms::default()
        },
    )
}

proptest! {
    /// D-7
    #[test]
    fn additional_block_never_allows_a_denied_request(
        row in 0..requests().len(),
        appended in prop::collection::vec(narrowing(), 0..4),
    ) {
        let (_, case, _) = requests().swap_remove(row);
        let before = judge(&case, &policy()).0;
        let mut lease = case.lease.clone().unwrap();
        lease.blocks.extend(appended.into_iter().map(|terms| block(3, terms)));
        let after = judge(&Case { lease: Some(lease), ..case }, &policy()).0;
        prop_assert!(after >= before);
    }
}
