// Files by patterns: `*` and `?` within a name, `**` for any directories. There are no braces, classes
// or exclamation marks: `[id].js` is a name.

import fs from 'node:fs';
import path from 'node:path';
import { isReserved } from './files.js';

const PATTERN_CHARS_MAX = 256;
/** How many files and directories are looked at. */
const ENTRIES_MAX = 200_000;
/** Never what somebody wrote for this project. */
const PASSED_OVER = ['node_modules', '__pycache__'];

/** A pattern as the list of its parts. */
export function parsePattern(text) {
  const bad = (problem) => new Error(`the pattern ${JSON.stringify(text).slice(0, PATTERN_CHARS_MAX)} ${problem}`);
  if (typeof text !== 'string' || text === '') throw bad('is no text with something in it');
  if (text.length > PATTERN_CHARS_MAX) throw bad(`has over ${PATTERN_CHARS_MAX} characters`);
  if (text.startsWith('/')) throw bad('is absolute; give it relative to the workspace root');
  if (/[{}\\]/.test(text)) throw bad('has `{`, `}` or `\\`, which mean nothing; give a list of patterns');
  const parts = text.split('/');
  if (parts.some((part) => ['', '.', '..'].includes(part))) throw bad('has a part that is empty, `.` or `..`');
  if (parts.some((part) => part.includes('**') && part !== '**')) throw bad('has `**` beside something else');
  return parts;
}

/** Whether the names of a path match the parts of a pattern. */
export function matches(parts, names) {
  const isHidden = (name) => name.startsWith('.');
  return matchList(parts, names, '**', (part, name) => {
    if (part === '**') return !isHidden(name);
    if (isHidden(name) && !part.startsWith('.')) return false;
    return matchList([...part], [...name], '*', (one, char) => one === '*' || one === '?' || one === char);
  });
}

/** Matches a list with parts that stand for any number of things. Each such part takes as few as it can,
    and one more each time the rest does not fit; only the last one is tried again, which is enough. */
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

/** The paths below `root` that match one of `patterns` and none of `excluded`, in order. Links are
    listed where they match, and never followed. */
export function find(root, patterns, excluded) {
  const found = [];
  let entries = 0;
  const look = (names) => {
    for (const item of fs.readdirSync(path.join(root, ...names), { withFileTypes: true })) {
      if (isReserved(item.name)) continue;
      entries += 1;
      if (entries > ENTRIES_MAX) throw new Error(`over ${ENTRIES_MAX} files are below the root of the workspace`);
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
