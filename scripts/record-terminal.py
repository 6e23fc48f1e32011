#!/usr/bin/env python3
"""Records docs/terminal.svg from a real run of actum.

Usage: scripts/record-terminal.py PATH_OF_ACTUM [OUTPUT]

The commands below run in a fresh directory with a home of their own. Run ids and the user's name
are replaced by fixed ones, so the same program gives the same picture. Only the standard library
of Python is used.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

FILES = {
    "shop/README.md": "# Greeter\n",
    "shop/greet.sh": '#!/bin/sh\necho "hello"\n',
    "shop/idea.txt": "greet in Latin\n",
    "change.diff": """\
--- a/README.md
+++ b/README.md
@@ -1 +1,3 @@
 # Greeter
+
+Run `sh greet.sh`.
--- a/greet.sh
+++ b/greet.sh
@@ -1,2 +1,2 @@
 #!/bin/sh
-echo "hello"
+head -n 1 words.txt
--- /dev/null
+++ b/words.txt
@@ -0,0 +1 @@
+good day
""",
    "stale.diff": """\
--- a/README.md
+++ b/README.md
@@ -1,3 +1,3 @@
 # Greeter
 
-Run `sh greet.sh`.
+Run it.
--- a/greet.sh
+++ b/greet.sh
@@ -1,2 +1,2 @@
 #!/bin/sh
-echo "hello"
+echo "hi"
""",
}
# Comments are shown, too.
COMMANDS = [
    "# three files, as one change",
    "actum apply ../change.diff",
    "# a patch of which only the first part fits",
    "actum apply ../stale.diff",
    "# a command that deletes too much",
    "actum exec -- sh -c 'rm *.txt'",
    "actum undo",
    "actum log",
]
# Run before the recording.
PREPARATION = ["actum init"]

RUN_IDS = ["f3k7t2mzq9ra", "0m8qwd41cyxn", "c63d68hhs2pf", "x5rvn0je7b3k", "92hjzt6p1wqs"]
# A colour ends with a letter, which is no part of the id behind it.
RUN_ID = re.compile(r"(?:(?<=\x1b\[33m)|(?<![0-9A-Za-z]))[0-9a-hjkmnp-tv-z]{12}(?![0-9A-Za-z])")
USER = "ann"
SECONDS_MAX = 60

COLUMNS = 104
FONT_SIZE = 13
COLUMN_WIDTH = 7.83
LINE_HEIGHT = 19
MARGIN = 20
TITLE_HEIGHT = 30
COLOURS = {
    "background": "#0d1117",
    "text": "#d6dde6",
    "prompt": "#7ee787",
    "comment": "#8b949e",
    "31": "#ff7b72",
    "32": "#7ee787",
    "33": "#e3b341",
    "34": "#79c0ff",
    "35": "#d2a8ff",
    "36": "#76e3ea",
}
SGR = re.compile(r"\x1b\[([0-9;]*)m")


def run(command, root, place):
    """Runs a command line and returns all that it writes, with colours."""
    script = f'exec 2>&1; actum() {{ command actum --color always "$@"; }}; {command}'
    environment = {
        "PATH": f"{place / 'bin'}:/usr/bin:/bin",
        "HOME": str(place / "home"),
        "ACTUM_HOME": str(place / "home/actum"),
        "XDG_CONFIG_HOME": str(place / "home/config"),
        "LANG": "C.UTF-8",
    }
    ended = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=SECONDS_MAX,
    )
    return ended.stdout.decode()


def record(actum):
    """Returns the lines of the recording. Each is a list of pairs of colour and text."""
    with tempfile.TemporaryDirectory(prefix="actum-record-") as directory:
        place = Path(directory).resolve()
        root = place / "work/shop"
        for name, text in FILES.items():
            path = place / "work" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o644)
        for name in ("bin", "home"):
            (place / name).mkdir()
        shutil.copy(actum, place / "bin/actum")
        for command in PREPARATION:
            run(command, root, place)
        lines, known = [], {}
        for command in COMMANDS:
            if command.startswith("#"):
                if lines:
                    lines.append([])
                lines.append([("comment", command)])
                continue
            lines.append([("prompt", "$ "), ("text", command)])
            written = normalise(run(command, root, place), known)
            for found in (str(place), str(Path.home()) + "/", os.uname().nodename):
                if found in written and len(found) > 2:
                    sys.exit(f"the output of `{command}` names this machine: {found}")
            for line in written.splitlines():
                lines.extend(wrap(coloured(line)))
        return lines


def normalise(text, known):
    """Replaces run ids, in the order in which they are shown, and the user."""
    user = subprocess.run(["id", "-un"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()

    def fixed(match):
        if match[0] not in known:
            known[match[0]] = RUN_IDS[len(known)]
        return known[match[0]]

    text = RUN_ID.sub(lambda match: fixed(match) if re.search("[0-9]", match[0]) else match[0], text)
    return text.replace(f"  {user}  ", f"  {USER}  ")


def coloured(line):
    """Splits a line at its escape sequences for colours."""
    parts, colour, at = [], "text", 0
    for match in SGR.finditer(line):
        parts.append((colour, line[at : match.start()]))
        at = match.end()
        for code in match[1].split(";"):
            if code in COLOURS:
                colour = code
            elif code in ("", "0", "39"):
                colour = "text"
    parts.append((colour, line[at:]))
    return [part for part in parts if part[1]]


def wrap(parts):
    """Breaks a line that is too long at a blank. What follows is indented."""
    lines, line, width = [], [], 0
    for colour, text in parts:
        for word in re.findall(r" *[^ ]+| +$", text):
            if width + len(word) > COLUMNS and line:
                lines.append(line)
                word = "  " + word.lstrip()
                line, width = [], 0
            line.append((colour, word))
            width += len(word)
    return lines + [line]


def svg(lines):
    width = round(COLUMNS * COLUMN_WIDTH + 2 * MARGIN)
    height = TITLE_HEIGHT + len(lines) * LINE_HEIGHT + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="A terminal session with actum">',
        f'<rect width="{width}" height="{height}" rx="8" fill="{COLOURS["background"]}"/>',
    ]
    for at, fill in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        out.append(f'<circle cx="{MARGIN + 6 + at * 20}" cy="22" r="6" fill="{fill}"/>')
    out.append(
        f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="{FONT_SIZE}">'
    )
    y = TITLE_HEIGHT + MARGIN + FONT_SIZE
    for line in lines:
        merged = []
        for colour, text in line:
            if merged and merged[-1][0] == colour:
                merged[-1] = (colour, merged[-1][1] + text)
            else:
                merged.append((colour, text))
        spans = "".join(
            f'<tspan fill="{COLOURS[colour]}">{escape(text, quote=False)}</tspan>'
            for colour, text in merged
        )
        if spans:
            out.append(f'<text x="{MARGIN}" y="{y}" xml:space="preserve">{spans}</text>')
        y += LINE_HEIGHT
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    default = Path(__file__).resolve().parent.parent / "docs/terminal.svg"
    output = Path(sys.argv[2]) if len(sys.argv) == 3 else default
    output.write_text(svg(record(sys.argv[1])))


main()
