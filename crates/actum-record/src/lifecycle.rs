//! The lifecycle of work: of a run, and of what makes one (an action, a task, the rollback of a task).
//!
//! [`next`] is the only table of what may follow what. The ledger takes the entries of runs in its order, verification
//! reads them in its order, and recovery finds by it how work ended that was cut off.
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
//! A run is announced and changes files at once, so it goes from `New` to `Changing`, and only the journal of the workspace
//! knows how it ended. Work that makes a run can begin before, before its effects are visible; a run of it that is not in
//! effect leaves it begun. Rejected work has no lifecycle: only the rejection is recorded.

use actum_core::Status;

/// State of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing says that it began.
    New,
    /// The work began. No change is visible yet.
    Begun,
    /// Its run is recorded as started: files may be changed.
    Changing,
    /// The work was reported while the end of its run was not known.
    Unsettled,
    /// The work ended with this status, which is not recorded yet.
    Ended(Status),
    /// The outcome is recorded.
    Recorded(Status),
}

/// Event in the life of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The work begins, before it runs anything.
    Start,
    /// A run begins: this one, or the run that the work makes.
    StartRun,
    /// The run that the work makes ended so.
    EndRun(Status),
    /// The work ends by itself with this status.
    End(Status),
    /// Its process is gone, and the end of its run is known if it can be.
    CutOff,
    /// The outcome is recorded, or reported.
    Record,
}

/// An event that cannot happen to work in this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("work in the state {state:?} cannot have the event {event:?}")]
pub struct OutOfOrder {
    /// The state.
    pub state: State,
    /// The event.
    pub event: Event,
}

/// Finds the state after an event.
///
/// # Errors
/// [`OutOfOrder`] where the event cannot follow.
pub fn next(state: State, event: Event) -> Result<State, OutOfOrder> {
    use Event::{CutOff, End, EndRun, Record, Start, StartRun};
    use State::{Begun, Changing, Ended, New, Recorded, Unsettled};
    use Status::{Failed, Queued, Rejected, Reverted, Succeeded};
    Ok(match (state, event) {
        (New, Start) => Begun,
        (New | Begun, StartRun) => Changing,
        (Begun | Changing, End(status)) => Ended(status),
        (Changing, EndRun(status @ (Succeeded | Failed))) => Ended(status),
        // The work can try again, or end without a run.
        (Changing, EndRun(Reverted | Rejected | Queued)) => Begun,
        // The report said that the end is unknown; recovery reports it again.
        (Unsettled, EndRun(Succeeded)) => Ended(Succeeded),
        (Unsettled, EndRun(Reverted | Rejected | Queued)) => Ended(Reverted),
        (Unsettled, EndRun(Failed)) => Recorded(Failed),
        // Effects that were not visible yet are gone with the process.
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

/// Finds the state after events, from the beginning.
///
/// # Errors
/// [`OutOfOrder`] of the first event that cannot follow.
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

    /// All states that some events lead to, each with the events.
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

    /// AEC-8, AA-13, EX-13: wherever work is cut off, the next process can record how it ended, once.
    #[test]
    fn from_every_state_a_recovery_leads_to_one_record() {
        let states = reachable();
        assert_eq!(states.len(), 4 + 2 * Status::ALL.len());
        for (state, path) in states {
            for journal in Status::ALL {
                // What the journal knows of a run that was started.
                let known = match state {
                    State::Changing | State::Unsettled => {
                        next(state, Event::EndRun(journal)).unwrap()
                    }
                    State::New | State::Begun | State::Ended(_) | State::Recorded(_) => state,
                };
                let cut_off = next(known, Event::CutOff).unwrap();
                match cut_off {
                    State::New => assert_eq!(path, [], "nothing is told of what never began"),
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

    /// AEC-8: a change that is in effect is never reported as one that was rolled back, and the other way
    /// round.
    #[test]
    fn what_a_run_left_is_what_is_recorded() {
        for started in [vec![Event::Start, Event::StartRun], vec![Event::StartRun]] {
            for told in [vec![], vec![Event::Record]] {
                for status in Status::ALL {
                    let end = [Event::EndRun(status), Event::CutOff];
                    let events = started.iter().chain(&told).chain(&end).copied();
                    let state = after(events).unwrap();
                    let (State::Ended(in_effect) | State::Recorded(in_effect)) = state else {
                        panic!("{state:?}")
                    };
                    let expected = match status {
                        Status::Succeeded | Status::Failed => status,
                        Status::Reverted | Status::Rejected | Status::Queued => Status::Reverted,
                    };
                    assert_eq!(in_effect, expected, "{started:?} {told:?} {status:?}");
                }
            }
        }
    }

    /// AEC-8: an end is recorded once, and nothing follows it.
    #[test]
    fn nothing_follows_a_record() {
        for status in Status::ALL {
            for event in events().into_iter().filter(|event| *event != Event::CutOff) {
                let state = State::Recorded(status);
                assert_eq!(next(state, event), Err(OutOfOrder { state, event }));
            }
        }
    }

    /// AEC-8: an end needs a beginning.
    #[test]
    fn what_never_began_does_not_end() {
        for status in Status::ALL {
            for event in [Event::End(status), Event::EndRun(status), Event::Record] {
                assert_eq!(after([event]), Err(OutOfOrder { state: State::New, event }));
            }
        }
    }

    /// AEC-8: while the end of a run is not known, only the journal can show it.
    #[test]
    fn a_run_that_changes_files_is_not_ended_by_being_cut_off() {
        for state in [State::Changing, State::Unsettled] {
            assert_eq!(next(state, Event::CutOff), Ok(state));
        }
    }
}
