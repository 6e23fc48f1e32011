//! Submits a request twice under one key, so that it is carried out only once. An observer prints the change before it
//! is published.
//!
//! Run it with `cargo run -p actum --example only_once DIRECTORY`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example is a whole program"
)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use actum::{Clock, Engine, Observer, Records, Request, Staged};
use actum_core::{RelPath, Timestamp};
use actum_edit::Operation;
use actum_record::ledger::TenantId;
use actum_workspace::disk::Disk;

fn main() -> Result<(), Box<dyn Error>> {
    run_example(&PathBuf::from(
        std::env::args_os().nth(1).ok_or("expected a directory as the first argument")?,
    ))
}

pub(crate) fn run_example(directory: &Path) -> Result<(), Box<dyn Error>> {
    let project = directory.join("project");
    std::fs::create_dir_all(&project)?;
    let records = Records::open(&directory.join("records"), &TenantId::default(), clock())?;
    let mut engine = Engine::open(&project, records)?;

    for _ in 0..2 {
        let operation = Operation::Create {
            path: RelPath::new("once.txt")?,
            content: b"once\n".to_vec(),
            mode: None,
        };
        // A caller that received no response can safely retry the request with the same key.
        let request = Request::apply(vec![operation]).keyed("ticket-17".parse()?);

        let done = engine.run_with(request, &mut Printer)?;
        match done.committed {
            Some(_) => println!("run {} created the file", done.run()),
            None => println!("run {} had already created it", done.run()),
        }
    }
    Ok(())
}

/// Observer that prints each path before a run changes it.
struct Printer;

impl<D: Disk> Observer<D> for Printer {
    type Stop = actum::Error;

    fn staged(&mut self, staged: &mut Staged<'_, D>) -> Result<(), actum::Error> {
        for change in staged.transaction().changes().iter() {
            println!("would change {}", change.path);
        }
        Ok(())
    }
}

fn clock() -> Clock {
    Clock::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    })
}
