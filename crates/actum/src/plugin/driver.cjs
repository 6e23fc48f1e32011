// Runs one step of a plugin package, and answers with one line of JSON (AA-10).
//
//     node driver.cjs /the/package/execute.js < request.json
//     node driver.cjs /as/commonjs/execute.js /as/modules/execute.js < request.json
//
// The second form is for a package that does not say what its `.js` files are. They are CommonJS if
// the step's file compiles as CommonJS (it is compiled and not run), else ES modules. Both copies say
// so in their `package.json`, so every version of Node reads a package alike.
//
// This is no wall, and need not be one. The plugin's code runs in this very process, so who wants to
// can write the line itself. That gives nobody more than returning the same: the engine holds a line
// to all that it relies on, whoever wrote it, and the sandbox around the process is what confines it.
// What does stand here is for the honest: code that prints, ends early, never settles or has put
// others in place of built-ins is told as what it is. So what is used once the plugin's code has run
// was taken before.
//
// An end without an answer is told by the engine, from outside.

'use strict';

// What is older is refused by the engine, which asks for the version where it finds no answer.
if (Number(process.versions.node.split('.')[0]) < 18) process.reallyExit(1);

// The engine starts V8 with a limit of memory, which stands. Without the flag that it came by, Node's own
// modules are taken from its cache again, which is for V8 without flags, and a start takes less by a tenth.
require('node:v8').setFlagsFromString('--max-old-space-size=0');

const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { inspect, types } = require('node:util');

const REQUEST_BYTES_MAX = 8 * 1024 * 1024;
const OUTPUT_BYTES_MAX = 1024 * 1024;
/** Objects and arrays in each other. Readers of JSON in Rust stop at 128, the answer's own included. */
const OUTPUT_DEPTH_MAX = 100;
const ERROR_MESSAGE_CHARS_MAX = 2000;
const STACK_FRAMES_MAX = 20;

const STEPS = ['execute', 'verify', 'rollback'];
/** Each field of `context`, and whether it must be there. */
const CONTEXT = {
  workspace: true,
  action: true,
  version: false,
  step: true,
  scope: true,
  output: false,
  before: false,
};

const { apply } = Reflect;
const { byteLength, from: toBytes } = Buffer;
const { toString: ofBytes } = Buffer.prototype;
const { exec } = RegExp.prototype;
const { slice } = String.prototype;
const { stringify: quote } = JSON;
const { wait } = Atomics;
const { writeSync } = fs;
const reallyExit = process.reallyExit.bind(process);
const pause = new Int32Array(new SharedArrayBuffer(4));
const json = jsonWriter();

playStep(process.argv.slice(2));

async function playStep(entries) {
  const { input, context } = readRequest(entries);
  const entry = entries.length === 2 && !isCommonJs(entries[0]) ? entries[1] : entries[0];
  const refuseThrown = (thrown) => {
    const { message, at } = told(thrown, path.dirname(entry));
    refuse('threw', message, at);
  };
  printToStandardError();
  // What nobody caught: a throw in a callback, a promise that was rejected on the way.
  process.on('uncaughtException', refuseThrown);
  process.once('beforeExit', () => {
    refuse('did_not_settle', 'the code waits for something that will never happen');
  });
  const isRollback = context.step === 'rollback';
  const noDefault = `the file of \`${context.step}\` has no function as its default export`;
  try {
    const { default: main } = await import(pathToFileURL(entry).href);
    if (typeof main !== 'function') refuse('no_default_export', noDefault);
    const output = await main({ input, context });
    // Who only puts something back has nothing to tell.
    const text = output === undefined && isRollback ? 'null' : json(output);
    if (byteLength(text) > OUTPUT_BYTES_MAX) refuseTooLarge();
    answer(`{"actum":1,"ok":true,"output":${text}}`);
  } catch (thrown) {
    refuseThrown(thrown);
  }
}

function readRequest(entries) {
  const bad = (problem) => refuse('bad_input', problem);
  const isEntry = (entry) => path.isAbsolute(entry) && path.basename(entry) === path.basename(entries[0]);
  if (entries.length < 1 || entries.length > 2 || !entries.every(isEntry)) {
    bad('the driver takes the absolute path of the file of a step, in one copy of the package or in two');
  }
  const bytes = fs.readFileSync(0);
  if (bytes.length > REQUEST_BYTES_MAX) bad(`the request has over ${REQUEST_BYTES_MAX} bytes`);
  let request;
  try {
    request = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    bad(`the request is not JSON in UTF-8: ${error.message}`);
  }
  requireFields(request, { input: true, context: true }, 'the request');
  const { context } = request;
  requireFields(context, CONTEXT, '`context`');
  for (const field of ['workspace', 'before']) {
    const value = context[field];
    if (value !== undefined && (typeof value !== 'string' || !path.isAbsolute(value))) {
      bad(`\`context.${field}\` is no absolute path`);
    }
  }
  if (!STEPS.includes(context.step) || path.basename(entries[0]) !== `${context.step}.js`) {
    bad(`\`context.step\` is ${JSON.stringify(context.step)}, which does not go with the file`);
  }
  return request;
}

/** That `value` has the fields that must be there, and no other than those of `fields`. */
function requireFields(value, fields, what) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    refuse('bad_input', `${what} is no object`);
  }
  for (const field of Object.keys(value)) {
    if (Object.hasOwn(fields, field)) continue;
    refuse('bad_input', `${what} has a field \`${field}\` that is not known`);
  }
  for (const [field, needed] of Object.entries(fields)) {
    if (!needed || Object.hasOwn(value, field)) continue;
    refuse('bad_input', `${what} has no field \`${field}\``);
  }
}

function isCommonJs(file) {
  const source = fs.readFileSync(file, 'utf8').replace(/^\uFEFF?#!.*/, '');
  const names = ['exports', 'require', 'module', '__filename', '__dirname'];
  try {
    require('node:vm').compileFunction(source, names);
    return true;
  } catch {
    return false;
  }
}

/** Standard output is for the answer. What is printed is written at once, so that no end loses it. */
function printToStandardError() {
  for (const name of ['stdout', 'stderr']) {
    let stream;
    const get = () => {
      const { Writable } = require('node:stream');
      return (stream ??= new Writable({ write: (chunk, _encoding, done) => done(writeAll(2, chunk)) }));
    };
    Object.defineProperty(process, name, { get, configurable: true, enumerable: true });
  }
}

/** Writes the one answer. Nothing of the process is left after it, so it is the first and the last. */
function answer(text) {
  writeAll(1, `${text}\n`);
  reallyExit(0);
}

function refuse(kind, message, at) {
  const place = at === undefined ? '' : `,"at":${quote(shortened(at))}`;
  answer(`{"actum":1,"ok":false,"error":{"kind":"${kind}","message":${quote(shortened(message))}${place}}}`);
}

function refuseTooLarge() {
  refuse('too_large', `the output has over ${OUTPUT_BYTES_MAX} bytes of JSON`);
}

/** What was thrown; the frames in the plugin's own files go to standard error. Code may have replaced
    what this uses, or throw where it is looked at. Then it is told less well. */
function told(thrown, directory) {
  try {
    // A package is told by its own names, wherever its copy lies.
    const own = (text) => text.replaceAll(`${pathToFileURL(directory).href}/`, '').replaceAll(`${directory}/`, '');
    const untellable = typeof thrown === 'function' || types.isProxy(thrown);
    if (untellable || typeof thrown?.message !== 'string') {
      const other = untellable ? `a value of type ${typeof thrown} that cannot be told` : inspect(thrown, { depth: 1 });
      return { message: own(`the code threw what is no error: ${typeof thrown === 'string' ? thrown : other}`) };
    }
    const name = ['Error', undefined].includes(thrown.name) ? '' : `${thrown.name}: `;
    let message = own(`${name}${thrown.message}`);
    const frames = String(thrown.stack)
      .split('\n')
      .filter((line) => /^\s+at |^\S+:\d+$/.test(line) && own(line) !== line)
      .map(own);
    const at = frames.map((frame) => /([^\s(]+:\d+(?::\d+)?)\)?$/.exec(frame)?.[1]).find(Boolean);
    // Node says where only to a terminal.
    if (!at && thrown.name === 'SyntaxError') {
      message += ' (in the file of the step or one that it imports: `node --check FILE` shows the line)';
    }
    writeAll(2, `${[shortened(message), ...frames.slice(0, STACK_FRAMES_MAX)].join('\n')}\n`);
    return { message, at };
  } catch {
    return { message: `the code threw a value of type ${typeof thrown} that cannot be told` };
  }
}

function shortened(text) {
  const isLong = text.length > ERROR_MESSAGE_CHARS_MAX;
  const short = isLong ? apply(slice, text, [0, ERROR_MESSAGE_CHARS_MAX]) : text;
  // There and back, half of a surrogate pair becomes what stands for it.
  return apply(ofBytes, toBytes(short), []) + (isLong ? '…' : '');
}

/** Writes all of it before it returns, also where the other end is slow. */
function writeAll(descriptor, content) {
  const bytes = toBytes(content);
  let done = 0;
  while (done < bytes.length) {
    try {
      done += writeSync(descriptor, bytes, done);
    } catch (error) {
      // Nobody listens to standard error any more. That of an answer must not pass in silence.
      if (error.code !== 'EAGAIN' && descriptor === 2) return;
      if (error.code !== 'EAGAIN') throw error;
      wait(pause, 0, 0, 1);
    }
  }
}

/** A writer of JSON that refuses what JSON cannot hold, where `JSON.stringify` drops or changes it,
    and runs no code of what it writes: no getter, no `toJSON`, no trap. */
function jsonWriter() {
  const { getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const { hasOwn, prototype: objectPrototype } = Object;
  const { isArray, prototype: arrayPrototype } = Array;
  const { isFinite } = Number;
  const { isProxy } = types;
  let length = 0;

  const refuseAt = (place, problem) => refuse('not_json', `\`${place}\` ${problem}`);
  const spend = (text) => {
    length += text.length;
    if (length > OUTPUT_BYTES_MAX) refuseTooLarge();
    return text;
  };
  const spendText = (text) => {
    if (text.length > OUTPUT_BYTES_MAX) refuseTooLarge();
    if (apply(exec, /\p{Surrogate}/u, [text])) {
      refuse('not_json', 'a text in the output has half of a surrogate pair, which is not Unicode');
    }
    return spend(quote(text));
  };
  const member = (value, key, place, depth, within) => {
    const found = getOwnPropertyDescriptor(value, key);
    if (!found) return refuseAt(place, 'is a hole in an array');
    if (!hasOwn(found, 'value')) return refuseAt(place, 'is a getter, and no value');
    return write(found.value, place, depth, within);
  };
  const writeArray = (value, place, depth, within) => {
    if (getPrototypeOf(value) !== arrayPrototype) return refuseAt(place, 'is no plain array');
    const count = value.length;
    let text = spend('[');
    for (let index = 0; index < count; index += 1) {
      if (index > 0) text += spend(',');
      text += member(value, index, `${place}[${index}]`, depth, within);
    }
    if (ownKeys(value).length !== count + 1) return refuseAt(place, 'is an array with further fields');
    return text + spend(']');
  };
  const writeObject = (value, place, depth, within) => {
    const prototype = getPrototypeOf(value);
    if (prototype !== null && prototype !== objectPrototype) {
      return refuseAt(place, 'is an instance of a class, and no plain object');
    }
    const keys = ownKeys(value);
    let text = spend('{');
    for (let index = 0; index < keys.length; index += 1) {
      const key = keys[index];
      if (typeof key === 'symbol') return refuseAt(place, 'has a symbol as a key');
      if (index > 0) text += spend(',');
      text += `${spendText(key)}${spend(':')}`;
      text += member(value, key, `${place}.${key}`, depth, within);
    }
    return text + spend('}');
  };
  const write = (value, place, depth, within) => {
    const type = typeof value;
    if (value === null || type === 'boolean') return spend(`${value}`);
    if (type === 'string') return spendText(value);
    if (type === 'number') {
      return isFinite(value) ? spend(quote(value)) : refuseAt(place, `is ${value}, which JSON does not have`);
    }
    if (type !== 'object') return refuseAt(place, `is of the type ${type}, which JSON does not have`);
    if (isProxy(value)) return refuseAt(place, 'is a Proxy, and no plain value');
    for (let holder = within; holder; holder = holder.within) {
      if (holder.value === value) return refuseAt(place, 'holds itself');
    }
    if (depth === OUTPUT_DEPTH_MAX) return refuseAt(place, `lies over ${OUTPUT_DEPTH_MAX} levels deep`);
    const inner = { value, within };
    return (isArray(value) ? writeArray : writeObject)(value, place, depth + 1, inner);
  };
  return (value) => write(value, 'output', 0, null);
}
