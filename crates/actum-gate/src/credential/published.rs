//! Sample credentials from RFCs. They are public, so the scan never reports them.

/// Returns true if `secret` is exactly one of the published credentials.
pub(super) fn is_published(secret: &[u8]) -> bool {
    PUBLISHED.iter().any(|known| secret == known.as_bytes())
}

const PUBLISHED: [&str; 18] = [
    // RFC 8410: an Ed25519 private key, in both versions of the key format.
    concat!("MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK", "1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC"),
    concat!(
        "MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC",
        "oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB",
        "Z9w7lshQhqowtrbLDFw4rXAxZuE="
    ),
    // RFC 6749 and RFC 6750: OAuth 2.0 tokens and client credentials.
    "2YotnFZFEjr1zCsicMWpAA",
    "tGzv3JOkF0XG5Qx2TlKWIA",
    "SplxlOBeZQQYbYS6WxSbIA",
    "7Fjfp0ZBr1KtDRbnfVdmIw",
    "czZCaGRSa3F0MzpnWDFmQmF0M2JW",
    "czZCaGRSa3F0MzpnWDFmQmF0M2JW==",
    // RFC 5849 and its predecessor: OAuth 1.0 credentials and tokens.
    "kkk9d7dh3k39sjv7",
    "hh5s93j4hdidpola",
    "hdhd0244k9j7ao03",
    "nnch734d00sl2jdk",
    "pfkkdhi9sl3r4s00",
    "dpf43f3p2l4k3l03",
    "kd94hf93k423kf44",
    "ad180jjd733klru7",
    // RFC 7515: the key of the first example. RFC 8037: the private part of an Ed25519 key.
    concat!(
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0i",
        "PS4hcgUuTwjAzZr1Z9CAow"
    ),
    "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
];
