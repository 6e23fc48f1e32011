"""actum itself: real clients whose edits become runs, by their own tools and without a word to the model."""

import hashlib
import json
import os
import subprocess
from pathlib import Path

from clients import ACTUM, Claude, Codex, Gemini, OpenCode, Qwen
from registry import registry

SCENARIOS, scenario = registry()
PLUGIN = Path(__file__).resolve().parents[3] / "packaging/opencode/actum.js"


def tree(client):
    """Every file of the workspace but the client's own, with its content and mode."""
    found = {}
    for path in sorted(client.ws.rglob("*")):
        name = str(path.relative_to(client.ws))
        if name.startswith((".actum", ".claude", ".codex", ".gemini", ".qwen", ".opencode", "opencode.json")):
            continue
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"
        found[name] = (content, path.stat().st_mode)
    return found


def runs(client):
    return json.loads(client.actum("log", "--json", "-n", "500").stdout)["runs"]


def undo_all(client):
    """Takes back every run that is in effect, newest first; returns what went wrong."""
    problems = []
    for run in runs(client):
        if run.get("kind", "apply") == "apply" and run["status"] == "succeeded":
            done = client.actum("undo", run["run"])
            problems += [done.stderr] if done.returncode else []
    return problems


def hook_settings(client, name, timeout=20, **more):
    """Settings in the form of Claude Code and its relatives, from `actum protect --print`."""
    printed = client.actum("protect", name, "--print", *more.get("arguments", []))
    return json.loads(printed.stdout)


@scenario(Claude)
def protect(model, check):
    """`actum protect claude` says armed only after the person's own client proved it"""
    c = Claude(model, "protect")
    c.actum("init")
    env = c.env() | {"PATH": f"{Claude.binary.parent}:{c.env()['PATH']}"}
    env = {key: value for key, value in env.items() if not key.startswith("ANTHROPIC")}

    def protect(*arguments):
        return subprocess.run([str(ACTUM), "protect", "claude", *arguments], cwd=c.ws, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    before = tree(c)
    done = protect("--yes")
    check("it is armed", done.returncode == 0 and "\narmed" in done.stdout, (done.stdout, done.stderr))
    check("the trial leaves the workspace as it was", tree(c) == before, tree(c))
    check("the trial is in the log, undone", len(runs(c)) == 4, runs(c))
    settings = c.ws / ".claude/settings.local.json"
    check("the settings have the hook and nothing else", set(json.loads(settings.read_text())) == {"hooks"})
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"disableAllHooks": True}))
    done = protect("--check")
    check("with all hooks off it is not armed", done.returncode == 4 and "not armed" in done.stdout, done.stdout)
    settings.write_text(json.dumps({k: v for k, v in json.loads(settings.read_text()).items() if k == "hooks"}))
    done = protect("--strict", "--yes")
    check("a strict hook is armed", "\narmed" in done.stdout and "ok         a shell command is refused" in done.stdout, done.stdout + done.stderr)
    done = protect("--off", "--yes")
    check("--off takes the file away that it made", done.returncode == 0 and not settings.exists(), done.stderr)
    check("turning it off leaves an alert", "CLIENT_HOOK_REMOVED" in c.actum("queue", "--json").stdout)


@scenario(Codex, Gemini, Qwen, OpenCode)
def protect_others(model, check):
    """`actum protect` says armed for the other clients only while they call the hook and trust it"""
    for kind, name in ((Codex, "codex"), (Gemini, "gemini"), (Qwen, "qwen"), (OpenCode, "opencode")):
        c = kind(model, "protect")
        c.actum("init")
        before = tree(c)
        programs = c.dir / "programs"
        programs.mkdir()
        (programs / name).symlink_to(kind.binary)
        path = f"{programs}:{c.env()['PATH']}"
        env = {key: c.env()[key] for key in ("HOME", "LANG", "TERM", "TMPDIR", "ACTUM_HOME")} | {"PATH": path}

        def protect(*arguments, c=c, env=env, name=name):
            done = subprocess.run([str(ACTUM), "protect", name, *arguments], cwd=c.ws, env=env,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            return "\narmed" in done.stdout, (done.returncode, done.stdout, done.stderr)
        if kind is Codex:
            armed, said = protect("--yes", "--no-proof")
            armed, said = protect("--check")
            check("codex: an untrusted hook is not armed", not armed and "start `codex` once" in said[1], said)
        if kind is Gemini:
            armed, said = protect("--yes")
            check("gemini: an untrusted workspace is not armed", not armed and "trusted" in said[1], said)
            (c.home / ".gemini").mkdir(exist_ok=True)
            (c.home / ".gemini/trustedFolders.json").write_text(json.dumps({str(c.ws): "TRUST_FOLDER"}))
        armed, said = protect("--yes")
        check(f"{name}: it is armed", armed and said[0] == 0, said)
        check(f"{name}: the trial leaves the workspace as it was", tree(c) == before, tree(c))
        check(f"{name}: the trial is in the log, undone", len(runs(c)) == 4, runs(c))
        armed, said = protect("--strict", "--yes")
        check(f"{name}: a strict hook is armed", armed and "ok         a shell command is refused" in said[1], said)
        armed, said = protect("--off", "--yes")
        check(f"{name}: --off takes everything out", said[0] == 0 and not (c.home / ".codex/config.toml").exists(), said)
        armed, said = protect("--check")
        check(f"{name}: without the hook it is not armed", not armed and said[0] == 4, said)


@scenario(Claude)
def claude_day(model, check):
    """Fifty calls in a row: edits, writes, protected files, CI, stale edits, commands; undo gives the tree before"""
    c = Claude(model, "day")
    for number in range(6):
        c.put(f"src/m{number}.py", f"def f{number}():\n    return {number}\n")
    c.actum("init")
    c.settings(hook_settings(c, "claude"), where="local")
    before = tree(c)
    script, expected = [], 0
    for number in range(6):
        name = f"src/m{number}.py"
        script += [c.read(name), c.edit(name, f"return {number}", f"return {number + 1}"),
                   c.edit(name, f"return {number + 1}", f"return {number + 2}"),
                   c.write(f"new/deep{number}/n.txt", "new\n"),
                   c.edit(f"new/deep{number}/n.txt", "new", "newer")]
        expected += 4
    script += [c.write(".env", "S=1\n"), c.write(".github/workflows/ci.yml", "on: push\n"),
               c.edit("src/m0.py", "no such text", "x"), c.write("empty.txt", ""), c.bash("true")]
    expected += 1
    script += [c.edit(f"src/m{number}.py", "def", "async def") for number in range(6)]
    expected += 6
    script += [c.write("src/m1.py", "x = 1\n"), c.write("unicode-é.txt", "é\n"), c.write("big.txt", "line\n" * 50_000)]
    expected += 3
    script += [c.read("src/m2.py")] * 6
    r = c.run([*script, "done"], "--permission-mode", "acceptEdits", "--allowedTools", "Bash", timeout=300)
    results = r.results()
    check("every call was made", len(results) == len(script), (len(results), len(script), r.err[-300:]))
    found = runs(c)
    check(f"{expected} edits are {expected} runs", len(found) == expected, (len(found), results))
    check("the gates refuse .env, and the model reads why",
          any(error and "`.env` is protected" in text for error, text in results), results)
    check("CI waits for a person, by its plan", any(error and "queued as plan" in text for error, text in results))
    check("nothing of what was refused is there", c.ws.joinpath(".env").exists() is False
          and not c.ws.joinpath(".github").exists())
    check("the ledger is sound", c.actum("ledger", "verify").returncode == 0)
    session = json.loads(c.actum("show", found[0]["run"], "--json").stdout)["record"]["request"].removeprefix("hook:").split("/")[0]
    undone = c.actum("undo", "--session", session)
    check("undo of the session gives the tree before", undone.returncode == 0 and tree(c) == before, undone.stderr)


@scenario(Codex)
def codex(model, check):
    """apply_patch becomes one run, with the hooks trusted as a person would"""
    c = Codex(model, "actum")
    c.config()
    c.put("a.txt", "one\n")
    c.actum("init")
    before = tree(c)
    (c.codex_home / "hooks.json").write_text(json.dumps(hook_settings(c, "codex")))
    c.trust_hooks()
    r = c.run([c.patch("*** Update File: a.txt\n@@\n-one\n+two\n*** Add File: n/n.txt\n+n\n"),
               c.patch("*** Add File: .env\n+S=1\n"), c.patch("*** Delete File: n/n.txt\n"), "done"],
              "-s", "workspace-write")
    found = runs(c)
    check("two patches are two runs", len(found) == 2, (found, r.results()))
    check("the gates refuse .env", "protected" in r.results()[1][1] and r.file(".env") is None, r.results())
    problems = undo_all(c)
    left = {name: what for name, what in tree(c).items() if name != "n"}
    check("undo gives the tree before", not problems and left == before, problems or tree(c))


@scenario(Gemini, Qwen)
def gemini_and_qwen(model, check):
    """write_file and replace become runs"""
    for kind, name, edit in ((Gemini, "gemini", "replace"), (Qwen, "qwen", "edit")):
        c = kind(model, "actum")
        c.put("a.txt", "one\n")
        c.actum("init")
        before = tree(c)
        settings = hook_settings(c, name)
        c.config(**settings, **({"hooksConfig": {"enabled": True}} if kind is Gemini else {}))
        change = {"file_path": c.path("a.txt"), "old_string": "one", "new_string": "two"}
        r = c.run([{"tool": "read_file", "input": {"file_path": c.path("a.txt"), "absolute_path": c.path("a.txt")}},
                   {"tool": edit, "input": change | ({"instruction": "x"} if kind is Gemini else {})},
                   {"tool": "write_file", "input": {"file_path": c.path("n.txt"), "content": "n\n"}},
                   {"tool": "write_file", "input": {"file_path": c.path("secrets.pem"), "content": "S=1\n"}}, "done"])
        found = runs(c)
        check(f"{name}: two edits are two runs", len(found) == 2, (found, r.results(), r.err[-300:]))
        # Gemini CLI refuses `.env` by itself.
        check(f"{name}: the gates refuse secrets", r.file("secrets.pem") is None and r.told("is protected"), r.results())
        problems = undo_all(c)
        check(f"{name}: undo gives the tree before", not problems and tree(c) == before, problems or tree(c))


@scenario(OpenCode)
def opencode(model, check):
    """The plugin makes runs of write and edit"""
    c = OpenCode(model, "actum")
    c.put("a.txt", "one\n")
    c.actum("init")
    before = tree(c)
    c.put(".opencode/plugin/actum.js", PLUGIN.read_text())
    r = c.run([{"tool": "read", "input": {"filePath": c.path("a.txt")}},
               {"tool": "edit", "input": {"filePath": c.path("a.txt"), "oldString": "one", "newString": "two"}},
               {"tool": "write", "input": {"filePath": c.path("n.txt"), "content": "n\n"}},
               {"tool": "write", "input": {"filePath": c.path(".env"), "content": "S=1\n"}}, "done"])
    found = runs(c)
    check("two edits are two runs", len(found) == 2, (found, r.results(), r.err[-300:]))
    check("the gates refuse .env", r.file(".env") is None and r.told("is protected"), r.results())
    problems = undo_all(c)
    check("undo gives the tree before", not problems and tree(c) == before, problems or tree(c))


def command(client, text):
    """A call of the client's shell."""
    if isinstance(client, Codex):
        return client.shell(text)
    if isinstance(client, Gemini):  # and Qwen Code
        return {"tool": "run_shell_command", "input": {"command": text, "is_background": False, "description": "x"}}
    if isinstance(client, OpenCode):
        return {"tool": "bash", "input": {"command": text, "description": "x"}}
    return client.bash(text)


def set_up(client, *options):
    """Puts the hook into the settings of a client; returns the arguments with which its shell may run."""
    if isinstance(client, OpenCode):
        client.put(".opencode/plugin/actum.js", client.actum("protect", "opencode", "--print", *options).stdout)
        return []
    name = client.name
    settings = hook_settings(client, name, arguments=options)
    if isinstance(client, Claude):
        client.settings(settings, where="local")
        return ["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]
    if isinstance(client, Codex):
        client.config()
        (client.codex_home / "hooks.json").write_text(json.dumps(settings))
        client.trust_hooks()
        return ["-s", "danger-full-access"]
    client.config(**settings, **({"hooksConfig": {"enabled": True}} if name == "gemini" else {}))
    return []


@scenario(Claude, Codex, Gemini, Qwen, OpenCode)
def strict(model, check):
    """With a strict hook the shell of a client runs only commands of actum, and what those change is a run"""
    for kind in (Claude, Codex, Gemini, Qwen, OpenCode):
        c = kind(model, "strict")
        c.put("a.txt", "one\n")
        c.actum("init")
        before = tree(c)
        arguments = set_up(c, "--strict")
        r = c.run([command(c, "touch made"), command(c, f"{ACTUM} exec -- sh -c 'echo two > a.txt; echo n > n.txt'"), "done"],
                  *arguments)
        check(f"{c.name}: another command is refused with words", r.file("made") is None and r.told("the hook is strict"), r.results())
        check(f"{c.name}: what `actum exec` changes is a run", r.file("a.txt") == "two\n" and len(runs(c)) == 1,
              (r.results(), r.err[-300:]))
        problems = undo_all(c)
        check(f"{c.name}: undo gives the tree before", not problems and tree(c) == before, problems or tree(c))


@scenario(Claude, Codex, Gemini, Qwen, OpenCode)
def turns(model, check):
    """What commands change in a turn becomes a run by `actum adopt`; a command on `.env` is refused"""
    for kind in (Claude, Codex, Gemini, Qwen, OpenCode):
        c = kind(model, "turns")
        c.put("a.txt", "one\n")
        c.put("old.txt", "old\n")
        c.actum("init")
        before = tree(c)
        arguments = set_up(c)
        r = c.run([command(c, "echo two > a.txt; mkdir new; echo n > new/n.txt; rm old.txt"),
                   command(c, "echo S=1 > .env"), "done"], *arguments)
        check(f"{c.name}: the command ran", r.file("a.txt") == "two\n" and r.file("old.txt") is None, (r.results(), r.err[-300:]))
        check(f"{c.name}: a command on .env is refused with words", r.file(".env") is None and r.told("is protected"), r.results())
        check(f"{c.name}: a command is no run", not runs(c), runs(c))
        adopted = c.actum("adopt")
        check(f"{c.name}: what it changed is adopted", adopted.returncode == 0 and len(runs(c)) == 1, adopted.stdout + adopted.stderr)
        problems = undo_all(c)
        check(f"{c.name}: undo gives the tree before", not problems and tree(c) == before, problems or tree(c))


@scenario(Claude)
def killed(model, check):
    """The client is killed in the middle: what was adopted can be undone, and the next edit works"""
    c = Claude(model, "killed")
    c.put("a.txt", "one\n")
    c.actum("init")
    c.settings(hook_settings(c, "claude"), where="local")
    before = tree(c)

    def stop(_):
        subprocess.run(["pkill", "-9", "-P", str(os.getpid())], check=False)  # the client is our only child
        return "done"
    c.run([c.read("a.txt"), c.edit("a.txt", "one", "two"), c.write("n.txt", "n\n"), stop],
          "--permission-mode", "acceptEdits", timeout=60)
    check("both edits are runs", len(runs(c)) == 2, runs(c))
    c.run([c.read("a.txt"), c.edit("a.txt", "two", "three"), "done"], "--permission-mode", "acceptEdits")
    check("the next edit is a run", len(runs(c)) == 3, runs(c))
    problems = undo_all(c)
    check("undo gives the tree before", not problems and tree(c) == before, problems or tree(c))


def mcp_calls(c, name):
    """A change, a refused one, a command and an undo, by the names that a client gives the tools."""
    change = {"files": [{"path": "n.txt", "content": "n\n"}, {"path": "a.txt", "content": "two\n"}]}
    return [name("apply", {"change": change, "overwrite": True}),
            name("apply", {"change": {"files": [{"path": ".env", "content": "S=1\n"}]}}),
            name("exec", {"command": "echo c > made.txt"}), name("undo", {}), "done"]


@scenario(Claude, Codex, OpenCode)
def mcp(model, check):
    """The tools of `actum mcp` in three clients"""
    for kind in (Claude, Codex, OpenCode):
        c = kind(model, "actum-mcp")
        c.put("a.txt", "one\n")
        c.actum("init")
        if kind is Claude:
            config = json.dumps({"mcpServers": {"actum": {"command": str(ACTUM), "args": ["mcp"], "env": {"ACTUM_HOME": c.env()["ACTUM_HOME"]}}}})
            r = c.run(mcp_calls(c, lambda tool, given: {"tool": f"mcp__actum__{tool}", "input": given}),
                      "--mcp-config", config, "--allowedTools", "mcp__actum")
        elif kind is Codex:
            c.config(tables=f'\n[mcp_servers.actum]\ncommand = "{ACTUM}"\nargs = ["mcp"]\n'
                            f'env = {{ ACTUM_HOME = "{c.env()["ACTUM_HOME"]}" }}\n')
            r = c.run(mcp_calls(c, lambda tool, given: {"tool": tool, "namespace": "mcp__actum", "input": given}),
                      "-s", "read-only")
        else:
            c.config(mcp={"actum": {"type": "local", "command": [str(ACTUM), "mcp"], "enabled": True}})
            r = c.run(mcp_calls(c, lambda tool, given: {"tool": f"actum_{tool}", "input": given}))
        results = r.results()
        found = runs(c)
        check(f"{kind.name}: a change, a command and an undo are three runs", len(found) == 3, (found, results, r.err[-300:]))
        check(f"{kind.name}: the refusal has its reason", len(results) > 1 and "CHANGE_DENIED" in results[1][1], results[1:2])
        check(f"{kind.name}: the change is there, the command is undone",
              r.file("n.txt") == "n\n" and r.file("a.txt") == "two\n" and r.file("made.txt") is None, results)
