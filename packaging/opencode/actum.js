// A plugin for opencode: each edit goes through `actum hook opencode`, and becomes a run that `actum undo` takes back. Commands are
// judged before they run, and what a turn changed without a run is told at its end.
// Put it into `.opencode/plugin/` of a project, or into `~/.config/opencode/plugin/`.
import { spawnSync } from "node:child_process"

const EDITS = new Set(["write", "edit", "multiedit", "patch", "apply_patch"])

function hook(directory, event) {
  return spawnSync("actum", ["hook", "opencode"], {
    cwd: directory, input: JSON.stringify({ cwd: directory, ...event }), encoding: "utf8", timeout: 20000,
  })
}

function judge(directory, name, call, args) {
  const done = hook(directory, {
    hook_event_name: name, session_id: call.sessionID, call_id: call.callID, tool_name: call.tool, tool_input: args,
  })
  // Anything but 0 refuses: the tool must not run where actum could not judge it.
  if (done.status !== 0) throw new Error(done.stderr || `actum: the hook failed: ${done.error ?? done.signal}`)
  return done.stdout
}

async function show(client, done) {
  if (!done.stdout) return
  const body = { title: "actum", message: done.stdout, variant: "info", duration: 15000 }
  await client.tui.showToast({ body }).catch(() => {}) // `opencode run` has no screen
}

export const Actum = async ({ client, directory }) => {
  const inputs = new Map()
  return {
    // Nothing is refused at the beginning and the end of a turn.
    "chat.message": async ({ sessionID }) => {
      await show(client, hook(directory, { hook_event_name: "prompt", session_id: sessionID }))
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      await show(client, hook(directory, { hook_event_name: "idle", session_id: event.properties.sessionID }))
    },
    "tool.execute.before": async (call, output) => {
      if (!EDITS.has(call.tool) && call.tool !== "bash") return
      if (EDITS.has(call.tool)) inputs.set(call.callID, output.args)
      judge(directory, "before", call, output.args)
    },
    "tool.execute.after": async (call, output) => {
      if (!EDITS.has(call.tool)) return
      const args = inputs.get(call.callID)
      inputs.delete(call.callID)
      const note = judge(directory, "after", call, args)
      if (note) output.output = `${output.output}\n${note}`
    },
  }
}
