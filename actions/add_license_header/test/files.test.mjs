// Tests which files add_license_header selects, and which inputs it rejects.

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
test('patterns match the documented files', async (t) => {
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
test('a pattern with many stars is matched quickly', async (t) => {
  const name = `${'a'.repeat(200)}.js`;
  const deep = `${'d/'.repeat(60)}${name}`;
  const globs = [`${'*a'.repeat(120)}b`, `${'**/d/'.repeat(50)}*b`, '**/*.js'];
  const { output } = await grounds(t, { [deep]: 'x' }).run('execute', { ...HEADER, globs });
  assert.deepEqual(output.changed, [{ path: deep, change: 'added' }]);
});

// FO-7
test('links are not followed, whether matched by a pattern or listed by name', async (t) => {
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
test('an invalid input is rejected', async (t) => {
  const good = { ...HEADER, files: ['a.js'] };
  const long = (count) => Array.from({ length: count }, () => 'a.js');
  const cases = [
    [null, /`license` is undefined/],
    [{ ...good, more: 1 }, /an unknown field `more`/],
    [HEADER, /must have `files`, `globs` or both/],
    ...['', 'MIT License', 'MIT OR', 'OR MIT', '(MIT', 'MIT)', 'MIT  OR ISC', 'MIT WITH', 'MIT*/', 'a--b', 'MIT AND AND ISC',
      'MIT\nISC', ' MIT', '()', 'LicenseRef-', 'A'.repeat(201), 7].map((license) => [{ ...good, license }, /`license` is .*, which is not an SPDX expression/]),
    ...['', ' Ann', 'Ann ', null, 5].map((holder) => [{ ...good, holder }, /`holder` is .*, which is not a name/]),
    ...['A\nB', 'A\rB', 'A\u2028B', 'A\u202eB', 'A\0B', 'A\u0085B', 'A\u200bB'].map((holder) => {
      return [{ ...good, holder }, /`holder` contains an invisible character or a line break/];
    }),
    ...['A*/', '/*A', 'A--B', 'A-->', 'A?>', 'A%>', 'A\\', 'A??/', '-*- mode'].map((holder) => {
      return [{ ...good, holder }, /`holder` contains `.*`, which is not safe inside a comment/];
    }),
    [{ ...good, holder: 'A'.repeat(201) }, /`holder` is longer than 200 characters/],
    ...['', '25', '20255', '2025-', '2025-2024', '2025 - 2026', '2025-2026\n', 2025, ['2025'], '1899'].map((year) => {
      return [{ ...good, year }, /`year` is .*, expected a year like 2025 or a range like 2020-2025/];
    }),
    [{ ...good, files: [] }, /`files` is not a non-empty list/],
    [{ ...good, files: 'a.js' }, /`files` is not a non-empty list/],
    [{ ...good, files: long(5001) }, /`files` has more than 5000 entries/],
    [{ ...HEADER, globs: [] }, /`globs` is not a non-empty list/],
    [{ ...HEADER, globs: Array(101).fill('*') }, /`globs` has more than 100 entries/],
    [{ ...HEADER, globs: ['*'], exclude: {} }, /`exclude` is not a non-empty list/],
    [{ ...HEADER, globs: ['*.none'] }, /no file matches the patterns in `globs`/],
    ...[['/a.js', /is absolute/], ['../*', /has a component that is empty/], ['a//b', /has a component that is/], ['./*', /has a component that is/], ['', /is not a non-empty string/],
      [5, /is not a non-empty string/], ['*.{js,ts}', /are not supported; pass a list/], ['a\\*', /are not supported/], ['a**', /combines `\*\*` with other characters/],
      ['a'.repeat(257), /is longer than 256 characters/]].map(([glob, message]) => [{ ...HEADER, globs: [glob] }, message]),
    ...[['/a.js', /it is absolute/], ['../a.js', /it contains `\.\.`/], ['.git/a.js', /it is part of `\.git`/], ['b.js', /`b.js` does not exist/],
      ['d', /`d` is not a file/], [null, /it is not a string/]].map(([file, message]) => [{ ...HEADER, files: ['a.js', file] }, message]),
  ];
  await Promise.all(cases.map(([input, message]) => requireRefusal(t, { 'a.js': 'x', 'd/e.js': 'x' }, input, message)));
});

// FO-4
test('the limits for the number and the total size of files are exact', (t) => {
  const input = { ...HEADER, globs: ['*.js'] };
  // Hard links to a single file, because they are fast to create.
  const many = (count, content) => {
    const root = write(directory(t), { first: content });
    for (let at = 0; at < count; at += 1) fs.linkSync(path.join(root, 'first'), path.join(root, `${at}.js`));
    return () => plan(root, input).changed.length;
  };
  assert.equal(many(5000, '')(), 5000);
  assert.throws(many(5001, ''), /^Error: the input selects more than 5000 files; select fewer files$/);
  const header = '// SPDX-FileCopyrightText: 2025 Ann\n// SPDX-License-Identifier: MIT\n\n'.length;
  const quarter = 'x'.repeat(4 * 1024 * 1024 - header);
  assert.equal(many(32, quarter)(), 32);
  assert.throws(many(33, quarter), /^Error: the files that would change are larger than 134217728 bytes in total; select fewer files$/);
});

// AA-8
test('both packages have identical copies of files.js', () => {
  const [own, other] = ['../files.js', '../../bump_version/files.js'].map((name) => fs.readFileSync(new URL(name, import.meta.url), 'utf8'));
  assert.equal(own, other);
});
