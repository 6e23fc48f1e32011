// Changes the version of a project in every manifest that contains it.

import { write } from './files.js';
import { plan } from './manifests.js';

export default async function execute({ input, context }) {
  let planned;
  try {
    planned = plan(context.workspace, input);
  } catch (error) {
    throw new Error(`${error.message}; nothing was changed`);
  }
  const { from, to, files, left } = planned;
  for (const { path, edited } of files) write(context.workspace, path, edited);
  return { from, to, files: files.map(({ path }) => ({ path, from, to })), left };
}
