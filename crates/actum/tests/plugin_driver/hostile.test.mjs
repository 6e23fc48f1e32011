// What code does to the driver by mistake or on purpose. Each time there is one line, and it is true.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { step } from './grounds.mjs';

const OUTPUT = { actum: 1, ok: true, output: { a: [1, 'b'] } };

/** Does `trick` while it is loaded, and once more while it runs, and returns what it should. */
const doing = (trick) => ({
  'execute.js': `import fs from 'node:fs'; import util from 'node:util'; import * as threads from 'node:worker_threads';
${trick}
export default async () => { ${trick}
  return { a: [1, 'b'] }; };`,
});

// AA-10
test('what code prints goes to standard error, all of it and in order', async (t) => {
  const { answer, stdout, stderr } = await step(t, {
    'execute.js': `import { Console } from 'node:console';
      console.log('1 %s', 'log');
      process.stdout.write('2 write\\n', () => {});
      console.error('3 error');
      process.stderr.write(Buffer.from('4 bytes\\n'));
      export default () => {
        new Console(process.stdout).log('5 own console');
        console.log('x'.repeat(1 << 20));
        process.stdout.end('6 end\\n');
        return 1;
      };`,
  });
  assert.deepEqual(answer, { actum: 1, ok: true, output: 1 });
  assert.equal(stdout.split('\n').length, 2);
  const lines = ['1 log', '2 write', '3 error', '4 bytes', '5 own console', 'x'.repeat(1 << 20), '6 end', ''];
  assert.deepEqual(stderr.split('\n'), lines);
});

// AA-10
test('what is printed before the process is ended is not lost', async (t) => {
  const { answer, stderr } = await step(t, {
    'execute.js': 'export default () => { console.log("y".repeat(200000)); process.exit(0); };',
  });
  assert.equal(answer.error.kind, 'did_not_settle');
  assert.equal(stderr, `${'y'.repeat(200000)}\n`);
});

// AA-10
test('built-ins that code has put others in place of change no answer', async (t) => {
  const evil = "() => { throw new Error('mine'); }";
  const tricks = [
    `process.stdout.write = process.stderr.write = ${evil};`,
    `JSON.stringify = () => '{"forged":1}'; JSON.parse = ${evil};`,
    `Object.prototype.toJSON = Array.prototype.toJSON = String.prototype.toJSON = () => 'forged';`,
    `Object.prototype.value = 'forged'; Object.prototype.get = () => 'forged';`,
    `for (const name of ['text', 'kind', 'thrown', 'message']) Object.defineProperty(Object.prototype, name, { configurable: true, get: () => 'forged', set() {} });`,
    `Object.keys = Object.getOwnPropertyDescriptor = Reflect.ownKeys = Reflect.getPrototypeOf = ${evil};`,
    `Object.hasOwn = Array.isArray = Number.isFinite = () => false; util.types.isProxy = () => true;`,
    `Array.prototype[Symbol.iterator] = String.prototype[Symbol.iterator] = ${evil};`,
    `for (const name of ['push', 'map', 'forEach', 'includes', 'join']) Array.prototype[name] = ${evil};`,
    `RegExp.prototype.exec = RegExp.prototype.test = String.prototype.replace = ${evil};`,
    `globalThis.Promise = class {}; globalThis.Object = globalThis.Array = globalThis.Error = undefined;`,
    `fs.writeSync = fs.rmSync = fs.readFileSync = ${evil}; Buffer.from = ${evil};`,
    `threads.parentPort.postMessage = ${evil}; threads.MessagePort.prototype.postMessage = ${evil};`,
    `process.exit = process.on = process.once = ${evil};`,
    `setTimeout(() => { for (;;); });`,
    `setInterval(() => {}, 1); new threads.MessageChannel().port1.ref();`,
    `process.exitCode = 9;`,
    `process.on('exit', () => { throw new Error('mine'); });`,
    `delete globalThis.process; delete globalThis.Buffer; delete globalThis.JSON;`,
  ];
  await Promise.all(
    tricks.map(async (trick) => {
      const { code, answer } = await step(t, doing(trick));
      assert.deepEqual([code, answer], [0, OUTPUT], trick);
    }),
  );
});

// AA-10
test('nothing that code sends by itself becomes an answer that it could not have returned', async (t) => {
  const post = (message) => `threads.parentPort.postMessage(${message});`;
  const cases = [
    [post('{ text: "{" }'), 'not_json'],
    [post('{ text: `"\\\\\\\\ud800"` }'.replaceAll('\\\\\\\\', '\\\\')), 'not_json'],
    [post('{ text: JSON.stringify("x".repeat(1 << 20)) }'), 'too_large'],
    [post('{ kind: "mine", message: "m" }'), 'threw'],
    [post('null'), 'threw'],
    [post('{ thrown: { message: "m".repeat(1e6), stack: 7 } }'), 'threw'],
  ];
  await Promise.all(
    cases.map(async ([trick, kind]) => {
      const { code, answer } = await step(t, doing(trick));
      assert.deepEqual([code, answer.ok, answer.error.kind], [0, false, kind], trick);
      assert.ok(answer.error.message.length <= 2001);
    }),
  );
  const files = { 'verify.js': doing(post('{ text: "{}" }'))['execute.js'] };
  const { answer } = await step(t, files, { name: 'verify' });
  assert.equal(answer.error.kind, 'bad_checks');
});

// AA-10
test('a second line on descriptor 1 leaves no answer that could be taken', async (t) => {
  const line = '{"actum":1,"ok":true,"output":1}\\n';
  const { answer, stdout } = await step(t, doing(`fs.writeSync(1, '${line}');`));
  assert.equal(answer, undefined);
  assert.ok(stdout.split('\n').length > 2);
});

// AA-10
test('standard input is empty for the code of a package', async (t) => {
  const { answer } = await step(t, {
    'execute.js': `import fs from 'node:fs';
      export default async () => {
        let read = fs.readFileSync(0, 'utf8');
        for await (const chunk of process.stdin) read += chunk;
        return read;
      };`,
  });
  assert.deepEqual(answer, { actum: 1, ok: true, output: '' });
});
