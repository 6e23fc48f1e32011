//! Policies: their file format, and the rule that more layers never allow more.

use actum_core::{Budget, Digest, RiskTier, Scope};
use actum_gate::policy::{Ignored, PolicyFileError, Trust};
use actum_gate::{Bundle, Case, Decision, NoAccess, Policy, PolicyFile, Profile, Verdict, decide};
use actum_record::receipt::{EffectKind, PathEffect};
use proptest::prelude::*;

use crate::material::{case, path};

fn file(text: &str) -> PolicyFile {
    PolicyFile::read(format!("version = 1\n{text}").as_bytes()).unwrap()
}

fn refused(text: &str) -> PolicyFileError {
    PolicyFile::read(text.as_bytes()).unwrap_err()
}

fn touching(name: &str, effect: EffectKind) -> PathEffect {
    let path = path(name);
    PathEffect { path, effect, from: None, before: None, after: None, added: 1, removed: 0 }
}

fn judged(policy: &Policy, case: Case) -> Decision {
    decide(&Bundle::new(Digest::of(&policy.to_vec().unwrap()), case), policy, &NoAccess)
}

fn modified(policy: &Policy, name: &str) -> Decision {
    let change = vec![touching(name, EffectKind::Modified)];
    judged(policy, case(Scope::everything(), Budget::unlimited(), change))
}

fn gate_result(decision: &Decision, gate: &str) -> (String, String) {
    let gate = decision.gates.iter().find(|record| record.gate.as_str() == gate).unwrap();
    (gate.verdict.as_str().to_owned(), gate.ground.to_string())
}

/// D-5, EX-4: covers every spelling that some file system treats as the same name.
#[test]
fn protected_path_is_protected_in_any_spelling() {
    for name in [
        ".env",
        "a/b/.env",
        ".ENV",
        ".Env.Local",
        ".env.",
        ".env ",
        ".env::$DATA",
        ".e\u{200b}nv",
        ".\u{ff45}nv",
        ".env/below",
        "credentials.JSON",
        "x/Secrets.yaml",
        "SECRETS.",
        "secrets. .",
        "git~1/config",
        "GIT~10",
        "ACTUM~1.TOM",
        "ENV~1.LOC",
        "CREDEN~1.JSO",
        "SECRET~1.YAM",
        "ACTUM.toml",
        "actum.toml. ",
        ".Claude/settings.local.json",
        ".husky/pre-commit",
    ] {
        assert_eq!(modified(&Policy::default(), name).verdict, Verdict::Deny, "{name}");
    }
    for name in ["env", "src/environment.rs", "secrets/mod.rs", "credentials.json.md", "a.toml"] {
        assert_eq!(modified(&Policy::default(), name).verdict, Verdict::Allow, "{name}");
    }
}

/// D-5: protection does not depend on the chosen root, whether or not it is a repository.
#[test]
fn a_workspace_is_judged_with_the_names_above_its_root() {
    let at = |root: &str, name: &str| {
        let change = vec![touching(name, EffectKind::Modified)];
        let case = case(Scope::everything(), Budget::unlimited(), change);
        judged(&Policy::default(), Case { root: root.to_owned(), ..case })
    };
    for (root, name) in [
        ("/home/ada/.claude", "settings.json"),
        ("/home/ada/.CODEX/skills", "x.md"),
        ("/home/ada/p/.git", "config"),
        ("/home/ada/.envs", "a"),
        ("/home/ada/p/.husky", "pre-commit"),
        ("/home/ada/p/.claude/hooks", "a.sh"),
    ] {
        let denied = at(root, name);
        assert_eq!(denied.verdict, Verdict::Deny, "{root} {name}");
        let (_, ground) = gate_result(&denied, "protected");
        assert!(
            ground.starts_with(&format!("the path `{root}/{name}` is protected by ")),
            "{ground}"
        );
    }
    let ci = at("/srv/p/.github", "workflows/ci.yml");
    assert_eq!((ci.verdict, ci.tier), (Verdict::NeedsApproval, RiskTier::R3));
    assert!(gate_result(&ci, "tier").1.contains("`/srv/p/.github/workflows/ci.yml`"), "{ci:?}");
    // A path that is protected at the root of a project is not protected in other directories.
    let profile = "[protected]\nprofile = 'agent-executor'\n";
    let policy = Policy::new(Some(file(profile)), None).0;
    let change = vec![touching("x/README.md", EffectKind::Modified)];
    let case = case(Scope::everything(), Budget::unlimited(), change);
    let case = Case { root: "/README.md".to_owned(), ..case };
    assert_eq!(judged(&policy, case).verdict, Verdict::Allow);
}

/// D-5: the names of directories above a project do not make the project unusable.
#[test]
fn projects_below_protected_looking_directories_remain_usable() {
    for (root, name) in [
        ("/srv/p/.github", "CODEOWNERS"),
        ("/home/ada/.config/foo", "src/main.rs"),
        ("/home/ada/src/hooks/use-state", "index.ts"),
        ("/home/ada/.claude/worktrees/w", "settings.json"),
        ("/home/ada/.codex/worktrees/1a2b/p", "src/main.rs"),
        ("/home/ada/.cursor/worktrees/p/x", "src/main.rs"),
        ("/home/ada/secrets.nvim", "lua/secrets/init.lua"),
        ("/home/ada/.environments/p", "a.py"),
        ("/home/ada/jenkinsfile-runner", "src/Main.java"),
        ("/home/ada/x.service/crontab", "a.py"),
    ] {
        let change = vec![touching(name, EffectKind::Modified)];
        let case = case(Scope::everything(), Budget::unlimited(), change);
        let found = judged(&Policy::default(), Case { root: root.to_owned(), ..case });
        assert_eq!((found.verdict, found.tier), (Verdict::Allow, RiskTier::R2), "{root} {name}");
    }
    // A Git work tree is protected like any other project.
    for (root, name) in [
        ("/home/ada/.codex/worktrees/1a2b/p", ".codex/config.toml"),
        ("/home/ada/.codex/worktrees/1a2b/p/.husky", "pre-commit"),
        ("/home/ada/.codex/worktrees/p/.git", "config"),
    ] {
        let change = vec![touching(name, EffectKind::Modified)];
        let case = case(Scope::everything(), Budget::unlimited(), change);
        let found = judged(&Policy::default(), Case { root: root.to_owned(), ..case });
        assert_eq!(found.verdict, Verdict::Deny, "{root} {name}");
    }
}

/// D-5: a rename is judged at both paths, and a directory is judged like a file.
#[test]
fn moves_onto_or_away_from_a_protected_path_are_denied() {
    let policy = Policy::default();
    let moved = |from: &str, to: &str| {
        let change =
            vec![PathEffect { from: Some(path(from)), ..touching(to, EffectKind::Renamed) }];
        judged(&policy, case(Scope::everything(), Budget::unlimited(), change)).verdict
    };
    assert_eq!(moved("a", ".env"), Verdict::Deny);
    assert_eq!(moved(".env", "a"), Verdict::Deny);
    assert_eq!(moved("a", "b"), Verdict::Allow);
    let directory = vec![touching("x/.husky", EffectKind::DirectoryCreated)];
    let made = judged(&policy, case(Scope::everything(), Budget::unlimited(), directory));
    assert_eq!(made.verdict, Verdict::Deny);
}

/// D-5: permission bits belong to all names of a file.
#[test]
fn permission_changes_of_a_hard_linked_file_are_denied() {
    let with = |effect| Case {
        linked: vec![path("a")],
        ..case(Scope::everything(), Budget::unlimited(), vec![touching("a", effect)])
    };
    for (effect, verdict) in [
        (EffectKind::Mode, Verdict::Deny),
        (EffectKind::Attributes, Verdict::Deny),
        (EffectKind::Modified, Verdict::NeedsApproval),
    ] {
        assert_eq!(judged(&Policy::default(), with(effect)).verdict, verdict, "{effect:?}");
    }
}

/// D-5: a wildcard may match a different character in the folded form.
#[test]
fn wildcards_match_the_written_and_folded_forms() {
    let own = file("[protected]\npaths = [\"stra?e\", \"cafe*\", \"x\\\\:y\"]\n");
    let policy = Policy::new(Some(own), None).0;
    for name in ["straße", "cafe\u{301}.txt", "x:y", "CAFETERIA", ".env\u{303}"] {
        assert_eq!(modified(&policy, name).verdict, Verdict::Deny, "{name}");
    }
}

/// D-4: an error message contains no terminal escapes and is short enough to read.
#[test]
fn policy_error_message_is_escaped_and_short() {
    let escape = "version = 1\n[protected]\nprofile = \"\\u001b]0;x\\u0007\\u202e\"\n";
    let long = format!("version = 1\n[scope]\nallow = \"{}\"\n", "x".repeat(500_000));
    let example = "version = 1\n[[tier]]\ntier = \"R3\"\npaths = [\"a\"]\nwhy = \"w\"\nmatch = [\"\\u001b[31m\"]\n";
    for text in [escape, &long, example] {
        let message = refused(text).to_string();
        assert!(message.len() < 1500, "{}", message.len());
        let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!message.contains(obeyed), "{message:?}");
    }
}

/// D-4: a rule that would take too long to check is rejected.
#[test]
fn paths_and_examples_of_a_rule_are_limited() {
    let rule = |paths: usize, examples: usize| {
        let (paths, examples) = (vec!["a"; paths], vec!["a"; examples]);
        let text = format!(
            "version = 1\n[[tier]]\ntier = \"R3\"\nwhy = \"w\"\npaths = {paths:?}\nmatch = {examples:?}\n"
        );
        PolicyFile::read(text.as_bytes()).map(drop)
    };
    assert_eq!(rule(200, 20), Ok(()));
    let long = Err(PolicyFileError::LongRule { number: 1 });
    assert_eq!((rule(201, 20), rule(200, 21)), (long.clone(), long));
}

/// D-5: no group of a profile can be disabled, least of all by a plan.
#[test]
fn each_profile_protects_its_groups() {
    let of = |profile: &str| {
        Policy::new(Some(file(&format!("[protected]\nprofile = \"{profile}\"\n"))), None).0
    };
    for (name, expected) in [
        (".env", [true, true, true]),
        ("actum.toml", [true, true, true]),
        (".husky/pre-push", [false, true, false]),
        ("pyproject.toml", [false, false, true]),
        ("README.md", [false, false, true]),
        ("agent/agent_rules.md", [false, false, true]),
        ("docs/README.md", [false, false, false]),
    ] {
        let found =
            Profile::ALL.map(|it| modified(&of(it.as_str()), name).verdict == Verdict::Deny);
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(Policy::new(None, None).0, Policy::default());
}

/// D-5, D-4: a new name with the invisible characters of an emoji needs an approval. Any other invisible character is denied.
#[test]
fn new_names_with_invisible_characters_are_denied_or_need_approval() {
    for (name, expected) in [
        ("a/\u{1f469}\u{200d}\u{1f4bb}.md", Verdict::NeedsApproval),
        ("\u{2764}\u{fe0f}", Verdict::NeedsApproval),
        ("\u{1f600}.md", Verdict::Allow),
        ("a\u{200d}b", Verdict::Deny),
        ("\u{2764}\u{fe0f}/a\u{200b}", Verdict::Deny),
        ("\u{2764}\u{fe0f}/.env", Verdict::Deny),
    ] {
        let created = vec![touching(name, EffectKind::Created)];
        let case = case(Scope::everything(), Budget::unlimited(), created);
        let decision = judged(&Policy::default(), case);
        assert_eq!(decision.verdict, expected, "{name:?}");
        assert_eq!(modified(&Policy::default(), "\u{2764}\u{fe0f}").verdict, Verdict::Allow);
        if expected == Verdict::NeedsApproval {
            let (verdict, ground) = gate_result(&decision, "protected");
            assert_eq!(verdict, "needs_approval");
            assert!(ground.contains("\\342") || ground.contains("\\357"), "{ground}");
        }
    }
}

/// D-5: an operator can exempt exact paths, but only in the profile `interactive`.
#[test]
fn operator_exception_unprotects_one_exact_path() {
    let excepting = "[protected]\nexcept = ['.env.example', 'a/.mcp.json']\n";
    let (policy, _) = Policy::new(Some(file(excepting)), None);
    for (name, expected) in [
        (".env.example", Verdict::Allow),
        ("a/.mcp.json", Verdict::Allow),
        (".env", Verdict::Deny),
        ("a/.env.example", Verdict::Deny),
        (".ENV.example", Verdict::Deny),
        (".env.example/below", Verdict::Deny),
        (".mcp.json", Verdict::Deny),
    ] {
        assert_eq!(modified(&policy, name).verdict, expected, "{name}");
    }
    let (_, ground) = gate_result(&modified(&policy, ".env.example"), "protected");
    assert_eq!(
        ground,
        "the operator's policy exempts `.env.example`; no other protected path is changed"
    );
    // Exceptions do not apply in a workspace within a protected directory, or in any other profile.
    let change = vec![touching(".env.example", EffectKind::Modified)];
    let case = case(Scope::everything(), Budget::unlimited(), change);
    let around = Case { root: "/p/.envs".to_owned(), ..case };
    assert_eq!(judged(&policy, around).verdict, Verdict::Deny);
    for profile in [Profile::Critical, Profile::AgentExecutor] {
        let policy = policy.clone().guarding(profile);
        assert_eq!(modified(&policy, ".env.example").verdict, Verdict::Deny, "{profile}");
    }
    // Paths protected by a workspace's own rules remain protected, and the workspace's own exceptions do not apply.
    let own = file("[protected]\npaths = ['.env*']\n");
    let (stricter, _) = Policy::new(Some(file(excepting)), Some((own, Trust::Untrusted)));
    assert_eq!(modified(&stricter, ".env.example").verdict, Verdict::Deny);
    let (policy, _) = Policy::new(None, Some((file(excepting), Trust::Trusted)));
    assert_eq!(modified(&policy, ".env.example").verdict, Verdict::Deny);
}

/// D-5: the policy of a cloned repository cannot loosen the rules.
#[test]
fn workspace_policy_can_loosen_rules_only_if_trusted() {
    let digest = Digest::of(b"test key");
    let own = file(&format!(
        "[protected]\nprofile = \"critical\"\n[credentials]\nallow = [\"{digest}\"]\n"
    ));
    let (policy, ignored) = Policy::new(None, Some((own.clone(), Trust::Untrusted)));
    assert_eq!(ignored, [Ignored::Profile(Profile::Critical), Ignored::Credentials(1)]);
    assert_eq!(modified(&policy, ".husky/lib.sh").verdict, Verdict::Deny);
    assert!(policy.credentials().is_empty());
    let (policy, ignored) = Policy::new(None, Some((own, Trust::Trusted)));
    assert_eq!(ignored, []);
    assert_eq!(modified(&policy, ".husky/lib.sh").verdict, Verdict::Allow);
    assert!(policy.credentials().contains(&digest));
    // A profile that protects more applies without trust.
    let stricter = file("[protected]\nprofile = \"agent-executor\"\n");
    let (policy, ignored) = Policy::new(None, Some((stricter, Trust::Untrusted)));
    assert_eq!(ignored, [Ignored::Profile(Profile::AgentExecutor)]);
    for name in ["setup.py", ".husky/lib.sh"] {
        assert_eq!(modified(&policy, name).verdict, Verdict::Deny, "{name}");
    }
}

/// AA-1, D-2: a declared tier can only raise the tier of a plan.
#[test]
fn declared_tier_can_only_raise_the_tier() {
    for declared in RiskTier::ALL {
        let change = vec![touching(".travis.yml", EffectKind::Modified)];
        let case = Case {
            declared: Some(declared),
            ..case(Scope::everything(), Budget::unlimited(), change)
        };
        let decision = judged(&Policy::default(), case);
        assert_eq!(decision.tier, declared.max(RiskTier::R3));
        assert_eq!(decision.verdict, Verdict::NeedsApproval);
    }
}

/// AA-5: ordinary changes need no approval.
#[test]
fn ordinary_work_is_r2_and_automatically_run_files_are_r3() {
    for (name, tier) in [
        ("src/main.rs", RiskTier::R2),
        ("Cargo.toml", RiskTier::R2),
        ("package.json", RiskTier::R2),
        ("Dockerfile", RiskTier::R2),
        ("Makefile", RiskTier::R2),
        ("agent/temp/notes.md", RiskTier::R1),
        (".github/workflows/ci.yml", RiskTier::R3),
        (".GitHub/Workflows/ci.yml", RiskTier::R3),
        ("infra/main.tf", RiskTier::R3),
        ("etc/backup.timer", RiskTier::R3),
    ] {
        let decision = modified(&Policy::default(), name);
        assert_eq!(decision.tier, tier, "{name}: {:?}", gate_result(&decision, "tier"));
        let asks = decision.verdict == Verdict::NeedsApproval;
        assert_eq!(asks, tier.needs_approval(), "{name}");
    }
}

/// D-4: invalid content in a policy file is always rejected, with its position in the message.
#[test]
fn invalid_policy_file_is_rejected_with_its_position() {
    use PolicyFileError as E;
    assert_eq!(refused(""), E::NoVersion);
    assert_eq!(refused("[scope]\n"), E::NoVersion);
    assert_eq!(refused("version = 2\nanything = 1\n"), E::Newer { version: 2 });
    assert_eq!(refused("version = 0\n"), E::NoSuchVersion { version: 0 });
    assert_eq!(PolicyFile::read(b"\xff"), Err(E::NoText));
    for (text, place, what) in [
        ("version = 1\n[scpoe]\n", "line 2", "scpoe"),
        ("version = 1\n[protected]\nprofil = 1\n", "line 3", "profil"),
        ("version = 1\n[protected]\nprofile = \"lax\"\n", "line 3", "interactive"),
        ("version = 1\n[scope]\nallow = [\"{a,b}\"]\n", "line 3", "`{` is not supported"),
        ("version = 1\n[scope]\nallow = [\"../a\"]\n", "line 3", "`..`"),
        ("version = 1\n[budget]\nmax_files = -1\n", "line 3", "-1"),
        ("version = 1\n[credentials]\nallow = [\"abc\"]\n", "line 3", "digest"),
        ("version = 1\nversion = 1\n", "line 2", "already"),
        ("version = 1\n[[tier]]\ntier = \"R9\"\npaths = [\"a\"]\nwhy = \"b\"\n", "line 3", "R9"),
    ] {
        let E::Malformed(mistake) = refused(text) else { panic!("{text}") };
        let message = mistake.to_string();
        assert!(message.contains(place) && message.contains(what), "{text}\n{message}");
    }
    let tier =
        |rest: &str| refused(&format!("version = 1\n[[tier]]\ntier = \"R3\"\nwhy = \"w\"\n{rest}"));
    assert_eq!(tier("paths = []\n"), E::NoPaths { number: 1 });
    let why = |length: usize| {
        let why = "w".repeat(length);
        format!("version = 1\n[[tier]]\ntier = \"R3\"\npaths = [\"a\"]\nwhy = \"{why}\"\n")
    };
    assert!(PolicyFile::read(why(1000).as_bytes()).is_ok());
    assert_eq!(
        [0, 1001].map(|it| refused(&why(it))),
        [E::NoWhy { number: 1 }, E::NoWhy { number: 1 }]
    );
    let message = tier("paths = [\"deploy/\"]\nmatch = [\"deploy.yaml\"]\n").to_string();
    assert!(message.contains("does not match `deploy.yaml`"), "{message}");
    let message = tier("paths = [\"deploy*\"]\nnot_match = [\"deployment.md\"]\n").to_string();
    assert!(message.contains("matches `deployment.md`"), "{message}");
    let long = format!("version = 1\n#{}", "x".repeat(1 << 20));
    assert!(matches!(refused(&long), E::TooLong { .. }));
    let many = format!("version = 1\n[scope]\ndeny = [{}]\n", "\"a\",".repeat(10_001));
    assert_eq!(refused(&many), E::TooMany { kind: "scope.deny", rules: 10_001 });
    let budget = refused("version = 1\n[budget]\nmax_loc = 9007199254740992\n");
    assert_eq!(budget, E::Limit { limit: 1 << 53 });
}

/// AEC-11
#[test]
fn policy_round_trips() {
    let own = file(
        "[scope]\nallow = [\"src/\"]\n[[tier]]\ntier = \"R4\"\npaths = [\"a\"]\nwhy = \"w\"\n",
    );
    let (policy, _) = Policy::new(Some(own.clone()), Some((own, Trust::Trusted)));
    let bytes = policy.to_vec().unwrap();
    assert_eq!(Policy::read(&bytes), Ok(policy));
    let text = String::from_utf8(bytes).unwrap();
    for other in [
        text.replace("actum.policy/3", "actum.policy/4"),
        text.replace("{\"access\"", "{ \"access\""),
        text.replace("{\"access\"", "{\"a\":1,\"access\""),
        text.replace("\"access\":null,", ""),
        text.replace("\"R4\"", "\"R9\""),
    ] {
        assert_ne!(other, text);
        assert!(Policy::read(other.as_bytes()).is_err(), "{other}");
    }
}

/// Generates small policy files.
fn any_file() -> impl Strategy<Value = String> {
    let rule = || prop::sample::select(vec!["a", "a/", "a/b", "**/c", "*", "d?", "agent/temp/"]);
    let rules = move || prop::collection::vec(rule(), 0..3);
    let profile = prop::sample::select(vec!["critical", "interactive", "agent-executor"]);
    let tier = prop::sample::select(vec!["R2", "R3", "R4"]);
    (
        (profile, rules(), prop::option::of(rules()), rules()),
        (prop::option::of(0u64..4), prop::option::of(0u64..4)),
        prop::collection::vec((tier, rule()), 0..3),
    )
        .prop_map(|((profile, protected, allow, deny), (files, loc), tiers)| {
            let mut text = format!("[protected]\nprofile = {profile:?}\npaths = {protected:?}\n");
            text += &format!("[scope]\ndeny = {deny:?}\n");
            text += &allow.map_or(String::new(), |allow| format!("allow = {allow:?}\n"));
            text += "[budget]\n";
            text += &files.map_or(String::new(), |max| format!("max_files = {max}\n"));
            text += &loc.map_or(String::new(), |max| format!("max_loc = {max}\n"));
            for (tier, path) in tiers {
                text += &format!("[[tier]]\ntier = {tier:?}\npaths = [{path:?}]\nwhy = \"w\"\n");
            }
            text
        })
}

fn any_change() -> impl Strategy<Value = Vec<PathEffect>> {
    let name = prop::sample::select(vec![
        "a",
        "a/b",
        "c",
        "x/c",
        "d1",
        ".env",
        "README.md",
        "agent/temp/a",
        ".travis.yml",
        ".husky/a",
    ]);
    let kind =
        prop::sample::select(vec![EffectKind::Created, EffectKind::Modified, EffectKind::Deleted]);
    prop::collection::vec((name, kind).prop_map(|(name, kind)| touching(name, kind)), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// D-5: a policy that only tightens never allows more, regardless of its content, and the order of paths never matters.
    #[test]
    fn additional_layer_never_allows_more(
        operator in prop::option::of(any_file()),
        workspace in any_file(),
        mut change in any_change(),
    ) {
        let operator = operator.map(|text| file(&text));
        let (without, _) = Policy::new(operator.clone(), None);
        let (with, _) = Policy::new(operator, Some((file(&workspace), Trust::Untrusted)));
        let of = |change: Vec<PathEffect>| case(Scope::everything(), Budget::unlimited(), change);
        let (before, after) = (judged(&without, of(change.clone())), judged(&with, of(change.clone())));
        prop_assert!(after.verdict >= before.verdict);
        prop_assert!(after.tier >= before.tier);
        change.reverse();
        let turned = judged(&with, of(change));
        prop_assert_eq!((turned.verdict, turned.tier), (after.verdict, after.tier));
    }

    /// AEC-10: no change is allowed that a simple model of the rules would deny.
    #[test]
    fn policy_never_allows_more_than_a_simple_model(text in any_file(), change in any_change()) {
        let policy = Policy::new(Some(file(&text)), None).0;
        let decision = judged(&policy, case(Scope::everything(), Budget::unlimited(), change.clone()));
        let names: Vec<String> = change.iter().map(|effect| effect.path.to_string()).collect();
        let layer = &policy.layers()[0];
        let covers = |rules: &[actum_core::PathRule], name: &str| {
            rules.iter().any(|rule| rule.covers(&path(name).0))
        };
        let is_refused = names.iter().any(|name| {
            name == ".env"
                || covers(&layer.protected, name)
                || covers(&layer.scope.deny, name)
                || layer.scope.allow.as_ref().is_some_and(|allow| !covers(allow, name))
        }) || layer.budget.max_files.is_some_and(|max| names.len() as u64 > max)
            || layer.budget.max_loc.is_some_and(|max| names.len() as u64 > max);
        if is_refused {
            prop_assert_eq!(decision.verdict, Verdict::Deny);
        }
        let raised = layer.tiers.iter().filter(|rule| names.iter().any(|it| covers(&rule.paths, it)));
        if let Some(tier) = raised.map(|rule| rule.tier).max() {
            prop_assert!(decision.tier >= tier);
        }
    }
}
