// What bump_version refuses, in which words; each time nothing is changed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { grounds as groundsOf, tree } from '../../../crates/actum/tests/plugin_driver/grounds.mjs';

async function requireRefusal(t, files, input, message, prepare = () => {}) {
  const { workspace, run } = groundsOf(t, 'bump_version', files);
  prepare(workspace);
  const was = tree(workspace);
  const { ok, error } = await run('execute', input);
  const shown = JSON.stringify([files, input]).slice(0, 300);
  assert.equal(ok, false, shown);
  assert.match(error.message, message, shown);
  assert.match(error.message, /; nothing was changed$/);
  assert.deepEqual(tree(workspace), was, shown);
}

// D-4
test('an input that is not as agreed is refused', async (t) => {
  const files = { VERSION: '1.0.0' };
  const cases = [
    [{}, /has to have either `part` or `version`/],
    [null, /has to have either `part` or `version`/],
    [{ part: 'minor', version: '2.0.0' }, /has to have either `part` or `version`/],
    [{ part: 'Minor' }, /`part` is "Minor", and not one of major, minor, patch/],
    [{ part: 'minor', dry: true }, /a field `dry` that is not known/],
    [{ version: 'v2.0.0' }, /`version` is "v2.0.0", which is no version like 1.2.3/],
    [{ version: '2.0' }, /`version` is "2.0"/],
    [{ version: '2.0.0-01' }, /which is no version/],
    [{ version: '02.0.0' }, /which is no version/],
    [{ version: '2.0.0"\n' }, /which is no version/],
    [{ version: 2 }, /`version` is 2/],
    [{ version: `2.0.0-${'a'.repeat(251)}` }, /which is no version/],
    [{ part: 'minor', from: '1' }, /`from` is "1"/],
    [{ part: 'minor', files: [] }, /`files` is no list with a path in it/],
    [{ part: 'minor', files: 'VERSION' }, /`files` is no list/],
    [{ part: 'minor', files: ['VERSION', 'VERSION'] }, /`files` has a path twice/],
    [{ part: 'minor', files: Array.from({ length: 101 }, (_, at) => `${at}/VERSION`) }, /`files` has over 100 paths/],
    [{ version: '1.0.0' }, /`1.0.0` does not come after `1.0.0`/],
    [{ version: '1.0.0+2' }, /`1.0.0\+2` does not come after `1.0.0`/],
    [{ version: '1.0.0-rc.1' }, /does not come after/],
    [{ version: '0.9.9' }, /does not come after/],
    [{ part: 'minor', from: '1.1.0' }, /no manifest holds `1.1.0`: `VERSION` holds `1.0.0`/],
  ];
  await Promise.all(cases.map(([input, message]) => requireRefusal(t, files, input, message)));
});

// FO-7, D-4
test('a path that could leave the workspace is refused', async (t) => {
  const link = (target, name) => (root) => fs.symlinkSync(target, path.join(root, name));
  const cases = [
    ['/etc/VERSION', /it is absolute/],
    ['C:/VERSION', /it is absolute/],
    ['../VERSION', /it contains `\.\.`/],
    ['a/../VERSION', /it contains `\.\.`/],
    ['./VERSION', /it contains `\.`, `\/\/` or a trailing/],
    ['a//VERSION', /it contains `\.`/],
    ['VERSION/', /it contains `\.`/],
    ['', /it is empty/],
    ['a\\VERSION', /it contains `\\`/],
    ['VERSION\u0000', /it contains a control character/],
    ['.git/VERSION', /it lies in `\.git` or `\.actum`/],
    ['a/.ACTUM/VERSION', /it lies in `\.git` or `\.actum`/],
    [`${'a'.repeat(256)}/VERSION`, /it is longer than the file system allows/],
    [`${'a/'.repeat(2045)}VERSION`, /it is longer than the file system allows/],
    [7, /it is no text/],
    ['gone/VERSION', /`gone\/VERSION` does not exist/],
    ['VERSION/VERSION', /`VERSION` is no directory/],
    ['sub', /`sub` is no file/],
    ['sub/a.txt', /`sub\/a.txt` is of no known kind: package.json, /],
    ['link/VERSION', /`link` is a symbolic link, which is not followed/, link('sub', 'link')],
    ['a/VERSION', /`a\/VERSION` is a symbolic link/, (root) => {
      fs.mkdirSync(path.join(root, 'a'));
      fs.symlinkSync('../VERSION', path.join(root, 'a/VERSION'));
    }],
  ];
  const files = { VERSION: '1.0.0', 'sub/VERSION': '1.0.0', 'sub/a.txt': '1.0.0' };
  await Promise.all(
    cases.map(([name, message, prepare]) => {
      return requireRefusal(t, files, { part: 'minor', files: ['VERSION', name] }, message, prepare);
    }),
  );
  const target = { 'sub/VERSION': '1.0.0' };
  await requireRefusal(t, target, { part: 'minor' }, /`VERSION` is a symbolic link/, link('sub/VERSION', 'VERSION'));
});

// AA-8
test('manifests that say no version, two or a strange one are refused', async (t) => {
  const cases = [
    [{}, /^no version was found in the root of the workspace \(package.json, .*VERSION\); name the files/],
    [{ 'package.json': '{"private":true}', 'VERSION': '' }, /^no version was found/],
    [{ 'Cargo.toml': '[package]\nname = "a"\nversion.workspace = true\n' }, /^no version was found/],
    [{ 'pyproject.toml': '[project]\ndynamic = ["version"]\n' }, /^no version was found/],
    [{ 'Cargo.lock': '[[package]]\nname = "x"\nversion = "1.0.0"\n' }, /^no version was found/],
    [{ 'package.json': '{"version":"1.0.0"}', 'VERSION': '1.0.1' }, /^the manifests disagree: `package.json` holds `1.0.0`, `VERSION` holds `1.0.1`; say in `from` which/],
    [{ 'package-lock.json': '{"version":"1.0.0","packages":{"":{"version":"1.0.1"}}}' }, /^the manifests disagree: `package-lock.json` holds `1.0.0` and `1.0.1`/],
    [{ 'VERSION': 'v1.0.0' }, /^`VERSION` holds "v1.0.0", which is no version like 1.2.3/],
    [{ 'VERSION': '1.0' }, /^`VERSION` holds "1.0"/],
    [{ 'pyproject.toml': '[project]\nversion = "1.0.0rc1"' }, /^`pyproject.toml` holds "1.0.0rc1"/],
    [{ 'VERSION': '1.0.0 2.0.0' }, /^`VERSION` cannot be read: it holds more than a version/],
    [{ 'package.json': '{"version":"1.0.0","version":"1.0.0"}' }, /^`package.json` cannot be read: `version` is there twice/],
    [{ 'package.json': '{"version":"1.0.0",}' }, /^`package.json` cannot be read: .*JSON/],
    [{ 'package.json': '' }, /^`package.json` cannot be read: .*JSON/],
    [{ 'package.json': '[]' }, /^no version was found/],
    [{ 'package.json': '{"version":5}' }, /^no version was found/],
    [{ 'package.json': `${'['.repeat(1e6)}` }, /^`package.json` cannot be read: /],
    [{ 'Cargo.toml': '[package]\nversion = "1.0.0\n' }, /^`Cargo.toml` cannot be read: line 2 is not TOML/],
    [{ 'Cargo.toml': '[package]\nversion = "1.0.0" 5\n' }, /^`Cargo.toml` cannot be read: line 2 is not TOML/],
    [{ 'Cargo.toml': '[package\n' }, /^`Cargo.toml` cannot be read: line 1 is not TOML/],
    [{ 'Cargo.toml': '[package]\nversion = "1.0.0"\na = [1,\n' }, /^`Cargo.toml` cannot be read: line 4 is not TOML/],
    [{ 'Cargo.toml': '[package]\nversion = "1.0.0"\nversion = "1.0.0"\n' }, /^`Cargo.toml` cannot be read: `package.version` is there twice/],
    [{ 'Cargo.toml': `[package]\nversion = "1.0.0"\na = ${'['.repeat(102)}` }, /values lie over 100 levels deep/],
  ];
  await Promise.all(cases.map(([files, message]) => requireRefusal(t, files, { part: 'minor' }, message)));
  const named = { part: 'minor', files: ['package.json'] };
  await requireRefusal(t, { 'package.json': '{}' }, named, /^`package.json` holds no version of its own/);
});

// FO-4
test('a manifest holds on both sides of its limit', async (t) => {
  const limit = 32 * 1024 * 1024;
  const sized = (bytes) => `1.0.0${' '.repeat(bytes - 5)}`;
  await requireRefusal(t, { VERSION: sized(limit + 1) }, { part: 'minor' }, /^`VERSION` has over 33554432 bytes/);
  await requireRefusal(t, { VERSION: sized(limit) }, { version: '10.0.0' }, /^`VERSION` would have over 33554432 bytes/);
  const { run } = groundsOf(t, 'bump_version', { VERSION: sized(limit) });
  assert.equal((await run('execute', { part: 'minor' })).output.to, '1.1.0');
});
