//! Request documents, in which the request of a queued plan is stored until the plan is carried out.

use std::borrow::Cow;
use std::collections::BTreeMap;

use actum_core::canonical::{self, CanonicalError};
use actum_core::{RiskTier, json};
use actum_gate::{DocumentError, document};
use actum_record::ledger::{Actor, RequestKey};
use actum_workspace::Limits;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::task::TaskDocuments;

use super::{Commands, EntryPoint, FileTask, Request, RequestLease, RequestedAction, Work};

/// Serialized form of a request.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'r> {
    format: Cow<'r, str>,
    work: Cow<'r, Work>,
    limits: Cow<'r, Limits>,
    #[serde(deserialize_with = "Option::deserialize")]
    label: Option<Cow<'r, str>>,
    actor: Cow<'r, Actor>,
    door: EntryPoint,
    #[serde(deserialize_with = "Option::deserialize")]
    key: Option<Cow<'r, RequestKey>>,
    #[serde(deserialize_with = "Option::deserialize")]
    declared: Option<RiskTier>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commands: Option<Cow<'r, Commands>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<Cow<'r, RequestedAction>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<Cow<'r, TaskDocuments>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<Cow<'r, RequestLease>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_task: Option<Cow<'r, FileTask>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    umask: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sql_rows: Option<u64>,
}

impl Request {
    /// Value of the `format` field in request documents.
    pub const FORMAT: &str = "actum.request/2";

    /// Serializes the request as canonical JSON, without the fields `plan`, `part_of`, `queries`, `images` and `wait`.
    ///
    /// # Errors
    /// Returns `Number` if a limit exceeds 2^53 − 1, or `Syntax` if the document would contain more values than the reader
    /// accepts ([`json::VALUES_MAX`]).
    pub fn to_document(&self) -> Result<Vec<u8>, CanonicalError> {
        let Self {
            work,
            limits,
            label,
            actor,
            entry_point,
            key,
            declared,
            commands,
            action,
            task,
            lease,
            file_task,
            umask,
            sql_rows,
            queries: _,
            images: _,
            plan: _,
            part_of: _,
            wait: _,
        } = self;
        let document = Document {
            format: Cow::Borrowed(Self::FORMAT),
            work: Cow::Borrowed(work),
            limits: Cow::Borrowed(limits),
            label: label.as_deref().map(Cow::Borrowed),
            actor: Cow::Borrowed(actor),
            door: *entry_point,
            key: key.as_ref().map(Cow::Borrowed),
            declared: *declared,
            commands: (*commands != Commands::default()).then_some(Cow::Borrowed(commands)),
            action: action.as_deref().map(Cow::Borrowed),
            task: task.as_ref().map(Cow::Borrowed),
            lease: lease.as_ref().map(Cow::Borrowed),
            file_task: file_task.as_ref().map(Cow::Borrowed),
            umask: *umask,
            sql_rows: *sql_rows,
        };
        let bytes = canonical::to_vec(&document)?;
        json::within_limits(&bytes).map_err(|source| CanonicalError::Syntax { source })?;
        Ok(bytes)
    }

    /// Parses a document that was written by [`Self::to_document`]. Omitted fields get their default values, so the request
    /// does not wait.
    ///
    /// # Errors
    /// Returns [`DocumentError`] if the document is malformed or has another format version.
    pub fn read_document(bytes: &[u8]) -> Result<Self, DocumentError> {
        let version = |value: &Value| document::format_of(value).to_owned();
        let read: Document<'static> =
            document::read("the request", bytes, version, Self::FORMAT.to_owned())?;
        let Document {
            format: _,
            work,
            limits,
            label,
            actor,
            door,
            key,
            declared,
            commands,
            action,
            task,
            lease,
            file_task,
            umask,
            sql_rows,
        } = read;
        Ok(Self {
            work: work.into_owned(),
            limits: limits.into_owned(),
            label: label.map(Cow::into_owned),
            actor: actor.into_owned(),
            entry_point: door,
            key: key.map(Cow::into_owned),
            declared,
            plan: None,
            part_of: None,
            commands: commands.map(Cow::into_owned).unwrap_or_default(),
            action: action.map(|action| Box::new(action.into_owned())),
            task: task.map(Cow::into_owned),
            lease: lease.map(Cow::into_owned),
            file_task: file_task.map(Cow::into_owned),
            umask,
            sql_rows,
            queries: Vec::new(),
            images: BTreeMap::new(),
            wait: false,
        })
    }
}

#[cfg(test)]
mod tests;
