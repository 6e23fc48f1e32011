// A plugin for opencode: each edit goes through `actum hook opencode`, and becomes a run that `actum undo` takes back.
// Put it into `.opencode/plugin/` of a project, or into `~/.config/opencode/plugin/`.
import { spawnSync } from "node:child_process"

const EDITS = new Set(["write", "edit", "multiedit", "patch", "apply_patch"])

function hook(name, directory, call, args) {
  const event = {
    hook_event_name: name, session_id: call.sessionID, call_id: call.callID, cwd: directory,
    tool_name: call.tool, tool_input: args,
  }
  const done = spawnSync("actum", ["hook", "opencode"], {
    cwd: directory, input: JSON.stringify(event), encoding: "utf8", timeout: 20000,
  })
  // Anything but 0 refuses: the tool must not run where actum could not judge it.
  if (done.status !== 0) throw new Error(done.stderr || `actum: the hook failed: ${done.error ?? done.signal}`)
  return done.stdout
}

export const Actum = async ({ directory }) => {
  const inputs = new Map()
  return {
    "tool.execute.before": async (call, output) => {
      if (!EDITS.has(call.tool)) return
      inputs.set(call.callID, output.args)
      hook("before", directory, call, output.args)
    },
    "tool.execute.after": async (call, output) => {
      if (!EDITS.has(call.tool)) return
      const args = inputs.get(call.callID)
      inputs.delete(call.callID)
      const note = hook("after", directory, call, args)
      if (note) output.output = `${output.output}\n${note}`
    },
  }
}
