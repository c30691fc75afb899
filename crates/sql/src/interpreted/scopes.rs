//! The variables of a block that is run statement by statement.
//!
//! Role         keeps names, types and values from step to step; a step gets them as parameters,
//!              and gives them back as the row of its result
//! Invariants   I1 the values of all scopes, in their order, are what a step takes, and what one
//!              that may change them gives: [`Scopes::values`] and [`Scopes::take`] go through them
//!              alike

use hotrow_base::composite::CompositeType;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::SlotId;

use crate::ambiguity::Ambiguity;
use crate::error::Result;
use crate::scope::Compiler;
use crate::state::{Names, Variable};
use crate::syntax::{CursorSyntax, Declaration};

/// Whether what is declared is nothing but a variable.
pub(super) fn is_variable(declaration: &Declaration) -> bool {
    matches!(declaration, Declaration::Variable(written)
        if !crate::declaration::is_refcursor(&written.type_name))
}

/// What the name of a cursor is as a value.
pub(super) const CURSOR_NAME: SqlType = SqlType::Scalar(DataType::RefCursor);

/// What a name stands for.
pub(super) enum Held<'b> {
    Scalar {
        sql_type: SqlType,
        value: Value,
        constant: bool,
        not_null: bool,
    },
    /// `is_open`: a RECORD, which any row may give another shape
    Record {
        fields: Vec<(String, SqlType, Value)>,
        is_open: bool,
        of: Option<CompositeType>,
    },
    /// another name of a variable
    Alias(Vec<String>),
    /// a cursor with a query of its own; `value`: its name, while it has one
    Cursor {
        of: &'b CursorSyntax,
        value: Value,
    },
}

/// The names of one block, or loop.
#[derive(Default)]
pub(super) struct Scope<'b> {
    pub(super) label: Option<&'b String>,
    pub(super) variables: Vec<(String, Held<'b>)>,
}

/// All that are in scope, the innermost last.
#[derive(Default)]
pub(super) struct Scopes<'b> {
    scopes: Vec<Scope<'b>>,
    pub(super) ambiguity: Ambiguity,
}

/// What a step says of a variable.
pub(super) enum Shape {
    Scalar { sql_type: SqlType, constant: bool, not_null: bool },
    Record { fields: Vec<(String, SqlType)>, is_open: bool, of: Option<CompositeType> },
    None,
}

impl<'b> Scopes<'b> {
    pub(super) fn len(&self) -> usize {
        self.scopes.len()
    }

    pub(super) fn push(&mut self, scope: Scope<'b>) {
        self.scopes.push(scope);
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.scopes.truncate(len);
    }

    /// Adds a name to the innermost scope.
    pub(super) fn declare(&mut self, name: &str, held: Held<'b>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.variables.push((name.to_owned(), held));
        }
    }

    /// Whether the innermost scope has a name.
    pub(super) fn has_declared(&self, name: &str) -> bool {
        let names = self.scopes.last().into_iter().flat_map(|scope| &scope.variables);
        names.into_iter().any(|(known, _)| known == name)
    }

    /// What `name` or `label.name` stands for.
    pub(super) fn find(&mut self, parts: &[String]) -> Option<&mut Held<'b>> {
        let (label, name) = match parts {
            [name] => (None, name),
            [label, name] => (Some(label), name),
            _ => return None,
        };
        let of_label = |scope: &&mut Scope<'b>| label.is_none() || scope.label == label;
        let scopes = self.scopes.iter_mut().rev().filter(of_label);
        let mut names = scopes.flat_map(|scope| scope.variables.iter_mut().rev());
        names.find(|(known, _)| known == name).map(|(_, held)| held)
    }

    /// The values of all variables.
    pub(super) fn values(&self) -> Vec<Value> {
        let mut values = Vec::new();
        for (_, held) in self.scopes.iter().flat_map(|scope| &scope.variables) {
            match held {
                Held::Scalar { value, .. } | Held::Cursor { value, .. } => {
                    values.push(value.clone());
                }
                Held::Record { fields, .. } => {
                    values.extend(fields.iter().map(|(.., value)| value.clone()));
                }
                Held::Alias(_) => {}
            }
        }
        values
    }

    /// Has a compiler know all names; the parameters are their slots.
    pub(super) fn make_known(&self, compiler: &mut Compiler<'_>) -> Result<()> {
        compiler.ambiguity = self.ambiguity;
        for scope in &self.scopes {
            let label = scope.label.cloned();
            compiler.names.push(Names { label, variables: Vec::new() });
            for (name, held) in &scope.variables {
                let variable = match held {
                    Held::Scalar { sql_type, constant, not_null, .. } => {
                        let slot = compiler.slot(name, *sql_type)?;
                        compiler.take_variable(slot);
                        let (constant, not_null) = (*constant, *not_null);
                        Variable::Scalar { slot, constant, not_null }
                    }
                    Held::Record { fields, is_open, of } => {
                        let mut slots = Vec::new();
                        for (field, sql_type, _) in fields {
                            let slot = compiler.slot(&format!("{name}.{field}"), *sql_type)?;
                            compiler.take_variable(slot);
                            slots.push((field.clone(), slot));
                        }
                        Variable::Record { fields: slots, open: *is_open, of: *of }
                    }
                    Held::Alias(of) => match compiler.qualified_variable(of) {
                        Some(variable) => variable.clone(),
                        None => continue,
                    },
                    Held::Cursor { .. } => {
                        let slot = compiler.slot(name, CURSOR_NAME)?;
                        compiler.take_variable(slot);
                        Variable::Scalar { slot, constant: false, not_null: false }
                    }
                };
                if let Some(names) = compiler.names.last_mut() {
                    names.variables.push((name.clone(), variable));
                }
            }
        }
        Ok(())
    }

    /// What a compiler has made of all names, and the slots of their values, in their order; of
    /// what was declared besides, last.
    pub(super) fn shapes(&self, compiler: &Compiler<'_>) -> (Vec<Shape>, Vec<SlotId>) {
        let (mut shapes, mut slots) = (Vec::new(), Vec::new());
        for (at, scope) in self.scopes.iter().enumerate() {
            let Some(names) = compiler.names.get(at + 1) else { break };
            let mut known = names.variables.iter();
            for (_, held) in &scope.variables {
                match held {
                    Held::Alias(_) => {
                        known.next();
                        shapes.push(Shape::None);
                    }
                    _ => {
                        let Some((_, variable)) = known.next() else { break };
                        shapes.push(shape_of(compiler, variable, &mut slots));
                    }
                }
            }
            if at + 1 == self.scopes.len() {
                shapes.extend(known.map(|(_, of)| shape_of(compiler, of, &mut slots)));
            }
        }
        (shapes, slots)
    }

    /// Takes what a step has made of all variables.
    pub(super) fn take(&mut self, shapes: Vec<Shape>, values: Vec<Value>) {
        let (mut shapes, mut values) = (shapes.into_iter(), values.into_iter());
        for (_, held) in self.scopes.iter_mut().flat_map(|scope| &mut scope.variables) {
            let Some(shape) = shapes.next() else { return };
            match (held, shape) {
                (Held::Scalar { value, .. } | Held::Cursor { value, .. }, Shape::Scalar { .. }) => {
                    *value = values.next().unwrap_or(Value::Null);
                }
                (Held::Record { fields, .. }, Shape::Record { fields: of, .. }) => {
                    *fields = filled(of, &mut values);
                }
                _ => {}
            }
        }
    }

    /// As [`Scopes::take`], and declares a variable that the step has declared.
    pub(super) fn take_declared(
        &mut self,
        name: &str,
        mut shapes: Vec<Shape>,
        mut values: Vec<Value>,
    ) {
        let Some(shape) = shapes.pop() else { return };
        let held = match shape {
            Shape::Scalar { sql_type, constant, not_null } => {
                let value = values.pop().unwrap_or(Value::Null);
                Held::Scalar { sql_type, value, constant, not_null }
            }
            Shape::Record { fields, is_open, of } => {
                let own = values.split_off(values.len().saturating_sub(fields.len()));
                Held::Record { fields: filled(fields, &mut own.into_iter()), is_open, of }
            }
            Shape::None => return,
        };
        self.take(shapes, values);
        self.declare(name, held);
    }
}

impl Compiler<'_> {
    /// Has a slot be the next parameter.
    pub(super) fn take_variable(&mut self, slot: SlotId) {
        self.parameters.push(slot);
        self.given.push(Some(self.slot_type(slot)));
    }
}

fn filled(
    fields: Vec<(String, SqlType)>,
    values: &mut impl Iterator<Item = Value>,
) -> Vec<(String, SqlType, Value)> {
    let fields = fields.into_iter();
    fields.map(|(name, of)| (name, of, values.next().unwrap_or(Value::Null))).collect()
}

fn shape_of(compiler: &Compiler<'_>, variable: &Variable, slots: &mut Vec<SlotId>) -> Shape {
    match variable {
        Variable::Scalar { slot, constant, not_null } => {
            slots.push(*slot);
            let (constant, not_null) = (*constant, *not_null);
            Shape::Scalar { sql_type: compiler.slot_type(*slot), constant, not_null }
        }
        Variable::Record { fields, open, of } => {
            slots.extend(fields.iter().map(|(_, slot)| *slot));
            let fields = fields.iter();
            let fields = fields.map(|(name, slot)| (name.clone(), compiler.slot_type(*slot)));
            Shape::Record { fields: fields.collect(), is_open: *open, of: *of }
        }
        Variable::Cursor(_) => Shape::None,
    }
}

/// A name that no name of SQL is, of what comes from outside of the block.
pub(super) fn given_name(number: usize) -> String {
    crate::dynamic_syntax::parameter_name(number)
}

/// The scope of values that come from outside of the block.
pub(super) fn given<'b>(
    columns: impl IntoIterator<Item = SqlType>,
    values: impl IntoIterator<Item = Value>,
) -> Scope<'b> {
    let given = columns.into_iter().zip(values).zip(1..).map(|((sql_type, value), number)| {
        let held = Held::Scalar { sql_type, value, constant: true, not_null: false };
        (given_name(number), held)
    });
    Scope { label: None, variables: given.collect() }
}

impl Held<'_> {
    /// Type and value, of what is no record.
    pub(super) fn scalar(&self) -> Option<(SqlType, Value)> {
        match self {
            Self::Scalar { sql_type, value, .. } => Some((*sql_type, value.clone())),
            Self::Cursor { value, .. } => Some((CURSOR_NAME, value.clone())),
            _ => None,
        }
    }
}

impl Shape {
    /// It is a RECORD, whatever shape it has.
    pub(super) fn stay_open(&mut self) {
        if let Self::Record { is_open, .. } = self {
            *is_open = true;
        }
    }
}
