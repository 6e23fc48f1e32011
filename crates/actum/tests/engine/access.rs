//! Access policies for changes: their files beside the operator's policy, and their effect in the engine.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use crate::grounds::{Grounds, create, disk, engine, patch};
use actum::{
    Approver, Cedar, Clock, Done, Engine, Error, PolicyFiles, PolicyInForce, Records, Reply,
    Request, Which,
};
use actum_gate::{AccessText, GateDecision, GateName, NoAccess, Policy, replay, sentence};
use actum_ledger::Log;
use actum_record::ledger::{Actor, Answer, EntryKind, Isolation};
use actum_record::signer::KeyRole;
use actum_testkit::SimDisk;
use actum_workspace::State;
use tempfile::TempDir;

const ALL: &str = "permit (principal, action, resource);\n";
const ASK: &str = "@id(\"a-person-looks\")\npermit (principal, action, resource)\nwhen { \
                   context.approvals >= 1 };\n";

fn policy(texts: &[(&str, &str)]) -> Policy {
    let text = |(name, text): &(&str, &str)| AccessText {
        name: (*name).to_owned(),
        text: (*text).to_owned(),
    };
    Policy::default().with_access(texts.iter().map(text).collect())
}

fn run(disk: &SimDisk, records: Records, policy: &Policy, request: Request) -> actum::Result<Done> {
    engine(disk, records)?.under(policy.clone()).run(request)
}

fn refused(result: actum::Result<Done>) -> Vec<GateDecision> {
    let error = result.unwrap_err();
    if let Error::Denied { gates } = error { gates } else { panic!("{error}") }
}

/// AEC-6, AEC-10
#[test]
fn a_change_that_no_policy_permits_is_denied() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let bob = "permit (principal == User::\"bob\", action, resource);";
    let request = || Request::apply(vec![patch("a", "one", "ONE")]);
    let gates = refused(run(&disk, grounds.records(), &policy(&[("bob.cedar", bob)]), request()));
    assert_eq!((gates.len(), gates[0].gate), (1, GateName::Access));
    assert_eq!(gates[0].ground.to_string(), "no access policy permits the request");
    assert_eq!(disk.get("a").unwrap(), b"one\ntwo\n");
    assert_eq!(grounds.store.count(EntryKind::PlanRefused), 1);
    // The change is permitted for bob and his agent.
    let bob_asks = Actor { user: "bob".to_owned(), uid: 1001, agent: Some("robot".to_owned()) };
    let policy = policy(&[("bob.cedar", bob)]);
    run(&disk, grounds.records(), &policy, request().asked_by(bob_asks)).unwrap();
    assert_eq!(disk.get("a").unwrap(), b"ONE\ntwo\n");
}

/// AA-5, AEC-6
#[test]
fn change_that_needs_approval_by_access_policy_is_queued() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let request = Request::apply(vec![patch("a", "one", "ONE")]);
    let policy = policy(&[("ask.cedar", ASK)]);
    let error = run(&disk, grounds.records(), &policy, request.clone()).unwrap_err();
    assert_eq!(error.workspace(), State::Unchanged);
    let Error::Queued { plan, gates, waited: false, .. } = error else { panic!("{error}") };
    assert_eq!((gates.len(), gates[0].gate), (1, GateName::Access));
    let ground = "no access policy permits the request; permitted by `a-person-looks` in `ask.cedar` after 1 \
                  approval";
    assert_eq!(gates[0].ground.to_string(), ground);
    assert_eq!(disk.get("a").unwrap(), b"one\ntwo\n");
    // After an approval the change is applied, and the receipt contains both verdicts.
    let signer = grounds.keys().signer(KeyRole::Approval, grounds.now()).unwrap();
    let by = Actor { user: "grace".to_owned(), uid: 1001, agent: None };
    let approver = Approver { by, signer: &signer, isolation: Isolation::SameUser };
    let reply = Reply { answer: Answer::Approved, reason: None };
    grounds.records().answer(&grounds.records().plan(plan).unwrap(), reply, &approver).unwrap();
    let done = run(&disk, grounds.records(), &policy, request).unwrap();
    assert_eq!(disk.get("a").unwrap(), b"ONE\ntwo\n");
    let gates = &done.receipt.statement.predicate.decision.gates;
    let verdicts: Vec<_> = gates.iter().map(|it| (&*it.gate, &*it.verdict)).collect();
    assert_eq!(
        verdicts[verdicts.len() - 2..],
        [("access", "needs_approval"), ("approval", "allow")]
    );
}

/// AEC-6: an operator's policy cannot override the built-in rules.
#[test]
fn high_tier_change_is_queued_even_when_permitted() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let request = Request::apply(vec![create(".github/workflows/ci.yml")]);
    let policy = policy(&[("all.cedar", ALL)]);
    let error = run(&disk, grounds.records(), &policy, request).unwrap_err();
    let Error::Queued { gates, .. } = error else { panic!("{error}") };
    let names: Vec<_> = gates.iter().map(|gate| gate.gate).collect();
    assert_eq!(names, [GateName::Tier, GateName::Access]);
    assert!(gates[1].ground.to_string().starts_with("forbidden by `actum.tier`: "), "{gates:?}");
}

/// AEC-11
#[test]
fn access_policy_decision_is_replayed_only_by_cedar() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let request = Request::apply(vec![patch("a", "one", "ONE")]);
    let done = run(&disk, grounds.records(), &policy(&[("all.cedar", ALL)]), request).unwrap();
    let result = &done.receipt.statement.predicate;
    let gate = result.decision.gates.iter().find(|gate| gate.gate == "access").unwrap();
    assert_eq!(
        (&*gate.verdict, &*sentence(gate)),
        ("allow", "permitted by policy 1 in `all.cedar`")
    );
    let bundle = grounds.store.blob(&result.decision.bundle).unwrap().unwrap();
    let policy = grounds.store.blob(&result.policy).unwrap().unwrap();
    replay(&bundle, &policy, &result.decision, &Cedar::default()).unwrap();
    let problem = replay(&bundle, &policy, &result.decision, &NoAccess).unwrap_err();
    assert_eq!(problem.reason(), "REPLAY_ENGINE_UNSUPPORTED");
}

/// AEC-6, FE-9: an exact undo does not need an approval.
#[test]
fn exact_undo_is_not_held_by_access_policies() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let request = Request::apply(vec![patch("a", "one", "ONE")]);
    let all = policy(&[("all.cedar", ALL)]);
    let done = run(&disk, grounds.records(), &all, request).unwrap();
    let nothing = policy(&[("nothing.cedar", "")]);
    let undo = Request::undo(Which::Run(done.run()));
    let undone = run(&disk, grounds.records(), &nothing, undo).unwrap();
    assert_eq!(disk.get("a").unwrap(), b"one\ntwo\n");
    // A redo is evaluated like any other change.
    let redo = Request::redo(Which::Run(undone.run()));
    assert_eq!(refused(run(&disk, grounds.records(), &nothing, redo))[0].gate, GateName::Access);
}

/// Operator's directory with these access policies, and a workspace.
struct Place {
    directory: TempDir,
}

impl Place {
    fn with(files: &[(&str, &str)]) -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.access()).unwrap();
        fs::set_permissions(place.access(), Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(place.root()).unwrap();
        files.iter().for_each(|(name, text)| place.write(name, text));
        place
    }

    fn access(&self) -> PathBuf {
        self.directory.path().join("config/access")
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.access().join(name), text).unwrap();
        fs::set_permissions(self.access().join(name), Permissions::from_mode(0o644)).unwrap();
    }

    fn files(&self) -> PolicyFiles {
        let operator = Some(self.directory.path().join("config/actum.toml"));
        let home = self.directory.path().join("home");
        PolicyFiles {
            is_known_place: |_| true,
            system: None,
            operator,
            named: None,
            home,
            cedar: Cedar::default(),
            clock: Clock::fixed(0),
        }
    }

    fn read(&self) -> actum::Result<PolicyInForce> {
        self.files().read(&self.root())
    }

    /// Returns the message without the path of the test directory.
    fn refusal(&self) -> String {
        let text = self.read().unwrap_err().with_state();
        text.replace(self.directory.path().to_str().unwrap(), "")
    }
}

/// AEC-6: policies are loaded only if they exist, and files without a policy's file name are ignored.
#[test]
fn access_policies_are_loaded_from_beside_the_operators_policy() {
    let place = Place::with(&[("b.cedar", ALL), ("a.cedar", ASK), ("notes.txt", "permit")]);
    symlink("nowhere", place.access().join(".#b.cedar")).unwrap();
    let in_force = place.read().unwrap();
    let names: Vec<_> = in_force.policy.access().unwrap().iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["a.cedar", "b.cedar"]);
    let actual: Vec<_> = in_force.access.iter().map(|it| (it.path.clone(), it.policies)).collect();
    let path = |name: &str| place.access().join(name);
    assert_eq!(actual, [(path("a.cedar"), 1), (path("b.cedar"), 1)]);
    // A workspace cannot have access policies of its own.
    fs::create_dir(place.root().join("access")).unwrap();
    fs::write(place.root().join("access/all.cedar"), "no Cedar").unwrap();
    assert_eq!(place.read().unwrap().policy, in_force.policy);
    for name in ["a.cedar", "b.cedar"] {
        fs::remove_file(path(name)).unwrap();
    }
    assert_eq!(place.read().unwrap().policy, Policy::default());
    fs::remove_dir_all(place.access()).unwrap();
    assert_eq!(place.read().unwrap().policy, Policy::default());
}

/// AEC-6, AEC-10: no change is made under a policy with an obvious mistake.
#[test]
fn invalid_access_policy_is_rejected_with_its_file_and_nothing_runs() {
    let wrong = ASK.replace("context.approvals", "context.aprovals");
    let place = Place::with(&[("a.cedar", ALL), ("b.cedar", &wrong)]);
    let actual = place.refusal();
    let expected = "cannot use the operator's policy `/config/access/b.cedar`: the access policies are \
                    not valid: `a-person-looks`, line 3: attribute `aprovals` in context for \
                    Action::\"change_files\" not found; `context` has ";
    assert!(actual.starts_with(expected), "{actual}");
    assert!(actual.ends_with("; nothing was changed"), "{actual}");
    place.write("b.cedar", "permit (principal, action, resource) when { context.tier == \"R3\" };");
    assert!(
        place.refusal().contains("b.cedar`: the access policies are not valid: policy 1, line 1")
    );
    // Nothing runs under this policy, not even an undo.
    let records = Records::open(
        &place.directory.path().join("home"),
        &"default".parse().unwrap(),
        actum::Clock::fixed(1_700_000_000_000_000),
    );
    let engine = Engine::open(place.root(), records.unwrap()).unwrap();
    let mut engine = engine.under_files(place.files(), &place.root());
    let before = names(&place.root());
    let error = engine.run(Request::apply(vec![create("new")])).unwrap_err();
    assert!(matches!(error, Error::Policy(_)), "{error}");
    assert_eq!(names(&place.root()), before);
    // Once the policy is fixed, the same engine accepts it.
    place.write("b.cedar", ALL);
    engine.run(Request::apply(vec![create("new")])).unwrap();
    assert!(place.root().join("new").exists());
}

fn names(root: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(root).unwrap().map(|it| it.unwrap().path()).collect();
    names.sort();
    names
}

/// AEC-6: a policy that other users can write to is rejected.
#[test]
fn policy_directory_or_file_writable_by_others_is_rejected() {
    let place = Place::with(&[("a.cedar", ALL)]);
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    mode(&place.access(), 0o775);
    assert!(place.refusal().starts_with(
        "cannot use the operator's policy `/config/access`: other users may write to this directory (its mode \
         is 0775)"
    ));
    mode(&place.access(), 0o755);
    mode(&place.access().join("a.cedar"), 0o666);
    assert!(place.refusal().starts_with(
        "cannot use the operator's policy `/config/access/a.cedar`: other users may write to it (its mode \
         is 0666)"
    ));
}

/// AEC-6, D-4: a link is treated as its target, as for the operator's policy. Any other file type in place of a policy
/// file or the directory is rejected.
#[test]
fn only_regular_policy_files_are_read_without_blocking() {
    let place = Place::with(&[("a.cedar", ALL)]);
    let elsewhere = place.directory.path().join("elsewhere");
    fs::write(&elsewhere, ASK).unwrap();
    fs::set_permissions(&elsewhere, Permissions::from_mode(0o644)).unwrap();
    let link = place.access().join("b.cedar");
    symlink(&elsewhere, &link).unwrap();
    assert_eq!(place.read().unwrap().access.len(), 2);
    fs::set_permissions(&elsewhere, Permissions::from_mode(0o666)).unwrap();
    assert!(place.refusal().contains("other users may write to it"));
    fs::remove_file(&elsewhere).unwrap();
    assert!(
        place.refusal().starts_with("cannot use the operator's policy `/config/access/b.cedar`: ")
    );
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    let no_file = "cannot use the operator's policy `/config/access/b.cedar`: it is not a regular file; \
                   nothing was changed";
    assert_eq!(place.refusal(), no_file);
    fs::remove_dir(&link).unwrap();
    assert!(Command::new("mkfifo").arg(&link).status().unwrap().success());
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| send.send(place.refusal()).unwrap());
        let actual = receive.recv_timeout(Duration::from_secs(20));
        if actual.is_err() {
            // Unblocks a reader that is waiting for a writer.
            drop(fs::OpenOptions::new().write(true).open(&link).unwrap());
        }
        assert_eq!(actual.unwrap(), no_file);
    });
    fs::remove_dir_all(place.access()).unwrap();
    fs::write(place.access(), "").unwrap();
    assert!(place.refusal().contains("it is not a directory"));
}

/// AEC-6: each limit is tested at and beyond its value, and file names must be unambiguous in messages.
#[test]
fn access_policy_files_have_limits() {
    let place = Place::with(&[]);
    let long = |bytes: usize| format!("{}.cedar", "x".repeat(bytes - 6));
    place.write(&long(100), ALL);
    place.read().unwrap();
    place.write(&long(101), ALL);
    assert!(place.refusal().contains("the file name `xxx"));
    fs::remove_file(place.access().join(long(101))).unwrap();
    place.write("a b.cedar", ALL);
    assert!(
        place
            .refusal()
            .starts_with("cannot use the operator's policy `/config/access`: the file name")
    );
    fs::remove_file(place.access().join("a b.cedar")).unwrap();
    place.write("big.cedar", &format!("// {}", "x".repeat(1 << 20)));
    assert!(place.refusal().contains("big.cedar`: the access policies have "));
    fs::write(place.access().join("big.cedar"), b"// \xff").unwrap();
    assert!(place.refusal().ends_with("big.cedar`: it is not UTF-8 text; nothing was changed"));
    fs::remove_file(place.access().join("big.cedar")).unwrap();
    (0..999).for_each(|number| place.write(&format!("{number}.cedar"), ""));
    assert_eq!(place.read().unwrap().access.len(), 1000);
    place.write("1000.cedar", "");
    assert!(place.refusal().contains("it has more than 1000 access policy files"));
}

/// FO-9, AEC-10, issue 22 (claims): if the machine's and the operator's policy differ, the longer retention and the
/// smaller ledger size apply.
#[test]
fn longer_retention_and_smaller_ledger_size_take_precedence() {
    let grounds = Place::with(&[]);
    let system = grounds.directory.path().join("system.toml");
    let operator = grounds.directory.path().join("config/actum.toml");
    let write = |path: &Path, runs: u32, days: u32, bytes: u64| {
        let text = format!(
            "version = 1\n[retention]\nruns = {runs}\ndays = {days}\n[ledger]\nmax_bytes = {bytes}\n"
        );
        fs::write(path, text).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    };
    let files = PolicyFiles { system: Some(system.clone()), ..grounds.files() };
    let (small, large) = (64 << 20, 128 << 20);
    for [(first, second), (third, fourth)] in [[(5, small), (9, large)], [(9, large), (5, small)]] {
        write(&system, first, 20 - first, second);
        write(&operator, third, 20 - third, fourth);
        let in_force = files.read(&grounds.root()).unwrap();
        assert_eq!((in_force.retention.runs, in_force.retention.days), (9, 15));
        assert_eq!(in_force.ledger_bytes, small);
    }
}
