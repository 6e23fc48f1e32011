// The header of one file: finds it, adds it, or brings it up to date. Contents are latin1, one
// character for each byte, so that what is not touched stays as it is in any encoding.

import { keptLength } from './first_lines.js';
import { Skip } from './skip.js';

/** How far down from the top a header is looked for. */
const HEAD_LINES_MAX = 60;

const TAG = /^(.*?)(SPDX-FileCopyrightText|SPDX-License-Identifier):[ \t]*(.*?)([ \t]*(?:\*\/|-->)?[ \t]*\r?\n?)$/;
const YEARS = /^(?:(?:Copyright|\([cC]\)|©)[ \t]*)*(\d{4}(?:[ \t]*[-–,][ \t]*\d{4})*)?,?[ \t]*/;
/** A header in words, which only a person can bring up to date. */
const OTHER_HEADER = /copyright[ \t]+(?:\(c\)|\xC2?\xA9|\d{4})|\xC2\xA9|licensed under|all rights reserved|permission is hereby granted|SPDX-/i;

/** What `content` becomes, and how: `added`, `updated` or `unchanged`. What a header cannot be put
    into is a `Skip`. */
export function withHeader(content, style, wanted) {
  if (content.includes('\0')) throw new Skip('it has NUL bytes, so it is no text');
  if (content.includes('\r') && !content.includes('\n')) throw new Skip('its lines end with CR alone');
  if (/[^\0-\x7F]/.test(wanted.holder) && !isUtf8(content)) {
    throw new Skip('it is not UTF-8, and the name of the holder is not ASCII');
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
  if (head.some((line) => OTHER_HEADER.test(line))) throw new Skip('it has a licence header of another form');
  return { content: added(content, start, style, wanted), change: 'added' };
}

/** The tags of a header, as they are read: what it says of copyright and licence. */
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

/** The lines at the top that are comments or empty. */
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
      // Code behind the end of a comment is no line of the head.
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
  if (licenses.length > 1) throw new Skip('it names a licence more than once');
  const own = holders.filter(({ holder }) => holder === wanted.holder);
  if (own.length > 1) throw new Skip('it names the holder more than once');
  const [license] = licenses;
  if (license && license.value !== wanted.license && (own.length === 0 || holders.length > own.length)) {
    throw new Skip(`it is under ${license.value}, and not of this holder alone`);
  }
  const lines = [...head];
  // What is put behind the last line of a file needs an end before it.
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

/** A line with `tag` in the form of the line `beside`. */
function lineLike({ before, after }, { block }, tag) {
  const opens = block !== undefined && before.includes(block[0]);
  const closes = block !== undefined && after.includes(block[1]);
  if (opens !== closes) throw new Skip('its header has no line of its own for each tag');
  return before + tag + after;
}

/** The span of both, or undefined where `has` covers `wanted` already. */
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
