//! Which DuckDB library may be loaded: one whose digest is known.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use actum_core::{Digest, Hasher};

/// A library that was tested with this version of actum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestedLibrary {
    /// Version of DuckDB.
    pub version: &'static str,
    /// Processor, as `std::env::consts::ARCH` names it.
    pub processor: &'static str,
    /// SHA-256 of the Python package that it comes in, in hexadecimal.
    pub package_sha256: &'static str,
    /// SHA-256 of the library that [`crate::install`] makes of it, in hexadecimal.
    pub sha256: &'static str,
}

/// All tested libraries.
pub const TESTED: &[TestedLibrary] = &[TestedLibrary {
    version: "2.0.1",
    processor: "x86_64",
    package_sha256: "eb32b389d99d14cbbec4c110f58237c77eacefc65ef6f737619f413c97a91a77",
    sha256: "3960999149b18c2ead5013a5080ed9f8a48a7e12cb61ba3748a9d158478a30d8",
}];

/// Library that the operator's policy names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// Its path, which is absolute.
    pub path: PathBuf,
    /// The SHA-256 that it must have.
    pub sha256: Digest,
}

/// A library that may be loaded. Its digest was compared; the worker compares it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    path: PathBuf,
    sha256: Digest,
}

/// Reason why no library may be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// There is none.
    #[error("there is no DuckDB library at `{}`", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// It is another one.
    #[error("the DuckDB library `{}` has the digest {found}, which {expected}", path.display())]
    Unknown {
        /// Where it is.
        path: PathBuf,
        /// Its SHA-256.
        found: Digest,
        /// What was expected.
        expected: &'static str,
    },
    /// No library was tested for this processor.
    #[error("no DuckDB library was tested on {processor}; the policy can name one")]
    Untested {
        /// This processor.
        processor: &'static str,
    },
    /// It cannot be read.
    #[error("cannot read the DuckDB library `{}`: {source}", path.display())]
    Unreadable {
        /// Where it is.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}

impl TestedLibrary {
    /// Returns the one for this processor.
    pub fn for_this_processor() -> Option<&'static Self> {
        TESTED.iter().find(|tested| tested.processor == std::env::consts::ARCH)
    }

    /// Returns where it is installed below the home of actum.
    pub fn path(&self, home: &Path) -> PathBuf {
        home.join("sql").join(format!("duckdb-{}-{}.so", self.version, self.processor))
    }
}

impl Library {
    /// Finds the library: the one that the policy pins, or else the tested one in the home of actum. Its digest is compared.
    ///
    /// # Errors
    /// [`LibraryError`]
    pub fn find(home: &Path, pinned: Option<&Pinned>) -> Result<Self, LibraryError> {
        if let Some(Pinned { path, sha256 }) = pinned {
            return Self::compare(
                path.clone(),
                &sha256.to_string(),
                "is not the one of the policy",
            );
        }
        let processor = std::env::consts::ARCH;
        let tested =
            TestedLibrary::for_this_processor().ok_or(LibraryError::Untested { processor })?;
        Self::compare(tested.path(home), tested.sha256, "is not the one that was tested")
    }

    fn compare(path: PathBuf, sha256: &str, expected: &'static str) -> Result<Self, LibraryError> {
        match digest(&path) {
            Ok(found) if found.to_string() == sha256 => Ok(Self { path, sha256: found }),
            Ok(found) => Err(LibraryError::Unknown { path, found, expected }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(LibraryError::Missing { path })
            }
            Err(source) => Err(LibraryError::Unreadable { path, source }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its SHA-256.
    pub fn sha256(&self) -> Digest {
        self.sha256
    }
}

/// Computes the SHA-256 of a file.
pub(crate) fn digest(path: &Path) -> std::io::Result<Digest> {
    let (mut file, mut hasher) = (File::open(path)?, Hasher::new());
    let mut piece = vec![0; 256 << 10];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finish()),
            count => hasher.update(piece.get(..count).unwrap_or_default()),
        }
    }
}
