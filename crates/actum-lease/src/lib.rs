//! STUB
use actum_core::Timestamp;
use actum_record::keyring::Keyring;
use actum_record::lease::{LeaseId, LeaseTerms};
use actum_record::signer::KeyId;
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub id: LeaseId,
    pub terms: LeaseTerms,
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedLease {
    pub document: String,
    pub key: KeyId,
    pub blocks: Vec<Block>,
}
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("stub")]
pub struct LeaseError;
pub fn read_chain(_: &[u8]) -> Result<(KeyId, Vec<Block>), LeaseError> {
    Err(LeaseError)
}
pub fn verify_chain(_: &[u8], _: &Keyring, _: Timestamp) -> Result<VerifiedLease, LeaseError> {
    Err(LeaseError)
}
