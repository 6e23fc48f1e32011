// Checks that the files have the requested headers, and that nothing else was changed. It compares the files line by line,
// without the code with which execute.js finds and writes headers.

import { differences, read } from './files.js';
import { fileWithHeader, requireHeader, targets } from './request.js';
import { styleOf } from './styles.js';

const SHOWN_MAX = 5;
const MESSAGE_CHARS_MAX = 1000;
const BYTES_MAX = 8 * 1024 * 1024;
const HEAD_LINES_MAX = 80;
/** Maximum number of lines that a header adds: two for the comment delimiters, two for the tags, and an empty one. */
const ADDED_LINES_MAX = 5;

const TAG = /SPDX-(?:FileCopyrightText|License-Identifier):/;
const COMMENT_MARK = /^(?:<!--|-->|\/\/|#|--|;;?|%|\/\*\*?|\*\/|\*)?/;
const BOM = /^\xEF\xBB\xBF/;
const FIRST_LINE = /^(?:#!(?![ \t]*\[)|<\?|<!doctype|@charset|#.*coding[:=])/i;
const FRONT_MATTER = /^(?:---|\+\+\+)[ \t]*$/;

export default async function verify({ input, context }) {
  const { workspace, before, output } = context;
  if (before === undefined) {
    const message = 'cannot compare the files because their original content is not available';
    return { checks: [{ name: 'only_headers_changed', ok: false, message }] };
  }
  const wanted = requireHeader(input);
  const changed = output.changed.map(({ path }) => path);
  const each = (paths, problemOf) => () => paths.flatMap((path) => problemOf(path) ?? []);
  const both = (path) => [workspace, before].map((root) => read(root, path, BYTES_MAX));
  return {
    checks: [
      check('the_files_are_those_asked_for', () => otherTargets(before, input, output)),
      check('only_headers_changed', each(changed, (path) => otherLines(path, ...both(path), wanted))),
      check('every_header_says_what_was_asked_for', each([...changed, ...output.unchanged], (path) => {
        return missingTags(path, read(workspace, path, BYTES_MAX).content, wanted);
      })),
      check('first_lines_stay', each(changed, (path) => otherFirstLine(path, ...both(path)))),
      check('nothing_is_left_to_do', each(changed, (path) => {
        return fileWithHeader(workspace, path, wanted).change === 'unchanged' ? undefined : `\`${path}\``;
      })),
      check('modes_are_kept', each(changed, (path) => {
        const [is, was] = both(path).map(({ mode }) => mode.toString(8));
        return is === was ? undefined : `\`${path}\` had the mode ${was}, but now has ${is}`;
      })),
      check('no_other_file_changed', () => {
        const told = new Set(changed);
        return differences(workspace, before).filter((path) => !told.has(path)).map((path) => `\`${path}\``);
      }),
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

function otherTargets(before, input, { changed, unchanged, skipped }) {
  const told = [...changed.map(({ path }) => path), ...unchanged, ...skipped.map(({ path }) => path)].sort();
  const asked = targets(before, input);
  const missing = asked.filter((path) => !told.includes(path)).map((path) => `\`${path}\` is missing in the output`);
  if (missing.length > 0 || told.length === asked.length) return missing;
  return ['the output contains a file that was not requested, or a file more than once'];
}

/** Checks that only header lines were added or removed, and that no line of another holder was lost. */
function otherLines(path, is, was, { holder }) {
  const [newLines, oldLines] = [is, was].map(({ content }) => {
    return content.replace(BOM, '').match(/[^\n]*\n|[^\n]+$/g) ?? [];
  });
  const [added, removed] = [[], []];
  let [at, old] = [0, 0];
  while (at < newLines.length || old < oldLines.length) {
    if (isSame(newLines[at], oldLines[old])) {
      at += 1;
      old += 1;
    } else if (old < oldLines.length && TAG.test(oldLines[old])) {
      removed.push(oldLines[old]);
      old += 1;
    } else if (at < newLines.length && isHeaderLine(newLines[at])) {
      added.push(newLines[at]);
      at += 1;
    } else {
      return `\`${path}\` was changed at line ${at + 1}, which is not part of a header`;
    }
  }
  const name = Buffer.from(holder, 'utf8').toString('latin1');
  const isOthers = (line) => line.includes('SPDX-FileCopyrightText') && !line.includes(name);
  const lost = removed.some((line) => isOthers(line) && !added.includes(line));
  if (lost) return `\`${path}\` lost the line of another holder`;
  const grown = added.length - removed.length;
  return grown >= 0 && grown <= ADDED_LINES_MAX ? undefined : `\`${path}\` has ${grown} more lines than before`;
}

/** Compares two lines. An unterminated last line may have gained a line end, because a header was added after it. */
function isSame(is, was) {
  if (is === undefined || was === undefined) return false;
  return is === was || (!was.endsWith('\n') && [`${was}\n`, `${was}\r\n`].includes(is));
}

function isHeaderLine(line) {
  const [text] = line.trim().replace(COMMENT_MARK, '').trim().split(/(?:\*\/|-->)$/);
  return text === '' || /^SPDX-(?:FileCopyrightText|License-Identifier): \S/.test(text);
}

function missingTags(path, content, { license, holder, year }) {
  const head = Buffer.from(content, 'latin1').toString('utf8').split('\n').slice(0, HEAD_LINES_MAX);
  const values = (tag) => {
    const lines = head.filter((line) => line.includes(`${tag}:`));
    return lines.map((line) => line.split(`${tag}:`)[1].replace(/(?:\*\/|-->)?\s*$/, '').trim());
  };
  const licenses = values('SPDX-License-Identifier');
  if (licenses.length !== 1 || licenses[0] !== license) return `\`${path}\` does not have ${license} as its only licence`;
  const own = values('SPDX-FileCopyrightText').find((value) => value.endsWith(holder));
  const years = (own?.slice(0, -holder.length).match(/\d{4}/g) ?? []).map(Number);
  const covers = year.split('-').every((one) => Math.min(...years) <= one && one <= Math.max(...years));
  return covers ? undefined : `\`${path}\` does not name the holder for ${year}`;
}

function otherFirstLine(path, is, was) {
  const problem = `\`${path}\` has a different first line than before`;
  if (BOM.test(is.content) !== BOM.test(was.content)) return problem;
  const [first, old] = [is, was].map(({ content }) => content.replace(BOM, '').split('\n', 1)[0].trimEnd());
  const stays = FIRST_LINE.test(old) || (styleOf(path)?.keep === 'prolog' && FRONT_MATTER.test(old));
  return stays && first !== old ? problem : undefined;
}
