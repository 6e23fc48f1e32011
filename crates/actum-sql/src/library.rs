//! DuckDB library on disk, which may be loaded only if its digest is known.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use actum_core::{Digest, Hasher};
use object::elf::{EM_AARCH64, EM_X86_64};

/// Library that was tested with this version of actum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestedLibrary {
    /// Version of DuckDB.
    pub version: &'static str,
    /// Processor architecture, named as in `std::env::consts::ARCH`.
    pub processor: &'static str,
    /// SHA-256 of the Python package that contains the library, in hexadecimal.
    pub package_sha256: &'static str,
    /// SHA-256 of the library that [`crate::install`] creates from the package, in hexadecimal.
    pub sha256: &'static str,
}

/// All libraries that were tested with this version of actum.
pub const TESTED: &[TestedLibrary] = &[TestedLibrary {
    version: "2.0.1",
    processor: "x86_64",
    package_sha256: "eb32b389d99d14cbbec4c110f58237c77eacefc65ef6f737619f413c97a91a77",
    sha256: "3960999149b18c2ead5013a5080ed9f8a48a7e12cb61ba3748a9d158478a30d8",
}];

/// Library that the operator's policy pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// Absolute path of the library.
    pub path: PathBuf,
    /// Expected SHA-256 of the library.
    pub sha256: Digest,
}

/// Library that may be loaded if its digest matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    path: PathBuf,
    sha256: Digest,
    origin: Origin,
}

/// Reason why a library may be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The library was tested with this version of actum.
    Tested,
    /// The operator's policy pins the library.
    Pinned,
}

/// Reason why no library may be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The library file does not exist.
    #[error("there is no DuckDB library at `{}`", path.display())]
    Missing {
        /// Path at which the library was expected.
        path: PathBuf,
    },
    /// The library found in place of the tested one has a different digest.
    #[error("the DuckDB library `{}` is not the tested one: its SHA-256 is {found} instead of {expected}", path.display())]
    Unknown {
        /// Path of the library.
        path: PathBuf,
        /// SHA-256 of the library.
        found: Digest,
        /// SHA-256 of the tested library.
        expected: Digest,
    },
    /// The library has changed since the operator's policy pinned it.
    #[error("the DuckDB library `{}` changed since the policy pinned it: its SHA-256 is {found} instead of {expected}", path.display())]
    Changed {
        /// Path of the library.
        path: PathBuf,
        /// SHA-256 of the library.
        found: Digest,
        /// SHA-256 in the policy.
        expected: Digest,
    },
    /// The library was built for a different processor.
    #[error("the DuckDB library `{}` is for {found}, but this processor is {processor}", path.display())]
    OtherProcessor {
        /// Path of the library.
        path: PathBuf,
        /// Processor for which the library was built.
        found: String,
        /// Name of this processor architecture.
        processor: &'static str,
    },
    /// The file is not a shared library.
    #[error("`{}` is not a shared library (ELF)", path.display())]
    NoLibrary {
        /// Path of the file.
        path: PathBuf,
    },
    /// No library was tested for this processor.
    #[error("no DuckDB library was tested on {processor} processors")]
    Untested {
        /// Name of this processor architecture.
        processor: &'static str,
    },
    /// The library file cannot be read.
    #[error("cannot read the DuckDB library `{}`: {source}", path.display())]
    Unreadable {
        /// Path of the library.
        path: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
}

impl TestedLibrary {
    /// Returns the tested library for this processor, if there is one.
    pub fn for_this_processor() -> Option<&'static Self> {
        TESTED.iter().find(|tested| tested.processor == std::env::consts::ARCH)
    }

    /// Returns the path at which the library is installed in actum's home directory `home`.
    pub fn path(&self, home: &Path) -> PathBuf {
        home.join("sql").join(self.name())
    }

    fn name(&self) -> String {
        format!("duckdb-{}-{}.so", self.version, self.processor)
    }

    /// Returns the path of the library, which is usually in actum's home. If it is missing there, the copy in
    /// `lib/actum` of the release that contains `program` is used, if it exists.
    fn found(&self, home: &Path, program: Option<&Path>) -> PathBuf {
        let installed = self.path(home);
        let prefix = program.and_then(|program| program.parent()?.parent());
        let brought = prefix.map(|prefix| prefix.join("lib").join("actum").join(self.name()));
        brought.filter(|brought| !installed.exists() && brought.is_file()).unwrap_or(installed)
    }
}

impl Library {
    /// Finds the library that the policy pins. If it pins none, finds the tested one in actum's home or next to the
    /// program. The file must be a shared library for this processor. The worker compares its digest before loading it,
    /// and [`Library::check`] does so immediately.
    ///
    /// # Errors
    /// Returns [`LibraryError`] if the library is missing, cannot be read, or is for a different processor.
    pub fn find(home: &Path, pinned: Option<&Pinned>) -> Result<Self, LibraryError> {
        let library = match pinned {
            Some(Pinned { path, sha256 }) => {
                Self { path: path.clone(), sha256: *sha256, origin: Origin::Pinned }
            }
            None => {
                let processor = std::env::consts::ARCH;
                let tested = TestedLibrary::for_this_processor();
                let tested = tested.ok_or(LibraryError::Untested { processor })?;
                let sha256 = tested.sha256.parse();
                let sha256 = sha256.map_err(|_| LibraryError::Untested { processor })?;
                // The path is not security-relevant, because the digest decides whether the library is loaded.
                let program = std::env::current_exe().ok();
                let path = tested.found(home, program.as_deref());
                Self { path, sha256, origin: Origin::Tested }
            }
        };
        // The sandbox does not accept a path that contains a symbolic link.
        let library = match std::fs::canonicalize(&library.path) {
            Ok(path) => Self { path, ..library },
            Err(error) => return Err(unreadable(library.path, error)),
        };
        library.check_processor()?;
        Ok(library)
    }

    /// Checks in the ELF header (elf(5)) that the library was built for this processor. No code of the library is run.
    fn check_processor(&self) -> Result<(), LibraryError> {
        let (path, mut header) = (self.path.clone(), Vec::new());
        let opened = File::open(&path).and_then(|file| {
            if !file.metadata()?.is_file() {
                return Ok(());
            }
            file.take(ELF_HEADER_BYTES).read_to_end(&mut header).map(drop)
        });
        if let Err(error) = opened {
            return Err(unreadable(path, error));
        }
        let [0x7f, b'E', b'L', b'F', class, order, ..] = *header else {
            return Err(LibraryError::NoLibrary { path });
        };
        let Some([low, high]) = header.get(18..20).and_then(|it| it.first_chunk()).copied() else {
            return Err(LibraryError::NoLibrary { path });
        };
        let machine = match order {
            ELF_BIG_ENDIAN => u16::from_be_bytes([low, high]),
            _ => u16::from_le_bytes([low, high]),
        };
        let processor = std::env::consts::ARCH;
        let known = PROCESSORS.iter().find(|(_, name)| *name == processor);
        // On a processor without a known number, a wrong library fails to load with the loader's message.
        let Some((own, _)) = known else { return Ok(()) };
        if (class, order, machine) == (ELF_64_BITS, ELF_LITTLE_ENDIAN, *own) {
            return Ok(());
        }
        let found = PROCESSORS.iter().find(|(number, _)| *number == machine);
        let found =
            found.map_or_else(|| format!("machine {machine}"), |(_, name)| (*name).to_owned());
        let bits = if class == ELF_64_BITS { "" } else { ", 32 bits" };
        let order = if order == ELF_LITTLE_ENDIAN { "" } else { ", big-endian" };
        let found = format!("{found}{bits}{order}");
        Err(LibraryError::OtherProcessor { path, found, processor })
    }

    /// Compares the digest of the file with the expected one.
    ///
    /// # Errors
    /// Returns [`LibraryError`] if the digest differs or the file cannot be read.
    pub fn check(&self) -> Result<(), LibraryError> {
        let (path, expected) = (self.path.clone(), self.sha256);
        match (digest(&path), self.origin) {
            (Ok(found), _) if found == expected => Ok(()),
            (Ok(found), Origin::Tested) => Err(LibraryError::Unknown { path, found, expected }),
            (Ok(found), Origin::Pinned) => Err(LibraryError::Changed { path, found, expected }),
            (Err(error), _) => Err(unreadable(path, error)),
        }
    }

    /// Returns the path of the library.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the expected SHA-256 of the library.
    pub fn sha256(&self) -> Digest {
        self.sha256
    }

    /// Returns the reason why the library may be loaded.
    pub fn origin(&self) -> Origin {
        self.origin
    }
}

/// Size of the header of a 64-bit ELF file, in bytes.
const ELF_HEADER_BYTES: u64 = 64;
/// `ELFCLASS64`
const ELF_64_BITS: u8 = 2;
/// `ELFDATA2LSB`
const ELF_LITTLE_ENDIAN: u8 = 1;
/// `ELFDATA2MSB`
const ELF_BIG_ENDIAN: u8 = 2;
/// Machine numbers in ELF headers, with the processor names of `std::env::consts::ARCH`.
const PROCESSORS: [(u16, &str); 2] = [(EM_X86_64, "x86_64"), (EM_AARCH64, "aarch64")];

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

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-11: a release may bundle the library, but an installed library takes precedence.
    #[test]
    fn bundled_library_is_found_if_none_is_installed() {
        let directory = tempfile::tempdir().unwrap();
        let (home, prefix) = (directory.path().join("home"), directory.path().join("usr"));
        let program = prefix.join("bin/actum");
        let (tested, program) = (&TESTED[0], Some(program.as_path()));
        let installed = tested.path(&home);
        assert_eq!(tested.found(&home, program), installed);
        let brought = prefix.join("lib/actum/duckdb-2.0.1-x86_64.so");
        std::fs::create_dir_all(brought.parent().unwrap()).unwrap();
        std::fs::write(&brought, "").unwrap();
        assert_eq!(tested.found(&home, program), brought);
        assert_eq!(tested.found(&home, None), installed);
        std::fs::create_dir_all(installed.parent().unwrap()).unwrap();
        std::fs::write(&installed, "").unwrap();
        assert_eq!(tested.found(&home, program), installed);
    }
}
