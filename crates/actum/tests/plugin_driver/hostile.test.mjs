// Code that disturbs the driver by mistake or on purpose. Each time there is one line, and it is correct.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { step } from './grounds.mjs';

const OUTPUT = { actum: 1, ok: true, output: { a: [1, 'b'] } };

/** Returns code that does `trick` when it is loaded and when it runs, and then returns its output. */
const doing = (trick) => ({
  'execute.js': `import fs from 'node:fs'; import util from 'node:util'; 
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
  const { stdout, stderr } = await step(t, {
    'execute.js': 'export default () => { console.log("y".repeat(200000)); process.exit(0); };',
  });
  assert.equal(stdout, '');
  assert.equal(stderr, `${'y'.repeat(200000)}\n`);
});

const evil = "() => { throw new Error('mine'); }";
const TRICKS = [
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
  `Reflect.apply = Function.prototype.call = Function.prototype.apply = Function.prototype.bind = ${evil};`,
  `Buffer.byteLength = Buffer.prototype.toString = String.prototype.slice = Atomics.wait = util.inspect = ${evil};`,
  `process.exit = process.reallyExit = process.on = process.once = process.emit = ${evil};`,
  `setTimeout(() => { for (;;); });`,
  `setInterval(() => {}, 1); new MessageChannel().port1.ref();`,
  `process.exitCode = 9;`,
  `process.on('exit', () => { throw new Error('mine'); });`,
  `delete globalThis.process; delete globalThis.Buffer; delete globalThis.JSON;`,
];

// AA-10
test('built-ins that code has put others in place of change no answer', async (t) => {
  await Promise.all(
    TRICKS.map(async (trick) => {
      const { code, answer } = await step(t, doing(trick));
      assert.deepEqual([code, answer], [0, OUTPUT], trick);
    }),
  );
});

// AA-10
test('what is refused is refused by its kind whatever built-ins code has replaced', async (t) => {
  const cases = [
    ['{ a: () => 1 }', 'not_json', '`output.a` is of the type function, which JSON does not have'],
    ['{ a: "\\ud800" }', 'not_json', 'a text in the output has half of a surrogate pair, which is not Unicode'],
    ['"é".repeat(512 * 1024)', 'too_large', 'the output has over 1048576 bytes of JSON'],
    ['(() => { throw new Error("so"); })()', 'threw', undefined],
  ];
  for (const [code, kind, message] of cases) {
    await Promise.all(
      TRICKS.map(async (trick) => {
        const files = { 'execute.js': doing(trick)['execute.js'].replace("{ a: [1, 'b'] }", code) };
        const { answer } = await step(t, files);
        assert.deepEqual([answer.ok, answer.error.kind], [false, kind], trick);
        if (message) assert.equal(answer.error.message, message, trick);
      }),
    );
  }
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
