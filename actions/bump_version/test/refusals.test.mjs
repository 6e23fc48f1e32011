// Tests the inputs and manifests that bump_version rejects, and that it changes nothing then.

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
test('an invalid input is rejected', async (t) => {
  const files = { VERSION: '1.0.0' };
  const cases = [
    [{}, /must have either `part` or `version`/],
    [null, /must have either `part` or `version`/],
    [{ part: 'minor', version: '2.0.0' }, /must have either `part` or `version`/],
    [{ part: 'Minor' }, /`part` is "Minor", expected one of major, minor, patch/],
    [{ part: 'minor', dry: true }, /an unknown field `dry`/],
    [{ version: 'v2.0.0' }, /`version` is "v2.0.0", which is not a version like 1.2.3/],
    [{ version: '2.0' }, /`version` is "2.0"/],
    [{ version: '2.0.0-01' }, /which is not a version/],
    [{ version: '02.0.0' }, /which is not a version/],
    [{ version: '2.0.0"\n' }, /which is not a version/],
    [{ version: 2 }, /`version` is 2/],
    [{ version: `2.0.0-${'a'.repeat(251)}` }, /which is not a version/],
    [{ part: 'minor', from: '1' }, /`from` is "1"/],
    [{ part: 'minor', files: [] }, /`files` is not a non-empty list of paths/],
    [{ part: 'minor', files: 'VERSION' }, /`files` is not a non-empty list/],
    [{ part: 'minor', files: ['VERSION', 'VERSION'] }, /`files` contains a path more than once/],
    [{ part: 'minor', files: Array.from({ length: 101 }, (_, at) => `${at}/VERSION`) }, /`files` has more than 100 paths/],
    [{ version: '1.0.0' }, /`1.0.0` is not higher than `1.0.0`/],
    [{ version: '1.0.0+2' }, /`1.0.0\+2` is not higher than `1.0.0`/],
    [{ version: '1.0.0-rc.1' }, /is not higher than/],
    [{ version: '0.9.9' }, /is not higher than/],
    [{ part: 'minor', from: '1.1.0' }, /no manifest contains `1.1.0`: `VERSION` contains `1.0.0`/],
  ];
  await Promise.all(cases.map(([input, message]) => requireRefusal(t, files, input, message)));
});

// FO-7, D-4
test('a path that could be outside of the workspace is rejected', async (t) => {
  const link = (target, name) => (root) => fs.symlinkSync(target, path.join(root, name));
  const cases = [
    ['/etc/VERSION', /it is absolute/],
    ['C:/VERSION', /it is absolute/],
    ['../VERSION', /it contains `\.\.`/],
    ['a/../VERSION', /it contains `\.\.`/],
    ['./VERSION', /it contains a `\.` component, `\/\/` or a trailing/],
    ['a//VERSION', /it contains a `\.` component/],
    ['VERSION/', /it contains a `\.` component/],
    ['', /it is empty/],
    ['a\\VERSION', /it contains `\\`/],
    ['VERSION\u0000', /it contains a control character/],
    ['.git/VERSION', /it is part of `\.git` or `\.actum`/],
    ['a/.ACTUM/VERSION', /it is part of `\.git` or `\.actum`/],
    [`${'a'.repeat(256)}/VERSION`, /it is longer than the file system allows/],
    [`${'a/'.repeat(2045)}VERSION`, /it is longer than the file system allows/],
    [7, /it is not a string/],
    ['gone/VERSION', /`gone\/VERSION` does not exist/],
    ['VERSION/VERSION', /`VERSION` is not a directory/],
    ['sub', /`sub` is not a file/],
    ['sub/a.txt', /`sub\/a.txt` is not a supported manifest: expected one of package.json, /],
    ['link/VERSION', /`link` is a symbolic link, and links are not followed/, link('sub', 'link')],
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
test('manifests without a version, with several or with an invalid one are rejected', async (t) => {
  const cases = [
    [{}, /^found no version in the workspace root \(package.json, .*VERSION\); list the manifests/],
    [{ 'package.json': '{"private":true}', 'VERSION': '' }, /^found no version/],
    [{ 'Cargo.toml': '[package]\nname = "a"\nversion.workspace = true\n' }, /^found no version/],
    [{ 'pyproject.toml': '[project]\ndynamic = ["version"]\n' }, /^found no version/],
    [{ 'Cargo.lock': '[[package]]\nname = "x"\nversion = "1.0.0"\n' }, /^found no version/],
    [{ 'package.json': '{"version":"1.0.0"}', 'VERSION': '1.0.1' }, /^the manifests contain different versions: `package.json` contains `1.0.0`, `VERSION` contains `1.0.1`; set `from`/],
    [{ 'package-lock.json': '{"version":"1.0.0","packages":{"":{"version":"1.0.1"}}}' }, /^the manifests contain different versions: `package-lock.json` contains `1.0.0` and `1.0.1`/],
    [{ 'VERSION': 'v1.0.0' }, /^`VERSION` contains "v1.0.0", which is not a version like 1.2.3/],
    [{ 'VERSION': '1.0' }, /^`VERSION` contains "1.0"/],
    [{ 'pyproject.toml': '[project]\nversion = "1.0.0rc1"' }, /^`pyproject.toml` contains "1.0.0rc1"/],
    [{ 'VERSION': '1.0.0 2.0.0' }, /^`VERSION` cannot be parsed: it contains more than a version/],
    [{ 'package.json': '{"version":"1.0.0","version":"1.0.0"}' }, /^`package.json` cannot be parsed: `version` occurs more than once/],
    [{ 'package.json': '{"version":"1.0.0",}' }, /^`package.json` cannot be parsed: .*JSON/],
    [{ 'package.json': '' }, /^`package.json` cannot be parsed: .*JSON/],
    [{ 'package.json': '[]' }, /^found no version/],
    [{ 'package.json': '{"version":5}' }, /^found no version/],
    [{ 'package.json': `${'['.repeat(1e6)}` }, /^`package.json` cannot be parsed: /],
    [{ 'Cargo.toml': '[package]\nversion = "1.0.0\n' }, /^`Cargo.toml` cannot be parsed: line 2 is not valid TOML/],
    [{ 'Cargo.toml': '[package]\nversion = "1.0.0" 5\n' }, /^`Cargo.toml` cannot be parsed: line 2 is not valid TOML/],
    [{ 'Cargo.toml': '[package\n' }, /^`Cargo.toml` cannot be parsed: line 1 is not valid TOML/],
    [{ 'Cargo.toml': '[package]\nversion = "1.0.0"\na = [1,\n' }, /^`Cargo.toml` cannot be parsed: line 4 is not valid TOML/],
    [{ 'Cargo.toml': '[package]\nversion = "1.0.0"\nversion = "1.0.0"\n' }, /^`Cargo.toml` cannot be parsed: `package.version` occurs more than once/],
    [{ 'Cargo.toml': `[package]\nversion = "1.0.0"\na = ${'['.repeat(102)}` }, /values are nested more than 100 levels deep/],
  ];
  await Promise.all(cases.map(([files, message]) => requireRefusal(t, files, { part: 'minor' }, message)));
  const named = { part: 'minor', files: ['package.json'] };
  await requireRefusal(t, { 'package.json': '{}' }, named, /^`package.json` does not contain its own version/);
});

// FO-4
test('the size limit of a manifest is exact', async (t) => {
  const limit = 32 * 1024 * 1024;
  const sized = (bytes) => `1.0.0${' '.repeat(bytes - 5)}`;
  await requireRefusal(t, { VERSION: sized(limit + 1) }, { part: 'minor' }, /^`VERSION` is larger than 33554432 bytes/);
  await requireRefusal(t, { VERSION: sized(limit) }, { version: '10.0.0' }, /^`VERSION` would be larger than 33554432 bytes/);
  const { run } = groundsOf(t, 'bump_version', { VERSION: sized(limit) });
  assert.equal((await run('execute', { part: 'minor' })).output.to, '1.1.0');
});
