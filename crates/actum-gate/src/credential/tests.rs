//! Tests of the rule tables, and of properties that hold for all rules.
//!
//! Examples are built at run time from fragments and pseudorandom characters, so that secret scanners do not
//! report this file as a leak.

use std::collections::BTreeSet;
use std::ops::Range;

use actum_core::Digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::checksum::{with_bech32, with_crc32};
use super::effort::spent_by;
use super::rule::rules;
use super::search::literals;
use super::{DIGEST_TAG, FINDINGS_MAX, FileBefore, Finding, scan, scan_file, spans};

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BECH32: &str = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Returns `length` pseudorandom characters of `alphabet`. The result is the same on every call.
fn noise(alphabet: &str, length: usize) -> String {
    varied(alphabet, length, 7)
}

fn varied(alphabet: &str, length: usize, seed: u64) -> String {
    let alphabet = alphabet.as_bytes();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let characters = (0..length).map(|_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = usize::try_from(state >> 40).unwrap() % alphabet.len();
        char::from(alphabet[at])
    });
    characters.collect()
}

fn word(length: usize) -> String {
    noise(WORD, length)
}

fn pem(label: &str, body: &str, newline: &str) -> String {
    let lines: Vec<&str> =
        body.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    let lines = lines.join(newline);
    format!("-----{} {label}-----{newline}{lines}{newline}-----END {label}-----", "BEGIN")
}

/// Expands placeholders such as `{word 20}` in an example of the rule tables.
fn expanded(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    let mut seed = 40;
    while let Some((before, behind)) = rest.split_once('{') {
        text += before;
        let (inside, behind) = behind.split_once('}').unwrap_or((behind, ""));
        seed += 1;
        match piece_of_template(inside, seed) {
            Some(piece) => {
                text += &piece;
                rest = behind;
            }
            None => {
                text.push('{');
                rest = rest.split_once('{').map_or("", |(_, behind)| behind);
            }
        }
    }
    text + rest
}

fn piece_of_template(inside: &str, seed: u64) -> Option<String> {
    let (kind, parameter) = inside.split_once(' ').unwrap_or((inside, ""));
    let alphabet = match kind {
        "" if parameter.is_empty() => return Some(String::new()),
        // The digits are listed twice so that they are as frequent as in generated passwords.
        "word" => {
            concat!("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "01234567890123456789")
        }
        "hex" => HEX,
        "HEX" => "0123456789ABCDEF",
        "lower" => LOWER,
        "alpha" => LOWER.trim_end_matches(char::is_numeric),
        "digits" => "9481726350",
        "upper" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "base32" => UPPER,
        "crc" => return Some(with_crc32(&varied(WORD, parameter.parse().ok()?, seed))),
        "age" => return Some(with_bech32("age-secret-key-", &varied(BECH32, 52, seed))),
        "guid" => {
            let part = |length, more| varied(HEX, length, seed + more);
            let parts = [part(8, 0), part(4, 90), part(4, 180), part(4, 270), part(12, 360)];
            return Some(parts.join("-"));
        }
        "BEGIN" | "END" => return Some(format!("-----{kind} {parameter}-----")),
        "lines" => {
            let body = varied(WORD, parameter.parse().ok()?, seed);
            let lines = body.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap());
            return Some(lines.collect::<Vec<_>>().join("\n"));
        }
        "base64" => return Some(STANDARD.encode(parameter)),
        "base64word" => {
            return Some(STANDARD.encode(varied(WORD, parameter.parse().ok()?, seed)));
        }
        "userpass" => {
            let password = varied(WORD, parameter.parse().ok()?, seed);
            return Some(STANDARD.encode(format!("bot:{password}")));
        }
        "base64pem" => return Some(STANDARD.encode(pem(parameter, &word(400), "\n"))),
        "jwt" | "samplejwt" => {
            let header = STANDARD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
            let subject = if kind == "jwt" { "84620517" } else { "1234567890" };
            let claims = STANDARD.encode(format!(r#"{{"sub":"{subject}","iat":1716239022}}"#));
            let token = format!("{header}.{claims}.{}", varied(WORD, 43, seed));
            return Some(token.replace('=', ""));
        }
        _ => return None,
    };
    Some(varied(alphabet, parameter.parse().ok()?, seed))
}

/// Returns every example that a rule must find, with the id of the rule.
pub(super) fn examples() -> impl Iterator<Item = (&'static str, String)> {
    rules().flat_map(|rule| rule.matches.iter().map(|template| (rule.id, expanded(template))))
}

fn found(content: &str) -> Vec<String> {
    scan(None, content.as_bytes()).into_iter().map(|finding| finding.rule).collect()
}

/// EX-20: each example is found by its own rule and no other, both alone and between other lines. No rule
/// reports a near miss.
#[test]
fn every_rule_finds_its_examples_and_ignores_near_misses() {
    let mut wrong = Vec::new();
    for rule in rules() {
        assert!(!rule.matches.is_empty() && rule.misses.len() >= 2, "{}", rule.id);
        for content in rule.matches.iter().map(|template| expanded(template)) {
            for content in [content.clone(), format!("first\n{content}\nlast\n")] {
                if found(&content) != [rule.id] {
                    wrong.push(format!("{} finds {:?} in {content}", rule.id, found(&content)));
                }
            }
        }
        for content in rule.misses.iter().map(|template| expanded(template)) {
            if !found(&content).is_empty() {
                wrong.push(format!("{:?} found in {content}, near {}", found(&content), rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// EX-20: a comment in the content cannot allow a credential. Only the operator's policy can, by the digest.
#[test]
fn marker_in_the_content_cannot_allow_a_credential() {
    let secret = format!("AKIA{}", noise(UPPER, 16));
    let digest = Digest::tagged(DIGEST_TAG, &[secret.as_bytes()]);
    let content = format!("id = {secret} # actum:allow-credential {digest}\n");
    assert_eq!(found(&content), ["aws-access-key-id"]);
}

/// EX-20
#[test]
fn utf_16_text_is_scanned_with_spans_in_bytes() {
    let text = format!("erste Zeile\nid = AKIA{}\n", noise(UPPER, 16));
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = [&[0xff, 0xfe][..], &little].concat();
    for (content, start) in [(little, 34), (big, 34), (marked, 36)] {
        let findings = scan(None, &content);
        assert_eq!(findings, scan(None, text.as_bytes()));
        assert_eq!(spans(&content), vec![Range { start, end: start + 40 }]);
    }
}

/// EX-20
#[test]
fn zero_width_characters_do_not_hide_credentials() {
    let key = noise(UPPER, 16);
    let plain = format!("é\nid = AKIA{key}\n");
    for between in ["\u{200b}", "\u{200d}\u{2060}", "\u{feff}", "\u{ad}"] {
        let (first, last) = key.split_at(8);
        let split = format!("é\nid = AK{between}IA{first}{between}{last}\n");
        assert_eq!(scan(None, split.as_bytes()), scan(None, plain.as_bytes()));
        let span = Range { start: 8, end: 8 + 20 + 2 * between.len() };
        assert_eq!(spans(split.as_bytes()), vec![span], "{split}");
    }
    assert_eq!(scan(None, "\u{feff}’ — “no key”\u{200b}".as_bytes()), []);
}

/// EX-20
#[test]
fn new_credential_files_are_recognised_by_name() {
    let rules = |name: &str, before: Option<&[u8]>, content: &[u8]| -> Vec<String> {
        let before = before.map(|content| FileBefore { name: name.as_bytes(), content });
        let findings = scan_file(name.as_bytes(), before, content);
        findings.into_iter().map(|finding| finding.rule).collect()
    };
    assert_eq!(rules("id_rsa", None, b"anything"), ["key-file"]);
    assert_eq!(rules("Shop.P12", None, b"\x30\x82\x01\x02"), ["key-file"]);
    assert_eq!(rules("shop.p12", None, b"a text of that name"), [""; 0]);
    assert_eq!(rules("shop.jks", None, b"\xfe\xed\xfe\xed\0\0\0\x02"), ["key-file"]);
    assert_eq!(rules("shop.kdbx", None, b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5"), ["key-file"]);
    assert_eq!(rules("shop.jks", None, b"a text of that name"), [""; 0]);
    assert_eq!(rules("id_rsa.pub", None, b"anything"), [""; 0]);
    assert_eq!(rules("id_rsa", Some(b"it was there"), b"anything"), [""; 0]);
    assert_eq!(rules("shop.jks", Some(b"xx"), b"\xfe\xed\xfe\xed\0"), ["key-file"]);
    let moved = |name: &str, content: &[u8]| {
        let before = FileBefore { name: b"n", content };
        scan_file(name.as_bytes(), Some(before), content).len()
    };
    assert_eq!((moved("id_ed25519", b"a key"), moved("n2", b"a key")), (1, 0));
    let entry = format!("db.shop.io:5432:*:app:{}\n", word(16));
    assert_eq!(rules(".pgpass", None, entry.as_bytes()), ["pgpass-password"]);
    assert_eq!(rules(".pgpass", Some(entry.as_bytes()), entry.as_bytes()), [""; 0]);
    assert_eq!(rules("a.txt", None, entry.as_bytes()), [""; 0]);
    assert_eq!(rules(".pgpass", None, b"#host:5432:*:app:pass\nh:1:d:u:secret\n"), [""; 0]);
}

/// EX-20: if two rules find the same value, only the rule that identifies the service reports it.
#[test]
fn specific_rule_takes_precedence_over_a_generic_one() {
    for (value, rule) in [
        (format!("ghp_{}", with_crc32(&word(30))), "github-token"),
        (format!("gsk_{}", word(52)), "groq-api-key"),
        (format!("AIza{}", word(35)), "google-api-key"),
    ] {
        assert_eq!(found(&format!("API_KEY={value}\n")), [rule]);
        assert_eq!(found(&format!("token: '{value}'\n")), [rule]);
    }
}

/// EX-20
#[test]
fn only_new_credentials_are_found_regardless_of_position() {
    let key = format!("AKIA{}", noise(UPPER, 16));
    let other = format!("AKIA{}", varied(UPPER, 16, 3));
    let before = format!("a\nb\nid = {key}\n");
    let after = format!("moved: {key}\n\nnew: {other}\nagain: {other}\n");
    let digest = Digest::tagged(DIGEST_TAG, &[other.as_bytes()]);
    let finding = Finding { line: 3, rule: "aws-access-key-id".to_owned(), digest };
    assert_eq!(scan(Some(before.as_bytes()), after.as_bytes()), [finding]);
    assert_eq!(scan(None, after.as_bytes()).len(), 2);
    assert_eq!(scan(Some(after.as_bytes()), before.as_bytes()), []);
}

/// EX-20: a private key stays the same secret if it is reindented or moved into a string literal.
#[test]
fn rewrapped_private_key_is_the_same_secret() {
    let label = ["PRIVATE", " KEY"].concat();
    let key = |newline: &str| pem(&label, &word(400), newline);
    assert_eq!(scan(Some(key("\n").as_bytes()), key("\\n").as_bytes()), []);
    assert_eq!(scan(Some(key("\r\n").as_bytes()), key("\n    ").as_bytes()), []);
}

/// EX-20
#[test]
fn finding_does_not_reveal_the_secret() {
    for (_, content) in examples() {
        for finding in scan(None, content.as_bytes()) {
            let reported = format!("{finding:?} {}", serde_json::to_string(&finding).unwrap());
            let reported = reported.replace(&finding.rule, "");
            let parts = content.as_bytes().windows(12);
            let mut leaked =
                parts.filter(|part| reported.as_bytes().windows(12).any(|w| w == *part));
            assert_eq!(leaked.next(), None, "{reported}");
        }
    }
}

/// EX-20
#[test]
fn finding_round_trips_and_rejects_unknown_fields() {
    let content = format!("AKIA{}", noise(UPPER, 16));
    let finding = scan(None, content.as_bytes()).remove(0);
    let json = serde_json::to_string(&finding).unwrap();
    assert_eq!(serde_json::from_str::<Finding>(&json).unwrap(), finding);
    let more = json.replacen('{', "{\"secret\":\"\",", 1);
    assert!(serde_json::from_str::<Finding>(&more).is_err());
}

/// EX-20
#[test]
fn findings_are_sorted_by_line_and_rule() {
    let (npm, aws) = (format!("npm_{}", word(36)), format!("AKIA{}", noise(UPPER, 16)));
    let age = format!("AKIA{}", varied(UPPER, 16, 3));
    let content = format!("{age}\n\n{npm} {aws}\n");
    let findings = scan(None, content.as_bytes());
    let reported: Vec<_> = findings.iter().map(|one| (one.line, one.rule.as_str())).collect();
    let aws = "aws-access-key-id";
    assert_eq!(reported, [(1, aws), (3, aws), (3, "npm-token")]);
}

/// EX-20: the scan accepts arbitrary bytes.
#[test]
fn binary_content_and_string_literals_are_scanned() {
    let key = format!("AKIA{}", noise(UPPER, 16));
    let content = [b"\0\xff\n\x80", key.as_bytes(), b"\0\xff"].concat();
    assert_eq!(scan(None, &content).first().map(|finding| finding.line), Some(2));
    for around in [format!("\"a\\n{key}\\n\""), format!("?id%3D{key}%26b"), format!("({key})")] {
        assert_eq!(found(&around), ["aws-access-key-id"], "{around}");
    }
}

fn keys(count: u64) -> String {
    (0..count).map(|seed| format!("AKIA{}\n", varied(UPPER, 16, seed + 100))).collect()
}

/// EX-20: at most 100 findings are reported. Secrets that existed before the change do not use up this limit.
#[test]
fn at_most_100_findings_are_reported() {
    let all = keys(301);
    let lines = |at: usize| all.lines().take(at).collect::<Vec<_>>().join("\n");
    assert_eq!(scan(None, lines(99).as_bytes()).len(), 99);
    assert_eq!(scan(None, lines(100).as_bytes()).len(), FINDINGS_MAX);
    assert_eq!(scan(None, lines(101).as_bytes()).len(), FINDINGS_MAX);
    let new = scan(Some(lines(290).as_bytes()), all.as_bytes());
    assert!(new.iter().map(|one| one.line).eq(291..=301), "{new:?}");
}

/// EX-20: every rule has a unique id and a description that is a sentence.
#[test]
fn every_rule_has_a_unique_id_and_a_description() {
    let ids: BTreeSet<_> = super::rules().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), super::rules().count());
    assert!(super::rules().all(|rule| rule.finds.ends_with('.') && rule.finds.len() > 10));
}

/// EX-20: the scan examines each byte only a few times, even if the content is crafted to be examined
/// repeatedly. Twice as much content costs at most twice as much.
#[test]
fn scan_effort_is_linear_for_hostile_content() {
    let begin = pem(&["PRIVATE", " KEY"].concat(), "", "\n");
    let begin = begin.lines().next().unwrap();
    let lines = format!("{begin}\nabc: def\n");
    let body = format!("{begin}\n{}", word(40));
    let escaped = format!("{begin}\\n\\\\");
    let keys = [begin.to_owned(), lines, body, escaped, "\\nsk-ant-".to_owned()];
    let literals = literals().flat_map(|(literal, _)| {
        let endings = ["", "a:", "123456789-", "=="];
        let mut units: Vec<_> =
            endings.iter().map(|ending| format!(" {literal}{ending}")).collect();
        units.push(literal.to_owned());
        units.push(format!("{literal}="));
        units.push(format!("{literal}=\"'"));
        units.push(format!(" {literal}{}", word(25)));
        units
    });
    let keys = keys.into_iter().map(|unit| (unit, 50_000, 70_000));
    // Only private keys can be longer than a few thousand bytes.
    let literals = literals.map(|unit| (unit, 5_000, 10_000));
    for (unit, bytes, longest) in keys.chain(literals) {
        let spent = |bytes: usize| {
            let content = unit.repeat(bytes / unit.len());
            let spent = spent_by(|| scan(None, content.as_bytes()));
            assert!(spent <= bytes * 8, "{unit}: {spent} for {bytes}");
            spent
        };
        let (once, twice) = (spent(bytes), spent(bytes * 2));
        assert!(twice <= once * 2 + longest, "{unit}: {once}, then {twice}");
    }
}

/// A database URL without a user name does not cause a panic.
#[test]
fn database_url_without_a_user_does_not_panic() {
    for url in
        ["postgres://:@db.corp/x", "postgres://:k3v9QzT1x@db.corp/x", "postgres://@db.corp/x"]
    {
        drop(scan(None, url.as_bytes()));
    }
}

proptest! {
    /// EX-20: the findings in arbitrary bytes are sorted, and none of them is new if the content was there
    /// before.
    #[test]
    fn findings_are_sorted_and_unchanged_content_has_none(pieces in proptest::collection::vec(piece(), 0..40)) {
        let content: Vec<u8> = pieces.concat();
        let findings = scan(None, &content);
        prop_assert!(findings.is_sorted());
        prop_assert_eq!(scan(Some(&content), &content), vec![]);
    }
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let literal = (0..literals().count()).prop_map(|at| {
        literals().nth(at).map(|(literal, _)| literal.as_bytes().to_vec()).unwrap_or_default()
    });
    let run = (1_usize..120, any::<u64>())
        .prop_map(|(length, seed)| varied(WORD, length, seed).into_bytes());
    let other = proptest::collection::vec(any::<u8>(), 0..8);
    let mark = "[-_.:@/=\"\\\\\n ]{1,6}".prop_map(String::into_bytes);
    prop_oneof![literal, run, other, mark]
}
