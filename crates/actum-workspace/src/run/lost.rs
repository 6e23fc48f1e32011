//! Moves files that a rollback could not restore to `.actum/lost`, and blocks their paths until a user resolves them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use actum_core::{Digest, FileMode, RelPath, RunId};

use crate::content::{Bytes, Source};
use crate::disk::{Barrier, Disk, Kind, Rename, Stat};
use crate::error::{Result, ResultExt};
use crate::history::images::Images;
use crate::home::lost_names::DISPLACED_ENDINGS;
use crate::home::{Home, replace_file};
use crate::journal::record::{Entry, FileImage, Image, Intent, Side, stage_name};
use crate::run::publish::{exchanged_name, gone_name};
use crate::run::second_name::Moves;
use crate::tree::{Tree, digest_of, open_content, read_whole};
use crate::workspace::Workspace;

const LISTING: &[u8] = b"paths";
const LISTING_NEW: &[u8] = b"paths.new";

/// Context for moving files to the lost directory.
pub(crate) struct Lost<'a, D: Disk> {
    pub(crate) disk: &'a D,
    pub(crate) home: &'a Home<D::Handle>,
    pub(crate) blocked: &'a mut BTreeMap<RelPath, RunId>,
}

impl<D: Disk> Workspace<D> {
    /// Saves and blocks paths that a run could not restore, as [`Lost::set_aside`] does.
    pub(crate) fn set_lost_aside(&mut self, intent: &Intent, entries: &[usize]) -> Result<()> {
        let mut lost = Lost { disk: &self.disk, home: &self.home, blocked: &mut self.blocked };
        lost.set_aside(intent, entries)
    }
}

impl<D: Disk> Lost<'_, D> {
    /// Saves the images of paths that a run could not restore under `.actum/lost/RUN/`, and blocks the paths. All of
    /// this is durable before the run is ended. A displaced object is only moved there after it is listed and its path
    /// is blocked, so a recovery that is killed leaves no unreported files.
    pub(crate) fn set_aside(&mut self, intent: &Intent, entries: &[usize]) -> Result<()> {
        let doing = || format!("save the files that run {} could not restore", intent.run);
        let run = intent.run.to_string();
        let mode = FileMode::PRIVATE_DIRECTORY;
        accept_existing(self.disk.make_directory(&self.home.lost, run.as_bytes(), mode))
            .doing(doing)?;
        let lost = self.disk.open_directory(&self.home.lost, run.as_bytes()).doing(doing)?;
        let mut listing = self.read_listing(&lost)?;
        let mut found = Vec::new();
        let moves = Moves::new(intent);
        let own_names = match moves.is_empty() {
            true => HashMap::new(),
            false => self.count_own_names(&lost)?,
        };
        for &index in entries {
            let Some(entry) = intent.entries.get(index) else { continue };
            for (side, image, word) in
                [(Side::Pre, &entry.pre, "before"), (Side::Post, &entry.post, "after")]
            {
                let name = format!("{index}.{word}");
                let state = match image {
                    Image::Absent => "nothing".to_owned(),
                    Image::Directory(_) => "a directory".to_owned(),
                    Image::File(image) => {
                        match self.save((&lost, &name), image, (intent, index, side))? {
                            true => name,
                            false => "not recorded".to_owned(),
                        }
                    }
                };
                listing.insert(format!("{}\t{word}\t{state}\n", entry.path));
            }
            for displaced in self.find_displaced(&lost, (intent, &moves, &own_names), index)? {
                listing.insert(format!("{}\tmeanwhile\t{}\n", entry.path, displaced.saved));
                found.push(displaced);
            }
            self.blocked.insert(entry.path.clone(), intent.run);
        }
        let listing: String = listing.into_iter().collect();
        replace_file(self.disk, &lost, (LISTING_NEW, LISTING), listing.as_bytes()).doing(doing)?;
        self.home.write_blocked(self.disk, self.blocked)?;
        self.disk.sync_all(&self.home.state, Barrier::Lost).doing(doing)?;
        if found.is_empty() {
            return Ok(());
        }
        for displaced in found {
            self.save_displaced(&lost, displaced).doing(doing)?;
        }
        self.disk.sync_all(&self.home.state, Barrier::Lost).doing(doing)
    }

    /// Links a displaced file to a second name in the lost directory. An object that cannot have a second name is moved
    /// instead.
    fn save_displaced(&self, lost: &D::Handle, displaced: Displaced) -> io::Result<()> {
        let Displaced { name, saved, kind } = displaced;
        let (stage, saved) = (&self.home.stage, saved.as_bytes());
        let linked = match kind {
            Kind::Directory => None,
            Kind::File | Kind::Symlink | Kind::Special => {
                Some(accept_existing(self.disk.link(stage, &name, lost, saved)))
            }
        };
        match linked {
            // The file belongs to another user, and the system protects hard links (proc_sys_fs(5)).
            Some(Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Some(linked) => return linked,
            None => {}
        }
        self.disk.rename(stage, &name, lost, saved, Rename::NoReplace)
    }

    /// Returns the number of names that each file has in actum's own directories, by inode number.
    fn count_own_names(&self, lost: &D::Handle) -> Result<HashMap<u64, u64>> {
        let doing = || "count the names of saved files".to_owned();
        let mut names = HashMap::new();
        for directory in [&self.home.stage, &self.home.keep, lost] {
            for name in self.disk.list(directory).doing(doing)? {
                if let Some(found) = self.disk.stat_at(directory, &name).doing(doing)? {
                    *names.entry(found.inode).or_default() += 1;
                }
            }
        }
        Ok(names)
    }

    /// Reads the lines that an earlier recovery of this run wrote before it was killed.
    fn read_listing(&self, lost: &D::Handle) -> Result<BTreeSet<String>> {
        let doing = || "read the list of saved files".to_owned();
        let file = match self.disk.open_file(lost, LISTING) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            file => file.doing(doing)?,
        };
        let size = self.disk.stat(&file).doing(doing)?.size;
        let bytes = read_whole(self.disk, &file, size).doing(doing)?;
        Ok(String::from_utf8_lossy(&bytes).split_inclusive('\n').map(str::to_owned).collect())
    }

    /// Saves one image from its recorded bytes, or otherwise from the displaced file. Returns false if neither could be
    /// read.
    fn save(
        &self,
        (lost, name): (&D::Handle, &str),
        image: &FileImage,
        (intent, index, side): (&Intent, usize, Side),
    ) -> Result<bool> {
        let doing = || format!("save the files that run {} could not restore", intent.run);
        if self.disk.stat_at(lost, name.as_bytes()).doing(doing)?.is_some() {
            return Ok(true); // saved by an earlier attempt
        }
        let images = Images { disk: self.disk, home: self.home };
        let recorded = match images.bytes(intent, index, side, None) {
            // The recorded bytes cannot be read, but the displaced file may still be readable.
            Err(error) if error.refusal().is_some() => None,
            recorded => recorded?,
        };
        let bytes = match recorded {
            Some(bytes) => Some(bytes),
            None => self.displaced_bytes(intent, index, side)?,
        };
        let Some(bytes) = bytes else { return Ok(false) };
        let temporary = format!("{name}.new");
        if self.disk.stat_at(lost, temporary.as_bytes()).doing(doing)?.is_some() {
            self.disk.unlink(lost, temporary.as_bytes()).doing(doing)?;
        }
        let mode = if image.attributes.mode.is_link() { FileMode::LINK } else { FileMode::PRIVATE };
        let wanted = (mode, image.digest);
        let made = images.make((lost, temporary.as_bytes()), wanted, &bytes).doing(doing)?;
        let Some(file) = made else {
            if self.disk.stat_at(lost, temporary.as_bytes()).doing(doing)?.is_some() {
                self.disk.unlink(lost, temporary.as_bytes()).doing(doing)?;
            }
            return Ok(false);
        };
        images.sync_made(&file, mode, Barrier::Lost).doing(doing)?;
        self.disk
            .rename(lost, temporary.as_bytes(), lost, name.as_bytes(), Rename::NoReplace)
            .doing(doing)?;
        Ok(true)
    }

    /// Finds objects that were displaced from the path of an entry and match neither of its images. They are another
    /// program's work, or a moved file that got no path. A file will get a second name, because a recovery after a kill
    /// reads the first one again. A directory can only have one name, and so can a file of another user.
    fn find_displaced(
        &self,
        lost: &D::Handle,
        (intent, moves, own_names): (&Intent, &Moves<'_>, &HashMap<u64, u64>),
        index: usize,
    ) -> Result<Vec<Displaced>> {
        let doing = || "save a displaced file".to_owned();
        let mut displaced = Vec::new();
        let Some(entry) = intent.entries.get(index) else { return Ok(displaced) };
        let staged = stage_name(intent.run, index);
        let tree = Tree::new(self.disk, &self.home.root);
        let names =
            [staged.clone(), gone_name(intent.run, index), exchanged_name(intent.run, index)];
        for (name, word) in names.into_iter().zip(DISPLACED_ENDINGS) {
            let Some(found) = self.disk.stat_at(&self.home.stage, &name).doing(doing)? else {
                continue;
            };
            let is_ours = match found.kind {
                // A directory that the run itself created can only have the staged name.
                Kind::Directory => name == staged && entry.post.is_directory(),
                Kind::File | Kind::Symlink => {
                    // A program that has the moved file open can still write to it, so a copy of its content is not
                    // enough.
                    match moves.moved(index, &found) {
                        true => found.links > own_names.get(&found.inode).copied().unwrap_or(0),
                        false => {
                            self.is_known(&name, entry)?
                                || moves.is_second_name(&tree, index, &found)?
                        }
                    }
                }
                Kind::Special => false,
            };
            if !is_ours {
                let saved = self.find_free_name(lost, format!("{index}.{word}"), &found)?;
                displaced.push(Displaced { name, saved, kind: found.kind });
            }
        }
        Ok(displaced)
    }

    /// Returns a name in the lost directory that is unused or already refers to `found`. A killed recovery may have
    /// saved another file under `name`.
    fn find_free_name(&self, lost: &D::Handle, name: String, found: &Stat) -> Result<String> {
        let doing = || "save a displaced file".to_owned();
        let mut free = name.clone();
        for number in 2.. {
            match self.disk.stat_at(lost, free.as_bytes()).doing(doing)? {
                Some(there) if there.inode != found.inode => free = format!("{name}.{number}"),
                Some(_) | None => break,
            }
        }
        Ok(free)
    }

    /// Returns true if a staged file has the content of one of the images of an entry, and false if the file cannot be
    /// read.
    fn is_known(&self, name: &[u8], entry: &Entry) -> Result<bool> {
        let Some((file, digest)) = self.read(name)? else { return Ok(false) };
        let stat = self.disk.stat(&file).doing(|| "save a displaced file".to_owned())?;
        Ok(entry.has_image_of((digest, stat.mode.is_link())))
    }

    /// Opens a staged file and computes its digest. Returns `None` if the file cannot be read, because its owner closed
    /// it or the disk is faulty.
    fn read(&self, name: &[u8]) -> Result<Option<(D::Handle, Digest)>> {
        let doing = || "save a displaced file".to_owned();
        let opened = open_content(self.disk, &self.home.stage, name).doing(doing);
        let read = opened.and_then(|file| {
            let digest = digest_of(self.disk, &file).doing(doing)?;
            Ok((file, digest))
        });
        match read {
            Err(error) if error.refusal().is_some() => Ok(None),
            read => read.map(Some),
        }
    }

    fn displaced_bytes(
        &self,
        intent: &Intent,
        index: usize,
        side: Side,
    ) -> Result<Option<Bytes<D::Handle>>> {
        let Some(pre) = intent.entries.get(index).and_then(|entry| entry.pre.file()) else {
            return Ok(None);
        };
        if side == Side::Post {
            return Ok(None);
        }
        let doing = || "look for a displaced file".to_owned();
        for name in [stage_name(intent.run, index), gone_name(intent.run, index)] {
            let stat = self.disk.stat_at(&self.home.stage, &name).doing(doing)?;
            if stat.is_some_and(|stat| stat.inode == pre.inode) {
                let Some((file, digest)) = self.read(&name)? else { continue };
                if digest != pre.digest {
                    continue; // another program has written to the displaced file
                }
                return Ok(Some(Bytes::File(std::sync::Arc::new(file), Source::Unnamed)));
            }
        }
        Ok(None)
    }
}

/// Object of another program that a step of the run displaced.
struct Displaced {
    /// Name of the object in the stage directory.
    name: Vec<u8>,
    /// Name under which the object is saved in the lost directory.
    saved: String,
    kind: Kind,
}

/// Ignores the error for a name that already exists, because a killed recovery may have created it.
fn accept_existing(made: io::Result<()>) -> io::Result<()> {
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}
