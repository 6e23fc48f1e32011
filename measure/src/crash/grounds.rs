//! File systems in image files, whose power can be cut.

use std::fs::{File, canonicalize, create_dir};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, StatxFlags, statvfs, statx};

use super::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum FileSystem {
    Ext4,
    #[value(name = "ext4-nojournal")]
    Ext4NoJournal,
    Xfs,
}

/// Data that still reaches the disk at the moment of the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// No further data.
    Nothing,
    /// The file system's log, but no file data.
    Log,
    /// All data, after which all writers are stopped.
    Everything,
}

/// Whether a file system may write again when it is unmounted after the power cut. Ext4 without a journal writes its metadata at
/// that point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unmount {
    Allowed,
    /// The disk remains as it was at the moment of the cut.
    TooLate,
}

/// Directory that contains everything one invocation creates.
pub(super) struct Grounds {
    directory: PathBuf,
    caretaker: Caretaker,
}

/// File system mounted from an image file. The caretaker unmounts it however this process ends.
pub(super) struct Mounted<'g> {
    grounds: &'g Grounds,
    file_system: FileSystem,
    options: &'static str,
}

/// Free space in bytes that is required to begin.
const FREE_BYTES_MIN: u64 = 2 << 30;
/// Size of an image in bytes. The image is sparse, and xfs requires at least 300 MiB.
const IMAGE_BYTES: u64 = 512 << 20;
/// Directory in memory, where writing is cheapest.
const IN_MEMORY: &str = "/dev/shm";

impl FileSystem {
    /// Mount options that affect which data is lost.
    pub(super) fn mount_options(self) -> &'static [&'static str] {
        match self {
            Self::Ext4 => &["loop", "loop,data=writeback"],
            Self::Ext4NoJournal => &["loop"],
            Self::Xfs => &["loop"],
        }
    }

    fn make(self) -> &'static [&'static str] {
        // Initialise everything immediately, or the kernel would continue to do so while the worker writes.
        const EAGER: &str = "lazy_itable_init=0,lazy_journal_init=0";
        match self {
            Self::Ext4 => &["mkfs.ext4", "-q", "-F", "-E", EAGER],
            Self::Ext4NoJournal => {
                &["mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0"]
            }
            Self::Xfs => &["mkfs.xfs", "-q", "-f"],
        }
    }
}

impl Cut {
    /// Commands for xfs_io(8), which can also issue the ioctl on ext4. They do not include the default mode of the ioctl, which
    /// freezes and then shuts down, because xfs_io does not offer it.
    fn orders(self) -> &'static [&'static str] {
        match self {
            Self::Nothing => &["-c", "shutdown"],
            Self::Log => &["-c", "shutdown -f"],
            Self::Everything => &["-c", "freeze", "-c", "shutdown", "-c", "thaw"],
        }
    }
}

impl Grounds {
    pub(super) fn make() -> Result<Self, Failure> {
        let has_room = |directory: &PathBuf| free_bytes(directory) >= FREE_BYTES_MIN;
        let parent = [IN_MEMORY.into(), std::env::temp_dir()].into_iter().find(has_room);
        let parent = parent.ok_or_else(|| {
            format!(
                "neither `{IN_MEMORY}` nor the directory for temporary files has {} GiB free; \
                 `TMPDIR` names another place; nothing was mounted",
                FREE_BYTES_MIN >> 30
            )
        })?;
        mounts_can_be_told_apart(&parent)?;
        let directory = parent.join(format!("actum-crash-{}", std::process::id()));
        create_dir(&directory)
            .map_err(|error| format!("making the directory `{}`: {error}", directory.display()))?;
        let directory = canonicalize(&directory)?;
        let caretaker = Caretaker::hire(&directory)?;
        create_dir(directory.join("mount"))?;
        Ok(Self { directory, caretaker })
    }

    /// Creates a new file system and mounts it.
    pub(super) fn mount_new(
        &self,
        file_system: FileSystem,
        options: &'static str,
    ) -> Result<Mounted<'_>, Failure> {
        let image = self.image();
        File::create(&image)?.set_len(0)?;
        File::create(&image)?.set_len(IMAGE_BYTES)?;
        let [program, flags @ ..] = file_system.make() else { return Err("no program".into()) };
        system(Command::new(program).args(flags).arg(&image), &[0])?;
        let mounted = Mounted { grounds: self, file_system, options };
        mounted.mount()?;
        Ok(mounted)
    }

    fn image(&self) -> PathBuf {
        self.directory.join("image")
    }

    fn mount_point(&self) -> PathBuf {
        self.directory.join("mount")
    }

    /// Path of the image as it was after the last cut, before any repair.
    fn image_after_cut(&self) -> PathBuf {
        self.directory.join("image-after-cut")
    }

    /// Removes everything this invocation created.
    pub(super) fn clear(self) -> Result<(), Failure> {
        self.caretaker.dismiss()
    }
}

impl Mounted<'_> {
    /// Path of the directory in which the worker works.
    pub(super) fn tree(&self) -> PathBuf {
        self.grounds.mount_point().join("tree")
    }

    pub(super) fn options(&self) -> &'static str {
        self.options
    }

    fn mount(&self) -> Result<(), Failure> {
        let mut mount = Command::new("mount");
        mount.args(["-o", self.options]).arg(self.grounds.image()).arg(self.grounds.mount_point());
        system(&mut mount, &[0])
    }

    fn unmount(&self) -> Result<(), Failure> {
        let mut tries = 0;
        loop {
            // A process that was just killed may still be exiting.
            match system(Command::new("umount").arg(self.grounds.mount_point()), &[0]) {
                Err(_) if tries < 40 => sleep(Duration::from_millis(50)),
                unmounted => return unmounted,
            }
            tries += 1;
        }
    }

    /// Makes all data durable by unmounting and remounting.
    pub(super) fn settle(&self) -> Result<(), Failure> {
        self.unmount()?;
        self.mount()
    }

    /// Cuts the power, so that nothing is written to the disk from now on.
    pub(super) fn cut(&self, cut: Cut) -> Result<(), Failure> {
        let mut xfs_io = Command::new("xfs_io");
        system(xfs_io.arg("-x").args(cut.orders()).arg(self.grounds.mount_point()), &[0])
    }

    /// Simulates a restart: checks the file system if necessary, and mounts it.
    pub(super) fn restart(&self, unmount: Unmount) -> Result<(), Failure> {
        let (image, after_cut) = (self.grounds.image(), self.grounds.image_after_cut());
        match unmount {
            Unmount::Allowed => {
                self.unmount()?;
                copy(&image, &after_cut)?;
            }
            Unmount::TooLate => {
                copy(&image, &after_cut)?;
                self.unmount()?;
                copy(&after_cut, &image)?;
            }
        }
        match self.file_system {
            // Exit code 1: errors were corrected.
            FileSystem::Ext4 | FileSystem::Ext4NoJournal => {
                system(Command::new("e2fsck").args(["-f", "-y"]).arg(&image), &[0, 1])?;
            }
            FileSystem::Xfs => {} // its log is replayed by mounting
        }
        self.mount()
    }

    /// Keeps the image of the last cut for inspection, and returns its path.
    pub(super) fn keep_image(&self, name: &str) -> Result<PathBuf, Failure> {
        let kept = self
            .grounds
            .directory
            .with_file_name(format!("actum-crash-{}-{name}.image", std::process::id()));
        let after_cut = self.grounds.image_after_cut();
        let last = if after_cut.exists() { after_cut } else { self.grounds.image() };
        copy(&last, &kept)?;
        Ok(kept)
    }

    /// Unmounts and removes the file system.
    pub(super) fn close(self) -> Result<(), Failure> {
        self.unmount()?;
        let after_cut = self.grounds.image_after_cut();
        if after_cut.exists() {
            std::fs::remove_file(after_cut)?;
        }
        Ok(())
    }
}

fn free_bytes(directory: &Path) -> u64 {
    statvfs(directory).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Checks that the kernel assigns a unique number to each mount (STATX_MNT_ID_UNIQUE, Linux 6.8). Without it, actum cannot detect a
/// remount within one boot, and mistakes the power cut for a killed process.
fn mounts_can_be_told_apart(directory: &Path) -> Result<(), Failure> {
    let unique = StatxFlags::from_bits_retain(0x4000);
    match statx(CWD, directory, AtFlags::empty(), unique) {
        Ok(found) if found.stx_mask & unique.bits() != 0 => Ok(()),
        Ok(_) | Err(_) => {
            Err("this kernel does not tell one mount from another, which Linux 6.8 does; \
                 nothing was mounted"
                .into())
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    system(Command::new("cp").arg("--sparse=always").arg(from).arg(to), &[0])
}

/// Runs a program with root's two additional directories in its search path. Any exit code outside `success` is an error.
fn system(command: &mut Command, success: &[i32]) -> Result<(), Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = command
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("starting `{program}`: {error}"))?;
    if output.status.code().is_some_and(|code| success.contains(&code)) {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stderr = stderr.lines().next().unwrap_or("it said nothing");
    Err(format!("`{program}` failed ({}): {stderr}", output.status).into())
}

/// Process that waits for this process to end for any reason, and then unmounts and removes everything it created. It also cleans
/// up after Ctrl-C or a kill, when no destructor runs.
struct Caretaker {
    process: Child,
}

/// Shell script of the caretaker: reads until the pipe from this process closes, then retries the cleanup for two seconds. The
/// worker loses its reader at the same time, but may take a moment to exit. `--one-file-system` protects a file system that could
/// not be unmounted.
const CARE: &str = "\
trap '' INT TERM HUP
cat > /dev/null
tries=0
while mountpoint -q \"$1/mount\" && ! umount \"$1/mount\" 2> /dev/null; do
  tries=$((tries + 1))
  if [ $tries = 20 ]; then umount --lazy \"$1/mount\"; break; fi
  sleep 0.1
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
            // The caretaker must not receive signals sent to this process group.
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
        File::create(directory.join("image")).unwrap();
        let caretaker = Caretaker::hire(&directory).unwrap();
        assert!(directory.exists());
        caretaker.dismiss().unwrap();
        assert!(!directory.exists());
    }

    #[test]
    fn unexpected_exit_code_is_an_error_with_the_first_error_line() {
        let shell = |script: &str, success: &[i32]| {
            system(Command::new("sh").args(["-c", script]), success).map_err(|e| e.to_string())
        };
        assert_eq!(shell("exit 1", &[0, 1]), Ok(()));
        let error = shell("echo why >&2; exit 2", &[0, 1]);
        assert_eq!(error, Err("`sh` failed (exit status: 2): why".to_owned()));
    }
}
