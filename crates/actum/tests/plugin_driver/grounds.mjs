// Test environment of plugin packages: temporary packages and workspaces, and runs of a step by the
// driver, as the engine makes them.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const DRIVER = fileURLToPath(new URL('../../src/plugin/driver.cjs', import.meta.url));

/** Creates a directory that is removed after the test `t`. */
export function directory(t) {
  const made = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'actum-test-')));
  t.after(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Writes `files`, a table from paths to contents, below `root`. */
export function write(root, files) {
  for (const [name, content] of Object.entries(files)) {
    const target = path.join(root, name);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.writeFileSync(target, content);
  }
  return root;
}

/** Returns every file below `root` with its content and mode; a link with its target. */
export function tree(root, below = '') {
  const found = {};
  for (const name of fs.readdirSync(path.join(root, below)).sort()) {
    const relative = path.join(below, name);
    const absolute = path.join(root, relative);
    const about = fs.lstatSync(absolute);
    if (about.isDirectory()) Object.assign(found, tree(root, relative));
    else if (about.isSymbolicLink()) found[relative] = `-> ${fs.readlinkSync(absolute)}`;
    else found[relative] = `${(about.mode & 0o7777).toString(8)} ${fs.readFileSync(absolute, 'latin1')}`;
  }
  return found;
}

/** Starts the driver with `text` on standard input: `{code, stdout, stderr, answer}`. */
export function drive(args, text, scratch, flags = []) {
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env.PATH, TMPDIR: scratch, HOME: scratch };
    const child = spawn(process.execPath, [...flags, DRIVER, ...args], { env, cwd: scratch });
    const read = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr']) {
      child[stream].setEncoding('utf8').on('data', (chunk) => (read[stream] += chunk));
    }
    child.on('error', reject);
    // A driver that rejects its arguments does not read all of a long request.
    child.stdin.on('error', () => {});
    child.stdin.end(text);
    child.on('close', (code) => {
      const lines = read.stdout.split('\n');
      const isAnswer = lines.length === 2 && lines[1] === '';
      resolve({ code, ...read, answer: isAnswer ? JSON.parse(lines[0]) : undefined });
    });
  });
}

/** Returns the request of one step, with the context that the engine adds. */
export function request(step, input = {}, more = {}) {
  const scope = { allowedFiles: [], allowedDirs: ['.'], forbiddenFiles: [] };
  const context = { workspace: '/workspace', action: 'example', version: '1.0.0', step, scope, ...more };
  return JSON.stringify({ input, context });
}

/** Creates the copies of a package as the engine does; returns the path of a step's file in each. */
export function copies(t, files, name = 'execute') {
  const manifest = JSON.parse(files['package.json'] ?? '{}');
  return (manifest.type ? [manifest.type] : ['commonjs', 'module']).map((type) => {
    const copy = { ...files, 'package.json': JSON.stringify({ ...manifest, type }) };
    return path.join(write(directory(t), copy), `${name}.js`);
  });
}

/** Runs one step of such a package. */
export async function step(t, files, { name = 'execute', input = {}, more = {} } = {}) {
  return drive(copies(t, files, name), request(name, input, more), directory(t));
}

/** Creates a workspace with `files`, and a copy of its initial state, for the steps of the package
    `name`. `driven` runs a step by the driver; `run` calls it in this process, which is faster, with
    the same answers. */
export function grounds(t, name, files) {
  const packageRoot = fileURLToPath(new URL(`../../../../actions/${name}/`, import.meta.url));
  const workspace = write(directory(t), files);
  const before = path.join(directory(t), 'before');
  const keep = () => {
    fs.rmSync(before, { recursive: true, force: true });
    fs.cpSync(workspace, before, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  };
  keep();
  const contextOf = (which, more) => ({ workspace, ...(which === 'execute' ? {} : { before }), ...more });
  const entryOf = (which) => path.join(packageRoot, `${which}.js`);
  const driven = async (which, input, more) => {
    const { answer, stderr } = await drive([entryOf(which)], request(which, input, contextOf(which, more)), directory(t));
    if (!answer) throw new Error(`no answer; ${stderr}`);
    return answer;
  };
  const run = async (which, input, more) => {
    const { default: main } = await import(pathToFileURL(entryOf(which)).href);
    const given = JSON.parse(request(which, input, contextOf(which, more)));
    try {
      const output = await main(given);
      assert.deepEqual(JSON.parse(JSON.stringify(output)), output);
      return { ok: true, output };
    } catch (error) {
      return { ok: false, error: { kind: 'threw', message: error.message } };
    }
  };
  return { workspace, before, keep, run, driven };
}
