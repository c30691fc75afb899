//! GROUP BY: keys, and several groupings at once.

use std::collections::HashMap;

use hotrow_base::types::DataType;
use hotrow_transaction::program::{Expr, Place};
use sqlparser::ast;

use crate::error::{Result, error, place_in, too_complex, unsupported};
use crate::grouping_syntax::{DISTINCT, NestedList, nested_list};
use crate::scope::Compiler;
use crate::typing::{check_equality, for_rows};
use crate::written::ident_name;

use super::order::Listed;

/// GROUP BY as it is written.
#[derive(Default)]
pub(super) struct Grouping {
    pub(super) exprs: Vec<Expr>,
    /// which column of the select list each of them is
    pub(super) columns: Vec<Option<usize>>,
    /// several groupings at once: the keys of each; none: one by all keys
    pub(super) sets: Option<Vec<Vec<usize>>>,
}

impl Grouping {
    /// Whether there are groups for its sake.
    pub(super) fn groups(&self) -> bool {
        !self.exprs.is_empty() || self.sets.is_some()
    }
}

/// Groupings that one query may have at once, as in PostgreSQL.
const SETS_MAX: usize = 4096;

/// Parts that CUBE may have, as in PostgreSQL.
const CUBE_MAX: usize = 12;

/// Keys that have been found, and what may be named in them.
struct Found<'c> {
    columns: &'c [(String, Expr)],
    /// columns of the select list, the first of those alike, by what they are made of
    first: HashMap<String, usize>,
    keys: Grouping,
    /// keys by column, others by what they are made of
    numbers: HashMap<(Option<usize>, String), usize>,
}

impl Compiler<'_> {
    /// GROUP BY.
    pub(super) fn group_keys(
        &mut self,
        written: &ast::GroupByExpr,
        columns: &[(String, Expr)],
        place: Place,
    ) -> Result<Grouping> {
        let ast::GroupByExpr::Expressions(keys, modifiers) = written else {
            return Err(unsupported(place, "GROUP BY ALL", "name the columns"));
        };
        if !modifiers.is_empty() {
            return Err(unsupported(place, "this form of GROUP BY", "name the columns"));
        }
        let is_mark =
            |key: &ast::Expr| matches!(key, ast::Expr::Identifier(of) if of.value == DISTINCT);
        let distinct = keys.first().is_some_and(is_mark);
        if keys.is_empty() {
            return Ok(Grouping::default()); // as of most queries
        }
        let first = columns.iter().enumerate().rev();
        let first = first.map(|(at, (_, value))| (format!("{value:?}"), at)).collect();
        let (keys_found, numbers) = (Grouping::default(), HashMap::new());
        let mut found = Found { columns, first, keys: keys_found, numbers };
        // Each element multiplies the groupings.
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        let mut are_several = false;
        for key in keys.iter().skip(usize::from(distinct)) {
            let place = place_in(key, place);
            let own = self.groupings_of(key, &mut found, place)?;
            are_several |= !is_plain(key);
            if sets.len().saturating_mul(own.len()) > SETS_MAX {
                return Err(too_many(place));
            }
            if let [own] = own.as_slice() {
                sets.iter_mut().for_each(|set| set.extend(own));
                continue;
            }
            let pair = |set: &Vec<usize>| {
                let set = set.clone();
                own.iter().map(move |own| [&*set, own].concat()).collect::<Vec<_>>()
            };
            sets = sets.iter().flat_map(pair).collect();
        }
        if distinct {
            let mut known = std::collections::HashSet::new();
            sets.retain(|set| {
                let mut set = set.clone();
                set.sort_unstable();
                set.dedup();
                known.insert(set)
            });
        }
        Ok(Grouping { sets: are_several.then_some(sets), ..found.keys })
    }

    /// The groupings that an element of GROUP BY stands for.
    fn groupings_of(
        &mut self,
        element: &ast::Expr,
        found: &mut Found<'_>,
        place: Place,
    ) -> Result<Vec<Vec<usize>>> {
        match element {
            ast::Expr::GroupingSets(lists) => {
                let mut sets = Vec::new();
                for list in lists {
                    match list.as_slice() {
                        [one] => sets.extend(self.groupings_of(one, found, place)?),
                        keys => sets.push(self.numbers_of(keys.iter(), found, place)?),
                    }
                    if sets.len() > SETS_MAX {
                        return Err(too_many(place));
                    }
                }
                Ok(sets)
            }
            ast::Expr::Rollup(lists) => {
                let parts = lists.iter().map(|list| self.numbers_of(list.iter(), found, place));
                parts.collect::<Result<Vec<_>>>().map(|parts| rolled_up(&parts))
            }
            ast::Expr::Cube(lists) => {
                let parts = lists.iter().map(|list| self.numbers_of(list.iter(), found, place));
                cubed(&parts.collect::<Result<Vec<_>>>()?, place)
            }
            ast::Expr::Tuple(keys) => Ok(vec![self.numbers_of(keys.iter(), found, place)?]),
            element => match nested_list(element) {
                None => Ok(vec![vec![self.group_key(element, found, place)?]]),
                Some((NestedList::Sets, elements)) => {
                    let mut sets = Vec::new();
                    for element in elements {
                        sets.extend(self.groupings_of(element, found, place)?);
                        if sets.len() > SETS_MAX {
                            return Err(too_many(place));
                        }
                    }
                    Ok(sets)
                }
                Some((NestedList::Nothing, _)) => Ok(vec![Vec::new()]),
                Some((kind, elements)) => {
                    let mut parts = Vec::new();
                    for element in elements {
                        parts.push(match element {
                            ast::Expr::Tuple(keys) => self.numbers_of(keys.iter(), found, place)?,
                            key => vec![self.group_key(key, found, place)?],
                        });
                    }
                    match kind {
                        NestedList::Cube => cubed(&parts, place),
                        _ => Ok(rolled_up(&parts)),
                    }
                }
            },
        }
    }

    fn numbers_of<'e>(
        &mut self,
        keys: impl Iterator<Item = &'e ast::Expr>,
        found: &mut Found<'_>,
        place: Place,
    ) -> Result<Vec<usize>> {
        keys.map(|key| self.group_key(key, found, place)).collect()
    }

    /// The number of a key, which joins the others if it is not among the known ones: numbers by
    /// what they are made of.
    fn group_key(&mut self, key: &ast::Expr, found: &mut Found<'_>, place: Place) -> Result<usize> {
        let Found { columns, first, keys, numbers: known } = found;
        // A column of FROM goes before a name of the select list.
        let own = match key {
            ast::Expr::Identifier(ident) => self.own_column(&ident_name(ident), place)?,
            _ => None,
        };
        let Listed { value, column } = match own {
            Some(value) => Listed { value: for_rows(value), column: None },
            None => self.listed_or_new(key, columns, "GROUP BY", place)?,
        };
        check_equality(value.sql_type, place)?;
        // By text, which is hashed: of hundreds of thousands of keys each is looked up once.
        let text = format!("{value:?}");
        let column = column.or_else(|| first.get(&text).copied());
        let identity = (column, if column.is_none() { text } else { String::new() });
        let at = known.entry(identity).or_insert_with(|| {
            keys.exprs.push(value);
            keys.columns.push(column);
            keys.exprs.len() - 1
        });
        Ok(*at)
    }

    /// GROUPING(...): which of these keys a row's grouping leaves out, a bit each.
    pub(super) fn grouping(&mut self, written: &ast::Function, place: Place) -> Result<Expr> {
        let Some(mut asked) = self.level().aggregates.take() else {
            let message = "grouping operations are not allowed here";
            return Err(error(b"42803", place, message));
        };
        let compiled = (|| {
            let (_, written) = crate::written::arguments(written, place)?;
            if written.is_empty() || written.len() > 31 {
                let message = "GROUPING must have fewer than 32 arguments";
                return Err(error(b"54023", place, message));
            }
            let mut keys = Vec::new();
            for key in written {
                keys.push(self.row_expr(key)?);
            }
            let slot = self.temporary("grouping", DataType::Integer)?;
            asked.groupings.push((keys, slot));
            Ok(self.slot_expr(slot))
        })();
        self.level().aggregates = Some(asked);
        compiled
    }
}

/// Whether an element is one grouping, by keys.
fn is_plain(element: &ast::Expr) -> bool {
    match element {
        ast::Expr::GroupingSets(_) | ast::Expr::Rollup(_) | ast::Expr::Cube(_) => false,
        ast::Expr::Tuple(keys) => !keys.is_empty(),
        element => nested_list(element).is_none(),
    }
}

fn rolled_up(parts: &[Vec<usize>]) -> Vec<Vec<usize>> {
    (0..=parts.len()).rev().map(|count| parts[..count].concat()).collect()
}

fn cubed(parts: &[Vec<usize>], place: Place) -> Result<Vec<Vec<usize>>> {
    if parts.len() > CUBE_MAX {
        let message = format!("CUBE is limited to {CUBE_MAX} elements");
        return Err(error(b"54011", place, message));
    }
    let chosen = |mask: usize| {
        let left = parts.iter().enumerate().filter(|(at, _)| mask & (1 << at) == 0);
        left.flat_map(|(_, part)| part.iter().copied()).collect()
    };
    Ok((0..1 << parts.len()).map(chosen).collect())
}

fn too_many(place: Place) -> hotrow_transaction::outcome::SqlError {
    too_complex(place, format!("too many grouping sets present (maximum {SETS_MAX})"))
}
