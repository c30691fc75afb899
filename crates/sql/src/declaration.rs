//! DECLARE: variables, aliases and cursors.

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::qualified;
use hotrow_transaction::program::{Place, SlotId, Statement};

use crate::consume::types_of;
use crate::cursors::NAME_AS_VALUE;
use crate::error::{Advice, Result, error, syntax, unsupported};
use crate::scope::Compiler;
use crate::state::{Variable, scalar_slot};
use crate::syntax::{Declaration, Target, TypeName, TypeNameKind, VariableSyntax};
use crate::types::sql_type;

impl Declaration {
    pub(crate) fn place(&self) -> Place {
        match self {
            Self::Variable(variable) => variable.place,
            Self::Alias { place, .. } => *place,
            Self::Cursor(of) => of.place,
            Self::Ambiguous(place, _) => *place,
        }
    }
}

impl Compiler<'_> {
    /// What stands in DECLARE.
    pub(crate) fn declaration(
        &mut self,
        written: &Declaration,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        match written {
            Declaration::Variable(written) => self.declare_variable(written, out),
            Declaration::Ambiguous(_, ambiguity) => {
                self.ambiguity = *ambiguity;
                Ok(())
            }
            Declaration::Alias { name, place, of } => self.declare_alias(name, *place, of),
            Declaration::Cursor(written) => {
                self.declare_cursor((&written.name, written.place), Some(written), out)
            }
        }
    }

    /// `name ALIAS FOR variable`
    fn declare_alias(&mut self, name: &str, place: Place, of: &[String]) -> Result<()> {
        match self.qualified_variable(of).cloned() {
            None => {
                let of = of.join(".");
                Err(error(b"42704", place, format!("variable \"{of}\" does not exist")))
            }
            Some(Variable::Record { open: true, .. }) => {
                let what = "an alias of a record that has no shape yet";
                Err(unsupported(place, what, "use its own name"))
            }
            Some(variable) => self.declare(name, variable, place),
        }
    }

    fn declare_variable(
        &mut self,
        written: &VariableSyntax,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let VariableSyntax { name, place, constant: is_constant, not_null, .. } = written;
        if is_refcursor(&written.type_name) {
            if written.default.is_some() || *not_null || *is_constant {
                let advice = format!("declare {name} refcursor;");
                return Err(unsupported(*place, NAME_AS_VALUE, advice));
            }
            return self.declare_cursor((name, *place), None, out);
        }
        let variable = self.declared(name, &written.type_name)?;
        let slots: Vec<SlotId> = match &variable {
            Variable::Scalar { slot, .. } => vec![*slot],
            Variable::Record { fields, .. } => fields.iter().map(|(_, slot)| *slot).collect(),
            Variable::Cursor(_) => Vec::new(),
        };
        let variable = match variable {
            Variable::Scalar { slot, .. } => {
                Variable::Scalar { slot, constant: *is_constant, not_null: *not_null }
            }
            record => record,
        };
        let what = || format!("variable \"{name}\"");
        match (&written.default, scalar_slot(&variable)) {
            (Some(default), Some(slot)) => {
                let value = self.value_of_slot(default, slot, what)?;
                self.emit_assign(out, slot, value);
            }
            (Some(_), None) if *is_constant || *not_null => {
                let what = "a record that is CONSTANT or NOT NULL";
                return Err(unsupported(*place, what, "declare it without"));
            }
            (Some(default), None) => {
                let wanted = match &variable {
                    Variable::Record { fields, .. } => types_of(&self.values_of(fields)),
                    Variable::Scalar { .. } | Variable::Cursor(_) => Vec::new(),
                };
                // The default knows the names around the block, and not this one.
                let row = self.row_value(default, &wanted, what)?;
                self.declare(name, variable, *place)?;
                let target = Target { parts: vec![name.clone()], place: *place };
                return self.assign_fields(&target, &row, out);
            }
            // a block in a loop starts with fresh variables
            (None, _) if self.loops > 0 => self.emit_nulls(out, &slots),
            (None, _) => {}
        }
        self.declare(name, variable, *place)?;
        let target = Target { parts: vec![name.clone()], place: *place };
        self.emit_checks_of_targets(out, &[target])
    }

    fn declared(&mut self, name: &str, type_name: &TypeName) -> Result<Variable> {
        let place = type_name.place;
        match &type_name.kind {
            TypeNameKind::Record => {
                Ok(Variable::Record { fields: Vec::new(), open: true, of: None })
            }
            kind => {
                if let Some(columns) = self.row_type(type_name) {
                    let fields = self.record_fields(name, &columns)?;
                    let of = self.composite_named(type_name);
                    return Ok(Variable::Record { fields, open: false, of });
                }
                if let TypeNameKind::RowOf(table) = kind {
                    self.table(table, place)?; // says why there is none
                }
                let sql_type = self.type_of(type_name)?;
                if let SqlType::Scalar(DataType::Any(of)) = sql_type {
                    let message = format!("variable \"{name}\" has pseudo-type {}", of.name());
                    return Err(error(b"0A000", place, message).hint("write parameter%TYPE"));
                }
                let slot = self.slot(name, sql_type)?;
                self.ask_of_slot(slot, self.asking_domain_of(type_name));
                Ok(Variable::Scalar { slot, constant: false, not_null: false })
            }
        }
    }

    /// A written type, looked up where it is `x%TYPE`.
    pub(crate) fn type_of(&self, written: &TypeName) -> Result<SqlType> {
        let place = written.place;
        match &written.kind {
            TypeNameKind::Plain(plain) => match self.asking_domain(plain, place) {
                Some(domain) => Ok(domain.of()),
                None => sql_type(plain, self.type_names(), place),
            },
            TypeNameKind::Known(of) => Ok(*of),
            TypeNameKind::SameAs(parts) => {
                if let Some(Variable::Scalar { slot, .. }) = self.qualified_variable(parts) {
                    return Ok(self.slot_expr(*slot).sql_type.spread());
                }
                let (table, column) = match parts.as_slice() {
                    [table, column] => (table.clone(), column),
                    [schema, table, column] => (qualified(schema, table), column),
                    _ => return Err(syntax(place, "%TYPE needs table.column or a variable")),
                };
                let table = self.table(&table, place)?;
                let column = self.table_column(table, column, place)?;
                Ok(SqlType::Scalar(table.columns[column.index()].data_type).spread())
            }
            TypeNameKind::RowOf(_) | TypeNameKind::Record => Err(unsupported(
                place,
                "a record type here",
                "write one parameter or column per field",
            )),
        }
    }
}

/// Whether a variable is a cursor.
pub(crate) fn is_refcursor(written: &TypeName) -> bool {
    matches!(&written.kind, TypeNameKind::Plain(plain)
        if plain.to_string().eq_ignore_ascii_case("refcursor"))
}
