//! The reader of paths.

use crate::stack::deeper;
use crate::value::{TextBuilder, ValueError};

use super::super::{Result, number};
use super::lex::{Token, error_at, tokens};
use super::{Arithmetic, Comparison, DEPTH_MAX, Expr, Like, Method, PARTS_MAX, Path, Sign, Step};

/// Where an expression stands, which decides whether it may be `@` or `last`.
#[derive(Clone, Copy, Default)]
struct Around {
    is_filter: bool,
    is_subscript: bool,
}

pub(super) struct Reader {
    tokens: Vec<Token>,
    at: usize,
    parts: usize,
    depth: usize,
    around: Around,
}

/// How tightly operators bind.
const OR: u8 = 0;
const AND: u8 = 1;
const COMPARE: u8 = 2;
const ADD: u8 = 3;
const MULTIPLY: u8 = 4;

fn unsupported(what: &str) -> ValueError {
    ValueError::json_error("0A000", format!("{what} is not supported"))
}

impl Reader {
    pub(super) fn new(text: &str) -> Result<Self> {
        let tokens = tokens(text)?;
        if tokens.is_empty() {
            let shown = text.escape_debug();
            let message = format!("invalid input syntax for type jsonpath: \"{shown}\"");
            return Err(ValueError::json_error("22P02", message));
        }
        Ok(Self { tokens, at: 0, parts: 0, depth: 0, around: Around::default() })
    }

    pub(super) fn read(mut self) -> Result<Path> {
        let is_strict = self.takes_word("strict");
        if !is_strict {
            self.takes_word("lax");
        }
        let top = self.binary(OR)?;
        if self.at < self.tokens.len() {
            return Err(self.error());
        }
        Ok(Path { is_strict, top })
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn error(&self) -> ValueError {
        match self.peek() {
            None => error_at(""),
            Some(Token::Sign(sign)) => error_at(sign),
            Some(
                Token::Word(text) | Token::Text(text) | Token::Variable(text) | Token::Number(text),
            ) => error_at(text),
        }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(own)) if own.eq_ignore_ascii_case(word))
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is_it = self.is_word(word);
        self.at += usize::from(is_it);
        is_it
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Token::Sign(own)) if *own == sign);
        self.at += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.error()) }
    }

    /// Counts a part.
    fn part<T>(&mut self, part: T) -> Result<T> {
        self.parts += 1;
        if self.parts > PARTS_MAX {
            let message = format!("a jsonpath of more than {PARTS_MAX} parts");
            return Err(ValueError::json_error("54001", message));
        }
        Ok(part)
    }

    /// What is read within brackets, or behind a sign.
    fn within<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH_MAX {
            let message = format!("jsonpath is nested more than {DEPTH_MAX} levels deep");
            return Err(ValueError::json_error("54001", message));
        }
        self.depth += 1;
        let read = deeper(|| read(self));
        self.depth -= 1;
        read.unwrap_or_else(|why| Err(ValueError::json_error("54001", why.to_string())))
    }

    /// Operators that bind at least so tightly, from the left.
    fn binary(&mut self, least: u8) -> Result<Expr> {
        let mut left = self.operand()?;
        let mut is_compared = false;
        loop {
            let before = self.at;
            let Some((binds, operator)) = self.operator() else { return Ok(left) };
            // Comparisons do not chain, and conditions are not compared.
            let takes_items = binds >= COMPARE;
            if binds < least || binds == COMPARE && is_compared {
                self.at = before;
                return Ok(left);
            }
            if left.is_condition() == takes_items {
                self.at = before;
                return Err(self.error());
            }
            is_compared |= binds == COMPARE;
            left = operator(self, left)?;
            left = self.part(left)?;
        }
    }

    /// Takes the sign of an operator: how tightly it binds, and what it makes of what is on its
    /// left.
    #[expect(clippy::type_complexity, reason = "a name would say no more than the type does")]
    fn operator(&mut self) -> Option<(u8, Box<dyn FnOnce(&mut Self, Expr) -> Result<Expr>>)> {
        if self.takes_word("starts") {
            return Some((COMPARE, Box::new(Self::starts_with)));
        }
        if self.takes_word("like_regex") {
            return Some((COMPARE, Box::new(Self::like_regex)));
        }
        let Some(Token::Sign(sign)) = self.peek() else { return None };
        let arithmetic = match *sign {
            "+" => Some((ADD, Arithmetic::Add)),
            "-" => Some((ADD, Arithmetic::Subtract)),
            "*" => Some((MULTIPLY, Arithmetic::Multiply)),
            "/" => Some((MULTIPLY, Arithmetic::Divide)),
            "%" => Some((MULTIPLY, Arithmetic::Modulo)),
            _ => None,
        };
        let comparison = match *sign {
            "==" | "=" => Some(Comparison::Equal),
            "!=" | "<>" => Some(Comparison::NotEqual),
            "<" => Some(Comparison::Less),
            "<=" => Some(Comparison::LessOrEqual),
            ">" => Some(Comparison::Greater),
            ">=" => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        let binds = match (*sign, arithmetic, comparison) {
            ("||", ..) => OR,
            ("&&", ..) => AND,
            (_, Some((binds, _)), _) => binds,
            (_, _, Some(_)) => COMPARE,
            _ => return None,
        };
        self.at += 1;
        Some((
            binds,
            Box::new(move |this, left| {
                let right = this.binary(binds + 1)?;
                if right.is_condition() != (binds < COMPARE) {
                    return Err(this.error());
                }
                let (left, right) = (Box::new(left), Box::new(right));
                Ok(match (arithmetic, comparison) {
                    (Some((_, of)), _) => Expr::Arithmetic(of, left, right),
                    (_, Some(of)) => Expr::Compare(of, left, right),
                    _ if binds == OR => Expr::Or(left, right),
                    _ => Expr::And(left, right),
                })
            }),
        ))
    }

    fn starts_with(&mut self, left: Expr) -> Result<Expr> {
        if !self.takes_word("with") {
            return Err(self.error());
        }
        let initial = match self.peek() {
            Some(Token::Text(text)) => Expr::Text(text.clone()),
            Some(Token::Variable(name)) => Expr::Variable(name.clone()),
            _ => return Err(self.error()),
        };
        self.at += 1;
        Ok(Expr::StartsWith(Box::new(left), Box::new(initial)))
    }

    fn text(&mut self) -> Result<String> {
        let Some(Token::Text(text)) = self.peek() else { return Err(self.error()) };
        let text = text.clone();
        self.at += 1;
        Ok(text)
    }

    fn like_regex(&mut self, left: Expr) -> Result<Expr> {
        let pattern = self.text()?;
        let given = if self.takes_word("flag") { self.text()? } else { String::new() };
        for flag in given.chars() {
            match flag {
                'i' | 's' | 'm' | 'q' => {}
                'x' => {
                    let what = "XQuery \"x\" flag (expanded regular expressions)";
                    let message = format!("{what} is not implemented");
                    return Err(ValueError::json_error("0A000", message));
                }
                other => return Err(ValueError::no_path_flag(other)),
            }
        }
        let flags = "ismq".chars().filter(|flag| given.contains(*flag)).collect();
        Ok(Expr::LikeRegex(Box::new(left), Like { pattern, flags }))
    }

    /// An operand with its steps.
    fn operand(&mut self) -> Result<Expr> {
        let sign = match self.peek() {
            Some(Token::Sign("+")) => Some(Sign::Plus),
            Some(Token::Sign("-")) => Some(Sign::Minus),
            _ => None,
        };
        if let Some(sign) = sign {
            self.at += 1;
            let of = self.within(Self::operand)?;
            if of.is_condition() {
                return Err(self.error());
            }
            return self.part(match (sign, of) {
                (Sign::Plus, Expr::Number(number)) => Expr::Number(number),
                (Sign::Minus, Expr::Number(number)) => Expr::Number(negative(&number)),
                (sign, of) => Expr::Sign(sign, Box::new(of)),
            });
        }
        if self.takes("!") {
            let of = self.within(|this| match this.delimited()? {
                Some(condition) => Ok(condition),
                None => Err(this.error()),
            })?;
            return self.part(Expr::Not(Box::new(of)));
        }
        if let Some(condition) = self.delimited()? {
            return Ok(condition);
        }
        if self.takes("(") {
            let inner = self.within(|this| this.binary(OR))?;
            self.expect(")")?;
            let is_condition = inner.is_condition();
            if is_condition && self.is_word("is") {
                self.at += 1;
                if !self.takes_word("unknown") {
                    return Err(self.error());
                }
                return self.part(Expr::IsUnknown(Box::new(inner)));
            }
            return self.steps(inner);
        }
        let primary = self.primary()?;
        let primary = self.part(primary)?;
        self.steps(primary)
    }

    /// `exists (...)`, or a condition in brackets that ends with them; none: it is something else.
    fn delimited(&mut self) -> Result<Option<Expr>> {
        if self.is_word("exists") {
            self.at += 1;
            self.expect("(")?;
            let of = self.within(|this| this.binary(ADD))?;
            if of.is_condition() {
                return Err(self.error());
            }
            self.expect(")")?;
            return self.part(Some(Expr::Exists(Box::new(of))));
        }
        let is_negated = self.at > 0 && self.tokens[self.at - 1] == Token::Sign("!");
        if !is_negated || !self.takes("(") {
            return Ok(None);
        }
        let inner = self.within(|this| this.binary(OR))?;
        if !inner.is_condition() {
            return Err(self.error());
        }
        self.expect(")")?;
        Ok(Some(inner))
    }

    fn primary(&mut self) -> Result<Expr> {
        let Some(token) = self.peek().cloned() else { return Err(self.error()) };
        let primary = match token {
            Token::Sign("$") => Expr::Root,
            Token::Sign("@") if self.around.is_filter => Expr::Current,
            Token::Sign("@") => {
                let message = "@ is not allowed in root expressions".to_owned();
                return Err(ValueError::json_error("42601", message));
            }
            Token::Text(text) => Expr::Text(text),
            Token::Variable(name) => Expr::Variable(name),
            Token::Number(written) => Expr::Number(normal_number(&written)?),
            Token::Word(word) => match word.as_str() {
                "null" => Expr::Null,
                "true" => Expr::Bool(true),
                "false" => Expr::Bool(false),
                word if !word.eq_ignore_ascii_case("last") => return Err(self.error()),
                _ if self.around.is_subscript => Expr::Last,
                _ => {
                    let message = "LAST is allowed only in array subscripts".to_owned();
                    return Err(ValueError::json_error("42601", message));
                }
            },
            Token::Sign(_) => return Err(self.error()),
        };
        self.at += 1;
        Ok(primary)
    }

    fn steps(&mut self, of: Expr) -> Result<Expr> {
        let mut steps = Vec::new();
        loop {
            let step = if self.takes(".") {
                self.field()?
            } else if self.takes("[") {
                self.elements()?
            } else if self.takes("?") {
                self.expect("(")?;
                let around = Around { is_filter: true, ..self.around };
                let around = std::mem::replace(&mut self.around, around);
                let condition = self.within(|this| this.binary(OR))?;
                self.around = around;
                if !condition.is_condition() {
                    return Err(self.error());
                }
                self.expect(")")?;
                Step::Filter(condition)
            } else {
                break;
            };
            let step = self.part(step)?;
            steps.push(step);
        }
        Ok(match of {
            of if steps.is_empty() => of,
            Expr::Steps(of, mut own) => {
                own.extend(steps);
                Expr::Steps(of, own)
            }
            of => Expr::Steps(Box::new(of), steps),
        })
    }

    /// Behind a point.
    fn field(&mut self) -> Result<Step> {
        if self.takes("*") {
            return Ok(Step::AnyField);
        }
        if self.takes("**") {
            return self.below();
        }
        let Some(Token::Word(name) | Token::Text(name)) = self.peek().cloned() else {
            return Err(self.error());
        };
        let is_word = matches!(self.peek(), Some(Token::Word(_)));
        self.at += 1;
        if !is_word || self.peek() != Some(&Token::Sign("(")) {
            return Ok(Step::Field(name));
        }
        let method = Method::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(&name));
        match method {
            None if name.eq_ignore_ascii_case("datetime") => Err(unsupported(".datetime()")),
            None => Err(self.error()),
            Some(method) => {
                self.at += 1;
                self.expect(")")?;
                Ok(Step::Method(method))
            }
        }
    }

    /// Behind `**`.
    fn below(&mut self) -> Result<Step> {
        if !self.takes("{") {
            return Ok(Step::Below(0, u32::MAX));
        }
        let from = self.level()?;
        let to = if self.takes_word("to") { self.level()? } else { from };
        self.expect("}")?;
        Ok(Step::Below(from, to))
    }

    fn level(&mut self) -> Result<u32> {
        let level = match self.peek() {
            Some(Token::Number(number)) if number.bytes().all(|b| b.is_ascii_digit()) => {
                let too_large = |_| {
                    let message = format!("value \"{number}\" is out of range for type integer");
                    ValueError::json_error("22003", message)
                };
                u32::try_from(number.parse::<i32>().map_err(too_large)?).unwrap_or(0)
            }
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("last") => u32::MAX,
            _ => return Err(self.error()),
        };
        self.at += 1;
        Ok(level)
    }

    /// Behind `[`.
    fn elements(&mut self) -> Result<Step> {
        if self.takes("*") {
            self.expect("]")?;
            return Ok(Step::AnyElement);
        }
        let around = Around { is_subscript: true, ..self.around };
        let around = std::mem::replace(&mut self.around, around);
        let mut ranges = Vec::new();
        loop {
            let from = self.subscript()?;
            let to = if self.takes_word("to") { Some(self.subscript()?) } else { None };
            ranges.push((from, to));
            if !self.takes(",") {
                break;
            }
        }
        self.around = around;
        self.expect("]")?;
        Ok(Step::Elements(ranges))
    }

    fn subscript(&mut self) -> Result<Expr> {
        let of = self.within(|this| this.binary(ADD))?;
        if of.is_condition() { Err(self.error()) } else { Ok(of) }
    }
}

/// A number with the other sign.
pub(super) fn negative(number: &str) -> String {
    if number.bytes().all(|b| matches!(b, b'0' | b'.')) {
        return number.to_owned();
    }
    match number.strip_prefix('-') {
        Some(positive) => positive.to_owned(),
        None => format!("-{number}"),
    }
}

/// The normal form of a number that may have no digits on one side of its point.
fn normal_number(written: &str) -> Result<String> {
    let (mantissa, exponent) = match written.find(['e', 'E']) {
        Some(at) => written.split_at(at),
        None => (written, ""),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    let mut out = TextBuilder::new("jsonpath", super::TEXT_BYTES_MAX);
    number::write_normal(&format!("{whole}{point}{fraction}{exponent}"), &mut out)?;
    Ok(out.finish())
}
