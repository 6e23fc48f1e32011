// Runs one step of a plugin package, and answers with one line of JSON (AA-10).
//
//     node driver.mjs /the/package/execute.js < request.json
//
// Two threads. The main one reads the request, copies the package, and writes the answer; it never
// runs a plugin's code. The other one is the plugin's: it loads the copy, calls the default export
// once, and sends a text. Whatever code does to that thread (other built-ins, an end by
// `process.exit`, no memory left), the main thread reads the text again and answers.
//
// This is no wall. Both threads are one process, and who wants to can write to descriptor 1. That
// gives nobody more than returning the same, and the sandbox around the process is what confines it.
//
// The package is always run from a copy in the scratch directory, for which the kind of its modules
// is written down: what its own `package.json` says or, where that says nothing, CommonJS if the
// step's file compiles as CommonJS (it is compiled and not run), else ES modules. So every version of
// Node reads a package alike, and no file outside of it (a `package.json` or `node_modules` further
// up) is part of it.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect, types } from 'node:util';
import vm from 'node:vm';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Taken before any plugin's code could put something else in its place. */
const { writeSync } = fs;

const REQUEST_BYTES_MAX = 8 * 1024 * 1024;
const OUTPUT_BYTES_MAX = 1024 * 1024;
/** Objects and arrays in each other. Readers of JSON in Rust stop at 128, the answer's own included. */
const OUTPUT_DEPTH_MAX = 100;
const PACKAGE_FILES_MAX = 2000;
const PACKAGE_BYTES_MAX = 32 * 1024 * 1024;
const PACKAGE_DEPTH_MAX = 32;
/** What the objects of a plugin may take. So it is the plugin that ends for want of memory. */
const HEAP_MEBIBYTES_MAX = 512;
/** A result has room for these, beside those of as many commands. */
const CHECKS_MAX = 64;
const CHECK_NAME_CHARS_MAX = 200;
const CHECK_MESSAGE_CHARS_MAX = 2000;
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
/** What the plugin's thread finds by itself. */
const FOUND_IN_PLUGIN = ['no_default_export', 'not_json', 'too_large', 'did_not_settle'];

/** An answer that is no output: `{kind, message, at?}` as it is told. */
class Refusal extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

if (isMainThread) await answerRequest();
else playStep(workerData);

// The main thread.

async function answerRequest() {
  let copy;
  let answer;
  try {
    const entry = process.argv[2];
    const { text, step } = await readRequest(entry);
    copy = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'actum-plugin-')));
    copyPackage(path.dirname(entry), copy, path.basename(entry));
    const output = await outputOf({ entry: path.join(copy, path.basename(entry)), text, step }, copy);
    if (step === 'verify') requireChecks(output);
    answer = { actum: 1, ok: true, output };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const told = { kind: error.kind, message: shortened(error.message), at: error.at };
    answer = { actum: 1, ok: false, error: told };
  }
  writeAll(1, `${JSON.stringify(answer)}\n`);
  try {
    if (copy) fs.rmSync(copy, { recursive: true, force: true });
  } catch {
    // The plugin's thread may still be writing there. The scratch directory is not kept anyway.
  }
  // Ends the plugin's thread too, whatever it still does.
  process.exit(0);
}

async function readRequest(entry) {
  const bad = (problem) => new Refusal('bad_input', problem);
  if (process.argv.length !== 3 || !path.isAbsolute(entry)) {
    throw bad('the driver takes one argument, the absolute path of the file of a step');
  }
  const chunks = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    bytes += chunk.length;
    if (bytes > REQUEST_BYTES_MAX) throw bad(`the request has over ${REQUEST_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  let text;
  let request;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    request = JSON.parse(text);
  } catch (error) {
    throw bad(`the request is not JSON in UTF-8: ${error.message}`);
  }
  requireFields(request, { input: true, context: true }, 'the request');
  const { context } = request;
  requireFields(context, CONTEXT, '`context`');
  for (const field of ['workspace', 'before']) {
    const value = context[field];
    if (value !== undefined && (typeof value !== 'string' || !path.isAbsolute(value))) {
      throw bad(`\`context.${field}\` is no absolute path`);
    }
  }
  if (!STEPS.includes(context.step) || path.basename(entry) !== `${context.step}.js`) {
    throw bad(`\`context.step\` is ${JSON.stringify(context.step)}, which does not go with the file`);
  }
  return { text, step: context.step };
}

/** That `value` has the fields that must be there, and no other than those of `fields`. */
function requireFields(value, fields, what) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refusal('bad_input', `${what} is no object`);
  }
  for (const field of Object.keys(value)) {
    if (Object.hasOwn(fields, field)) continue;
    throw new Refusal('bad_input', `${what} has a field \`${field}\` that is not known`);
  }
  for (const [field, needed] of Object.entries(fields)) {
    if (!needed || Object.hasOwn(value, field)) continue;
    throw new Refusal('bad_input', `${what} has no field \`${field}\``);
  }
}

/** Copies the package to `copy`, and writes down there what its `.js` files are. */
function copyPackage(directory, copy, entryName) {
  const spent = { files: 0, bytes: 0 };
  let source;
  let manifest = {};
  try {
    copyDirectory(directory, copy, spent, 0);
    source = fs.readFileSync(path.join(copy, entryName), 'utf8');
    const given = path.join(copy, 'package.json');
    if (fs.existsSync(given)) manifest = JSON.parse(fs.readFileSync(given, 'utf8'));
    const type = manifest.type ?? typeOf(source);
    fs.writeFileSync(given, JSON.stringify({ ...manifest, type }));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal('bad_input', `the package cannot be read: ${error.message}`);
  }
}

function copyDirectory(from, to, spent, depth) {
  const bad = (problem) => new Refusal('bad_input', `the package ${problem}`);
  if (depth > PACKAGE_DEPTH_MAX) throw bad(`has over ${PACKAGE_DEPTH_MAX} directories in each other`);
  for (const item of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, item.name), path.join(to, item.name)];
    if (item.isDirectory()) {
      // Links to programs, which no import can reach.
      if (item.name === '.bin' && path.basename(from) === 'node_modules') continue;
      fs.mkdirSync(target);
      copyDirectory(source, target, spent, depth + 1);
    } else if (item.isFile()) {
      spent.files += 1;
      spent.bytes += fs.statSync(source).size;
      if (spent.files > PACKAGE_FILES_MAX) throw bad(`has over ${PACKAGE_FILES_MAX} files`);
      if (spent.bytes > PACKAGE_BYTES_MAX) throw bad(`has over ${PACKAGE_BYTES_MAX} bytes`);
      fs.writeFileSync(target, fs.readFileSync(source));
    } else {
      throw bad(`has \`${item.name}\`, which is neither a file nor a directory`);
    }
  }
}

/** What a `.js` file is: CommonJS if it compiles as that, else an ES module. Nothing is run. */
function typeOf(source) {
  const names = ['exports', 'require', 'module', '__filename', '__dirname'];
  try {
    vm.compileFunction(source.replace(/^\uFEFF?#!.*/, ''), names);
    return 'commonjs';
  } catch {
    return 'module';
  }
}

/** What the plugin returned, once it has. The first word of its thread counts. */
function outputOf(data, copy) {
  return new Promise((resolve, reject) => {
    const plugin = new Worker(fileURLToPath(import.meta.url), {
      workerData: data,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEBIBYTES_MAX },
    });
    plugin.on('message', (message) => {
      try {
        resolve(readMessage(message, copy));
      } catch (error) {
        reject(error);
      }
    });
    // What nobody caught: a throw in a callback, a promise that was rejected on the way, no memory.
    plugin.on('error', (thrown) => reject(threw(thrown, copy)));
    plugin.on('exit', (code) => {
      const why = `the code ended its process (exit code ${code}) before it answered`;
      reject(new Refusal('did_not_settle', why));
    });
  });
}

function readMessage(message, copy) {
  if (typeof message?.text === 'string') return readOutput(message.text);
  if (FOUND_IN_PLUGIN.includes(message?.kind)) {
    throw new Refusal(message.kind, String(message.message));
  }
  throw threw(message?.thrown, copy);
}

function readOutput(text) {
  if (Buffer.byteLength(text) > OUTPUT_BYTES_MAX) throw new Refusal('too_large', tooLarge());
  if (/(?:^|[^\\])(?:\\\\)*\\u[dD][89a-fA-F]/.test(text)) {
    throw new Refusal('not_json', 'a text in the output has half of a surrogate pair, which is not Unicode');
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal('not_json', 'the plugin sent an answer of its own, which is not JSON');
  }
}

/** What verify.js returns: `{checks: [{name, ok, message?}]}`, and at least one. */
function requireChecks(output) {
  const bad = (problem) => new Refusal('bad_checks', `verify.js returned ${problem}`);
  const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const hasOnly = (value, fields) => Object.keys(value).every((field) => fields.includes(field));
  if (!isObject(output) || !hasOnly(output, ['checks']) || !Array.isArray(output.checks)) {
    throw bad('something else than `{checks: [...]}`');
  }
  const { checks } = output;
  if (checks.length === 0) throw bad('no check; what is not checked cannot be relied on');
  if (checks.length > CHECKS_MAX) throw bad(`over ${CHECKS_MAX} checks`);
  checks.forEach((check, index) => {
    const where = `\`checks[${index}]\``;
    if (!isObject(check)) throw bad(`${where} that is no object`);
    if (!hasOnly(check, ['name', 'ok', 'message'])) {
      throw bad(`${where} with other fields than \`name\`, \`ok\` and \`message\``);
    }
    const { name, ok, message = '' } = check;
    if (typeof name !== 'string' || name === '' || name.length > CHECK_NAME_CHARS_MAX) {
      throw bad(`${where} with a \`name\` that is no text of 1 to ${CHECK_NAME_CHARS_MAX} characters`);
    }
    if (typeof ok !== 'boolean') throw bad(`${where} with an \`ok\` that is neither true nor false`);
    if (typeof message !== 'string' || message.length > CHECK_MESSAGE_CHARS_MAX) {
      throw bad(`${where} with a \`message\` that is no text of up to ${CHECK_MESSAGE_CHARS_MAX} characters`);
    }
  });
}

/** A refusal that tells what was thrown; the frames in the plugin's own files go to standard error. */
function threw(thrown, copy) {
  // A package is told by its own names, wherever its copy lies.
  const own = (text) => text.replaceAll(`${pathToFileURL(copy).href}/`, '').replaceAll(`${copy}/`, '');
  if (typeof thrown?.message !== 'string') {
    const shown = typeof thrown === 'string' ? thrown : inspect(thrown, { depth: 1 });
    return new Refusal('threw', own(`the code threw what is no error: ${shown}`));
  }
  const name = ['Error', undefined].includes(thrown.name) ? '' : `${thrown.name}: `;
  const refusal = new Refusal('threw', own(`${name}${thrown.message}`));
  const frames = String(thrown.stack)
    .split('\n')
    .filter((line) => /^\s+at |^\S+:\d+$/.test(line) && (own(line) !== line))
    .map(own);
  refusal.at = frames.map((frame) => /([^\s(]+:\d+(?::\d+)?)\)?$/.exec(frame)?.[1]).find(Boolean);
  // Node says where only to a terminal.
  if (!refusal.at && thrown.name === 'SyntaxError') {
    refusal.message += ' (in the file of the step or one that it imports: `node --check FILE` shows the line)';
  }
  writeAll(2, `${[shortened(refusal.message), ...frames.slice(0, STACK_FRAMES_MAX)].join('\n')}\n`);
  return refusal;
}

function shortened(message) {
  const chars = [...message.replace(/\p{Surrogate}/gu, '\uFFFD')];
  if (chars.length <= ERROR_MESSAGE_CHARS_MAX) return chars.join('');
  return `${chars.slice(0, ERROR_MESSAGE_CHARS_MAX).join('')}…`;
}

function tooLarge() {
  return `the output has over ${OUTPUT_BYTES_MAX} bytes of JSON`;
}

/** Writes all of it before it returns, also where the other end is slow. */
function writeAll(descriptor, content) {
  const bytes = Buffer.from(content);
  let done = 0;
  while (done < bytes.length) {
    try {
      done += writeSync(descriptor, bytes, done);
    } catch (error) {
      // Nobody listens to standard error any more. That of an answer must not pass in silence.
      if (error.code !== 'EAGAIN' && descriptor === 2) return;
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

// The plugin's thread. What is used once the plugin's code has run is taken before.

async function playStep({ entry, text, step }) {
  const send = parentPort.postMessage.bind(parentPort);
  const json = jsonWriter();
  // Written at once, so that nothing is lost when the thread ends.
  for (const stream of [process.stdout, process.stderr]) {
    stream._write = (chunk, _encoding, done) => done(writeAll(2, chunk));
    stream._writev = null;
  }
  // Nothing is left to do, and no answer was sent.
  process.once('beforeExit', () => {
    send({ kind: 'did_not_settle', message: 'the code waits for something that will never happen' });
  });
  const { input, context } = JSON.parse(text);
  try {
    const { default: main } = await import(pathToFileURL(entry).href);
    if (typeof main !== 'function') {
      const message = `the file of \`${step}\` has no function as its default export`;
      send({ kind: 'no_default_export', message });
      return;
    }
    const output = await main({ input, context });
    // Who only puts something back has nothing to tell.
    send({ text: output === undefined && step === 'rollback' ? 'null' : json(output) });
  } catch (thrown) {
    if (thrown instanceof Refusal) send({ kind: thrown.kind, message: thrown.message });
    else sendThrown(send, thrown);
  }
}

function sendThrown(send, thrown) {
  try {
    send({ thrown });
  } catch {
    // A function, a Proxy, an error that holds one.
    const isError = !types.isProxy(thrown) && types.isNativeError(thrown);
    const told = isError ? { message: `${thrown.message}`, stack: `${thrown.stack}` } : null;
    send({ thrown: told ?? `a value of type ${typeof thrown} that cannot be told` });
  }
}

/** A writer of JSON that refuses what JSON cannot hold, where `JSON.stringify` drops or changes it,
    and runs no code of what it writes: no getter, no `toJSON`, no trap. */
function jsonWriter() {
  const { getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const { hasOwn, prototype: objectPrototype } = Object;
  const { isArray, prototype: arrayPrototype } = Array;
  const { isFinite } = Number;
  const { stringify: quote } = JSON;
  const { isProxy } = types;
  let length = 0;

  const refuse = (place, problem) => {
    throw new Refusal('not_json', `\`${place}\` ${problem}`);
  };
  const spend = (text) => {
    length += text.length;
    if (length > OUTPUT_BYTES_MAX) throw new Refusal('too_large', tooLarge());
    return text;
  };
  const member = (value, key, place, depth, within) => {
    const found = getOwnPropertyDescriptor(value, key);
    if (!found) return refuse(place, 'is a hole in an array');
    if (!hasOwn(found, 'value')) return refuse(place, 'is a getter, and no value');
    return write(found.value, place, depth, within);
  };
  const writeArray = (value, place, depth, within) => {
    if (getPrototypeOf(value) !== arrayPrototype) return refuse(place, 'is no plain array');
    const count = value.length;
    let text = spend('[');
    for (let index = 0; index < count; index += 1) {
      if (index > 0) text += spend(',');
      text += member(value, index, `${place}[${index}]`, depth, within);
    }
    if (ownKeys(value).length !== count + 1) return refuse(place, 'is an array with further fields');
    return text + spend(']');
  };
  const writeObject = (value, place, depth, within) => {
    const prototype = getPrototypeOf(value);
    if (prototype !== null && prototype !== objectPrototype) {
      return refuse(place, 'is an instance of a class, and no plain object');
    }
    const keys = ownKeys(value);
    let text = spend('{');
    for (let index = 0; index < keys.length; index += 1) {
      const key = keys[index];
      if (typeof key === 'symbol') return refuse(place, 'has a symbol as a key');
      if (index > 0) text += spend(',');
      text += `${spend(quote(key))}${spend(':')}`;
      text += member(value, key, `${place}.${key}`, depth, within);
    }
    return text + spend('}');
  };
  const write = (value, place, depth, within) => {
    const type = typeof value;
    if (value === null || type === 'boolean') return spend(`${value}`);
    if (type === 'string') {
      if (value.length > OUTPUT_BYTES_MAX) throw new Refusal('too_large', tooLarge());
      return spend(quote(value));
    }
    if (type === 'number') {
      return isFinite(value) ? spend(quote(value)) : refuse(place, `is ${value}, which JSON does not have`);
    }
    if (type !== 'object') return refuse(place, `is of the type ${type}, which JSON does not have`);
    if (isProxy(value)) return refuse(place, 'is a Proxy, and no plain value');
    for (let holder = within; holder; holder = holder.within) {
      if (holder.value === value) return refuse(place, 'holds itself');
    }
    if (depth === OUTPUT_DEPTH_MAX) return refuse(place, `lies over ${OUTPUT_DEPTH_MAX} levels deep`);
    const inner = { value, within };
    return (isArray(value) ? writeArray : writeObject)(value, place, depth + 1, inner);
  };
  return (value) => write(value, 'output', 0, null);
}
