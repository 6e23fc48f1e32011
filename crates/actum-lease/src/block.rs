//! Signed blocks of a lease, and the only function that reads their bytes as terms. Tokens and chain documents share it.

use std::collections::HashSet;

use actum_core::Digest;
use actum_record::lease::{LEASE_BLOCKS_MAX, LeaseId, LeaseTerms};
use biscuit_auth::datalog::{SymbolIndex, SymbolTable};
use biscuit_auth::format::convert::proto_block_to_token_block;
use biscuit_auth::format::schema;
use prost::Message;

use crate::check::{CheckProblem, CheckReader};
use crate::error::{FormProblem, LeaseError};

/// Version of the signed payload (Biscuit 3.3), in which each signature also covers the previous block's signature.
pub(crate) const SIGNATURE_VERSION: u32 = 1;
/// Index of the first symbol that a token defines itself. Lower indexes belong to Biscuit's default symbols.
const OWN_SYMBOLS: SymbolIndex = 1024;

/// Block of a lease, with its id and terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainBlock {
    /// Id of the block, which is the SHA-256 of its signature (its Biscuit revocation identifier).
    pub id: LeaseId,
    /// Restrictions that the block imposes.
    pub terms: LeaseTerms,
}

/// Encoded block with its signature, and the public key that must verify the next block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignedBlock {
    pub(crate) block: Vec<u8>,
    pub(crate) next_key: [u8; 32],
    pub(crate) signature: [u8; 64],
}

impl SignedBlock {
    /// Converts a Biscuit block. Returns an error if its signature does not have the form that leases require.
    pub(crate) fn from_biscuit(signed: schema::SignedBlock) -> Result<Self, FormProblem> {
        let schema::SignedBlock { block, next_key, signature, external_signature, version } =
            signed;
        if external_signature.is_some() {
            return Err(FormProblem::Foreign { part: "a third-party signature" });
        }
        if next_key.algorithm != schema::public_key::Algorithm::Ed25519 as i32 {
            return Err(FormProblem::Algorithm);
        }
        let next_key = next_key.key.try_into().map_err(|_| FormProblem::Algorithm)?;
        let signature = signature.try_into().map_err(|_| FormProblem::Algorithm)?;
        match version.unwrap_or_default() {
            SIGNATURE_VERSION => Ok(Self { block, next_key, signature }),
            given => Err(FormProblem::SignatureVersion { given }),
        }
    }

    /// Computes the id of the block from its signature.
    fn id(&self) -> LeaseId {
        LeaseId(Digest::of(&self.signature))
    }
}

/// Reads the blocks of a lease in order, without verifying their signatures.
pub(crate) fn read_blocks(signed: &[SignedBlock]) -> Result<Vec<ChainBlock>, LeaseError> {
    if signed.len() > LEASE_BLOCKS_MAX {
        return Err(LeaseError::TooManyBlocks { given: signed.len() });
    }
    let mut symbols = SymbolTable::new();
    let mut blocks = Vec::with_capacity(signed.len());
    for (index, signed) in signed.iter().enumerate() {
        let terms = read_block(&signed.block, &mut symbols)
            .and_then(|terms| {
                if index == 0 {
                    terms.check_complete()?;
                }
                Ok(terms)
            })
            .map_err(|problem| LeaseError::Form { block: index + 1, problem })?;
        blocks.push(ChainBlock { id: signed.id(), terms });
    }
    Ok(blocks)
}

/// Reads one block. `symbols` must contain the symbols of all earlier blocks, and the symbols of this block are added to it.
fn read_block(bytes: &[u8], symbols: &mut SymbolTable) -> Result<LeaseTerms, FormProblem> {
    let block = schema::Block::decode(bytes).map_err(|_| FormProblem::Undecodable)?;
    // Reject unknown fields, and encodings that another reader might decode to a different block.
    if block.encode_to_vec() != bytes {
        return Err(FormProblem::Undecodable);
    }
    check_parts(&block)?;
    let own = block.symbols.len();
    if block.symbols.iter().collect::<HashSet<_>>().len() != own {
        return Err(FormProblem::Symbols);
    }
    let before = symbols.current_offset();
    let added = SymbolTable::from(block.symbols.clone()).map_err(|_| FormProblem::Symbols)?;
    symbols.extend(&added).map_err(|_| FormProblem::Symbols)?;
    let block = proto_block_to_token_block(&block, None).map_err(|_| FormProblem::Undecodable)?;
    let mut terms = LeaseTerms::default();
    let mut reader = CheckReader::new(symbols);
    for (index, check) in block.checks.iter().enumerate() {
        let number = index + 1;
        reader.read(check, &mut terms).map_err(|problem| match problem {
            CheckProblem::Unknown => FormProblem::Check { check: number },
            CheckProblem::Repeated(field) => FormProblem::Repeated { check: number, field },
        })?;
    }
    let unused = |index: usize| {
        let symbol = SymbolIndex::try_from(index).ok().and_then(|i| i.checked_add(OWN_SYMBOLS));
        symbol.is_none_or(|symbol| !reader.has_used(symbol))
    };
    if (before..before + own).any(unused) {
        return Err(FormProblem::Symbols);
    }
    terms.check_limits()?;
    Ok(terms)
}

/// Returns an error if a block contains anything other than checks, or no checks.
fn check_parts(block: &schema::Block) -> Result<(), FormProblem> {
    let schema::Block { symbols: _, context, version: _, facts, rules, checks, scope, public_keys } =
        block;
    let parts = [
        ("a context", context.is_some()),
        ("facts", !facts.is_empty()),
        ("rules", !rules.is_empty()),
        ("a scope", !scope.is_empty()),
        ("public keys", !public_keys.is_empty()),
    ];
    match parts.into_iter().find(|(_, is_there)| *is_there) {
        Some((part, _)) => Err(FormProblem::Foreign { part }),
        None if checks.is_empty() => Err(FormProblem::Empty),
        None => Ok(()),
    }
}
