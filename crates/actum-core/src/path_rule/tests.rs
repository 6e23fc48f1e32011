//! Tests of path rules with examples, and against a model that tries every possible match.

use proptest::prelude::*;

use super::*;

fn covers(rule: &str, path: &str) -> bool {
    PathRule::new(rule).unwrap().covers(&RelPath::new(path).unwrap())
}

/// FO-3: examples from the documentation of [`PathRule`].
#[test]
fn rule_matches_the_documented_examples() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("src", &["src", "src/a", "src/a/b"], &["srcs", "a/src", "Src"]),
        ("src/", &["src/a", "src/a/b"], &["src", "srcs/a"]),
        ("src/main.rs", &["src/main.rs"], &["src/main.rs.bak", "main.rs", "src"]),
        ("*.rs", &["a.rs", ".rs", "dir.rs/a"], &["src/a.rs", "a.rs.bak"]),
        ("src/*", &["src/a", "src/a/b"], &["src", "a/src/b"]),
        ("**/*.rs", &["a.rs", "src/a.rs", "a/b/c.rs"], &["a.c", "src/a.r"]),
        ("src/**/tests", &["src/tests", "src/a/b/tests/c"], &["tests", "src/a/test"]),
        ("src/**", &["src", "src/a", "src/a/b"], &["srcs"]),
        ("**", &["a", "a/b/c"], &[]),
        ("**/", &["a/b", "a/b/c"], &["a"]),
        ("**/.env", &[".env", "a/b/.env", ".env/a"], &[".env.local", "a.env"]),
        ("a?c", &["abc", "aéc"], &["ac", "abbc", "a/c"]),
        ("a*b*c", &["abc", "axxbyyc", "abcbc"], &["abcd", "acb"]),
        (r"app/\[id\]/*.tsx", &["app/[id]/page.tsx"], &["app/i/page.tsx"]),
        (r"\*", &["*"], &["a"]),
        (r"\!a", &["!a"], &["a"]),
    ];
    for (rule, yes, no) in cases {
        for path in *yes {
            assert!(covers(rule, path), "{rule} {path}");
        }
        for path in *no {
            assert!(!covers(rule, path), "{rule} {path}");
        }
    }
}

/// FO-3
#[test]
fn invalid_rules_and_syntax_of_other_dialects_are_refused() {
    use PathRuleProblem as P;
    for (rule, problem) in [
        ("", P::Empty),
        ("/a", P::Absolute),
        ("/", P::Absolute),
        ("a/../b", P::Parent),
        ("./a", P::NotPlain),
        ("a//b", P::NotPlain),
        ("a//", P::NotPlain),
        ("a\0", P::Nul),
        ("!a", P::OtherDialect(b'!')),
        ("a[bc]", P::OtherDialect(b'[')),
        ("{a,b}", P::OtherDialect(b'{')),
        ("a}", P::OtherDialect(b'}')),
        ("a**", P::StarsInName),
        ("***", P::StarsInName),
        ("a\\", P::LoneEscape),
    ] {
        assert_eq!(PathRule::new(rule).unwrap_err().problem, problem, "{rule:?}");
    }
    let error = PathRule::new("{a,b}").unwrap_err().to_string();
    assert_eq!(
        error,
        "the rule `{a,b}` cannot be used: `{` is not supported: write one rule per alternative; to \
         match it literally, write `\\{`"
    );
}

/// FO-3
#[test]
fn rule_components_and_name_length_are_limited_on_both_sides() {
    let names = |count| vec!["a"; count].join("/");
    assert!(PathRule::new(names(RULE_COMPONENTS_MAX)).is_ok());
    assert!(covers(&names(RULE_COMPONENTS_MAX), &names(RULE_COMPONENTS_MAX + 5)));
    let refused = PathRule::new(names(RULE_COMPONENTS_MAX + 1)).unwrap_err();
    assert_eq!(refused.problem, PathRuleProblem::TooLong);
    let long = "x".repeat(NAME_BYTES_MAX + 1);
    assert_eq!(PathRule::new(&long).unwrap_err().problem, PathRuleProblem::TooLong);
    assert!(PathRule::new(long.strip_suffix('x').unwrap()).is_ok());
}

/// FO-3
#[test]
fn rule_that_matches_everything_is_detected() {
    for rule in ["**", "*", "**/*", "*/**", "**/**"] {
        assert!(PathRule::new(rule).unwrap().covers_everything(), "{rule}");
        assert!(covers(rule, "a") && covers(rule, "a/b"), "{rule}");
    }
    for rule in ["**/", "*/*", "?", "a", "*.rs"] {
        assert!(!PathRule::new(rule).unwrap().covers_everything(), "{rule}");
    }
}

#[test]
fn path_rule_round_trips_through_json() {
    for (text, json) in
        [(&b"src/**/*.rs"[..], r#""src/**/*.rs""#), (b"a\xff/", r#"{"hex":"61ff2f"}"#)]
    {
        let rule = PathRule::new(text).unwrap();
        assert_eq!(serde_json::to_string(&rule).unwrap(), json);
        assert_eq!(serde_json::from_str::<PathRule>(json).unwrap(), rule);
    }
}

/// Reference implementation of matching, which tries every possibility.
fn model(rule: &[&str], path: &[&str]) -> bool {
    match rule.split_first() {
        None => true,
        Some((&"**", rest)) => {
            model(rest, path) || path.split_first().is_some_and(|(_, path)| model(rule, path))
        }
        Some((name, rest)) => path.split_first().is_some_and(|(first, path)| {
            like(name.as_bytes(), first.as_bytes()) && model(rest, path)
        }),
    }
}

fn like(rule: &[u8], name: &[u8]) -> bool {
    match rule.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|from| like(rest, &name[from..])),
        Some((b'?', rest)) => !name.is_empty() && like(rest, &name[1..]),
        Some((byte, rest)) => name.first() == Some(byte) && like(rest, &name[1..]),
    }
}

proptest! {
    /// FO-3
    #[test]
    fn rule_matching_agrees_with_an_exhaustive_model(
        rule in prop::collection::vec("\\*\\*|[ab?]{0,2}\\*?[ab]{1,2}|\\*", 1..5),
        path in prop::collection::vec("[ab]{1,4}", 1..6),
    ) {
        let names: Vec<&str> = rule.iter().map(String::as_str).collect();
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        // A rule of only `**` also matches an empty path in the model, but the generated paths are never empty.
        prop_assert_eq!(covers(&rule.join("/"), &path.join("/")), model(&names, &parts));
    }
}
