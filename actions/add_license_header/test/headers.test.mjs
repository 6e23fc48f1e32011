// Tests the headers that add_license_header writes, and their positions.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { grounds as groundsOf, tree } from '../../../crates/actum/tests/plugin_driver/grounds.mjs';
import { problems, requireManifest } from '../../../crates/actum/tests/plugin_driver/schema.mjs';

const MANIFEST = JSON.parse(fs.readFileSync(new URL('../action.json', import.meta.url)));
const HEADER = { license: 'MIT', holder: 'Ann Owner <ann@example.org>', year: '2025' };
const COPYRIGHT = 'SPDX-FileCopyrightText: 2025 Ann Owner <ann@example.org>';
const LICENSE = 'SPDX-License-Identifier: MIT';
const SLASH = `// ${COPYRIGHT}\n// ${LICENSE}\n`;
const HASH = `# ${COPYRIGHT}\n# ${LICENSE}\n`;
const CSS = `/*\n * ${COPYRIGHT}\n * ${LICENSE}\n */\n`;
const XML = `<!--\n${COPYRIGHT}\n${LICENSE}\n-->\n`;

/** Runs execute and verify on all files. Returns the output and the resulting contents. */
async function head(t, files, header = {}, by = 'run') {
  const made = groundsOf(t, 'add_license_header', files);
  const ground = { ...made, run: made[by] };
  const input = { ...HEADER, files: Object.keys(files), ...header };
  const { output, error } = await ground.run('execute', input);
  assert.equal(error, undefined);
  assert.deepEqual([problems(MANIFEST.inputSchema, input), problems(MANIFEST.outputSchema, output)], [[], []]);
  const verified = await ground.run('verify', input, { output });
  assert.deepEqual(verified.output.checks.filter(({ ok }) => !ok), []);
  const read = (name) => fs.readFileSync(path.join(ground.workspace, name), 'utf8');
  const contents = Object.fromEntries(Object.keys(files).map((name) => [name, read(name)]));
  return { ...ground, input, output, contents };
}

/** Checks that each file gets the expected content, and that a second run changes nothing. */
async function requireHeads(t, cases, header) {
  const files = Object.fromEntries(cases.map(([name, before], at) => [`${at}/${name}`, before]));
  const expected = Object.fromEntries(cases.map(([name, before, after], at) => [`${at}/${name}`, after ?? before]));
  const { contents, run, input, output, keep } = await head(t, files, header);
  assert.deepEqual(contents, expected);
  keep();
  const again = await run('execute', input);
  const told = [...output.changed.map((file) => file.path), ...output.unchanged].sort();
  assert.deepEqual(again.output, { changed: [], unchanged: told, skipped: output.skipped });
  return output;
}

// AA-8
test('the manifest has the fields of the contract and rejects unknown fields', () => {
  requireManifest(MANIFEST, 'add_license_header');
  const good = { ...HEADER, globs: ['**/*.js'] };
  assert.deepEqual(problems(MANIFEST.inputSchema, good), []);
  for (const more of [{ globs: [] }, { year: 2025 }, { license: 'MIT\n' }, { extra: 1 }, { globs: undefined }]) {
    assert.notDeepEqual(problems(MANIFEST.inputSchema, JSON.parse(JSON.stringify({ ...good, ...more }))), []);
  }
});

// AA-8
test('a header uses the comment syntax of the language', async (t) => {
  const output = await requireHeads(t, [
    ['a.js', 'code();\n', `${SLASH}\ncode();\n`],
    ['a.rs', '#![no_std]\n', `${SLASH}\n#![no_std]\n`],
    ['a.go', '//go:build linux\n\npackage a\n', `${SLASH}\n//go:build linux\n\npackage a\n`],
    ['a.py', '"""Doc."""\n', `${HASH}\n"""Doc."""\n`],
    ['Dockerfile', 'FROM x\n', `${HASH}\nFROM x\n`],
    ['CMakeLists.txt', 'x()\n', `${HASH}\nx()\n`],
    ['A.SQL', 'SELECT 1;\n', `${SLASH.replaceAll('//', '--')}\nSELECT 1;\n`],
    ['a.el', 'x\n', `${SLASH.replaceAll('//', ';;')}\nx\n`],
    ['a.tex', 'x\n', `${SLASH.replaceAll('//', '%')}\nx\n`],
    ['a.css', 'a {}\n', `${CSS}\na {}\n`],
    ['a.html', '<p>\n', `${XML}\n<p>\n`],
    ['a.yaml', '---\na: 1\n', `${HASH}\n---\na: 1\n`],
    ['empty.py', '', HASH],
    ['a.ts', '\n\ncode', `${SLASH}\n\ncode`],
    ['bytes.c', 'int é;', `${SLASH}\nint é;`],
  ]);
  assert.deepEqual([output.changed.length, output.changed.every(({ change }) => change === 'added')], [15, true]);
});

// AA-8
test('the header goes below the lines that must come first', async (t) => {
  const coding = '# -*- coding: utf-8 -*-\n';
  await requireHeads(t, [
    ['a.sh', '#!/bin/sh\nx\n', `#!/bin/sh\n${HASH}\nx\n`],
    ['b.sh', '#!/bin/sh\n\nx\n', `#!/bin/sh\n${HASH}\nx\n`],
    ['c.sh', '#!/bin/sh', `#!/bin/sh\n${HASH}`],
    ['a.py', `#!/usr/bin/env python\n${coding}x\n`, `#!/usr/bin/env python\n${coding}${HASH}\nx\n`],
    ['b.py', '# vim: set fileencoding=latin-1 :\nx\n', `# vim: set fileencoding=latin-1 :\n${HASH}\nx\n`],
    ['a.rb', `${coding}# frozen_string_literal: true\n`, `${coding}${HASH}\n# frozen_string_literal: true\n`],
    ['a.c', '/* -*- c -*- */\nx\n', `${SLASH}\n/* -*- c -*- */\nx\n`],
    ['a.h', '// -*- C++ -*-\nx\n', `// -*- C++ -*-\n${SLASH}\nx\n`],
    ['Dockerfile', '# syntax=docker/dockerfile:1\n# escape=`\nFROM x\n', `# syntax=docker/dockerfile:1\n# escape=\`\n${HASH}\nFROM x\n`],
    ['user.yaml', '#cloud-config\na: 1\n', `#cloud-config\n${HASH}\na: 1\n`],
    ['a.mjs', '#!/usr/bin/env node\nx\n', `#!/usr/bin/env node\n${SLASH}\nx\n`],
    ['a.php', '<?php\nx();\n', `<?php\n${SLASH}\nx();\n`],
    ['b.php', '#!/usr/bin/php\n<?php declare(strict_types=1);\nx();\n', `#!/usr/bin/php\n<?php declare(strict_types=1);\n${SLASH}\nx();\n`],
    ['a.xml', '<?xml version="1.0"?>\n<a/>\n', `<?xml version="1.0"?>\n${XML}\n<a/>\n`],
    ['a.svg', '<?xml version="1.0"\n  encoding="utf-8"?>\n<!DOCTYPE svg [\n<!ENTITY a ">">\n]>\n<svg/>', `<?xml version="1.0"\n  encoding="utf-8"?>\n<!DOCTYPE svg [\n<!ENTITY a ">">\n]>\n${XML}\n<svg/>`],
    ['b.html', '<!doctype html>\n<p>', `<!doctype html>\n${XML}\n<p>`],
    ['a.md', '---\ntitle: "---"\n---\n# A\n', `---\ntitle: "---"\n---\n${XML}\n# A\n`],
    ['b.md', '+++\n+++\n# A\n', `+++\n+++\n${XML}\n# A\n`],
    ['c.md', '----\n', `${XML}\n----\n`],
    ['a.css', '@charset "utf-8";\na {}\n', `@charset "utf-8";\n${CSS}\na {}\n`],
    ['a.scss', '@charset "utf-8";\na {}\n', `@charset "utf-8";\n${SLASH}\na {}\n`],
  ]);
});

// AA-8
test('the byte order mark and the line ends are kept', async (t) => {
  const crlf = (text) => text.replaceAll('\n', '\r\n');
  await requireHeads(t, [
    ['a.js', '\uFEFFcode\n', `\uFEFF${SLASH}\ncode\n`],
    ['b.js', crlf('code\nmore\n'), crlf(`${SLASH}\ncode\nmore\n`)],
    ['c.js', crlf('\uFEFF#!/usr/bin/node\n\ncode'), crlf(`\uFEFF#!/usr/bin/node\n${SLASH}\ncode`)],
    ['a.xml', crlf('\uFEFF<?xml version="1.0"?>\n<a/>'), crlf(`\uFEFF<?xml version="1.0"?>\n${XML}\n<a/>`)],
    ['d.js', crlf(`${SLASH.replace('MIT', 'ISC')}code\n`), crlf(`${SLASH}code\n`)],
    ['e.js', crlf(`x\n`).slice(0, 1), `${SLASH}\nx`],
    ['f.js', crlf(`// text\n// ${COPYRIGHT}`), crlf(`// text\n${SLASH}`)],
    ['mixed.js', 'a\nb\r\n', `${SLASH}\na\nb\r\n`],
    ['empty.js', '\uFEFF', `\uFEFF${SLASH}`],
  ]);
});

// AA-8
test('an existing header is updated without other changes', async (t) => {
  const other = 'SPDX-FileCopyrightText: 2019 Other';
  const output = await requireHeads(t, [
    ['same.js', `${SLASH}\nx\n`],
    ['year.js', SLASH.replace('2025', '2020'), SLASH.replace('2025', '2020-2025')],
    ['later.js', SLASH.replace('2025', '2020-2030')],
    ['list.js', SLASH.replace('2025', '2020, 2022'), SLASH.replace('2025', '2020-2025')],
    ['none.js', SLASH.replace('2025 ', '')],
    ['sign.js', SLASH.replace('2025', '© 2024'), SLASH.replace('2025', '2024-2025')],
    ['license.js', SLASH.replace('MIT', 'Apache-2.0'), SLASH],
    ['only-license.js', `// ${LICENSE}\nx\n`, `${SLASH}x\n`],
    ['only-holder.js', `// ${COPYRIGHT}\nx\n`, `${SLASH}x\n`],
    ['only-holder-at-end.js', `// ${COPYRIGHT}`, SLASH],
    ['others.js', `// ${other}\n// ${LICENSE}\n`, `// ${other}\n${SLASH}`],
    ['only-others.js', `// ${other}\nx\n`, `// ${other}\n${SLASH}x\n`],
    ['block.c', `/* ${LICENSE} */\nx\n`, `/* ${COPYRIGHT} */\n/* ${LICENSE} */\nx\n`],
    ['blocks.c', `/**\n *  ${COPYRIGHT}\n *  text\n */\nx\n`, `/**\n *  ${COPYRIGHT}\n *  ${LICENSE}\n *  text\n */\nx\n`],
    ['below.rs', `//! Docs.\n\n#![x]\n`, `${SLASH}\n//! Docs.\n\n#![x]\n`],
    ['under.rs', `//! Docs.\n\n// ${LICENSE}\n`, `//! Docs.\n\n${SLASH}`],
    ['a.html', `<!doctype html>\n<!-- ${LICENSE} -->\n`, `<!doctype html>\n<!-- ${COPYRIGHT} -->\n<!-- ${LICENSE} -->\n`],
    ['a.css', CSS.replace('2025', '2001'), CSS.replace('2025', '2001-2025')],
  ].map(([name, before, after]) => (name === 'none.js' ? [name, before, SLASH] : [name, before, after])));
  const kept = output.unchanged.map((name) => name.split('/')[1]);
  assert.deepEqual([kept, output.skipped], [['same.js', 'later.js'], []]);
  await requireHeads(t, [['names.js', 'x\n', `// SPDX-FileCopyrightText: 2025 2600 Ünï & Co.\n// ${LICENSE}\n\nx\n`]], { holder: '2600 Ünï & Co.' });
  const both = '// SPDX-License-Identifier: (MIT OR Apache-2.0 WITH LLVM-exception) AND LicenseRef-a.b-1\n';
  await requireHeads(t, [['l.js', '', `// SPDX-FileCopyrightText: 2020-2025 A\n${both}`]], { license: both.slice(28, -1), holder: 'A', year: '2020-2025' });
});

// AA-8
test('a file that cannot have a header is skipped with the reason', async (t) => {
  const cases = [
    ['nul.js', 'a\0b', 'it contains NUL bytes, so it is not a text file'],
    ['wide.js', Buffer.from('code', 'utf16le'), 'it contains NUL bytes, so it is not a text file'],
    ['a.json', '{}', 'its comment syntax is unknown'],
    ['README', 'x', 'its comment syntax is unknown'],
    ['.js', 'x', 'its comment syntax is unknown'],
    ['cr.js', 'a\rb\r', 'its lines end with CR instead of LF'],
    ['tr.ts', '<?xml version="1.0"?>\n', 'it is XML, although its name suggests another language'],
    ['a.php', '<html>\n', 'it does not start with `<?php`'],
    ['b.php', '<?php echo 1; ?>\n', 'the line with `<?php` contains other content'],
    ['a.xml', '<?xml version="1.0"?><a/>\n', 'the line with `<?xml` contains other content'],
    ['a.html', '<!doctype html\n', 'its `<!DOCTYPE` is not closed'],
    ['b.html', '<!doctype html><p>\n', 'the line with `<!DOCTYPE` contains other content'],
    ['a.md', '---\nx\n', 'its front matter is not closed with a second `---`'],
    ['a.css', '@charset "utf-8"; a {}\n', 'the line with `@charset` contains other content'],
    ['text.c', '/*\n * Copyright (c) 2001 Someone\n */\n', 'it has a licence header in another format'],
    ['text.js', '// © Someone\n', 'it has a licence header in another format'],
    ['text.py', '# Licensed under the terms of\n', 'it has a licence header in another format'],
    ['foreign.js', '// SPDX-FileCopyrightText: 2001 Other\n// SPDX-License-Identifier: ISC\n', 'it is under ISC, and the requested holder is not its only holder'],
    ['nobody.js', '// SPDX-License-Identifier: ISC\n', 'it is under ISC, and the requested holder is not its only holder'],
    ['shared.js', `${SLASH.replace('MIT', 'ISC')}// SPDX-FileCopyrightText: 2001 Other\n`, 'it is under ISC, and the requested holder is not its only holder'],
    ['two.js', `${SLASH}// ${LICENSE}\n`, 'its header contains more than one licence'],
    ['twice.js', `${SLASH}// ${COPYRIGHT}\n`, 'its header contains the holder more than once'],
    ['open.c', `/* ${LICENSE}\n */\n`, 'a multi-line comment starts or ends on the same line as a tag of its header'],
    ['large.js', 'x'.repeat(4 * 1024 * 1024 + 1), 'it is larger than 4194304 bytes'],
  ];
  const files = Object.fromEntries(cases.map(([name, content]) => [name, content]));
  const { output, workspace, before } = await head(t, files);
  const expected = cases.map(([name, , reason]) => ({ path: name, reason })).sort((a, b) => (a.path < b.path ? -1 : 1));
  assert.deepEqual(output, { changed: [], unchanged: [], skipped: expected });
  assert.deepEqual(tree(workspace), tree(before));
  const latin = await head(t, { 'a.js': Buffer.from([0xe9, 10]) }, { holder: 'Ünï' });
  assert.deepEqual(latin.output.skipped, [{ path: 'a.js', reason: 'it is not UTF-8, but the name of the holder is not ASCII' }]);
  const room = 4 * 1024 * 1024 - SLASH.length - 1;
  const fits = await head(t, { 'a.js': Buffer.from([0xe9, 10]), 'b.js': 'x'.repeat(room), 'c.js': 'x'.repeat(room + 1) });
  assert.deepEqual(fits.output.changed.map((file) => file.path), ['a.js', 'b.js']);
  assert.deepEqual(fits.output.skipped, [{ path: 'c.js', reason: 'it would be larger than 4194304 bytes' }]);
});

// AA-8, AA-10
test('the driver runs all three steps', async (t) => {
  const files = { 'a.js': 'x\n', 'b.py': HASH, 'c.bin': '\0' };
  const { workspace, before, run, input, output } = await head(t, files, {}, 'driven');
  assert.deepEqual(output, {
    changed: [{ path: 'a.js', change: 'added' }],
    unchanged: ['b.py'],
    skipped: [{ path: 'c.bin', reason: 'its comment syntax is unknown' }],
  });
  assert.deepEqual((await run('rollback', input, { output })).output, { restored: ['a.js'], unchanged: [] });
  assert.deepEqual(tree(workspace), tree(before));
});

// AA-11
test('a rollback restores content and mode and removes no file', async (t) => {
  const files = { 'a.js': 'x', 'b/c.py': '#!/bin/sh\r\n', 'd.txt': 'd', 'large.js': 'x'.repeat(4 * 1024 * 1024 + 1) };
  const { workspace, before, run, input, output } = await head(t, files);
  fs.chmodSync(path.join(workspace, 'a.js'), 0o755);
  fs.writeFileSync(path.join(workspace, 'new.js'), 'new');
  const first = await run('rollback', input, { output });
  assert.deepEqual(first.output, { restored: ['a.js', 'b/c.py'], unchanged: [] });
  assert.deepEqual(tree(workspace), { ...tree(before), 'new.js': tree(workspace)['new.js'] });
  fs.writeFileSync(path.join(workspace, 'a.js'), '');
  const half = await run('rollback', input);
  assert.deepEqual(half.output, { restored: ['a.js'], unchanged: ['b/c.py', 'd.txt'] });
  const none = await run('rollback', input, { before: undefined });
  assert.match(none.error.message, /^cannot restore the files/);
});

// AA-3
test('verify detects every kind of wrong change', async (t) => {
  const files = { 'a.js': '#!/bin/node\ncode();\n', 'b.js': `// SPDX-FileCopyrightText: 1999 Other\n// ${LICENSE}\n`, 'c.js': `${SLASH}`, 'd.txt': 'd' };
  const cases = [
    ['only_headers_changed', 'a.js', (text) => text.replace('code', 'evil')],
    ['only_headers_changed', 'a.js', (text) => text.replace('code();\n', '')],
    ['only_headers_changed', 'a.js', (text) => `${text}more();\n`],
    ['only_headers_changed', 'a.js', (text) => `${text}//\n//\n//\n`],
    ['only_headers_changed', 'b.js', (text) => text.replace('// SPDX-FileCopyrightText: 1999 Other\n', '')],
    ['every_header_says_what_was_asked_for', 'a.js', (text) => text.replace('MIT', 'ISC')],
    ['every_header_says_what_was_asked_for', 'a.js', (text) => text.replace('2025', '2024')],
    ['every_header_says_what_was_asked_for', 'a.js', (text) => text.replace('Ann', 'Bob')],
    ['first_lines_stay', 'a.js', (text) => text.replace('#!/bin/node\n', '\n#!/bin/node\n')],
    ['first_lines_stay', 'a.js', (text) => `\uFEFF${text}`],
    ['nothing_is_left_to_do', 'b.js', (text) => `${text}// ${LICENSE}\n`],
    ['no_other_file_changed', 'c.js', (text) => `${text}\n`],
    ['no_other_file_changed', 'd.txt', () => 'e'],
    ['no_other_file_changed', 'new.txt', () => ''],
  ];
  await Promise.all(
    cases.map(async ([name, file, change]) => {
      const { workspace, run, input, output } = await head(t, files);
      const target = path.join(workspace, file);
      fs.writeFileSync(target, change(fs.existsSync(target) ? fs.readFileSync(target, 'utf8') : ''));
      const failed = (await run('verify', input, { output })).output.checks.filter(({ ok }) => !ok);
      assert.ok(failed.some((check) => check.name === name && check.message), `${name} ${change}: ${JSON.stringify(failed)}`);
    }),
  );
  const { workspace, run, input, output } = await head(t, files);
  const failedWith = async (more, given = input) => {
    const { checks } = (await run('verify', given, { output, ...more })).output;
    return checks.filter(({ ok }) => !ok).map(({ name }) => name);
  };
  assert.deepEqual(await failedWith({ before: undefined }), ['only_headers_changed']);
  assert.deepEqual(await failedWith({ output: { ...output, unchanged: [] } }), ['the_files_are_those_asked_for']);
  assert.deepEqual(await failedWith({}, { ...input, files: ['a.js', 'b.js', 'c.js'] }), ['the_files_are_those_asked_for']);
  fs.chmodSync(path.join(workspace, 'a.js'), 0o700);
  assert.deepEqual(await failedWith({}), ['modes_are_kept']);
});
