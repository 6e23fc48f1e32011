//! Layout: the new value is written in the style of its surroundings, and nothing else changes.

use super::check;

const SETTINGS: &str = "\
# Settings
name: demo  # the name
version: '1.0'
on: {push: [main, dev], \"x\": }
empty:
jobs:
    - id: 1 # first
      run: |  # a script
        make
        make test

    # the second
    - id: 2
      env: &env
          A: 1
tail: >-
    folded
    text
last: x
";

/// EX-10
#[test]
fn scalar_replaces_a_scalar() {
    let replaced = |from: &str, to: &str| SETTINGS.replace(from, to);
    check("$.name", "\"other name\"", SETTINGS, &replaced("demo ", "other name "));
    check("$.version", "\"it's\"", SETTINGS, &replaced("'1.0'", "'it''s'"));
    check("$.version", "1.50", SETTINGS, &replaced("'1.0'", "1.50"));
    check("$.on.push[1]", "true", SETTINGS, &replaced("dev", "true"));
    check("$.on.x", "1", SETTINGS, &replaced("\"x\": }", "\"x\": 1 }"));
    check("$.empty", "null", SETTINGS, &replaced("empty:", "empty: null"));
    check("$.jobs[?@.id == 2].env.A", "-0", SETTINGS, &replaced("A: 1", "A: -0"));
    check(
        "$.last",
        "12345678901234567890123",
        SETTINGS,
        &replaced("x\n", "12345678901234567890123\n"),
    );
    check(
        "$.jobs[0].run",
        "\"a\\nb\\n\"",
        SETTINGS,
        &replaced(
            "|  # a script\n        make\n        make test\n",
            "|  # a script\n        a\n        b\n",
        ),
    );
    check(
        "$.jobs[0].run",
        "\"a\\n\\n b\"",
        SETTINGS,
        &replaced(
            "|  # a script\n        make\n        make test\n",
            "|-  # a script\n        a\n\n         b\n",
        ),
    );
    check(
        "$.jobs[0].run",
        "5",
        SETTINGS,
        &replaced("|  # a script\n        make\n        make test\n", "5  # a script\n"),
    );
    check("$.tail", "\"x\"", SETTINGS, &replaced(">-\n    folded\n    text\n", "x\n"));
    check(
        "$.tail",
        "\" x\\ny\"",
        SETTINGS,
        &replaced(">-\n    folded\n    text\n", "\" x\\ny\"\n"),
    );
}

/// EX-10
#[test]
fn containers_are_written_in_block_style_where_possible() {
    let replaced = |from: &str, to: &str| SETTINGS.replace(from, to);
    let value = "{\"a\": [1, {\"b\": {}}], \"c\": [[], [2]]}";
    let flow = "{a: [1, {b: {}}], c: [[], [2]]}";
    let lines = |indent: &str| {
        format!(
            "a:\n{indent}    - 1\n{indent}    - b: {{}}\n{indent}c:\n{indent}    - []\n{indent}    - - 2"
        )
    };
    check(
        "$.last",
        value,
        SETTINGS,
        &replaced("last: x", &format!("last:\n    {}", lines("    "))),
    );
    check("$.empty", "[1]", SETTINGS, &replaced("empty:", "empty:\n    - 1"));
    check("$.name", value, SETTINGS, &replaced("demo ", &format!("{flow} ")));
    check("$.on", value, SETTINGS, &replaced("{push: [main, dev], \"x\": }", flow));
    check("$.on.push", value, SETTINGS, &replaced("[main, dev]", flow));
    check("$.jobs[1].env", value, SETTINGS, &replaced("A: 1", &lines("          ")));
    check(
        "$.jobs[1]",
        "[1, 2]",
        SETTINGS,
        &replaced("id: 2\n      env: &env\n          A: 1", "- 1\n      - 2"),
    );
    check("$.jobs[1].env", "{}", SETTINGS, &replaced("&env\n          A: 1", "&env {}"));
    check("$.jobs[1]", "\"x\"", SETTINGS, &replaced("id: 2\n      env: &env\n          A: 1", "x"));
    check("$.tail", "[1]", SETTINGS, &replaced(">-\n    folded\n    text", "[1]"));
    check("$", "[1]", "a: 1\n", "- 1\n");
    check("$", "{\"a\": 1}", "x # y\n", "{a: 1} # y\n");
    check("$.a", "{\"b\": 1}", "a:\n- 1\n- 2\nc: 3\n", "a:\n  b: 1\nc: 3\n");
    check("$.a", "[3]", "a:\n- 1\n- 2\nc: 3\n", "a:\n- 3\nc: 3\n");
    check("$[0]", "{\"b\": 1, \"c\": 2}", "- x\n-\n", "- b: 1\n  c: 2\n-\n");
    check("$[1]", "{\"b\": 1, \"c\": 2}", "- x\n-\n", "- x\n- b: 1\n  c: 2\n");
}

/// EX-10
#[test]
fn comments_around_a_replaced_multi_line_value_are_kept() {
    for (before, after) in [
        ("a:\n  b: 1\nc: 2\n", "a: 0\nc: 2\n"),
        ("a:\n  - 1\n  - 2 # x\nc: 2\n", "a: 0 # x\nc: 2\n"),
        ("a: # x\n  - 1\n  # in\n  - 2\nc: 2\n", "a: 0 # x\nc: 2\n"),
        ("a: # x\n  # y\n  - 1\n  - 2 # z\nc: 2\n", "a: 0 # x\n  # y\n   # z\nc: 2\n"),
        ("a:\n  # y\n  b:\n    c:\n# end\n", "a: 0\n  # y\n# end\n"),
        ("a: &x\n  b: 1\n", "a: &x 0\n"),
        ("a:\n  b: &x\nc: 1\n", "a: 0\nc: 1\n"),
        ("? a\n: - b\n  - c\n", "? a\n: 0\n"),
        ("a: 'x\n\n  y' # z\n", "a: 0 # z\n"),
        ("a: x\n  y\n  z\nb: 1\n", "a: 0\nb: 1\n"),
        ("a: |+\n  x\n\nb: 1\n", "a: 0\nb: 1\n"),
        ("a: |\n  x\n\n\nb: 1\n", "a: 0\n\n\nb: 1\n"),
        ("a: |\nb: 1\n", "a: 0\nb: 1\n"),
        ("a: |2-\n   x", "a: 0"),
        ("a: 1", "a: 0"),
        ("a:", "a: 0"),
        ("a: &x", "a: &x 0"),
        ("{a, b: 1}", "{a: 0, b: 1}"),
        ("{\"a\":1}", "{\"a\":0}"),
        ("[{a: [1,\n 2], b: c}]", "[{a: 0, b: c}]"),
    ] {
        check(if before.starts_with('[') { "$[0].a" } else { "$.a" }, "0", before, after);
    }
}

/// EX-10
#[test]
fn line_endings_byte_order_mark_and_other_documents_are_preserved() {
    check("$.a", "2", "\u{feff}a: 1\r\nb: é\r\n", "\u{feff}a: 2\r\nb: é\r\n");
    check(
        "$.a",
        "[1, 2]",
        "b:\r\n    c: 1\r\na: x\r\n",
        "b:\r\n    c: 1\r\na:\r\n    - 1\r\n    - 2\r\n",
    );
    check("$.a", "\"x\\ny\\n\"", "a: |\r\n  z\r\nb: 1\r\n", "a: |\r\n  x\r\n  y\r\nb: 1\r\n");
    check(
        "$.b",
        "2",
        "%YAML 1.2\n---\na: 1\n...\n---\n# x\nb: 1\n",
        "%YAML 1.2\n---\na: 1\n...\n---\n# x\nb: 2\n",
    );
    check("$.b", "2", "---\n---\nb: 1\n", "---\n---\nb: 2\n");
    check("$", "2", "--- 1\n", "--- 2\n");
    check("$", "null", "{a: 1}\n", "null\n");
    check("$", "[]", "--- null\n", "--- []\n");
}

/// EX-10: strings that some YAML parser could read as another type are quoted.
#[test]
fn strings_are_quoted_if_a_parser_could_misread_them() {
    for (string, spelled) in [
        ("x", "x"),
        ("a b/c.d-e_f@g", "a b/c.d-e_f@g"),
        ("", "\"\""),
        ("1", "\"1\""),
        ("1e3", "\"1e3\""),
        ("0x1F", "\"0x1F\""),
        ("1:30", "\"1:30\""),
        ("2001-01-01", "\"2001-01-01\""),
        (".inf", "\".inf\""),
        ("~", "\"~\""),
        ("Null", "\"Null\""),
        ("YES", "\"YES\""),
        ("off", "\"off\""),
        ("n", "\"n\""),
        ("a: b", "\"a: b\""),
        ("a #b", "\"a #b\""),
        ("a  b", "\"a  b\""),
        ("a ", "\"a \""),
        ("- a", "\"- a\""),
        ("*a", "\"*a\""),
        ("&a", "\"&a\""),
        ("!a", "\"!a\""),
        ("{a}", "\"{a}\""),
        ("---", "\"---\""),
        ("<<", "\"<<\""),
        ("é", "\"é\""),
        ("a\\nb", "\"a\\nb\""),
        (
            "a\\u0007\\u2028\\u0085\\ufeff\\t\\\"\\\\",
            "\"a\\u0007\\u2028\\u0085\\ufeff\\t\\\"\\\\\"",
        ),
        ("😀", "\"😀\""),
    ] {
        check("$.a", &format!("\"{string}\""), "a: z\n", &format!("a: {spelled}\n"));
        check("$[0]", &format!("\"{string}\""), "[z]\n", &format!("[{spelled}]\n"));
        let key = format!("{{\"{string}\": 1}}");
        check("$.a", &key, "a: {z: 0}\n", &format!("a: {{{spelled}: 1}}\n"));
    }
}

/// EX-10
#[test]
fn numbers_are_written_as_numbers_for_every_parser() {
    for (number, spelled) in
        [("1", "1"), ("-0.50", "-0.50"), ("1e3", "1.0e+3"), ("1E-2", "1.0E-2"), ("1.5e3", "1.5e+3")]
    {
        check("$.a", number, "a: z\n", &format!("a: {spelled}\n"));
    }
}

/// EX-10
#[test]
fn tags_elsewhere_are_preserved() {
    let file = "\
b: !!binary |\n  gIGC/w==\nt: !!timestamp 2001-01-01\nn: !!int 1_000\nf: !!float 1\n\
h: !!int \"99999999999999999999999\"\ny: !!bool yes\no: !!omap [x: 1]\n\
!t k: !<tag:example.com,2000:x> {c: 1}\nc: 1\n";
    check("$.c", "2", file, &file.replace("\nc: 1", "\nc: 2"));
    let key = "!!str k: 1\nm: !t\n  c: 1\n  !u d: [!v 1, 2]\n";
    check("$.m.c", "2", key, &key.replace("c: 1", "c: 2"));
    let bool = "c: [!!bool x, 1]\n";
    check("$.c[1]", "2", bool, "c: [!!bool x, 2]\n");
}

/// EX-10
#[test]
fn flow_sequence_pair_ends_with_its_value() {
    check("$[0]", "2", "[\n? foo\n bar : baz\n]\n", "[\n2\n]\n");
    check("$[0]", "2", "[? a : b , c]\n", "[2 , c]\n");
    check("$[0]", "2", "[a: b\n, c]\n", "[2\n, c]\n");
    check("$[0]", "{\"x\": 1}", "[? {a: b} : {c: d} # e\n]\n", "[{x: 1} # e\n]\n");
}

/// EX-10
#[test]
fn lone_carriage_return_ends_a_line() {
    let file = "a: 1 # c\rb:\r  - x\r  # d\r  - |\r    y\rc: &k {d: 1}\r";
    check("$.a", "2", file, &file.replace("a: 1", "a: 2"));
    check("$.b[0]", "[1]", file, &file.replace("- x", "- - 1"));
    check("$.b[1]", "\"p\\nq\\n\"", file, &file.replace("    y", "    p\r    q"));
    check("$.b", "3", file, "a: 1 # c\rb: 3\rc: &k {d: 1}\r");
    check("$.c.d", "2", file, &file.replace("d: 1", "d: 2"));
}

/// EX-10
#[test]
fn anchors_and_aliases_elsewhere_are_preserved() {
    check("$.c", "2", "a: &x 1\nb: *x\nc: 1\n", "a: &x 1\nb: *x\nc: 2\n");
    check(
        "$.b.c",
        "2",
        "a: &x {y: 1}\nb:\n  <<: *x\n  c: 1\n",
        "a: &x {y: 1}\nb:\n  <<: *x\n  c: 2\n",
    );
    check("$.a", "2", "a: &x 1\nb: 1\n", "a: &x 2\nb: 1\n");
    check("$.a", "2", "a: {q: &x 1, r: *x}\nb: &x 1\nc: *x\n", "a: 2\nb: &x 1\nc: *x\n");
    check("$.c", "2", "a: &x 1\nc: [*x, 3]\n", "a: &x 1\nc: 2\n");
}

/// EX-10
#[test]
fn comments_indented_less_than_a_block_scalar_are_preserved() {
    for sign in ["|", "|-", "|+", "|2+", ">", ">-", ">+", ">2"] {
        let file = format!("m:\n  a: {sign}\n    text\n\n  # about b\n\n  b: 1\nn: 1\n");
        let b = file.replace("b: 1", "b: 2");
        check("$.m.b", "2", &file, &b);
        let gap = if sign.contains('+') { "" } else { "\n" };
        check("$.m.a", "2", &file, &format!("m:\n  a: 2\n{gap}  # about b\n\n  b: 1\nn: 1\n"));
        let item = format!("- - {sign}\n      x # no comment\n  # one\n  - y\n# end\n");
        check("$[0][0]", "2", &item, "- - 2\n  # one\n  - y\n# end\n");
        check("$[0][1]", "2", &item, &item.replace("- y", "- 2"));
        let windows = file.replace('\n', "\r\n");
        check("$.m.b", "2", &windows, &b.replace('\n', "\r\n"));
    }
    // Text that looks like a comment is part of a block scalar if it is indented at least as much as the scalar.
    let file = "a: |1+\n   x\n # no comment\n# a comment\nb: 1\n";
    check("$.a", "2", file, "a: 2\n# a comment\nb: 1\n");
    check("$.a", "2", "a: |+\n\n  \n# c\nb: 1\n", "a: 2\n# c\nb: 1\n");
    check("$.a", "\"p\\nq\\n\"", "a: |\n  x\n    \nb: 1\n", "a: |\n  p\n  q\nb: 1\n");
    check("$.a", "\"p\\nq\\n\"", "a: |\n   \nb: 1\n", "a: |\n  p\n  q\nb: 1\n");
    check("$.b", "2", "b: 1\na: |+\n  x\n    ", "b: 2\na: |+\n  x\n    ");
    check("$.a", "2", "a: |\n  x\n    ", "a: 2");
    check("$[0]", "\"p\\nq\\n\"", "- > # c", "- \"p\\nq\\n\" # c");
}

/// EX-10
#[test]
fn trailing_blanks_of_replaced_lines_are_removed() {
    check("$.a", "2", "a: # c\n  b: 1 \n", "a: 2 # c\n");
    check("$.a", "2", "a: # c\n  - 1\t\nb: 2\n", "a: 2 # c\nb: 2\n");
    check("$.a", "2", "a:\r\n  # c\r\n  b: 1 \r\n", "a: 2\r\n  # c\r\n");
    check("$[0].a", "2", "- a: # c\n    b: 1  \n- 3\n", "- a: 2 # c\n- 3\n");
}

/// EX-10
#[test]
fn key_without_a_colon_gets_one_with_its_new_value() {
    check("$.x", "1", "? x\n? y\n", "? x\n: 1\n? y\n");
    check("$.a.y", "[1]", "a:\n  ? x\n  ? y # c\n", "a:\n  ? x\n  ? y # c\n  : [1]\n");
    check("$.a", "1", "{? a, b: 1}\n", "{? a: 1, b: 1}\n");
}
