//! Signed blocks, and the one function that reads their bytes as terms, for tokens and for chain documents.

use std::collections::HashSet;

use actum_core::Digest;
use actum_record::lease::{LEASE_BLOCKS_MAX, LeaseId, LeaseTerms};
use biscuit_auth::datalog::{SymbolIndex, SymbolTable};
use biscuit_auth::format::convert::proto_block_to_token_block;
use biscuit_auth::format::schema;
use prost::Message;

use crate::check::{CheckProblem, CheckReader};
use crate::error::{FormProblem, LeaseError};

/// Version of the signed payload (Biscuit 3.3): it covers the signature of the block before.
pub(crate) const SIGNATURE_VERSION: u32 = 1;
/// Index of the first text of the token itself; those below are Biscuit's own.
const OWN_SYMBOLS: SymbolIndex = 1024;

/// Block of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainBlock {
    /// Id: the SHA-256 of its signature, which is its Biscuit revocation identifier.
    pub id: LeaseId,
    /// Terms of the block.
    pub terms: LeaseTerms,
}

/// Block, its signature, and the public key with which the next block must be signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignedBlock {
    pub(crate) block: Vec<u8>,
    pub(crate) next_key: [u8; 32],
    pub(crate) signature: [u8; 64],
}

impl SignedBlock {
    /// Converts a Biscuit block, unless its signature is not in the form of leases.
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

    /// Returns the id of the block.
    fn id(&self) -> LeaseId {
        LeaseId(Digest::of(&self.signature))
    }
}

/// Reads the blocks of a lease, the first one first. Signatures are not verified.
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

/// Reads one block. `symbols` are the texts of the earlier blocks, and afterwards those of this one, too.
fn read_block(bytes: &[u8], symbols: &mut SymbolTable) -> Result<LeaseTerms, FormProblem> {
    let block = schema::Block::decode(bytes).map_err(|_| FormProblem::Undecodable)?;
    // Rejects unknown fields, and encodings that another reader might take for another block.
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

/// Rejects a block with anything besides checks.
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
