//! Runs the suite: one test for each attack.

use std::process::ExitCode;

use actum_sql::{Problem, Report, SqlError};
use libtest_mimic::{Arguments, Failed, Trial};

use crate::attack::{Attack, Boundary, CANARY, Harm};
use crate::bomb;
use crate::ground::{End, Ground, LIMITS, Shared};
use crate::table::ATTACKS;
use crate::worker::Walls;

/// Minimum number of attacks in the table.
const ATTACKS_MIN: usize = 100;

/// Number of attacks that run concurrently.
const AT_A_TIME: usize = 6;

pub(crate) fn run() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The threads mostly wait for processes.
    arguments.test_threads.get_or_insert(AT_A_TIME);
    let attacks = ATTACKS.iter().flat_map(|group| group.iter()).map(|attack| {
        let name = format!("the_step_refuses {}", name(attack.text));
        Trial::test(name, move || judge(attack))
    });
    let bombs = bomb::BOMBS.iter().map(|bomb| {
        let name = format!("the_step_ends {}", bomb.name);
        Trial::test(name, move || bomb::judge(bomb))
    });
    let count = Trial::test("at_least_a_hundred_attacks_are_made", || {
        let count = ATTACKS.iter().map(|group| group.len()).sum::<usize>();
        assert!(count + bomb::BOMBS.len() >= ATTACKS_MIN, "{count}");
        Ok(())
    });
    let trials = attacks.chain(bombs).chain([count]).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Shortens the text of an attack to a test name.
fn name(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").chars().take(90).collect()
}

/// EX-11, EX-20: each attack is rejected by the boundary that the table names, by the next one if that is off, and by the sandbox
/// without the other two. Without any boundary it does its harm.
fn judge(attack: &Attack) -> Result<(), Failed> {
    let shared = Shared::get();
    let on = Walls { list: true, lock: true };
    let off = match attack.first {
        Boundary::List(_) => Walls { list: false, ..on },
        Boundary::Lock(_) => Walls { lock: false, ..on },
        Boundary::Sandbox(_) | Boundary::Harmless => on,
    };
    let mut wrong = Vec::new();
    let mut trial = |what: &str, expected: Option<Boundary>, run: &dyn Fn(&Ground, &str) -> End| {
        let ground = Ground::new(shared, attack.harm == Harm::Connects);
        if attack.text.contains("{dir}/rows.csv") {
            ground.link_rows();
        }
        let ended = run(&ground, &ground.fill(attack.text));
        let harmed = is_harmed(attack.harm, &ground, &ended);
        match expected {
            None if harmed => {}
            None => wrong.push(format!("{what} it does no harm: {ended:?}")),
            Some(boundary) if harmed && !is_only_set(attack.harm, boundary) => {
                wrong.push(format!("{what} it does its harm: {ended:?}"));
            }
            Some(boundary) if refuses(boundary, &ended) => {}
            Some(boundary) => {
                wrong.push(format!("{what} {boundary:?} is not what ends it: {ended:?}"));
            }
        }
    };
    trial("as a step", Some(attack.first), &|ground, query| {
        ground.as_a_step(shared, query, LIMITS)
    });
    if off != on {
        trial("without the first boundary", Some(attack.next), &|ground, query| {
            ground.confined(shared, off, query, LIMITS)
        });
    }
    let none = Walls { list: false, lock: false };
    if off != none {
        trial("in the sandbox alone", Some(Boundary::Harmless), &|ground, query| {
            ground.confined(shared, none, query, LIMITS)
        });
    }
    if off == on {
        trial("without the sandbox", None, &|ground, query| ground.unconfined(shared, on, query));
    }
    trial("without any boundary", None, &|ground, query| ground.unconfined(shared, none, query));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Returns whether the attack only changes an engine setting, which is harmless if only the sandbox is left.
fn is_only_set(harm: Harm, boundary: Boundary) -> bool {
    matches!((harm, boundary), (Harm::Sets(_), Boundary::Harmless))
}

fn is_harmed(harm: Harm, ground: &Ground, ended: &End) -> bool {
    match harm {
        Harm::Shows(text) => match ended {
            Ok(Report::Done(done)) => done.version.contains(text),
            Ok(Report::Failed(failure)) => text == CANARY && failure.message.contains(CANARY),
            Err(_) => false,
        },
        Harm::Sets(text) => {
            matches!(ended, Ok(Report::Done(done)) if done.version.contains(text))
        }
        Harm::Writes => ground.out().exists(),
        Harm::Connects => ground.was_asked(),
        Harm::Says(text) => {
            matches!(ended, Ok(Report::Failed(failure)) if failure.message.contains(text))
        }
    }
}

/// Returns whether this boundary rejected an attack.
fn refuses(boundary: Boundary, ended: &End) -> bool {
    match (boundary, ended) {
        (Boundary::List(kind), Ok(Report::Failed(failure))) => {
            failure.problem == Problem::NotAllowed
                && failure.message == format!("`{kind}` is not allowed")
        }
        (Boundary::Lock(text) | Boundary::Sandbox(text), Ok(Report::Failed(failure))) => {
            failure.problem != Problem::Library && failure.message.contains(text)
        }
        (Boundary::List(_) | Boundary::Lock(_) | Boundary::Sandbox(_), Ok(Report::Done(_))) => {
            false
        }
        // The worker was stopped, or finished without doing harm.
        (Boundary::Harmless, Ok(_) | Err(SqlError::Limit { .. } | SqlError::Ended { .. })) => true,
        (_, Err(_)) => false,
    }
}
