//! Lifecycle of a work item, which is either a run or an operation that makes a run (an action, a task, or the rollback of a
//! task).
//!
//! All state transitions are defined in [`next`]. The ledger uses them to accept entries about runs only in a valid order,
//! and verification checks that order again. Recovery uses them to determine the outcome of interrupted work.
//!
//! ```text
//!       Start          StartRun            EndRun, End               Record
//!  New ───────► Begun ──────────► Changing ────────────► Ended(s) ──────────► Recorded(s)
//!   │            │ ▲               ▲ │  │                  ▲ ▲                     ▲
//!   └────────────┼─┼───────────────┘ │  │ Record           │ │                     │
//!     StartRun   │ └─────────────────┘  └──► Unsettled ────┘ │                     │
//!                │  EndRun(not in effect)            │ EndRun │     EndRun(Failed)  │
//!                │                                   └────────┼────────────────────┘
//!                └────────────────────────────────────────────┘
//!                   End, CutOff
//! ```
//!
//! A run that is recorded as started may change files immediately. It therefore moves from `New` directly to `Changing`, and
//! only the workspace's journal knows how it ended. An operation that makes a run can begin before its effects become visible.
//! It returns to `Begun` if its run ends without taking effect. Rejected work has no lifecycle, because only the rejection is
//! recorded.

use actum_core::Status;

/// State of a work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is no record that the work began.
    New,
    /// The work began, but none of its changes are visible yet.
    Begun,
    /// The run is recorded as started, so files may already be changed.
    Changing,
    /// The work was reported before the outcome of its run was known.
    Unsettled,
    /// The work ended with this status, but the outcome is not recorded yet.
    Ended(Status),
    /// The work ended with this status, and the outcome is recorded.
    Recorded(Status),
}

/// Event in the lifecycle of a work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The work begins. It has not executed anything yet.
    Start,
    /// The run begins. This is either the work item itself or the run that it makes.
    StartRun,
    /// The run that the work makes ended with this status.
    EndRun(Status),
    /// The work itself ended with this status.
    End(Status),
    /// The process was interrupted. If the journal knows the outcome of the run, that was already applied as [`Event::EndRun`].
    CutOff,
    /// The outcome was recorded or reported.
    Record,
}

/// Error for an event that is not possible in the current state of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the event {event:?} is not possible in the state {state:?}")]
pub struct OutOfOrder {
    /// State of the work before the event.
    pub state: State,
    /// Event that is not possible.
    pub event: Event,
}

/// Returns the state that follows from an event in the given state.
///
/// # Errors
/// Returns [`OutOfOrder`] if the event is not possible in this state.
pub fn next(state: State, event: Event) -> Result<State, OutOfOrder> {
    use Event::{CutOff, End, EndRun, Record, Start, StartRun};
    use State::{Begun, Changing, Ended, New, Recorded, Unsettled};
    use Status::{Failed, Queued, Rejected, Reverted, Succeeded};
    Ok(match (state, event) {
        (New, Start) => Begun,
        (New | Begun, StartRun) => Changing,
        (Begun | Changing, End(status)) => Ended(status),
        (Changing, EndRun(status @ (Succeeded | Failed))) => Ended(status),
        // The work can start another run, or end without one.
        (Changing, EndRun(Reverted | Rejected | Queued)) => Begun,
        // The outcome was reported as unknown, so recovery reports the actual outcome.
        (Unsettled, EndRun(Succeeded)) => Ended(Succeeded),
        (Unsettled, EndRun(Reverted | Rejected | Queued)) => Ended(Reverted),
        (Unsettled, EndRun(Failed)) => Recorded(Failed),
        // Effects that were not visible yet are lost with the process.
        (Begun, CutOff) => Ended(Reverted),
        (New | Changing | Unsettled | Ended(_) | Recorded(_), CutOff) => state,
        (Changing, Record) => Unsettled,
        (Ended(status), Record) => Recorded(status),
        (Begun | Changing | Unsettled | Ended(_) | Recorded(_), Start)
        | (Changing | Unsettled | Ended(_) | Recorded(_), StartRun)
        | (New | Begun | Ended(_) | Recorded(_), EndRun(_))
        | (New | Unsettled | Ended(_) | Recorded(_), End(_))
        | (New | Begun | Unsettled | Recorded(_), Record) => {
            return Err(OutOfOrder { state, event });
        }
    })
}

/// Returns the state of a work item after the given events, starting from [`State::New`].
///
/// # Errors
/// Returns [`OutOfOrder`] for the first event that is not possible.
pub fn after(events: impl IntoIterator<Item = Event>) -> Result<State, OutOfOrder> {
    events.into_iter().try_fold(State::New, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events() -> Vec<Event> {
        let ends = Status::ALL.into_iter().flat_map(|s| [Event::EndRun(s), Event::End(s)]);
        ends.chain([Event::Start, Event::StartRun, Event::CutOff, Event::Record]).collect()
    }

    /// Returns all reachable states, each with a sequence of events that leads to it.
    fn reachable() -> Vec<(State, Vec<Event>)> {
        let mut found = vec![(State::New, Vec::new())];
        let mut at = 0;
        while let Some((state, path)) = found.get(at).cloned() {
            for event in events() {
                let Ok(to) = next(state, event) else { continue };
                if !found.iter().any(|(known, _)| *known == to) {
                    found.push((to, path.iter().copied().chain([event]).collect()));
                }
            }
            at += 1;
        }
        found
    }

    /// AEC-8, AA-13, EX-13: wherever work is interrupted, the next process can record its outcome exactly once.
    #[test]
    fn recovery_from_any_state_records_exactly_one_outcome() {
        let states = reachable();
        assert_eq!(states.len(), 4 + 2 * Status::ALL.len());
        for (state, path) in states {
            for journal in Status::ALL {
                // For a started run, the journal knows the outcome.
                let known = match state {
                    State::Changing | State::Unsettled => {
                        next(state, Event::EndRun(journal)).unwrap()
                    }
                    State::New | State::Begun | State::Ended(_) | State::Recorded(_) => state,
                };
                let cut_off = next(known, Event::CutOff).unwrap();
                match cut_off {
                    State::New => assert_eq!(path, [], "work that never began is not recorded"),
                    State::Ended(status) => {
                        let recorded = next(cut_off, Event::Record).unwrap();
                        assert_eq!(recorded, State::Recorded(status), "{path:?}");
                    }
                    State::Recorded(_) => {}
                    State::Begun | State::Changing | State::Unsettled => {
                        panic!("{path:?}: {cut_off:?}")
                    }
                }
            }
        }
    }

    /// AEC-8: a change that is in effect is never recorded as rolled back, and a rolled back change is never recorded as in
    /// effect.
    #[test]
    fn recorded_outcome_matches_the_effect_of_the_run() {
        for started in [vec![Event::Start, Event::StartRun], vec![Event::StartRun]] {
            for recorded in [vec![], vec![Event::Record]] {
                for status in Status::ALL {
                    let end = [Event::EndRun(status), Event::CutOff];
                    let events = started.iter().chain(&recorded).chain(&end).copied();
                    let state = after(events).unwrap();
                    let (State::Ended(in_effect) | State::Recorded(in_effect)) = state else {
                        panic!("{state:?}")
                    };
                    let expected = match status {
                        Status::Succeeded | Status::Failed => status,
                        Status::Reverted | Status::Rejected | Status::Queued => Status::Reverted,
                    };
                    assert_eq!(in_effect, expected, "{started:?} {recorded:?} {status:?}");
                }
            }
        }
    }

    /// AEC-8: an outcome is recorded only once, and no other event can follow.
    #[test]
    fn no_event_follows_a_recorded_outcome() {
        for status in Status::ALL {
            for event in events().into_iter().filter(|event| *event != Event::CutOff) {
                let state = State::Recorded(status);
                assert_eq!(next(state, event), Err(OutOfOrder { state, event }));
            }
        }
    }

    /// AEC-8: work that never began cannot end.
    #[test]
    fn work_that_never_started_cannot_end() {
        for status in Status::ALL {
            for event in [Event::End(status), Event::EndRun(status), Event::Record] {
                assert_eq!(after([event]), Err(OutOfOrder { state: State::New, event }));
            }
        }
    }

    /// AEC-8: an interruption does not determine the outcome of a started run, because only the journal knows it.
    #[test]
    fn interruption_does_not_end_a_run_that_changes_files() {
        for state in [State::Changing, State::Unsettled] {
            assert_eq!(next(state, Event::CutOff), Ok(state));
        }
    }
}
