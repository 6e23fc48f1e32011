//! The table for readers, in `docs/sandbox-attacks.md`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use libtest_mimic::Failed;

use crate::attack::{Attack, Expected, Users};
use crate::table;

/// Compares the file with the table; with `UPDATE_DOCS=1` it is written.
pub(crate) fn compare() -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox-attacks.md");
    let text = render();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    if fs::read_to_string(&path).unwrap_or_default() == text {
        return Ok(());
    }
    Err("`docs/sandbox-attacks.md` is not what the table says; UPDATE_DOCS=1 writes it".into())
}

fn render() -> String {
    let mut text = "# Attacks on the sandbox\n\n\
        <!-- Written by `UPDATE_DOCS=1 cargo test -p actum-sandbox --test hostile`. -->\n\n\
        After this page you know which attacks each tier of the sandbox stops. The test `hostile` of\n\
        `actum-sandbox` makes each with real system calls: without a sandbox, where it succeeds; in tier N;\n\
        and in tier L; as root and as an ordinary user. It judges the effect on the host, and not the answer of\n\
        the kernel. What a tier leaves open is listed as open, and tested to be so.\n"
        .to_owned();
    for (title, attacks) in table::sections() {
        write!(
            text,
            "\n## {title}\n\n\
             | a command may try to | the host looks at | tier N | tier L | requirement |\n\
             | --- | --- | --- | --- | --- |\n"
        )
        .unwrap();
        for attack in attacks {
            let Attack { name, effect, tier_n, tier_l, requirement, .. } = attack;
            let who = match attack.users {
                Users::All => "",
                Users::Root => " (as root)",
                Users::Ordinary | Users::Alone => " (as an ordinary user)",
            };
            let (look, n, l) = (effect.text(), cell(tier_n), cell(tier_l));
            writeln!(text, "| {name}{who} | {look} | {n} | {l} | {requirement} |").unwrap();
        }
    }
    text
}

fn cell(expected: Expected) -> String {
    match expected {
        Expected::Stopped => "stopped".to_owned(),
        Expected::Open(why) => format!("**open**: {why}"),
        Expected::Refused(code) => format!("refused: `{code}`"),
    }
}
