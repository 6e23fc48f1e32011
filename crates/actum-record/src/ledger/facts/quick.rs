//! Fast path that derives the facts of the most common entries without deserializing them completely. It supports entries in
//! canonical JSON whose fields are known to this version.
//!
//! INVARIANT: if the fast path returns facts, they equal those of the slow path. For any unusual entry, valid or not, the
//! fast path returns `None`, and the slow path then handles the entry or reports its problem. Therefore, nothing in this
//! module needs an error message.

use actum_core::{Digest, RiskTier, RunId, Status, Timestamp};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use multiversion::multiversion;

use super::{EntryFacts, EntryKind};
use crate::ledger::{EffectStarted, RequestKey, TenantId, WorkspaceId};
use crate::receipt::{PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE};

/// Maximum nesting depth of skipped values.
const DEPTH_MAX: usize = 16;

/// Derives the facts from the bytes of an ordinary entry. Returns `None` if only the slow path can handle the entry.
pub(super) fn parse(kind: EntryKind, body: &[u8]) -> Option<EntryFacts> {
    match kind {
        EntryKind::LogStarted
        | EntryKind::KeyRotated
        | EntryKind::PlanRefused
        | EntryKind::PlanQueued
        | EntryKind::PlanAnswered
        | EntryKind::ActionStarted
        | EntryKind::ActionEnded
        | EntryKind::CatalogChanged
        | EntryKind::AlertRaised
        | EntryKind::AlertSeen
        | EntryKind::HistoryForgotten
        | EntryKind::LeaseGranted
        | EntryKind::LeaseRevoked
        | EntryKind::FileTaskStarted
        | EntryKind::FileTaskEnded
        | EntryKind::AgentExecution
        | EntryKind::AgentAccessDecided
        | EntryKind::AgentConfirmation
        | EntryKind::IntakeResolved
        | EntryKind::SloWaived => None,
        EntryKind::EffectStarted => started(body),
        EntryKind::EffectDone => done(body),
    }
}

/// Derives the facts of an [`EffectStarted`] entry, whose members and their order are all known.
fn started(body: &[u8]) -> Option<EntryFacts> {
    let mut at = Cursor { rest: body };
    // Only a run that is part of an action has this member.
    let of_action = at.pass(br#"{"action":"#);
    if of_action.is_some() {
        RunId::from_text(at.plain()?)?;
    }
    at.pass(if of_action.is_some() { b"," } else { b"{" })?;
    at.pass(br#""actor":{"agent":"#)?;
    at.text_or_null()?;
    at.pass(br#","uid":"#)?;
    u32::try_from(at.number()?).ok()?;
    at.pass(br#","user":"#)?;
    at.text()?;
    // Runs that needed an approval are rare, so they are left to the slow path.
    at.pass(br#"},"approval":null,"attempt":"#)?;
    let attempt = u32::try_from(at.number()?).ok()?;
    at.pass(br#","change":"#)?;
    at.digest()?;
    at.pass(br#","decision":{"bundle":"#)?;
    let bundle = at.digest()?;
    at.pass(br#","digest":"#)?;
    at.digest()?;
    at.pass(br#","gates":"#)?;
    at.elements(Cursor::gate)?;
    at.pass(br#","semantics":"#)?;
    u32::try_from(at.number()?).ok()?;
    at.pass(br#","tier":"#)?;
    parsed::<RiskTier>(at.plain()?)?;
    at.pass(br#"},"door":"#)?;
    at.text()?;
    at.pass(br#","engine":"#)?;
    at.text()?;
    at.pass(br#","format":"#)?;
    at.word(EffectStarted::FORMAT)?;
    at.pass(br#","label":"#)?;
    at.text()?;
    at.pass(br#","place":"#)?;
    at.number()?;
    at.pass(br#","plan":"#)?;
    at.digest()?;
    at.pass(br#","policy":"#)?;
    let policy = at.digest()?;
    // Only an adopted run has this member.
    let _named = at.pass(br#","published_by":"client""#);
    at.pass(br#","request":"#)?;
    let request = at.plain_or_null()?.map(parsed::<RequestKey>);
    // Only the run of a task has this member.
    if at.pass(br#","rollback_files":{"manifest":"#).is_some() {
        at.digest()?;
        if at.pass(br#","outcomes":"#).is_some() {
            at.digest()?;
        }
        at.pass(br#","script":"#)?;
        at.digest()?;
        at.pass(b"}")?;
    }
    at.pass(br#","root":"#)?;
    at.text()?;
    at.pass(br#","run":"#)?;
    let run = RunId::from_text(at.plain()?)?;
    at.pass(br#","tenant":"#)?;
    parsed::<TenantId>(at.plain()?)?;
    at.pass(br#","time":"#)?;
    let time = Timestamp::from_text(at.plain()?)?;
    at.pass(br#","undoes":"#)?;
    let undoes = match at.plain_or_null()? {
        Some(undoes) => Some(RunId::from_text(undoes)?),
        None => None,
    };
    at.pass(br#","workspace":"#)?;
    let workspace = WorkspaceId::new(RunId::from_text(at.plain()?)?);
    at.pass(b"}")?;
    at.end()?;
    let request = match request {
        Some(request) => Some((request?, attempt)),
        None => None,
    };
    Some(EntryFacts {
        kind: EntryKind::EffectStarted,
        time,
        run: Some(run),
        plan: None,
        judged: None,
        workspace: Some(workspace),
        undoes,
        request,
        status: None,
        answer: None,
        follows: None,
        lease: None,
        file_task: None,
        agent: None,
        tenant: None,
        blobs: vec![bundle, policy],
    })
}

/// Derives the facts of a receipt in its envelope. Both may have members that this version does not know.
fn done(body: &[u8]) -> Option<EntryFacts> {
    let (mut payload, mut payload_type) = (None, None);
    let mut at = Cursor { rest: body };
    at.members(|name, at| {
        match name {
            b"payload" => payload = Some(at.base64()?),
            b"payloadType" => payload_type = Some(at.word(PAYLOAD_TYPE)?),
            _ => at.value(DEPTH_MAX)?,
        }
        Some(())
    })?;
    at.end()?;
    payload_type?;
    receipt(&decoded(payload?)?)
}

fn receipt(payload: &[u8]) -> Option<EntryFacts> {
    let (mut kind, mut predicate_type) = (None, None);
    let (mut run, mut workspace, mut status, mut settled, mut intent) =
        (None, None, None, None, None);
    let mut at = Cursor { rest: payload };
    at.members(|name, at| {
        match name {
            b"_type" => kind = Some(at.word(STATEMENT_TYPE)?),
            b"predicateType" => predicate_type = Some(at.word(PREDICATE_TYPE)?),
            b"predicate" => at.members(|name, at| {
                match name {
                    b"intent" => intent = Some(at.intent()?),
                    b"run" => run = Some(RunId::from_text(at.plain()?)?),
                    b"settled" => settled = Some(Timestamp::from_text(at.plain()?)?),
                    b"status" => status = Some(at.status()?),
                    b"workspace" => {
                        workspace = Some(WorkspaceId::new(RunId::from_text(at.plain()?)?));
                    }
                    _ => at.value(DEPTH_MAX)?,
                }
                Some(())
            })?,
            _ => at.value(DEPTH_MAX)?,
        }
        Some(())
    })?;
    at.end()?;
    kind.and(predicate_type)?;
    Some(EntryFacts {
        kind: EntryKind::EffectDone,
        time: settled?,
        run: Some(run?),
        plan: None,
        judged: None,
        workspace: Some(workspace?),
        undoes: None,
        request: None,
        status: Some(status?),
        answer: None,
        follows: Some(intent?),
        lease: None,
        file_task: None,
        agent: None,
        tenant: None,
        blobs: Vec::new(),
    })
}

/// Decodes base64. Returns `None` if padding is missing or the unused bits of the last character are not zero (RFC 4648,
/// section 3.5).
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    // Only the last group of four characters may contain padding.
    let (text, last) = text.split_at_checked(text.len().checked_sub(4)?)?;
    let mut bytes = vec![0; text.len() / 4 * 3];
    if !text.len().is_multiple_of(4) || !decode(text, &mut bytes) {
        return None;
    }
    bytes.extend(STANDARD.decode(last).ok()?);
    Some(bytes)
}

/// Decodes each group of four base64 characters to three bytes. Returns whether all characters are valid. The characters are
/// first converted to 6-bit numbers and then combined, so that the compiler can vectorize both loops.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn decode(text: &[u8], bytes: &mut [u8]) -> bool {
    let mut sextets = [0; 128];
    let mut all = 0;
    for (bytes, text) in bytes.chunks_mut(96).zip(text.chunks(128)) {
        for (sextet, character) in sextets.iter_mut().zip(text) {
            *sextet = sextet_of(*character);
            all |= *sextet;
        }
        let fours = sextets.as_chunks::<4>().0;
        for (three, [a, b, c, d]) in bytes.as_chunks_mut::<3>().0.iter_mut().zip(fours) {
            *three = [(a << 2) | (b >> 4), (b << 4) | (c >> 2), (c << 6) | d];
        }
    }
    all < 64
}

/// Returns the 6-bit value of a base64 character, or 255 if the character is invalid.
#[inline(always)]
fn sextet_of(character: u8) -> u8 {
    match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => 0xff,
    }
}

fn parsed<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Cursor over the remaining bytes of an entry. After a method has returned `None`, the position is unspecified.
struct Cursor<'b> {
    rest: &'b [u8],
}

impl<'b> Cursor<'b> {
    /// Skips the expected bytes. Returns `None` if the input continues differently.
    fn pass(&mut self, expected: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    /// Skips the expected byte if it comes next, and returns whether it did.
    fn passes(&mut self, expected: u8) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == expected => {
                self.rest = rest;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Returns `None` unless the end of the input is reached.
    fn end(&self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }

    /// Reads a string. Returns its raw content without quotes, and whether the content has escapes, which are not decoded.
    fn written(&mut self) -> Option<(&'b [u8], bool)> {
        self.pass(b"\"")?;
        let from = self.rest;
        let (mut is_ascii, mut has_escapes) = (true, false);
        loop {
            let (plain, special) = plain_bytes(self.rest);
            self.rest = self.rest.get(plain..)?;
            match special? {
                b'"' => break,
                b'\\' => {
                    has_escapes = true;
                    let [_, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] =
                        self.rest
                    else {
                        return None;
                    };
                    self.rest = rest;
                }
                0x80.. => {
                    is_ascii = false;
                    let end = self.rest.iter().position(u8::is_ascii)?;
                    self.rest = self.rest.get(end..)?;
                }
                _ => return None,
            }
        }
        let text = from.get(..from.len() - self.rest.len())?;
        self.pass(b"\"")?;
        (is_ascii || std::str::from_utf8(text).is_ok()).then_some((text, has_escapes))
    }

    /// Skips a string.
    fn text(&mut self) -> Option<()> {
        self.written().map(|_| ())
    }

    fn text_or_null(&mut self) -> Option<()> {
        if self.is_null() { self.pass(b"null") } else { self.text() }
    }

    /// Reads a string that has no escapes, so its raw content is its value.
    fn plain(&mut self) -> Option<&'b [u8]> {
        self.written().and_then(|(text, has_escapes)| (!has_escapes).then_some(text))
    }

    fn plain_or_null(&mut self) -> Option<Option<&'b [u8]>> {
        if self.is_null() { self.pass(b"null").map(|()| None) } else { self.plain().map(Some) }
    }

    fn is_null(&self) -> bool {
        self.rest.starts_with(b"n")
    }

    /// Reads a string up to the next quote, without checking its content. The caller must decode it as base64.
    fn base64(&mut self) -> Option<&'b [u8]> {
        self.pass(b"\"")?;
        let (text, rest) = self.rest.split_at_checked(memchr::memchr(b'"', self.rest)?)?;
        self.rest = rest;
        self.pass(b"\"")?;
        Some(text)
    }

    /// Reads a string and returns `None` unless it equals the expected one.
    fn word(&mut self, expected: &str) -> Option<()> {
        (self.plain()? == expected.as_bytes()).then_some(())
    }

    /// Reads an integer without sign, fraction and exponent. Returns `None` if it has more than 19 digits, because it might then
    /// not fit into 64 bits.
    fn number(&mut self) -> Option<u64> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = self.rest.split_at_checked(digits)?;
        let is_plain = match number {
            [_] => true,
            [first, ..] => *first != b'0' && digits < 20,
            [] => false,
        };
        // The next byte must not continue the number, like the `.` of a fraction.
        let ends = matches!(rest.first(), Some(b',' | b'}' | b']'));
        self.rest = rest;
        (is_plain && ends).then(|| {
            number.iter().fold(0u64, |sum, digit| {
                sum.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0')))
            })
        })
    }

    fn digest(&mut self) -> Option<Digest> {
        self.pass(b"\"")?;
        let (digits, rest) = self.rest.split_at_checked(64)?;
        self.rest = rest;
        self.pass(b"\"")?;
        Digest::from_text(digits)
    }

    fn status(&mut self) -> Option<Status> {
        let text = self.plain()?;
        Status::ALL.into_iter().find(|status| status.as_str().as_bytes() == text)
    }

    fn gate(&mut self) -> Option<()> {
        self.pass(br#"{"gate":"#)?;
        self.text()?;
        self.pass(br#","ground":"#)?;
        self.value(DEPTH_MAX)?;
        self.pass(br#","verdict":"#)?;
        self.text()?;
        self.pass(b"}")
    }

    fn intent(&mut self) -> Option<(u64, Digest)> {
        self.pass(br#"{"index":"#)?;
        let index = self.number()?;
        self.pass(br#","leaf":"#)?;
        let leaf = self.digest()?;
        self.pass(br#","origin":"#)?;
        self.text()?;
        self.pass(b"}")?;
        Some((index, leaf))
    }

    /// Reads an array, calling `each` for every element.
    fn elements(&mut self, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.pass(b"[")?;
        if self.passes(b']') {
            return Some(());
        }
        loop {
            each(self)?;
            if !self.passes(b',') {
                return self.pass(b"]");
            }
        }
    }

    /// Reads an object, calling `each` for every member. Returns `None` if the names are not in ascending order, which also detects
    /// duplicates.
    fn members(&mut self, mut each: impl FnMut(&[u8], &mut Self) -> Option<()>) -> Option<()> {
        self.pass(b"{")?;
        if self.passes(b'}') {
            return Some(());
        }
        let mut last: Option<&[u8]> = None;
        loop {
            let name = self.plain()?;
            if last.is_some_and(|last| last >= name) {
                return None;
            }
            last = Some(name);
            self.pass(b":")?;
            each(name, self)?;
            if !self.passes(b',') {
                return self.pass(b"}");
            }
        }
    }

    /// Skips a value of any type. Returns `None` if values are nested deeper than `depth`.
    fn value(&mut self, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match self.rest.first()? {
            b'"' => self.text(),
            b'{' => self.members(|_, at| at.value(depth)),
            b'[' => self.elements(|at| at.value(depth)),
            b'n' => self.pass(b"null"),
            b't' => self.pass(b"true"),
            b'f' => self.pass(b"false"),
            _ => self.number().map(|_| ()),
        }
    }
}

/// Finds the first special byte of a string, which is a quote, a backslash, a control character or a non-ASCII byte. Returns
/// the number of bytes before it and the byte itself. Checks eight bytes at a time.
fn plain_bytes(bytes: &[u8]) -> (usize, Option<u8>) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut plain = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        // Only the lowest set high bit is reliable, because a borrow of the subtraction can set those above it.
        let is_quote = (word ^ (ONES * u64::from(b'"'))).wrapping_sub(ONES);
        let is_backslash = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
        let is_control = word.wrapping_sub(ONES * 0x20);
        let special = (is_quote | is_backslash | is_control | word) & HIGH;
        if special != 0 {
            let within = special.trailing_zeros() / 8;
            return (plain + usize::try_from(within).unwrap_or(0), byte(word, within));
        }
        plain += 8;
    }
    let is_special = |byte: &&u8| matches!(byte, b'"' | b'\\' | 0..0x20 | 0x80..);
    let within = rest.iter().take_while(|byte| !is_special(byte)).count();
    (plain + within, rest.get(within).copied())
}

fn byte(word: u64, place: u32) -> Option<u8> {
    let [byte, ..] = word.checked_shr(place * 8)?.to_le_bytes();
    Some(byte)
}
