//! Runs the external pipelines of a task one after the other, once its change is published (EX-9).

use actum_record::receipt::{ExternalPipeline, ExternalRun};
use actum_task::Action;
use actum_task::report::Phase;

use super::make::TaskObserver;
use crate::error::Result;
use crate::task::documents::clean;
use crate::task::external::{self, ExternalResult, NotedState};
use crate::task::rehearsal::{ActionEnd, RehearsalObserver, Rehearsed};

impl TaskObserver<'_, '_> {
    /// Runs the external pipelines of the task. The start and end of each pipeline are durably recorded, so that
    /// recovery can report both. If `held_back` gives a reason, none of the pipelines is started.
    pub(super) fn run_external(
        &mut self,
        pipelines: &[ExternalPipeline],
        held_back: Option<&str>,
    ) -> Vec<ExternalRun> {
        for pipeline in pipelines {
            let rehearsed: &[Rehearsed] = &self.rehearsed.actions;
            let deferred = rehearsed.iter().find(
                |it| matches!(&it.end, ActionEnd::Deferred(deferred) if deferred == pipeline),
            );
            let result = match deferred {
                None => ExternalResult::skipped(pipeline, None, String::new()),
                Some(deferred) => match self.reason_to_skip(deferred, held_back) {
                    Some(reason) => ExternalResult::skipped(pipeline, Some(deferred), reason),
                    None => self.run_one(pipeline, deferred),
                },
            };
            if let Some(action) = &result.action {
                self.desk.status.ended(action);
            }
            self.external.push(result);
        }
        self.external.iter().map(|result| result.run.clone()).collect()
    }

    fn run_one(&mut self, pipeline: &ExternalPipeline, deferred: &Rehearsed) -> ExternalResult {
        let skip = |reason: &dyn std::fmt::Display| {
            ExternalResult::skipped(pipeline, Some(deferred), reason.to_string())
        };
        let action = self.place.task.plan.actions.get(deferred.action);
        let (Some(action), Ok(Some(runner))) = (action, self.script.pipelines) else {
            return skip(&"no pipeline runner is configured");
        };
        // Without this record, recovery could not know that the pipeline was started.
        if let Err(error) = self.note(action, NotedState::Started) {
            return skip(&format_args!("The pipeline was not started: {error}"));
        }
        self.desk.status.began(deferred.action);
        let started = self.desk.status.now();
        let (ran, problem) = runner.execute_external(pipeline, external::time(self.script, action));
        let completed = self.desk.status.now();
        let executed = external::Executed { started, completed, ran, problem };
        let result = ExternalResult::executed(pipeline, deferred, executed);
        let outcome = result.action.as_ref().map(|it| self.place.task.outcome(it, &[]));
        let noted = outcome.map(|outcome| self.note(action, NotedState::Ended(outcome)));
        // The reports state the end of the pipeline too. Only if both are lost does recovery report the end as unknown.
        if let Some(Err(error)) = noted {
            let message = format!("failed to record the end of a pipeline: {error}");
            self.desk.status.note(Phase::Reporting, &message);
        }
        result
    }

    /// Durably records the state of the pipeline that an action runs.
    fn note(&mut self, action: &Action, state: NotedState) -> Result<()> {
        let id = clean(action.id.as_str());
        if let Some(noted) = self.notes.external.iter_mut().find(|it| it.action == id) {
            noted.state = state;
        }
        self.notes.keep_durably(&self.desk.mark)
    }

    fn reason_to_skip(&self, deferred: &Rehearsed, held_back: Option<&str>) -> Option<String> {
        if let Some(why) = held_back {
            return Some(format!("The pipeline was not started: {why}"));
        }
        // Check the files again before each pipeline, because another process may have changed one while an earlier
        // pipeline ran.
        if let Some(changed) = self.desk.changed_since(&self.rehearsed.effects).first() {
            return Some(format!("The pipeline was not started: {}", changed.message));
        }
        if self.desk.status.is_cancelled() {
            return Some(
                "The pipeline was not started: the task was cancelled after its change was published"
                    .to_owned(),
            );
        }
        let plan = &self.place.task.plan;
        let failed = self.external.iter().filter(|result| !result.succeeded());
        let mut failed = failed.filter_map(|result| result.action.as_ref().map(|it| it.action));
        let name = |index: usize| {
            plan.actions.get(index).map(|action: &Action| action.id.to_string()).unwrap_or_default()
        };
        let waits_for = self.script.graph.waits_for(deferred.action);
        if let Some(before) = failed.clone().find(|failed| waits_for.contains(failed)) {
            return Some(format!("Dependency failed: `{}`", name(before)));
        }
        let stops = plan.constraints(self.place.task.config.constraints).stop_on_error;
        let stopped_by = failed.next().filter(|_| stops);
        stopped_by.map(|by| format!("Stopped after the action `{}` failed", name(by)))
    }
}
