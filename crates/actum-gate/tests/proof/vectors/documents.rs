//! Replayed decisions.

use actum_core::{Budget, Digest, PathRule, RiskTier, RunId, Scope};
use actum_gate::credential::Finding;
use actum_gate::decision::{Found, Undone};
use actum_gate::policy::Trust;
use actum_gate::{
    AccessText, Approved, Bundle, Case as Judged, CommandLine, DECISION_SEMANTICS, GateName,
    NoAccess, Policy, PolicyFile, Profile, ReplayProblem, WorkKind, decide, replay,
};
use actum_record::ledger::Actor;
use actum_record::receipt::{DecisionRecord, EffectKind, PathEffect};
use serde_json::{Map, Value, json};

use super::{Case as Vector, Vectors, accepted, leases, refused};
use crate::material::{
    approved, at, bundle, bundle_of, case, change, gate, path, policy, policy_bytes,
};

pub(super) fn decisions() -> Vectors {
    Vectors {
        name: "decisions",
        about: "Decisions made again (AEC-11): the canonical bytes of a bundle and of a policy, \
                and what was recorded of the decision. Accepted where both lead to it again. The \
                rules that hold everywhere are in `rules/built-in.json`.",
        keyrings: Map::new(),
        cases: decision_cases(),
        judge: |input, _| {
            let record: DecisionRecord = serde_json::from_value(input["record"].clone()).unwrap();
            let bytes = input["bundle"].as_str().unwrap().as_bytes();
            let policy = input["policy"].as_str().unwrap().as_bytes();
            replay(bytes, policy, &record, &NoAccess)
                .map_err(|problem: ReplayProblem| problem.reason())?;
            let policy = Policy::read(policy).unwrap();
            let decision = decide(&Bundle::read(bytes).unwrap(), &policy, &NoAccess);
            let (verdict, tier) = (decision.verdict.as_str(), decision.tier);
            Ok(json!({ "verdict": verdict, "tier": tier }))
        },
    }
}

pub(super) fn input(bundle: &str, policy: &Policy, record: &DecisionRecord) -> Value {
    let policy = String::from_utf8(policy.to_vec().unwrap()).unwrap();
    json!({ "bundle": bundle, "policy": policy, "record": record })
}

pub(super) fn recorded(bundle: &Bundle, policy: &Policy) -> (String, DecisionRecord) {
    let bytes = bundle.to_vec().unwrap();
    let record = decide(bundle, policy, &NoAccess).record(&bytes).unwrap();
    (String::from_utf8(bytes).unwrap(), record)
}

/// Returns decisions under policies from policy files.
fn policy_cases() -> Vec<Vector> {
    let operator = PolicyFile::read(
        br#"
        version = 1
        [protected]
        paths = ["infra", "**/*.KEY"]
        [scope]
        deny = ["vendor/"]
        [budget]
        max_files = 3
        [[tier]]
        tier = "R4"
        paths = ["db/migrations/"]
        effects = ["deleted"]
        why = "a migration that is gone cannot be run back"
        [[tier]]
        tier = "R3"
        paths = ["src/pay*"]
        why = "it moves money"
        "#,
    );
    let workspace = PolicyFile::read(
        br#"
        version = 1
        [protected]
        profile = "agent-executor"
        [scope]
        allow = ["src/", "**/*.md", "ci", "db", "README.md"]
        "#,
    );
    let (operator, workspace) = (operator.unwrap(), workspace.unwrap());
    let both = |trust| Policy::new(Some(operator.clone()), Some((workspace.clone(), trust))).0;
    let (untrusted, trusted) = (both(Trust::Untrusted), both(Trust::Trusted));
    let alone = Policy::new(Some(operator.clone()), None).0;
    let only = |effect: EffectKind, names: &[&str]| -> Vec<PathEffect> {
        let effects = names.iter().map(|name| PathEffect {
            path: path(name),
            effect,
            from: None,
            before: None,
            after: None,
            added: 1,
            removed: 0,
        });
        effects.collect()
    };
    let modified = |names: &[&str]| only(EffectKind::Modified, names);
    let created = |name: &str| only(EffectKind::Created, &[name]);
    let plain = |change| case(Scope::everything(), Budget::unlimited(), change);
    let undoing = |approved: Option<bool>, agent: Option<&str>, change| {
        let judged = plain(change);
        let undone = approved.map(|approved| Undone { actor: judged.actor.clone(), approved });
        let actor = Actor { agent: agent.map(str::to_owned), ..judged.actor.clone() };
        Judged { undoes: Some(run()), undone, restores: true, actor, ..judged }
    };
    let default = Policy::default();
    let cases = [
        ("a secret in another case", &default, plain(modified(&["a/.ENV.Local"]))),
        ("a secret with a letter that is not seen", &default, plain(modified(&[".e\u{200b}nv"]))),
        ("a secret in wide letters", &default, plain(modified(&["ｓecrets.yml"]))),
        ("a secret as Windows opens it", &default, plain(modified(&["credentials.json. "]))),
        ("a stream of a secret", &default, plain(modified(&["x/.env::$DATA"]))),
        ("the policy itself", &default, plain(modified(&["Actum.TOML"]))),
        ("no secret", &default, plain(modified(&["env", "secrets/a.rs", "src/environment.rs"]))),
        ("orders for agents", &default, plain(modified(&[".claude/settings.local.json"]))),
        ("continuous integration", &default, plain(modified(&[".github/Workflows/ci.yml", "a"]))),
        ("its directory", &default, plain(only(EffectKind::DirectoryCreated, &[".circleci"]))),
        ("declared higher", &default, Judged { declared: Some(RiskTier::R4), ..plain(change()) }),
        ("declared lower", &default, Judged { declared: Some(RiskTier::R0), ..plain(change()) }),
        ("work of its own", &default, plain(modified(&["agent/temp/a", "agent/agent_outputs/b"]))),
        (
            "a file with another name",
            &default,
            Judged { linked: vec![path("a"), path("b")], ..plain(modified(&["a", "b"])) },
        ),
        (
            "a directory that every user may write",
            &default,
            Judged { opened: vec![path("a")], ..plain(only(EffectKind::DirectoryCreated, &["a"])) },
        ),
        (
            "permissions of a file with another name",
            &default,
            Judged { linked: vec![path("a")], ..plain(only(EffectKind::Mode, &["a"])) },
        ),
        ("a new name with an escape", &default, plain(created("a\u{1b}[2K"))),
        ("a new name with a line of its own", &default, plain(created("a\nb"))),
        ("a new name in another direction", &default, plain(created("a\u{202e}b"))),
        (
            "a new directory without width",
            &default,
            plain(only(EffectKind::DirectoryCreated, &["a\u{200b}"])),
        ),
        ("a new name in other letters", &default, plain(created("é 日本 \\🦀"))),
        ("an old name with an escape", &default, plain(modified(&["a\u{1b}[2K"]))),
        (
            "an old name with an escape that goes",
            &default,
            plain(only(EffectKind::Deleted, &["a\u{1b}[2K"])),
        ),
        (
            "an old name with an escape that comes back",
            &default,
            Judged { undoes: Some(run()), work: WorkKind::Undo, ..plain(created("a\u{1b}[2K")) },
        ),
        ("a policy of another workspace", &default, plain(modified(&["sub/actum.toml"]))),
        ("an undo", &default, undoing(Some(false), None, modified(&[".travis.yml"]))),
        (
            "an undo of what a person approved",
            &default,
            undoing(Some(true), None, modified(&[".travis.yml"])),
        ),
        ("an undo of an unknown run", &default, undoing(None, None, modified(&[".travis.yml"]))),
        (
            "an undo by another agent",
            &default,
            undoing(Some(false), Some("other"), modified(&[".travis.yml"])),
        ),
        ("a redo", &default, Judged { undoes: Some(run()), ..plain(modified(&[".travis.yml"])) }),
        ("nothing, under a policy", &untrusted, plain(Vec::new())),
        ("protected by the operator", &alone, plain(modified(&["infra/main.rs", "a/b.key"]))),
        ("denied by the operator", &alone, plain(modified(&["vendor/a"]))),
        ("over the operator's budget", &alone, plain(modified(&["a", "b", "c", "d"]))),
        (
            "an undo outside of the scope and over the budget",
            &alone,
            undoing(Some(false), None, modified(&["vendor/a", "b", "c", "d"])),
        ),
        ("raised by the operator", &alone, plain(modified(&["src/payments.rs"]))),
        ("a deleted migration", &alone, plain(only(EffectKind::Deleted, &["db/migrations/1.sql"]))),
        ("an added migration", &alone, plain(only(EffectKind::Created, &["db/migrations/1.sql"]))),
        ("outside of the workspace's scope", &untrusted, plain(modified(&["lib/a"]))),
        ("in the workspace's scope", &untrusted, plain(modified(&["a/b.md", "src/x"]))),
        ("protected by either profile", &untrusted, plain(modified(&["README.md"]))),
        ("protected by the operator's profile", &untrusted, plain(modified(&["ci/.mcp.json"]))),
        ("protected by none of a trusted profile", &trusted, plain(modified(&["ci/.mcp.json"]))),
    ];
    let finding = |name: &str| Found {
        path: path(name),
        finding: Finding {
            line: 3,
            rule: "private-key".to_owned(),
            digest: Digest::tagged("actum/credential/v1", &[name.as_bytes()]),
        },
    };
    let known =
        format!("version = 1\n[credentials]\nallow = [\"{}\"]\n", finding("known").finding.digest);
    let known = PolicyFile::read(known.as_bytes()).unwrap();
    let of_operator = Policy::new(Some(known.clone()), None).0;
    let of_workspace = Policy::new(None, Some((known, Trust::Untrusted))).0;
    let holds = |names: &[&str]| Judged {
        found: names.iter().map(|name| finding(name)).collect(),
        ..plain(modified(&["known", "new"]))
    };
    let secrets = [
        ("a credential", &default, holds(&["known", "new"])),
        ("a credential that is allowed", &of_operator, holds(&["known"])),
        ("one that is allowed and another", &of_operator, holds(&["known", "new"])),
        ("allowed by who is not trusted", &of_workspace, holds(&["known"])),
        (
            "too large to be looked through",
            &default,
            Judged { unscanned: vec![path("new")], ..plain(modified(&["new"])) },
        ),
    ];
    let commands = command_cases();
    let commands = commands.iter().map(|(name, policy, judged)| (*name, policy, judged.clone()));
    let many: Vec<String> = (0..201).map(|number| format!("d/{number:03}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let sizes = [
        ("many deleted", &default, plain(only(EffectKind::Deleted, &many))),
        ("one less deleted", &default, plain(only(EffectKind::Deleted, &many[1..]))),
    ];
    let all = cases.into_iter().chain(secrets).chain(sizes).chain(commands);
    let recorded = all.map(|(name, policy, judged)| {
        let bundle = Bundle::new(Digest::of(&policy.to_vec().unwrap()), judged);
        let (text, record) = recorded(&bundle, policy);
        accepted(name, input(&text, policy, &record))
    });
    recorded.collect()
}

/// Returns commands, with rules of an operator and of a workspace.
fn command_cases() -> Vec<(&'static str, Policy, Judged)> {
    let operator = PolicyFile::read(
        br#"
        version = 1
        [[command]]
        argv = ["cargo", ["test", "check"]]
        decision = "allow"
        match = ["cargo test", "cargo check --all"]
        not_match = ["cargo test --config x"]
        [[command]]
        argv = ["bash", "-c", "a; b"]
        exact = true
        decision = "allow"
        match = ["bash -c 'a; b'"]
        [[command]]
        argv = ["cargo", "test", "--release"]
        decision = "ask"
        reason = "it takes an hour"
        [[command]]
        argv = ["/bin/tool", "run"]
        decision = "deny"
        [[command]]
        argv = ["tool"]
        decision = "allow"
        match = ["tool x"]
        "#,
    );
    let workspace = PolicyFile::read(
        br#"
        version = 1
        [[command]]
        argv = ["make", "test"]
        decision = "allow"
        match = ["make test"]
        exact = true
        [[command]]
        argv = ["make", "release"]
        exact = true
        decision = "ask"
        [[command]]
        argv = ["cargo", "check"]
        decision = "deny"
        reason = "it is too slow here"
        "#,
    );
    let (operator, workspace) = (operator.unwrap(), workspace.unwrap());
    let both = |trust| Policy::new(Some(operator.clone()), Some((workspace.clone(), trust))).0;
    let of = |name, policy: &Policy, lines: &[&[&str]]| {
        let line = |words: &&[&str]| {
            CommandLine::new(words.iter().map(ToString::to_string).collect()).unwrap()
        };
        let commands = lines.iter().map(line).collect();
        let judged = case(Scope::everything(), Budget::unlimited(), Vec::new());
        (name, policy.clone(), Judged { commands, ..judged })
    };
    let confined = |name, policy: &Policy, lines: &[&[&str]]| {
        let (name, policy, judged) = of(name, policy, lines);
        let Judged { commands: confined, .. } = judged.clone();
        (name, policy, Judged { commands: Vec::new(), confined, ..judged })
    };
    let (alone, default) = (Policy::new(Some(operator.clone()), None).0, Policy::default());
    let (untrusted, trusted) = (both(Trust::Untrusted), both(Trust::Trusted));
    let test: &[&str] = &["cargo", "test"];
    vec![
        of("a command without rules", &default, &[&["true"]]),
        of("a command that a rule allows", &alone, &[&["cargo", "check", "--all"]]),
        of("one that begins otherwise", &alone, &[&["cargo", "--all", "check"]]),
        of("one that is longer than a rule that is exact", &alone, &[&["bash", "-c", "a; b", "c"]]),
        of("one that is just as a rule says", &alone, &[&["bash", "-c", "a; b"]]),
        of("one argument more or less in a word", &alone, &[&["bash", "-c a; b"]]),
        of("an option that a rule does not reach over", &alone, &[&["cargo", "test", "-Zx"]]),
        of("one that a rule asks about", &alone, &[&["cargo", "test", "--release", "x"]]),
        of("the same under another path", &alone, &[&["/opt/cargo", "test", "--release"]]),
        of("one that is denied under another path and case", &alone, &[&["./TOOL", "run"]]),
        of("one that is denied and allowed", &alone, &[&["tool", "run", "x"]]),
        of("one that is allowed beside it", &alone, &[&["tool", "walk"]]),
        of("a letter that is not of ASCII in another case", &alone, &[&["\u{212a}ool", "run"]]),
        of(
            "several, the strictest last",
            &alone,
            &[test, &["cargo", "test", "--release"], &["rm"]],
        ),
        of("several that are asked about", &alone, &[&["cargo", "test", "--release"], test]),
        of("allowed by a workspace that is not trusted", &untrusted, &[&["make", "test"]]),
        of("allowed by a workspace that is trusted", &trusted, &[&["make", "test"]]),
        of("asked about by one that is not trusted", &untrusted, &[&["make", "release"]]),
        of("asked about by one that is trusted", &trusted, &[&["make", "release"]]),
        of("denied by one that is not trusted", &untrusted, &[&["cargo", "check"]]),
        of("left alone by one that is not trusted", &untrusted, &[test]),
        of("as many commands as may be", &alone, &[test; 1000]),
        of("one command more", &alone, &[test; 1001]),
        confined("a confined command without rules", &default, &[&["true"]]),
        confined("a confined command that a rule allows", &alone, &[&["cargo", "check", "--all"]]),
        confined("a confined one that is asked about", &alone, &[&["cargo", "test", "--release"]]),
        confined("a confined one that is denied", &alone, &[&["true"], &["./TOOL", "run"]]),
        confined("a confined one denied by one not trusted", &untrusted, &[&["cargo", "check"]]),
        confined("one confined command more", &alone, &[test; 1001]),
    ]
}

fn run() -> RunId {
    "r0000000000n".parse().unwrap()
}

fn decision_cases() -> Vec<Vector> {
    let rules = |texts: &[&str]| texts.iter().map(|text| PathRule::new(text).unwrap()).collect();
    let unlimited = Budget::unlimited();
    let directory = PathEffect { effect: EffectKind::DirectoryCreated, ..change().remove(2) };
    let mut strange: Vec<PathRule> = rules(&["docs/"]);
    strange.push(PathRule::new(b"str\xffnge \"name\"").unwrap());
    let many: Vec<String> = (0..12).map(|number| format!("d{number}/")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let cases = [
        ("allowed", bundle()),
        ("no change", bundle_of(Scope::everything(), unlimited, Vec::new())),
        (
            "allowed by rules",
            bundle_of(
                Scope { allow: Some(rules(&["src", "docs/", "str"])), deny: strange },
                unlimited,
                change()[1..4].to_vec(),
            ),
        ),
        (
            "denied by a rule and over the budget",
            bundle_of(
                Scope { allow: None, deny: rules(&["docs/gone.md"]) },
                Budget { max_files: Some(3), max_loc: Some(5) },
                change(),
            ),
        ),
        (
            "at the limit",
            bundle_of(
                Scope::everything(),
                Budget { max_files: Some(4), max_loc: Some(6) },
                change(),
            ),
        ),
        (
            "renamed out of the scope",
            bundle_of(
                Scope { allow: Some(rules(&["src/new/"])), deny: Vec::new() },
                unlimited,
                change()[2..4].to_vec(),
            ),
        ),
        (
            "a directory that nothing leads to",
            bundle_of(
                Scope { allow: Some(rules(&["src/new/"])), deny: Vec::new() },
                unlimited,
                vec![directory, PathEffect { path: path("src/newer"), ..change().remove(1) }],
            ),
        ),
        (
            "nothing is allowed",
            bundle_of(Scope { allow: Some(Vec::new()), deny: Vec::new() }, unlimited, change()),
        ),
        (
            "in none of many places",
            bundle_of(Scope { allow: Some(rules(&many)), deny: Vec::new() }, unlimited, change()),
        ),
    ];
    let sound = cases.into_iter().map(|(name, bundle)| {
        let (text, record) = recorded(&bundle, &policy());
        accepted(name, input(&text, &policy(), &record))
    });
    sound
        .chain(policy_cases())
        .chain(place_cases())
        .chain(approval_cases())
        .chain(leases::cases())
        .chain(access_cases())
        .chain(mismatches())
        .collect()
}

/// Returns decisions in workspaces whose location affects which paths are protected.
fn place_cases() -> Vec<Vector> {
    let operator = PolicyFile::read(
        b"version = 1\n[protected]\npaths = ['vendor/']\n[scope]\ndeny = ['third/party/']\n",
    );
    let enclosing = PolicyFile::read(
        b"version = 1\n[protected]\npaths = ['p/infra/', '**/keys']\n[scope]\nallow = ['p/src/', 'p/infra/']\n\
          [[tier]]\ntier = 'R4'\npaths = ['p/src/main.rs']\nwhy = 'w'\n",
    );
    let (operators, _) = Policy::new(Some(operator.unwrap()), None);
    let enclosed = Policy::default().enclosed(vec![(enclosing.unwrap(), "/srv".to_owned())]);
    let at = |root: &str, enclosing: &[&str], name: &str, policy: &Policy| {
        let effect = PathEffect { path: path(name), ..change().remove(1) };
        let case = case(Scope::everything(), Budget::unlimited(), vec![effect]);
        let enclosing = enclosing.iter().map(|root| (*root).to_owned()).collect();
        let case = Judged { root: root.to_owned(), enclosing, ..case };
        Bundle::new(Digest::of(&policy.to_vec().unwrap()), case)
    };
    let excepting = |text: &[u8]| Policy::new(Some(PolicyFile::read(text).unwrap()), None).0;
    let excepting =
        excepting(b"version = 1\n[protected]\nexcept = ['.env.example', 'a/.mcp.json']\n");
    let critical = excepting.clone().guarding(Profile::Critical);
    let own = policy();
    let cases = [
        ("excepted by the operator", "/p", &[][..], ".env.example", &excepting),
        ("excepted at another path", "/p", &[], "a/.env.example", &excepting),
        ("excepted in another spelling", "/p", &[], ".ENV.example", &excepting),
        ("excepted below a protected directory", "/p/.envs", &[], ".env.example", &excepting),
        ("excepted in a stricter profile", "/p", &[], "a/.mcp.json", &critical),
        ("in a protected directory", "/home/ada/.Claude", &[], "settings.json", &own),
        ("in a work tree of an agent", "/home/ada/.codex/worktrees/p", &[], "a", &own),
        (
            "protected in a work tree of an agent",
            "/home/ada/.codex/worktrees/p",
            &[],
            ".codex/a",
            &own,
        ),
        ("in a directory with the name of a file", "/src/jenkinsfile-runner", &[], "a.rs", &own),
        ("in the directory of continuous integration", "/p/.github", &[], "workflows/ci.yml", &own),
        ("in what the operator protects", "/p/vendor/x", &["/p"], "a", &operators),
        ("outside the operator's scope", "/p/third", &["/p"], "party/a", &operators),
        ("with nothing around it", "/p/third", &[], "party/a", &operators),
        ("in what an enclosing policy protects", "/srv/p/infra", &[], "a", &enclosed),
        ("in what it protects anywhere", "/srv/keys/p/src", &[], "a", &enclosed),
        ("outside an enclosing scope", "/srv/p/lib", &[], "a", &enclosed),
        ("raised by an enclosing policy", "/srv/p", &[], "src/main.rs", &enclosed),
        ("allowed by an enclosing policy", "/srv/p/src", &[], "lib.rs", &enclosed),
    ];
    let recorded = cases.map(|(name, root, enclosing, file, policy)| {
        let bundle = at(root, enclosing, file, policy);
        let (text, record) = recorded(&bundle, policy);
        accepted(name, input(&text, policy, &record))
    });
    let named = [
        ("a new name with an emoji", "a/\u{1f469}\u{200d}\u{2764}\u{fe0f}"),
        ("a new name with a joiner alone", "a/b\u{200d}c"),
        ("a new name with a joiner behind an emoji", "a/\u{1f469}\u{200d}c"),
    ];
    let named = named.map(|(name, file)| {
        let created = EffectKind::Created;
        let effect = PathEffect { path: path(file), effect: created, ..change().remove(1) };
        let bundle = bundle_of(Scope::everything(), Budget::unlimited(), vec![effect]);
        let (text, record) = self::recorded(&bundle, &own);
        accepted(name, input(&text, &own, &record))
    });
    recorded.into_iter().chain(named).collect()
}

/// Returns decisions about changes with an approval.
fn approval_cases() -> Vec<Vector> {
    let ci = PathEffect { path: path(".github/workflows/ci.yml"), ..change().remove(1) };
    let asks = case(Scope::everything(), Budget::unlimited(), vec![ci]);
    let bundle = |case| Bundle::new(Digest::of(&policy_bytes()), case);
    let with = |change: &dyn Fn(&mut Approved)| {
        let mut approved = approved(&bundle(asks.clone()));
        change(&mut approved);
        bundle(Judged { approved: Some(approved), ..asks.clone() })
    };
    let other = Digest::of(b"other");
    let cases = [
        ("what nobody approved", bundle(asks.clone())),
        ("what a person approved", with(&|_| {})),
        ("an approval in its last moment", with(&|it| it.expires = at(30))),
        ("an approval that has expired", with(&|it| it.expires = at(29))),
        ("an approval of another plan", with(&|it| it.bound.plan = other)),
        ("an approval of another change", with(&|it| it.bound.change = other)),
        ("an approval under other limits", with(&|it| it.bound.limits = other)),
        ("an approval under another policy", with(&|it| it.bound.policy = other)),
    ];
    let recorded = cases.map(|(name, bundle)| {
        let (text, record) = recorded(&bundle, &policy());
        accepted(name, input(&text, &policy(), &record))
    });
    recorded.into()
}

/// Returns decisions under access policies, which can be replayed only by a program with Cedar.
fn access_cases() -> Vec<Vector> {
    let text = "permit (principal, action, resource);\n".to_owned();
    let text = AccessText { name: "all.cedar".to_owned(), text };
    let policy = Policy::default().with_access(vec![text]);
    let of = |judged: Judged| {
        let bundle = Bundle::new(Digest::of(&policy.to_vec().unwrap()), judged);
        let (text, record) = recorded(&bundle, &policy);
        input(&text, &policy, &record)
    };
    let asked = case(Scope::everything(), Budget::unlimited(), change());
    let undone = Some(Undone { actor: asked.actor.clone(), approved: false });
    let restores = Judged {
        undoes: Some(run()),
        undone,
        restores: true,
        work: WorkKind::Undo,
        ..asked.clone()
    };
    vec![
        refused("access policies", "REPLAY_ENGINE_UNSUPPORTED", of(asked)),
        accepted("an undo that access policies have no say in", of(restores)),
    ]
}

fn mismatches() -> Vec<Vector> {
    let (text, record) = recorded(&bundle(), &policy());
    let input = |text: &str, record: &DecisionRecord| input(text, &policy(), record);
    let of = |text: &str, semantics| {
        let bundle = Digest::of(text.as_bytes());
        input(text, &DecisionRecord { semantics, bundle, ..record.clone() })
    };
    let elsewhere = |policy: &str| {
        let mut given = input(&text, &record);
        given["policy"] = json!(policy);
        given
    };
    let altered = |change: &dyn Fn(&mut DecisionRecord)| {
        let mut record = record.clone();
        change(&mut record);
        input(&text, &record)
    };
    let [now, later] = [0, 1].map(|more| format!("\"semantics\":{}", DECISION_SEMANTICS + more));
    let later = text.replace(&now, &later);
    let format = text.replace("actum.bundle/6", "actum.bundle/7");
    let more = text.replacen("{\"case\"", "{\"access\":{},\"case\"", 1);
    let mismatch = "REPLAY_DECISION_MISMATCH";
    let unsupported = "REPLAY_ENGINE_UNSUPPORTED";
    vec![
        refused(
            "another bundle",
            "REPLAY_REF_HASH_MISMATCH",
            input(&text.replace("\"max_files\":15", "\"max_files\":16"), &record),
        ),
        refused(
            "another ground",
            mismatch,
            altered(&|r| gate(r, GateName::Protected).ground.0["kind"] = "excepted".into()),
        ),
        refused(
            "another verdict",
            mismatch,
            altered(&|r| gate(r, GateName::Budget).verdict = "deny".to_owned()),
        ),
        refused("a gate is missing", mismatch, altered(&|r| drop(r.gates.pop()))),
        refused("another tier", mismatch, altered(&|r| r.tier = RiskTier::R1)),
        refused("another policy", "REPLAY_REF_HASH_MISMATCH", elsewhere("{}")),
        refused("another digest", mismatch, altered(&|r| r.digest = Digest::of(b"other"))),
        refused("other rules", unsupported, of(&text, DECISION_SEMANTICS + 1)),
        refused("a bundle for other rules", unsupported, of(&later, DECISION_SEMANTICS)),
        refused("a bundle of another format", unsupported, of(&format, DECISION_SEMANTICS)),
        refused("a bundle that says more", unsupported, of(&more, DECISION_SEMANTICS)),
    ]
}
