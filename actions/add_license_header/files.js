// Accesses files of the workspace by plain relative paths, without following symbolic links.
//
// Each package has its own copy of this file, because the code of a package can only import files of that package.

import fs from 'node:fs';
import path from 'node:path';

const PATH_BYTES_MAX = 4095;
const NAME_BYTES_MAX = 255;
/** Maximum number of characters of an invalid path that an error message quotes. */
const SHOWN_CHARS_MAX = 200;
/** Maximum number of files and directories that `differences` compares. */
const ENTRIES_MAX = 1_000_000;
/** Names that are reserved in any case and at any depth. An action must not change these paths or anything below them. */
const RESERVED = ['.git', '.actum'];

/** Throws an error that describes the problem, unless the path is a plain relative path. */
export function requirePath(given) {
  const problem = pathProblem(given);
  if (!problem) return;
  const shown = [...`${JSON.stringify(given)}`].slice(0, SHOWN_CHARS_MAX).join('');
  throw new Error(`the path ${shown} cannot be used: ${problem}`);
}

function pathProblem(given) {
  if (typeof given !== 'string') return 'it is not a string';
  if (given === '') return 'it is empty';
  if (given.startsWith('/') || /^[A-Za-z]:/.test(given)) {
    return 'it is absolute; make it relative to the workspace root';
  }
  if (given.includes('\\')) return 'it contains `\\`; use `/` instead';
  if (/[\p{Cc}\p{Surrogate}]/u.test(given)) return 'it contains a control character';
  const names = given.split('/');
  if (names.includes('..')) return 'it contains `..`';
  if (names.includes('.') || names.includes('')) {
    return 'it contains a `.` component, `//` or a trailing `/`, which are not allowed';
  }
  if (Buffer.byteLength(given) > PATH_BYTES_MAX || names.some(isTooLong)) {
    return `it is longer than the file system allows (${NAME_BYTES_MAX} bytes per name, ${PATH_BYTES_MAX} in total)`;
  }
  if (names.some(isReserved)) return 'it is part of `.git` or `.actum`, which must not be changed';
  return undefined;
}

function isTooLong(name) {
  return Buffer.byteLength(name) > NAME_BYTES_MAX;
}

export function isReserved(name) {
  return RESERVED.includes(name.toLowerCase());
}

/** Returns the metadata of a path below `root`, or undefined if it does not exist. Throws an error if the path or one of its
    parent directories is a symbolic link. */
export function lookAt(root, given) {
  requirePath(given);
  const names = given.split('/');
  let about;
  for (let count = 1; count <= names.length; count += 1) {
    const reached = names.slice(0, count).join('/');
    about = fs.lstatSync(path.join(root, reached), { throwIfNoEntry: false });
    if (!about) return undefined;
    if (about.isSymbolicLink()) throw new Error(`\`${reached}\` is a symbolic link, and links are not followed`);
    if (count < names.length && !about.isDirectory()) throw new Error(`\`${reached}\` is not a directory`);
  }
  return about;
}

/** Reads a file as latin1, so that each character is one byte. Returns its content and its mode. */
export function read(root, given, bytesMax) {
  const about = lookAt(root, given);
  if (!about) throw new Error(`\`${given}\` does not exist`);
  if (!about.isFile()) throw new Error(`\`${given}\` is not a file`);
  if (about.size > bytesMax) throw new Error(`\`${given}\` is larger than ${bytesMax} bytes`);
  return { content: fs.readFileSync(path.join(root, given), 'latin1'), mode: about.mode & 0o7777 };
}

/** Overwrites an existing file with `content` (latin1). The file keeps its mode. */
export function write(root, given, content) {
  lookAt(root, given);
  const { O_WRONLY, O_TRUNC, O_NOFOLLOW } = fs.constants;
  const file = fs.openSync(path.join(root, given), O_WRONLY | O_TRUNC | O_NOFOLLOW);
  try {
    fs.writeFileSync(file, content, 'latin1');
  } finally {
    fs.closeSync(file);
  }
}

/** Restores the content and the mode that each of `paths` has in `before`, and does not change any other path. */
export function restore(root, before, paths, bytesMax) {
  const told = { restored: [], unchanged: [] };
  for (const given of paths) {
    const was = read(before, given, bytesMax);
    const about = lookAt(root, given);
    const isAsLarge = about?.isFile() && about.size === was.content.length;
    const is = isAsLarge ? read(root, given, bytesMax) : undefined;
    if (is?.content === was.content && is.mode === was.mode) {
      told.unchanged.push(given);
      continue;
    }
    const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = fs.constants;
    const flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW;
    const file = fs.openSync(path.join(root, given), flags, was.mode);
    try {
      fs.writeFileSync(file, was.content, 'latin1');
      fs.fchmodSync(file, was.mode);
    } finally {
      fs.closeSync(file);
    }
    told.restored.push(given);
  }
  return told;
}

/** Returns every path that differs between `root` and `before`. Two files are equal if their mode, size and modification time
    are equal. If only the modification time differs, their contents are compared. */
export function differences(root, before) {
  const found = [];
  const spent = { entries: 0 };
  compareDirectories(root, before, '', found, spent);
  return found;
}

function compareDirectories(root, before, below, found, spent) {
  const names = (top) => fs.readdirSync(path.join(top, below)).filter((name) => !isReserved(name));
  for (const name of new Set([...names(before), ...names(root)])) {
    spent.entries += 1;
    if (spent.entries > ENTRIES_MAX) throw new Error(`the workspace contains more than ${ENTRIES_MAX} files and directories`);
    const given = below === '' ? name : `${below}/${name}`;
    const [is, was] = [root, before].map((top) => {
      return fs.lstatSync(path.join(top, given), { throwIfNoEntry: false });
    });
    if (!is || !was || is.mode !== was.mode || !isSame(root, before, given, is, was)) found.push(given);
    if (is?.isDirectory() && was?.isDirectory()) compareDirectories(root, before, given, found, spent);
  }
}

function isSame(root, before, given, is, was) {
  const [here, there] = [path.join(root, given), path.join(before, given)];
  if (is.isSymbolicLink()) return fs.readlinkSync(here) === fs.readlinkSync(there);
  if (!is.isFile()) return true;
  if (is.size !== was.size) return false;
  return is.mtimeMs === was.mtimeMs || fs.readFileSync(here).equals(fs.readFileSync(there));
}
