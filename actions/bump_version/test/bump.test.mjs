// Tests what bump_version changes, and what it leaves unchanged.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { grounds as groundsOf, tree } from '../../../crates/actum/tests/plugin_driver/grounds.mjs';
import { problems, requireManifest } from '../../../crates/actum/tests/plugin_driver/schema.mjs';

const grounds = (t, files) => groundsOf(t, 'bump_version', files);
const MANIFEST = JSON.parse(fs.readFileSync(new URL('../action.json', import.meta.url)));
const PACKAGE = '{\n\t"name" : "x",\n\t"dependencies": { "a": "1.2.3", "version": "1.2.3" },\n\t"version":"1.2.3"\n}';
const LOCK = '{"version":"1.2.3","lockfileVersion":3,"packages":{"":{"name":"x","version":"1.2.3"},"node_modules/a":{"version":"1.2.3"}}}';
const CARGO = '[package]\r\nname = "x" # 1.2.3\r\nversion = "1.2.3" # now\r\n[dependencies]\r\na = { version = "1.2.3" }\r\n[dependencies.b]\r\nversion = "1.2.3"\r\n';
const CARGO_LOCK = 'version = 4\n\n[[package]]\nname = "a"\nversion = "1.2.3"\nsource = "registry"\n\n[[package]]\nname = "x"\nversion = "1.2.3"\ndependencies = [\n "a",\n]\n\n[[package]]\nname = "x"\nversion = "1.2.3"\nsource = "git"\n';
const PYPROJECT = '[build-system]\nrequires = ["x==1.2.3"]\n[project]\nversion = \'1.2.3\'\nreadme = """\n[project]\nversion = "9.9.9"\n"""\n';

/** Runs execute and verify. Returns the output and the resulting contents of the files. */
async function bump(t, files, input, by = 'run') {
  const made = grounds(t, files);
  const ground = { ...made, run: made[by] };
  const { ok, output, error } = await ground.run('execute', input);
  assert.deepEqual(error, undefined);
  assert.deepEqual([ok, problems(MANIFEST.inputSchema, input), problems(MANIFEST.outputSchema, output)], [true, [], []]);
  const verified = await ground.run('verify', input, { output });
  assert.deepEqual(verified.output.checks.filter(({ ok: isOk }) => !isOk), []);
  const after = (name) => fs.readFileSync(path.join(ground.workspace, name), 'utf8');
  return { ...ground, output, after, contents: Object.fromEntries(Object.keys(files).map((name) => [name, after(name)])) };
}

// AA-8
test('the manifest has the fields of the contract and rejects unknown fields', () => {
  requireManifest(MANIFEST, 'bump_version');
  for (const input of [{ part: 'minor' }, { version: '2.0.0', from: '1.0.0', files: ['a/VERSION'] }]) {
    assert.deepEqual(problems(MANIFEST.inputSchema, input), []);
  }
  for (const input of [{}, { part: 'x' }, { part: 'major', version: '1.0.0' }, { part: 'major', more: 1 }, { version: 'v1.0.0' }]) {
    assert.notDeepEqual(problems(MANIFEST.inputSchema, input), [], JSON.stringify(input));
  }
});

// AA-8
test('only the bytes of the version change in all manifests of the root', async (t) => {
  const files = {
    'package.json': PACKAGE,
    'package-lock.json': LOCK,
    'Cargo.toml': CARGO,
    'Cargo.lock': CARGO_LOCK,
    'pyproject.toml': PYPROJECT,
    'VERSION': '1.2.3\n',
    'sub/package.json': PACKAGE,
  };
  const input = { part: 'minor' };
  const { output, contents, before, workspace, run } = await bump(t, files, input, 'driven');
  const names = Object.keys(files).slice(0, -1);
  assert.deepEqual(output, {
    from: '1.2.3',
    to: '1.3.0',
    files: names.map((name) => ({ path: name, from: '1.2.3', to: '1.3.0' })),
    left: [],
  });
  assert.deepEqual(contents, {
    'package.json': PACKAGE.replace('"version":"1.2.3"', '"version":"1.3.0"'),
    'package-lock.json': LOCK.replace('{"version":"1.2.3"', '{"version":"1.3.0"').replace('"x","version":"1.2.3"', '"x","version":"1.3.0"'),
    'Cargo.toml': CARGO.replace('version = "1.2.3" # now', 'version = "1.3.0" # now'),
    'Cargo.lock': CARGO_LOCK.replace('version = "1.2.3"\ndep', 'version = "1.3.0"\ndep'),
    'pyproject.toml': PYPROJECT.replace("'1.2.3'", "'1.3.0'"),
    'VERSION': '1.3.0\n',
    'sub/package.json': PACKAGE,
  });
  assert.deepEqual((await run('rollback', input, { output })).output, { restored: names, unchanged: [] });
  assert.deepEqual(tree(workspace), tree(before));
});

// AA-8
test('the next version follows Semantic Versioning', async (t) => {
  const cases = [
    ['1.2.3', 'major', '2.0.0'],
    ['1.2.3', 'minor', '1.3.0'],
    ['1.2.9', 'patch', '1.2.10'],
    ['1.2.3-rc.1', 'patch', '1.2.3'],
    ['1.2.3-rc.1', 'minor', '1.3.0'],
    ['1.3.0-rc.1', 'minor', '1.3.0'],
    ['2.0.0-0', 'major', '2.0.0'],
    ['2.1.0-0', 'major', '3.0.0'],
    ['1.2.3+build.5', 'patch', '1.2.4'],
    ['0.0.9007199254740993', 'patch', '0.0.9007199254740994'],
  ];
  await Promise.all(
    cases.map(async ([from, part, to]) => {
      const { output, contents } = await bump(t, { VERSION: from }, { part });
      assert.deepEqual([output.from, output.to, contents.VERSION], [from, to, to]);
    }),
  );
});

// AA-8
test('the format of a manifest is kept', async (t) => {
  const cases = [
    ['package.json', '\uFEFF{"version": "0.1.0"}\r\n'],
    ['package.json', '{"a":[[{}, "version", "0.1.0", -1.5e3, true, null, "é\\"\\\\"]], "\\u0076ersion" : "0.1.0" , "z": {}}'],
    ['Cargo.toml', '[workspace.package]\nversion="0.1.0"\n'],
    ['Cargo.toml', '[workspace]\npackage = { edition = "2024", version = "0.1.0" }\n[package]\nversion.workspace = true\nname = "x"'],
    ['Cargo.toml', 'package.version = "0.1.0"\npackage."name" = "x"\n'],
    ['Cargo.toml', '[ package ] # it\n "version"\t= \'0.1.0\'\n[[bin]]\nversion = "5.0.0"\n[[bin]]\nversion = "6.0.0"\n'],
    ['Cargo.toml', "[package]\nversion = \"0.1.0\"\na = [ # one ]\n  ['package'], [1, 2.5, inf],\n  { b = ''' ] '''' },\n]\nd = 1979-05-27 07:32:00Z\nt = \"\"\"\\\"\"\" \"\"\"\"\n"],
    ['pyproject.toml', '[tool.poetry]\nname = "é"\nversion = "0.1.0"\n'],
    ['pyproject.toml', '[project]\nversion = "0.1.0"\n[tool.poetry]\nversion = "0.1.0"'],
    ['VERSION', '\n  0.1.0\r\n\n'],
    ['VERSION', '\uFEFF0.1.0'],
  ];
  const positions = [/(0\.1\.0)/, /(0\.1\.0)(?!.*0\.1\.0)/];
  await Promise.all(
    cases.map(async ([name, content]) => {
      const { contents } = await bump(t, { [name]: content }, { part: 'patch' });
      const isSecond = content.includes('"version", "0.1.0"');
      const isBoth = content.includes('[tool.poetry]\nversion');
      const expected = isBoth ? content.replaceAll('0.1.0', '0.1.1') : content.replace(positions[isSecond ? 1 : 0], '0.1.1');
      assert.equal(contents[name], expected);
    }),
  );
});

// AA-8
test('only the files in the input are changed, in any directory', async (t) => {
  const files = { 'package.json': PACKAGE, 'apps/web/package.json': PACKAGE, 'crates/a/Cargo.toml': CARGO };
  const input = { version: '2.0.0-beta.1', files: ['crates/a/Cargo.toml', 'apps/web/package.json'] };
  const { output, contents } = await bump(t, files, input);
  assert.deepEqual(output.files.map((file) => file.path), input.files);
  assert.equal(contents['package.json'], PACKAGE);
  assert.match(contents['crates/a/Cargo.toml'], /version = "2.0.0-beta.1" # now/);
});

// AA-8
test('with `from` only that version is changed and other versions are listed', async (t) => {
  const files = { 'package.json': PACKAGE, 'VERSION': '1.0.0', 'pyproject.toml': '[project]\nversion = "1.2.3rc1"\n', 'Cargo.toml': '[package]\nversion = "1.2.3"\n[workspace.package]\nversion = "0.9.0"' };
  const { output, contents } = await bump(t, files, { part: 'patch', from: '1.2.3' });
  assert.deepEqual(output.files.map((file) => file.path), ['package.json', 'Cargo.toml']);
  assert.deepEqual(output.left, [
    { path: 'Cargo.toml', version: '0.9.0' },
    { path: 'pyproject.toml', version: '1.2.3rc1' },
    { path: 'VERSION', version: '1.0.0' },
  ]);
  assert.equal(contents['Cargo.toml'], '[package]\nversion = "1.2.4"\n[workspace.package]\nversion = "0.9.0"');
});

// AA-11
test('a rollback restores content and mode and removes no file', async (t) => {
  const files = { 'package.json': PACKAGE, 'VERSION': '1.2.3' };
  const { workspace, before, run, output } = await bump(t, files, { part: 'major' });
  fs.chmodSync(path.join(workspace, 'VERSION'), 0o600);
  fs.writeFileSync(path.join(workspace, 'later.txt'), 'later');
  const first = await run('rollback', { part: 'major' }, { output });
  assert.deepEqual(first.output, { restored: ['package.json', 'VERSION'], unchanged: [] });
  assert.deepEqual(tree(workspace), { ...tree(before), 'later.txt': tree(workspace)['later.txt'] });
  const again = await run('rollback', { part: 'major' }, { output });
  assert.deepEqual(again.output, { restored: [], unchanged: ['package.json', 'VERSION'] });
  // Simulates that execute.js stopped half-way, so there is no output.
  fs.writeFileSync(path.join(workspace, 'VERSION'), '');
  fs.rmSync(path.join(workspace, 'package.json'));
  const half = await run('rollback', { part: 'major' });
  assert.deepEqual(half.output, { restored: ['package.json', 'VERSION'], unchanged: [] });
  assert.deepEqual(tree(workspace)['package.json'], tree(before)['package.json']);
  const none = await run('rollback', { part: 'major' }, { before: undefined });
  assert.match(none.error.message, /^cannot restore the files/);
});

// AA-3
test('verify detects every kind of wrong change', async (t) => {
  const input = { part: 'minor' };
  const files = { 'package.json': PACKAGE, 'VERSION': '1.2.3', 'src/a.js': 'a' };
  const cases = [
    ['every_place_holds_the_new_version', 'VERSION', () => '1.2.3'],
    ['only_the_version_changed', 'package.json', (content) => `${content}\n`],
    ['only_the_version_changed', 'package.json', (content) => content.replace('"a": "1.2.3"', '"a": "1.3.0"')],
    ['json_says_the_same_otherwise', 'package.json', (content) => content.replace('"x"', '"y"')],
    ['no_other_file_changed', 'src/a.js', () => 'b'],
    ['no_other_file_changed', 'src/new.js', () => ''],
  ];
  await Promise.all(
    cases.map(async ([name, file, change]) => {
      const { workspace, run, output } = await bump(t, files, input);
      const target = path.join(workspace, file);
      fs.writeFileSync(target, change(fs.existsSync(target) ? fs.readFileSync(target, 'utf8') : ''));
      const failed = (await run('verify', input, { output })).output.checks.filter(({ ok }) => !ok);
      assert.ok(failed.some((check) => check.name === name && check.message), `${name}: ${JSON.stringify(failed)}`);
    }),
  );
  const { workspace, run, output } = await bump(t, files, input);
  const failedWith = async (given, more) => {
    const { checks } = (await run('verify', given, more)).output;
    return checks.filter(({ ok }) => !ok).map(({ name }) => name);
  };
  assert.deepEqual(await failedWith({ part: 'major' }, { output }), ['the_version_is_the_one_asked_for']);
  assert.deepEqual(await failedWith(input, { output, before: undefined }), ['only_the_version_changed']);
  const partly = { ...output, files: output.files.slice(1) };
  assert.deepEqual(await failedWith(input, { output: partly }), ['no_other_file_changed']);
  fs.chmodSync(path.join(workspace, 'VERSION'), 0o755);
  fs.rmSync(path.join(workspace, 'src/a.js'));
  assert.deepEqual(await failedWith(input, { output }), ['modes_are_kept', 'no_other_file_changed']);
});
