//! Places of a measurement: the machine's own file system, and file systems mounted from image files.

use std::fs::{File, canonicalize, create_dir};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::statvfs;

use super::measurement::PlaceName;
use super::{Failure, machine};

/// Minimum free space for starting a run, in bytes.
const FREE_BYTES_MIN: u64 = 10 << 30;
/// Size of an image file. The file is sparse, so only written blocks take space.
const IMAGE_BYTES: u64 = 8 << 30;

/// Directory with everything that a run stores on the disk.
pub(super) struct Grounds {
    directory: PathBuf,
    caretaker: Caretaker,
}

/// Directory on the file system to measure.
pub(super) struct Place {
    pub(super) name: PlaceName,
    pub(super) directory: PathBuf,
    /// Description of the place's file system for readers of the page.
    pub(super) file_system: String,
    mounted: Option<Mounted>,
}

/// File system mounted from an image file. The caretaker unmounts it, however this process ends.
struct Mounted {
    image: PathBuf,
}

impl Grounds {
    /// Creates the directory, preferably on a file system that is on a disk.
    pub(super) fn make() -> Result<Self, Failure> {
        let beside_us = std::env::current_exe().ok();
        let beside_us = beside_us.as_deref().and_then(Path::parent).map(Path::to_owned);
        let temporary = std::env::temp_dir();
        let parent = [Some(temporary.clone()), beside_us]
            .into_iter()
            .flatten()
            .find(|directory| !machine::is_in_memory(directory))
            .unwrap_or(temporary);
        let directory = parent.join(format!("actum-bench-{}", std::process::id()));
        let attempt = || format!("making the directory `{}`", directory.display());
        create_dir(&directory).map_err(|error| format!("{}: {error}", attempt()))?;
        let directory = canonicalize(&directory)?;
        let grounds = Self { caretaker: Caretaker::hire(&directory)?, directory };
        let free = grounds.free_bytes()?;
        if free < FREE_BYTES_MIN {
            return Err(format!(
                "{} GiB are free where temporary files go, and {} are needed; `TMPDIR` names \
                 another place; nothing was measured",
                free >> 30,
                FREE_BYTES_MIN >> 30
            )
            .into());
        }
        Ok(grounds)
    }

    pub(super) fn free_bytes(&self) -> Result<u64, Failure> {
        let stat = statvfs(&self.directory)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Returns a directory for the environment of processes.
    pub(super) fn home(&self) -> Result<PathBuf, Failure> {
        let home = self.directory.join("home");
        create_dir(&home)?;
        Ok(home)
    }

    /// Prepares a place for measurements. Mounting requires root.
    pub(super) fn open(&self, name: PlaceName) -> Result<Place, Failure> {
        let directory = self.directory.join(name.slug());
        create_dir(&directory)?;
        let make = match name {
            PlaceName::Own => {
                let file_system = machine::file_system(&directory)?;
                return Ok(Place { name, directory, file_system, mounted: None });
            }
            // Initialise everything immediately, or the kernel would continue to do so during the measurement.
            PlaceName::Ext4 => {
                ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"].as_slice()
            }
            PlaceName::Xfs => ["mkfs.xfs", "-q", "-f"].as_slice(),
        };
        let image = self.directory.join(format!("{}.image", name.slug()));
        File::create_new(&image)?.set_len(IMAGE_BYTES)?;
        let [program, flags @ ..] = make else { return Err("no program makes it".into()) };
        system(Command::new(program).args(flags).arg(&image))?;
        system(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&directory))?;
        let file_system = format!("{}, loop-mounted", machine::file_system(&directory)?);
        Ok(Place { name, directory, file_system, mounted: Some(Mounted { image }) })
    }

    /// Removes everything that the run stored.
    pub(super) fn clear(self) -> Result<(), Failure> {
        self.caretaker.dismiss()
    }
}

impl Place {
    /// Removes the mount and frees its space. Files on the machine's own file system stay until the end, because
    /// deleting many files can slow down the creation of new ones.
    pub(super) fn close(self) -> Result<(), Failure> {
        if let Some(Mounted { image }) = self.mounted {
            system(Command::new("umount").arg(&self.directory))?;
            std::fs::remove_file(image)?;
        }
        Ok(())
    }
}

/// Runs a program with the two `sbin` directories in its path, which usually only root has.
fn system(command: &mut Command) -> Result<(), Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = command
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("starting `{program}`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stderr = stderr.lines().next().unwrap_or("it said nothing");
    Err(format!("`{program}` failed ({}): {stderr}", output.status).into())
}

/// Process that waits until this process ends for any reason, and then unmounts and removes what it created. It
/// survives Ctrl-C and a kill of this process, unlike a destructor.
struct Caretaker {
    process: Child,
}

/// Script that reads until the pipe from this process closes. `--one-file-system` protects a mount that could not be
/// removed.
const CARE: &str = "\
trap '' INT TERM HUP
cat > /dev/null
for place in ext4 xfs; do
  mount=\"$1/$place\"
  umount \"$mount\" 2> /dev/null || umount --lazy \"$mount\" 2> /dev/null
done
exec rm -rf --one-file-system -- \"$1\"
";

impl Caretaker {
    fn hire(directory: &Path) -> Result<Self, Failure> {
        let path = std::env::var("PATH").unwrap_or_default();
        let process = Command::new("sh")
            .args(["-c", CARE, "sh"])
            .arg(directory)
            .env("PATH", format!("{path}:/usr/sbin:/sbin"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // Signals to this process group must not reach the caretaker.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("starting `sh`, which cleans up in the end: {error}"))?;
        Ok(Self { process })
    }

    fn dismiss(mut self) -> Result<(), Failure> {
        drop(self.process.stdin.take());
        let status = self.process.wait()?;
        if status.success() { Ok(()) } else { Err(format!("cleaning up failed ({status})").into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caretaker_removes_the_directory_when_dismissed() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("grounds");
        create_dir(&directory).unwrap();
        File::create(directory.join("file")).unwrap();
        let caretaker = Caretaker::hire(&directory).unwrap();
        assert!(directory.exists());
        caretaker.dismiss().unwrap();
        assert!(!directory.exists());
    }

    #[test]
    fn failed_program_is_reported_with_its_first_error_line() {
        let error = system(Command::new("sh").args(["-c", "echo why >&2; exit 2"])).unwrap_err();
        assert_eq!(error.to_string(), "`sh` failed (exit status: 2): why");
    }
}
