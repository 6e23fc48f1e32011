//! Valid and damaged proofs and notes, checked by actum and by another implementation.

use actum_core::Digest;
use actum_gate::{CheckpointProblem, check_consistency, check_inclusion, verify_checkpoint};
use actum_record::merkle::leaf_hash;
use actum_record::note::NoteKey;
use actum_record::signer::Signer;
use proptest::prelude::*;
use signed_note::{StandardVerifier, Verifier, VerifierList};

use crate::material::{Log, ORIGIN, TestKey, checkpoint_key, keyring, note};

/// Modification that damages a proof.
#[derive(Debug, Clone)]
enum Damage {
    Flip { hash: prop::sample::Index, bit: u8 },
    Drop(prop::sample::Index),
    Twice(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Insert(prop::sample::Index, [u8; 32]),
    First(i64),
    Second(i64),
    Begin,
    End,
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(hash, bit)| Damage::Flip { hash, bit }),
        at().prop_map(Damage::Drop),
        at().prop_map(Damage::Twice),
        (at(), at()).prop_map(|(a, b)| Damage::Swap(a, b)),
        (at(), any::<[u8; 32]>()).prop_map(|(at, hash)| Damage::Insert(at, hash)),
        (-3i64..=3).prop_map(Damage::First),
        (-3i64..=3).prop_map(Damage::Second),
        Just(Damage::Begin),
        Just(Damage::End),
    ]
}

/// Proof together with the claim it supports: index, size, leaf and root for an inclusion proof, or two sizes and two roots for a
/// consistency proof.
#[derive(Debug, Clone)]
struct Claim {
    first: u64,
    second: u64,
    begin: Digest,
    end: Digest,
    proof: Vec<Digest>,
}

impl Claim {
    fn suffer(&mut self, damage: &Damage) {
        let length = self.proof.len();
        match damage {
            Damage::Flip { hash, bit } if length > 0 => {
                let hash = &mut self.proof[hash.index(length)];
                *hash = flipped(*hash, *bit);
            }
            Damage::Drop(at) if length > 0 => drop(self.proof.remove(at.index(length))),
            Damage::Twice(at) if length > 0 => {
                let at = at.index(length);
                self.proof.insert(at, self.proof[at]);
            }
            Damage::Swap(a, b) if length > 0 => self.proof.swap(a.index(length), b.index(length)),
            Damage::Insert(at, hash) => {
                self.proof.insert(at.index(length + 1), Digest::from_bytes(*hash));
            }
            Damage::First(by) => self.first = self.first.saturating_add_signed(*by),
            Damage::Second(by) => self.second = self.second.saturating_add_signed(*by),
            Damage::Begin => self.begin = flipped(self.begin, 0),
            Damage::End => self.end = flipped(self.end, 0),
            Damage::Flip { .. } | Damage::Drop(_) | Damage::Twice(_) | Damage::Swap(..) => {}
        }
    }

    fn theirs(&self) -> (Vec<tlog_tiles::Hash>, tlog_tiles::Hash, tlog_tiles::Hash) {
        let hash = |digest: &Digest| tlog_tiles::Hash(*digest.as_bytes());
        (self.proof.iter().map(hash).collect(), hash(&self.begin), hash(&self.end))
    }
}

fn flipped(digest: Digest, bit: u8) -> Digest {
    let mut bytes = *digest.as_bytes();
    bytes[usize::from(bit / 8)] ^= 1 << (bit % 8);
    Digest::from_bytes(bytes)
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    prop_oneof![1 => Just(Vec::new()), 6 => prop::collection::vec(damage(), 1..3)]
}

fn sizes() -> impl Strategy<Value = (u64, u64)> {
    (1u64..300).prop_flat_map(|size| (0..size, Just(size)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    /// RFC 6962, section 2.1.1
    #[test]
    fn inclusion_proof_checks_agree_with_another_implementation(
        (index, size) in sizes(),
        damages in damages(),
    ) {
        let log = Log::of_size(size);
        let mut claim = Claim {
            first: index,
            second: size,
            begin: leaf_hash(index.to_string().as_bytes()),
            end: log.root(),
            proof: log.inclusion(size, index),
        };
        damages.iter().for_each(|damage| claim.suffer(damage));
        let (proof, leaf, root) = claim.theirs();
        let theirs = tlog_tiles::check_record(&proof, claim.second, root, claim.first, leaf);
        let ours =
            check_inclusion(&claim.begin, claim.first, claim.second, &claim.proof, &claim.end);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?} {:?}", claim, ours, theirs);
        prop_assert!(!damages.is_empty() || ours.is_ok());
    }

    /// RFC 6962, section 2.1.2
    #[test]
    fn consistency_proof_checks_agree_with_another_implementation(
        (old, size) in sizes(),
        damages in damages(),
    ) {
        let (log, old) = (Log::of_size(size), old + 1);
        let mut claim = Claim {
            first: old,
            second: size,
            begin: log.root_of(old),
            end: log.root(),
            proof: log.consistency(size, old),
        };
        damages.iter().for_each(|damage| claim.suffer(damage));
        // The other implementation has no proof for the empty log, which other tests cover for actum.
        prop_assume!(claim.first > 0);
        let (proof, begin, end) = claim.theirs();
        let theirs = tlog_tiles::check_tree(&proof, claim.second, end, claim.first, begin);
        let ours =
            check_consistency(claim.first, &claim.begin, claim.second, &claim.end, &claim.proof);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?} {:?}", claim, ours, theirs);
        prop_assert!(!damages.is_empty() || ours.is_ok());
    }

    #[test]
    fn accepted_checkpoint_is_valid_for_another_implementation(
        signers in prop::collection::vec(prop::sample::select(vec![2u8, 2, 3, 9, 10]), 0..4),
        damages in prop::collection::vec(note_damage(), 0..3),
    ) {
        let keys: Vec<TestKey> =
            signers.iter().map(|&seed| TestKey::new(checkpoint_key().role(), seed)).collect();
        let mut text = note(&Log::of_size(5).checkpoint(ORIGIN), &keys.iter().collect::<Vec<_>>());
        damages.iter().for_each(|damage| text = damage.done_to(&text));
        let ours = verify_checkpoint(text.as_bytes(), &keyring());
        match (their_judgement(&text), &ours) {
            (Some((origin, size, root)), Ok(verified)) => {
                let checkpoint = &verified.checkpoint;
                prop_assert_eq!(
                    (&*origin, size, root),
                    (&*checkpoint.origin, checkpoint.size, *checkpoint.root.as_bytes())
                );
            }
            (None, Ok(_)) => prop_assert!(false, "counts only here: {text:?}"),
            (None, Err(_)) => {}
            // The other implementation ignores a second signature line of a key that already signed, and lines after the root that
            // actum checks.
            (Some(_), Err(problem)) => prop_assert!(
                matches!(problem, CheckpointProblem::Wrong { .. } | CheckpointProblem::Checkpoint(_)),
                "counts only there: {problem:?} {text:?}"
            ),
        }
    }
}

/// Modification that damages a note.
#[derive(Debug, Clone)]
enum NoteDamage {
    Byte(prop::sample::Index, u8),
    Remove(prop::sample::Index),
    LineTwice(prop::sample::Index),
    LineAway(prop::sample::Index),
    LinesSwapped(prop::sample::Index, prop::sample::Index),
}

fn note_damage() -> impl Strategy<Value = NoteDamage> {
    let at = any::<prop::sample::Index>;
    let byte = prop_oneof![Just(b'\n'), Just(b' '), b'0'..=b'9', b'A'..=b'Z', any::<u8>()];
    prop_oneof![
        (at(), byte).prop_map(|(at, byte)| NoteDamage::Byte(at, byte)),
        at().prop_map(NoteDamage::Remove),
        at().prop_map(NoteDamage::LineTwice),
        at().prop_map(NoteDamage::LineAway),
        (at(), at()).prop_map(|(a, b)| NoteDamage::LinesSwapped(a, b)),
    ]
}

impl NoteDamage {
    fn done_to(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        if bytes.is_empty() {
            return String::new();
        }
        match self {
            Self::Byte(at, byte) => {
                bytes[at.index(text.len())] = *byte;
                return String::from_utf8_lossy(&bytes).into_owned();
            }
            Self::Remove(at) => {
                bytes.remove(at.index(text.len()));
                return String::from_utf8_lossy(&bytes).into_owned();
            }
            Self::LineTwice(at) => {
                let at = at.index(lines.len());
                lines.insert(at, lines[at]);
            }
            Self::LineAway(at) => drop(lines.remove(at.index(lines.len()))),
            Self::LinesSwapped(a, b) => {
                let count = lines.len();
                lines.swap(a.index(count), b.index(count));
            }
        }
        lines.concat()
    }
}

/// Returns the origin, size and root if the other implementation accepts the note. The note must be signed by our key under the
/// name of the log, and contain a checkpoint.
fn their_judgement(text: &str) -> Option<(String, u64, [u8; 32])> {
    let note = signed_note::Note::from_bytes(text.as_bytes()).ok()?;
    let checkpoint = tlog_tiles::Checkpoint::from_bytes(note.text()).ok()?;
    let key = NoteKey { name: checkpoint.origin().to_owned(), key: checkpoint_key().public_key() };
    let verifier: Box<dyn Verifier> = Box::new(StandardVerifier::new(&key.to_text()).ok()?);
    note.verify(&VerifierList::new(vec![verifier])).ok()?;
    Some((checkpoint.origin().to_owned(), checkpoint.size(), checkpoint.hash().0))
}
