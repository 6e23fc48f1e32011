//! The lexicon and helper functions shared by the confirmation tests.

use std::sync::LazyLock;

use actum_agent::confirmation::{AmbiguousReason, Answer, LanguageTag, Lexicon, parse};

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::built_in().unwrap());

pub(crate) fn lexicon() -> &'static Lexicon {
    &LEXICON
}

pub(crate) fn tag(text: &str) -> LanguageTag {
    LanguageTag::new(text).unwrap()
}

pub(crate) fn answer(language: &str, utterance: &str) -> Answer {
    parse(lexicon(), &tag(language), utterance)
}

pub(crate) fn confirmed(token: &str) -> Answer {
    Answer::Confirmed { token: token.to_owned() }
}

pub(crate) fn rejected(token: &str) -> Answer {
    Answer::Rejected { token: token.to_owned() }
}

pub(crate) fn ambiguous(why: AmbiguousReason) -> Answer {
    Answer::Ambiguous { why }
}
