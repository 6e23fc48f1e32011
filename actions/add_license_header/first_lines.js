// Finds the part at the start of a file that must stay above the header, such as a `#!` line.

import { Skip } from './skip.js';

const BOM = '\xEF\xBB\xBF';

/** Returns the number of bytes at the start of `content` (latin1) that must stay above the header. */
export function keptLength(content, style) {
  const cursor = { content, at: content.startsWith(BOM) ? BOM.length : 0 };
  // In Rust, `#![` at the start of a file begins an attribute and not a `#!` line.
  skip(cursor, /#!(?![ \t]*\[)[^\n]*(?:\n|$)/y);
  if (style.keep === 'php') keepPhp(cursor);
  else if (style.keep === 'prolog') keepProlog(cursor);
  else if (content.startsWith('<?xml', cursor.at)) throw new Skip('it is XML, although its name suggests another language');
  if (style.keep === 'charset') {
    skip(cursor, /@charset[^\n;]*;/iy) && requireLineEnd(cursor, '`@charset`');
  }
  if (style.line) keepMagicLines(cursor, style);
  return cursor.at;
}

/** Skips comment lines with instructions for editors, interpreters and parsers, such as the encoding of the file. */
function keepMagicLines(cursor, style) {
  const patterns = [/[^\n]*-\*-[^\n]*(?:\n|$)/y];
  if (style.line === '#') {
    patterns.push(
      /[ \t\f]*#(?![^\n]*SPDX-)[^\n]*?coding[:=][ \t]*[-\w.]+[^\n]*(?:\n|$)/y,
      /#[ \t]*(?:syntax|escape|check)[ \t]*=[^\n]*(?:\n|$)/y,
      /#cloud-config[ \t]*\r?(?:\n|$)/y,
    );
  }
  while (cursor.content.startsWith(style.line, cursor.at)) {
    if (!patterns.some((pattern) => skip(cursor, pattern))) break;
  }
}

/** Skips the `<?php` line. The line must not contain other code, because the header must not end up inside of it. */
function keepPhp(cursor) {
  if (!skip(cursor, /<\?php(?=\s|$)/iy)) throw new Skip('it does not start with `<?php`');
  skip(cursor, /[ \t]*declare\(strict_types ?= ?1\);/y);
  requireLineEnd(cursor, '`<?php`');
}

function keepProlog(cursor) {
  const frontMatter = /(---|\+\+\+)[ \t]*\r?\n/y;
  const { at } = cursor;
  if (skip(cursor, frontMatter)) {
    const fence = cursor.content.slice(at, at + 3);
    const end = new RegExp(`(?:^|\\n)${fence.replaceAll('+', '\\+')}[ \\t]*(?:\\r?\\n|$)`, 'g');
    end.lastIndex = cursor.at - 1;
    if (!end.exec(cursor.content)) throw new Skip(`its front matter is not closed with a second \`${fence}\``);
    cursor.at = end.lastIndex;
    return;
  }
  const isXml = skip(cursor, /<\?xml\s[^]*?\?>/y);
  const hasDoctype = /\s*<!doctype/iy;
  hasDoctype.lastIndex = cursor.at;
  if (!hasDoctype.test(cursor.content)) {
    if (isXml) requireLineEnd(cursor, '`<?xml`');
    return;
  }
  const doctype = /\s*<!doctype(?:[^[>"']|"[^"]*"|'[^']*'|\[[^\]]*\])*>/iy;
  if (!skip(cursor, doctype)) throw new Skip('its `<!DOCTYPE` is not closed');
  requireLineEnd(cursor, '`<!DOCTYPE`');
}

function requireLineEnd(cursor, what) {
  if (!skip(cursor, /[ \t]*\r?(?:\n|$)/y)) throw new Skip(`the line with ${what} contains other content`);
}

function skip(cursor, pattern) {
  pattern.lastIndex = cursor.at;
  const taken = pattern.exec(cursor.content)?.[0];
  cursor.at += taken?.length ?? 0;
  return taken !== undefined;
}
