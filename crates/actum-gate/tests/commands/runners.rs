//! Programs that execute code in their arguments, and the requirements on rules that allow them.

use actum_gate::Verdict;
use actum_gate::command::{CommandLine, CommandRule, CommandRules, RuleDecision};

use crate::{allowing_all, line};

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

fn loads(rule: CommandRule) -> bool {
    CommandRules::new(vec![rule]).is_ok()
}

/// Command prefixes that a rule must never allow.
const OPEN: &str = "\
sh
bash -c
bash -c ls
bash -e
bash --rcfile ./x
bash +x ./x
bash script
bash /dev/stdin
zsh -s
/bin/sh
./sh
SH
sh.exe
bash-5.2
dash -
busybox sh ./x.sh
python
python3
python3.11
python3.13t
PYTHON3
/usr/bin/python3
.venv/bin/python
python3 -c
python3 -c 1
python3 -m
python3 -m pdb
python3 -m pip install
python3 -m coverage run
python3 -u -c
python3 -i ./x.py
python3 x
python3 /dev/fd/0
python3 /proc/self/fd/0
pypy3 -c
node
node -e
node -p 1
node --check
node --import ./x.js
node inspect
nodejs -r ./x
node18 -e
perl -e
ruby -e
php -r
lua5.4 -e
deno
deno eval
deno run
deno run https://host/x.ts
deno test
bun
bun run x
awk 1
sed p
java
java -cp . Main
npm
npm run
npm run test
npm test
npm exec
npx tool
pnpm run test
yarn test
cargo
cargo +nightly test
cargo --config x test
go run
go tool
go generate
git
git -c
git -c alias.x=!sh
git --exec-path=x status
git bisect run
git grep
git rebase
git submodule foreach
git config
docker run
docker exec
podman run image
pip install
find .
find . -exec
xargs rm
make
make test
gmake -f Makefile
tar -x
rg x
sort x
vim ./x
ssh host
sudo ls
doas ls
watch ls
parallel ls
stdbuf -o0 ls
env
env A=b
env -i ls
env -S ls
env bash
env A=b python3
nohup
nohup bash
nohup -p cargo
nice -n 10 ls
time bash -c
timeout 60
timeout 60 bash
timeout -k 1 60 cargo test
timeout 60 env timeout 5 python3
setsid sh
uv
uv run
uv run --with x pytest
uv run python
uvx tool
poetry run python -c
bundle exec ruby -e
/lib64/ld-linux-x86-64.so.2 ls
ld-2.31.so";

/// Command prefixes that a rule may allow.
const FIXED: &str = "\
bash ./test.sh
bash -eu scripts/test.sh
python3 -m pytest
python3 -m unittest
python3 -B -m pytest
python3.11 -u tools/x.py
python3 manage.py test
node script.js
node --check src/file.js
perl t/x.pl
php ./artisan test
java -jar app.jar
deno run x.ts
npm run test --
npm test --
cargo test
cargo fmt --check
go test
go vet ./...
git status
git diff --stat
docker ps
pip list
pytest
eslint src
nohup cargo test
nice cargo test
timeout 60 cargo test
timeout 60 python3 -m pytest
env A=b C=d cargo test
env cargo test
uv run pytest
uv run python -m pytest
bundle exec rspec
sha256sum
node-gyp
shellcheck
timeouts
environment";

/// AA-7: interpreters, shells and launchers can never be allowed by a prefix.
#[test]
fn program_that_runs_its_arguments_cannot_be_allowed_by_prefix() {
    for text in OPEN.lines() {
        assert!(!loads(allowing_all(&words(text))), "{text}");
    }
}

/// AA-7
#[test]
fn rule_that_fixes_the_executed_code_may_allow_any_arguments() {
    for text in FIXED.lines() {
        let rule = allowing_all(&words(text));
        assert_eq!(CommandRules::new(vec![rule]).map(drop), Ok(()), "{text}");
    }
}

/// AA-7: an exact command determines the executed code, and an approver sees the whole command.
#[test]
fn exact_and_restricting_rules_may_name_any_program() {
    for text in OPEN.lines() {
        let argv = words(text);
        let line = CommandLine::new(argv.iter().map(ToString::to_string).collect()).unwrap();
        assert!(loads(CommandRule::allowing(&line)), "{text}");
        for decision in [RuleDecision::Ask, RuleDecision::Deny] {
            assert!(loads(CommandRule { decision, ..allowing_all(&argv) }), "{text}");
        }
    }
}

/// AA-7: a single alternative that leaves the executed code open makes the rule invalid.
#[test]
fn every_alternative_must_fix_the_executed_code() {
    let with = |argv: &str, example: &str| {
        let rule = format!("argv = {argv}\ndecision = \"allow\"\nmatch = [\"{example}\"]");
        loads(toml::from_str(&rule).unwrap())
    };
    assert!(with(r#"[["cargo", "pytest"], "test"]"#, "cargo test"));
    assert!(!with(r#"[["cargo", "bash"], "test"]"#, "cargo test"));
    assert!(with(r#"["node", ["a.js", "b.js"]]"#, "node a.js"));
    assert!(!with(r#"["node", ["a.js", "-e"]]"#, "node a.js"));
    assert!(!with(r#"["python3", ["-m", "a.py"], "pytest"]"#, "python3 -m pytest"));
    assert!(!with(r#"["python3", "-m", ["pytest", "pdb"]]"#, "python3 -m pytest"));
    assert!(!with(r#"["env", ["A=b", "sh"], "cargo"]"#, "env A=b cargo"));
    assert!(!with(r#"["timeout", ["60", "-k"], "cargo", "test"]"#, "timeout 60 cargo test"));
}

/// AA-7: the error suggests a rule that could be used instead.
#[test]
fn open_rule_is_rejected_with_a_suggested_replacement() {
    let refused =
        |text| CommandRules::new(vec![allowing_all(&words(text))]).unwrap_err().to_string();
    assert_eq!(
        refused("/usr/bin/Python3.11 -c"),
        "the command rule 1, `[\"/usr/bin/Python3.11\", \"-c\", …]`, cannot be used: \
         `/usr/bin/Python3.11` can run code from its arguments, and the rule allows any further \
         arguments; name a script, or `-m` and a module that does not run its arguments, directly \
         after it, or list all its arguments and set `exact = true`"
    );
    assert_eq!(
        refused("timeout 60 sudo ls"),
        "the command rule 1, `[\"timeout\", \"60\", \"sudo\", \"ls\", …]`, cannot be used: `sudo` \
         can run code from its arguments, and the rule allows any further arguments; list all its \
         arguments and set `exact = true`"
    );
}

/// AA-7: options that name a program are the only way around an allowed subcommand, so they are excluded.
#[test]
fn prefix_rule_excludes_options_that_name_a_program() {
    let verdict = |rule: &str, text: &str| {
        CommandRules::new(vec![allowing_all(&words(rule))]).unwrap().judge(&line(text)).verdict
    };
    for (rule, denied, allowed) in [
        ("cargo test", "cargo test --all --config x", "cargo test --all --configure x"),
        ("cargo test", "cargo test --config=a", "cargo test -- config"),
        ("cargo test", "cargo test -Zunstable-options", "cargo test -j1"),
        ("cargo test", "cargo test -qZscript", "cargo test -q -j1"),
        ("cargo test", "cargo test --manifest-path /x/Cargo.toml", "cargo test --no-fail-fast"),
        ("git log", "git log -1 --output=.git/config", "git log --oneline"),
        ("git diff", "git diff --ext-d", "git diff --stat"),
        ("git show", "git show --outp x", "git show -- output"),
        ("env A=b cargo test", "env A=b cargo test -C /x", "env A=b cargo test x"),
        ("timeout 9 go test", "timeout 9 go test -exec=x", "timeout 9 go test -execute"),
        ("go test", "go test -v -toolexec x ./...", "go test -work ./..."),
    ] {
        assert_eq!(verdict(rule, denied), Verdict::Deny, "{denied}");
        assert_eq!(verdict(rule, allowed), Verdict::Allow, "{allowed}");
    }
}
