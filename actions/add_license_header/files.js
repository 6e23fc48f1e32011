// Files of the workspace: reached by plain relative paths alone, and through no symbolic link.
//
// Each package that needs this file has its own copy, since a package is all that its code can read.

import fs from 'node:fs';
import path from 'node:path';

const PATH_BYTES_MAX = 4095;
const NAME_BYTES_MAX = 255;
/** How much of a path that cannot be used an error shows. */
const SHOWN_CHARS_MAX = 200;
/** How many files and directories `differences` looks at. */
const ENTRIES_MAX = 1_000_000;
/** In any case and at any depth. They are no part of what an action may change. */
const RESERVED = ['.git', '.actum'];

/** Refuses a path that is not plain and relative, with the problem. */
export function requirePath(given) {
  const problem = pathProblem(given);
  if (!problem) return;
  const shown = [...`${JSON.stringify(given)}`].slice(0, SHOWN_CHARS_MAX).join('');
  throw new Error(`the path ${shown} cannot be used: ${problem}`);
}

function pathProblem(given) {
  if (typeof given !== 'string') return 'it is no text';
  if (given === '') return 'it is empty';
  if (given.startsWith('/') || /^[A-Za-z]:/.test(given)) {
    return 'it is absolute; give it relative to the workspace root';
  }
  if (given.includes('\\')) return 'it contains `\\`; write `/`';
  if (/[\p{Cc}\p{Surrogate}]/u.test(given)) return 'it contains a control character';
  const names = given.split('/');
  if (names.includes('..')) return 'it contains `..`';
  if (names.includes('.') || names.includes('')) {
    return 'it contains `.`, `//` or a trailing `/`; write it plainly';
  }
  if (Buffer.byteLength(given) > PATH_BYTES_MAX || names.some(isTooLong)) {
    return `it is longer than the file system allows (${NAME_BYTES_MAX} bytes a name, ${PATH_BYTES_MAX} in all)`;
  }
  if (names.some(isReserved)) return 'it lies in `.git` or `.actum`, which no change may touch';
  return undefined;
}

function isTooLong(name) {
  return Buffer.byteLength(name) > NAME_BYTES_MAX;
}

export function isReserved(name) {
  return RESERVED.includes(name.toLowerCase());
}

/** What is at a path below `root`, or undefined. No link is followed, on the way or at the end. */
export function lookAt(root, given) {
  requirePath(given);
  const names = given.split('/');
  let about;
  for (let count = 1; count <= names.length; count += 1) {
    const reached = names.slice(0, count).join('/');
    about = fs.lstatSync(path.join(root, reached), { throwIfNoEntry: false });
    if (!about) return undefined;
    if (about.isSymbolicLink()) throw new Error(`\`${reached}\` is a symbolic link, which is not followed`);
    if (count < names.length && !about.isDirectory()) throw new Error(`\`${reached}\` is no directory`);
  }
  return about;
}

/** The bytes of a file, one character for each (latin1), and its mode. */
export function read(root, given, bytesMax) {
  const about = lookAt(root, given);
  if (!about) throw new Error(`\`${given}\` does not exist`);
  if (!about.isFile()) throw new Error(`\`${given}\` is no file`);
  if (about.size > bytesMax) throw new Error(`\`${given}\` has over ${bytesMax} bytes`);
  return { content: fs.readFileSync(path.join(root, given), 'latin1'), mode: about.mode & 0o7777 };
}

/** Writes `content` (latin1) into the file that is there, which keeps its mode. */
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

/** Gives each of `paths` the bytes and the mode it has in `before`, and touches nothing else. */
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

/** Every path that is not in `root` as it is in `before`. A file counts as the same where its size,
    mode and time of change are; where only the time is another, its bytes are compared. */
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
    if (spent.entries > ENTRIES_MAX) throw new Error(`the workspace has over ${ENTRIES_MAX} files`);
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
