//! Forms shared by several documents.

use actum_core::NAME_CHARS_MAX;
use actum_core::plain_id::ID_CHARS_MAX;
use actum_document::{Characters, Form, Text};

use crate::limits::SENTENCE_CHARS_MAX;

/// Form of a [`PlainId`](actum_core::plain_id::PlainId).
pub(crate) const ID: Form = Form::Text(Text::filled(ID_CHARS_MAX, Characters::Id));
/// Form of a tenant.
pub(crate) const TENANT: Form = Form::Text(Text::filled(64, Characters::Id));
/// Form of a SHA-256 digest.
pub(crate) const DIGEST: Form = Form::Text(Text::filled(64, Characters::Sha256));
/// Form of a digest, or `null`.
pub(crate) const DIGEST_OR_NULL: Form = Form::NullOr(&DIGEST);
/// Form of a simulation, by the name of its action.
pub(crate) const SIMULATION: Form = Form::Text(Text::filled(NAME_CHARS_MAX, Characters::Name));
/// Form of an action that access policies judge.
pub(crate) const ACCESS_ACTION: Form = Form::Text(Text::filled(128, Characters::OneLine));
/// Form of one line for users.
pub(crate) const SENTENCE: Form = Form::Text(Text::filled(SENTENCE_CHARS_MAX, Characters::OneLine));
/// Form of a permanent name in capitals.
pub(crate) const CODE: Form = Form::Text(Text::filled(64, Characters::Capitals));
