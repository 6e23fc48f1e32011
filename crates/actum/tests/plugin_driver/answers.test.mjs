// Answers of the driver to the results, errors and other behavior of a package.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { step } from './grounds.mjs';

const returning = (code) => ({ 'execute.js': `export default async () => (${code});` });
const refused = (kind, message, at) => ({
  actum: 1,
  ok: false,
  error: at ? { kind, message, at } : { kind, message },
});

// AA-10
test('a step gets its input and context and answers with what it returns', async (t) => {
  const files = { 'execute.js': 'export default async (given) => given;' };
  const { code, answer, stderr } = await step(t, files, { input: { name: 'é\n"' }, more: { before: '/b' } });
  const context = {
    workspace: '/workspace',
    action: 'example',
    version: '1.0.0',
    step: 'execute',
    scope: { allowedFiles: [], allowedDirs: ['.'], forbiddenFiles: [] },
    before: '/b',
  };
  assert.deepEqual(answer, { actum: 1, ok: true, output: { input: { name: 'é\n"' }, context } });
  assert.deepEqual([code, stderr], [0, '']);
});

// AA-10
test('what is not plain JSON is refused by its place', async (t) => {
  const cases = {
    'undefined': '`output` is of the type undefined, which JSON does not have',
    '{ a: [1, undefined] }': '`output.a[1]` is of the type undefined, which JSON does not have',
    '{ a: () => 1 }': '`output.a` is of the type function, which JSON does not have',
    '({ a: Symbol() })': '`output.a` is of the type symbol, which JSON does not have',
    '{ a: 1n }': '`output.a` is of the type bigint, which JSON does not have',
    '{ a: NaN }': '`output.a` is NaN, which JSON does not have',
    '[-Infinity]': '`output[0]` is -Infinity, which JSON does not have',
    '[, 1]': '`output[0]` is a hole in an array',
    'new Date(0)': '`output` is an instance of a class, and no plain object',
    '{ a: new Map() }': '`output.a` is an instance of a class, and no plain object',
    '{ a: new Proxy({}, { ownKeys() { process.exit(1); } }) }': '`output.a` is a Proxy, and no plain value',
    '{ get a() { process.exit(1); } }': '`output.a` is a getter, and no value',
    '{ [Symbol.iterator]: 1 }': '`output` has a symbol as a key',
    '{ toJSON() { return 1; } }': '`output.toJSON` is of the type function, which JSON does not have',
    'Object.assign([1], { a: 1 })': '`output` is an array with further fields',
    'new (class extends Array {})()': '`output` is no plain array',
    '(() => { const a = { b: [] }; a.b.push(a); return a; })()': '`output.b[0]` holds itself',
    '"\\ud800"': 'a text in the output has half of a surrogate pair, which is not Unicode',
    '{ "\\udc00": 1 }': 'a text in the output has half of a surrogate pair, which is not Unicode',
  };
  await Promise.all(
    Object.entries(cases).map(async ([code, message]) => {
      const { answer } = await step(t, returning(code));
      assert.deepEqual(answer, refused('not_json', message), code);
    }),
  );
});

// AA-10
test('what is plain JSON comes out as it is', async (t) => {
  const cases = {
    'null': null,
    '-0': 0,
    '"\\\\ud800 \\u{1f600} \\u2028\\n"': '\\ud800 \u{1f600} \u2028\n',
    'Object.assign(Object.create(null), { a: [true, 1e21, 0.1] })': { a: [true, 1e21, 0.1] },
    'JSON.parse(`{"__proto__": {"a": 1}}`)': JSON.parse('{"__proto__": {"a": 1}}'),
    '(() => { const a = [1]; return [a, a]; })()': [[1], [1]],
    '{ then: 1 }': { then: 1 },
  };
  await Promise.all(
    Object.entries(cases).map(async ([code, output]) => {
      const { answer, stdout } = await step(t, returning(code));
      assert.deepEqual(answer, { actum: 1, ok: true, output }, code);
      assert.equal(stdout.split('\n').length, 2, code);
    }),
  );
});

// AA-10
test('an output holds on both sides of its limits', async (t) => {
  const nested = (levels) => `(() => { let a = 1; for (let i = 0; i < ${levels}; i++) a = [a]; return a; })()`;
  const large = 'the output has over 1048576 bytes of JSON';
  const deep = `\`output${'[0]'.repeat(100)}\` lies over 100 levels deep`;
  const [fits, over, bytes, endless, flat, levels, tooDeep] = await Promise.all(
    [
      `'x'.repeat(${1024 * 1024 - 2})`,
      `'x'.repeat(${1024 * 1024 - 1})`,
      `'é'.repeat(${512 * 1024})`,
      `'x'.repeat(2 ** 28)`,
      'Array(2 ** 22).fill([])',
      nested(100),
      nested(101),
    ].map(async (code) => (await step(t, returning(code))).answer),
  );
  assert.equal(fits.ok, true);
  for (const answer of [over, bytes, endless, flat]) assert.deepEqual(answer, refused('too_large', large));
  assert.equal(levels.ok, true);
  assert.deepEqual(tooDeep, refused('not_json', deep));
});

// AA-10
test('what a step throws is told with its place in the package', async (t) => {
  const cases = [
    ['export default () => { null.x; };', /^TypeError: Cannot read/, 'execute.js:1:29'],
    ['await null;\nthrow new RangeError("so");', /^RangeError: so$/, 'execute.js:2:7'],
    ['import "./missing.js";', /^Cannot find module 'missing.js' imported from execute.js/, undefined],
    ['import { a } from "node:fs"; export default a;', /^SyntaxError: The requested module/, 'execute.js:1'],
    ['export default () => { throw "a text"; };', /^the code threw what is no error: a text$/, undefined],
    ['export default () => { throw null; };', /^the code threw what is no error: null$/, undefined],
    ['export default () => { throw { a: 1 }; };', /^the code threw what is no error: { a: 1 }$/, undefined],
    ['export default () => { throw () => 1; };', /^the code threw what is no error: a value of type function/, undefined],
    ['export default () => { throw new Proxy({}, {}); };', /^the code threw .* of type object that cannot/, undefined],
    ['export default () => { throw Object.assign(new Error("e"), { f() {} }); };', /^e$/, 'execute.js:1:44'],
    ['export default () => { throw new Error("\\ud800"); };', /^\ufffd$/, 'execute.js:1:30'],
    ['export default () => { throw new Error("x".repeat(3000)); };', /^x{2000}…$/, 'execute.js:1:30'],
    ['export default () => new Promise(() => { Promise.reject(new Error("lost")); });', /^lost$/, 'execute.js:1:57'],
    ['export default () => new Promise(() => { setTimeout(() => { throw new Error("late"); }); });', /^late$/, 'execute.js:1:67'],
    ['export default () => new Promise((_, no) => no());', /^the code threw what is no error: undefined$/, undefined],
    ['export default class {}', /^TypeError: Class constructor/, undefined],
  ];
  await Promise.all(
    cases.map(async ([source, message, at]) => {
      const { code, answer } = await step(t, { 'execute.js': source });
      assert.equal(code, 0, source);
      assert.equal(answer.error.kind, 'threw', source);
      assert.match(answer.error.message, message, source);
      assert.equal(answer.error.at, at, source);
    }),
  );
});

// AA-10
test('a stack shows only the files of the package', async (t) => {
  const files = {
    'execute.js': 'import { open } from "./a/open.js";\nexport default () => open();',
    'a/open.js': 'import fs from "node:fs";\nexport const open = () => fs.openSync("/nowhere/at/all");',
  };
  const { stderr, answer } = await step(t, files);
  const message = "ENOENT: no such file or directory, open '/nowhere/at/all'";
  assert.deepEqual(answer, refused('threw', message, 'a/open.js:2:30'));
  const frames = ['    at open (a/open.js:2:30)', '    at default (execute.js:2:22)', ''];
  // Node 20 and 22 name the second function in two ways.
  assert.deepEqual(stderr.replace('Module.default', 'default').split('\n'), [message, ...frames]);
});

// AA-10
test('a default export that is no function is refused', async (t) => {
  const message = 'the file of `execute` has no function as its default export';
  const sources = ['export const a = 1;', 'export default { a: 1 };', 'exports.default = () => 1;', ''];
  await Promise.all(
    sources.map(async (source) => {
      const { answer } = await step(t, { 'execute.js': source });
      assert.deepEqual(answer, refused('no_default_export', message), source);
    }),
  );
});

// AA-10
test('a step that never answers is told from one that ends its process', async (t) => {
  const waits = 'the code waits for something that will never happen';
  const cases = [
    ['export default () => new Promise(() => {});', waits],
    ['await new Promise(() => {}); export default () => 1;', waits],
    ['export default () => ({ then() {} });', waits],
    ['export default () => new Promise(() => setTimeout(() => {}, 1e6).unref());', waits],
    // The engine reports these, from outside.
    ['export default () => process.exit(0);', 0],
    ['process.exit(3);', 3],
    ['export default () => process.reallyExit(0);', 0],
    ['process.removeAllListeners(); export default () => new Promise(() => {});', 0],
    ['process.removeAllListeners(); export default () => new Promise(() => { Promise.reject(new Error()); });', 1],
  ];
  await Promise.all(
    cases.map(async ([source, told]) => {
      const { code, answer, stdout } = await step(t, { 'execute.js': source });
      if (told === waits) assert.deepEqual([code, answer], [0, refused('did_not_settle', told)], source);
      else assert.deepEqual([code, stdout], [told, ''], source);
    }),
  );
});

// AA-10
test('a rollback may return nothing', async (t) => {
  const { answer } = await step(t, { 'rollback.js': 'export default () => {};' }, { name: 'rollback' });
  assert.deepEqual(answer, { actum: 1, ok: true, output: null });
});
