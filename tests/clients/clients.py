"""How each real client is started: one class per client, all with the same `run`.

A run has a folder of its own with `home` (HOME of the client), `ws` (the workspace), `log` (what the
probes record) and `tmp`. The environment is made from nothing, so nothing of the person who runs the
harness is used or touched; keys are dummies, the model is the mock, telemetry and updates are off.
"""

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = Path(os.environ.get("HARNESS_ROOT", Path.home() / "actum-clients"))
INSTALLED = ROOT / "inst"
RUNS = ROOT / "runs"
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin:" + os.environ.get("PATH", ""))
ACTUM = Path(os.environ.get("ACTUM", HERE.parents[1] / "target/debug/actum"))


@dataclass
class Result:
    """What came of one client run."""

    code: int
    out: str
    err: str
    seconds: float
    run: object  # mock_model.Run: what the client sent to the model
    client: object
    hooks: list = field(default_factory=list)
    mcp: list = field(default_factory=list)

    def events(self, name=None, tool=None):
        """The hook calls in order: all, or those of one event, or of one tool."""
        return [h for h in self.hooks if name in (None, h["event"]) and tool in (None, h["input"].get("tool_name"))]

    def order(self):
        """The names of the hook calls in order, with the tool where there is one."""
        return [":".join(filter(None, [h["event"], h["input"].get("tool_name")])) for h in self.hooks]

    def results(self):
        """(is_error, text) of each tool result that the model was given, in order."""
        return list(_tool_results(self.run.requests[-1])) if self.run.requests else []

    def told(self, text):
        """Whether the model was given this text, in its last request."""
        return bool(self.run.requests) and text in json.dumps(self.run.requests[-1]["body"])

    def tools(self):
        """The names of the tools that the first request lists."""
        return list(_tool_names(self.run.requests[0]["body"]))

    def mcp_calls(self, method):
        return [m["message"] for m in self.mcp if m["way"] == "in" and m["message"].get("method") == method]

    def file(self, name):
        path = self.client.ws / name
        return path.read_text() if path.exists() else None

    def gaps(self):
        """Milliseconds between an answer of the model and the next request: one tool call each."""
        requests = self.run.requests
        return [(after["at"] - before["sent"]) * 1000 for before, after in zip(requests, requests[1:])]


class Client:
    name = ""
    binary = Path()

    def __init__(self, model, run_name):
        self.model, self.run_name = model, f"{self.name}-{run_name}"
        self.dir = RUNS / self.run_name
        shutil.rmtree(self.dir, ignore_errors=True)
        for part in ("home", "ws", "log", "tmp"):
            (self.dir / part).mkdir(parents=True)
        self.ws, self.home, self.log = self.dir / "ws", self.dir / "home", self.dir / "log"

    @classmethod
    def is_installed(cls):
        return cls.binary.exists()

    def env(self):
        return {"PATH": f"{ACTUM.parent}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8",
                "TERM": "dumb", "TMPDIR": str(self.dir / "tmp"), "ACTUM_HOME": str(self.dir / "actum")}

    def command(self, *args, prompt):
        raise NotImplementedError

    def answers(self, answers):
        """What the recording hook answers, by event; see probes/hook.py."""
        (self.log / "answers.json").write_text(json.dumps(answers))

    def hook(self):
        """The command line of the recording hook."""
        return f"{PYTHON} {HERE}/probes/hook.py {self.log}"

    def mcp(self):
        """The command line of the recording MCP server, as a list."""
        return [PYTHON, f"{HERE}/probes/mcp_server.py", str(self.log)]

    def mcp_config(self, config):
        """What the recording MCP server does otherwise; see probes/mcp_server.py."""
        (self.log / "mcp.json").write_text(json.dumps(config))

    def put(self, name, text):
        path = self.ws / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def path(self, name):
        return str(self.ws / name)

    def actum(self, *args):
        return subprocess.run([str(ACTUM), *args], cwd=self.ws, env=self.env(), capture_output=True, text=True,
                              check=False)

    def run(self, script, *args, env=(), timeout=120, prompt="go"):
        run = self.model.start_run(self.run_name, script)
        begin = time.time()
        try:
            done = subprocess.run(self.command(*args, prompt=prompt), cwd=self.ws, env=self.env() | dict(env),
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                                  check=False)
            code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as e:
            code, out, err = -1, _text(e.stdout), _text(e.stderr)
        result = Result(code, out, err, time.time() - begin, run, self)
        result.hooks, result.mcp = _lines(self.log / "hooks.jsonl"), _lines(self.log / "mcp.jsonl")
        return result


class Claude(Client):
    name = "claude"
    binary = INSTALLED / "claude/node_modules/.bin/claude"

    def env(self):
        return super().env() | {
            "ANTHROPIC_BASE_URL": self.model.url(self.run_name), "ANTHROPIC_API_KEY": "sk-test",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1"}

    def command(self, *args, prompt):
        return [str(self.binary), "-p", prompt, "--output-format", "json", *args]

    def settings(self, settings, where="project"):
        path = {"project": self.ws / ".claude/settings.json", "local": self.ws / ".claude/settings.local.json",
                "user": self.home / ".claude/settings.json"}[where]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings, indent=1))

    def hooks(self, *events, matcher=None, **extra):
        """Settings that run the recording hook on these events."""
        entry = {"hooks": [{"type": "command", "command": self.hook()} | extra]}
        entry |= {"matcher": matcher} if matcher is not None else {}
        return {"hooks": {event: [entry] for event in events}}

    def mcp_args(self, name="probe"):
        command, *args = self.mcp()
        return ["--mcp-config", json.dumps({"mcpServers": {name: {"command": command, "args": args}}})]

    @staticmethod
    def bash(command, **more):
        return {"tool": "Bash", "input": {"command": command, "description": "x"} | more}

    def read(self, name):
        return {"tool": "Read", "input": {"file_path": self.path(name)}}

    def write(self, name, content):
        return {"tool": "Write", "input": {"file_path": self.path(name), "content": content}}

    def edit(self, name, old, new):
        return {"tool": "Edit", "input": {"file_path": self.path(name), "old_string": old, "new_string": new}}


class Codex(Client):
    name = "codex"
    vendor = "codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl"
    binary = INSTALLED / vendor / "bin/codex"
    unreviewed = "--dangerously-bypass-hook-trust"

    def __init__(self, model, run_name):
        super().__init__(model, run_name)
        self.codex_home = self.home / ".codex"
        self.codex_home.mkdir()

    def env(self):
        return super().env() | {"CODEX_HOME": str(self.codex_home), "MOCK_KEY": "sk-test"}

    def config(self, model="gpt-5.5", tables=""):
        """CODEX_HOME/config.toml. The name of the model decides its tools: gpt-5.5 has exec_command and
        apply_patch, the gpt-6 models have code mode, an unknown one has no apply_patch."""
        (self.codex_home / "config.toml").write_text(f"""
model = "{model}"
model_provider = "mock"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.mock]
name = "mock"
base_url = "{self.model.url(self.run_name)}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
{tables}
""")

    def hooks(self, *events, where="user", command=None, timeout=10):
        folder = {"user": self.codex_home, "project": self.ws / ".codex"}[where]
        folder.mkdir(exist_ok=True)
        entry = {"hooks": [{"type": "command", "command": command or self.hook(), "timeout": timeout}]}
        (folder / "hooks.json").write_text(json.dumps({"hooks": {event: [entry] for event in events}}))

    def mcp_table(self, **options):
        command, *args = self.mcp()
        lines = [f'\n[mcp_servers.probe]\ncommand = "{command}"\nargs = {json.dumps(args)}']
        return "\n".join(lines + [f"{key} = {json.dumps(value)}" for key, value in options.items()]) + "\n"

    def command(self, *args, prompt):
        if not (self.codex_home / "config.toml").exists():
            self.config()
        return [str(self.binary), "exec", "--json", "--skip-git-repo-check", *args, prompt]

    def hooks_list(self):
        """Each hook as the client sees it, with the hash it wants trusted: `hooks/list` of its app server."""
        first = {"id": 0, "method": "initialize", "params": {
            "clientInfo": {"name": "harness", "title": "harness", "version": "0"},
            "capabilities": {"experimentalApi": True}}}
        asks = [first, {"method": "initialized"},
                {"id": 1, "method": "hooks/list", "params": {"cwds": [str(self.ws)]}}]
        with subprocess.Popen([str(self.binary), "app-server"], cwd=self.ws, env=self.env(), text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
            server.stdin.write("".join(json.dumps(a) + "\n" for a in asks))
            server.stdin.flush()
            for line in server.stdout:
                message = json.loads(line)
                if message.get("id") == 1 and "result" in message:
                    server.terminate()
                    return [hook for entry in message["result"]["data"] for hook in entry["hooks"]]
        raise RuntimeError("the app server did not list hooks")

    def trust_hooks(self):
        """Writes down that the person trusts the hooks as they are now."""
        states = [f'\n[hooks.state."{h["key"]}"]\ntrusted_hash = "{h["currentHash"]}"\n' for h in self.hooks_list()]
        with open(self.codex_home / "config.toml", "a") as file:
            file.write("".join(states))

    @staticmethod
    def shell(command, **more):
        return {"tool": "exec_command", "input": {"cmd": command} | more}

    @staticmethod
    def patch(body):
        return {"tool": "apply_patch", "custom": f"*** Begin Patch\n{body}*** End Patch\n"}


class OpenCode(Client):
    name = "opencode"
    binary = INSTALLED / "opencode/node_modules/opencode-ai/bin/opencode.exe"

    def env(self):
        home = self.home
        return super().env() | {
            "XDG_CONFIG_HOME": f"{home}/.config", "XDG_DATA_HOME": f"{home}/.local/share",
            "XDG_CACHE_HOME": f"{home}/.cache", "XDG_STATE_HOME": f"{home}/.local/state",
            "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}

    def config(self, **more):
        model = {"name": "mock", "tool_call": True, "limit": {"context": 200000, "output": 8000}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "mock", "models": {"mock": model},
                    "options": {"baseURL": f"{self.model.url(self.run_name)}/v1", "apiKey": "sk-test"}}
        config = {"model": "mock/mock", "small_model": "mock/mock", "autoupdate": False, "share": "disabled",
                  "provider": {"mock": provider}}
        self.put("opencode.json", json.dumps(config | more))

    def command(self, *args, prompt):
        if not (self.ws / "opencode.json").exists():
            self.config()
        return [str(self.binary), "run", *args, prompt]


class Gemini(Client):
    name = "gemini"
    binary = INSTALLED / "gemini/node_modules/.bin/gemini"
    folder, before = ".gemini", "BeforeTool"

    def env(self):
        return super().env() | {
            "GEMINI_API_KEY": "sk-test", "GOOGLE_GEMINI_BASE_URL": self.model.url(self.run_name),
            "GEMINI_TELEMETRY_ENABLED": "false", "GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "1"}

    def config(self, auth="gemini-api-key", **more):
        (self.home / self.folder).mkdir(exist_ok=True)
        config = {"security": {"auth": {"selectedType": auth}}, "privacy": {"usageStatisticsEnabled": False},
                  "general": {"disableAutoUpdate": True, "enableAutoUpdate": False}, "telemetry": {"enabled": False}}
        (self.home / self.folder / "settings.json").write_text(json.dumps(config | more))

    def hooks(self, *events, **extra):
        handler = {"name": "probe", "type": "command", "command": self.hook()} | extra
        return {"hooks": {event: [{"matcher": "*", "hooks": [handler]}] for event in events},
                "hooksConfig": {"enabled": True}}

    def command(self, *args, prompt):
        return [str(self.binary), "-p", prompt, "-m", "gemini-2.5-pro", "--approval-mode", "yolo", *args]


class Qwen(Gemini):
    name = "qwen"
    binary = INSTALLED / "qwen/node_modules/.bin/qwen"
    folder, before = ".qwen", "PreToolUse"

    def env(self):
        return Client.env(self) | {"OPENAI_API_KEY": "sk-test", "OPENAI_MODEL": "mock",
                                   "OPENAI_BASE_URL": f"{self.model.url(self.run_name)}/v1"}

    def config(self, auth="openai", **more):
        super().config(auth, **more)

    def command(self, *args, prompt):
        return [str(self.binary), "-p", prompt, "--approval-mode", "yolo", *args]


# What clients sent -------------------------------------------------------------------------------


def _text(data):
    return data.decode(errors="replace") if isinstance(data, bytes) else data or ""


def _lines(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def _tool_names(body):
    for tool in body.get("tools", []):
        if "functionDeclarations" in tool:
            yield from (f["name"] for f in tool["functionDeclarations"])
        else:
            yield tool.get("name") or tool.get("function", {}).get("name") or tool.get("type")


def _tool_results(request):
    body, api = request["body"], request["api"]
    if api == "messages":
        for message in body["messages"]:
            blocks = message["content"] if isinstance(message["content"], list) else []
            for block in blocks:
                if block["type"] == "tool_result":
                    yield bool(block.get("is_error")), _flat(block.get("content"))
    elif api == "chat":
        for message in body["messages"]:
            if message["role"] == "tool":
                yield None, _flat(message["content"])
    elif api == "responses":
        for item in body["input"]:
            if item.get("type", "").endswith("_call_output"):
                yield None, _flat(item.get("output"))
    elif api == "gemini":
        for content in body["contents"]:
            for part in content.get("parts", []):
                if "functionResponse" in part:
                    yield None, json.dumps(part["functionResponse"]["response"])


def _flat(content):
    if isinstance(content, list):
        return "\n".join(b.get("text", f"<{b.get('type')}>") for b in content)
    return content if isinstance(content, str) else json.dumps(content)
