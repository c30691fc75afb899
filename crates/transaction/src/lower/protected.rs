//! Blocks whose errors are caught.
//!
//! What an error leads to is found by the blocks that are entered ([`Op::Protect`]) when it comes;
//! whatever leaves them says so, so that a handler is never run for what is behind its block.

use crate::bytecode::{HandlerCode, Op, ProtectedCode};
use crate::program::Protected;

use super::Lowerer;

impl Lowerer<'_> {
    pub(super) fn protected(&mut self, of: &Protected) {
        let (depth, caught) = self.protected;
        let targets: Vec<_> = of.handlers.iter().map(|_| self.label()).collect();
        let handlers = of
            .handlers
            .iter()
            .zip(&targets)
            .map(|(handler, to)| HandlerCode { catches: handler.catches.clone().into(), to: to.0 });
        let told = of.told.iter().map(|&(part, slot)| (part, slot.0)).collect();
        let code = ProtectedCode { depth, caught, handlers: handlers.collect(), told };
        self.program.protected.push(code);
        let block = self.number(self.program.protected.len() - 1);
        let end = self.label();
        self.emit(Op::Protect { block });
        self.protected = (depth + 1, caught);
        self.block(&of.body);
        self.leave_protected(depth);
        self.emit(Op::Jump { to: end.0 });
        self.protected = (depth, caught + 1);
        for (handler, to) in of.handlers.iter().zip(targets) {
            self.place(to);
            self.block(&handler.body);
            self.emit(Op::Jump { to: end.0 });
        }
        self.protected = (depth, caught);
        self.place(end);
    }

    /// Leaves the protected blocks around the current statement, until so many are left.
    pub(super) fn leave_protected(&mut self, depth: u16) {
        if self.protected.0 > depth {
            self.emit(Op::Unprotect { depth });
        }
    }

    /// Raises what the handler around it has caught.
    pub(super) fn raise_again(&mut self) {
        let caught = self.protected.1.saturating_sub(1);
        self.emit(Op::RaiseAgain { caught });
    }
}
