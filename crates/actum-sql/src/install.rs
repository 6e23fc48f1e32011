//! Installs the tested DuckDB library at a user's request. pip downloads a single package, whose digest is checked.

use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use actum_core::Digest;
use object::LittleEndian as Little;
use object::elf::{FileHeader64, SHN_UNDEF, STB_WEAK, Sym64};
use object::pod::bytes_of;
use object::read::elf::{FileHeader, Sym};

use crate::library::{TestedLibrary, digest};

/// DuckDB library that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Version of DuckDB.
    pub version: &'static str,
    /// Path of the library file.
    pub path: PathBuf,
    /// SHA-256 of the library file.
    pub sha256: Digest,
    /// Whether the library was already installed, so that nothing was changed.
    pub was_there: bool,
}

/// Reason why the library was not installed. In that case, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// No library was tested for this processor.
    #[error("no DuckDB library was tested on {processor} processors")]
    Untested {
        /// Name of this processor architecture.
        processor: &'static str,
    },
    /// pip failed to download the package.
    #[error("`{command}` failed: {output}")]
    Pip {
        /// Abbreviated command line of pip.
        command: String,
        /// Error output of pip.
        output: String,
    },
    /// The package contains no library, or a library other than the tested one.
    #[error("the package differs from the tested one: {why}")]
    Package {
        /// Description of the difference.
        why: String,
    },
    /// The operating system reported an error.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    System {
        /// Step that failed, as a verb phrase.
        doing: &'static str,
        /// File or directory that the step concerned.
        path: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
}

/// Python version for which the package is built. This version need not be installed.
const PYTHON: &str = "3.11";

/// Installs the tested library in actum's home, using the pip of the program `python` for the download.
///
/// # Errors
/// Returns [`InstallError`] if the download fails, the library differs from the tested one, or it cannot be written.
pub fn install(home: &Path, python: &Path) -> Result<Installed, InstallError> {
    let processor = std::env::consts::ARCH;
    let tested = TestedLibrary::for_this_processor().ok_or(InstallError::Untested { processor })?;
    let path = tested.path(home);
    let version = tested.version;
    if let Ok(sha256) = digest(&path)
        && sha256.to_string() == tested.sha256
    {
        return Ok(Installed { version, path, sha256, was_there: true });
    }
    let directory = home.join("sql");
    let system = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| InstallError::System { doing, path, source }
    };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&directory);
    made.map_err(system("create", &directory))?;
    let temporary =
        tempfile::tempdir_in(&directory).map_err(system("create a directory in", &directory))?;
    let package = fetch(tested, temporary.path(), python)?;
    let mut bytes = std::fs::read(&package).map_err(system("read", &package))?;
    weaken(&mut bytes).map_err(|why| InstallError::Package { why })?;
    let sha256 = Digest::of(&bytes);
    if sha256.to_string() != tested.sha256 {
        let why = format!("its library has the SHA-256 {sha256}");
        return Err(InstallError::Package { why });
    }
    let mut file = tempfile::NamedTempFile::new_in(&directory)
        .map_err(system("create a file in", &directory))?;
    let written = file.write_all(&bytes).and_then(|()| file.as_file().sync_all());
    written.map_err(system("write", file.path()))?;
    let persisted = file.persist(&path).map_err(|error| error.error);
    persisted.map_err(system("write", &path))?;
    Ok(Installed { version, path, sha256, was_there: false })
}

/// Downloads and unpacks the package with pip, which also verifies its digest. Returns the path of the library in the
/// package.
fn fetch(tested: &TestedLibrary, directory: &Path, python: &Path) -> Result<PathBuf, InstallError> {
    let system = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| InstallError::System { doing, path, source }
    };
    let requirements = directory.join("requirements.txt");
    let TestedLibrary { version, processor, package_sha256, .. } = tested;
    let line = format!("duckdb=={version} --hash=sha256:{package_sha256}\n");
    std::fs::write(&requirements, line).map_err(system("write", &requirements))?;
    let target = directory.join("package");
    let mut command = Command::new(python);
    command
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
        .args(["--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-compile"])
        .args(["--implementation", "cp", "--python-version", PYTHON])
        .arg("--platform")
        .arg(format!("manylinux_2_28_{processor}"))
        .arg("--target")
        .args([&target, &PathBuf::from("--requirement"), &requirements])
        .current_dir(directory);
    let pip_command = format!("{} -m pip install duckdb=={version}", python.display());
    let output = command.output().map_err(system("start", python))?;
    if !output.status.success() {
        let output = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(InstallError::Pip { command: pip_command, output });
    }
    let names = std::fs::read_dir(&target).map_err(system("read", &target))?;
    let library = names.filter_map(Result::ok).map(|entry| entry.path()).find(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("_duckdb.") && name.ends_with(".so")
    });
    library.ok_or_else(|| InstallError::Package { why: "it contains no library".to_owned() })
}

/// Makes the undefined Python symbols of the library weak. The library is an extension module, but uses Python only
/// when Python calls it. An unresolved weak symbol is null and does not prevent the library from being loaded (elf(5)).
fn weaken(bytes: &mut [u8]) -> Result<(), String> {
    let size = size_of::<Sym64<Little>>();
    let mut weakened = Vec::new();
    {
        let bytes: &[u8] = bytes;
        let wrong = |error: object::Error| format!("its library is not a valid ELF file: {error}");
        let header = FileHeader64::<Little>::parse(bytes).map_err(wrong)?;
        let endian = header.endian().map_err(wrong)?;
        let sections = header.sections(endian, bytes).map_err(wrong)?;
        let symbols = sections.symbols(endian, bytes, object::elf::SHT_DYNSYM).map_err(wrong)?;
        let section = sections.section(symbols.section()).map_err(wrong)?;
        let offset = usize::try_from(section.sh_offset.get(endian)).map_err(|e| e.to_string())?;
        for (index, symbol) in symbols.iter().enumerate() {
            let name = symbol.name(endian, symbols.strings()).map_err(wrong)?;
            let is_of_python = name.starts_with(b"Py") || name.starts_with(b"_Py");
            if is_of_python && symbol.st_shndx.get(endian) == SHN_UNDEF {
                let mut symbol = *symbol;
                symbol.st_info = (STB_WEAK << 4) | symbol.st_type();
                weakened.push((offset + index * size, symbol));
            }
        }
    }
    for (at, symbol) in weakened {
        let place = bytes.get_mut(at..at + size);
        place.ok_or("its library is truncated")?.copy_from_slice(bytes_of(&symbol));
    }
    Ok(())
}
