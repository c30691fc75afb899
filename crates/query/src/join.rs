//! Joins: by hash table where values must be equal, by key where an index helps and few rows ask,
//! else each with each.

use hotrow_base::value::Value;
use hotrow_sql::{Join, JoinKind, Plan};

use crate::order::join_key;
use crate::scalars::Reader;
use crate::{Ground, Row, Runner, Table};

/// Rows of the left side up to which the right one is read by their keys, if an index does that.
const KEYED_MAX: usize = 10_000;

/// The rows that a row of the left side is tried with.
enum Partners {
    /// by the key of their values
    ByKey(Table<Vec<usize>>),
    All,
}

impl<G: Ground> Runner<'_, G> {
    pub(crate) fn joined(&mut self, join: &Join) -> Result<Vec<Row>, G::Error> {
        let lefts = self.rows(&join.left)?;
        let by_row = match &join.keyed {
            Some(keyed) if lefts.len() <= KEYED_MAX => Some(keyed),
            _ if join.lateral => Some(&join.right),
            _ => None,
        };
        match by_row {
            Some(right) => self.joined_by_row(join, lefts, right),
            None => self.joined_at_once(join, lefts),
        }
    }

    /// The right side is read for each row of the left one.
    fn joined_by_row(
        &mut self,
        join: &Join,
        lefts: Vec<Row>,
        right: &Plan,
    ) -> Result<Vec<Row>, G::Error> {
        let (left_layout, right_layout) = (join.left.layout(), right.layout());
        let layout = [&*left_layout, &*right_layout].concat();
        let condition = join.condition.as_ref().map(|scalars| Reader::new(scalars, &layout));
        let equal = join.equal.as_ref();
        let equal =
            equal.map(|(l, r)| (Reader::new(l, &left_layout), Reader::new(r, &right_layout)));
        let mut rows = Vec::new();
        for left in lefts {
            self.around(&left_layout, &left);
            let key = match &equal {
                None => None,
                Some((reader, _)) => match join_key(&self.calculator.values(reader, &left)?) {
                    Some(key) => Some(key),
                    None => {
                        self.missing(join.kind, left, right_layout.len(), &mut rows);
                        continue;
                    }
                },
            };
            let mut has_partner = false;
            for partner in self.rows(right)? {
                if let (Some(key), Some((_, reader))) = (&key, &equal) {
                    let own = join_key(&self.calculator.values(reader, &partner)?);
                    if own.as_ref() != Some(key) {
                        continue;
                    }
                }
                let row = paired(&left, &partner);
                if let Some(condition) = &condition
                    && !self.calculator.is_true(condition, &row)?
                {
                    continue;
                }
                has_partner = true;
                rows.push(row);
            }
            if !has_partner {
                self.missing(join.kind, left, right_layout.len(), &mut rows);
            }
            self.tick()?;
            self.check_size(rows.len(), layout.len() * size_of::<Value>())?;
        }
        Ok(rows)
    }

    /// Both sides are read once.
    fn joined_at_once(&mut self, join: &Join, lefts: Vec<Row>) -> Result<Vec<Row>, G::Error> {
        let (left_layout, right_layout) = (join.left.layout(), join.right.layout());
        let rights = self.rows(&join.right)?;
        let layout = [&*left_layout, &*right_layout].concat();
        let condition = join.condition.as_ref().map(|scalars| Reader::new(scalars, &layout));
        let (partners, left_keys) = match &join.equal {
            None => (Partners::All, None),
            Some((left, right)) => {
                let reader = Reader::new(right, &right_layout);
                let mut table: Table<Vec<usize>> = Table::default();
                for (at, row) in rights.iter().enumerate() {
                    if let Some(key) = join_key(&self.calculator.values(&reader, row)?) {
                        table.entry(key).or_default().push(at);
                    }
                    self.tick()?;
                }
                (Partners::ByKey(table), Some(Reader::new(left, &left_layout)))
            }
        };
        let mut found = vec![false; if join.kind == JoinKind::Full { rights.len() } else { 0 }];
        let every: Vec<usize> = match partners {
            Partners::All => (0..rights.len()).collect(),
            Partners::ByKey(_) => Vec::new(),
        };
        let none = Vec::new();
        let width = layout.len() * size_of::<Value>();
        let mut rows = Vec::new();
        for left in lefts {
            let candidates = match (&partners, &left_keys) {
                (Partners::ByKey(table), Some(reader)) => {
                    let key = join_key(&self.calculator.values(reader, &left)?);
                    key.and_then(|key| table.get(&key)).unwrap_or(&none)
                }
                _ => &every,
            };
            let mut has_partner = false;
            for &at in candidates {
                let row = paired(&left, &rights[at]);
                self.tick()?;
                if let Some(condition) = &condition
                    && !self.calculator.is_true(condition, &row)?
                {
                    continue;
                }
                has_partner = true;
                if join.kind == JoinKind::Full {
                    found[at] = true;
                }
                rows.push(row);
            }
            if !has_partner {
                self.missing(join.kind, left, right_layout.len(), &mut rows);
            }
            self.check_size(rows.len(), width)?;
        }
        for (right, _) in rights.into_iter().zip(found).filter(|(_, found)| !found) {
            let nulls = vec![Value::Null; left_layout.len()];
            rows.push(paired(&nulls, &right));
        }
        Ok(rows)
    }

    /// A row of the left side that has no partner.
    fn missing(&self, kind: JoinKind, left: Row, width: usize, rows: &mut Vec<Row>) {
        if kind != JoinKind::Inner {
            rows.push(paired(&left, &vec![Value::Null; width]));
        }
    }
}

fn paired(left: &[Value], right: &[Value]) -> Row {
    left.iter().chain(right).cloned().collect()
}
