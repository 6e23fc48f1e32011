//! Reads the documents of a task from the files that the command line or the envelope names.

use std::path::Path;

use actum::task::{TaskInput, Unread, read_document};
use actum_core::RelPath;
use actum_task::limits::{
    APPROVAL_BYTES_MAX, CONFIG_BYTES_MAX, ENVELOPE_BYTES_MAX, PLAN_BYTES_MAX,
};
use actum_task::{TaskEnvelope, TaskId};

use super::Arguments;
use crate::failure::Failure;
use crate::input;

impl Arguments {
    /// Reads the documents of the task. An envelope file that cannot be read is an error of the command; all other problems
    /// are returned as [`Unread`], for the report of the task.
    pub(super) fn read(&self, start: &Path) -> Result<Result<TaskInput, Unread>, Failure> {
        let Some(file) = &self.envelope else { return self.without_envelope(start).map(Ok) };
        let (_, bytes) = input::document(file, start, ENVELOPE_BYTES_MAX)?;
        let envelope = match TaskEnvelope::read(&bytes) {
            Ok(envelope) => envelope,
            Err(error) => return Ok(Err(Unread::of_envelope(&error, &bytes))),
        };
        let file = start.join(file);
        let beside = file.parent().unwrap_or(start);
        Ok(of_envelope(envelope, beside))
    }

    fn without_envelope(&self, start: &Path) -> Result<TaskInput, Failure> {
        let read = |file: &Option<std::path::PathBuf>, max| match file {
            Some(file) => input::document(file, start, max).map(|(_, bytes)| Some(bytes)),
            None => Ok(None),
        };
        Ok(TaskInput {
            envelope: None,
            plan: read(&self.plan, PLAN_BYTES_MAX)?.unwrap_or_default(),
            config: read(&self.config, CONFIG_BYTES_MAX)?.unwrap_or_default(),
            approval: read(&self.approval, APPROVAL_BYTES_MAX)?,
        })
    }
}

/// Reads the documents that an envelope names, relative to the directory of the envelope.
fn of_envelope(envelope: TaskEnvelope, beside: &Path) -> Result<TaskInput, Unread> {
    let task = envelope.task.clone();
    let read = |file: &RelPath, max| document(&task, beside, file, max);
    let plan = read(&envelope.plan.file, PLAN_BYTES_MAX)?;
    let config = read(&envelope.config.file, CONFIG_BYTES_MAX)?;
    let approval = envelope.approval.as_ref().map(|file| read(file, APPROVAL_BYTES_MAX));
    let approval = approval.transpose()?;
    Ok(TaskInput { envelope: Some(envelope), plan, config, approval })
}

fn document(task: &TaskId, beside: &Path, file: &RelPath, max: usize) -> Result<Vec<u8>, Unread> {
    read_document(beside, file, max).map_err(|error| {
        let why = format!("cannot read `{file}`, which the envelope names: {error}");
        Unread::of_file(Some(task), &why)
    })
}
