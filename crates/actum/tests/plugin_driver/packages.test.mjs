// Loading of packages by the driver, and the requests that it accepts.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { copies, directory, drive, request, step, write } from './grounds.mjs';

const output = (value) => ({ actum: 1, ok: true, output: value });
const bad = (message) => ({ actum: 1, ok: false, error: { kind: 'bad_input', message } });

// AA-8
test('a package is read as what it is, with and without a package.json', async (t) => {
  const esm = { 'execute.js': 'import { a } from "./lib/a.js";\nexport default async () => a;', 'lib/a.js': 'export const a = 1;' };
  const common = { 'execute.js': '#!/usr/bin/env node\nconst a = require("./lib/a");\nmodule.exports = async () => a;', 'lib/a.js': 'module.exports = 1;' };
  const cases = [
    esm,
    { ...esm, 'package.json': '{"type": "module"}' },
    { ...esm, 'package.json': '{"name": "x", "imports": {"#a": "./lib/a.js"}}', 'execute.js': 'export { a as b } from "#a";\nimport { a } from "#a";\nexport default () => a;' },
    common,
    { ...common, 'package.json': '{"type": "commonjs"}' },
    { ...common, 'package.json': '{"name": "x"}' },
    { 'execute.js': '// no import\nawait null;\nexport default () => 1;' },
    { 'execute.js': 'export default () => import.meta.url.startsWith("file:") ? 1 : 0;' },
    { 'execute.js': '\uFEFFmodule.exports = () => 1;' },
    { 'execute.js': 'import a from "./a.cjs"; export default () => a;', 'a.cjs': 'module.exports = 1;' },
    { 'execute.js': 'module.exports = async () => (await import("./a.mjs")).a;', 'a.mjs': 'export const a = 1;' },
    { 'execute.js': 'import a from "dep"; export default () => a;', 'node_modules/dep/package.json': '{"main": "m.js"}', 'node_modules/dep/m.js': 'module.exports = 1;' },
    // Two modules that import each other.
    { 'execute.js': 'import { b } from "./b.js"; export const a = () => 1; export default () => b();', 'b.js': 'import { a } from "./execute.js"; export const b = () => a();' },
    { 'execute.js': 'import fs from "node:fs"; export default () => JSON.parse(fs.readFileSync(new URL("d.json", import.meta.url)));', 'd.json': '1' },
  ];
  await Promise.all(
    cases.map(async (files) => {
      const { answer, stderr } = await step(t, files);
      assert.deepEqual([answer, stderr], [output(1), ''], files['execute.js']);
    }),
  );
});

// AA-8
test('a mistake in the syntax is told, with how to find it', async (t) => {
  const sources = ['export default () => { oo oo };', 'module.exports = () => { oo oo };'];
  for (const source of sources) {
    const { answer } = await step(t, { 'execute.js': source });
    assert.match(answer.error.message, /^SyntaxError: Unexpected identifier.* \(in the file of the step or one that it imports: `node --check FILE` shows the line\)$/);
  }
  const files = { 'execute.js': 'require("./b.js"); module.exports = () => 1;', 'b.js': '\noo oo' };
  assert.deepEqual((await step(t, files)).answer.error.at, 'b.js:2');
  const told = { 'execute.js': 'export default () => 1;', 'package.json': '{"type": "commonjs"}' };
  assert.match((await step(t, told)).answer.error.message, /^SyntaxError: Unexpected token 'export'/);
});

// AA-10
test('a Node that is too old runs nothing of a package and gives no answer', async (t) => {
  const entries = copies(t, { 'execute.js': 'console.log("ran"); export default () => 1;' });
  const run = async (node) => {
    const old = path.join(write(directory(t), { 'old.cjs': `Object.defineProperty(process, 'versions', { value: { node: '${node}' } });` }), 'old.cjs');
    const { code, stdout, stderr } = await drive(entries, request('execute'), directory(t), ['--require', old]);
    return [code, stdout === '', stderr];
  };
  assert.deepEqual(await run('17.9.1'), [1, true, '']);
  assert.deepEqual(await run('18.0.0'), [0, false, 'ran\n']);
});

// D-4
test('a request that is not as agreed is refused before any code runs', async (t) => {
  const root = write(directory(t), { 'execute.js': 'process.exit(7);', 'other.js': 'process.exit(7);' });
  const entry = path.join(root, 'execute.js');
  const context = JSON.parse(request('execute')).context;
  const with_ = (more) => JSON.stringify({ input: {}, context: { ...context, ...more } });
  const cases = [
    ['', /^the request is not JSON in UTF-8: Unexpected end/],
    ['{"input":{},', /^the request is not JSON in UTF-8: /],
    [Buffer.from([0x22, 0xff, 0x22]), /^the request is not JSON in UTF-8: .*encoded data/],
    ['[]', /^the request is no object$/],
    ['null', /^the request is no object$/],
    [JSON.stringify({ context }), /^the request has no field `input`$/],
    [JSON.stringify({ input: 1 }), /^the request has no field `context`$/],
    [JSON.stringify({ input: 1, context, more: 1 }), /^the request has a field `more` that is not known$/],
    [`{"__proto__":1,"input":1,"context":{}}`, /^the request has a field `__proto__` that is not known$/],
    [JSON.stringify({ input: 1, context: [] }), /^`context` is no object$/],
    [with_({ Before: '/b' }), /^`context` has a field `Before` that is not known$/],
    [with_({ scope: undefined }), /^`context` has no field `scope`$/],
    [with_({ workspace: 'w' }), /^`context.workspace` is no absolute path$/],
    [with_({ before: 1 }), /^`context.before` is no absolute path$/],
    [with_({ step: 'verify' }), /^`context.step` is "verify", which does not go with the file$/],
    [with_({ step: 'other' }), /^`context.step` is "other", which does not go with the file$/],
    [' '.repeat(8 * 1024 * 1024 + 1), /^the request has over 8388608 bytes$/],
  ];
  await Promise.all(
    cases.map(async ([text, message]) => {
      const { code, answer } = await drive([entry], text, directory(t));
      assert.equal(answer.error.kind, 'bad_input', `${message}`);
      assert.match(answer.error.message, message);
      assert.equal(code, 0);
    }),
  );
  const paths = 'the driver takes the absolute path of the file of a step, in one copy of the package or in two';
  const another = path.join(root, 'other.js');
  for (const args of [[], ['execute.js'], [entry, another], [entry, 'execute.js'], [entry, entry, entry]]) {
    assert.deepEqual((await drive(args, with_({}), directory(t))).answer, bad(paths));
  }
  const other = await drive([another], with_({ step: 'other' }), directory(t));
  assert.equal(other.answer.error.kind, 'bad_input');
});

// AA-10
test('a request may have eight mebibytes', async (t) => {
  const entries = copies(t, { 'execute.js': 'export default ({ input }) => input.length;' });
  const rest = request('execute', '').length;
  const text = request('execute', 'x'.repeat(8 * 1024 * 1024 - rest));
  const { answer } = await drive(entries, text, directory(t));
  assert.deepEqual(answer, output(8 * 1024 * 1024 - rest));
});
