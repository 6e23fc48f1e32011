// What the input asks for: which header, in which files.

import { lookAt, read } from './files.js';
import { find, parsePattern } from './globs.js';
import { withHeader } from './header.js';
import { Skip } from './skip.js';
import { styleOf } from './styles.js';

export const FILE_BYTES_MAX = 4 * 1024 * 1024;
/** What all files that change may have together. */
const CHANGED_BYTES_MAX = 128 * 1024 * 1024;
const FILES_MAX = 5000;
const PATTERNS_MAX = 100;
const HOLDER_CHARS_MAX = 200;
const LICENSE_CHARS_MAX = 200;

const FIELDS = ['license', 'holder', 'year', 'files', 'globs', 'exclude'];
const LICENSE_ID = /^(?:(?:DocumentRef-[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*:)?LicenseRef-)?[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*\+?$/;
/** What ends or begins a comment somewhere, and what joins a line to the next one. */
const UNFIT = ['*/', '/*', '--', '?>', '%>', '\\', '??/', '-*-'];

/** What becomes of each file: `{changed: [{path, change, content}], unchanged, skipped}`. Nothing is
    written. */
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
      throw new Error(`the files that change have over ${CHANGED_BYTES_MAX} bytes; name fewer at a time`);
    }
  }
  return planned;
}

/** One file, as it is to be. */
export function fileWithHeader(root, path, wanted) {
  const style = styleOf(path);
  if (!style) throw new Skip('how comments are written in it is not known');
  const about = lookAt(root, path);
  if (about?.size > FILE_BYTES_MAX) throw new Skip(`it has over ${FILE_BYTES_MAX} bytes`);
  const made = withHeader(read(root, path, FILE_BYTES_MAX).content, style, wanted);
  if (made.content.length > FILE_BYTES_MAX) throw new Skip(`it would have over ${FILE_BYTES_MAX} bytes`);
  return made;
}

/** The paths that are meant, each once, in order. */
export function targets(root, { files, globs, exclude }) {
  const listed = requireList('files', files, FILES_MAX);
  for (const path of listed) {
    const about = lookAt(root, path);
    if (!about) throw new Error(`\`${path}\` does not exist`);
    if (!about.isFile()) throw new Error(`\`${path}\` is no file`);
  }
  const patterns = requireList('globs', globs, PATTERNS_MAX).map(parsePattern);
  const excluded = requireList('exclude', exclude, PATTERNS_MAX).map(parsePattern);
  const found = patterns.length > 0 ? find(root, patterns, excluded).filter((path) => isFile(root, path)) : [];
  const paths = [...new Set([...listed, ...found])].sort();
  if (paths.length === 0) throw new Error('no file matches the patterns in `globs`');
  if (paths.length > FILES_MAX) throw new Error(`over ${FILES_MAX} files are meant; name fewer at a time`);
  return paths;
}

/** A link, a socket and the like are matched by a pattern only by chance. */
function isFile(root, path) {
  try {
    return lookAt(root, path).isFile();
  } catch {
    return false;
  }
}

function requireList(field, value, max) {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length === 0) throw new Error(`\`${field}\` is no list with something in it`);
  if (value.length > max) throw new Error(`\`${field}\` has over ${max} entries`);
  return value;
}

/** The header that is asked for: `{license, holder, year}`. */
export function requireHeader(input) {
  const unknown = Object.keys(input ?? {}).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw new Error(`the input has a field \`${unknown}\` that is not known`);
  const { license, holder, year, files, globs } = input ?? {};
  if (!isLicense(license)) {
    throw new Error(`\`license\` is ${shown(license)}, which is no SPDX expression like MIT OR Apache-2.0`);
  }
  if (typeof holder !== 'string' || holder === '' || holder !== holder.trim()) {
    throw new Error(`\`holder\` is ${shown(holder)}, which is no name`);
  }
  if (holder.length > HOLDER_CHARS_MAX) throw new Error(`\`holder\` has over ${HOLDER_CHARS_MAX} characters`);
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u.test(holder)) {
    throw new Error('`holder` has a character that nobody sees, or that ends a line');
  }
  const unfit = UNFIT.find((text) => holder.includes(text));
  if (unfit !== undefined) throw new Error(`\`holder\` has \`${unfit}\`, which cannot stand in every comment`);
  const [first, last = first] = /^(?:19|2\d)\d\d(?:-(?:19|2\d)\d\d)?$/.test(year) ? String(year).split('-') : [];
  if (typeof year !== 'string' || first === undefined || first > last) {
    throw new Error(`\`year\` is ${shown(year)}, and not like 2025 or 2020-2025`);
  }
  if (files === undefined && globs === undefined) throw new Error('the input has neither `files` nor `globs`');
  return { license, holder, year };
}

function shown(value) {
  return [...`${JSON.stringify(value)}`].slice(0, 100).join('');
}

/** Whether it is an expression in the form of SPDX. Whether there is such a licence is not known here. */
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
