// Puts the source files back as they were, byte for byte.

import { lookAt, restore } from './files.js';
import { FILE_BYTES_MAX, targets } from './request.js';

export default async function rollback({ input, context }) {
  const { workspace, before, output } = context;
  if (before === undefined) {
    throw new Error('there is nothing to restore from: the files as they were are not there; nothing was changed');
  }
  // Where execute.js did not come to its end, any file that was meant can have been written.
  const paths = output?.changed?.map(({ path }) => path) ?? targets(before, input).filter((path) => isWritten(before, path));
  return restore(workspace, before, paths, FILE_BYTES_MAX);
}

/** What is larger is only ever passed over. */
function isWritten(root, path) {
  return lookAt(root, path).size <= FILE_BYTES_MAX;
}
