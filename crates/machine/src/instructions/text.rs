//! The program's own text, read for the instructions of its blocks.
//!
//! Role         a block goes from behind its hook to where the next one's is called, or to where it
//!              jumps or returns. A jump that does not depend on anything is followed: the compiler
//!              lays out blocks anew after it has put hooks into them, and what two of them end
//!              with may stand once, with no hook of its own
//! Errors       what cannot be decoded ends the block

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl};

/// Where the way through a block that is followed ends at the latest.
const JUMPS_MAX: u32 = 8;
/// So much of the text is looked at without a jump.
#[cfg(hotrow_machine)]
const WINDOW: u64 = 16 << 10;

/// How many instructions there are from a place of the text on until the block ends, at least one.
/// `text` gives what stands from an address on, `hook` is the address of what blocks call.
pub(super) fn instructions_of_block<'a>(
    text: impl Fn(u64) -> &'a [u8],
    from: u64,
    hook: u64,
) -> u32 {
    let (mut from, mut found) = (from, 0);
    for _ in 0..JUMPS_MAX {
        let mut decoder = Decoder::with_ip(64, text(from), from, DecoderOptions::NONE);
        let mut next = None;
        for instruction in &mut decoder {
            if instruction.is_invalid() {
                return found.max(1);
            }
            match instruction.flow_control() {
                FlowControl::Call if instruction.near_branch_target() == hook => {
                    // The word's address was loaded before, which is the hook's, too.
                    return found.saturating_sub(1).max(1);
                }
                FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => {
                    found += u32::from(!is_padding(instruction.code()));
                }
                FlowControl::UnconditionalBranch => {
                    found += 1;
                    next = Some(instruction.near_branch_target());
                    break;
                }
                _ => return found + 1,
            }
        }
        match next {
            Some(target) => from = target,
            None => break,
        }
    }
    found.max(1)
}

/// What fills up to an address and does nothing.
fn is_padding(code: Code) -> bool {
    matches!(code, Code::Nopw | Code::Nopd | Code::Nopq | Code::Nop_rm16 | Code::Nop_rm32)
}

/// What stands in this program from an address on; nothing where that is not in its text.
#[cfg(hotrow_machine)]
pub(super) fn program(from: u64) -> &'static [u8] {
    unsafe extern "C" {
        /// The linker's: where the program begins in memory.
        static __executable_start: u8;
        /// The linker's: where its text ends.
        static etext: u8;
    }
    let begins = (&raw const __executable_start).addr() as u64;
    let ends = (&raw const etext).addr() as u64;
    if !(begins..ends).contains(&from) {
        return &[];
    }
    // SAFETY: callers ask for what runs or is jumped to, so it is text, which lies in one piece, is
    // never written, and is not left on the way to its end.
    unsafe { std::slice::from_raw_parts(from as *const u8, (ends - from).min(WINDOW) as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x1000;
    const HOOK: u64 = 0x2000;

    fn count(text: &[u8]) -> u32 {
        let from = |at: u64| text.get((at - BASE) as usize..).unwrap_or_default();
        instructions_of_block(from, BASE, HOOK)
    }

    /// `lea rdi, [rip + 0]` and a call of the hook, at an offset of the text.
    fn hook_at(offset: usize) -> Vec<u8> {
        let behind = BASE + offset as u64 + 12;
        let mut code = vec![0x48, 0x8d, 0x3d, 0, 0, 0, 0, 0xe8];
        code.extend((HOOK as u32).wrapping_sub(behind as u32).to_le_bytes());
        code
    }

    const MOVE: [u8; 3] = [0x48, 0x89, 0xc8]; // mov rax, rcx

    #[test]
    fn a_block_ends_where_the_next_hook_is_called() {
        let mut text = [MOVE, MOVE, MOVE].concat();
        text.extend(hook_at(9));
        text.extend(MOVE);
        assert_eq!(count(&text), 3);
    }

    #[test]
    fn what_depends_and_what_returns_ends_a_block() {
        assert_eq!(count(&[&MOVE[..], &[0x74, 0x10], &MOVE].concat()), 2, "je");
        assert_eq!(count(&[&MOVE[..], &[0xc3], &MOVE].concat()), 2, "ret");
        assert_eq!(count(&[&MOVE[..], &[0xff, 0xe0], &MOVE].concat()), 2, "jmp rax");
    }

    #[test]
    fn a_sure_jump_is_followed() {
        // jmp over one instruction, to one, and to a return.
        assert_eq!(count(&[&[0xeb, 3], &MOVE[..], &MOVE, &[0xc3]].concat()), 3);
        assert_eq!(count(&[0xeb, 0xfe]), JUMPS_MAX, "a loop of itself ends");
    }

    #[test]
    fn calls_count_and_padding_does_not() {
        let call = [0xe8, 0, 0, 0, 0];
        let padding = [0x66, 0x0f, 0x1f, 0x44, 0, 0]; // nop word
        assert_eq!(count(&[&call[..], &padding, &[0xc3]].concat()), 2);
    }

    #[test]
    fn nonsense_and_nothing_are_one() {
        assert_eq!(count(&[0x06]), 1, "no instruction of 64 bits");
        assert_eq!(count(&[]), 1);
    }
}
