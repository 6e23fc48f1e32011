// Checks that the version was changed everywhere, and that nothing else was changed. It compares the bytes of the files
// independently of the code with which execute.js finds versions.

import { differences, read } from './files.js';
import { FILE_BYTES_MAX, manifest } from './manifests.js';
import { next } from './version.js';

const SHOWN_MAX = 5;
const MESSAGE_CHARS_MAX = 1000;

export default async function verify({ input, context }) {
  const { workspace, before, output } = context;
  if (before === undefined) {
    const message = 'cannot compare the files because their original content is not available';
    return { checks: [{ name: 'only_the_version_changed', ok: false, message }] };
  }
  const each = (problemOf) => () => output.files.flatMap((file) => problemOf(file) ?? []);
  return {
    checks: [
      check('the_version_is_the_one_asked_for', () => wrongVersion(input, output)),
      check('every_place_holds_the_new_version', each((file) => wrongPlaces(workspace, before, file))),
      check('only_the_version_changed', each((file) => otherBytes(workspace, before, file))),
      check('json_says_the_same_otherwise', each((file) => otherValues(workspace, before, file))),
      check('modes_are_kept', each((file) => otherMode(workspace, before, file))),
      check('no_other_file_changed', () => otherFiles(workspace, before, output)),
    ],
  };
}

function check(name, find) {
  let problems;
  try {
    problems = find();
  } catch (error) {
    problems = [error.message];
  }
  if (problems.length === 0) return { name, ok: true };
  const more = problems.length > SHOWN_MAX ? [`and ${problems.length - SHOWN_MAX} more`] : [];
  const text = [...problems.slice(0, SHOWN_MAX), ...more].join(', ');
  return { name, ok: false, message: [...text].slice(0, MESSAGE_CHARS_MAX).join('') };
}

function wrongVersion(input, { from, to, files }) {
  const problems = [];
  if (input.from !== undefined && input.from !== from) problems.push(`changed \`${from}\` instead of \`${input.from}\``);
  const asked = input.version ?? next(from, input.part);
  if (asked !== to) problems.push(`the new version is \`${to}\` instead of \`${asked}\``);
  if (files.length === 0) problems.push('no file was changed');
  for (const file of files) {
    if (file.from !== from || file.to !== to) problems.push(`\`${file.path}\` has different versions in the output`);
  }
  return problems;
}

function wrongPlaces(workspace, before, { path, from, to }) {
  const versions = (root) => manifest(root, path)?.places.map(({ value }) => value) ?? [];
  const expected = versions(before).map((version) => (version === from ? to : version));
  const found = versions(workspace);
  if (JSON.stringify(expected) === JSON.stringify(found)) return undefined;
  return `\`${path}\` contains ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`;
}

/** Checks that the new content is the old content with `from` replaced by `to` in exactly the expected number of places. */
function otherBytes(workspace, before, { path, from, to }) {
  const [is, was] = [workspace, before].map((root) => read(root, path, FILE_BYTES_MAX).content);
  const places = manifest(before, path)?.places.filter(({ value }) => value === from).length ?? 0;
  if (places > 0 && replacements(was, is, from, to).has(places)) return undefined;
  return `\`${path}\` has changes other than \`${from}\` to \`${to}\` in ${places} places`;
}

/** Returns all possible numbers of replacements of `from` by `to` that turn `was` into `is`. */
function replacements(was, is, from, to) {
  const grown = to.length - from.length;
  const pieces = was.split(from);
  let counts = is.startsWith(pieces[0]) ? new Set([0]) : new Set();
  let at = pieces[0].length;
  for (const piece of pieces.slice(1)) {
    const after = new Set();
    for (const count of counts) {
      const here = at + count * grown;
      if (is.startsWith(from + piece, here)) after.add(count);
      if (is.startsWith(to + piece, here)) after.add(count + 1);
    }
    counts = after;
    at += from.length + piece.length;
  }
  return new Set([...counts].filter((count) => was.length + count * grown === is.length));
}

function otherValues(workspace, before, { path, from, to }) {
  if (!path.endsWith('.json')) return undefined;
  const [is, was] = [workspace, before].map((root) => {
    const bytes = Buffer.from(read(root, path, FILE_BYTES_MAX).content, 'latin1');
    return JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''));
  });
  for (const holder of [was, was.packages?.['']]) {
    if (holder?.version === from) holder.version = to;
  }
  return JSON.stringify(is) === JSON.stringify(was) ? undefined : `\`${path}\` has other changed values`;
}

function otherMode(workspace, before, { path }) {
  const [is, was] = [workspace, before].map((root) => read(root, path, FILE_BYTES_MAX).mode.toString(8));
  return is === was ? undefined : `\`${path}\` had the mode ${was}, but now has ${is}`;
}

function otherFiles(workspace, before, output) {
  const told = output.files.map(({ path }) => path);
  return differences(workspace, before)
    .filter((path) => !told.includes(path))
    .map((path) => `\`${path}\``);
}
