#!/usr/bin/env python3
"""Applies and undoes changes between trees of Debian packages that contain symbolic links, next to git.

Usage: scripts/realworld-links.py ACTUM

For each two neighbours in PACKAGES, `actum apply` changes the tree of the first by the diff of git to the tree of the second. A
change that needs an approval is approved. The tree must then match the one in git, and after `actum undo` the one before: types,
modes, owners, contents and link targets. A refused change must leave the tree untouched.

Needs git, dpkg-deb, and apt-get with package lists, which downloads about 47 MB. Any user can run it. All data is in a temporary
directory, which is removed at the end. The exit code is 1 if anything is wrong.
"""

import hashlib
import json
import os
import secrets
import signal
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

# Alternatives of each other are neighbours: they have links with other targets, or files, at the same paths.
PACKAGES = """
    systemd-sysv sysvinit-core runit-init systemd systemd-resolved fuse3 kmod procps lvm2 iptables e2fsprogs ifupdown ifupdown-ng
    postfix exim4-daemon-light msmtp-mta nullmailer dma esmtp-run opensmtpd bzip2 xz-utils mtools netpbm git pkgconf
    libcurl4-openssl-dev libcurl4-gnutls-dev libcurl4-nss-dev libkrb5-dev heimdal-dev libssl-dev libgnutls28-dev libgmp-dev
    ncurses-base ncurses-term tzdata fontconfig-config xkb-data npm maven ant ruby libjs-sphinxdoc
    gnome-icon-theme tango-icon-theme adwaita-icon-theme
""".split()
DEB_BYTES_MAX = 30_000_000
THERE_AND_BACK_MIN = 30
REFUSED, QUEUED = 1, 6  # exit codes of actum
GIT_CONFIG = "[user]\nname = test\nemail = test@localhost\n[gc]\nauto = 0\n[maintenance]\nauto = false\n"


class Wrong(Exception):
    """A difference from what actum guarantees."""


class Package:
    """A downloaded package, its tree, and how many links and files it contains."""

    def __init__(self, deb, tree):
        self.deb, self.tree = deb, tree
        self.unpack(tree)
        kinds = Counter(stat.S_IFMT(mode) for mode, *_ in snapshot(tree).values())
        self.links, self.files = kinds[stat.S_IFLNK], kinds[stat.S_IFREG]

    def unpack(self, directory):
        subprocess.run(["dpkg-deb", "-x", self.deb, directory], check=True)


class Bench:
    """Runs actum and git with a home directory of their own, and counts."""

    def __init__(self, actum, directory):
        self.actum, self.directory, self.passphrase = actum, directory, directory / "passphrase"
        self.approvals, self.link_changes = 0, Counter()
        home = directory / "home"
        home.mkdir()
        (home / ".gitconfig").write_text(GIT_CONFIG)
        self.environment = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(home), "ACTUM_HOME": str(home / "actum"),
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1",
        }
        self.passphrase.touch(mode=0o600)
        self.passphrase.write_text(secrets.token_hex(16) + "\n")
        code, document = self.run_actum(directory, "key", "make", "approval", "--passphrase-file", self.passphrase)
        if code != 0:
            sys.exit(f"cannot make the approval key: {document['message']}")

    def run_actum(self, cwd, *arguments):
        command = [self.actum, *arguments, "--json"]
        done = subprocess.run(command, cwd=cwd, env=self.environment, capture_output=True)
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            raise Wrong(f"{arguments[0]} ended with {done.returncode}: {done.stderr.decode()[-300:]}") from None

    def git(self, cwd, *arguments, **environment):
        done = subprocess.run(["git", *arguments], cwd=cwd, env=self.environment | environment, capture_output=True)
        if done.returncode != 0:
            raise Wrong(f"git {arguments[0]} ended with {done.returncode}: {done.stderr.decode()[-300:]}")
        return done.stdout

    def change(self, workspace, *arguments):
        """Runs actum, and approves the plan if the change was queued."""
        code, document = self.run_actum(workspace, *arguments)
        if code == QUEUED:
            self.approvals += 1
            approve = ("approve", document["plan"], "--passphrase-file", self.passphrase)
            code, document = self.run_actum(workspace, *approve)
        if code not in (0, REFUSED) or (code == REFUSED and arguments[0] == "undo"):
            raise Wrong(f"{arguments[0]} ended with {code}: {document.get('message')}")
        return document["reason"] if code == REFUSED else None

    def there_and_back(self, before, after, renames):
        """Changes the tree of one package to that of another, and back; returns the outcome."""
        with tempfile.TemporaryDirectory(dir=self.directory, prefix="workspace-") as directory:
            workspace, diff = Path(directory, "tree"), Path(directory, "change.diff")
            before.unpack(workspace)
            self.git(workspace, "init", "-q")
            self.git(workspace, "add", "-A", "-f")
            self.git(workspace, "commit", "-q", "-m", "before")
            other = {"GIT_DIR": f"{workspace}/.git", "GIT_WORK_TREE": str(after.tree), "GIT_INDEX_FILE": f"{directory}/index"}
            self.git(after.tree, "add", "-A", "-f", **other)
            target = self.git(after.tree, "write-tree", **other).decode().strip()
            diff.write_bytes(self.git(workspace, "diff", "--binary", "--full-index", renames, "HEAD", target))

            start = snapshot(workspace)
            compare(as_git(start), self.tree_in_git(workspace, "HEAD"), "the unpacked tree")
            if reason := self.change(workspace, "apply", diff):
                compare(snapshot(workspace), start, "the tree after the refusal")
                return f"refused ({reason})"
            compare(as_git(snapshot(workspace)), self.tree_in_git(workspace, target), "the changed tree")
            self.change(workspace, "undo")
            compare(snapshot(workspace), start, "the tree after the undo")
            self.count_link_changes(self.git(workspace, "diff", "--raw", renames, "HEAD", target).decode())
            return "there and back"

    def tree_in_git(self, workspace, revision):
        """Mode and object id of each path in a tree of git."""
        entries = self.git(workspace, "ls-tree", "-r", "-z", revision).decode("utf-8", "surrogateescape").split("\0")[:-1]
        return {os.fsencode(path): tuple(fields.split()[::2]) for fields, path in (entry.split("\t", 1) for entry in entries)}

    def count_link_changes(self, raw):
        for old, new, _, _, status, *_ in (line.lstrip(":").split() for line in raw.splitlines()):
            if "120000" in (old, new):
                verbs = {"A": "made", "D": "removed", "M": "retargeted", "R": "moved", "T": "exchanged with files"}
                self.link_changes[verbs[status[0]]] += 1


def snapshot(root):
    """Mode, owner, group and content (as an object id of git) of each path below `root`, directories included."""
    paths, root = {}, os.fsencode(root)
    for directory, directories, files in os.walk(root):
        if directory == root:
            directories[:] = [name for name in directories if name not in (b".git", b".actum")]
        for path in (os.path.join(directory, name) for name in directories + files):
            status, content = os.lstat(path), b""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                content = Path(os.fsdecode(path)).read_bytes()
            name = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            paths[os.path.relpath(path, root)] = (status.st_mode, status.st_uid, status.st_gid, name)
    return paths


def as_git(paths):
    """A snapshot as git records it: without directories and owners, and of the mode of a file only if it is executable."""
    def mode(bits):
        return "120000" if stat.S_ISLNK(bits) else "100755" if bits & stat.S_IXUSR else "100644"
    return {path: (mode(bits), name) for path, (bits, _, _, name) in paths.items() if not stat.S_ISDIR(bits)}


def compare(found, expected, what):
    if paths := sorted(path for path in found.keys() | expected.keys() if found.get(path) != expected.get(path)):
        first = f"{os.fsdecode(paths[0])}: {found.get(paths[0])} instead of {expected.get(paths[0])}"
        raise Wrong(f"{what} differs at {len(paths)} paths; {first}")


def download(directory):
    """Downloads PACKAGES; returns those that can be used, by name."""
    packages = {}
    for name in PACKAGES:
        debs, tree = directory / "debs" / name, directory / "trees" / name
        debs.mkdir(parents=True)
        tree.parent.mkdir(exist_ok=True)
        done = subprocess.run(["apt-get", "download", name], cwd=debs, capture_output=True)
        deb = next(debs.glob("*.deb"), None)
        if done.returncode != 0 or not deb:
            print(f"{name}: left out, cannot be downloaded: {done.stderr.decode().strip()[-200:]}")
        elif deb.stat().st_size > DEB_BYTES_MAX:
            print(f"{name}: left out, too large")
        elif not (package := Package(deb, tree)).links:
            print(f"{name}: left out, contains no symbolic link")
        else:
            packages[name] = package
    return packages


def main(actum, directory):
    bench, packages, outcomes = Bench(os.path.abspath(actum), directory), download(directory), Counter()
    names = list(packages)
    for number, (before, after) in enumerate(zip(names, names[1:])):
        renames = "--no-renames" if number % 2 else "-M"
        try:
            outcome = text = bench.there_and_back(packages[before], packages[after], renames)
        except Wrong as wrong:
            outcome, text = "wrong", f"WRONG: {wrong}"
        outcomes[outcome] += 1
        print(f"{after:<21} {packages[after].links:>5} links {packages[after].files:>5} files  {renames:<12}  {text}", flush=True)
    links, files = (sum(getattr(package, kind) for package in packages.values()) for kind in ("links", "files"))
    outcomes["wrong"] += 0
    print(f"{len(packages)} packages, {links} links, {files} files; {bench.approvals} approvals; links "
          + ", ".join(f"{verb} {count}" for verb, count in bench.link_changes.most_common()) + "; changes "
          + ", ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common()))
    return 1 if outcomes["wrong"] or outcomes["there and back"] < THERE_AND_BACK_MIN else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # removes the directory, too
    with tempfile.TemporaryDirectory(prefix="realworld-links-") as temporary:
        sys.exit(main(sys.argv[1], Path(temporary)))
