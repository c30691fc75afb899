//! The evaluation of paths.
//!
//! Role         goes from item to item, the first one to its end before the next one, so that who
//!              wants to know only whether there is one stops there
//! States       an error is raised, or kept quiet: within a condition it makes that unknown, and
//!              who asks to be spared gets what was found before
//! Invariants   I1 errors that are no matter of the items (interruptions, memory, variables that
//!                 are not there) are raised always
//! Source       PostgreSQL 15, whose rules of lax and strict mode these are

mod condition;
mod item;

use crate::interrupt::current::{self, Pace};
use crate::memory::Charge;
use crate::stack::deeper;
use crate::value::{TextBuilder, Value, ValueError};

use super::super::node::Node;
use super::super::{BYTES_MAX, Kind, charge_parts};
use super::{Expr, Like, Method, Path, PathFunction, Sign, Step, numbers};
use condition::Truth;
use item::Item;

/// What a path is evaluated for.
#[derive(Clone, Copy, Debug)]
pub struct PathTarget<'v> {
    /// a jsonb
    pub json: &'v str,
    /// an object with variables, a jsonb
    pub variables: &'v str,
    /// whether errors of the items are kept quiet
    pub is_silent: bool,
}

/// Why an evaluation ends early.
enum Stop<E> {
    /// a path does not fit a json
    Unfit(ValueError),
    Hard(E),
}

type Stepped<T, E> = std::result::Result<T, Stop<E>>;

/// Whether something was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    Some,
    Nothing,
}

/// Items that were found; none: it is enough to know whether there is one.
struct List<'n> {
    items: Vec<Item<'n>>,
    charge: Charge,
}

impl List<'_> {
    fn new() -> Self {
        Self { items: Vec::new(), charge: current::charge() }
    }
}

fn unfit<T, E>(code: &'static str, message: impl Into<String>) -> Stepped<T, E> {
    Err(Stop::Unfit(ValueError::json_error(code, message.into())))
}

/// What an evaluation knows.
struct Run<'n, 'l, E> {
    is_strict: bool,
    root: &'n Node<'n>,
    variables: &'n Node<'n>,
    /// what `@` is
    current: Item<'n>,
    /// whether a step that does not fit an item gives nothing
    is_lenient: bool,
    /// elements of the array whose subscript is evaluated
    size: usize,
    /// objects that `.keyvalue()` has been asked of
    objects: u64,
    pace: Pace,
    like: &'l mut dyn FnMut(&Like, &str) -> std::result::Result<bool, E>,
}

/// What a path gives for a json: one row for each item of [`PathFunction::Query`], else one.
///
/// # Errors
///
/// As PostgreSQL has them, and what `like` fails with.
pub fn evaluate<E: From<ValueError>>(
    function: PathFunction,
    path: &Path,
    target: PathTarget<'_>,
    like: &mut dyn FnMut(&Like, &str) -> std::result::Result<bool, E>,
) -> std::result::Result<Vec<Value>, E> {
    let _parts = [charge_parts(target.json)?, charge_parts(target.variables)?];
    let (root, variables) = (Node::read(target.json)?, Node::read(target.variables)?);
    if !matches!(variables, Node::Object(_)) {
        return Err(ValueError::no_path_variables().into());
    }
    let mut run = Run {
        is_strict: path.is_strict,
        root: &root,
        variables: &variables,
        current: Item::At(&root),
        is_lenient: !path.is_strict,
        size: 0,
        objects: 0,
        pace: Pace::default(),
        like,
    };
    // In strict mode all items are needed to know that there is no error.
    let is_listed = function != PathFunction::Exists || path.is_strict;
    let mut list = List::new();
    let found = run.expr(&path.top, &Item::At(&root), is_listed.then_some(&mut list));
    let found = match found {
        Ok(found) => Some(found),
        Err(Stop::Unfit(_)) if target.is_silent => None,
        Err(Stop::Unfit(error)) => return Err(error.into()),
        Err(Stop::Hard(error)) => return Err(error),
    };
    let items = &list.items;
    Ok(match function {
        PathFunction::Exists => vec![match found {
            None => Value::Null,
            Some(_) if is_listed => Value::Bool(!items.is_empty()),
            Some(found) => Value::Bool(found == Found::Some),
        }],
        PathFunction::Match => match items.as_slice() {
            [one] if one.truth().is_some() => vec![Value::Bool(one.truth() == Some(true))],
            [one] if one.kind() == Kind::Null => vec![Value::Null],
            _ if target.is_silent => vec![Value::Null],
            _ => {
                let message = "single boolean result is expected".to_owned();
                return Err(ValueError::json_error("22038", message).into());
            }
        },
        PathFunction::Query => {
            let (mut rows, mut charge) = (Vec::new(), current::charge());
            for item in items {
                let row = item.json()?;
                charge.add(3 * size_of::<Value>() + row.bytes()).map_err(ValueError::from)?;
                rows.push(row);
            }
            rows
        }
        PathFunction::QueryFirst => {
            let first = items.first().map(Item::json).transpose()?;
            vec![first.unwrap_or_default()]
        }
        PathFunction::QueryArray => {
            let mut out = TextBuilder::new("jsonb", BYTES_MAX);
            out.push("[")?;
            for (at, item) in items.iter().enumerate() {
                out.push(if at > 0 { ", " } else { "" })?;
                item.write(&mut out)?;
            }
            out.push("]")?;
            vec![Value::Jsonb(out.finish())]
        }
    })
}

impl<'n, E: From<ValueError>> Run<'n, '_, E> {
    /// Why to end, of an error that is no matter of the items (I1).
    fn hard(error: impl Into<ValueError>) -> Stop<E> {
        Stop::Hard(error.into().into())
    }

    fn unfit(error: ValueError) -> Stop<E> {
        Stop::Unfit(error)
    }

    fn expr(
        &mut self,
        expr: &Expr,
        item: &Item<'n>,
        found: Option<&mut List<'n>>,
    ) -> Stepped<Found, E> {
        self.with_steps(expr, &[], item, found)
    }

    /// An operand and steps from it on.
    fn with_steps(
        &mut self,
        expr: &Expr,
        steps: &[Step],
        item: &Item<'n>,
        found: Option<&mut List<'n>>,
    ) -> Stepped<Found, E> {
        self.pace.went(16).map_err(Self::hard)?;
        let made = deeper(|| self.head(expr, steps, item, found));
        made.unwrap_or_else(|why| Err(Self::hard(ValueError::json_error("54001", why.to_string()))))
    }

    fn head(
        &mut self,
        expr: &Expr,
        steps: &[Step],
        item: &Item<'n>,
        found: Option<&mut List<'n>>,
    ) -> Stepped<Found, E> {
        let value = match expr {
            // None is an operand of another one: the reader puts them in one list.
            Expr::Steps(of, own) => return self.with_steps(of, own, item, found),
            Expr::Root => Item::At(self.root),
            Expr::Current => self.current.clone(),
            Expr::Last => Item::Number((self.size as i64 - 1).to_string()),
            Expr::Variable(name) => match Item::At(self.variables).field(name) {
                Some(value) => value,
                None => {
                    let message = format!("could not find jsonpath variable \"{name}\"");
                    return Err(Self::hard(ValueError::json_error("42704", message)));
                }
            },
            Expr::Null => Item::Null,
            Expr::Bool(truth) => Item::Bool(*truth),
            Expr::Text(text) => Item::Text(text.clone()),
            Expr::Number(number) => Item::Number(number.clone()),
            Expr::Arithmetic(of, left, right) => {
                let left = self.operand(left, item, ("left", of.sign()))?;
                let right = self.operand(right, item, ("right", of.sign()))?;
                let made = numbers::computed(*of, &left, &right);
                Item::Number(made.map_err(Self::unfit)?)
            }
            Expr::Sign(sign, of) => return self.signed(*sign, of, (steps, item), found),
            condition => match self.condition(condition, item)? {
                Truth::True => Item::Bool(true),
                Truth::False => Item::Bool(false),
                Truth::Unknown => Item::Null,
            },
        };
        self.next(steps, value, found)
    }

    /// The only number that an operand of arithmetic gives.
    fn operand(
        &mut self,
        of: &Expr,
        item: &Item<'n>,
        (side, sign): (&str, &str),
    ) -> Stepped<String, E> {
        let list = self.unwrapped(of, item)?;
        match list.items.as_slice() {
            [one] if one.number().is_some() => Ok(one.number().unwrap_or_default().to_owned()),
            _ => {
                let what = "is not a single numeric value";
                unfit("22038", format!("{side} operand of jsonpath operator {sign} {what}"))
            }
        }
    }

    fn signed(
        &mut self,
        sign: Sign,
        of: &Expr,
        (steps, item): (&[Step], &Item<'n>),
        mut found: Option<&mut List<'n>>,
    ) -> Stepped<Found, E> {
        let list = self.unwrapped(of, item)?;
        let mut result = Found::Nothing;
        for one in &list.items {
            let Some(number) = one.number() else {
                if found.is_none() && steps.is_empty() {
                    continue;
                }
                let sign = if sign == Sign::Minus { "-" } else { "+" };
                let what = "is not a numeric value";
                return unfit("2203B", format!("operand of unary jsonpath operator {sign} {what}"));
            };
            let number = match sign {
                Sign::Plus => number.to_owned(),
                Sign::Minus => super::read::negative(number),
            };
            let next = self.next(steps, Item::Number(number), found.as_deref_mut())?;
            if next == Found::Some {
                result = next;
                if found.is_none() {
                    break;
                }
            }
        }
        Ok(result)
    }

    /// The items of an expression, and in lax mode the elements of those that are arrays.
    fn unwrapped(&mut self, of: &Expr, item: &Item<'n>) -> Stepped<List<'n>, E> {
        let mut list = List::new();
        self.expr(of, item, Some(&mut list))?;
        if self.is_strict || !list.items.iter().any(|one| one.kind() == Kind::Array) {
            return Ok(list);
        }
        let mut flat = List::new();
        for one in list.items {
            match one.elements() {
                Some(elements) => {
                    for element in elements {
                        self.keep(Item::At(element), &mut flat)?;
                    }
                }
                None => self.keep(one, &mut flat)?,
            }
        }
        Ok(flat)
    }

    fn keep(&mut self, item: Item<'n>, list: &mut List<'n>) -> Stepped<(), E> {
        // A list that grows is there twice.
        list.charge.add(3 * size_of::<Item<'_>>() + item.bytes()).map_err(Self::hard)?;
        self.pace.went(16).map_err(Self::hard)?;
        list.items.push(item);
        Ok(())
    }

    /// Goes on from an item by these steps.
    fn next(
        &mut self,
        steps: &[Step],
        item: Item<'n>,
        found: Option<&mut List<'n>>,
    ) -> Stepped<Found, E> {
        self.step(steps, item, found, self.unwraps())
    }

    const fn unwraps(&self) -> Unwraps {
        if self.is_strict { Unwraps::No } else { Unwraps::Yes }
    }

    /// As [`Run::next`]; whether an array that does not fit stands for its elements is told.
    fn step(
        &mut self,
        steps: &[Step],
        item: Item<'n>,
        found: Option<&mut List<'n>>,
        unwraps: Unwraps,
    ) -> Stepped<Found, E> {
        let [step, rest @ ..] = steps else {
            if let Some(list) = found {
                self.keep(item, list)?;
            }
            return Ok(Found::Some);
        };
        self.pace.went(16).map_err(Self::hard)?;
        let made = deeper(|| self.step_of(step, (steps, rest), item, found, unwraps));
        made.unwrap_or_else(|why| Err(Self::hard(ValueError::json_error("54001", why.to_string()))))
    }

    fn step_of(
        &mut self,
        step: &Step,
        (steps, rest): (&[Step], &[Step]),
        item: Item<'n>,
        mut found: Option<&mut List<'n>>,
        unwraps: Unwraps,
    ) -> Stepped<Found, E> {
        let kind = item.kind();
        let is_array = kind == Kind::Array;
        // What does with each element what it would do with the array.
        let looks_within = match step {
            Step::Field(_) | Step::AnyField | Step::Filter(_) => true,
            Step::Method(method) => !matches!(method, Method::Type | Method::Size),
            _ => false,
        };
        if is_array && unwraps == Unwraps::Yes && looks_within {
            return self.below(steps, item, found, Below::elements(Unwraps::No));
        }
        let then = self.unwraps();
        match step {
            Step::Field(name) => match item.field(name) {
                Some(value) => self.next(rest, value, found),
                None if self.is_lenient => Ok(Found::Nothing),
                None if kind == Kind::Object => {
                    unfit("2203A", format!("JSON object does not contain key \"{name}\""))
                }
                None => {
                    let message = "jsonpath member accessor can only be applied to an object";
                    unfit("2203A", message)
                }
            },
            Step::AnyField if kind == Kind::Object => {
                self.below(rest, item, found, Below::elements(then))
            }
            Step::AnyField if self.is_lenient => Ok(Found::Nothing),
            Step::AnyField => {
                unfit("2203C", "jsonpath wildcard member accessor can only be applied to an object")
            }
            Step::AnyElement if is_array => self.below(rest, item, found, Below::elements(then)),
            Step::AnyElement if !self.is_strict => self.next(rest, item, found),
            Step::AnyElement if self.is_lenient => Ok(Found::Nothing),
            Step::AnyElement => {
                unfit("22039", "jsonpath wildcard array accessor can only be applied to an array")
            }
            Step::Elements(ranges) if is_array || !self.is_strict => {
                self.elements(ranges, rest, &item, found)
            }
            Step::Elements(_) if self.is_lenient => Ok(Found::Nothing),
            Step::Elements(_) => {
                unfit("22039", "jsonpath array accessor can only be applied to an array")
            }
            Step::Below(from, to) => {
                let mut result = Found::Nothing;
                if *from == 0 {
                    let was = std::mem::replace(&mut self.is_lenient, true);
                    let own = self.next(rest, item.clone(), found.as_deref_mut());
                    self.is_lenient = was;
                    result = own?;
                    if result == Found::Some && found.is_none() {
                        return Ok(result);
                    }
                }
                if !kind.is_container() {
                    return Ok(result);
                }
                let levels = Below { level: 1, from: *from, to: *to, is_lenient: true, then };
                match self.below(rest, item, found, levels)? {
                    Found::Some => Ok(Found::Some),
                    Found::Nothing => Ok(result),
                }
            }
            Step::Filter(condition) => {
                let around = std::mem::replace(&mut self.current, item.clone());
                let truth = self.condition(condition, &item);
                self.current = around;
                match truth? {
                    Truth::True => self.next(rest, item, found),
                    _ => Ok(Found::Nothing),
                }
            }
            Step::Method(method) => self.method(*method, rest, item, found),
        }
    }

    fn elements(
        &mut self,
        ranges: &[(Expr, Option<Expr>)],
        rest: &[Step],
        item: &Item<'n>,
        mut found: Option<&mut List<'n>>,
    ) -> Stepped<Found, E> {
        let size = item.elements().map_or(1, <[_]>::len);
        let around = std::mem::replace(&mut self.size, size);
        let mut result = Ok(Found::Nothing);
        for range in ranges {
            // Within a subscript `last` is of this array, behind it again of the one around.
            self.size = size;
            let one = self.range(range, rest, (item, size), found.as_deref_mut());
            match one {
                Ok(Found::Nothing) => {}
                Ok(Found::Some) if found.is_none() => {
                    result = one;
                    break;
                }
                Ok(Found::Some) => result = one,
                Err(_) => {
                    result = one;
                    break;
                }
            }
        }
        self.size = around;
        result
    }

    fn range(
        &mut self,
        (from, to): &(Expr, Option<Expr>),
        rest: &[Step],
        (item, size): (&Item<'n>, usize),
        mut found: Option<&mut List<'n>>,
    ) -> Stepped<Found, E> {
        let from = self.subscript(from, item)?;
        let to = to.as_ref().map_or(Ok(from), |to| self.subscript(to, item))?;
        let count = size as i64;
        if !self.is_lenient && (from < 0 || from > to || to >= count) {
            return unfit("22033", "jsonpath array subscript is out of bounds");
        }
        let mut result = Found::Nothing;
        for at in from.max(0)..=to.min(count - 1) {
            let one = match item.elements() {
                Some(elements) => Item::At(&elements[at as usize]),
                None => item.clone(),
            };
            if self.next(rest, one, found.as_deref_mut())? == Found::Some {
                result = Found::Some;
                if found.is_none() {
                    break;
                }
            }
        }
        Ok(result)
    }

    fn subscript(&mut self, of: &Expr, item: &Item<'n>) -> Stepped<i64, E> {
        let mut list = List::new();
        self.expr(of, item, Some(&mut list))?;
        let number = match list.items.as_slice() {
            [one] => one.number(),
            _ => None,
        };
        let Some(number) = number else {
            return unfit("22033", "jsonpath array subscript is not a single numeric value");
        };
        let whole = number.split('.').next().unwrap_or(number);
        match whole.parse::<i32>() {
            Ok(index) => Ok(index.into()),
            Err(_) => unfit("22033", "jsonpath array subscript is out of integer range"),
        }
    }

    /// Goes on from what is below an item, in the levels that are asked for.
    fn below(
        &mut self,
        steps: &[Step],
        item: Item<'n>,
        mut found: Option<&mut List<'n>>,
        at: Below,
    ) -> Stepped<Found, E> {
        let mut result = Found::Nothing;
        if at.level > at.to {
            return Ok(result);
        }
        let mut children = current::charge();
        let all = item.children();
        children.add(all.len() * size_of::<Item<'_>>()).map_err(Self::hard)?;
        for child in all {
            self.pace.went(16).map_err(Self::hard)?;
            let is_container = child.kind().is_container();
            let is_leaf = at.from == u32::MAX && at.to == u32::MAX && !is_container;
            if at.level >= at.from || is_leaf {
                let was = self.is_lenient;
                self.is_lenient |= at.is_lenient;
                let one = self.step(steps, child.clone(), found.as_deref_mut(), at.then);
                self.is_lenient = was;
                if one? == Found::Some {
                    result = Found::Some;
                    if found.is_none() {
                        return Ok(result);
                    }
                }
            }
            if at.level < at.to && is_container {
                let next = Below { level: at.level + 1, ..at };
                let one = deeper(|| self.below(steps, child, found.as_deref_mut(), next));
                let one = one.unwrap_or_else(|why| {
                    Err(Self::hard(ValueError::json_error("54001", why.to_string())))
                });
                if one? == Found::Some {
                    result = Found::Some;
                    if found.is_none() {
                        return Ok(result);
                    }
                }
            }
        }
        Ok(result)
    }

    fn method(
        &mut self,
        method: Method,
        rest: &[Step],
        item: Item<'n>,
        mut found: Option<&mut List<'n>>,
    ) -> Stepped<Found, E> {
        let name = method.name();
        let refused = |code, what: &str| {
            unfit(code, format!("jsonpath item method .{name}() can only be applied to {what}"))
        };
        let value = match method {
            Method::Type => Item::Text(item.kind().name().to_owned()),
            Method::Size => match item.elements() {
                Some(elements) => Item::Number(elements.len().to_string()),
                None if !self.is_strict => Item::Number("1".to_owned()),
                None if self.is_lenient => return Ok(Found::Nothing),
                None => return refused("22039", "an array"),
            },
            Method::Abs | Method::Floor | Method::Ceiling => {
                let Some(number) = item.number() else {
                    return refused("22036", "a numeric value");
                };
                Item::Number(numbers::of_method(method, number).map_err(Self::unfit)?)
            }
            Method::Double => {
                let text = item.text().map_err(Self::hard)?;
                let (kind, double) = match (item.number(), &text) {
                    (Some(number), _) => {
                        let is_double = numbers::of_double(number).is_some();
                        ("numeric", is_double.then(|| number.to_owned()))
                    }
                    (None, Some(text)) => ("string", numbers::of_double(text)),
                    (None, None) => return refused("22036", "a string or numeric value"),
                };
                let Some(double) = double else {
                    let what = match kind {
                        "string" => "not a valid representation of a double precision number",
                        _ => "out of range for type double precision",
                    };
                    let argument = format!("{kind} argument of jsonpath item method .double()");
                    return unfit("22036", format!("{argument} is {what}"));
                };
                Item::Number(double)
            }
            Method::KeyValue => {
                let Item::At(Node::Object(fields)) = item else {
                    return match item {
                        Item::Pair(..) => Ok(Found::Nothing),
                        _ => refused("2203C", "an object"),
                    };
                };
                let number = self.objects;
                self.objects += 1;
                let mut result = Found::Nothing;
                for (key, value) in fields {
                    let pair = Item::Pair(number, key, value);
                    if self.next(rest, pair, found.as_deref_mut())? == Found::Some {
                        result = Found::Some;
                        if found.is_none() {
                            break;
                        }
                    }
                }
                return Ok(result);
            }
        };
        self.next(rest, value, found)
    }
}

/// Whether an array stands for its elements in the next step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unwraps {
    Yes,
    No,
}

/// Which levels below an item are gone through.
#[derive(Clone, Copy)]
struct Below {
    level: u32,
    from: u32,
    to: u32,
    is_lenient: bool,
    then: Unwraps,
}

impl Below {
    /// The first.
    const fn elements(then: Unwraps) -> Self {
        Self { level: 1, from: 1, to: 1, is_lenient: false, then }
    }
}
