// Locates the string values of a JSON document in its bytes.

/** Returns every string value of a document as `{path, value, start, end}`. The range excludes the quotes, and `content` is
    latin1. */
export function jsonTexts(content) {
  const start = content.startsWith('\xEF\xBB\xBF') ? 3 : 0;
  // `JSON.parse` reports syntax errors, so the code below can assume that the document is valid.
  JSON.parse(Buffer.from(content.slice(start), 'latin1').toString('utf8'));
  const texts = [];
  readValue({ content, at: start }, [], texts);
  return texts;
}

function readValue(cursor, path, texts) {
  skipSpace(cursor);
  const first = cursor.content[cursor.at];
  if (first === '{' || first === '[') {
    readMembers(cursor, first === '{', path, texts);
  } else if (first === '"') {
    const { start, end, value } = readText(cursor);
    texts.push({ path, value, start, end });
  } else {
    take(cursor, /[^\s,\]}]+/y);
  }
}

function readMembers(cursor, isObject, path, texts) {
  const close = isObject ? '}' : ']';
  cursor.at += 1;
  for (let index = 0; ; index += 1) {
    skipSpace(cursor);
    if (cursor.content[cursor.at] === close) break;
    let key = index;
    if (isObject) {
      key = readText(cursor).value;
      take(cursor, /\s*:/y);
    }
    readValue(cursor, [...path, key], texts);
    take(cursor, /\s*,?/y);
  }
  cursor.at += 1;
}

function readText(cursor) {
  const start = cursor.at + 1;
  const raw = take(cursor, /"[^"\\]*(?:\\.[^"\\]*)*"/y);
  return { start, end: cursor.at - 1, value: JSON.parse(raw) };
}

function skipSpace(cursor) {
  take(cursor, /\s*/y);
}

function take(cursor, pattern) {
  pattern.lastIndex = cursor.at;
  const [taken] = pattern.exec(cursor.content);
  cursor.at += taken.length;
  return taken;
}
