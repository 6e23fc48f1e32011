// Adds a licence header to source files, or updates an existing header.

import { write } from './files.js';
import { plan } from './request.js';

export default async function execute({ input, context }) {
  let planned;
  try {
    planned = plan(context.workspace, input);
  } catch (error) {
    throw new Error(`${error.message}; nothing was changed`);
  }
  for (const { path, content } of planned.changed) write(context.workspace, path, content);
  const changed = planned.changed.map(({ path, change }) => ({ path, change }));
  return { ...planned, changed };
}
