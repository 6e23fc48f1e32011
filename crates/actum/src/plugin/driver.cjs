// Runs one step of a plugin package, and answers with one line of JSON (AA-10).
//
//     node driver.cjs /the/package/execute.js < request.json
//     node driver.cjs /as/commonjs/execute.js /as/modules/execute.js < request.json
//
// The second form is for a package that does not declare the module kind of its `.js` files. They are
// CommonJS if the step's file compiles as CommonJS (it is compiled and not run), else ES modules. Both
// copies declare their kind in `package.json`, so every version of Node reads a package alike.
//
// This is not a security boundary, and need not be one. The plugin's code runs in this process, and so
// can write the line itself. It gains nothing by that: the engine checks every part of a line that it
// relies on, and the sandbox around the process confines the code. The checks here are for mistakes:
// code that prints, ends early, never settles or has replaced built-ins gets a precise error. So every
// built-in that is used after the plugin's code has run is saved before.
//
// The engine reports an end without an answer, from outside.

'use strict';

// The engine rejects older versions: it asks for the version if it finds no answer.
if (Number(process.versions.node.split('.')[0]) < 18) process.reallyExit(1);

// The engine starts V8 with a memory limit, which stays in force. Resetting the flag lets Node use its
// module cache again, which is for V8 without flags, and saves a tenth of the start time.
require('node:v8').setFlagsFromString('--max-old-space-size=0');

const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { inspect, types } = require('node:util');

const REQUEST_BYTES_MAX = 8 * 1024 * 1024;
const OUTPUT_BYTES_MAX = 1024 * 1024;
/** Maximum nesting depth. JSON readers in Rust stop at 128, including the answer's own levels. */
const OUTPUT_DEPTH_MAX = 100;
const ERROR_MESSAGE_CHARS_MAX = 2000;
const STACK_FRAMES_MAX = 20;

const STEPS = ['execute', 'verify', 'rollback'];
/** Fields of `context`; true if the field is required. */
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
  // Uncaught errors: a throw in a callback, or a rejected promise.
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
    // A rollback has nothing to report.
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

/** Requires that `value` has all required fields, and no others than those of `fields`. */
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

/** Redirects prints to standard error, since standard output is for the answer. They are written at
    once, so that no end of the process loses them. */
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

/** Writes the only answer, and ends the process, so that no other can follow. */
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

/** Describes a thrown value, and writes the frames in the plugin's own files to standard error. If the
    code has replaced built-ins used here, or throws on access, the description is less precise. */
function told(thrown, directory) {
  try {
    // Paths are reported relative to the package, wherever its copy is.
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
    // Node prints the position only to a terminal.
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
  // The conversion to bytes and back replaces half of a surrogate pair.
  return apply(ofBytes, toBytes(short), []) + (isLong ? '…' : '');
}

/** Writes all of the content before it returns, even if the reader is slow. */
function writeAll(descriptor, content) {
  const bytes = toBytes(content);
  let done = 0;
  while (done < bytes.length) {
    try {
      done += writeSync(descriptor, bytes, done);
    } catch (error) {
      // A closed standard error is ignored. A failed write of the answer must not be.
      if (error.code !== 'EAGAIN' && descriptor === 2) return;
      if (error.code !== 'EAGAIN') throw error;
      wait(pause, 0, 0, 1);
    }
  }
}

/** Returns a JSON writer that rejects values that JSON cannot represent, which `JSON.stringify` drops
    or changes. It runs no code of the values: no getter, no `toJSON`, no trap. */
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
