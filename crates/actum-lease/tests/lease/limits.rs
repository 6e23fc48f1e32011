//! Limits of leases, tested on both sides.

use actum_lease::{
    CHAIN_BYTES_MAX, GrantError, LeaseError, TOKEN_BYTES_MAX, TOKEN_TEXT_BYTES_MAX, Token, grant,
    read_chain, verify, verify_chain,
};
use actum_record::lease::{
    BaseDirectory, LEASE_BLOCKS_MAX, LEASE_PATH_BYTES_MAX, LEASE_PATHS_MAX, LeaseTermError,
    LeaseTerms,
};

use crate::fixture::{
    SECRET, accept, bytes, encode, first_block, granted, keyring, least, now, read, sign,
};

fn one_use() -> LeaseTerms {
    LeaseTerms { uses: Some(1), ..LeaseTerms::default() }
}

/// FE-17
#[test]
fn lease_block_count_limit_is_exact() {
    let mut token = granted(&least());
    for _ in 1..LEASE_BLOCKS_MAX {
        token = token.attenuate(&one_use()).unwrap();
    }
    assert_eq!(verify(&token, &keyring(), now()).unwrap().blocks.len(), LEASE_BLOCKS_MAX);
    let given = LEASE_BLOCKS_MAX + 1;
    let source = LeaseError::TooManyBlocks { given };
    assert_eq!(
        token.attenuate(&one_use()).unwrap_err(),
        GrantError::Unreadable { source: source.clone() }
    );
    let biscuit = biscuit_auth::UnverifiedBiscuit::from(bytes(&token)).unwrap();
    let block = biscuit_auth::BlockBuilder::new().code("check if uses($uses), $uses <= 1").unwrap();
    let longer = biscuit.append(block).unwrap().to_vec().unwrap();
    assert_eq!(accept(&longer).unwrap_err(), source);
}

/// Returns terms whose token is about as large as a token can be. `last` is the length of a name, used to adjust the size.
fn large_terms(last: usize) -> LeaseTerms {
    let lengths = [4000, 4000, 4000, last];
    let directories = lengths.iter().enumerate();
    let directories = directories
        .map(|(index, length)| format!("/{index}{}", "n".repeat(*length)).parse().unwrap());
    LeaseTerms { base_directories: Some(directories.collect()), ..least() }
}

/// FE-17
#[test]
fn token_size_limit_is_exact() {
    let size = bytes(&granted(&large_terms(3000))).len();
    let last = 3000 + TOKEN_BYTES_MAX - size;
    let token = granted(&large_terms(last));
    assert_eq!(bytes(&token).len(), TOKEN_BYTES_MAX);
    assert_eq!(token.to_text().len(), TOKEN_TEXT_BYTES_MAX);
    let lease = verify(&token, &keyring(), now()).unwrap();
    assert!(lease.document.len() < CHAIN_BYTES_MAX, "{}", lease.document.len());
    assert!(verify_chain(&lease.document, &keyring(), now()).is_ok());
    let error = grant(&SECRET, &large_terms(last + 1)).unwrap_err();
    let source = LeaseError::TooLarge { given: TOKEN_BYTES_MAX + 1 };
    assert_eq!(error, GrantError::Unreadable { source: source.clone() });
    assert_eq!(error.reason(), "LEASE_TOO_LARGE");
    assert_eq!(read(&vec![0; TOKEN_BYTES_MAX + 1]).unwrap_err(), source);
    assert_eq!(read(&vec![0; TOKEN_BYTES_MAX]).unwrap_err(), LeaseError::NotBiscuit);
}

/// FE-17
#[test]
fn oversized_token_text_is_rejected_before_decoding() {
    let longest = [b'%'; TOKEN_TEXT_BYTES_MAX + 1];
    let given = longest.len();
    assert_eq!(Token::read(&longest).unwrap_err(), LeaseError::TextTooLong { given });
    assert_eq!(Token::read(&longest[1..]).unwrap_err(), LeaseError::NotBase64);
}

/// FE-17
#[test]
fn oversized_chain_document_is_rejected_before_parsing() {
    let longest = [b' '; CHAIN_BYTES_MAX + 1];
    let given = longest.len();
    assert_eq!(read_chain(&longest).unwrap_err(), LeaseError::ChainTooLarge { given });
    assert!(matches!(read_chain(&longest[1..]), Err(LeaseError::NotChain { .. })));
}

/// FE-17: the limits also apply to blocks written by other programs.
#[test]
fn block_with_too_many_base_directories_is_rejected() {
    for count in [LEASE_PATHS_MAX, LEASE_PATHS_MAX + 1] {
        let set: Vec<String> = (0..count).map(|number| format!("\"/{number}/\"")).collect();
        let source = format!(
            "check all path($path), {{{}}}.any($base -> $path.starts_with($base));",
            set.join(", ")
        );
        let error = crate::forms::appended(&source).err();
        let expected = LeaseTermError::TooMany { field: "base_directories", count };
        let is_expected = match &error {
            Some(LeaseError::Form { block: 2, problem }) => {
                *problem == actum_lease::FormProblem::Terms { source: expected }
            }
            _ => false,
        };
        assert_eq!(is_expected, count > LEASE_PATHS_MAX, "{error:?}");
    }
}

/// FE-17
#[test]
fn ten_thousand_facts_are_rejected() {
    let facts: String = (0..10_000).map(|number| format!("capability(\"{number}\");\n")).collect();
    let error = crate::forms::appended(&facts).unwrap_err();
    assert!(matches!(error, LeaseError::TextTooLong { .. }), "{error}");
    // Add about as many facts as fit into a token, because these are rejected for their form and not for their length.
    let mut block = first_block(&least());
    let number = block.facts.len();
    let fact = biscuit_auth::format::schema::Fact {
        predicate: biscuit_auth::format::schema::Predicate { name: 0, terms: Vec::new() },
    };
    block.facts.extend(std::iter::repeat_n(fact, number + 2_000));
    let error = accept(&encode(&sign(&[block]))).unwrap_err();
    assert_eq!(error.reason(), "LEASE_FORM_UNKNOWN");
}

/// FE-17: the limit also applies if the final `/` is omitted.
#[test]
fn base_directory_length_limit_is_exact() {
    let directory = |length: usize| format!("/{}", "n".repeat(length - 2));
    let longest: BaseDirectory = directory(LEASE_PATH_BYTES_MAX).parse().unwrap();
    assert_eq!(longest.as_str().len(), LEASE_PATH_BYTES_MAX);
    let terms = LeaseTerms { base_directories: Some([longest].into()), ..least() };
    assert_eq!(granted(&terms).blocks()[0].terms, terms);
    assert!(directory(LEASE_PATH_BYTES_MAX + 1).parse::<BaseDirectory>().is_err());
}
