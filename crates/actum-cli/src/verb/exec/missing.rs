//! A network or a program that is missing in the sandbox, found in the messages of a failed command.

use actum_sandbox::{Ended, Net, Outcome, SandboxPolicy};

/// Missing part of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Network,
    Program,
}

/// Exit code of a shell for a program that it did not find (POSIX, Shell Command Language, 2.8.2).
const NOT_FOUND: i32 = 127;
/// Bytes at the end of the output that are searched.
const TAIL_BYTES: usize = 64 << 10;
/// Messages of resolvers and connections without a network: libc, curl, Go, Node.js, Rust, pip and uv.
const NO_NETWORK: [&[u8]; 10] = [
    b"Could not resolve host",
    b"Temporary failure in name resolution",
    b"Name or service not known",
    b"failed to lookup address",
    b"Failed to establish a new connection",
    b"EAI_AGAIN",
    b"ENOTFOUND",
    b"ENETUNREACH",
    b"Network is unreachable",
    b"dial tcp",
];

impl Missing {
    /// Finds the missing part in the output or exit code of a failed command; `None` if they show none.
    pub(super) fn find(outcome: &Outcome, policy: &SandboxPolicy) -> Option<Self> {
        let tail = |bytes: &[u8]| {
            let end = bytes.split_at(bytes.len().saturating_sub(TAIL_BYTES)).1;
            NO_NETWORK.iter().any(|text| end.windows(text.len()).any(|at| at == *text))
        };
        if policy.net != Net::Host && (tail(&outcome.stderr) || tail(&outcome.stdout)) {
            return Some(Self::Network);
        }
        (outcome.ended == Some(Ended::Code(NOT_FOUND))).then_some(Self::Program)
    }

    /// Returns a one-line note with a fix.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::Network => {
                "no network in this sandbox: download the dependencies first, and list their directory in `[sandbox] read` of the \
                 operator's policy"
            }
            Self::Program => {
                "a program is not in this sandbox: `actum sandbox detect` prints the lines of the operator's policy for toolchains in \
                 your home directory"
            }
        }
    }
}
