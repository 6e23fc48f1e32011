// Finds the manifests that contain the version of a project, and where in their bytes it is.

import { lookAt, read } from './files.js';
import { jsonTexts } from './json_values.js';
import { tomlTexts } from './toml_values.js';
import { compare, next, parse, PARTS } from './version.js';

const FILES_MAX = 100;
export const FILE_BYTES_MAX = 32 * 1024 * 1024;

/** Functions that find the versions in a manifest, by file name. Without `files` in the input, the manifests with these names
    in the workspace root are used. */
const READERS = {
  'package.json': (content) => chosen(jsonTexts(content), [['version']]),
  'package-lock.json': npmLock,
  'npm-shrinkwrap.json': npmLock,
  'Cargo.toml': (content) => chosen(tomlTexts(content), [['package', 'version'], ['workspace', 'package', 'version']]),
  'Cargo.lock': cargoLock,
  'pyproject.toml': (content) => chosen(tomlTexts(content), [['project', 'version'], ['tool', 'poetry', 'version']]),
  'VERSION': wholeFile,
};

/** Computes the requested changes without writing anything: `{from, to, files: [{path, edited}], left}`. */
export function plan(root, input) {
  const given = requireInput(input);
  const manifests = given.files
    ? given.files.map((path) => requireManifest(root, path))
    : Object.keys(READERS).map((name) => manifest(root, name)).filter(Boolean);
  if (manifests.length === 0) {
    const names = Object.keys(READERS).join(', ');
    throw new Error(`found no version in the workspace root (${names}); list the manifests in \`files\``);
  }
  const from = given.from ?? onlyVersion(manifests);
  const to = given.version ?? next(from, given.part);
  if (compare(to, from) <= 0) throw new Error(`\`${to}\` is not higher than \`${from}\``);
  const files = [];
  const left = [];
  for (const { path, content, places } of manifests) {
    const held = places.filter((place) => place.value === from);
    if (held.length > 0) files.push({ path, edited: edited(path, content, held, to) });
    for (const { value } of places) if (value !== from) left.push({ path, version: value });
  }
  if (files.length === 0) {
    throw new Error(`no manifest contains \`${from}\`: ${listed(manifests)}`);
  }
  return { from, to, files, left };
}

/** Returns the existing files below `root` that an action with this input may change. */
export function candidates(root, input) {
  return (input.files ?? Object.keys(READERS)).filter((path) => lookAt(root, path)?.isFile());
}

/** Reads a manifest and finds the places that contain a version. Returns undefined if it contains no version. */
export function manifest(root, path) {
  const about = lookAt(root, path);
  if (!about?.isFile()) return undefined;
  const { content, mode } = read(root, path, FILE_BYTES_MAX);
  let places;
  try {
    places = READERS[nameOf(path)](content, root, path);
  } catch (error) {
    throw new Error(`\`${path}\` cannot be parsed: ${error.message}`);
  }
  return places.length === 0 ? undefined : { path, content, mode, places };
}

function requireInput(input) {
  const { part, version, from, files, ...others } = input ?? {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new Error(`the input has an unknown field \`${unknown}\``);
  if ((part === undefined) === (version === undefined)) {
    throw new Error('the input must have either `part` or `version`');
  }
  if (part !== undefined && !PARTS.includes(part)) {
    throw new Error(`\`part\` is ${JSON.stringify(part)}, expected one of ${PARTS.join(', ')}`);
  }
  for (const [field, value] of [['version', version], ['from', from]]) {
    if (value !== undefined && !parse(value)) {
      throw new Error(`\`${field}\` is ${JSON.stringify(value)}, which is not a version like 1.2.3`);
    }
  }
  if (files !== undefined) {
    if (!Array.isArray(files) || files.length === 0) throw new Error('`files` is not a non-empty list of paths');
    if (files.length > FILES_MAX) throw new Error(`\`files\` has more than ${FILES_MAX} paths`);
    if (new Set(files).size !== files.length) throw new Error('`files` contains a path more than once');
  }
  return { part, version, from, files };
}

function requireManifest(root, path) {
  const about = lookAt(root, path);
  if (!about) throw new Error(`\`${path}\` does not exist`);
  if (!about.isFile()) throw new Error(`\`${path}\` is not a file`);
  if (!Object.hasOwn(READERS, nameOf(path))) {
    throw new Error(`\`${path}\` is not a supported manifest: expected one of ${Object.keys(READERS).join(', ')}`);
  }
  const found = manifest(root, path);
  if (!found) throw new Error(`\`${path}\` does not contain its own version`);
  return found;
}

function onlyVersion(manifests) {
  for (const { path, places } of manifests) {
    for (const { value } of places) {
      if (!parse(value)) throw new Error(`\`${path}\` contains ${JSON.stringify(value)}, which is not a version like 1.2.3`);
    }
  }
  const versions = new Set(manifests.flatMap(({ places }) => places.map(({ value }) => value)));
  if (versions.size === 1) return [...versions][0];
  throw new Error(`the manifests contain different versions: ${listed(manifests)}; set \`from\` to the version to change`);
}

function listed(manifests) {
  const texts = manifests.map(({ path, places }) => {
    const versions = new Set(places.map(({ value }) => value));
    return `\`${path}\` contains ${[...versions].map((version) => `\`${version}\``).join(' and ')}`;
  });
  return texts.join(', ');
}

function edited(path, content, places, to) {
  let text = '';
  let at = 0;
  for (const { start, end } of [...places].sort((a, b) => a.start - b.start)) {
    text += content.slice(at, start) + to;
    at = end;
  }
  text += content.slice(at);
  if (text.length > FILE_BYTES_MAX) throw new Error(`\`${path}\` would be larger than ${FILE_BYTES_MAX} bytes`);
  return text;
}

/** Returns the texts at the given paths. Throws an error if a key occurs twice, because either could be the version. */
function chosen(texts, paths) {
  const found = [];
  for (const path of paths) {
    const name = JSON.stringify(path);
    const matching = texts.filter((text) => text.path.length === path.length && JSON.stringify(text.path) === name);
    if (matching.length > 1) throw new Error(`\`${path.join('.')}\` occurs more than once`);
    found.push(...matching);
  }
  return found;
}

function npmLock(content) {
  return chosen(jsonTexts(content), [['version'], ['packages', '', 'version']]);
}

/** Finds the entry of the package whose `Cargo.toml` is in the same directory. Entries with a source are dependencies. */
function cargoLock(content, root, path) {
  const beside = `${path.slice(0, -'Cargo.lock'.length)}Cargo.toml`;
  if (!lookAt(root, beside)?.isFile()) return [];
  const texts = tomlTexts(read(root, beside, FILE_BYTES_MAX).content);
  const [name] = chosen(texts, [['package', 'name']]);
  if (!name || chosen(texts, [['package', 'version']]).length === 0) return [];
  const entries = new Map();
  for (const text of tomlTexts(content)) {
    const [array, index, key] = text.path;
    if (array !== 'package' || text.path.length !== 3) continue;
    entries.set(index, { ...entries.get(index), [key]: text });
  }
  const isOwn = (entry) => entry.name?.value === name.value && !entry.source && entry.version;
  return [...entries.values()].filter(isOwn).map((entry) => entry.version);
}

function wholeFile(content) {
  const { index, 0: value } = /\S+/.exec(content.replace(/^\xEF\xBB\xBF/, '   ')) ?? { 0: '' };
  if (content.trim().split(/\s+/).length > 1) throw new Error('it contains more than a version');
  return value === '' ? [] : [{ value, start: index, end: index + value.length }];
}

function nameOf(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}
