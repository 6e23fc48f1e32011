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

/// A library that may be loaded, if it has its digest.
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
    #[error("the DuckDB library `{}` has the digest {found}, which is not the expected one", path.display())]
    Unknown {
        /// Where it is.
        path: PathBuf,
        /// Its SHA-256.
        found: Digest,
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
    /// Finds the library: the one that the policy pins, or else the tested one in the home of actum. The worker compares its digest
    /// before it loads it; [`Library::check`] does so at once.
    ///
    /// # Errors
    /// [`LibraryError`]
    pub fn find(home: &Path, pinned: Option<&Pinned>) -> Result<Self, LibraryError> {
        let library = match pinned {
            Some(Pinned { path, sha256 }) => Self { path: path.clone(), sha256: *sha256 },
            None => {
                let processor = std::env::consts::ARCH;
                let tested = TestedLibrary::for_this_processor();
                let tested = tested.ok_or(LibraryError::Untested { processor })?;
                let sha256 = tested.sha256.parse();
                let sha256 = sha256.map_err(|_| LibraryError::Untested { processor })?;
                Self { path: tested.path(home), sha256 }
            }
        };
        match std::fs::metadata(&library.path) {
            Ok(_) => Ok(library),
            Err(error) => Err(unreadable(library.path, error)),
        }
    }

    /// Compares the digest of the file.
    ///
    /// # Errors
    /// [`LibraryError`]
    pub fn check(&self) -> Result<(), LibraryError> {
        let path = self.path.clone();
        match digest(&path) {
            Ok(found) if found == self.sha256 => Ok(()),
            Ok(found) => Err(LibraryError::Unknown { path, found }),
            Err(error) => Err(unreadable(path, error)),
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

fn unreadable(path: PathBuf, source: std::io::Error) -> LibraryError {
    match source.kind() == std::io::ErrorKind::NotFound {
        true => LibraryError::Missing { path },
        false => LibraryError::Unreadable { path, source },
    }
}
