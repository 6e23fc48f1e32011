// Checks what was done, by comparing `context.workspace` with `context.before`.
export default async function verify({ input, context }) {
  return {
    checks: [{ name: 'nothing_was_changed', ok: context.output.changed.length === 0 }],
  };
}
