//! Compiles filter rules to a BPF program for the kernel (seccomp(2), bpf(4)).
//!
//! The program finds the rule for a call by binary search. When a filter is installed, the kernel runs
//! it once for every system call to learn which calls are always allowed. With a linear search, this
//! would take longer than the rest of starting a command.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, sock_filter};

/// Reaction of the kernel to a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The kernel executes the call.
    Allow,
    /// The call fails with this error.
    Error(i32),
    /// The kernel skips the call and reports success.
    Pretend,
}

/// Rule for one system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    /// Cases in order of precedence: the first matching case determines the answer.
    pub(super) cases: Vec<Case>,
    /// Answer if no case matches.
    pub(super) else_: Answer,
}

/// Rule for calls that have no entry in the filter, which are allowed.
static ALLOWED: Rule = Rule { cases: Vec::new(), else_: Answer::Allow };

/// Answer to a system call if its arguments satisfy some conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    /// Conditions that must all be true for the case to match.
    pub(super) conditions: Vec<Condition>,
    pub(super) answer: Answer,
}

/// Condition on the lower 32 bits of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Condition {
    argument: u32,
    mask: u32,
    relation: Relation,
    value: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Is,
    IsNot,
    HasAny,
}

impl Condition {
    pub(super) fn is(argument: u32, value: u32) -> Self {
        Self { argument, mask: u32::MAX, relation: Relation::Is, value }
    }

    pub(super) fn is_not(argument: u32, value: u32) -> Self {
        Self { argument, mask: u32::MAX, relation: Relation::IsNot, value }
    }

    /// Returns a condition that is true if any of `bits` is set in the argument.
    pub(super) fn has(argument: u32, bits: i32) -> Self {
        let value = bits.cast_unsigned();
        Self { argument, mask: u32::MAX, relation: Relation::HasAny, value }
    }

    /// Returns a condition that is true if the bits of the argument selected by `mask` differ from `value`.
    pub(super) fn masked_is_not(argument: u32, mask: i32, value: i32) -> Self {
        let (mask, value) = (mask.cast_unsigned(), value.cast_unsigned());
        Self { argument, mask, relation: Relation::IsNot, value }
    }
}

/// Reason why the system call filter could not be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    #[error("this architecture is not supported")]
    Architecture,
    #[error("a rule is too long to be skipped by one jump")]
    TooLong,
}

// linux/bpf_common.h, linux/seccomp.h
const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
const IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const IF_GREATER: u16 = 0x25; // BPF_JMP | BPF_JGT | BPF_K
const IF_AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const IF_ANY: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K
const ALLOW: u32 = 0x7fff_0000;
const ERROR: u32 = 0x0005_0000;
const KILL: u32 = 0x8000_0000;
/// Offsets of the call number, the architecture and the arguments in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Audit identifier of this architecture (linux/audit.h), or `None` if it is not supported. All
/// supported architectures are little-endian, so the lower half of an argument comes first.
const OURS: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xc000_00f3)
} else {
    None
};

/// Assembles the filter program. A call with another architecture's ABI kills the process. A call with a
/// number above `newest`, such as any x32 call, fails with ENOSYS.
pub(super) fn assemble(
    rules: &BTreeMap<u32, Rule>,
    newest: u32,
) -> Result<BpfProgram, FilterError> {
    let ours = OURS.ok_or(FilterError::Architecture)?;
    let mut program = vec![
        plain(LOAD, ARCHITECTURE),
        jump(IF_EQUAL, ours, 1, 0),
        plain(RETURN, KILL),
        plain(LOAD, NUMBER),
        jump(IF_GREATER, newest, 0, 1),
        answer(Answer::Error(libc::ENOSYS)),
    ];
    program.extend(search(&ranges(rules))?);
    Ok(program)
}

/// Returns the ranges of consecutive calls that share a rule, each as its first call and that rule.
fn ranges(rules: &BTreeMap<u32, Rule>) -> Vec<(u32, &Rule)> {
    let mut ranges: Vec<(u32, &Rule)> = vec![(0, &ALLOWED)];
    for (call, rule) in rules {
        // The allowed range before this call is empty, so drop it.
        if ranges.last().is_some_and(|(start, _)| start == call) {
            ranges.pop();
        }
        if ranges.last().is_none_or(|(_, before)| *before != rule) {
            ranges.push((*call, rule));
        }
        ranges.push((call + 1, &ALLOWED));
    }
    ranges
}

/// Assembles a binary search over `ranges`, followed by the decision for each range.
fn search(ranges: &[(u32, &Rule)]) -> Result<BpfProgram, FilterError> {
    let (left, right) = match ranges {
        [] => return decide(&ALLOWED),
        [(_, rule)] => return decide(rule),
        _ => ranges.split_at(ranges.len() / 2),
    };
    let middle = right.first().map_or(0, |(start, _)| *start);
    let (left, right) = (search(left)?, search(right)?);
    let mut program = match u8::try_from(left.len()) {
        Ok(over) => vec![jump(IF_AT_LEAST, middle, over, 0)],
        // Conditional jumps have 8-bit offsets, so use an unconditional one for this distance.
        Err(_) => {
            let over = u32::try_from(left.len()).map_err(|_| FilterError::TooLong)?;
            vec![jump(IF_AT_LEAST, middle, 0, 1), plain(JUMP, over)]
        }
    };
    program.extend(left);
    program.extend(right);
    Ok(program)
}

/// Assembles the decision for calls with this rule: its cases in order, then its default answer.
fn decide(rule: &Rule) -> Result<BpfProgram, FilterError> {
    let mut program = Vec::new();
    for case in &rule.cases {
        // Build the case backwards, because each failing condition jumps over the remaining instructions.
        let mut part = vec![answer(case.answer)];
        for condition in case.conditions.iter().rev() {
            let over = u8::try_from(part.len()).map_err(|_| FilterError::TooLong)?;
            let Condition { argument, mask, relation, value } = *condition;
            let mut test = vec![plain(LOAD, ARGUMENTS + 8 * argument)];
            if mask != u32::MAX {
                test.push(plain(AND, mask));
            }
            test.push(match relation {
                Relation::Is => jump(IF_EQUAL, value, 0, over),
                Relation::IsNot => jump(IF_EQUAL, value, over, 0),
                Relation::HasAny => jump(IF_ANY, value, 0, over),
            });
            test.append(&mut part);
            part = test;
        }
        program.append(&mut part);
    }
    program.push(answer(rule.else_));
    Ok(program)
}

fn plain(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn answer(answer: Answer) -> sock_filter {
    plain(
        RETURN,
        match answer {
            Answer::Allow => ALLOW,
            Answer::Error(error) => ERROR | error.unsigned_abs(),
            Answer::Pretend => ERROR,
        },
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Interprets a filter program as the kernel does, and returns its result.
    fn run(program: &BpfProgram, architecture: u32, number: u32, arguments: [u32; 6]) -> u32 {
        let (mut at, mut register) = (0_usize, 0_u32);
        loop {
            let it = &program[at];
            let mut next = 0;
            let mut test = |holds: bool| next = usize::from(if holds { it.jt } else { it.jf });
            match it.code {
                RETURN => return it.k,
                LOAD => {
                    register = match it.k {
                        NUMBER => number,
                        ARCHITECTURE => architecture,
                        offset => arguments[(offset as usize - 16) / 8],
                    };
                }
                AND => register &= it.k,
                JUMP => next = it.k as usize,
                IF_EQUAL => test(register == it.k),
                IF_GREATER => test(register > it.k),
                IF_AT_LEAST => test(register >= it.k),
                IF_ANY => test(register & it.k != 0),
                code => panic!("{code}"),
            }
            at += 1 + next;
        }
    }

    fn expected(rule: Option<&Rule>, arguments: [u32; 6]) -> Answer {
        let Some(rule) = rule else { return Answer::Allow };
        let holds = |condition: &Condition| {
            let argument = arguments[condition.argument as usize] & condition.mask;
            match condition.relation {
                Relation::Is => argument == condition.value,
                Relation::IsNot => argument != condition.value,
                Relation::HasAny => argument & condition.value != 0,
            }
        };
        let case = rule.cases.iter().find(|case| case.conditions.iter().all(holds));
        case.map_or(rule.else_, |case| case.answer)
    }

    /// Asserts that a program follows its rules for every call, both for argument values from the rules
    /// and for other values.
    pub(in crate::filter) fn compare(
        program: &BpfProgram,
        rules: &BTreeMap<u32, Rule>,
        newest: u32,
    ) {
        let ours = OURS.unwrap();
        for number in 0..=newest {
            let rule = rules.get(&number);
            let conditions = rule.iter().flat_map(|rule| &rule.cases).flat_map(|it| &it.conditions);
            let mut values = vec![0, 1, u32::MAX, 0x1234];
            values.extend(conditions.flat_map(|it| [it.value, it.value ^ 1, !it.value]));
            for first in &values {
                for second in &values {
                    let arguments = [*first, *second, *first, *second, 0, 0];
                    for arguments in [arguments, [0, *first, *second, *first, 0, 0]] {
                        let found = run(program, ours, number, arguments);
                        let expected = answer(expected(rule, arguments)).k;
                        assert_eq!(found, expected, "{number} {arguments:?}");
                    }
                }
            }
        }
        for number in [newest + 1, 0x4000_0000, 0x4000_0001, u32::MAX] {
            let absent = answer(Answer::Error(libc::ENOSYS)).k;
            assert_eq!(run(program, ours, number, [0; 6]), absent);
        }
        assert_eq!(run(program, 0x4000_0003, 1, [0; 6]), KILL, "32-bit calls");
        assert!(program.len() < 450, "{}", program.len());
    }
}
