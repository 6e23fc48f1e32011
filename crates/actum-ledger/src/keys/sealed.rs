//! Private keys that are encrypted with a passphrase, as `EncryptedPrivateKeyInfo` of PKCS#8 (RFC 5958) with PBES2
//! (RFC 8018), scrypt (RFC 7914) and AES-256-CBC. OpenSSL can read and write this format.

use ed25519_dalek::SigningKey;
use pkcs8::der::asn1::OctetStringRef;
use pkcs8::der::pem::LineEnding;
use pkcs8::der::{Decode, SecretDocument};
use pkcs8::pkcs5::pbes2::{EncryptionScheme, Kdf, Parameters, Salt, ScryptParams};
use pkcs8::{EncryptedPrivateKeyInfo, EncryptedPrivateKeyInfoRef};
use zeroize::Zeroizing;

use super::passphrase::Passphrase;
use super::pem::{self, DER_BYTES, Unreadable};

pub(super) const LABEL: &str = "ENCRYPTED PRIVATE KEY";

/// Parameters of scrypt that determine the cost of trying a passphrase. It uses `n`·`r`·128 bytes of memory, which are
/// written and read `p` times.
#[derive(Debug, Clone, Copy)]
struct Cost {
    n: u64,
    r: u16,
    p: u16,
}

/// Cost of new keys, which takes about 100 ms. OpenSSL refuses keys that need more than 32 MiB of memory, so we increase
/// the number of passes to five instead.
const COST: Cost = Cost { n: 1 << 14, r: 8, p: 5 };
/// Maximum number of bytes that decrypting a key file may make us write to memory, which takes a few tenths of a second.
const COST_BYTES_MAX: u64 = 256 << 20;
const BLOCK: usize = 16;

/// Encrypted private key.
pub(super) struct Sealed {
    parameters: Parameters,
    data: Vec<u8>,
}

/// Encrypts a key with a passphrase and formats it as PEM. The bytes in `random` become the salt and the initialization
/// vector, so they must never be used again.
pub(super) fn write(
    seed: &[u8; 32],
    passphrase: &Passphrase,
    random: &[u8; 32],
) -> Option<Zeroizing<String>> {
    write_at(COST, seed, passphrase, random)
}

fn write_at(
    cost: Cost,
    seed: &[u8; 32],
    passphrase: &Passphrase,
    random: &[u8; 32],
) -> Option<Zeroizing<String>> {
    let (salt, iv) = random.split_first_chunk::<BLOCK>()?;
    let kdf = Kdf::Scrypt(ScryptParams {
        salt: Salt::new(salt).ok()?,
        cost_parameter: cost.n,
        block_size: cost.r,
        parallelization: cost.p,
        key_length: None,
    });
    let encryption = EncryptionScheme::Aes256Cbc { iv: iv.try_into().ok()? };
    let parameters = Parameters { kdf, encryption };
    let mut buffer = Zeroizing::new([0; DER_BYTES + BLOCK]);
    buffer.split_at_mut_checked(DER_BYTES)?.0.copy_from_slice(&pem::der(seed)?[..]);
    let data = parameters.encrypt_in_place(passphrase.as_bytes(), &mut *buffer, DER_BYTES).ok()?;
    let info = EncryptedPrivateKeyInfo {
        encryption_algorithm: parameters.into(),
        encrypted_data: OctetStringRef::new(data).ok()?,
    };
    SecretDocument::try_from(info).ok()?.to_pem(LABEL, LineEnding::LF).ok()
}

impl Sealed {
    /// Parses an encrypted key without decrypting it.
    pub(super) fn read(der: &[u8]) -> Result<Self, Unreadable> {
        let info = EncryptedPrivateKeyInfoRef::from_der(der).map_err(|_| Unreadable::Malformed)?;
        match info.encryption_algorithm.pbes2().filter(|parameters| is_ours(parameters)) {
            Some(parameters) => Ok(Self {
                parameters: parameters.clone(),
                data: info.encrypted_data.as_bytes().to_vec(),
            }),
            None => Err(Unreadable::Scheme),
        }
    }

    /// Decrypts the key. Returns `None` if the passphrase is wrong or the data is damaged.
    ///
    /// In rare cases, a wrong passphrase results in a different key, so the caller must compare the result with the keyring.
    pub(super) fn open(&self, passphrase: &Passphrase) -> Option<SigningKey> {
        let mut buffer = Zeroizing::new(self.data.clone());
        let der = self.parameters.decrypt_in_place(passphrase.as_bytes(), &mut buffer).ok()?;
        pem::read_der(der)
    }
}

/// Returns whether the encryption scheme is supported and its cost is within the limit.
fn is_ours(Parameters { kdf, encryption }: &Parameters) -> bool {
    let (Kdf::Scrypt(scrypt), EncryptionScheme::Aes256Cbc { .. }) = (kdf, encryption) else {
        return false;
    };
    let ScryptParams { cost_parameter: n, block_size: r, parallelization: p, .. } = *scrypt;
    let cost = [u64::from(r), u64::from(p), 128]
        .iter()
        .try_fold(n, |cost, &factor| cost.checked_mul(factor));
    let is_bearable = cost.is_some_and(|cost| (1..=COST_BYTES_MAX).contains(&cost));
    is_bearable
        && n > 1
        && n.is_power_of_two()
        && scrypt.key_length.is_none_or(|length| length == 32)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pkcs8::pkcs5::pbes2::Pbkdf2Params;

    use super::super::pem::Content;
    use super::*;

    const SEED: [u8; 32] = [7; 32];
    const RANDOM: [u8; 32] = [9; 32];
    /// Lowest possible cost, because the tests try many passphrases.
    const CHEAP: Cost = Cost { n: 2, r: 1, p: 1 };

    fn passphrase(text: &str) -> Passphrase {
        Passphrase::new(Zeroizing::new(text.as_bytes().to_vec())).unwrap()
    }

    fn cheap() -> String {
        write_at(CHEAP, &SEED, &passphrase("open sesame"), &RANDOM).unwrap().to_string()
    }

    fn opened(text: &[u8], with: &str) -> Result<Option<[u8; 32]>, Unreadable> {
        match pem::read(text)? {
            Content::Sealed(sealed) => Ok(sealed.open(&passphrase(with)).map(|key| key.to_bytes())),
            Content::Open(_) => panic!("the key is not encrypted"),
        }
    }

    /// FE-14: an encrypted key can be decrypted only with its passphrase.
    #[test]
    fn encrypted_key_is_decrypted_with_its_passphrase() {
        let text = write(&SEED, &passphrase("open sesame"), &RANDOM).unwrap();
        assert!(text.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"), "{}", *text);
        assert_eq!(opened(text.as_bytes(), "open sesame"), Ok(Some(SEED)));
        assert_eq!(opened(text.as_bytes(), "open sesamE"), Ok(None));
        // With a different salt and initialization vector, the same key results in a different file.
        let other = write_at(CHEAP, &SEED, &passphrase("open sesame"), &[8; 32]).unwrap();
        assert_ne!(*other, cheap());
    }

    /// FE-14: a wrong passphrase never yields the key, even though about one in 256 results in valid padding.
    #[test]
    fn wrong_passphrase_never_yields_the_key() {
        let text = cheap();
        for number in 0..4096 {
            assert_eq!(opened(text.as_bytes(), &format!("guess {number}")), Ok(None), "{number}");
        }
        assert_eq!(opened(text.as_bytes(), "open sesame"), Ok(Some(SEED)));
    }

    /// FE-14: after any changed byte, the file is unreadable or contains a different key, which is not in the keyring.
    #[test]
    fn any_changed_byte_of_an_encrypted_key_loses_the_key() {
        let text = cheap();
        let mut ends = BTreeMap::new();
        for place in 0..text.len() {
            for change in [1, 2, 0x20, 0x80] {
                let mut bytes = text.clone().into_bytes();
                bytes[place] ^= change;
                let read = opened(&bytes, "open sesame");
                assert_ne!(read, Ok(Some(SEED)), "byte {place} ^ {change}");
                *ends.entry(format!("{:?}", read.map(|key| key.is_some()))).or_insert(0) += 1;
            }
        }
        for cut in 0..text.len() - 1 {
            assert_ne!(opened(&text.as_bytes()[..cut], "open sesame"), Ok(Some(SEED)), "{cut}");
        }
        // All four possible outcomes have occurred.
        assert_eq!(ends.len(), 4, "{ends:?}");
    }

    /// FE-14: a key file cannot make actum spend excessive memory or time on decryption.
    #[test]
    fn excessive_decryption_cost_is_rejected_up_front() {
        let scrypt = |n, r, p, key_length| {
            let salt = Salt::new([9; 16]).unwrap();
            Kdf::Scrypt(ScryptParams {
                salt,
                cost_parameter: n,
                block_size: r,
                parallelization: p,
                key_length,
            })
        };
        let pbkdf2 = || Kdf::Pbkdf2(Pbkdf2Params::hmac_sha256(100_000_000, &[9; 16]).unwrap());
        let aes = EncryptionScheme::Aes256Cbc { iv: [9; 16] };
        let read = |kdf: Kdf, encryption: EncryptionScheme| {
            let info = EncryptedPrivateKeyInfo {
                encryption_algorithm: Parameters { kdf, encryption }.into(),
                encrypted_data: OctetStringRef::new(&[9; 64]).unwrap(),
            };
            let document = SecretDocument::try_from(info).unwrap();
            let text = document.to_pem(LABEL, LineEnding::LF).unwrap();
            pem::read(text.as_bytes()).map(drop)
        };
        for (n, r, p) in [(1 << 18, 8, 1), (1 << 14, 8, 16), (2, 1, 1), (1 << 21, 1, 1)] {
            assert_eq!(read(scrypt(n, r, p, None), aes), Ok(()), "{n} {r} {p}");
        }
        for (n, r, p) in [
            (1 << 19, 8, 1),
            (1 << 18, 9, 1),
            (1 << 14, 8, 17),
            (1 << 63, 1, 1),
            (1 << 63, u16::MAX, u16::MAX),
            (2, u16::MAX, u16::MAX),
            (u64::MAX, 1, 1),
            (0, 8, 1),
            (1, 8, 1),
            (3, 8, 1),
            (1 << 14, 0, 1),
            (1 << 14, 8, 0),
        ] {
            assert_eq!(read(scrypt(n, r, p, None), aes), Err(Unreadable::Scheme), "{n} {r} {p}");
        }
        assert_eq!(read(scrypt(2, 1, 1, Some(32)), aes), Ok(()));
        assert_eq!(read(scrypt(2, 1, 1, Some(16)), aes), Err(Unreadable::Scheme));
        assert_eq!(read(pbkdf2(), aes), Err(Unreadable::Scheme));
        let short = EncryptionScheme::Aes128Cbc { iv: [9; 16] };
        assert_eq!(read(scrypt(2, 1, 1, None), short), Err(Unreadable::Scheme));
    }
}
