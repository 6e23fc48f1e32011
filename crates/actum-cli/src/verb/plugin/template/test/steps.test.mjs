import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import execute from '../execute.js';
import rollback from '../rollback.js';
import verify from '../verify.js';

test('it changes nothing yet, and that is checked', async (t) => {
  const workspace = fs.mkdtempSync(path.join(os.tmpdir(), 'NAME-'));
  t.after(() => fs.rmSync(workspace, { recursive: true }));
  const [input, context] = [{}, { workspace, before: workspace }];
  const output = await execute({ input, context });
  assert.deepEqual(output, { changed: [] });
  const { checks } = await verify({ input, context: { ...context, output } });
  assert.ok(checks.every(({ ok }) => ok));
  await rollback({ input, context: { ...context, output } });
  assert.deepEqual(fs.readdirSync(workspace), []);
});
