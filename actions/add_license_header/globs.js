// Finds files by patterns. `*` and `?` match within a name, and `**` matches any number of directories. Braces, character
// classes and negation are not supported, so `[id].js` matches only the file of that name.

import fs from 'node:fs';
import path from 'node:path';
import { isReserved } from './files.js';

const PATTERN_CHARS_MAX = 256;
/** Maximum number of files and directories to search. */
const ENTRIES_MAX = 200_000;
/** Directories of generated or third-party files, which patterns never search. */
const PASSED_OVER = ['node_modules', '__pycache__'];

/** Parses a pattern into a list of its path components. */
export function parsePattern(text) {
  const bad = (problem) => new Error(`the pattern ${JSON.stringify(text).slice(0, PATTERN_CHARS_MAX)} ${problem}`);
  if (typeof text !== 'string' || text === '') throw bad('is not a non-empty string');
  if (text.length > PATTERN_CHARS_MAX) throw bad(`is longer than ${PATTERN_CHARS_MAX} characters`);
  if (text.startsWith('/')) throw bad('is absolute; make it relative to the workspace root');
  if (/[{}\\]/.test(text)) throw bad('contains `{`, `}` or `\\`, which are not supported; pass a list of patterns instead');
  const parts = text.split('/');
  if (parts.some((part) => ['', '.', '..'].includes(part))) throw bad('has a component that is empty, `.` or `..`');
  if (parts.some((part) => part.includes('**') && part !== '**')) throw bad('has a component that combines `**` with other characters');
  return parts;
}

/** Returns whether a path, given as a list of names, matches the components of a pattern. */
export function matches(parts, names) {
  const isHidden = (name) => name.startsWith('.');
  return matchList(parts, names, '**', (part, name) => {
    if (part === '**') return !isHidden(name);
    if (isHidden(name) && !part.startsWith('.')) return false;
    return matchList([...part], [...name], '*', (one, char) => one === '*' || one === '?' || one === char);
  });
}

/** Matches a list against parts, of which `many` matches any number of items. Each `many` first matches as few items as
    possible, and one more whenever the rest does not match. Only the last `many` needs to be retried. */
function matchList(parts, things, many, fits) {
  let [part, thing] = [0, 0];
  let again;
  while (thing < things.length || part < parts.length) {
    if (parts[part] === many) {
      again = { part, thing };
      part += 1;
    } else if (part < parts.length && thing < things.length && fits(parts[part], things[thing])) {
      part += 1;
      thing += 1;
    } else if (again && again.thing < things.length && fits(many, things[again.thing])) {
      again.thing += 1;
      part = again.part + 1;
      thing = again.thing;
    } else {
      return false;
    }
  }
  return true;
}

/** Returns the sorted paths below `root` that match one of `patterns` and none of `excluded`. The result can contain symbolic
    links, but the search does not follow them. */
export function find(root, patterns, excluded) {
  const found = [];
  let entries = 0;
  const look = (names) => {
    for (const item of fs.readdirSync(path.join(root, ...names), { withFileTypes: true })) {
      if (isReserved(item.name)) continue;
      entries += 1;
      if (entries > ENTRIES_MAX) throw new Error(`the workspace contains more than ${ENTRIES_MAX} files and directories`);
      const here = [...names, item.name];
      if (item.isDirectory()) {
        if (!PASSED_OVER.includes(item.name)) look(here);
      } else if (patterns.some((parts) => matches(parts, here)) && !excluded.some((parts) => matches(parts, here))) {
        found.push(here.join('/'));
      }
    }
  };
  look([]);
  return found.sort();
}
