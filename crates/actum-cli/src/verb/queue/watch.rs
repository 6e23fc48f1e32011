//! `actum queue --watch`: prints an event for every plan or alert that is added to the queue, changed or removed.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use actum_api::queue::{Alert, QueueEvent, QueuedPlan};
use actum_core::RunId;

use super::{alerts, listed, waiting};
use crate::failure::Failure;
use crate::ledger_queue::Queue;
use crate::output::Document;
use crate::style::{self, Painted};
use crate::verb::Session;

/// Interval between two reads of the ledger.
const INTERVAL: Duration = Duration::from_secs(1);

/// Watches the queue until the process is ended or standard output is closed.
pub(super) fn run(session: &Session) -> Result<(), Failure> {
    let mut known: BTreeMap<RunId, QueuedPlan> = BTreeMap::new();
    let mut alerts: Vec<Alert> = Vec::new();
    loop {
        let queue = Queue::open(&session.tenant)?;
        let now: BTreeMap<RunId, QueuedPlan> =
            waiting(queue.as_ref())?.into_iter().map(|line| (line.plan, line)).collect();
        for &plan in known.keys().filter(|plan| !now.contains_key(plan)) {
            if !session.screen.show_next(&QueueEvent::Gone { plan })? {
                return Ok(());
            }
        }
        for line in now.values().filter(|line| known.get(&line.plan) != Some(line)) {
            if !session.screen.show_next(&QueueEvent::Waits(line.clone()))? {
                return Ok(());
            }
        }
        known = now;
        let open = alerts::waiting(queue.as_ref())?;
        let gone = alerts.iter().filter(|alert| !open.contains(alert));
        let gone = gone.map(|alert| QueueEvent::Seen { alert: alert.alert });
        let raised =
            open.iter().filter(|alert| !alerts.contains(alert)).cloned().map(QueueEvent::Alert);
        for event in gone.chain(raised) {
            if !session.screen.show_next(&event)? {
                return Ok(());
            }
        }
        alerts = open;
        drop(queue);
        thread::sleep(INTERVAL);
    }
}

impl Document for QueueEvent {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Waits(line) => listed::write(line, out),
            Self::Alert(line) => alerts::write(line, out),
            Self::Seen { alert } => writeln!(out, "alert {alert}  marked as seen"),
            Self::Gone { plan } => {
                writeln!(out, "{}  no longer pending", Painted(style::RUN, plan))
            }
        }
    }
}
