// Restores the source files byte for byte.

import { lookAt, restore } from './files.js';
import { FILE_BYTES_MAX, targets } from './request.js';

export default async function rollback({ input, context }) {
  const { workspace, before, output } = context;
  if (before === undefined) {
    throw new Error('cannot restore the files because their original content is not available; nothing was changed');
  }
  // If execute.js did not finish, there is no output, and any of the selected files may have been written.
  const paths = output?.changed?.map(({ path }) => path) ?? targets(before, input).filter((path) => isWritten(before, path));
  return restore(workspace, before, paths, FILE_BYTES_MAX);
}

/** Returns whether the action may have written a file. It never writes files above the size limit. */
function isWritten(root, path) {
  return lookAt(root, path).size <= FILE_BYTES_MAX;
}
