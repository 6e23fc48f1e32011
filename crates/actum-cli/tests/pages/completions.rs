//! Completion of command lines in a real shell.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::program::{actum, workspace};

/// File name that would run a command if it were completed without quotes.
const HOSTILE: &str = "x$(touch${IFS}PWNED)y";
/// Command lines up to the word to complete, and whether file names are offered for that word.
const LINES: [(&str, bool); 7] = [
    ("actum apply ", true),
    ("actum approve p --passphrase-file ", true),
    ("actum -C ", true),
    ("actum verify --keyring ", true),
    ("actum exec --read ", true),
    ("actum apply --agent ", false),
    ("actum apply --allow ", false),
];

/// D-4: file names are quoted when bash completes them.
#[test]
fn hostile_file_names_are_quoted_in_completions() {
    let (_directory, root) = workspace();
    let script = actum(&root, &["completions", "bash"]);
    assert_eq!(script.code, 0, "{script:?}");
    fs::write(root.join("completions.bash"), script.stdout).unwrap();
    for (index, (line, offers_files)) in LINES.into_iter().enumerate() {
        let place = root.join(format!("place{index}"));
        fs::create_dir(&place).unwrap();
        if line == "actum -C " {
            fs::create_dir(place.join(HOSTILE)).unwrap();
        } else {
            fs::write(place.join(HOSTILE), "").unwrap();
        }
        // A shell function named `actum` prints its last argument, which is the completed word.
        let start = "bind 'set enable-bracketed-paste off'; actum() { printf '[%s]\\n' \"${@: -1}\"; }; \
                     . ../completions.bash\n";
        let pty = nix::pty::openpty(None, None).unwrap();
        let mut bash = Command::new("bash")
            .args(["--norc", "--noprofile", "-i"])
            .current_dir(&place)
            .env("TERM", "dumb")
            .env("PS1", "$ ")
            .env("HISTFILE", "")
            .stdin(Stdio::from(pty.slave.try_clone().unwrap()))
            .stdout(Stdio::from(pty.slave.try_clone().unwrap()))
            .stderr(Stdio::from(pty.slave))
            .spawn()
            .unwrap();
        let mut terminal = fs::File::from(pty.master);
        write!(terminal, "{start}{line}x\t\nexit\n").unwrap();
        let mut shown = Vec::new();
        let mut buffer = [0; 4096];
        // Reading from the terminal fails with EIO once bash has exited.
        while let Ok(count @ 1..) = terminal.read(&mut buffer) {
            shown.extend_from_slice(&buffer[..count]);
        }
        bash.wait().unwrap();
        let shown = String::from_utf8_lossy(&shown);
        assert!(!place.join("PWNED").exists(), "{line}: {shown}");
        let directory = if line == "actum -C " { "/" } else { "" };
        let word = if offers_files { format!("[{HOSTILE}{directory}]") } else { "[x]".to_owned() };
        assert!(shown.contains(&word), "{line}: {shown}");
    }
}
