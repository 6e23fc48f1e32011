//! Compares the simulated disk with the kernel: the same random calls must have the same results on both.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::rc::Rc;

use actum_core::{FileMode, RelPath};
use actum_testkit::{Random, SimDisk};
use actum_workspace::disk::{Barrier, Disk, Kind, LinuxDisk, Rename};

/// A disk with its open handles.
struct Side<D: Disk> {
    disk: D,
    root: D::Handle,
    directories: Vec<Rc<D::Handle>>,
    files: Vec<Rc<D::Handle>>,
    /// Numbers inodes in the order in which they appear, because inode numbers differ between disks.
    inodes: BTreeMap<u64, usize>,
}

/// Maximum number of open handles. Opening one more closes the oldest.
const OPEN_MAX: usize = 6;

fn keep<H>(handles: &mut Vec<Rc<H>>, opened: io::Result<H>) -> io::Result<()> {
    handles.push(Rc::new(opened?));
    if handles.len() > OPEN_MAX {
        handles.remove(1);
    }
    Ok(())
}

fn shown<T: Debug>(result: io::Result<T>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{:?} {error}", error.raw_os_error()),
    }
}

const PATHS: [&str; 8] = ["a", "b", "d", "d/a", "d/d", "d/d/a", "l", "l/a"];
const NAMES: [&str; 8] = ["a", "b", "c", "d", "l", "p", ".", "none"];

impl<D: Disk> Side<D> {
    fn new(disk: D, path: &Path) -> Self {
        let open = || disk.open_root(path).unwrap();
        let (root, directories) = (open(), vec![Rc::new(open())]);
        let file = disk.create(&root, b"first", FileMode::new(0o600)).unwrap();
        Self { disk, root, directories, files: vec![Rc::new(file)], inodes: BTreeMap::new() }
    }

    /// Makes one random call, and returns its outcome.
    fn step(&mut self, random: &mut Random) -> String {
        let call = random.below(21);
        let parent = random.below(self.directories.len());
        let other = random.below(self.directories.len());
        let file = random.below(self.files.len());
        let (name, to) = (random.one_of(&NAMES).as_bytes(), random.one_of(&NAMES).as_bytes());
        let rename = random.one_of(&[Rename::NoReplace, Rename::Exchange, Rename::Replace]);
        // Use only modes that do not depend on the user who runs the test or on the umask.
        let mode = FileMode::new(random.one_of(&[0o700, 0o711, 0o755]));
        let own = FileMode::new(0o700);
        let offset = random.one_of(&[0, 1, 4095, 4096, 5000, 8192]);
        let bytes = vec![b'x' + (offset % 3) as u8; random.one_of(&[0, 1, 4096, 6000])];
        let path = RelPath::new(random.one_of(&PATHS)).unwrap();

        let disk = &self.disk;
        let parent = &*Rc::clone(&self.directories[parent]);
        let other = &*Rc::clone(&self.directories[other]);
        let file = &*Rc::clone(&self.files[file]);
        let outcome = match call {
            0 => shown(keep(&mut self.directories, disk.open_parent(&self.root, &path))),
            1 => shown(keep(&mut self.directories, disk.open_directory(parent, name))),
            2 => shown(keep(&mut self.files, disk.open_file(parent, name))),
            3 => shown(keep(&mut self.files, disk.open_own(parent, name))),
            4 | 5 => shown(keep(&mut self.files, disk.create(parent, name, own))),
            6 => shown(disk.write_at(file, &bytes, offset)),
            7 => shown(disk.set_size(file, offset)),
            8 => {
                let mut buffer = vec![0; 7000];
                let read = disk.read_at(file, &mut buffer, offset);
                shown(read.map(|length| buffer[..length].escape_ascii().to_string()))
            }
            9 => shown(disk.set_mode(file, mode)),
            10 => shown(disk.link(parent, name, other, to)),
            11..14 => shown(disk.rename(parent, name, other, to, rename)),
            14 => shown(disk.unlink(parent, name)),
            15 | 16 => shown(disk.make_directory(parent, name, own)),
            17 => shown(disk.remove_directory(parent, name)),
            18 => shown(disk.list(parent).map(|mut names| {
                names.sort();
                names
            })),
            19 => shown(disk.sync(either(file, parent, offset), Barrier::End)),
            _ => {
                let found = disk.stat_at(parent, name);
                shown(found.map(|found| found.map(|stat| self.facts(&stat))))
            }
        };
        let (name, to) = (name.escape_ascii(), to.escape_ascii());
        format!("{call} {path} {name} {to} {rename:?} {offset} {}: {outcome}", bytes.len())
    }

    fn facts(&self, stat: &actum_workspace::disk::Stat) -> String {
        // File systems differ in the size and link count of directories.
        let own = (stat.kind != Kind::Directory).then_some((stat.links, stat.size));
        let mode = (stat.kind != Kind::Symlink).then_some(stat.mode.bits());
        let known = self.inodes.get(&stat.inode);
        format!("{:?} {own:?} {mode:?} {known:?}", stat.kind)
    }

    /// Returns the facts about all open handles.
    fn all(&mut self) -> Vec<String> {
        let handles = self.directories.iter().chain(&self.files);
        let stats: Vec<_> = handles.map(|handle| self.disk.stat(&**handle).unwrap()).collect();
        for stat in &stats {
            let next = self.inodes.len();
            self.inodes.entry(stat.inode).or_insert(next);
        }
        stats.iter().map(|stat| self.facts(stat)).collect()
    }
}

fn either<'a, H>(file: &'a H, parent: &'a H, offset: u64) -> &'a H {
    if offset.is_multiple_of(2) { file } else { parent }
}

#[test]
fn simulated_disk_matches_the_kernel() {
    for seed in 1..=30 {
        let directory = tempfile::tempdir().unwrap();
        let mut real = Side::new(LinuxDisk, directory.path());
        let mut simulated = Side::new(SimDisk::new(), Path::new("/"));
        std::os::unix::fs::symlink("d", directory.path().join("l")).unwrap();
        simulated.disk.symlink("l", "d");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o644));
        rustix::fs::mknodat(&real.root, "p", kind, mode, 0).unwrap();
        simulated.disk.fifo("p");

        let (mut random, mut same_random) = (Random::new(seed), Random::new(seed));
        for step in 0..400 {
            let wanted = real.step(&mut random);
            let found = simulated.step(&mut same_random);
            assert_eq!(found, wanted, "seed {seed} step {step}");
            // A real disk reuses free inode numbers, so only the inodes that are open now are compared.
            real.inodes.clear();
            simulated.inodes.clear();
            assert_eq!(simulated.all(), real.all(), "seed {seed} step {step} after {wanted}");
        }
    }
}
