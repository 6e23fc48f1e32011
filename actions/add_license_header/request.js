// Determines the requested header and the files that it applies to.

import { lookAt, read } from './files.js';
import { find, parsePattern } from './globs.js';
import { withHeader } from './header.js';
import { Skip } from './skip.js';
import { styleOf } from './styles.js';

export const FILE_BYTES_MAX = 4 * 1024 * 1024;
/** Maximum total size of all files that change, in bytes. */
const CHANGED_BYTES_MAX = 128 * 1024 * 1024;
const FILES_MAX = 5000;
const PATTERNS_MAX = 100;
const HOLDER_CHARS_MAX = 200;
const LICENSE_CHARS_MAX = 200;

const FIELDS = ['license', 'holder', 'year', 'files', 'globs', 'exclude'];
const LICENSE_ID = /^(?:(?:DocumentRef-[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*:)?LicenseRef-)?[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*\+?$/;
/** Texts that begin or end a comment in some language, or that join a line with the next one. */
const UNFIT = ['*/', '/*', '--', '?>', '%>', '\\', '??/', '-*-'];

/** Computes the result for each file without writing anything: `{changed: [{path, change, content}], unchanged, skipped}`. */
export function plan(root, input) {
  const wanted = requireHeader(input);
  const planned = { changed: [], unchanged: [], skipped: [] };
  let bytes = 0;
  for (const path of targets(root, input)) {
    try {
      const { content, change } = fileWithHeader(root, path, wanted);
      if (change === 'unchanged') {
        planned.unchanged.push(path);
        continue;
      }
      planned.changed.push({ path, change, content });
      bytes += content.length;
    } catch (error) {
      if (!(error instanceof Skip)) throw error;
      planned.skipped.push({ path, reason: error.message });
    }
    if (bytes > CHANGED_BYTES_MAX) {
      throw new Error(`the files that would change are larger than ${CHANGED_BYTES_MAX} bytes in total; select fewer files`);
    }
  }
  return planned;
}

/** Computes the new content of a single file. */
export function fileWithHeader(root, path, wanted) {
  const style = styleOf(path);
  if (!style) throw new Skip('its comment syntax is unknown');
  const about = lookAt(root, path);
  if (about?.size > FILE_BYTES_MAX) throw new Skip(`it is larger than ${FILE_BYTES_MAX} bytes`);
  const made = withHeader(read(root, path, FILE_BYTES_MAX).content, style, wanted);
  if (made.content.length > FILE_BYTES_MAX) throw new Skip(`it would be larger than ${FILE_BYTES_MAX} bytes`);
  return made;
}

/** Returns the sorted paths that `files` and `globs` select, without duplicates. */
export function targets(root, { files, globs, exclude }) {
  const listed = requireList('files', files, FILES_MAX);
  for (const path of listed) {
    const about = lookAt(root, path);
    if (!about) throw new Error(`\`${path}\` does not exist`);
    if (!about.isFile()) throw new Error(`\`${path}\` is not a file`);
  }
  const patterns = requireList('globs', globs, PATTERNS_MAX).map(parsePattern);
  const excluded = requireList('exclude', exclude, PATTERNS_MAX).map(parsePattern);
  const found = patterns.length > 0 ? find(root, patterns, excluded).filter((path) => isFile(root, path)) : [];
  const paths = [...new Set([...listed, ...found])].sort();
  if (paths.length === 0) throw new Error('no file matches the patterns in `globs`');
  if (paths.length > FILES_MAX) throw new Error(`the input selects more than ${FILES_MAX} files; select fewer files`);
  return paths;
}

/** Returns whether a path is a regular file. Patterns ignore links, sockets and the like instead of causing an error. */
function isFile(root, path) {
  try {
    return lookAt(root, path).isFile();
  } catch {
    return false;
  }
}

function requireList(field, value, max) {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length === 0) throw new Error(`\`${field}\` is not a non-empty list`);
  if (value.length > max) throw new Error(`\`${field}\` has more than ${max} entries`);
  return value;
}

/** Validates the input and returns the requested header: `{license, holder, year}`. */
export function requireHeader(input) {
  const unknown = Object.keys(input ?? {}).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw new Error(`the input has an unknown field \`${unknown}\``);
  const { license, holder, year, files, globs } = input ?? {};
  if (!isLicense(license)) {
    throw new Error(`\`license\` is ${shown(license)}, which is not an SPDX expression like MIT OR Apache-2.0`);
  }
  if (typeof holder !== 'string' || holder === '' || holder !== holder.trim()) {
    throw new Error(`\`holder\` is ${shown(holder)}, which is not a name`);
  }
  if (holder.length > HOLDER_CHARS_MAX) throw new Error(`\`holder\` is longer than ${HOLDER_CHARS_MAX} characters`);
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u.test(holder)) {
    throw new Error('`holder` contains an invisible character or a line break');
  }
  const unfit = UNFIT.find((text) => holder.includes(text));
  if (unfit !== undefined) throw new Error(`\`holder\` contains \`${unfit}\`, which is not safe inside a comment`);
  const [first, last = first] = /^(?:19|2\d)\d\d(?:-(?:19|2\d)\d\d)?$/.test(year) ? String(year).split('-') : [];
  if (typeof year !== 'string' || first === undefined || first > last) {
    throw new Error(`\`year\` is ${shown(year)}, expected a year like 2025 or a range like 2020-2025`);
  }
  if (files === undefined && globs === undefined) throw new Error('the input must have `files`, `globs` or both');
  return { license, holder, year };
}

function shown(value) {
  return [...`${JSON.stringify(value)}`].slice(0, 100).join('');
}

/** Returns whether the text has the syntax of an SPDX expression. Does not check that the licence exists. */
function isLicense(text) {
  if (typeof text !== 'string' || text.length > LICENSE_CHARS_MAX || !/^\S+(?: \S+)*$/.test(text)) return false;
  const tokens = text.match(/[()]|[^\s()]+/g);
  const isId = (token) => LICENSE_ID.test(token ?? '') && !['AND', 'OR', 'WITH'].includes(token);
  const readOne = () => {
    const token = tokens.shift();
    if (token === '(') return readAll() && tokens.shift() === ')';
    if (!isId(token)) return false;
    if (tokens[0] !== 'WITH') return true;
    tokens.shift();
    return isId(tokens.shift());
  };
  const readAll = () => {
    while (readOne()) {
      if (!['AND', 'OR'].includes(tokens[0])) return true;
      tokens.shift();
    }
    return false;
  };
  return readAll() && tokens.length === 0;
}
