// Finds, adds or updates the header of a single file. Contents are read as latin1, one character per byte, so that all other
// bytes stay unchanged in any encoding.

import { keptLength } from './first_lines.js';
import { Skip } from './skip.js';

/** Maximum number of lines at the start of a file in which a header is searched. */
const HEAD_LINES_MAX = 60;

const TAG = /^(.*?)(SPDX-FileCopyrightText|SPDX-License-Identifier):[ \t]*(.*?)([ \t]*(?:\*\/|-->)?[ \t]*\r?\n?)$/;
const YEARS = /^(?:(?:Copyright|\([cC]\)|©)[ \t]*)*(\d{4}(?:[ \t]*[-–,][ \t]*\d{4})*)?,?[ \t]*/;
/** Matches a header in prose, which the action cannot update. */
const OTHER_HEADER = /copyright[ \t]+(?:\(c\)|\xC2?\xA9|\d{4})|\xC2\xA9|licensed under|all rights reserved|permission is hereby granted|SPDX-/i;

/** Returns the new content, and whether the header was `added`, `updated` or left `unchanged`. Throws a `Skip` if the file
    cannot have a header. */
export function withHeader(content, style, wanted) {
  if (content.includes('\0')) throw new Skip('it contains NUL bytes, so it is not a text file');
  if (content.includes('\r') && !content.includes('\n')) throw new Skip('its lines end with CR instead of LF');
  if (/[^\0-\x7F]/.test(wanted.holder) && !isUtf8(content)) {
    throw new Skip('it is not UTF-8, but the name of the holder is not ASCII');
  }
  const start = keptLength(content, style);
  const head = headOf(content.slice(start), style);
  const tags = head.flatMap((line, index) => {
    const [, before, tag, value, after] = TAG.exec(line) ?? [];
    return tag ? [{ index, before, tag, value: utf8(value), after }] : [];
  });
  const rest = content.slice(start + head.join('').length);
  if (tags.length > 0) {
    const lines = updated(head, tags, style, wanted).join('');
    const result = content.slice(0, start) + lines + rest;
    return { content: result, change: result === content ? 'unchanged' : 'updated' };
  }
  if (head.some((line) => OTHER_HEADER.test(line))) throw new Skip('it has a licence header in another format');
  return { content: added(content, start, style, wanted), change: 'added' };
}

/** Returns the two tags of a header, which state the copyright and the licence. */
export function tagLines({ license, holder, year }) {
  return [`SPDX-FileCopyrightText: ${year} ${holder}`, `SPDX-License-Identifier: ${license}`];
}

function added(content, start, style, wanted) {
  const lineEnd = lineEndOf(content);
  const { open, prefix, close } = style.write;
  const lines = [open, ...tagLines(wanted).map((tag) => prefix + latin1(tag)), close];
  const header = lines.filter((line) => line !== undefined).map((line) => line + lineEnd).join('');
  const [kept, rest] = [content.slice(0, start), content.slice(start)];
  const between = kept === '' || kept.endsWith('\n') || kept === '\xEF\xBB\xBF' ? '' : lineEnd;
  const after = rest === '' || /^[ \t]*\r?(?:\n|$)/.test(rest) ? '' : lineEnd;
  return kept + between + header + after + rest;
}

function lineEndOf(content) {
  const end = content.indexOf('\n');
  return end > 0 && content[end - 1] === '\r' ? '\r\n' : '\n';
}

/** Returns the lines at the start of a file that are comments or empty. */
function headOf(content, { line, block }) {
  const head = [];
  let isInBlock = false;
  for (const text of content.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    if (head.length === HEAD_LINES_MAX) break;
    const plain = text.trim();
    const begins = !isInBlock && block !== undefined && plain.startsWith(block[0]);
    if (!isInBlock && !begins && plain !== '' && !(line !== undefined && plain.startsWith(line))) break;
    if (isInBlock || begins) {
      const end = plain.indexOf(block[1], begins ? block[0].length : 0);
      isInBlock = end < 0;
      // A line with code after the end of a comment is not part of the head.
      if (!isInBlock && plain.length > end + block[1].length) break;
    }
    head.push(text);
  }
  return head;
}

function updated(head, tags, style, wanted) {
  const licenses = tags.filter(({ tag }) => tag === 'SPDX-License-Identifier');
  const holders = tags
    .filter(({ tag }) => tag === 'SPDX-FileCopyrightText')
    .map((tag) => ({ ...tag, holder: tag.value.replace(YEARS, '') }));
  if (licenses.length > 1) throw new Skip('its header contains more than one licence');
  const own = holders.filter(({ holder }) => holder === wanted.holder);
  if (own.length > 1) throw new Skip('its header contains the holder more than once');
  const [license] = licenses;
  if (license && license.value !== wanted.license && (own.length === 0 || holders.length > own.length)) {
    throw new Skip(`it is under ${license.value}, and the requested holder is not its only holder`);
  }
  const lines = [...head];
  // A line that is inserted after an unterminated last line needs a line end before it.
  const ended = (line) => (line.endsWith('\n') ? line : line + lineEndOf(head.join('')));
  const insert = (at, line) => {
    if (at > 0) lines[at - 1] = ended(lines[at - 1]);
    lines.splice(at, 0, ended(line));
  };
  const put = ({ index, before, tag, after }, value) => {
    lines[index] = `${before}${tag}: ${latin1(value)}${after}`;
  };
  if (license && license.value !== wanted.license) put(license, wanted.license);
  const [copyright, licence] = tagLines(wanted).map(latin1);
  if (own.length === 1) {
    const years = joined(YEARS.exec(own[0].value)[1], wanted.year);
    if (years !== undefined) put(own[0], `${years} ${wanted.holder}`);
  } else {
    const beside = holders.at(-1) ?? license;
    const at = holders.length > 0 ? beside.index + 1 : beside.index;
    insert(at, lineLike(beside, style, copyright));
  }
  if (!license) {
    const last = holders.at(-1);
    insert(last.index + (own.length === 1 ? 1 : 2), lineLike(last, style, licence));
  }
  return lines;
}

/** Returns a line with `tag` that is formatted like the line `beside`. */
function lineLike({ before, after }, { block }, tag) {
  const opens = block !== undefined && before.includes(block[0]);
  const closes = block !== undefined && after.includes(block[1]);
  if (opens !== closes) throw new Skip('a multi-line comment starts or ends on the same line as a tag of its header');
  return before + tag + after;
}

/** Returns the range that covers the years in both texts, or undefined if `has` already covers `wanted`. */
function joined(has, wanted) {
  const numbers = (text) => (text?.match(/\d{4}/g) ?? []).map(Number);
  const [hasFirst, hasLast] = [Math.min(...numbers(has)), Math.max(...numbers(has))];
  const first = Math.min(hasFirst, ...numbers(wanted));
  const last = Math.max(hasLast, ...numbers(wanted));
  if (first === hasFirst && last === hasLast) return undefined;
  return first === last ? `${first}` : `${first}-${last}`;
}

function isUtf8(content) {
  return Buffer.from(utf8(content), 'utf8').equals(Buffer.from(content, 'latin1'));
}

function utf8(bytes) {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

function latin1(text) {
  return Buffer.from(text, 'utf8').toString('latin1');
}
