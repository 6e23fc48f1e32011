//! Generates the table of attacks in `docs/sandbox-attacks.md`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use libtest_mimic::Failed;

use crate::attack::{Attack, Expected, Users};
use crate::table;

/// Checks that the page matches the table of attacks. `UPDATE_DOCS=1` regenerates the page first.
pub(crate) fn compare() -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox-attacks.md");
    let text = render();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    if fs::read_to_string(&path).unwrap_or_default() == text {
        return Ok(());
    }
    Err("`docs/sandbox-attacks.md` does not match the table; set UPDATE_DOCS=1 to regenerate it"
        .into())
}

fn render() -> String {
    let mut text = "# Attacks on the sandbox\n\n\
        <!-- Written by `UPDATE_DOCS=1 cargo test -p actum-sandbox --test hostile`. -->\n\n\
        This page lists the attacks that the tests run against the sandbox, and shows which of\n\
        them each tier stops. The test `hostile` of `actum-sandbox` makes every attack with real\n\
        system calls: without a sandbox, where it must succeed, in tier N, and in tier L. It\n\
        runs each attack as root and as an ordinary user, unless the table names only one of\n\
        them. The test checks what happened to the host, and does not rely on the error codes\n\
        that the kernel returned.\n\n\
        In the tables, a file or socket is \"outside\" if the policy of the command does not\n\
        declare its path. If a tier cannot stop an attack, the table says **open** and gives the\n\
        reason, and the test checks that the attack does succeed there. If a policy needs tier\n\
        N, actum refuses it in tier L (`NEEDS_TIER_N`) and does not start the command.\n"
        .to_owned();
    for (title, attacks) in table::sections() {
        write!(
            text,
            "\n## {title}\n\n\
             | attack: the command tries to | the attack succeeds if | tier N | tier L | requirement |\n\
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
