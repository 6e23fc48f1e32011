//! Detects commands that failed because the sandbox has no network or does not contain a program.

use actum_sandbox::{Ended, Net, Outcome, SandboxPolicy};

/// Network or program that is missing in the sandbox and probably made a command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Network,
    Program,
}

/// Exit code of a shell that could not find a program (POSIX, Shell Command Language, 2.8.2).
const NOT_FOUND: i32 = 127;
/// Number of bytes at the end of each output stream that are searched for error messages.
const TAIL_BYTES: usize = 64 << 10;
/// Error messages that libc, curl, Go, Node.js, Rust, pip and uv print if there is no network.
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
    /// Looks for the cause of a failed command in its output and exit code. Returns `None` if they do not point to a missing
    /// network or program.
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

    /// Returns a one-line note that explains the problem and how to fix it.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::Network => {
                "the sandbox has no network: download the dependencies first, and list their directory under `[sandbox] read` in \
                 the operator's policy"
            }
            Self::Program => {
                "a program was not found in the sandbox: if it is in your home directory, `actum sandbox detect` prints the policy \
                 lines that make toolchains there available"
            }
        }
    }
}
