//! Rules of a filter as a program of the kernel (seccomp(2), bpf(4)).
//!
//! Calls are found by binary search. A program that compares one call after the other costs more
//! than the rest of a start. The kernel runs it once for every call that there is, to know those
//! that are always allowed.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, sock_filter};

/// Answer of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The kernel makes the call.
    Allow,
    /// The call fails with this error.
    Error(i32),
    /// The call is skipped, and success is reported.
    Pretend,
}

/// Rule for one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    /// The first that holds decides.
    pub(super) cases: Vec<Case>,
    /// Answer if no case matches.
    pub(super) else_: Answer,
}

/// Rule of all calls that have no rule of their own.
static ALLOWED: Rule = Rule { cases: Vec::new(), else_: Answer::Allow };

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    /// All must hold.
    pub(super) conditions: Vec<Condition>,
    pub(super) answer: Answer,
}

/// A condition on the lower half of one argument.
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

    /// Tests whether the argument has any of these bits.
    pub(super) fn has(argument: u32, bits: i32) -> Self {
        let value = bits.cast_unsigned();
        Self { argument, mask: u32::MAX, relation: Relation::HasAny, value }
    }

    /// Tests whether these bits of the argument differ from a value.
    pub(super) fn masked_is_not(argument: u32, mask: i32, value: i32) -> Self {
        let (mask, value) = (mask.cast_unsigned(), value.cast_unsigned());
        Self { argument, mask, relation: Relation::IsNot, value }
    }
}

/// Reason why there is no filter.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    #[error("there are no filters for this architecture")]
    Architecture,
    #[error("a rule has too many cases for a jump")]
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
/// Offsets of the number of the call, the architecture, and the arguments in the kernel's data.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// The number of this architecture (linux/audit.h). All of them lay the lower half first.
const OURS: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xc000_00f3)
} else {
    None
};

/// Makes the program. A call of another architecture ends the process; one after `newest` does not exist,
/// which holds for the calls of x32 as well.
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

/// The first call of each range of calls that are answered alike, and the answer.
fn ranges(rules: &BTreeMap<u32, Rule>) -> Vec<(u32, &Rule)> {
    let mut ranges: Vec<(u32, &Rule)> = vec![(0, &ALLOWED)];
    for (call, rule) in rules {
        // The answer to the calls before must not reach any other call.
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

/// The part of the program that decides between these ranges.
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
        // Only this jump leads so far.
        Err(_) => {
            let over = u32::try_from(left.len()).map_err(|_| FilterError::TooLong)?;
            vec![jump(IF_AT_LEAST, middle, 0, 1), plain(JUMP, over)]
        }
    };
    program.extend(left);
    program.extend(right);
    Ok(program)
}

/// The part that decides on one call.
fn decide(rule: &Rule) -> Result<BpfProgram, FilterError> {
    let mut program = Vec::new();
    for case in &rule.cases {
        // Built from its end, since each condition that does not hold jumps over what is left.
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

    /// Runs a program as the kernel does.
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

    /// Compares a program with its rules: every call, with arguments that the rules name and
    /// others.
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
        assert_eq!(run(program, 0x4000_0003, 1, [0; 6]), KILL, "calls of 32 bits");
        assert!(program.len() < 450, "{}", program.len());
    }
}
