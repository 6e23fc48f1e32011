//! Parsing of commands given as one string.

use actum_gate::command::{
    ARGUMENT_BYTES_MAX, COMMAND_ARGUMENTS_MAX, COMMAND_BYTES_MAX, CommandLine, CommandLineError,
};

fn argv(text: &str) -> Vec<String> {
    CommandLine::parse(text).unwrap().argv().to_vec()
}

fn refused(text: &str) -> String {
    CommandLine::parse(text).unwrap_err().to_string()
}

/// AA-7
#[test]
fn words_are_split_and_unquoted_as_by_a_shell() {
    assert_eq!(argv("node --check src/file.js"), ["node", "--check", "src/file.js"]);
    assert_eq!(argv("  a\t b  "), ["a", "b"]);
    assert_eq!(argv(r#"a 'b c' "d e" f\ g"#), ["a", "b c", "d e", "f g"]);
    assert_eq!(argv(r#"a '' "" b'c'"d"\e"#), ["a", "", "", "bcde"]);
    assert_eq!(argv(r#"a '\n' "\n" "\$\`\"\\" '"' "'""#), ["a", r"\n", r"\n", "$`\"\\", "\"", "'"]);
    assert_eq!(argv("a 'two\nlines' \"two\nlines\""), ["a", "two\nlines", "two\nlines"]);
    assert_eq!(argv(r"a \; \| \* \~ \# b=c --d=e"), ["a", ";", "|", "*", "~", "#", "b=c", "--d=e"]);
    assert_eq!(argv("'A=b' c"), ["A=b", "c"]);
    assert_eq!(argv("a ';&|<>$`(){}*?[]~#!' %1 ^ é"), ["a", ";&|<>$`(){}*?[]~#!", "%1", "^", "é"]);
}

/// AA-7: each shell metacharacter is rejected at any position outside quotes.
#[test]
fn shell_syntax_is_rejected_with_its_position() {
    for character in ";&|<>$`(){}*?[]~#!\n\r\u{7}".chars() {
        for (text, place) in [
            (format!("a b{character}c"), 4),
            (format!("{character}a"), 1),
            (format!("a '{character}' \"x\" é {character}"), 13),
        ] {
            let error = CommandLineError::Metacharacter { character, place };
            assert_eq!(CommandLine::parse(&text), Err(error), "{text:?}");
        }
    }
    for (text, character, place) in [
        ("a \"$(b)\"", '$', 4),
        ("a \"`b`\"", '`', 4),
        ("a \\\nb", '\n', 4),
        ("a \"\\\nb\"", '\n', 5),
    ] {
        let error = CommandLineError::Metacharacter { character, place };
        assert_eq!(CommandLine::parse(text), Err(error), "{text:?}");
    }
    assert_eq!(
        refused("cargo test && rm -r x"),
        "the command is run without a shell, but the `&` at character 12 would need one; quote it \
         to pass it literally"
    );
    assert_eq!(
        refused("cargo test\nrm -r x"),
        "the command is run without a shell, but the newline at character 11 would need one; quote \
         it to pass it literally"
    );
    assert_eq!(
        refused("RUSTFLAGS=-Dx cargo test"),
        "the command is run without a shell, but the `=` at character 10 would set a variable; put \
         `env` before it, or quote it if it is part of the program's name"
    );
}

/// AA-7
#[test]
fn empty_or_incomplete_command_is_rejected() {
    assert_eq!(refused(""), "the command does not name a program");
    assert_eq!(refused(" \t "), "the command does not name a program");
    assert_eq!(refused("'' a"), "the command does not name a program");
    assert_eq!(refused("a 'b"), "the single quote at character 3 of the command is never closed");
    assert_eq!(refused("a \"b'"), "the double quote at character 3 of the command is never closed");
    assert_eq!(
        refused("a \"b\\"),
        "the double quote at character 3 of the command is never closed"
    );
    assert_eq!(
        refused("a b\\"),
        "the backslash at character 4 of the command is not followed by a character"
    );
    assert_eq!(refused("a 'b\0'"), "argument 1 of the command contains a NUL byte");
}

/// AA-7: each limit is tested on both sides.
#[test]
fn a_command_has_limits() {
    let of = |argv: Vec<String>| CommandLine::new(argv).map(drop);
    assert_eq!(of(vec!["a".to_owned(); COMMAND_ARGUMENTS_MAX]), Ok(()));
    let count = COMMAND_ARGUMENTS_MAX + 1;
    assert_eq!(of(vec!["a".to_owned(); count]), Err(CommandLineError::Arguments { count }));
    let long = |bytes| "a".repeat(bytes);
    assert_eq!(of(vec![long(1), long(ARGUMENT_BYTES_MAX)]), Ok(()));
    let bytes = ARGUMENT_BYTES_MAX + 1;
    let error = CommandLineError::Argument { number: 1, bytes };
    assert_eq!(of(vec![long(1), long(bytes)]), Err(error));
    let full = COMMAND_BYTES_MAX / 16;
    assert_eq!(of(vec![long(full); 16]), Ok(()));
    let bytes = COMMAND_BYTES_MAX + 1;
    let over = [vec![long(full); 16], vec![long(1)]].concat();
    assert_eq!(of(over), Err(CommandLineError::Bytes { bytes }));
    let spaces = " ".repeat(COMMAND_BYTES_MAX - 1);
    assert!(CommandLine::parse(&format!("a{spaces}")).is_ok());
    let error = CommandLineError::Bytes { bytes };
    assert_eq!(CommandLine::parse(&format!("a {spaces}")), Err(error));
}

/// AA-7, D-4: a stored command cannot contain arguments that the parser would reject.
#[test]
fn stored_command_is_validated_like_a_parsed_one() {
    let line: CommandLine = serde_json::from_str(r#"["a", "b c"]"#).unwrap();
    assert_eq!(serde_json::to_string(&line).unwrap(), r#"["a","b c"]"#);
    assert_eq!(line.quoted(), "a 'b c'");
    assert!(serde_json::from_str::<CommandLine>("[]").is_err());
    assert!(serde_json::from_str::<CommandLine>(r#"["a", "\u0000"]"#).is_err());
}

#[test]
fn displayed_command_is_escaped_and_truncated() {
    let shown = |argv: &[&str]| {
        CommandLine::new(argv.iter().map(ToString::to_string).collect()).unwrap().to_string()
    };
    assert_eq!(shown(&["a", "b \"c\"\\"]), r#"["a", "b \"c\"\\"]"#);
    assert_eq!(shown(&["a\u{1b}[2J", "\u{202e}b"]), r#"["a\u001b[2J", "\u202eb"]"#);
    assert_eq!(shown(&["a", &"b".repeat(2000)]), r#"["a", …]"#);
}
