//! Literals as parameters: texts that differ in their literals only are one statement.
//!
//! Role         who sends values within the text has it compiled once, as who prepares it has;
//!              [`Shape`] sets a text's literals apart by one cheap look, [`parse_shaped`] gives
//!              the statement that all texts of a shape have in common, and the compiler makes a
//!              parameter of each literal whose value it does not look at
//! Invariants   I1 two texts of one shape are the same tokens, but for the literals set apart
//!              I2 a literal that became a parameter has the type that the literal has; one whose
//!                 value was looked at (LIMIT, an argument of a function) became part of the
//!                 program, and only texts with the same one are that statement
//!              I3 its tokens stand on lines of their own, behind those of any text: what was
//!                 compiled from another text, as a view's, is not taken for one of them, and a
//!                 place among them can be told for whichever text is run
//! Source       "forced parameterization" of Microsoft SQL Server; PostgreSQL's pg_stat_statements
//!              tells statements apart in the same way, behind its parser. We differ from the
//!              former: literals keep the types that they have as literals

use std::ops::Range;

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::{Expr, ExprKind, Place};
use sqlparser::ast;
use sqlparser::tokenizer::{Location, Token};

use crate::error::{Result, place_in, place_of};
use crate::open_literals::{Kind, Open, OpenLiterals};
use crate::scope::Compiler;
use crate::script::{Offsets, read_statement};
use crate::script_statement::ScriptStatement;
use crate::token::tokenize;

/// The longest text that has a shape, in bytes: of longer ones few are alike.
pub const SHAPED_BYTES_MAX: usize = 2 << 10;

/// I3: what the first token's line is; a text has no more than [`crate::TEXT_BYTES_MAX`] lines.
pub const SHAPED_LINE_FIRST: u32 = 1 << 30;

/// Statements that are often sent again with other values, or word by word.
const FIRST_WORDS: [&str; 11] = [
    "select", "insert", "update", "delete", "call", "with", "begin", "commit", "end", "rollback",
    "start",
];

/// A number behind one of these says how many rows there are to be, or of what, which the plan may
/// depend on; a text there is no value of its own.
const CLOSED_BEHIND: [&str; 6] = ["limit", "offset", "first", "next", "fetch", "interval"];

#[derive(Clone, Debug)]
struct Literal {
    at: Range<usize>,
    kind: Kind,
    /// its value where it is a number
    number: i64,
}

/// A text's literals, and what it is without them.
#[derive(Clone, Default, Debug)]
pub struct Shape {
    key: Vec<u8>,
    literals: Vec<Literal>,
}

impl Shape {
    /// Looks at a text; false: it has no shape, being long, several statements, or more than
    /// names, numbers, simple texts and operators.
    pub fn read(&mut self, text: &str) -> bool {
        self.key.clear();
        self.literals.clear();
        text.len() <= SHAPED_BYTES_MAX && Look { text: text.as_bytes(), at: 0 }.all(self).is_some()
    }

    /// What the texts of one shape have in common.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// How many literals it has.
    pub fn count(&self) -> usize {
        self.literals.len()
    }

    /// A literal as it is written in the text that was looked at.
    pub fn written<'t>(&self, text: &'t str, at: usize) -> &'t str {
        &text[self.literals[at].at.clone()]
    }

    /// The text that was looked at with parameters, from `$1` on, in place of the literals that
    /// `is_parameter` names.
    pub fn with_parameters(&self, text: &str, is_parameter: &[bool]) -> String {
        let (mut whole, mut done) = (String::with_capacity(text.len()), 0);
        let given = self.literals.iter().zip(is_parameter).filter(|(_, is)| **is);
        for (number, (literal, _)) in (1..).zip(given) {
            whole.push_str(&text[done..literal.at.start]);
            whole.push_str(&format!("${number}"));
            done = literal.at.end;
        }
        whole + &text[done..]
    }

    /// And its value.
    pub fn value(&self, text: &str, at: usize) -> Value {
        let Literal { kind, number, .. } = self.literals[at];
        match kind {
            Kind::Integer => Value::Int(number as i32),
            Kind::BigInt => Value::BigInt(number),
            Kind::Text => {
                let written = self.written(text, at);
                Value::Text(written[1..written.len() - 1].replace("''", "'"))
            }
        }
    }
}

/// A look at a text, byte by byte.
struct Look<'t> {
    text: &'t [u8],
    at: usize,
}

fn is_one_of(word: &[u8], known: &[&str]) -> bool {
    !word.is_empty() && known.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

impl<'t> Look<'t> {
    fn all(mut self, shape: &mut Shape) -> Option<()> {
        let mut is_first = true;
        // What a minus before a number is behind, and the word before a literal: behind some words
        // it stays what it is.
        let (mut last, mut word): (u8, &[u8]) = (b'(', &[]);
        // From where on the key has not got the text yet.
        let mut rest = 0;
        while let Some(byte) = self.peek(0) {
            let from = self.at;
            let mut literal = None;
            match byte {
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => {
                    word = self.word()?;
                    if std::mem::take(&mut is_first) && !is_one_of(word, &FIRST_WORDS) {
                        return None;
                    }
                    last = b'a';
                }
                _ if is_first => return None,
                b'0'..=b'9' => {
                    literal = Some(self.number(from)?);
                }
                b'-' if is_operand_next(last) && self.peek(1).is_some_and(is_digit) => {
                    self.at += 1;
                    let found = self.number(from)?;
                    // Its sign is its own, unless something binds it closer.
                    let is_own = !matches!(self.next_visible(), Some(b':' | b'[' | b'^'));
                    literal = Some(found.filter(|_| is_own));
                }
                b'\'' => {
                    self.quoted(b'\'')?;
                    // Two in a row, on two lines, are one.
                    if self.next_visible() == Some(b'\'') {
                        return None;
                    }
                    literal = Some(Some((Kind::Text, 0)));
                }
                b'"' => {
                    self.quoted(b'"')?;
                    (last, word) = (b'a', &[]);
                }
                b';' => {
                    self.at += 1;
                    if self.next_visible().is_some() {
                        return None;
                    }
                }
                b'-' if self.peek(1) == Some(b'-') => return None,
                b'/' if self.peek(1) == Some(b'*') => return None,
                b'.' if self.peek(1).is_some_and(is_digit) => return None,
                b'!'..=b'~' if !matches!(byte, b'$' | b'\\' | b'`' | b'{' | b'}') => {
                    self.at += 1;
                    (last, word) = (byte, &[]);
                }
                _ => return None,
            }
            let found = literal.flatten().filter(|_| !is_one_of(word, &CLOSED_BEHIND));
            if literal.is_some() {
                (last, word) = (b'0', &[]);
            }
            if let Some((kind, number)) = found {
                shape.key.extend_from_slice(&self.text[rest..from]);
                shape.key.push(kind.mark());
                shape.literals.push(Literal { at: from..self.at, kind, number });
                rest = self.at;
            }
            // Most tokens have one blank behind them: it needs no turn of its own.
            self.at += usize::from(self.peek(0) == Some(b' '));
        }
        shape.key.extend_from_slice(&self.text[rest..]);
        (!is_first).then_some(())
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn next_visible(&self) -> Option<u8> {
        self.text[self.at..].iter().copied().find(|byte| !byte.is_ascii_whitespace())
    }

    /// A word; none if it is what a text begins with, as in E'...'.
    fn word(&mut self) -> Option<&'t [u8]> {
        let from = self.at;
        let rest = &self.text[from..];
        let end = rest.iter().position(|byte| !IS_OF_WORD[usize::from(*byte)]);
        self.at = from + end.unwrap_or(rest.len());
        let is_prefix = match self.peek(0) {
            Some(b'\'' | b'"') => true,
            Some(b'&') => matches!(self.peek(1), Some(b'\'' | b'"')),
            _ => false,
        };
        (!is_prefix).then(|| &self.text[from..self.at])
    }

    /// Digits, with a minus before them if one stands at `from`; none: it is no integer, and none
    /// inside: one that is no literal by itself.
    fn number(&mut self, from: usize) -> Option<Option<(Kind, i64)>> {
        // Counted downwards: there is one number more below zero than above it.
        let mut below = Some(0_i64);
        while let Some(digit) = self.peek(0).filter(u8::is_ascii_digit) {
            let digit = i64::from(digit - b'0');
            below = below.and_then(|below| below.checked_mul(10)?.checked_sub(digit));
            self.at += 1;
        }
        if self.peek(0).is_some_and(|next| is_of_word(next) || matches!(next, b'.' | b'$')) {
            return None;
        }
        let is_negative = self.text[from] == b'-';
        let signed = |below: i64| if is_negative { Some(below) } else { below.checked_neg() };
        let kind = |number: i64| match i32::try_from(number) {
            Ok(_) => Some(Kind::Integer),
            // With a minus before it, wherever that stands, the first of them is an integer.
            Err(_) => (number != -i64::from(i32::MIN)).then_some(Kind::BigInt),
        };
        let number = below.and_then(signed);
        Some(number.and_then(|number| Some((kind(number)?, number))))
    }

    /// Up to behind the closing quote.
    fn quoted(&mut self, quote: u8) -> Option<()> {
        self.at += 1;
        loop {
            let length = self.text[self.at..].iter().position(|byte| *byte == quote)?;
            self.at += length + 1;
            if self.peek(0) != Some(quote) {
                return Some(());
            }
            self.at += 1;
        }
    }
}

/// Of each byte whether a word goes on with it.
const IS_OF_WORD: [bool; 256] = {
    let (mut is_of_word, mut byte) = ([false; 256], 0);
    while byte < 256 {
        is_of_word[byte] = self::is_of_word(byte as u8) || byte as u8 == b'$';
        byte += 1;
    }
    is_of_word
};

const fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

const fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Whether a minus behind this byte is a sign, not a subtraction.
const fn is_operand_next(last: u8) -> bool {
    matches!(last, b'(' | b',' | b'=' | b'<' | b'>' | b'+' | b'*' | b'/')
}

/// Parses a text that has a shape; none where the tokens are others than the look saw.
///
/// Errors: as [`crate::parse_script`], with places that are told by [`place_in_text`].
pub fn parse_shaped(text: &str, shape: &Shape) -> Result<Option<ScriptStatement>> {
    let origin = Place { line: 1, column: 1 };
    let mut tokens = tokenize(text, origin)?;
    let offsets = Offsets::new(text, origin);
    while tokens.last().is_some_and(|last| last.token == Token::SemiColon) {
        tokens.pop();
    }
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return Ok(None) };
    let place = place_of(first.span.start);
    let own = text[offsets.of(first.span.start)..offsets.of(last.span.end)].to_owned();
    let (mut open, mut literals) = (Vec::new(), shape.literals.iter().peekable());
    for (number, token) in tokens.iter_mut().enumerate() {
        let at = offsets.of(token.span.start);
        let is_literal = matches!(token.token, Token::Number(..) | Token::SingleQuotedString(_));
        if let Some(literal) = literals.next_if(|literal| is_literal && literal.at.contains(&at)) {
            open.push(Open { token: number as u64, is_signed: literal.at.start < at });
        }
        let location = Location { line: u64::from(SHAPED_LINE_FIRST) + number as u64, column: 1 };
        (token.span.start, token.span.end) = (location, location);
    }
    if literals.next().is_some() || tokens.iter().any(|token| token.token == Token::SemiColon) {
        return Ok(None);
    }
    let mut statement = read_statement(&tokens, place, own, &|_| String::new())?;
    statement.literals = Some(OpenLiterals(open.into()));
    Ok(Some(statement))
}

/// A place among the tokens of a text with a shape, in one text of these.
pub fn place_in_text(statement: &ScriptStatement, place: Place) -> Place {
    let Some(number) = place.line.checked_sub(SHAPED_LINE_FIRST) else { return place };
    let tokens = tokenize(&statement.text, statement.place).unwrap_or_default();
    tokens.get(number as usize).map_or(statement.place, |token| place_of(token.span.start))
}

impl Compiler<'_> {
    /// The literal that stands at a place, if it may be a parameter there; and whether the minus
    /// before it is its own.
    fn open_literal(&self, place: Place) -> Option<(usize, bool)> {
        let open = self.literals.open.as_ref().filter(|_| self.literals.closed == 0)?;
        let token = u64::from(place.line.checked_sub(SHAPED_LINE_FIRST)?);
        let at = open.0.binary_search_by_key(&token, |literal| literal.token).ok()?;
        Some((at, open.0[at].is_signed))
    }

    /// A literal without a minus of its own.
    pub(crate) fn literal_at(&mut self, place: Place) -> Option<usize> {
        let (at, is_signed) = self.open_literal(place)?;
        self.literals.is_refused |= is_signed;
        Some(at)
    }

    /// A number behind a minus that is its own.
    pub(crate) fn signed_literal_at(&self, place: Place) -> Option<usize> {
        self.open_literal(place).filter(|(_, is_signed)| *is_signed).map(|(at, _)| at)
    }

    /// A literal alone, where whatever type is wanted can be had from its value.
    pub(crate) fn literal_alone(&self, written: &ast::Expr) -> Option<usize> {
        match written {
            ast::Expr::Value(_) => {
                let found = self.open_literal(place_in(written, Place::default()));
                found.filter(|(_, is_signed)| !is_signed).map(|(at, _)| at)
            }
            ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => match &**expr {
                ast::Expr::Value(_) => self.signed_literal_at(place_in(&**expr, Place::default())),
                _ => None,
            },
            _ => None,
        }
    }

    /// A literal as the parameter that it is, of a type.
    pub(crate) fn literal_parameter(&mut self, at: usize, sql_type: SqlType) -> Expr {
        self.literals.is_refused |= self.given[at].is_some_and(|known| known != sql_type);
        self.give(at, sql_type);
        self.slot_expr(self.parameters[at])
    }

    /// Compiles what looks at the values of literals in it.
    pub(crate) fn closed<T>(&mut self, compile: impl FnOnce(&mut Self) -> T) -> T {
        self.literals.closed += 1;
        let compiled = compile(self);
        self.literals.closed -= 1;
        compiled
    }

    /// Notes a comparison. A literal number is brought to the type of what it is compared with
    /// where its value fits, which makes it a key; so no parameter is made of it where that is
    /// another type than integers that take each other's keys.
    pub(crate) fn note_compared(&mut self, left: &Expr, right: &Expr) {
        if self.literals.open.is_none() {
            return;
        }
        let is_literal = |expr: &Expr| {
            let inner = match &expr.kind {
                ExprKind::Negate(inner) => inner,
                _ => expr,
            };
            matches!(inner.kind, ExprKind::Slot(slot) if self.parameters.contains(&slot))
                && expr.data_type().is_integer()
        };
        let takes =
            |data_type| matches!(data_type, DataType::Integer | DataType::BigInt | DataType::Oid);
        let is_other = is_literal(left) && !takes(right.data_type())
            || is_literal(right) && !takes(left.data_type());
        self.literals.is_refused |= is_other;
    }
}
