#!/usr/bin/env python3
"""Sends broken frames to `actum mcp`: fuzz_mcp.py [SECONDS] [SEED]

After each batch the server must answer a ping, or have ended by itself with words; it must not crash, grow
without bound, or leave the ledger unsound. Prints the seed, and what was covered.
"""

import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from clients import ACTUM

TOOLS = ["apply", "exec", "undo", "log", "show", "status", "read", "approve", ""]
METHODS = ["tools/call", "tools/list", "ping", "initialize", "server/discover", "notifications/cancelled",
           "notifications/initialized", "resources/list", "prompts/get", "logging/setLevel", "completion/complete"]
MEMORY_KB_MAX = 400 * 1024
ANSWER_SECONDS = 30


def value(random, depth=0):
    kinds = [None, True, 0, -1, 2**63, 1e308, "", "x" * random.randrange(1, 4000), "\u202e\x1b[2J", "a.txt", ".env", "../x"]
    if depth > 3:
        return random.choice(kinds)
    pick = random.randrange(4)
    if pick == 0:
        return [value(random, depth + 1) for _ in range(random.randrange(4))]
    if pick == 1:
        keys = ["change", "path", "content", "old_string", "new_string", "run", "argv", "command", "number", "_meta", "x"]
        return {random.choice(keys): value(random, depth + 1) for _ in range(random.randrange(4))}
    return random.choice(kinds)


def frame(random):
    """One frame: a request as it should be, or one that is wrong in its fields."""
    arguments = random.choice([
        {"change": {"path": "a.txt", "content": f"{random.random()}\n"}},
        {"change": {"path": "a.txt", "old_string": "x", "new_string": "y"}},
        {"path": "a.txt"}, {"number": 3}, {"argv": ["true"]}, {"run": "zzzz"}, {}])
    call = {"jsonrpc": "2.0", "id": random.choice([random.randrange(1 << 40), "text", -1, 1.5]),
            "method": random.choice(METHODS), "params": {"name": random.choice(TOOLS), "arguments": arguments}}
    if random.random() < 0.5:
        call["params"]["arguments"] = value(random)
    if random.random() < 0.3:
        call[random.choice(list(call))] = value(random)
    if random.random() < 0.2:
        call["params"] = value(random)
    if random.random() < 0.2:
        del call[random.choice(list(call))]
    return json.dumps(call if random.random() < 0.9 else [call]).encode("utf-8", "surrogatepass")


def broken(random, data):
    """The same with bytes changed, cut off, repeated or put in."""
    data = bytearray(data)
    for _ in range(random.randrange(1, 5)):
        at, way = random.randrange(len(data) + 1), random.randrange(5)
        if way == 0 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif way == 1:
            del data[at:at + random.randrange(40)]
        elif way == 2:
            data[at:at] = random.randbytes(random.randrange(1, 20))
        elif way == 3:
            data[at:at] = b"[" * random.randrange(1, 3000)
        else:
            data[at:at] = data[:random.randrange(200)]
    return bytes(data)


class Server:
    def __init__(self, root, env):
        self.child = subprocess.Popen([str(ACTUM), "mcp"], cwd=root, env=env, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.set_blocking(self.child.stdout.fileno(), False)
        self.rest = b""
        self.send(json.dumps({"jsonrpc": "2.0", "id": "begin", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}}).encode())
        self.wait_for("begin")
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def send(self, data):
        self.child.stdin.write(data + b"\n")
        self.child.stdin.flush()

    def wait_for(self, wanted):
        """Reads answers until the one with this id; False where the server ended."""
        end = time.time() + ANSWER_SECONDS
        while time.time() < end:
            select.select([self.child.stdout], [], [], 0.2)
            piece = self.child.stdout.read()
            if piece == b"" or (piece is None and self.child.poll() is not None):
                return False
            self.rest += piece or b""
            *lines, self.rest = self.rest.split(b"\n")
            for line in lines:
                if json.loads(line).get("id") == wanted:
                    return True
        raise SystemExit(f"no answer within {ANSWER_SECONDS} seconds")

    def memory_kb(self):
        status = Path(f"/proc/{self.child.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])


def main(seconds=600, seed=None):
    seed = seed if seed is not None else random.randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    choose, seen, memory = random.Random(seed), Counter(), 0
    with tempfile.TemporaryDirectory(dir=Path.home()) as place:
        root = Path(place, "ws")
        root.mkdir()
        root.joinpath("a.txt").write_text("x\n")
        env = {"PATH": "/usr/bin:/bin", "HOME": place, "ACTUM_HOME": f"{place}/home"}
        subprocess.run([str(ACTUM), "init"], cwd=root, env=env, check=True, capture_output=True)
        server, end, number = Server(root, env), time.time() + seconds, 0
        while time.time() < end:
            number += 1
            for _ in range(20):
                data = frame(choose)
                kind = "wrong fields"
                if choose.random() < 0.6:
                    data, kind = broken(choose, data).replace(b"\n", b" "), "broken bytes"
                seen[kind] += 1
                try:
                    server.send(data)
                except BrokenPipeError:
                    break
            try:
                server.send(json.dumps({"jsonrpc": "2.0", "id": f"ping{number}", "method": "ping"}).encode())
                alive = server.wait_for(f"ping{number}")
            except BrokenPipeError:
                alive = False
            if alive:
                memory = max(memory, server.memory_kb())
                continue
            code, words = server.child.wait(), server.child.stderr.read().decode(errors="replace")
            seen["the server ended"] += 1
            if code < 0 or code == 101 or "panicked" in words:
                raise SystemExit(f"the server crashed with {code}: {words[-600:]}")
            server = Server(root, env)
        server.child.stdin.close()
        code = server.child.wait(timeout=ANSWER_SECONDS)
        sound = subprocess.run([str(ACTUM), "ledger", "verify"], cwd=root, env=env, capture_output=True, text=True, check=False)
        log = subprocess.run([str(ACTUM), "log", "--json", "-n", "100000"], cwd=root, env=env, capture_output=True, text=True, check=False)
        print(f"{dict(seen)}; {len(json.loads(log.stdout)['runs'])} runs; at most {memory // 1024} MiB; ended with {code}; "
              f"ledger verify {sound.returncode}")
        if memory > MEMORY_KB_MAX or code or sound.returncode:
            raise SystemExit("this is not what it should be")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
