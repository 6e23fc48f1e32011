// Does the action. Look at everything first, and write last.
export default async function execute({ input, context }) {
  return { changed: [] };
}
