//! Forms that several documents share.

use actum_core::NAME_CHARS_MAX;
use actum_core::plain_id::ID_CHARS_MAX;
use actum_document::{Characters, Form, Text};

use crate::limits::SENTENCE_CHARS_MAX;

/// A [`PlainId`](actum_core::plain_id::PlainId).
pub(crate) const ID: Form = Form::Text(Text::filled(ID_CHARS_MAX, Characters::Id));
/// A tenant.
pub(crate) const TENANT: Form = Form::Text(Text::filled(64, Characters::Id));
/// A SHA-256 digest.
pub(crate) const DIGEST: Form = Form::Text(Text::filled(64, Characters::Sha256));
/// A digest, or nothing.
pub(crate) const DIGEST_OR_NULL: Form = Form::NullOr(&DIGEST);
/// A simulation, by the name of its action.
pub(crate) const SIMULATION: Form = Form::Text(Text::filled(NAME_CHARS_MAX, Characters::Name));
/// An action that access policies judge.
pub(crate) const ACCESS_ACTION: Form = Form::Text(Text::filled(128, Characters::OneLine));
/// One line for people.
pub(crate) const SENTENCE: Form = Form::Text(Text::filled(SENTENCE_CHARS_MAX, Characters::OneLine));
/// A permanent name in capitals.
pub(crate) const CODE: Form = Form::Text(Text::filled(64, Characters::Capitals));
