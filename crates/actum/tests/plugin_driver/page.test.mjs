// The package in docs/plugins.md, taken from the page and run.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { directory, drive, request, write } from './grounds.mjs';

const PAGE = fs.readFileSync(new URL('../../../../docs/plugins.md', import.meta.url), 'utf8');
const FILES = Object.fromEntries(
  [...PAGE.matchAll(/^```\w+ file=(\S+)\n([^]*?)^```$/gm)].map(([, name, content]) => [name, content]),
);

// AA-8
test('the package in the page runs as it says', async (t) => {
  const [root, workspace, before] = [directory(t), directory(t), directory(t)];
  assert.deepEqual(Object.keys(FILES), ['action.json', 'execute.js', 'verify.js', 'rollback.js', 'test/trim.test.mjs']);
  assert.equal(JSON.parse(FILES['action.json']).name, 'trim_lines');
  write(root, FILES);
  for (const place of [workspace, before]) write(place, { 'notes.txt': 'a \n\tb\t\n' });
  const run = async (step, more) => {
    const text = request(step, { file: 'notes.txt' }, { workspace, ...more });
    return (await drive([path.join(root, `${step}.js`)], text, directory(t))).answer.output;
  };
  const content = () => fs.readFileSync(path.join(workspace, 'notes.txt'), 'utf8');
  const output = await run('execute');
  assert.deepEqual([output, content()], [{ lines: 2 }, 'a\n\tb\n']);
  assert.deepEqual(await run('verify', { before, output }), {
    checks: [
      { name: 'no_line_ends_with_a_space', ok: true },
      { name: 'nothing_else_changed', ok: true },
    ],
  });
  assert.deepEqual([await run('rollback', { before, output }), content()], [null, 'a \n\tb\t\n']);
});

// AA-8
test('the test in the page passes', (t) => {
  const root = write(directory(t), { ...FILES, 'package.json': '{ "private": true, "type": "module" }' });
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  const { status, stdout } = spawnSync(process.execPath, [path.join(root, 'test/trim.test.mjs')], { env, encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});

// AA-10
test('the limits in the page are those of the driver', () => {
  const driver = fs.readFileSync(new URL('../../src/plugin/driver.mjs', import.meta.url), 'utf8');
  const limits = Object.fromEntries([...driver.matchAll(/^const (\w+_MAX) = ([\d *]+);$/gm)].map(([, name, value]) => {
    return [name, value.split('*').map(Number).reduce((product, factor) => product * factor)];
  }));
  assert.deepEqual(limits, {
    REQUEST_BYTES_MAX: 8 * 2 ** 20,
    OUTPUT_BYTES_MAX: 2 ** 20,
    OUTPUT_DEPTH_MAX: 100,
    PACKAGE_FILES_MAX: 2000,
    PACKAGE_BYTES_MAX: 32 * 2 ** 20,
    PACKAGE_DEPTH_MAX: 32,
    HEAP_MEBIBYTES_MAX: 512,
    CHECKS_MAX: 64,
    CHECK_NAME_CHARS_MAX: 200,
    CHECK_MESSAGE_CHARS_MAX: 2000,
    ERROR_MESSAGE_CHARS_MAX: 2000,
    STACK_FRAMES_MAX: 20,
  });
  const rows = ['1 MiB of JSON, 100 levels deep', '| 8 MiB |', '| 64; a name has 1 to 200 characters, a message up to 2,000',
    '| 512 MiB |', '2,000 files, 32 MiB, 32 directories deep'];
  for (const row of rows) assert.ok(PAGE.includes(row), row);
  const kinds = new Set([...driver.matchAll(/'(no_default_export|threw|not_json|too_large|bad_input|did_not_settle|bad_checks)'/g)].map(([, kind]) => kind));
  for (const kind of kinds) assert.ok(PAGE.includes(`\`${kind}\``), kind);
  assert.equal(kinds.size, 7);
});
