// Restores the manifests byte for byte.

import { restore } from './files.js';
import { candidates, FILE_BYTES_MAX } from './manifests.js';

export default async function rollback({ input, context }) {
  const { workspace, before, output } = context;
  if (before === undefined) {
    throw new Error('cannot restore the files because their original content is not available; nothing was changed');
  }
  // If execute.js did not finish, there is no output, and any of the candidates may have been written.
  const paths = output?.files?.map(({ path }) => path) ?? candidates(before, input);
  return restore(workspace, before, paths, FILE_BYTES_MAX);
}
