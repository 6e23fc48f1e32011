//! Quoting of words for shells and terminals.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and plays the user"
)]

use std::path::Path;
use std::process::Command;

use actum_core::ShellWord;
use actum_core::path::Harmless;

/// Texts that a shell, a terminal or a message could misinterpret.
const HOSTILE: [&[u8]; 26] = [
    b"/home/ann/.local/share/actum",
    b"",
    b"a b",
    b" a ",
    b"a  \t b",
    b"it's",
    b"'",
    b"''$(touch PWN)'",
    b"a\"b\"",
    b"a$(touch PWN);y",
    b"`touch PWN`",
    b"a\\n\\",
    b"a\nactum undo\n",
    b"\x1b[31m\x1b]0;x\x07\r",
    b"\x01'$(touch PWN)'`x`\x7f",
    b"-rf",
    b"--no-preserve-root=/",
    b"=ls",
    b"~ann",
    b"{a,b}*?[c]#!x",
    b"a<\\033>b<\x1b",
    b"a\xff\xc3\x28\x80 \xff  b",
    "é\u{a0}\u{3000}日本 🦀".as_bytes(),
    "a\u{202e}b\u{200b}\u{2028}".as_bytes(),
    b"&|;<>()",
    b"%s\\0101%n",
];

/// D-4
#[test]
fn shell_word_is_safe_to_print_on_a_terminal() {
    for name in HOSTILE {
        let word = ShellWord::new(name).to_string();
        assert_eq!(Harmless(word.as_bytes()).to_string(), word);
        assert!(!word.contains(['`', '\n', '\t']) && !word.contains("  "), "{word}");
    }
}

/// D-4
#[test]
fn shell_reads_the_quoted_word_as_the_same_bytes() {
    for name in HOSTILE {
        let word = ShellWord::new(name).to_string();
        // The line has no other word, and the shell cannot mistake the text for a command name.
        let line = format!("printf '%s.' {word}");
        let output = |shell: &str| {
            let ended = Command::new(shell).args(["-c", &line]).output().unwrap();
            assert!(ended.status.success() && ended.stderr.is_empty(), "{shell}: {line}");
            ended.stdout
        };
        assert_eq!(output("bash"), [name, b"."].concat(), "{line}");
        let by_sh = output("sh");
        if !word.starts_with("$'") {
            assert_eq!(by_sh, [name, b"."].concat(), "{line}");
        } else if by_sh.starts_with(b"$") && !name.starts_with(b"$") {
            // A shell that does not support `$'…'` still reads one word without side effects.
            let unread = word.replacen("$'", "$", 1);
            let unread = unread.strip_suffix('\'').unwrap();
            assert_eq!(by_sh, [unread.as_bytes(), b"."].concat(), "{line}");
        } else {
            assert_eq!(by_sh, [name, b"."].concat(), "{line}");
        }
        assert!(!Path::new("PWN").exists(), "{line}");
    }
}
