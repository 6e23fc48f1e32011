//! Every rule with what it finds and what it must not. No example stands here as it is: each is made
//! of pieces and of characters that only look like chance, so that no scanner takes this file for a
//! leak.

use std::collections::BTreeSet;

use actum_core::Digest;
use proptest::prelude::*;

use super::checksum::{with_bech32, with_crc32};
use super::effort::spent_by;
use super::rule::RULES;
use super::search::literals;
use super::{DIGEST_TAG, FINDINGS_MAX, Finding, scan};

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BECH32: &str = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// So many characters of an alphabet that look like chance and are the same each time.
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

fn hex(length: usize) -> String {
    noise(HEX, length)
}

fn digits(length: usize) -> String {
    noise("9481726350", length)
}

/// Contents in which a rule finds something, and contents that nearly have its shape.
struct Examples {
    rule: &'static str,
    found: Vec<String>,
    missed: Vec<String>,
}

/// Two contents with each text: in quotes, and assigned at the end of the content.
fn of(rule: &'static str, found: &[String], missed: &[String]) -> Examples {
    let quoted = found.iter().map(|text| format!("first\ntoken: \"{text}\",\n"));
    let bare = found.iter().map(|text| format!("key = {text}"));
    let found = quoted.chain(bare).collect();
    Examples { rule, found, missed: missed.to_vec() }
}

fn pem(label: &str, body: &str, newline: &str) -> String {
    let lines: Vec<&str> =
        body.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    let lines = lines.join(newline);
    format!("-----{} {label}-----{newline}{lines}{newline}-----END {label}-----", "BEGIN")
}

fn examples() -> Vec<Examples> {
    let age = with_bech32("age-secret-key-", &noise(BECH32, 52));
    let age_key = |data: &str| format!("AGE-SECRET-{}{data}", "KEY-1");
    let marker = ["T3Blb", "kFJ"].concat();
    let url = |scheme: &str, rest: &str| format!("{scheme}{}{rest}", "://");
    let private = ["PRIVATE", " KEY"].concat();
    vec![
        of(
            "age-secret-key",
            &[age_key(&age), age_key(&with_bech32("age-secret-key-", &varied(BECH32, 52, 3)))],
            &[
                age_key(&age.replacen('Q', "P", 1)),
                age_key(&age.chars().skip(1).collect::<String>()),
                age_key(&"Q".repeat(58)),
            ],
        ),
        of(
            "anthropic-api-key",
            &[
                format!("sk-ant-{}-{}AA", "api03", word(93)),
                format!("sk-ant-{}-{}AA", "oat01", word(93)),
            ],
            &[
                format!("sk-ant-{}-{}Aa", "api03", word(93)),
                format!("sk-ant-{}-{}AA", "api03", word(20)),
            ],
        ),
        of(
            "aws-access-key-id",
            &[format!("AKIA{}", noise(UPPER, 16)), format!("ASIA{}", varied(UPPER, 16, 3))],
            &[
                format!("AKIA{}", "IOSFODNN7EXAMPLE"),
                format!("AKIA{}", noise(UPPER, 17)),
                format!("AKIA{}", noise(UPPER, 15)),
                format!("XAKIA{}", noise(UPPER, 16)),
                format!("AKIA{}1", noise(UPPER, 15)),
                format!("AKIA{}", "A".repeat(16)),
                format!("AKIA{}", "ABCDEFGHIJKLMNOP"),
            ],
        ),
        of(
            "aws-secret-access-key",
            &[
                format!("aws_secret_access_key = {}", word(40)),
                format!("\"SecretAccessKey\": \"{}\"", word(40)),
                format!("export AWS_SECRET_ACCESS_KEY='{}'", word(40)),
            ],
            &[
                format!("aws_secret_access_key = {}", word(41)),
                format!("aws_secret_access_key = {}", hex(40)),
                format!("aws_secret_access_key {}", word(40)),
                format!("secret = {}", word(40)),
                format!(
                    "aws_secret_access_key = {}{}",
                    "wJalrXUtnFEMI/K7MDENG/", "bPxRfiCYEXAMPLEKEY"
                ),
            ],
        ),
        of(
            "azure-account-key",
            &[format!("AccountKey={}==", word(86)), format!("AccountKey={}+/==", word(84))],
            &[
                format!("AccountKey={}=", word(86)),
                format!("AccountKey={}==", word(85)),
                format!("AccountKey={}{}==", "Eby8vdM02xNOcqFl", word(70)),
            ],
        ),
        of(
            "crates-io-token",
            &[format!("cio{}", word(32)), format!("cio{}", varied(WORD, 32, 3))],
            &[format!("cio{}", word(31)), format!("precio{}", word(32)), format!("cio{}", hex(32))],
        ),
        of(
            "database-url-password",
            &[
                url("postgres", &format!("app:{}@db.shop.io:5432/shop", word(16))),
                url("mongodb+srv", &format!("app:{}%21@cluster0.shop.io/", word(12))),
                url("postgresql+asyncpg", &format!("app:{}@10.0.0.7/shop", word(16))),
            ],
            &[
                url("postgres", "user:password@localhost/db"),
                url("postgres", &format!("app:{}@localhost/db", word(16))),
                url("postgres", &format!("app:{}@db/db", word(16))),
                url("postgres", &format!("app:{}@db.example.com/db", word(16))),
                url("postgres", "app:${PASSWORD}@db.shop.io/db"),
                url("postgres", "app:<password>@db.shop.io/db"),
                url("postgres", "app:{password}@db.shop.io/db"),
                url("postgres", "app:changeme@db.shop.io/db"),
                url("postgres", "app:xxxxxxxxxxxx@db.shop.io/db"),
                url("postgres", "app:************@db.shop.io/db"),
                url("postgres", "app:%DB_SHOP_KEYWORD%@db.shop.io/db"),
                url("postgres", &format!("app@{}:5432", word(16))),
            ],
        ),
        of(
            "digitalocean-token",
            &[format!("dop_v1_{}", hex(64)), format!("dor_v1_{}", hex(64))],
            &[format!("dop_v1_{}", hex(63)), format!("dop_v1_{}", hex(64).to_uppercase())],
        ),
        of(
            "docker-access-token",
            &[format!("dckr_pat_{}", word(27)), format!("dckr_oat_{}", word(32))],
            &[
                format!("dckr_pat_{}", word(26)),
                format!("dckr_pat_{}", "your-token-goes-right-here1"),
            ],
        ),
        of(
            "github-fine-grained-token",
            &[
                format!("github_pat_{}_{}", word(22), varied(WORD, 59, 3)),
                format!("github_pat_{}_{}", varied(WORD, 22, 5), word(59)),
            ],
            &[
                format!("github_pat_{}_{}", word(22), word(58)),
                format!("github_pat_{}_{}", "x".repeat(22), "x".repeat(59)),
            ],
        ),
        of(
            "github-token",
            &[
                format!("ghp_{}", with_crc32(&word(30))),
                format!("ghr_{}", with_crc32(&word(70))),
                format!("ghs_{}_eyJ{}.eyJ{}.{}", digits(7), word(30), word(200), word(64)),
            ],
            &[
                format!("ghp_{}", word(36)),
                format!("ghp_{}", with_crc32(&word(29))),
                format!("xghp_{}", with_crc32(&word(30))),
                format!("ghs_{}_eyJ{}.{}", digits(7), word(30), word(64)),
                format!("gho_{}", "16C7e42F292c6912E7710c838347Ae178B4a"),
            ],
        ),
        of(
            "gitlab-token",
            &[
                format!("glpat-{}", word(20)),
                format!("glptt-{}", hex(40)),
                format!("glpat-{}.{}.{}", word(40), noise(LOWER, 2), noise(LOWER, 9)),
            ],
            &[format!("glpat-{}", word(21)), format!("glpat-{}", "x".repeat(20))],
        ),
        of(
            "google-api-key",
            &[format!("AIza{}", word(35)), format!("AIza{}-_{}", word(20), word(13))],
            &[format!("AIza{}", word(34)), format!("AIza{}", word(36))],
        ),
        of(
            "google-oauth-client-secret",
            &[format!("GOCSPX-{}", word(28)), format!("GOCSPX-{}-_", word(26))],
            &[format!("GOCSPX-{}", word(27)), format!("GOCSPX-{}", "your-client-secret-goes-here")],
        ),
        of(
            "grafana-service-account-token",
            &[
                format!("glsa_{}_{}", word(32), hex(8)),
                format!("glsa_{}_{}", varied(WORD, 32, 3), hex(8)),
            ],
            &[format!("glsa_{}_{}", word(32), hex(7)), format!("glsa_{}", word(32))],
        ),
        of(
            "hugging-face-token",
            &[format!("hf_{}", word(34)), format!("hf_{}", varied(WORD, 34, 3))],
            &[
                format!("hf_{}", word(33)),
                format!("hf_{}", noise(LOWER.trim_end_matches(char::is_numeric), 34)),
            ],
        ),
        of(
            "npm-token",
            &[format!("npm_{}", word(36)), format!("npm_{}", varied(WORD, 36, 3))],
            &[
                format!("npm_{}", word(35)),
                format!("npm_{}", hex(36)),
                format!("npm_{}_", word(36)),
            ],
        ),
        of(
            "openai-api-key",
            &[
                format!("sk-{}{marker}{}", word(20), varied(WORD, 20, 3)),
                format!("sk-proj-{}{marker}{}", word(74), varied(WORD, 74, 3)),
            ],
            &[
                format!("sk-{}{marker}{}", word(20), word(21)),
                format!("sk-{}{marker}{}", word(19), word(20)),
                format!("sk-proj-{}", word(156)),
            ],
        ),
        of(
            "private-key",
            &[
                pem(&private, &word(64), "\n"),
                pem(&format!("RSA {private}"), &word(1_600), "\r\n"),
                pem(&format!("OPENSSH {private}"), &word(400), "\\n"),
                pem(&format!("ENCRYPTED {private}"), &word(400), "\\n\" +\n    \""),
                pem(&format!("PGP {private} BLOCK"), &format!("{}=={}", word(900), word(4)), "\n"),
                pem(&format!("EC {private}"), &word(160), "\n").replacen(
                    "-----\n",
                    "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n",
                    1,
                ),
            ],
            &[
                pem("CERTIFICATE", &word(900), "\n"),
                pem(&["PUBLIC", " KEY"].concat(), &word(400), "\n"),
                pem(&private, "", "\n"),
                pem(&private, "MIIEvQ...", "\n"),
                pem(&private, "<your key>", "\n"),
                pem(&private, &"A".repeat(400), "\n"),
                pem(&private, "{}", "\n"),
            ],
        ),
        of(
            "pypi-token",
            &[
                format!("pypi-AgE{}{}", "IcHlwaS5vcmcC", word(120)),
                format!("pypi-AgE{}", word(150)),
            ],
            &[format!("pypi-AgE{}", word(40)), format!("pypi-AgA{}", word(150))],
        ),
        of(
            "rubygems-token",
            &[format!("rubygems_{}", hex(48)), format!("rubygems_{}", varied(HEX, 48, 3))],
            &[format!("rubygems_{}", hex(47)), format!("rubygems_{}", word(48))],
        ),
        of(
            "sendgrid-api-key",
            &[
                format!("SG.{}.{}", word(22), varied(WORD, 43, 3)),
                format!("SG.{}.{}", varied(WORD, 22, 5), word(43)),
            ],
            &[format!("SG.{}.{}", word(22), word(42)), format!("SG.{}", word(66))],
        ),
        of(
            "shopify-token",
            &[format!("shpat_{}", hex(32)), format!("shpss_{}", hex(32))],
            &[format!("shpat_{}", hex(31)), format!("shpat_{}", "0".repeat(32))],
        ),
        of(
            "slack-token",
            &[
                format!("xoxb-{}-{}-{}", digits(12), digits(13), word(24)),
                format!("xoxp-{}-{}-{}-{}", digits(12), digits(12), digits(13), hex(32)),
                format!("xapp-1-A{}-{}-{}", noise(UPPER, 10), digits(13), hex(64)),
                format!("xoxe.xoxp-1-{}", word(147)),
            ],
            &[
                format!("xoxb-{}-{}", digits(12), "your-token"),
                format!("xoxb-{}-{}-{}", digits(12), digits(13), "x".repeat(24)),
                format!("xoxb-{}", word(24)),
            ],
        ),
        of(
            "slack-webhook-url",
            &[
                format!(
                    "https://hooks.slack.com/services/T{}/B{}/{}",
                    noise(UPPER, 8),
                    noise(UPPER, 8),
                    word(24)
                ),
                format!(
                    "hooks.slack.com/services/T{}/B{}/{}",
                    noise(UPPER, 10),
                    noise(UPPER, 10),
                    word(24)
                ),
            ],
            &[
                format!(
                    "https://hooks.slack.com/services/T{}/B{}/{}",
                    "0".repeat(8),
                    "0".repeat(8),
                    "X".repeat(24)
                ),
                format!(
                    "https://hooks.slack.com/services/T{}/B{}/{}",
                    noise(UPPER, 8),
                    noise(UPPER, 8),
                    word(12)
                ),
            ],
        ),
        of(
            "stripe-live-key",
            &[format!("sk_live_{}", word(24)), format!("rk_live_{}", word(99))],
            &[
                format!("sk_test_{}", word(24)),
                format!("sk_live_{}", word(23)),
                format!("sk_live_{}", "x".repeat(24)),
            ],
        ),
        of(
            "twilio-auth-token",
            &[
                format!("TWILIO_AUTH_TOKEN={}", hex(32)),
                format!("twilio_auth_token: '{}'", hex(32)),
            ],
            &[format!("TWILIO_AUTH_TOKEN={}", hex(33)), format!("AUTH_TOKEN={}", hex(32))],
        ),
        of(
            "vault-token",
            &[format!("hvs.{}", word(95)), format!("hvb.{}", word(180))],
            &[format!("hvs.{}", word(12)), format!("hvs.{}", "service_token_of_the_vault")],
        ),
    ]
}

fn found(content: &str) -> Vec<String> {
    scan(None, content.as_bytes()).into_iter().map(|finding| finding.rule).collect()
}

/// EX-20
#[test]
fn every_rule_finds_its_examples_and_passes_over_what_is_nearly_one() {
    let examples = examples();
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(examples.iter().map(|example| example.rule).collect::<Vec<_>>(), ids);
    assert!(ids.is_sorted(), "{ids:?}");
    for Examples { rule, found: contents, missed } in examples {
        assert!(contents.len() >= 2 && missed.len() >= 2, "{rule}");
        for content in contents {
            assert_eq!(found(&content), [rule], "{content}");
        }
        for content in missed {
            assert_eq!(found(&content), [""; 0], "{rule}: {content}");
        }
    }
}

/// EX-20
#[test]
fn only_what_was_not_there_before_is_found_wherever_it_stood() {
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

/// EX-20: another indentation, or a string instead of a file, is no other key.
#[test]
fn a_private_key_is_the_same_however_its_lines_are_broken() {
    let label = ["PRIVATE", " KEY"].concat();
    let key = |newline: &str| pem(&label, &word(400), newline);
    assert_eq!(scan(Some(key("\n").as_bytes()), key("\\n").as_bytes()), []);
    assert_eq!(scan(Some(key("\r\n").as_bytes()), key("\n    ").as_bytes()), []);
}

/// EX-20
#[test]
fn a_finding_tells_nothing_of_the_secret() {
    for Examples { found: contents, .. } in examples() {
        for content in contents {
            for finding in scan(None, content.as_bytes()) {
                let told = format!("{finding:?} {}", serde_json::to_string(&finding).unwrap());
                let told = told.replace(&finding.rule, "");
                let parts = content.as_bytes().windows(12);
                let mut leaked =
                    parts.filter(|part| told.as_bytes().windows(12).any(|w| w == *part));
                assert_eq!(leaked.next(), None, "{told}");
            }
        }
    }
}

/// EX-20
#[test]
fn a_finding_is_read_back_and_nothing_unknown_is_in_it() {
    let content = format!("AKIA{}", noise(UPPER, 16));
    let finding = scan(None, content.as_bytes()).remove(0);
    let json = serde_json::to_string(&finding).unwrap();
    assert_eq!(serde_json::from_str::<Finding>(&json).unwrap(), finding);
    let more = json.replacen('{', "{\"secret\":\"\",", 1);
    assert!(serde_json::from_str::<Finding>(&more).is_err());
}

/// EX-20
#[test]
fn findings_come_by_line_and_then_by_rule() {
    let (npm, aws) = (format!("npm_{}", word(36)), format!("AKIA{}", noise(UPPER, 16)));
    let age = format!("AKIA{}", varied(UPPER, 16, 3));
    let content = format!("{age}\n\n{npm} {aws}\n");
    let findings = scan(None, content.as_bytes());
    let told: Vec<_> = findings.iter().map(|one| (one.line, one.rule.as_str())).collect();
    let aws = "aws-access-key-id";
    assert_eq!(told, [(1, aws), (3, aws), (3, "npm-token")]);
}

/// EX-20: content is bytes, whatever they are.
#[test]
fn binary_content_is_scanned_too_and_a_token_in_a_string_is_found() {
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

/// EX-20: 100 findings are told and no more; those that were there before do not count.
#[test]
fn a_hundred_findings_are_told_and_no_more() {
    let all = keys(301);
    let lines = |at: usize| all.lines().take(at).collect::<Vec<_>>().join("\n");
    assert_eq!(scan(None, lines(99).as_bytes()).len(), 99);
    assert_eq!(scan(None, lines(100).as_bytes()).len(), FINDINGS_MAX);
    assert_eq!(scan(None, lines(101).as_bytes()).len(), FINDINGS_MAX);
    let new = scan(Some(lines(290).as_bytes()), all.as_bytes());
    assert!(new.iter().map(|one| one.line).eq(291..=301), "{new:?}");
}

/// EX-20: a description is one sentence, and no two rules share an id.
#[test]
fn every_rule_says_in_a_sentence_what_it_finds() {
    let ids: BTreeSet<_> = super::rules().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), RULES.len());
    assert!(super::rules().all(|rule| rule.finds.ends_with('.') && rule.finds.len() > 10));
}

/// EX-20: no literal begins inside another one, so the search, which goes on behind each, skips none.
#[test]
fn no_literal_begins_inside_another() {
    for (one, rule) in literals() {
        for (other, _) in literals() {
            let (one, other) = (one.as_bytes(), other.as_bytes());
            let overlaps = (1..one.len()).filter(|&at| {
                let end = &one[at..];
                end.starts_with(other) || other.starts_with(end)
            });
            // Where one does, what stands before it is of a word, and it begins no token.
            let begins = overlaps.filter(|&at| !one[at - 1].is_ascii_alphanumeric());
            assert_eq!(begins.count(), 0, "{}: {one:?} and {other:?}", rule.id);
            assert!(one == other || !other.starts_with(one), "{one:?} begins {other:?}");
        }
    }
}

/// EX-20: content that is made to be looked at over and over costs a few looks at each byte, and
/// twice as much of it costs no more than twice.
#[test]
fn the_effort_grows_with_the_length_of_hostile_content_and_no_faster() {
    let begin = pem(&["PRIVATE", " KEY"].concat(), "", "\n");
    let begin = begin.lines().next().unwrap();
    let lines = format!("{begin}\nabc: def\n");
    let body = format!("{begin}\n{}", word(40));
    let escaped = format!("{begin}\\n\\\\");
    let mut units = vec![begin.to_owned(), lines, body, escaped, "\\nsk-ant-".to_owned()];
    for (literal, _) in literals() {
        units.push(literal.to_owned());
        units.push(format!(" {literal}"));
        units.push(format!("{literal}a:"));
        units.push(format!(" {literal}123456789-"));
        units.push(format!(" {literal}=="));
        units.push(format!(" {literal}{}", word(25)));
    }
    for unit in units {
        let spent = |bytes: usize| {
            let content = unit.repeat(bytes / unit.len());
            let spent = spent_by(|| scan(None, content.as_bytes()));
            assert!(spent <= bytes * 8, "{unit}: {spent} for {bytes}");
            spent
        };
        let (once, twice) = (spent(50_000), spent(100_000));
        assert!(twice <= once * 2 + 70_000, "{unit}: {once}, then {twice}");
    }
}

/// Whatever stands there: a URL may name no user.
#[test]
fn a_database_url_without_a_user_is_read_like_any_other() {
    for url in
        ["postgres://:@db.corp/x", "postgres://:k3v9QzT1x@db.corp/x", "postgres://@db.corp/x"]
    {
        drop(scan(None, url.as_bytes()));
    }
}

proptest! {
    /// EX-20: whatever the bytes are, there is an answer, it is ordered, and it says the same again.
    #[test]
    fn any_content_is_scanned(pieces in proptest::collection::vec(piece(), 0..40)) {
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
