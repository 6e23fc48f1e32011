// Puts the manifests back as they were, byte for byte.

import { restore } from './files.js';
import { candidates, FILE_BYTES_MAX } from './manifests.js';

export default async function rollback({ input, context }) {
  const { workspace, before, output } = context;
  if (before === undefined) {
    throw new Error('there is nothing to restore from: the files as they were are not there; nothing was changed');
  }
  // Where execute.js did not come to its end, any file that it looks at can have been written.
  const paths = output?.files?.map(({ path }) => path) ?? candidates(before, input);
  return restore(workspace, before, paths, FILE_BYTES_MAX);
}
