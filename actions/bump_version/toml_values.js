// Locates the string values of a TOML document in its bytes. It parses only as much of TOML as is necessary to find the key,
// the start and the end of each value. If it cannot parse a line, it throws an error with the line number.

const SPACE = /[ \t]*/y;
const SPACE_AND_LINES = /(?:[ \t\r\n]|#[^\n]*)*/y;
const BARE_KEY = /[A-Za-z0-9_-]+/y;
const BASIC = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"/y;
const LITERAL = /'[^'\n]*'/y;
const LONG_BASIC = /"""[^"\\]*(?:(?:\\[^]|"{1,2}(?!"))[^"\\]*)*"{3,5}/y;
const LONG_LITERAL = /'''[^']*(?:'{1,2}(?!')[^']*)*'{3,5}/y;
const OTHER = /[^\s,#\]}][^,#\]}\n]*/y;
const NESTING_MAX = 100;

/** Returns every single-line string value as `{path, value, start, end}`. The range excludes the quotes. The path of a value in
    an array of tables contains the index of its table. `content` is latin1. */
export function tomlTexts(content) {
  const cursor = { content, at: content.startsWith('\xEF\xBB\xBF') ? 3 : 0, texts: [] };
  const counts = new Map();
  let table = [];
  for (;;) {
    take(cursor, SPACE_AND_LINES);
    if (cursor.at === content.length) return cursor.texts;
    if (content[cursor.at] === '[') table = readHeader(cursor, counts);
    else readPair(cursor, table, 0);
    take(cursor, SPACE);
    require(cursor, /(?:#[^\n]*|\r)?(?=\n|$)/y);
  }
}

function readHeader(cursor, counts) {
  const isArray = cursor.content.startsWith('[[', cursor.at);
  cursor.at += isArray ? 2 : 1;
  const path = readKey(cursor);
  require(cursor, isArray ? /\]\]/y : /\]/y);
  if (!isArray) return path;
  const name = JSON.stringify(path);
  const count = counts.get(name) ?? 0;
  counts.set(name, count + 1);
  return [...path, count];
}

function readPair(cursor, table, depth) {
  const key = readKey(cursor);
  require(cursor, /=/y);
  take(cursor, SPACE);
  readValue(cursor, [...table, ...key], depth);
}

function readKey(cursor) {
  const path = [];
  do {
    take(cursor, SPACE);
    const quoted = take(cursor, BASIC) ?? take(cursor, LITERAL);
    path.push(quoted === undefined ? require(cursor, BARE_KEY) : quoted.slice(1, -1));
    take(cursor, SPACE);
  } while (take(cursor, /\./y) !== undefined);
  return path;
}

function readValue(cursor, path, depth) {
  if (depth > NESTING_MAX) throw new Error(`values are nested more than ${NESTING_MAX} levels deep`);
  const { content, at } = cursor;
  if (content.startsWith('"""', at)) require(cursor, LONG_BASIC);
  else if (content.startsWith("'''", at)) require(cursor, LONG_LITERAL);
  else if (content[at] === '"' || content[at] === "'") {
    const value = require(cursor, content[at] === '"' ? BASIC : LITERAL).slice(1, -1);
    cursor.texts.push({ path, value, start: at + 1, end: cursor.at - 1 });
  } else if (content[at] === '[') {
    readMembers(cursor, ']', (index) => readValue(cursor, [...path, index], depth + 1));
  } else if (content[at] === '{') {
    readMembers(cursor, '}', () => readPair(cursor, path, depth + 1));
  } else require(cursor, OTHER);
}

function readMembers(cursor, close, readMember) {
  cursor.at += 1;
  for (let index = 0; ; index += 1) {
    take(cursor, SPACE_AND_LINES);
    if (cursor.content[cursor.at] === close) break;
    readMember(index);
    take(cursor, SPACE_AND_LINES);
    if (cursor.content[cursor.at] !== close) require(cursor, /,/y);
  }
  cursor.at += 1;
}

function take(cursor, pattern) {
  pattern.lastIndex = cursor.at;
  const taken = pattern.exec(cursor.content)?.[0];
  cursor.at += taken?.length ?? 0;
  return taken;
}

function require(cursor, pattern) {
  const taken = take(cursor, pattern);
  if (taken !== undefined) return taken;
  const line = cursor.content.slice(0, cursor.at).split('\n').length;
  throw new Error(`line ${line} is not valid TOML`);
}
