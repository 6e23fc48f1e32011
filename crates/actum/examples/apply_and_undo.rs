//! Applies a change and undoes it, with a signed receipt for each run.
//!
//! Run it with `cargo run -p actum --example apply_and_undo DIRECTORY`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example is a whole program"
)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use actum::{Clock, Engine, Records, Request, Which};
use actum_core::{RelPath, Timestamp};
use actum_edit::Operation;
use actum_gate::verify_receipt;
use actum_record::ledger::{Actor, TenantId};

fn main() -> Result<(), Box<dyn Error>> {
    run_example(&PathBuf::from(
        std::env::args_os().nth(1).ok_or("expected a directory as the first argument")?,
    ))
}

pub(crate) fn run_example(directory: &Path) -> Result<(), Box<dyn Error>> {
    let project = directory.join("project");
    std::fs::create_dir_all(&project)?;

    // Creates the ledger and the signing keys if they do not exist yet.
    let records = Records::open(&directory.join("records"), &TenantId::default(), clock())?;
    let mut engine = Engine::open(&project, records.clone())?;

    let greeting = Operation::Create {
        path: RelPath::new("greeting.txt")?,
        content: b"hello\n".to_vec(),
        mode: None,
    };
    let me = Actor { user: "ann".to_owned(), uid: 1000, agent: Some("an example".to_owned()) };
    let request = Request::apply(vec![greeting]).labelled("say hello").asked_by(me.clone());
    let done = engine.run(request)?;
    println!("run {} {}", done.run(), done.receipt.status().as_str());

    // Verification needs only the receipt and the public keys, so it works on any machine.
    let verified = verify_receipt(&done.receipt.envelope, records.keyring())?;
    for subject in &verified.statement.subject {
        println!("signed by {}: {} {}", verified.key, subject.digest.sha256, subject.name);
    }

    let undone = engine.run(Request::undo(Which::Run(done.run())).asked_by(me))?;
    println!("run {} undid the change", undone.run());
    assert!(!project.join("greeting.txt").exists());
    Ok(())
}

fn clock() -> Clock {
    Clock::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    })
}
