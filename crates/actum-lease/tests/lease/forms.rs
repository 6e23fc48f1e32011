//! Blocks written by other programs: only the documented form is accepted.

use actum_core::{PathRule, Scope};
use actum_lease::{FormProblem, LeaseError, VerifiedLease};
use actum_record::lease::LeaseTerms;
use biscuit_auth::builder::{Check, CheckKind, Rule, Term, fact, pred, string, var};
use biscuit_auth::format::schema;
use biscuit_auth::{Algorithm, Biscuit, BiscuitBuilder, BlockBuilder, KeyPair};

use crate::fixture::{
    SECRET, accept, biscuit_key, bytes, encode, first_block, granted, hint, key, least, sign,
    sign_bytes, terms,
};
use prost::Message;

/// Verifies a lease to which a second block with this source was appended by the Biscuit library alone.
pub(crate) fn appended(source: &str) -> Result<VerifiedLease, LeaseError> {
    appended_block(BlockBuilder::new().code(source).unwrap())
}

fn appended_block(block: BlockBuilder) -> Result<VerifiedLease, LeaseError> {
    let biscuit = Biscuit::from(bytes(&granted(&least())), biscuit_key(SECRET).public()).unwrap();
    accept(&biscuit.append(block).unwrap().to_vec().unwrap())
}

/// FE-17
#[test]
fn block_written_by_another_program_is_read() {
    let source = r#"
        check if uses($n), $n <= 2;
        check if time($now), $now < 2030-01-01T00:00:00+01:00;
        check if scope_deny({"b", "a"});
        check all path($p), {"/a/b/"}.any($d -> $p.starts_with($d));
        check if agent("planner/copier") or agent($a), $a.starts_with("planner/copier/");
        check if quota("wall_ms", $ms), $ms <= 0
    "#;
    let expected = LeaseTerms {
        agent: Some("planner/copier".parse().unwrap()),
        base_directories: Some(["/a/b".parse().unwrap()].into()),
        expires: Some("2029-12-31T23:00:00.000000Z".parse().unwrap()),
        quotas: actum_record::lease::Quotas { wall_ms: Some(0), ..Default::default() },
        scope: Some(Scope {
            allow: None,
            deny: vec![PathRule::new("a").unwrap(), PathRule::new("b").unwrap()],
        }),
        uses: Some(2),
        ..LeaseTerms::default()
    };
    assert_eq!(appended(source).unwrap().blocks[1].terms, expected);
}

/// FE-17
#[test]
fn checks_in_an_undocumented_form_are_rejected() {
    let cases = [
        // Checks that are less restrictive or have a different meaning.
        r#"check if true"#,
        r#"check if tenant($t)"#,
        r#"check if tenant("default") or true"#,
        r#"check if tenant("default") or tenant("other")"#,
        r#"check if tenant("default"), task("t")"#,
        r#"check if tenant("default"), 1 < 2"#,
        r#"check if tenant("Not A Tenant")"#,
        r#"check if tenant(1)"#,
        r#"check if task("a b")"#,
        r#"check all tenant("default")"#,
        r#"reject if tenant("default")"#,
        r#"check if capability($c), {"FILE_COPY"}.contains($d)"#,
        r#"check if capability($c), !{"FILE_COPY"}.contains($c)"#,
        r#"check if capability($c), {"FILE_COPY"}.contains($c) || true"#,
        r#"check if capability($c), {"FILE_COPY"}.contains($c), $c != "SHELL""#,
        r#"check if capability($c), ["FILE_COPY"].contains($c)"#,
        r#"check if capability($c), {"SHELL"}.contains($c)"#,
        r#"check if capability($c), {1}.contains($c)"#,
        r#"check if capability("FILE_COPY")"#,
        r#"check if agent("planner")"#,
        r#"check if agent($a), $a.starts_with("planner/")"#,
        r#"check if agent("planner") or agent($a), $a.starts_with("planner")"#,
        r#"check if agent("planner") or agent($a), $a.starts_with("other/")"#,
        r#"check if agent("planner") or agent($a), $b.starts_with("planner/")"#,
        r#"check if agent("planner") or agent($a), $a.ends_with("planner/")"#,
        r#"check if agent("planner") or agent($a), $a.starts_with("planner/") or agent("x")"#,
        r#"check if path($p), {"/a/"}.any($b -> $p.starts_with($b))"#,
        r#"check all path($p), {"/a/"}.all($b -> $p.starts_with($b))"#,
        r#"check all path($p), {"/a"}.any($b -> $p.starts_with($b))"#,
        r#"check all path($p), {"/a/../b/"}.any($b -> $p.starts_with($b))"#,
        r#"check all path($p), {"a/"}.any($b -> $p.starts_with($b))"#,
        r#"check all path($p), {"/a/"}.any($b -> $b.starts_with($p))"#,
        r#"check all path($p), {"/a/"}.any($b -> $path.starts_with($b))"#,
        r#"check all path($p), {"/a/"}.any($p -> $p.starts_with($p))"#,
        r#"check all path($p), {"/a/"}.any($b -> $p.starts_with($b) || true)"#,
        r#"check all path($p), {"/a/"}.any($b -> ($p.starts_with($b)))"#,
        r#"check all path($p), $p.starts_with("/a/")"#,
        r#"check if time($t), $t <= 2030-01-01T00:00:00Z"#,
        r#"check if time($t), $t > 2030-01-01T00:00:00Z"#,
        r#"check if time($t), 2030-01-01T00:00:00Z < $t"#,
        r#"check if time($t), $u < 2030-01-01T00:00:00Z"#,
        r#"check if uses($n), $n < 3"#,
        r#"check if uses($n), $n <= -1"#,
        r#"check if uses($n), $n <= 9007199254740992"#,
        r#"check if uses($n), 3 <= $n"#,
        r#"check if uses($n), $m <= 3"#,
        r#"check if quota("cpu", $n), $n <= 3"#,
        r#"check if quota($q, $n), $n <= 3"#,
        r#"check if scope_allow({,})"#,
        r#"check if scope_allow("a")"#,
        r#"check if scope_allow({"../a"})"#,
        r#"check if scope_allow({"/a"})"#,
        r#"check if scope({"a"})"#,
        r#"check if scope({"a"}, {,})"#,
        r#"check if resource("a")"#,
        // Blocks that trust another block.
        r#"check if tenant("default") trusting previous"#,
        // Statements other than checks.
        r#"capability("SHELL");"#,
        r#"check if uses($n), $n <= 3; capability("SHELL");"#,
        r#"check if uses($n), $n <= 3; capability($c) <- capability($c);"#,
        "",
        // Duplicate checks.
        r#"check if tenant("default"); check if tenant("default");"#,
        r#"check if uses($n), $n <= 3; check if uses($n), $n <= 2;"#,
        r#"check if scope_allow({"a"}); check if scope_deny({"b"});"#,
    ];
    for source in cases {
        let error = appended(source).err().unwrap_or_else(|| panic!("{source}"));
        assert_eq!(error.reason(), "LEASE_FORM_UNKNOWN", "{source}");
        assert!(matches!(error, LeaseError::Form { block: 2, .. }), "{source}: {error}");
    }
}

/// FE-17
#[test]
fn block_with_a_trust_scope_is_rejected() {
    let scope = schema::Scope { content: Some(schema::scope::Content::ScopeType(1)) };
    let block = schema::Block { scope: vec![scope], ..first_block(&least()) };
    let expected = LeaseError::Form { block: 1, problem: FormProblem::Foreign { part: "a scope" } };
    assert_eq!(accept(&encode(&sign(&[block]))).unwrap_err(), expected);
    let key = schema::PublicKey { algorithm: 0, key: biscuit_key(SECRET).public().to_bytes() };
    let block = schema::Block { public_keys: vec![key], ..first_block(&least()) };
    let problem = FormProblem::Foreign { part: "public keys" };
    let error = accept(&encode(&sign(&[block]))).unwrap_err();
    assert_eq!(error, LeaseError::Form { block: 1, problem });
}

/// FE-17: the holder of a lease gains nothing by appending facts.
#[test]
fn appended_facts_are_rejected() {
    let block = BlockBuilder::new().fact(fact("capability", &[string("FILE_DELETE")])).unwrap();
    let expected = LeaseError::Form { block: 2, problem: FormProblem::Foreign { part: "facts" } };
    assert_eq!(appended_block(block).unwrap_err(), expected);
    let block = BlockBuilder::new().code("check if uses($n), $n <= 3").unwrap();
    let problem = FormProblem::Foreign { part: "a context" };
    let error = appended_block(block.context("hello".to_owned())).unwrap_err();
    assert_eq!(error, LeaseError::Form { block: 2, problem });
}

/// FE-17
#[test]
fn text_that_injects_a_second_check_is_rejected() {
    let texts = [
        "t\"); check if task(\"u",
        "t\");\ncheck if tenant(\"default",
        "t\\",
        "t\nu",
        "t\u{85}u",
        "\"",
    ];
    for text in texts {
        let head = pred("query", &[] as &[Term]);
        let check = |name: &str, terms: &[Term], kind| Check {
            queries: vec![Rule::new(head.clone(), vec![pred(name, terms)], vec![], vec![])],
            kind,
        };
        let checks = [
            check("task", &[string(text)], CheckKind::One),
            check("scope_allow", &[Term::Set([string(text)].into())], CheckKind::One),
            check("quota", &[string(text), var("n")], CheckKind::One),
        ];
        for check in checks {
            let error = appended_block(BlockBuilder::new().check(check).unwrap()).unwrap_err();
            assert_eq!(error.reason(), "LEASE_FORM_UNKNOWN", "{text:?}");
        }
    }
}

/// FE-17
#[test]
fn first_block_without_required_terms_is_rejected() {
    let whole = first_block(&least());
    assert!(accept(&encode(&sign(std::slice::from_ref(&whole)))).is_ok());
    let builder = BiscuitBuilder::new().root_key_id(hint(&key(SECRET)));
    let source = r#"check all path($p), {"/a/"}.any($b -> $p.starts_with($b))"#;
    let biscuit = builder.code(source).unwrap().build(&biscuit_key(SECRET)).unwrap();
    let error = accept(&biscuit.to_vec().unwrap()).unwrap_err();
    assert!(matches!(error, LeaseError::Form { block: 1, problem: FormProblem::Terms { .. } }));
}

/// FE-17: each text in a block must be used exactly once.
#[test]
fn unused_and_duplicate_symbols_are_rejected() {
    let block = first_block(&terms());
    let expected = LeaseError::Form { block: 1, problem: FormProblem::Symbols };
    for added in ["hidden".to_owned(), block.symbols[0].clone(), "read".to_owned()] {
        let mut changed = block.clone();
        changed.symbols.push(added);
        assert_eq!(accept(&encode(&sign(&[changed]))).unwrap_err(), expected);
    }
    // Biscuit compares texts by their index, so the second of two equal texts would never match.
    let mut changed = block.clone();
    let copy = changed.symbols.iter_mut().find(|symbol| *symbol == "FILE_MOVE").unwrap();
    *copy = "FILE_COPY".to_owned();
    assert_eq!(accept(&encode(&sign(&[changed]))).unwrap_err(), expected);
    let second = block.clone();
    let expected = LeaseError::Form { block: 2, problem: FormProblem::Symbols };
    assert_eq!(accept(&encode(&sign(&[block, second]))).unwrap_err(), expected);
}

/// FE-17
#[test]
fn unknown_fields_and_unusual_encodings_are_rejected() {
    let block = first_block(&least()).encode_to_vec();
    let unknown = [block.as_slice(), &[0x7a, 1, b'x']].concat();
    let expected = LeaseError::Form { block: 1, problem: FormProblem::Undecodable };
    assert_eq!(accept(&encode(&sign_bytes(&[unknown], 1))).unwrap_err(), expected);
    let token = encode(&sign_bytes(&[block], 1));
    assert!(accept(&token).is_ok());
    let unknown = [token.as_slice(), &[0x7a, 1, b'x']].concat();
    assert_eq!(accept(&unknown).unwrap_err(), LeaseError::NotBiscuit);
    let again = [token.as_slice(), token.as_slice()].concat();
    assert!(accept(&again).is_err());
}

/// FE-17: version 0 of the signed payload does not cover the previous block.
#[test]
fn other_signature_versions_are_rejected() {
    for given in [0, 2, 7] {
        let token = sign_bytes(&[first_block(&least()).encode_to_vec()], given);
        let expected =
            LeaseError::Form { block: 1, problem: FormProblem::SignatureVersion { given } };
        assert_eq!(accept(&encode(&token)).unwrap_err(), expected);
    }
}

/// FE-17
#[test]
fn other_signature_algorithms_are_rejected() {
    let biscuit = Biscuit::from(bytes(&granted(&least())), biscuit_key(SECRET).public()).unwrap();
    let block = BlockBuilder::new().code("check if uses($n), $n <= 3").unwrap();
    let next = KeyPair::new_with_algorithm(Algorithm::Secp256r1);
    let token = biscuit.append_with_keypair(&next, block).unwrap().to_vec().unwrap();
    let expected = LeaseError::Form { block: 2, problem: FormProblem::Algorithm };
    assert_eq!(accept(&token).unwrap_err(), expected);
}

/// FE-17
#[test]
fn third_party_blocks_are_rejected() {
    let biscuit = Biscuit::from(bytes(&granted(&least())), biscuit_key(SECRET).public()).unwrap();
    let third = KeyPair::new();
    let block = BlockBuilder::new().code("check if uses($n), $n <= 3").unwrap();
    let block = biscuit.third_party_request().unwrap().create_block(&third.private(), block);
    let token = biscuit.append_third_party(third.public(), block.unwrap()).unwrap();
    let problem = FormProblem::Foreign { part: "a third-party signature" };
    let error = accept(&token.to_vec().unwrap()).unwrap_err();
    assert_eq!(error, LeaseError::Form { block: 2, problem });
}
