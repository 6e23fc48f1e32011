// Which files add_license_header takes, and what it refuses.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { directory, grounds as groundsOf, tree, write } from '../../../crates/actum/tests/plugin_driver/grounds.mjs';
import { plan } from '../request.js';

const HEADER = { license: 'MIT', holder: 'Ann', year: '2025' };
const grounds = (t, files) => groundsOf(t, 'add_license_header', files);

async function requireRefusal(t, files, input, message, prepare = () => {}) {
  const { workspace, run } = grounds(t, files);
  prepare(workspace);
  const was = tree(workspace);
  const { ok, error } = await run('execute', input);
  const shown = JSON.stringify(input).slice(0, 200);
  assert.equal(ok, false, shown);
  assert.match(error.message, message, shown);
  assert.match(error.message, /; nothing was changed$/);
  assert.deepEqual(tree(workspace), was, shown);
}

// AA-8
test('patterns find files as they say', async (t) => {
  const names = ['a.js', 'b.ts', 'src/a.js', 'src/x/a.js', 'src/x/y/b.js', 'src/[id].js', '.hidden.js', '.github/a.js',
    'node_modules/a/a.js', '.git/hooks/a.js', 'src/.ACTUM/a.js', 'src/aab.js', 'sub/__pycache__/a.js'];
  const files = Object.fromEntries(names.map((name) => [name, 'x']));
  const cases = [
    [['*.js'], [], ['a.js']],
    [['**/*.js'], [], ['a.js', 'src/[id].js', 'src/a.js', 'src/aab.js', 'src/x/a.js', 'src/x/y/b.js']],
    [['src/**'], ['src/x/**'], ['src/[id].js', 'src/a.js', 'src/aab.js']],
    [['src/*/*.js'], [], ['src/x/a.js']],
    [['**/x/**/?.js'], [], ['src/x/a.js', 'src/x/y/b.js']],
    [['src/[id].js', '*.ts'], [], ['b.ts', 'src/[id].js']],
    [['src/*a*b*'], [], ['src/aab.js']],
    [['src/a*b.js', 'src/?.js'], ['**/aab*'], ['src/a.js']],
    [['.*.js', '.github/**'], [], ['.github/a.js', '.hidden.js']],
    [['**'], ['**/*.js'], ['b.ts']],
  ];
  await Promise.all(
    cases.map(async ([globs, exclude, found]) => {
      const input = { ...HEADER, globs, ...(exclude.length > 0 ? { exclude } : {}) };
      const { output } = await grounds(t, files).run('execute', input);
      assert.deepEqual(output.changed.map((file) => file.path), found, JSON.stringify(globs));
    }),
  );
  const both = await grounds(t, files).run('execute', { ...HEADER, globs: ['*.js'], files: ['src/a.js', 'a.js'] });
  assert.deepEqual(both.output.changed.map((file) => file.path), ['a.js', 'src/a.js']);
});

// AA-8
test('a pattern of many stars is decided at once', async (t) => {
  const name = `${'a'.repeat(200)}.js`;
  const deep = `${'d/'.repeat(60)}${name}`;
  const globs = [`${'*a'.repeat(120)}b`, `${'**/d/'.repeat(50)}*b`, '**/*.js'];
  const { output } = await grounds(t, { [deep]: 'x' }).run('execute', { ...HEADER, globs });
  assert.deepEqual(output.changed, [{ path: deep, change: 'added' }]);
});

// FO-7
test('a link is followed neither by a pattern nor by name', async (t) => {
  const prepare = (root) => {
    fs.symlinkSync('../outside', path.join(root, 'dir'));
    fs.symlinkSync('a.js', path.join(root, 'link.js'));
  };
  const ground = grounds(t, { 'a.js': 'x' });
  prepare(ground.workspace);
  const { output } = await ground.run('execute', { ...HEADER, globs: ['**'] });
  assert.deepEqual(output, { changed: [{ path: 'a.js', change: 'added' }], unchanged: [], skipped: [] });
  const files = { 'a.js': 'x' };
  await requireRefusal(t, files, { ...HEADER, files: ['link.js'] }, /^`link.js` is a symbolic link/, prepare);
  await requireRefusal(t, files, { ...HEADER, files: ['dir/a.js'] }, /^`dir` is a symbolic link/, prepare);
});

// D-4
test('an input that is not as agreed is refused', async (t) => {
  const good = { ...HEADER, files: ['a.js'] };
  const long = (count) => Array.from({ length: count }, () => 'a.js');
  const cases = [
    [null, /`license` is undefined/],
    [{ ...good, more: 1 }, /a field `more` that is not known/],
    [HEADER, /has neither `files` nor `globs`/],
    ...['', 'MIT License', 'MIT OR', 'OR MIT', '(MIT', 'MIT)', 'MIT  OR ISC', 'MIT WITH', 'MIT*/', 'a--b', 'MIT AND AND ISC',
      'MIT\nISC', ' MIT', '()', 'LicenseRef-', 'A'.repeat(201), 7].map((license) => [{ ...good, license }, /`license` is .*, which is no SPDX expression/]),
    ...['', ' Ann', 'Ann ', null, 5].map((holder) => [{ ...good, holder }, /`holder` is .*, which is no name/]),
    ...['A\nB', 'A\rB', 'A\u2028B', 'A\u202eB', 'A\0B', 'A\u0085B', 'A\u200bB'].map((holder) => {
      return [{ ...good, holder }, /`holder` has a character that nobody sees, or that ends a line/];
    }),
    ...['A*/', '/*A', 'A--B', 'A-->', 'A?>', 'A%>', 'A\\', 'A??/', '-*- mode'].map((holder) => {
      return [{ ...good, holder }, /`holder` has `.*`, which cannot stand in every comment/];
    }),
    [{ ...good, holder: 'A'.repeat(201) }, /`holder` has over 200 characters/],
    ...['', '25', '20255', '2025-', '2025-2024', '2025 - 2026', '2025-2026\n', 2025, ['2025'], '1899'].map((year) => {
      return [{ ...good, year }, /`year` is .*, and not like 2025 or 2020-2025/];
    }),
    [{ ...good, files: [] }, /`files` is no list with something in it/],
    [{ ...good, files: 'a.js' }, /`files` is no list/],
    [{ ...good, files: long(5001) }, /`files` has over 5000 entries/],
    [{ ...HEADER, globs: [] }, /`globs` is no list/],
    [{ ...HEADER, globs: Array(101).fill('*') }, /`globs` has over 100 entries/],
    [{ ...HEADER, globs: ['*'], exclude: {} }, /`exclude` is no list/],
    [{ ...HEADER, globs: ['*.none'] }, /no file matches the patterns in `globs`/],
    ...[['/a.js', /is absolute/], ['../*', /has a part that is empty/], ['a//b', /has a part/], ['./*', /has a part/], ['', /is no text/],
      [5, /is no text/], ['*.{js,ts}', /mean nothing; give a list/], ['a\\*', /mean nothing/], ['a**', /has `\*\*` beside something/],
      ['a'.repeat(257), /has over 256 characters/]].map(([glob, message]) => [{ ...HEADER, globs: [glob] }, message]),
    ...[['/a.js', /it is absolute/], ['../a.js', /it contains `\.\.`/], ['.git/a.js', /it lies in `\.git`/], ['b.js', /`b.js` does not exist/],
      ['d', /`d` is no file/], [null, /it is no text/]].map(([file, message]) => [{ ...HEADER, files: ['a.js', file] }, message]),
  ];
  await Promise.all(cases.map(([input, message]) => requireRefusal(t, { 'a.js': 'x', 'd/e.js': 'x' }, input, message)));
});

// FO-4
test('the number of files and their bytes hold on both sides of their limits', (t) => {
  const input = { ...HEADER, globs: ['*.js'] };
  // One file under many names, which takes no time to make.
  const many = (count, content) => {
    const root = write(directory(t), { first: content });
    for (let at = 0; at < count; at += 1) fs.linkSync(path.join(root, 'first'), path.join(root, `${at}.js`));
    return () => plan(root, input).changed.length;
  };
  assert.equal(many(5000, '')(), 5000);
  assert.throws(many(5001, ''), /^Error: over 5000 files are meant; name fewer at a time$/);
  const header = '// SPDX-FileCopyrightText: 2025 Ann\n// SPDX-License-Identifier: MIT\n\n'.length;
  const quarter = 'x'.repeat(4 * 1024 * 1024 - header);
  assert.equal(many(32, quarter)(), 32);
  assert.throws(many(33, quarter), /^Error: the files that change have over 134217728 bytes; name fewer at a time$/);
});

// AA-8
test('both packages have the same file for files of the workspace', () => {
  const [own, other] = ['../files.js', '../../bump_version/files.js'].map((name) => fs.readFileSync(new URL(name, import.meta.url), 'utf8'));
  assert.equal(own, other);
});
