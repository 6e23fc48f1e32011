//! The effects of single calls that the comparison with the kernel does not cover.

use std::io;

use actum_core::{FileMode, RelPath};
use actum_testkit::{Errno, Node, SimDisk};
use actum_workspace::disk::{Barrier, Disk, Kind, Rename};

use crate::{root_of, write_new};

fn errno<T>(result: io::Result<T>) -> Option<Errno> {
    result.err().map(|error| Errno::from_io_error(&error).unwrap())
}

fn path(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

#[test]
fn another_file_system_is_not_entered() {
    let disk = SimDisk::new();
    disk.put("m/d/a", "1");
    disk.put("a", "1");
    disk.mount("m");
    let root = root_of(&disk);
    assert_eq!(errno(disk.open_parent(&root, &path("m"))), Some(Errno::XDEV));
    assert_eq!(errno(disk.open_parent(&root, &path("m/d"))), Some(Errno::XDEV));
    assert_eq!(errno(disk.open_directory(&root, b"m")), Some(Errno::XDEV));
    assert_eq!(errno(disk.open_directory(&root, b"..")), Some(Errno::XDEV));
    assert_eq!(errno(disk.rename(&root, b"m", &root, b"n", Rename::NoReplace)), Some(Errno::BUSY));
    let outside = disk.stat_at(&root, b"m").unwrap().unwrap();
    assert_ne!(outside.device, disk.stat(&root).unwrap().device);
    disk.put("m/new", "2");
    assert_eq!(disk.stat_of("m/new").unwrap().device, outside.device);
}

#[test]
fn sync_of_one_file_system_does_not_sync_the_other() {
    let disk = SimDisk::new();
    disk.put("m/a", "1");
    disk.mount("m");
    disk.settle();
    disk.overwrite("m/a", "2", 0);
    disk.sync_all(&root_of(&disk), Barrier::Checkpoint).unwrap();
    assert_eq!(disk.crash_state_count(), 2);
}

#[test]
fn each_change_updates_the_expected_timestamps() {
    let disk = SimDisk::new();
    disk.put("d/a", "1");
    disk.put("e/b", "2");
    let root = root_of(&disk);
    let directory = disk.open_directory(&root, b"d").unwrap();
    let file = disk.open_own(&directory, b"a").unwrap();
    // Returns which times changed (modification and change time) for the file and its directory.
    let moved = |act: &dyn Fn()| {
        let before = (disk.stat_of("d/a").unwrap(), disk.stat_of("d").unwrap());
        act();
        let file = disk.stat(&file).unwrap();
        let directory = disk.stat(&directory).unwrap();
        [
            file.modified > before.0.modified,
            file.changed > before.0.changed,
            directory.modified > before.1.modified,
            directory.changed > before.1.changed,
        ]
    };
    assert_eq!(moved(&|| disk.write_at(&file, b"3", 0).unwrap()), [true, true, false, false]);
    assert_eq!(moved(&|| disk.set_size(&file, 9).unwrap()), [true, true, false, false]);
    let set_mode = || disk.set_mode(&file, FileMode::EXECUTABLE).unwrap();
    assert_eq!(moved(&set_mode), [false, true, false, false]);
    let set_xattr = || disk.set_xattr(&file, b"user.x", b"1").unwrap();
    assert_eq!(moved(&set_xattr), [false, true, false, false]);
    let link = || disk.link(&directory, b"a", &directory, b"b").unwrap();
    assert_eq!(moved(&link), [false, true, true, true]);
    let exchange = || {
        disk.put("d/c", "3");
        disk.rename(&directory, b"c", &directory, b"a", Rename::Exchange).unwrap();
        disk.rename(&directory, b"c", &directory, b"a", Rename::Exchange).unwrap();
    };
    assert_eq!(moved(&exchange), [false, true, true, true]);
    assert_eq!(moved(&|| assert!(disk.stat(&file).is_ok())), [false; 4]);
    let now = disk.now();
    assert!(disk.now() > now && now > disk.stat(&file).unwrap().changed);
}

/// chown(2), capabilities(7)
#[test]
fn chown_and_writes_clear_setuid_and_setgid_bits() {
    let disk = SimDisk::new();
    disk.put("a", "1");
    disk.chmod("a", 0o6755);
    disk.set_xattr_at("a", "security.capability", "x");
    disk.set_xattr_at("a", "user.kept", "y");
    let file = disk.open_own(&root_of(&disk), b"a").unwrap();
    disk.write_at(&file, b"2", 0).unwrap();
    disk.set_owner(&file, 7, 8).unwrap();
    let wanted = Node::File {
        mode: FileMode::new(0o755),
        user: 7,
        group: 8,
        xattrs: vec![(b"user.kept".to_vec(), b"y".to_vec())],
        bytes: b"2".to_vec(),
    };
    assert_eq!(disk.snapshot()["a"], wanted);
    assert_eq!(errno(disk.remove_xattr(&file, b"user.none")), Some(Errno::NODATA));
    assert_eq!(errno(disk.set_xattr(&file, b"bad", b"")), Some(Errno::OPNOTSUPP));
    disk.remove_xattr(&file, b"user.kept").unwrap();
    assert_eq!(disk.xattrs(&file).unwrap(), []);
}

#[test]
fn umask_and_setgid_directories_apply_to_new_files() {
    let disk = SimDisk::new();
    disk.mkdir_p("d");
    disk.chown("d", 5, 6);
    disk.chmod("d", 0o2777);
    let directory = disk.open_directory(&root_of(&disk), b"d").unwrap();
    disk.make_directory(&directory, b"e", FileMode::new(0o777)).unwrap();
    drop(disk.create(&directory, b"a", FileMode::new(0o666)).unwrap());
    let made = |path| {
        let stat = disk.stat_of(path).unwrap();
        (stat.mode.bits(), stat.group)
    };
    assert_eq!((made("d/e"), made("d/a")), ((0o2755, 6), (0o644, 6)));
}

#[test]
fn path_handle_allows_only_name_operations() {
    let disk = SimDisk::new();
    disk.mkdir_p("d");
    let root = root_of(&disk);
    let parent = disk.open_parent(&root, &path("d")).unwrap();
    drop(write_new(&disk, &parent, "a", b"1"));
    assert_eq!(disk.stat(&parent).unwrap().kind, Kind::Directory);
    assert_eq!(errno(disk.list(&parent)), Some(Errno::BADF));
    assert_eq!(errno(disk.sync(&parent, Barrier::KeptName)), Some(Errno::BADF));
    assert_eq!(errno(disk.lock(&parent, false)), Some(Errno::BADF));
    let listed = disk.open_directory(&parent, b".").unwrap();
    assert_eq!(disk.list(&listed).unwrap(), [b"a"]);
}

#[test]
fn snapshot_contains_files_made_by_the_helpers() {
    let disk = SimDisk::new();
    disk.put_mode("d/a", "1", 0o600);
    disk.symlink("l", "d/a");
    disk.fifo("f");
    disk.put(".actum/journal", "x");
    let before = disk.stat_of("d/a").unwrap().inode;
    disk.replace("d/a", "2\n");
    assert_ne!(disk.stat_of("d/a").unwrap().inode, before);
    assert_eq!(
        format!("{:?}", disk.snapshot_without(".actum")),
        r#"{"d": directory 0755, "d/a": file 0600 1000:1000 2 bytes `2\n`, "f": special, "l": symlink to `d/a`}"#
    );
    assert_eq!(disk.snapshot().len(), 6);
    assert_eq!(disk.get("l"), None);
    disk.remove("d");
    assert_eq!(disk.stat_of("d"), None);
}
