//! Conditions of paths: comparisons of all items with all, and what is made of them.

use std::cmp::Ordering;

use super::item::Item;
use super::{Found, List, Run, Stepped, Stop};
use crate::json::path::{Comparison, Expr, numbers};
use crate::json::{Kind, Result};
use crate::stack::deeper;
use crate::value::ValueError;

/// What a condition says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Truth {
    False,
    True,
    Unknown,
}

impl From<bool> for Truth {
    fn from(truth: bool) -> Self {
        if truth { Self::True } else { Self::False }
    }
}

impl<'n, E: From<ValueError>> Run<'n, '_, E> {
    pub(super) fn condition(&mut self, of: &Expr, item: &Item<'n>) -> Stepped<Truth, E> {
        let made = deeper(|| self.condition_of(of, item));
        made.unwrap_or_else(|why| Err(Self::hard(ValueError::json_error("54001", why.to_string()))))
    }

    fn condition_of(&mut self, of: &Expr, item: &Item<'n>) -> Stepped<Truth, E> {
        Ok(match of {
            Expr::And(left, right) => match self.condition(left, item)? {
                Truth::False => Truth::False,
                left => match self.condition(right, item)? {
                    Truth::True => left,
                    right => right,
                },
            },
            Expr::Or(left, right) => match self.condition(left, item)? {
                Truth::True => Truth::True,
                left => match self.condition(right, item)? {
                    Truth::False => left,
                    right => right,
                },
            },
            Expr::Not(of) => match self.condition(of, item)? {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Unknown => Truth::Unknown,
            },
            Expr::IsUnknown(of) => Truth::from(self.condition(of, item)? == Truth::Unknown),
            Expr::Exists(of) => {
                let mut list = List::new();
                let listed = self.is_strict.then_some(&mut list);
                match quiet(self.expr(of, item, listed))? {
                    None => Truth::Unknown,
                    Some(_) if self.is_strict => Truth::from(!list.items.is_empty()),
                    Some(found) => Truth::from(found == Found::Some),
                }
            }
            Expr::Compare(how, left, right) => {
                let Some(lefts) = quiet(self.unwrapped(left, item))? else {
                    return Ok(Truth::Unknown);
                };
                let Some(rights) = quiet(self.unwrapped(right, item))? else {
                    return Ok(Truth::Unknown);
                };
                let holds = |_: &mut Self,
                             left: &Item<'n>,
                             right: Option<&Item<'n>>|
                 -> Stepped<Truth, E> {
                    let Some(right) = right else { return Ok(Truth::Unknown) };
                    compare(*how, left, right).map_err(Self::hard)
                };
                self.any(&lefts.items, Some(&rights.items), holds)?
            }
            Expr::StartsWith(left, initial) => {
                let Some(lefts) = quiet(self.unwrapped(left, item))? else {
                    return Ok(Truth::Unknown);
                };
                let mut initials = List::new();
                if quiet(self.expr(initial, item, Some(&mut initials)))?.is_none() {
                    return Ok(Truth::Unknown);
                }
                let holds = |_: &mut Self,
                             left: &Item<'n>,
                             right: Option<&Item<'n>>|
                 -> Stepped<Truth, E> {
                    let right = right.map_or(Ok(None), |right| right.text()).map_err(Self::hard)?;
                    Ok(match (left.text().map_err(Self::hard)?, right) {
                        (Some(text), Some(initial)) => Truth::from(text.starts_with(&*initial)),
                        _ => Truth::Unknown,
                    })
                };
                self.any(&lefts.items, Some(&initials.items), holds)?
            }
            Expr::LikeRegex(left, like) => {
                let Some(lefts) = quiet(self.unwrapped(left, item))? else {
                    return Ok(Truth::Unknown);
                };
                let holds = |this: &mut Self,
                             left: &Item<'n>,
                             _: Option<&Item<'n>>|
                 -> Stepped<Truth, E> {
                    Ok(match left.text().map_err(Self::hard)? {
                        Some(text) => Truth::from((this.like)(like, &text).map_err(Stop::Hard)?),
                        None => Truth::Unknown,
                    })
                };
                self.any(&lefts.items, None, holds)?
            }
            // The reader puts nothing else here.
            _ => Truth::Unknown,
        })
    }

    /// Whether something holds for one pair of items; in strict mode all pairs are looked at.
    fn any(
        &mut self,
        lefts: &[Item<'n>],
        rights: Option<&[Item<'n>]>,
        mut holds: impl FnMut(&mut Self, &Item<'n>, Option<&Item<'n>>) -> Stepped<Truth, E>,
    ) -> Stepped<Truth, E> {
        let (mut is_true, mut is_unknown) = (false, false);
        for left in lefts {
            let pairs: Box<dyn Iterator<Item = Option<&Item<'n>>>> = match rights {
                Some(rights) => Box::new(rights.iter().map(Some)),
                None => Box::new(std::iter::once(None)),
            };
            for right in pairs {
                self.pace.went(32 + left.bytes()).map_err(Self::hard)?;
                match holds(self, left, right)? {
                    Truth::Unknown if self.is_strict => return Ok(Truth::Unknown),
                    Truth::Unknown => is_unknown = true,
                    Truth::True if !self.is_strict => return Ok(Truth::True),
                    Truth::True => is_true = true,
                    Truth::False => {}
                }
            }
        }
        Ok(match (is_true, is_unknown) {
            (true, _) => Truth::True,
            (false, true) => Truth::Unknown,
            (false, false) => Truth::False,
        })
    }
}

/// What was found, or none where the path does not fit.
fn quiet<T, E>(found: Stepped<T, E>) -> Stepped<Option<T>, E> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Stop::Unfit(_)) => Ok(None),
        Err(hard) => Err(hard),
    }
}

fn compare(how: Comparison, left: &Item<'_>, right: &Item<'_>) -> Result<Truth> {
    let (one, other) = (left.kind(), right.kind());
    if one != other && !(one.is_container() && other.is_container()) {
        // Nothing but null is unequal to null.
        return Ok(match one == Kind::Null || other == Kind::Null {
            true => Truth::from(how == Comparison::NotEqual),
            false => Truth::Unknown,
        });
    }
    let order = match one {
        Kind::Null => Ordering::Equal,
        Kind::Boolean => left.truth().cmp(&right.truth()),
        Kind::Number => {
            numbers::compare(left.number().unwrap_or("0"), right.number().unwrap_or("0"))
        }
        Kind::Text => left.text()?.cmp(&right.text()?),
        Kind::Object | Kind::Array => return Ok(Truth::Unknown),
    };
    Ok(Truth::from(match how {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }))
}
