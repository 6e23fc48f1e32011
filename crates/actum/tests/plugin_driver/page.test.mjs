// Runs the package in docs/plugins.md, extracted from the page.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { copies, directory, drive, request, write } from './grounds.mjs';

const PAGE = fs.readFileSync(new URL('../../../../docs/plugins.md', import.meta.url), 'utf8');
const FILES = Object.fromEntries(
  [...PAGE.matchAll(/^```\w+ file=(\S+)\n([^]*?)^```$/gm)].map(([, name, content]) => [name, content]),
);

// AA-8
test('the package in the page runs as it says', async (t) => {
  const [workspace, before] = [directory(t), directory(t)];
  assert.deepEqual(Object.keys(FILES), ['action.json', 'execute.js', 'verify.js', 'rollback.js', 'test/trim.test.mjs']);
  assert.equal(JSON.parse(FILES['action.json']).name, 'trim_lines');
  for (const place of [workspace, before]) write(place, { 'notes.txt': 'a \n\tb\t\n' });
  const run = async (step, more) => {
    const text = request(step, { file: 'notes.txt' }, { workspace, ...more });
    return (await drive(copies(t, FILES, step), text, directory(t))).answer.output;
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
test('the limits in the page are those of the driver and the engine', () => {
  const source = (name) => fs.readFileSync(new URL(`../../src/plugin/${name}`, import.meta.url), 'utf8');
  const driver = source('driver.cjs');
  const numbers = (text) => Object.fromEntries([...text.matchAll(/const (\w+_MAX)(?:: \w+)? = ([\d *<]+);$/gm)].map(([, name, value]) => {
    const [left, shift = 0] = value.split('<<');
    return [name, left.split('*').map(Number).reduce((product, factor) => product * factor) * 2 ** shift];
  }));
  assert.deepEqual(numbers(driver), {
    REQUEST_BYTES_MAX: 8 * 2 ** 20,
    OUTPUT_BYTES_MAX: 2 ** 20,
    OUTPUT_DEPTH_MAX: 100,
    ERROR_MESSAGE_CHARS_MAX: 2000,
    STACK_FRAMES_MAX: 20,
  });
  assert.deepEqual(numbers(['answer.rs', 'directory.rs', 'steps.rs'].map(source).join('')), {
    REQUEST_BYTES_MAX: 8 * 2 ** 20,
    HEAP_MEBIBYTES_MAX: 512,
    FILES_MAX: 2000,
    BYTES_MAX: 32 * 2 ** 20,
    DEPTH_MAX: 32,
    STDERR_BYTES_MAX: 2000,
    MESSAGE_CHARS_MAX: 2000,
    CHECK_NAME_CHARS_MAX: 200,
  });
  const [oldest] = /(?<=NODE_MAJOR_LEAST: u32 = )\d+/.exec(source('node.rs'));
  assert.ok(driver.includes(`< ${oldest}) process.reallyExit(1)`));
  const rows = ['1 MiB of JSON with 100 levels', '| 8 MiB |', '| 64; a name has 1 to 200 characters, a message up to 2,000',
    '| 512 MiB |', '2,000 files, 32 MiB, 32 directories deep'];
  for (const row of rows) assert.ok(PAGE.includes(row), row);
  const words = `${driver}${source('answer.rs')}`;
  const kinds = new Set([...words.matchAll(/['"](no_default_export|threw|not_json|too_large|bad_input|did_not_settle|bad_checks)['"]/g)].map(([, kind]) => kind));
  for (const kind of kinds) assert.ok(PAGE.includes(`\`${kind}\``), kind);
  assert.equal(kinds.size, 7);
});
