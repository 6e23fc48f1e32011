//! Installs the tested library: a person's act, which lets pip fetch one package and compares its digest.

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

/// The library was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Version of DuckDB.
    pub version: &'static str,
    /// Path of the library.
    pub path: PathBuf,
    /// Its SHA-256.
    pub sha256: Digest,
    /// The library was present before, and nothing was done.
    pub was_there: bool,
}

/// Reason why the library was not installed. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// None was tested for this processor.
    #[error("no DuckDB library was tested on {processor}")]
    Untested {
        /// This processor.
        processor: &'static str,
    },
    /// pip failed.
    #[error("`{command}` failed: {output}")]
    Pip {
        /// Command.
        command: String,
        /// End of its output.
        output: String,
    },
    /// The package holds no library, or another one than was tested.
    #[error("the package is not the one that was tested: {why}")]
    Package {
        /// Description of the problem.
        why: String,
    },
    /// The system failed.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    System {
        /// Step.
        doing: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Error.
        source: std::io::Error,
    },
}

/// Python that the package is made for. No Python of this version has to be installed.
const PYTHON: &str = "3.11";

/// Installs the tested library below the home of actum, with pip as a child. `python` is the program that has pip.
///
/// # Errors
/// [`InstallError`]
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
    made.map_err(system("make", &directory))?;
    let temporary =
        tempfile::tempdir_in(&directory).map_err(system("make a directory in", &directory))?;
    let package = fetch(tested, temporary.path(), python)?;
    let mut bytes = std::fs::read(&package).map_err(system("read", &package))?;
    weaken(&mut bytes).map_err(|why| InstallError::Package { why })?;
    let sha256 = Digest::of(&bytes);
    if sha256.to_string() != tested.sha256 {
        let why = format!("the library would have the digest {sha256}");
        return Err(InstallError::Package { why });
    }
    let mut file = tempfile::NamedTempFile::new_in(&directory)
        .map_err(system("make a file in", &directory))?;
    let written = file.write_all(&bytes).and_then(|()| file.as_file().sync_all());
    written.map_err(system("write", file.path()))?;
    let persisted = file.persist(&path).map_err(|error| error.error);
    persisted.map_err(system("write", &path))?;
    Ok(Installed { version, path, sha256, was_there: false })
}

/// Lets pip fetch and unpack the package, which it compares with the digest; returns the path of
/// the library in it.
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
    let told = format!("{} -m pip install duckdb=={version}", python.display());
    let output = command.output().map_err(system("start", python))?;
    if !output.status.success() {
        let output = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(InstallError::Pip { command: told, output });
    }
    let names = std::fs::read_dir(&target).map_err(system("read", &target))?;
    let library = names.filter_map(Result::ok).map(|entry| entry.path()).find(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("_duckdb.") && name.ends_with(".so")
    });
    library.ok_or_else(|| InstallError::Package { why: "it holds no library".to_owned() })
}

/// Makes the symbols of Python weak. The library is one for Python, and needs nothing of it unless
/// Python calls it. A missing weak symbol is null and does not keep the library from being loaded
/// (elf(5)).
fn weaken(bytes: &mut [u8]) -> Result<(), String> {
    let size = size_of::<Sym64<Little>>();
    let mut weakened = Vec::new();
    {
        let bytes: &[u8] = bytes;
        let wrong = |error: object::Error| format!("its library is no ELF file: {error}");
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
        place.ok_or("its library is cut off")?.copy_from_slice(bytes_of(&symbol));
    }
    Ok(())
}
