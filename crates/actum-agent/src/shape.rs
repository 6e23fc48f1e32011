//! Forms of values that several documents of the agent core share.

use actum_core::NAME_CHARS_MAX;
use actum_core::plain_id::ID_CHARS_MAX;
use actum_document::{Characters, Form, Text};

use crate::limits::SENTENCE_CHARS_MAX;

/// Form of a [`PlainId`](actum_core::plain_id::PlainId).
pub(crate) const ID: Form = Form::Text(Text::filled(ID_CHARS_MAX, Characters::Id));
/// Form of a tenant name.
pub(crate) const TENANT: Form = Form::Text(Text::filled(64, Characters::Id));
/// Form of a SHA-256 digest in hexadecimal.
pub(crate) const DIGEST: Form = Form::Text(Text::filled(64, Characters::Sha256));
/// Form of a SHA-256 digest that may be `null`.
pub(crate) const DIGEST_OR_NULL: Form = Form::NullOr(&DIGEST);
/// Form of a simulation name, which is the name of its action.
pub(crate) const SIMULATION: Form = Form::Text(Text::filled(NAME_CHARS_MAX, Characters::Name));
/// Form of an action name that the access policies decide on.
pub(crate) const ACCESS_ACTION: Form = Form::Text(Text::filled(128, Characters::OneLine));
/// Form of a single line of text that is shown to users.
pub(crate) const SENTENCE: Form = Form::Text(Text::filled(SENTENCE_CHARS_MAX, Characters::OneLine));
/// Form of a permanent code in capital letters.
pub(crate) const CODE: Form = Form::Text(Text::filled(64, Characters::Capitals));
