// Which files hold the version of a project, and where in their bytes.

import { lookAt, read } from './files.js';
import { jsonTexts } from './json_values.js';
import { tomlTexts } from './toml_values.js';
import { compare, next, parse, PARTS } from './version.js';

const FILES_MAX = 100;
export const FILE_BYTES_MAX = 32 * 1024 * 1024;

/** How a file of each name is read. Those in the root are looked for where no files are named. */
const READERS = {
  'package.json': (content) => chosen(jsonTexts(content), [['version']]),
  'package-lock.json': npmLock,
  'npm-shrinkwrap.json': npmLock,
  'Cargo.toml': (content) => chosen(tomlTexts(content), [['package', 'version'], ['workspace', 'package', 'version']]),
  'Cargo.lock': cargoLock,
  'pyproject.toml': (content) => chosen(tomlTexts(content), [['project', 'version'], ['tool', 'poetry', 'version']]),
  'VERSION': wholeFile,
};

/** What the input asks for: `{from, to, files: [{path, edited}], left}`. Nothing is written. */
export function plan(root, input) {
  const given = requireInput(input);
  const manifests = given.files
    ? given.files.map((path) => requireManifest(root, path))
    : Object.keys(READERS).map((name) => manifest(root, name)).filter(Boolean);
  if (manifests.length === 0) {
    const names = Object.keys(READERS).join(', ');
    throw new Error(`no version was found in the root of the workspace (${names}); name the files in \`files\``);
  }
  const from = given.from ?? onlyVersion(manifests);
  const to = given.version ?? next(from, given.part);
  if (compare(to, from) <= 0) throw new Error(`\`${to}\` does not come after \`${from}\``);
  const files = [];
  const left = [];
  for (const { path, content, places } of manifests) {
    const held = places.filter((place) => place.value === from);
    if (held.length > 0) files.push({ path, edited: edited(path, content, held, to) });
    for (const { value } of places) if (value !== from) left.push({ path, version: value });
  }
  if (files.length === 0) {
    throw new Error(`no manifest holds \`${from}\`: ${listed(manifests)}`);
  }
  return { from, to, files, left };
}

/** The paths that could be changed by the input, of those that are in `root`. */
export function candidates(root, input) {
  return (input.files ?? Object.keys(READERS)).filter((path) => lookAt(root, path)?.isFile());
}

/** The places of a manifest that hold a version, or undefined where there is none. */
export function manifest(root, path) {
  const about = lookAt(root, path);
  if (!about?.isFile()) return undefined;
  const { content, mode } = read(root, path, FILE_BYTES_MAX);
  let places;
  try {
    places = READERS[nameOf(path)](content, root, path);
  } catch (error) {
    throw new Error(`\`${path}\` cannot be read: ${error.message}`);
  }
  return places.length === 0 ? undefined : { path, content, mode, places };
}

function requireInput(input) {
  const { part, version, from, files, ...others } = input ?? {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new Error(`the input has a field \`${unknown}\` that is not known`);
  if ((part === undefined) === (version === undefined)) {
    throw new Error('the input has to have either `part` or `version`');
  }
  if (part !== undefined && !PARTS.includes(part)) {
    throw new Error(`\`part\` is ${JSON.stringify(part)}, and not one of ${PARTS.join(', ')}`);
  }
  for (const [field, value] of [['version', version], ['from', from]]) {
    if (value !== undefined && !parse(value)) {
      throw new Error(`\`${field}\` is ${JSON.stringify(value)}, which is no version like 1.2.3`);
    }
  }
  if (files !== undefined) {
    if (!Array.isArray(files) || files.length === 0) throw new Error('`files` is no list with a path in it');
    if (files.length > FILES_MAX) throw new Error(`\`files\` has over ${FILES_MAX} paths`);
    if (new Set(files).size !== files.length) throw new Error('`files` has a path twice');
  }
  return { part, version, from, files };
}

function requireManifest(root, path) {
  const about = lookAt(root, path);
  if (!about) throw new Error(`\`${path}\` does not exist`);
  if (!about.isFile()) throw new Error(`\`${path}\` is no file`);
  if (!Object.hasOwn(READERS, nameOf(path))) {
    throw new Error(`\`${path}\` is of no known kind: ${Object.keys(READERS).join(', ')}`);
  }
  const found = manifest(root, path);
  if (!found) throw new Error(`\`${path}\` holds no version of its own`);
  return found;
}

function onlyVersion(manifests) {
  for (const { path, places } of manifests) {
    for (const { value } of places) {
      if (!parse(value)) throw new Error(`\`${path}\` holds ${JSON.stringify(value)}, which is no version like 1.2.3`);
    }
  }
  const versions = new Set(manifests.flatMap(({ places }) => places.map(({ value }) => value)));
  if (versions.size === 1) return [...versions][0];
  throw new Error(`the manifests disagree: ${listed(manifests)}; say in \`from\` which version is to be changed`);
}

function listed(manifests) {
  const texts = manifests.map(({ path, places }) => {
    const versions = new Set(places.map(({ value }) => value));
    return `\`${path}\` holds ${[...versions].map((version) => `\`${version}\``).join(' and ')}`;
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
  if (text.length > FILE_BYTES_MAX) throw new Error(`\`${path}\` would have over ${FILE_BYTES_MAX} bytes`);
  return text;
}

/** Those of `texts` that stand at one of `paths`. A key that is there twice could mean either. */
function chosen(texts, paths) {
  const found = [];
  for (const path of paths) {
    const name = JSON.stringify(path);
    const matching = texts.filter((text) => text.path.length === path.length && JSON.stringify(text.path) === name);
    if (matching.length > 1) throw new Error(`\`${path.join('.')}\` is there twice`);
    found.push(...matching);
  }
  return found;
}

function npmLock(content) {
  return chosen(jsonTexts(content), [['version'], ['packages', '', 'version']]);
}

/** The entry of the package whose manifest lies beside it. What has a source came from elsewhere. */
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
  if (content.trim().split(/\s+/).length > 1) throw new Error('it holds more than a version');
  return value === '' ? [] : [{ value, start: index, end: index + value.length }];
}

function nameOf(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}
