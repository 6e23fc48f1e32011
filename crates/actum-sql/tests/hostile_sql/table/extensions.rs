//! Attacks that load code, reach the network, or store a secret.

use crate::attack::{Attack, Boundary, DENIED, Harm, LOCKED, attack, listed};

pub(crate) const ATTACKS: &[Attack] = &[
    listed("LOAD", "INSTALL httpfs FROM 'http://127.0.0.1:{port}'", Harm::Connects, DENIED),
    listed("LOAD", "FORCE INSTALL httpfs FROM 'http://127.0.0.1:{port}'", Harm::Connects, DENIED),
    listed("LOAD", "INSTALL 'http://127.0.0.1:{port}/x.duckdb_extension'", Harm::Connects, DENIED),
    listed(
        "SET",
        "SET custom_extension_repository = 'http://127.0.0.1:{port}'; INSTALL httpfs",
        Harm::Connects,
        LOCKED,
    ),
    listed(
        "SET",
        "SET autoinstall_extension_repository = 'http://127.0.0.1:{port}'; FROM read_text('http://127.0.0.1:{port}/')",
        Harm::Connects,
        LOCKED,
    ),
    listed(
        "SET",
        "SET autoinstall_extension_repository = 'http://127.0.0.1:{port}'; FROM sqlite_scan('{secret}', 't')",
        Harm::Connects,
        LOCKED,
    ),
    listed(
        "LOAD",
        "LOAD '{foreign}.duckdb_extension'",
        Harm::Says("not a DuckDB extension"),
        DENIED,
    ),
    listed(
        "LOAD",
        "INSTALL '{secret}'",
        Harm::Says("file too small to be a valid DuckDB extension"),
        DENIED,
    ),
    attack(
        "CREATE PERSISTENT SECRET s (TYPE http, EXTRA_HTTP_HEADERS MAP {'a': 'b'}); CREATE TABLE loot AS SELECT name || persistent::VARCHAR FROM duckdb_secrets()",
        // In the sandbox, the secret is stored in a temporary home.
        Harm::Sets("strue"),
        Boundary::Lock("Persistent secrets are disabled"),
        Boundary::Harmless,
    ),
];
