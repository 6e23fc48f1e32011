//! View of a large workspace with many staged changes.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::{create_dir_all, write};
use std::path::Path;
use std::time::Duration;

use actum_sandbox::{Layer, Plan, SandboxPolicy, StagedLayer, Tier, View};

use super::start::confined;
use super::{host, succeeded};
use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::race::{Contestant, race, time};

const FILES: usize = 10_000;
const STAGED: usize = 1000;
/// Number of files in one directory.
const TOGETHER: usize = 100;
/// Maximum size of the changes a command may make, in bytes.
const MAX: u64 = 256 << 20;
const READY: &str = "a view, 1,000 files staged";
const LIST_NOTHING: &str = "`changes()` after `true`";
const LIST_MUCH: &str = "`changes()` after 1,000 files were rewritten";

/// Measures the start of a command on the view, and the listing of the changes.
pub(super) fn contests(home: &Path, rounds: usize) -> Result<Vec<Contest>, Failure> {
    let base = home.join("workspace");
    let text = b"a line of text in a file of a workspace\n".repeat(100);
    for index in 0..FILES {
        let path = base.join(path_of(index));
        if index.is_multiple_of(TOGETHER) {
            create_dir_all(path.parent().unwrap_or(&base))?;
        }
        write(path, &text)?;
    }
    let staged = home.join("staged");
    let layer = StagedLayer::create(&staged, &base)?;
    let step = FILES / STAGED;
    for index in 0..STAGED {
        layer.file(Path::new(&path_of(index * step)), &text[1..], 0o644)?;
    }
    let host = host(Tier::N);
    let view = |staged| View {
        base: base.clone(),
        staged,
        before: None,
        upper: None,
        caches: Vec::new(),
        max: MAX,
    };
    let on = |view| SandboxPolicy { view: Some(view), cwd: base.clone(), ..super::system() };
    let bare = super::system().plan(&host)?;
    let empty = on(view(None)).plan(&host)?;
    let full = on(view(Some(staged))).plan(&host)?;
    let started = race(
        vec![
            Contestant::new("tier N, no view", || time(|| confined(&bare))),
            Contestant::new("a view, nothing staged", || time(|| confined(&empty))),
            Contestant::new(READY, || time(|| confined(&full))),
        ],
        rounds,
    );
    // Every tenth file, starting with the second. None of them is staged.
    let script = "for file in */*1.txt; do echo new > $file; done";
    let found = RefCell::new(Vec::new());
    let listed = race(
        vec![
            Contestant::new(LIST_NOTHING, || listing(&full, &["/bin/true"], &found)),
            Contestant::new(LIST_MUCH, || listing(&full, &["/bin/sh", "-c", script], &found)),
        ],
        rounds.div_ceil(4),
    );
    let counts: Vec<usize> = found.into_inner();
    if !counts.iter().all(|count| [0, FILES / 10].contains(count)) {
        return Err(format!("`changes()` tells {counts:?} paths, and not 0 or 1,000").into());
    }
    let files = "10,000 files";
    Ok(vec![
        Contest {
            title: format!("From spawn to the end of `true`, on a view of {files}"),
            finishes: started,
            bars: vec![Bar { who: READY, limit: Limit::InAll(50.0) }],
        },
        Contest {
            title: format!("The list of changes in a view of {files}, 1,000 of them staged"),
            finishes: listed,
            bars: Vec::new(),
        },
    ])
}

fn path_of(index: usize) -> String {
    format!("directory-{}/file-{index}.txt", index / TOGETHER)
}

/// Measures only the time to list the changes.
fn listing(
    plan: &Plan,
    command: &[&str],
    found: &RefCell<Vec<usize>>,
) -> Result<Duration, Failure> {
    let command: Vec<OsString> = command.iter().map(Into::into).collect();
    let outcome = plan.spawn(&super::helper(), &command)?.wait()?;
    succeeded(&outcome)?;
    let layer: Layer = outcome.captured.ok_or("nothing was captured")?;
    time(|| {
        found.borrow_mut().push(layer.changes()?.len());
        Ok(())
    })
}
