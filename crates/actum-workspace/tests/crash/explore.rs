//! Exploration of crashes. It stops an action at each of its calls, by a kill and by every power cut that could follow,
//! and checks the result of recovery.

use std::collections::BTreeMap;

use actum_testkit::{Node, SimDisk};
use actum_workspace::disk::Barrier;

use crate::changes::open;

/// Tree without actum's own state directory.
pub(crate) type Tree = BTreeMap<String, Node>;
/// Action on a workspace. It includes opening the workspace.
pub(crate) type Action = dyn Fn(SimDisk) -> Result<(), actum_workspace::Error>;

/// Effort of an exploration. `ACTUM_CRASH_EFFORT=N` multiplies the numbers of states.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Maximum number of states checked after a power cut at one call.
    pub(crate) states: usize,
    /// Maximum number of states checked after a power cut during recovery.
    pub(crate) states_in_recovery: usize,
    /// Interval between the states that are checked: only every `stride`-th one is.
    pub(crate) stride: usize,
}

/// Effort for trees with large files, whose blocks produce a very large number of states.
#[allow(dead_code, reason = "not every test has large files")]
pub(crate) const LARGE: Effort = Effort { states: 6, states_in_recovery: 1, stride: 61 };
pub(crate) const THOROUGH: Effort = Effort { states: 64, states_in_recovery: 5, stride: 1 };

impl Effort {
    fn multiplied(self) -> Self {
        let factor = actum_testkit::effort("ACTUM_CRASH_EFFORT", 1);
        Self {
            states: self.states * factor,
            states_in_recovery: self.states_in_recovery * factor,
            stride: self.stride,
        }
    }
}

/// Numbers of checked cuts and states.
#[derive(Default, Debug)]
#[allow(dead_code, reason = "shown")]
pub(crate) struct Count {
    pub(crate) cuts: usize,
    pub(crate) states: usize,
    pub(crate) recoveries: usize,
    /// Number of cuts after which every possible state was checked.
    pub(crate) exhaustive: usize,
}

pub(crate) fn tree(disk: &SimDisk) -> Tree {
    disk.snapshot_without(".actum")
}

/// Returns the first violation, or the numbers of checked cuts and states.
///
/// `base` is the disk before the action, with everything durable. `stays` is true if the action, such as gc or
/// recovery, leaves the tree unchanged.
pub(crate) fn explore(base: &SimDisk, action: &Action, effort: Effort) -> Result<Count, String> {
    let effort = effort.multiplied();
    let before = tree(base);
    let whole = base.clone_deep();
    let calls_before = whole.calls();
    action(whole.clone()).map_err(|error| format!("the action itself fails: {error}"))?;
    let after = tree(&whole);
    let calls = whole.calls() - calls_before;
    let cuts = cuts(&whole, calls_before, calls);
    let mut count = Count { cuts: cuts.len(), ..Count::default() };
    // Start from the end, where the most data is at risk.
    for at in cuts.into_iter().rev() {
        let disk = base.clone_deep();
        disk.kill_at(at);
        let acknowledged = action(disk.clone()).is_ok();
        let step = || format!("cut off before call {at} of {calls}: {}", call(&whole, at));
        // A kill leaves the page cache intact.
        let killed = disk.clone_deep();
        check(&killed, &before, &after, acknowledged, &mut count)
            .map_err(|what| format!("killed, {}: {what}", step()))?;
        recover_cut_off(&killed, &before, &after, acknowledged, effort, &mut count)
            .map_err(|what| format!("killed, {}: {what}", step()))?;
        // A power cut may or may not lose data that was not synced.
        let states = disk.crash_states(effort.states);
        count.exhaustive += usize::from(states.is_exhaustive());
        for (index, state) in states.step_by(effort.stride).enumerate() {
            count.states += 1;
            let lost = state.lost();
            let in_recovery = index < 3;
            let result = if in_recovery {
                recover_cut_off(&state, &before, &after, acknowledged, effort, &mut count)
            } else {
                Ok(())
            };
            result
                .and_then(|()| check(&state, &before, &after, acknowledged, &mut count))
                .map_err(|what| format!("power cut, {}: {what}; lost: {lost:#?}", step()))?;
        }
    }
    Ok(count)
}

/// Returns the calls before which a cut makes a difference: those that change something or make it durable, and the
/// end. A cut before a read-only call is equivalent to a cut before the next of these calls.
pub(crate) fn cuts(whole: &SimDisk, first: usize, calls: usize) -> Vec<usize> {
    let looks = ["open_", "stat", "list", "read_at", "xattrs", "lock", "epoch", "random"];
    let trace = whole.trace();
    let changes = |at: &usize| {
        trace.get(first + at).is_none_or(|call| !looks.iter().any(|look| call.starts_with(look)))
    };
    (0..=calls).filter(changes).collect()
}

fn call(whole: &SimDisk, at: usize) -> String {
    whole.trace().get(at).cloned().unwrap_or_else(|| "the end".to_owned())
}

/// Recovers a copy of `disk`, and checks that it is in its old or new state and that a second recovery has nothing to
/// do.
fn check(
    disk: &SimDisk,
    before: &Tree,
    after: &Tree,
    acknowledged: bool,
    count: &mut Count,
) -> Result<(), String> {
    let disk = disk.clone_deep();
    count.recoveries += 1;
    let workspace = open(&disk).map_err(|error| format!("recovery fails: {error}"))?;
    if let Some(recovery) = workspace.recovery()
        && !recovery.foreign.is_empty()
    {
        return Err(format!("recovery asks for a person: {recovery:?}"));
    }
    drop(workspace);
    let found = tree(&disk);
    if acknowledged && found != *after {
        return Err(format!("it was acknowledged and is lost: {}", difference(&found, after)));
    }
    if found != *before && found != *after {
        return Err(format!(
            "between before ({}) and after ({})",
            difference(&found, before),
            difference(&found, after)
        ));
    }
    let syncs = [Barrier::End, Barrier::Forget, Barrier::Checkpoint, Barrier::Rebuilt];
    let count_syncs = |disk: &SimDisk| syncs.map(|barrier| disk.syncs(barrier));
    let done = count_syncs(&disk);
    let again = open(&disk).map_err(|error| format!("a second recovery fails: {error}"))?;
    if again.recovery().is_some() || tree(&disk) != found || count_syncs(&disk) != done {
        return Err("a second recovery changes something".to_owned());
    }
    Ok(())
}

/// Also interrupts the recovery of `disk` at each of its calls.
fn recover_cut_off(
    disk: &SimDisk,
    before: &Tree,
    after: &Tree,
    acknowledged: bool,
    effort: Effort,
    count: &mut Count,
) -> Result<(), String> {
    if effort.states_in_recovery == 0 {
        return Ok(());
    }
    let whole = disk.clone_deep();
    let calls_before = whole.calls();
    drop(open(&whole).map_err(|error| format!("recovery fails: {error}"))?);
    let calls = whole.calls() - calls_before;
    for at in cuts(&whole, calls_before, calls) {
        let cut = disk.clone_deep();
        cut.kill_at(at);
        drop(open(&cut));
        let step = || format!("recovery cut off before its call {at}: {}", call(&whole, at));
        check(&cut, before, after, acknowledged, count)
            .map_err(|what| format!("killed, {}: {what}", step()))?;
        for state in cut.crash_states(effort.states_in_recovery).step_by(effort.stride) {
            count.states += 1;
            let lost = state.lost();
            check(&state, before, after, acknowledged, count)
                .map_err(|what| format!("power cut, {}: {what}; lost: {lost:#?}", step()))?;
        }
    }
    Ok(())
}

fn difference(found: &Tree, wanted: &Tree) -> String {
    let mut lines = Vec::new();
    for (path, node) in found {
        match wanted.get(path) {
            None => lines.push(format!("{path}: there is {node:?}, wanted nothing")),
            Some(wanted) if wanted != node => {
                lines.push(format!("{path}: there is {node:?}, wanted {wanted:?}"));
            }
            Some(_) => {}
        }
    }
    for (path, node) in wanted {
        if !found.contains_key(path) {
            lines.push(format!("{path}: there is nothing, wanted {node:?}"));
        }
    }
    lines.join("; ")
}
