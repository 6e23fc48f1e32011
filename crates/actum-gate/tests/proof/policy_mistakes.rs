//! Diagnostics of policy files: the key, the line, and the expected and actual value.

use actum_gate::PolicyFile;

fn policy_error(text: &str) -> String {
    PolicyFile::read(format!("version = 1\n{text}").as_bytes()).unwrap_err().to_string()
}

/// D-4: messages describe expected values in the terms of the policy page.
#[test]
fn wrong_value_type_is_reported_with_its_key() {
    for (text, expected) in [
        (
            "[budget]\n\nmax_files = \"ten\"\n",
            "line 4: `budget.max_files` must be a whole number, but is a string",
        ),
        (
            "[budget]\nmax_loc = -1\n",
            "line 3: `budget.max_loc` must be a whole number, 0 or more, but is -1",
        ),
        (
            "[budget]\nmax_loc = 2.5\n",
            "line 3: `budget.max_loc` must be a whole number, but is a floating-point number",
        ),
        (
            "[scope]\nallow = 'src/'\n",
            "line 3: `scope.allow` must be a list of patterns (`[…]`), but is a string",
        ),
        (
            "[scope]\ndeny = [\n'a',\n7]\n",
            "line 5: item 2 of `scope.deny` must be a pattern (a string), but is a whole number",
        ),
        (
            "protected = true\n",
            "line 2: `protected` must be a single table (`[protected]`), but is `true`",
        ),
        (
            "[protected]\nprofile = 'lax'\n",
            "line 3: `protected.profile` must be `critical`, `interactive` or `agent-executor`, but is \
             `lax`",
        ),
        (
            "[[tier]]\ntier = 'R3'\npaths = ['a']\nwhy = 1979-05-27\n",
            "line 5: `tier.why` must be a string, but is a date or time",
        ),
        (
            "[[tier]]\ntier = 'high'\npaths = ['a']\nwhy = 'w'\n",
            "line 3: `tier.tier` must be `R0`, `R1`, `R2`, `R3` or `R4`, but is `high`",
        ),
        (
            "[scope]\nallow = ['{a}']\n",
            "line 3: item 1 of `scope.allow` cannot be used: the rule `{a}`",
        ),
    ] {
        let message = policy_error(text);
        assert!(message.starts_with(expected), "{text}\n{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    let version = PolicyFile::read(b"version = '1'\n").unwrap_err().to_string();
    assert_eq!(version, "line 1: `version` must be a whole number, but is a string");
}

/// D-4
#[test]
fn confused_tables_and_lists_of_tables_are_reported() {
    assert_eq!(
        policy_error("[tier]\ntier = 'R3'\n"),
        "line 2: `tier` must be a list of tables (`[[tier]]`), but is a table"
    );
    assert_eq!(
        policy_error("[[budget]]\nmax_files = 1\n"),
        "line 2: `budget` must be a single table (`[budget]`), but is a list"
    );
    assert_eq!(
        policy_error("tier = ['a']\n"),
        "line 2: item 1 of `tier` must be a table, but is a string"
    );
}

/// D-5, D-4: no exception is possible for paths that decide about changes, and an exception without effect is an error.
#[test]
fn invalid_exception_is_rejected_when_the_policy_is_loaded() {
    let except = "line 3: item 1 of `protected.except` cannot be used: ";
    for (path, why) in [
        (
            ".git/hooks/x",
            "the path `.git/hooks/x` cannot be used: it is part of `.git` or `.actum`, which must not be changed",
        ),
        (
            ".actum",
            "the path `.actum` cannot be used: it is part of `.git` or `.actum`, which must not be changed",
        ),
        (
            "/p/.env",
            "the path `/p/.env` cannot be used: it is absolute; make it relative to the workspace root",
        ),
        (
            "GIT~1/config",
            "`GIT~1/config`: `**/git~*` (state of git and actum, and policy files) allows no exceptions, as a \
          change there could let any other change pass",
        ),
        (
            "a/Actum.toml",
            "`a/Actum.toml`: `**/actum.toml` (state of git and actum, and policy files) allows no \
          exceptions, as a change there could let any other change pass",
        ),
        (
            "agent/agent_outputs/reports/x/.env",
            "`agent/agent_outputs/reports/x/.env`: `**/agent/agent_outputs/reports` (task \
          reports, rollback data and active plans) allows no exceptions, as a change there could let any other change pass",
        ),
        ("**/.env", "`**/.env`: an exception must be the exact path of one file, not a pattern"),
        (
            "README.md",
            "`README.md`: no built-in rule of the profile `interactive` protects this path",
        ),
    ] {
        assert_eq!(
            policy_error(&format!("[protected]\nexcept = ['{path}']\n")),
            format!("{except}{why}"),
            "{path}"
        );
    }
    assert_eq!(
        policy_error("[protected]\nexcept = ['a/.env']\npaths = ['a/']\n"),
        format!(
            "{except}`a/.env`: `a/` under `protected.paths` also protects this path; narrow that rule instead"
        )
    );
    assert_eq!(
        policy_error("[protected]\nexcept = ['.env']\nprofile = 'critical'\n"),
        "line 3: `protected.except` cannot be used: the profile `critical` does not allow exceptions; only `interactive` does"
    );
}

/// D-4: a misspelled key is reported before the required key that is missing because of it.
#[test]
fn unknown_key_is_reported_with_the_valid_keys() {
    assert_eq!(
        policy_error("[protected]\npahts = ['a']\n"),
        "line 3: unknown key `protected.pahts` (did you mean `paths`?); valid keys are `profile`, `paths` and `except`"
    );
    assert_eq!(
        policy_error("[protected]\npattern = ['a']\n"),
        "line 3: unknown key `protected.pattern`; valid keys are `profile`, `paths` and `except`"
    );
    assert_eq!(
        policy_error("[scpoe]\n"),
        "line 2: unknown key `scpoe` (did you mean `scope`?); valid keys are `version`, `protected`, `scope`, `budget`, `tier`, \
         `command`, `credentials`, `approvals`, `sandbox`, `plugins`, `workspaces`, `retention`, `ledger`, \
         `tasks`, `lease`, `file`, `pipeline` and `sql`"
    );
    assert_eq!(
        policy_error("[[tier]]\ntier = 'R3'\npahts = ['a']\n"),
        "line 4: unknown key `tier.pahts` (did you mean `paths`?); valid keys are `tier`, `paths`, `effects`, `why`, `match` and \
         `not_match`"
    );
    assert_eq!(
        policy_error("\n[[tier]]\ntier = 'R3'\npaths = ['a']\n"),
        "line 3: `tier` has no `why`"
    );
}

/// D-4: covers the common mistakes in TOML syntax, each with its position.
#[test]
fn toml_syntax_errors_are_explained_with_their_position() {
    let escape =
        "invalid escape after `\\`; use single quotes ('…'), in which a backslash is literal";
    let no_end = "unterminated string; the closing quote is missing";
    let no_end_of_list = "unterminated list; a `]` or a quote is missing";
    let quotes = "a string must be quoted, as in 'src/'";
    for (text, place, words) in [
        ("a = \"app/\\[id\\]/\"\n", "line 2, column 11", escape),
        ("a = \"C:\\Users\"\n", "line 2, column 10", escape),
        ("a = \"x\n", "line 2, column 7", no_end),
        ("a = 'x\n", "line 2, column 7", no_end),
        ("\na = ['x]\n", "line 3, column 9", no_end_of_list),
        (
            "a = '''x\n",
            "line 3, column 1",
            "unterminated string; the three closing quotes are missing",
        ),
        ("a = src/\n", "line 2, column 5", quotes),
        ("ä = “src”\n", "line 2, column 1", "invalid TOML"),
        ("a = \n", "line 2, column 5", "a value is missing"),
        ("a\n", "line 2, column 2", "a key must be followed by `=` and a value"),
        ("a = 1 b = 2\n", "line 2, column 9", "unexpected text; each key must be on its own line"),
        ("a = ['x'\n", "line 2, column 9", no_end_of_list),
        ("a = ['x' 'y']\n", "line 2, column 10", "`,` is missing between two list items"),
        ("[a\n", "line 2, column 3", "unterminated table header; `]` is missing"),
        ("[[a]\n", "line 2, column 5", "unterminated table header; `]]` is missing"),
        ("a = True\n", "line 2, column 5", "write `true` or `false`"),
        ("[a]\n[a]\n", "line 3, column 2", "this key is already defined in its table"),
    ] {
        let message = policy_error(text);
        assert!(message.starts_with(&format!("{place}: {words}")), "{text}\n{message}");
    }
}

/// EX-20: a secret pasted in place of its digest must not end up in a log.
#[test]
fn errors_never_quote_the_credentials_section() {
    for text in [
        "[credentials]\nallow = ['SECRET']\n",
        "[credentials]\nallow = 'SECRET'\n",
        "[credentials]\nallow = [SECRET]\n",
        "[credentials]\nallow = ['SECRET\n",
        "[credentials]\nallow = [\"SEC\\RET\"]\n",
        "[credentials]\nallow = ['x' 'SECRET']\n",
        "[credentials]\nallow = [{ SECRET = 'SECRET' }]\n",
        "[credentials]\nSECRET\n",
        "[credentials]\nSECRET = 1\n",
        "[credentials]\nSECRET = 1\nSECRET = 1\n",
        "[credentials.SECRET]\n",
        "credentials = 'SECRET'\n",
        "credentials = ['SECRET']\n",
        "credentials.allow = ['SECRET']\n",
        "credentials.SECRET = 1\n",
    ] {
        let message = policy_error(text);
        assert!(!message.contains("SEC"), "{text}\n{message}");
        assert!(message.starts_with("line "), "{message}");
    }
    assert_eq!(
        policy_error("[credentials]\nallow = ['SECRET']\n"),
        "line 3: item 1 of `credentials.allow` must be a digest of 64 hexadecimal characters, but is \
         another string (not shown because it could be a secret)"
    );
}

/// D-4: patterns in the older notation are still accepted.
#[test]
fn non_utf8_pattern_can_be_written_in_hexadecimal() {
    let read = |text: &str| PolicyFile::read(format!("version = 1\n{text}").as_bytes());
    assert!(read("[scope]\nallow = [{ hex = '61ff' }]\n").is_ok());
    assert!(read("[scope]\nallow = [{ hex = '6' }]\n").is_err());
}
