//! The row of a relation as a value: `SELECT a FROM account a`, `f(a)`, `row_to_json(a)`.

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{Object, Table};
use hotrow_transaction::program::{Expr, ExprKind, Place};
use sqlparser::ast;

use crate::error::Result;
use crate::relation::level::RelationKind;
use crate::row_fields::{made, nameless_type, null_where, too_many_rows};
use crate::scope::Compiler;
use crate::subscripts::called;
use crate::typing::scalar;
use crate::written::{bare, ident_name};

impl Compiler<'_> {
    /// The columns of the relation that a name is of, where it names nothing else.
    pub(crate) fn whole_row(&mut self, written: &ast::Expr) -> Result<Option<Vec<(String, Expr)>>> {
        let ast::Expr::Identifier(name) = bare(written) else { return Ok(None) };
        let name = ident_name(name);
        let is_column = self.relation_column(&name, Place::default())?.is_some();
        if let Some(fields) = self.fields_of(std::slice::from_ref(&name))
            && !is_column
        {
            return Ok(Some(fields));
        }
        let is_other = self.variable(&name).is_some() || is_column;
        if is_other {
            return Ok(None);
        }
        match self.relation_named(&name) {
            Some(at) => self.columns_of_relation(at).map(Some),
            None => Ok(None),
        }
    }

    /// Whether there is a function of this name with one parameter, a row.
    pub(crate) fn takes_row(&self, function: &str) -> bool {
        self.routines_seen(function).iter().any(|of| match of.given() {
            [only] => matches!(only.sql_type, SqlType::Scalar(DataType::Composite(_))),
            _ => false,
        })
    }

    /// `relation.function`, where the relation has no such column: `function(relation)`.
    pub(crate) fn field_by_function(&mut self, relation: &str, function: &str) -> Result<Expr> {
        let ident = |name: &str| ast::Ident::with_quote('"', name);
        let row = ast::Expr::Identifier(ident(relation));
        self.expr(&called(function, vec![row]))
    }

    /// The level and the place in it of the innermost relation with a name.
    fn relation_named(&self, name: &str) -> Option<(usize, usize)> {
        let levels = self.levels.iter().enumerate().rev();
        let mut found = levels.filter_map(|(depth, level)| {
            Some((depth, level.relations.iter().position(|known| known.name == name)?))
        });
        found.next()
    }

    /// The columns that `*` stands for of a relation.
    fn columns_of_relation(&mut self, (depth, at): (usize, usize)) -> Result<Vec<(String, Expr)>> {
        let relation = &self.levels[depth].relations[at];
        let named = |column: usize| (column, relation.columns[column].name.clone());
        let names: Vec<_> = relation.starred().into_iter().map(named).collect();
        let mut fields = Vec::new();
        for (column, name) in names {
            self.need_column(depth, at, column)?;
            fields.push((name, self.slot_of_column(depth, at, column)?));
        }
        Ok(fields)
    }

    /// The row of a relation as one value, by the relation's name: of the type of the table or the
    /// view where it is one of these, and of none otherwise. NULL where an outer join has none.
    pub(crate) fn row_of_relation(&mut self, name: &str) -> Result<Option<Expr>> {
        let Some((depth, at)) = self.relation_named(name) else { return Ok(None) };
        let fields = self.columns_of_relation((depth, at))?;
        let relation = &self.levels[depth].relations[at];
        let table = match relation.kind {
            RelationKind::Table(table) => Some(self.catalog.table(table)),
            RelationKind::System(_) | RelationKind::Planned(_) => None,
        };
        let of_view = || {
            let Object::View(id) = relation.read_of.as_ref()?.object else { return None };
            let mut views = self.catalog.views();
            views.find(|view| view.id == id).and_then(|view| view.row_type())
        };
        let of_table = table
            .map(Table::row_type)
            .or_else(of_view)
            .filter(|of| of.types().eq(fields.iter().map(|(_, value)| value.sql_type.packed())));
        let named = fields.iter().map(|(name, value)| (name.as_str(), value));
        let of = of_table.or_else(|| nameless_type(named));
        let of = of.ok_or_else(|| too_many_rows(self.place))?;
        let row = made(of, fields.into_iter().map(|(_, value)| value).collect());
        match self.is_missing((depth, at))? {
            Some(is_missing) => Ok(Some(null_where(is_missing, row))),
            None => Ok(Some(row)),
        }
    }

    /// Whether the row that a name is of is one that an outer join has made up; none: no join does.
    pub(crate) fn is_missing_row(&mut self, written: &ast::Expr) -> Result<Option<Expr>> {
        let ast::Expr::Identifier(name) = bare(written) else { return Ok(None) };
        match self.relation_named(&ident_name(name)) {
            Some(relation) => self.is_missing(relation),
            None => Ok(None),
        }
    }

    fn is_missing(&mut self, (depth, at): (usize, usize)) -> Result<Option<Expr>> {
        let relation = &self.levels[depth].relations[at];
        let presence = match relation.presence {
            _ if !relation.is_optional => return Ok(None),
            Some(presence) => presence,
            None => self.temporary("present", DataType::Boolean)?,
        };
        self.levels[depth].relations[at].presence = Some(presence);
        let presence = Box::new(self.slot_expr(presence));
        Ok(Some(scalar(ExprKind::IsNull(presence), DataType::Boolean)))
    }
}
