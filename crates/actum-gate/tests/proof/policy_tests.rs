//! Policy tests: checks of an operator's expectations.

use actum_core::{Digest, RiskTier};
use actum_gate::ground::AccessGround;
use actum_gate::policy::{Policy, PolicyFile, PolicyTest, PolicyTestError};
use actum_gate::{
    AccessDecision, AccessJudge, AccessText, AccessUnknown, Bundle, Case, GateName, NoAccess,
    Verdict,
};

fn policy(text: &str) -> Policy {
    Policy::new(Some(PolicyFile::read(format!("version = 1\n{text}").as_bytes()).unwrap()), None).0
}

/// Returns a case whose requester is unknown.
fn unknown_requester() -> Case {
    Case::new(Vec::new())
}

/// Returns whether each case of the text is satisfied.
fn held(text: &str, policy: &Policy) -> Vec<bool> {
    let test = PolicyTest::read(text.as_bytes()).unwrap();
    let digest = Digest::of(b"");
    test.cases()
        .iter()
        .map(|case| case.holds(&case.decide(&unknown_requester(), policy, digest, &NoAccess)))
        .collect()
}

fn refused(text: &str) -> String {
    PolicyTest::read(text.as_bytes()).unwrap_err().to_string()
}

/// D-5, AA-5, EX-4
#[test]
fn case_passes_if_the_gates_match_the_expectation() {
    let policy = policy(
        "[scope]\ndeny = ['vendor/']\n[budget]\nmax_loc = 10\n[protected]\nprofile = 'agent-executor'\n\
         [[tier]]\ntier = 'R3'\npaths = ['db/']\neffects = ['deleted']\nwhy = 'w'\n",
    );
    let cases = [
        ("change = ['modified src/a.rs']\nexpect = 'allow'\ntier = 'R2'", true),
        ("change = ['modified src/a.rs']\nexpect = 'ask'", false),
        ("change = ['modified src/a.rs']\nexpect = 'allow'\ntier = 'R1'", false),
        ("change = ['modified db/1.sql']\nexpect = 'allow'", true),
        ("change = ['deleted db/1.sql']\nexpect = 'ask'\ntier = 'R3'\ngate = 'tier'", true),
        ("change = ['created x', 'deleted db/1.sql']\nexpect = 'ask'", true),
        ("change = ['modified a b.rs']\ndeclared = 'R4'\nexpect = 'ask'\ntier = 'R4'", true),
        ("change = ['modified README.md']\nexpect = 'deny'\ngate = 'protected'", true),
        ("change = ['modified README.md']\nexpect = 'deny'\ngate = 'scope'", false),
        ("change = ['renamed vendor/a -> src/a']\nexpect = 'deny'\ngate = 'scope'", true),
        ("change = ['mode .ENV', 'modified vendor/a']\nexpect = 'deny'\ngate = 'protected'", true),
        ("change = [{ path = 'a', effect = 'renamed', from = 'b -> c' }]\nexpect = 'allow'", true),
        (
            "change = [{ path = 'a', effect = 'modified', added = 11 }]\nexpect = 'deny'\ngate = 'budget'",
            true,
        ),
        ("change = [{ path = 'a', effect = 'modified', removed = 10 }]\nexpect = 'allow'", true),
    ];
    let text: String =
        cases.iter().map(|(case, _)| format!("[[case]]\nname = 'n'\n{case}\n")).collect();
    assert_eq!(held(&text, &policy), cases.map(|(_, holds)| holds));
}

/// AA-5, AEC-10: a case can expect that a command is allowed, needs approval or is denied, with or without a change.
#[test]
fn a_case_can_be_a_command() {
    let policy = policy(
        "[[command]]\nargv = ['cargo', 'test']\ndecision = 'allow'\nmatch = ['cargo test']\n\
         [[command]]\nargv = ['cargo', 'test', '--release']\ndecision = 'ask'\n",
    );
    let cases = [
        ("command = 'cargo test -q'\nexpect = 'allow'\ntier = 'R0'", true),
        ("command = 'cargo test --release'\nexpect = 'ask'\ngate = 'commands'", true),
        ("command = 'cargo build'\nexpect = 'deny'\ngate = 'commands'", true),
        ("command = 'cargo build'\nexpect = 'allow'", false),
        (
            "command = 'cargo test'\nchange = ['modified .env']\nexpect = 'deny'\ngate = 'protected'",
            true,
        ),
    ];
    let text: String =
        cases.iter().map(|(case, _)| format!("[[case]]\nname = 'n'\n{case}\n")).collect();
    assert_eq!(held(&text, &policy), cases.map(|(_, holds)| holds));
    let test = PolicyTest::read(b"[[case]]\nname = 'n'\ncommand = 'cargo test'\nexpect = 'deny'\n")
        .unwrap();
    let decision =
        test.cases()[0].decide(&Case::new(Vec::new()), &policy, Digest::of(b""), &NoAccess);
    assert_eq!(test.cases()[0].explaining_gate(&decision).unwrap().gate, GateName::Commands);
    assert_eq!(
        refused("[[case]]\nname = 'n'\ncommand = 'cargo test; ls'\nexpect = 'deny'\n"),
        "line 3: `case.command` cannot be used: the command is run without a shell, but the `;` at \
         character 11 would need one; quote it to pass it literally"
    );
}

/// AEC-6: a case can expect a decision of the access policies about an agent.
#[test]
fn case_can_specify_the_requesting_agent() {
    /// Judge that allows users and denies agents.
    struct NoAgents;
    impl AccessJudge for NoAgents {
        fn judge(
            &self,
            _: &[AccessText],
            bundle: &Bundle,
            _: RiskTier,
        ) -> Result<AccessDecision, AccessUnknown> {
            let verdict =
                if bundle.actor().agent.is_some() { Verdict::Deny } else { Verdict::Allow };
            let grounds = vec![AccessGround::NotPermitted];
            Ok(AccessDecision { verdict, approvals: None, grounds, more: 0 })
        }
    }
    let text = "[[case]]\nname = 'n'\nchange = ['modified a']\nexpect = 'allow'\n\
                [[case]]\nname = 'n'\nchange = ['modified a']\nexpect = 'deny'\nagent = 'it'\n\
                gate = 'access'\n";
    let file = AccessText { name: "a.cedar".to_owned(), text: String::new() };
    let policy = Policy::default().with_access(vec![file]);
    for case in PolicyTest::read(text.as_bytes()).unwrap().cases() {
        let decision = case.decide(&unknown_requester(), &policy, Digest::of(b""), &NoAgents);
        assert!(case.holds(&decision), "{decision:?}");
    }
}

/// AEC-10: a failed case is reported with the ground of the gate that decided.
#[test]
fn failed_case_reports_the_deciding_or_expected_gate() {
    let test = "[[case]]\nname = 'one'\nchange = ['modified .env']\nexpect = 'allow'\n\
                [[case]]\nname = 'two'\nchange = ['modified a']\nexpect = 'deny'\ngate = 'scope'\n\
                [[case]]\nname = 'three'\nchange = ['modified a']\nexpect = 'ask'\n";
    let test = PolicyTest::read(test.as_bytes()).unwrap();
    let reported = test.cases().iter().map(|case| {
        let decision =
            case.decide(&unknown_requester(), &Policy::default(), Digest::of(b""), &NoAccess);
        let gate = case.explaining_gate(&decision).unwrap();
        (case.line, decision.verdict, decision.tier, gate.gate.as_str())
    });
    let expected = [
        (1, Verdict::Deny, RiskTier::R2, "protected"),
        (5, Verdict::Allow, RiskTier::R2, "scope"),
        (10, Verdict::Allow, RiskTier::R2, "tier"),
    ];
    assert_eq!(reported.collect::<Vec<_>>(), expected);
}

/// D-4: the error for an invalid file contains its line.
#[test]
fn invalid_case_file_is_rejected_with_its_line() {
    for text in ["", "# nothing\n", "case = []\n"] {
        assert_eq!(
            refused(text),
            "the file has no `[[case]]`, so the test could never fail",
            "{text}"
        );
    }
    let case = |rest: &str| refused(&format!("[[case]]\nname = 'n'\n{rest}\n"));
    let change = |change: &str| case(&format!("change = {change}\nexpect = 'allow'"));
    for (message, expected) in [
        (refused("[case]\n"), "line 1: `case` must be a list of tables (`[[case]]`)"),
        (refused("version = 1\n"), "line 1: unknown key `version`; the only valid key is `case`"),
        (
            refused("[[case]]\nname = ''\n"),
            "line 2: `case.name` must be a string of 1 to 200 bytes, but is",
        ),
        (
            case("expects = 'ask'"),
            "line 3: unknown key `case.expects` (did you mean `expect`?); valid keys are `name`, `agent`, `change`",
        ),
        (case("change = ['mode a']"), "line 1: `case` has no `expect`"),
        (case("expect = 'ask'"), "line 1: `case` has no `change`"),
        (
            case("change = ['mode a']\nexpect = 'denied'"),
            "line 4: `case.expect` must be `allow`, `ask` or `deny`, but is `denied`",
        ),
        (
            case("change = ['mode a']\nexpect = 'deny'\ngate = 'paths'"),
            "line 5: `case.gate` must be `protected`, `scope`, `budget`, `commands`, `tier`",
        ),
        (
            case("change = ['mode a']\nexpect = 'allow'\ngate = 'tier'"),
            "line 5: `case.gate` cannot be used: no gate refuses the change if `expect` is `allow`",
        ),
        (change("[]"), "line 3: `case.change` cannot be used: it is empty"),
        (
            change("['mode a', 'deleted a']"),
            "line 3: `case.change` cannot be used: it lists a path more than once",
        ),
        (
            change("['mode a', 'renamed a -> b']"),
            "line 3: `case.change` cannot be used: it lists a path",
        ),
        (
            change("['src/a.rs']"),
            "line 3: item 1 of `case.change` cannot be used: expected `created`, `modified`",
        ),
        (
            change("['created']"),
            "line 3: item 1 of `case.change` cannot be used: expected `created`, `modified`",
        ),
        (
            change("['renamed a']"),
            "line 3: item 1 of `case.change` cannot be used: expected `renamed OLD -> NEW`",
        ),
        (
            change("['created ../a']"),
            "line 3: item 1 of `case.change` cannot be used: the path `../a`",
        ),
        (change("[{ path = 'a' }]"), "line 3: `case.change` has no `effect`"),
        (change("[{ path = 'a', effect = 'renamed' }]"), "line 3: `case.change` has no `from`"),
        (
            change("[{ path = 'a', effect = 'mode', from = 'b' }]"),
            "line 3: `case.change.from` cannot be used: `from` is only valid if `effect` is `renamed`",
        ),
    ] {
        assert!(message.starts_with(expected), "{expected}\n{message}");
    }
}

/// D-4
#[test]
fn cases_and_bytes_of_a_case_file_are_limited() {
    let cases =
        |number: usize| "[[case]]\nname='n'\nchange=['mode a']\nexpect='allow'\n".repeat(number);
    assert!(PolicyTest::read(cases(10_000).as_bytes()).is_ok());
    assert_eq!(
        PolicyTest::read(cases(10_001).as_bytes()),
        Err(PolicyTestError::TooMany { cases: 10_001 })
    );
    let filled = |bytes: usize| {
        let case = cases(1);
        format!("{case}#{}", "x".repeat(bytes - case.len() - 1))
    };
    assert!(PolicyTest::read(filled(1 << 20).as_bytes()).is_ok());
    assert_eq!(PolicyTest::read(filled((1 << 20) + 1).as_bytes()), Err(PolicyTestError::TooLong));
    assert_eq!(PolicyTest::read(b"\xff"), Err(PolicyTestError::NoText));
    let name =
        |length: usize| cases(1).replace("name='n'", &format!("name='{}'", "n".repeat(length)));
    assert!(PolicyTest::read(name(200).as_bytes()).is_ok());
    assert!(PolicyTest::read(name(201).as_bytes()).is_err());
}
