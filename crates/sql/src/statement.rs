//! PL/pgSQL statements to program statements.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::{
    CompareOp, Expr, ExprKind, Place, ROW_COUNT, Raise, SlotId, Statement, StatementKind,
};
use sqlparser::ast;

use crate::consume::Sink;
use crate::error::{Advice, Result, error, place_in, syntax, unsupported};
use crate::expression::{negated, scalar_slot};
use crate::raise::sqlstate;
use crate::scope::{Compiler, Names, Returning, Variable};
use crate::syntax::{
    Block, BlockStatement, BlockStatementKind as Kind, Declaration, ForRange, RaiseSyntax, Target,
    TypeName, TypeNameKind,
};
use crate::types::sql_type;
use crate::typing::{Coercion, assign, cast, constant, integer, joined, scalar};

impl Compiler<'_> {
    /// Compiles a block in a scope of its own.
    pub(crate) fn block(&mut self, block: &Block, out: &mut Vec<Statement>) -> Result<()> {
        self.names.push(Names::default());
        for declaration in &block.declarations {
            self.place = declaration.place;
            self.declaration(declaration, out)?;
        }
        self.statements(&block.statements, out)?;
        self.names.pop();
        Ok(())
    }

    pub(crate) fn statements(
        &mut self,
        statements: &[BlockStatement],
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        for statement in statements {
            self.place = statement.place;
            self.statement(statement, out).map_err(|e| e.or_at(statement.place))?;
        }
        Ok(())
    }

    fn declaration(&mut self, written: &Declaration, out: &mut Vec<Statement>) -> Result<()> {
        let Declaration { name, place, constant: is_constant, not_null, .. } = written;
        let variable = self.declared(name, &written.type_name)?;
        let slots: Vec<SlotId> = match &variable {
            Variable::Scalar { slot, .. } => vec![*slot],
            Variable::Record { fields, .. } => fields.iter().map(|(_, slot)| *slot).collect(),
        };
        let variable = match variable {
            Variable::Scalar { slot, .. } => {
                Variable::Scalar { slot, constant: *is_constant, not_null: *not_null }
            }
            record => record,
        };
        match (&written.default, scalar_slot(&variable)) {
            (Some(default), Some(slot)) => {
                let to = self.slot_expr(slot).data_type();
                let value = self.value_for(default, to, Coercion::Explicit, || {
                    format!("variable \"{name}\"")
                })?;
                self.emit_assign(out, slot, value);
            }
            (Some(_), None) => {
                return Err(unsupported(*place, "a default for a record", "SELECT ... INTO it"));
            }
            // a block in a loop starts with fresh variables
            (None, _) if self.loops > 0 => self.emit_nulls(out, &slots),
            (None, _) => {}
        }
        self.declare(name, variable, *place)?;
        if *not_null {
            let target = Target { parts: vec![name.clone()], place: *place };
            self.emit_not_null_checks(out, &[target]);
        }
        Ok(())
    }

    fn declared(&mut self, name: &str, type_name: &TypeName) -> Result<Variable> {
        let place = type_name.place;
        match &type_name.kind {
            TypeNameKind::Record => Ok(Variable::Record { fields: Vec::new(), open: true }),
            TypeNameKind::RowOf(table) => {
                let columns: Vec<_> = self
                    .table(table, place)?
                    .columns
                    .iter()
                    .map(|c| (c.name.clone(), c.data_type))
                    .collect();
                let fields = self.record_fields(name, &columns)?;
                Ok(Variable::Record { fields, open: false })
            }
            _ => {
                let sql_type = self.type_of(type_name)?;
                if let SqlType::Array(_) = sql_type {
                    return Err(unsupported(
                        place,
                        "an array variable",
                        "arrays are parameters: pass it, or keep the values in a table",
                    ));
                }
                let slot = self.slot(name, sql_type)?;
                Ok(Variable::Scalar { slot, constant: false, not_null: false })
            }
        }
    }

    /// A written type, looked up where it is `x%TYPE`.
    pub(crate) fn type_of(&self, written: &TypeName) -> Result<SqlType> {
        let place = written.place;
        match &written.kind {
            TypeNameKind::Plain(plain) => sql_type(plain, place),
            TypeNameKind::SameAs(parts) => {
                if let Some(Variable::Scalar { slot, .. }) = self.qualified_variable(parts) {
                    return Ok(self.slot_expr(*slot).sql_type);
                }
                let parts: &[String] = match parts.as_slice() {
                    [schema, rest @ ..] if schema == "public" && rest.len() == 2 => rest,
                    all => all,
                };
                let [table, column] = parts else {
                    return Err(syntax(place, "%TYPE needs table.column or a variable"));
                };
                let table = self.table(table, place)?;
                let column = self.table_column(table, column, place)?;
                Ok(SqlType::Scalar(table.columns[column.index()].data_type))
            }
            TypeNameKind::RowOf(_) | TypeNameKind::Record => Err(unsupported(
                place,
                "a record type here",
                "write one parameter or column per field",
            )),
        }
    }

    fn statement(&mut self, statement: &BlockStatement, out: &mut Vec<Statement>) -> Result<()> {
        match &statement.kind {
            Kind::Null => Ok(()),
            Kind::Block(block) => self.block(block, out),
            Kind::Assign { target, value } => self.assign_statement(target, value, out),
            Kind::If { arms, otherwise } => {
                let mut rest = Vec::new();
                // the last arm first, so that each ELSIF is the ELSE of the one before
                let mut compiled = Vec::new();
                for (condition, body) in arms {
                    self.place = place_in(condition, statement.place);
                    let condition = self.condition(condition, "IF")?;
                    let mut then = Vec::new();
                    self.statements(body, &mut then)?;
                    compiled.push((condition, then));
                }
                self.statements(otherwise, &mut rest)?;
                self.place = statement.place;
                self.emit_arms(out, compiled, rest);
                Ok(())
            }
            Kind::Case { operand, arms, otherwise } => {
                self.case_statement(operand.as_ref(), arms, otherwise.as_ref(), statement, out)
            }
            Kind::ForRange(written) => self.for_range(written, statement.place, out),
            Kind::ForEach { target, array, body } => {
                self.for_each(target, array, body, statement.place, out)
            }
            Kind::ForQuery { targets, query, body } => {
                self.for_query(targets, query, body, statement.place, out)
            }
            Kind::Sql { statement, into } => {
                self.sql(statement, into.as_ref(), out)?;
                if let Some(into) = into {
                    self.emit_not_null_checks(out, &into.targets);
                }
                Ok(())
            }
            Kind::Perform(query) => {
                let selected = self.select(as_query(query, self.place)?)?;
                self.emit_selected(out, selected, Sink::Discard)
            }
            Kind::Return(value) => self.return_statement(value.as_ref(), out),
            Kind::ReturnNext(value) => self.return_next(value.as_ref(), out),
            Kind::ReturnQuery(query) => {
                if !matches!(self.returning, Returning::SetOfRows(_) | Returning::SetOfValues(_)) {
                    return Err(error(
                        b"42804",
                        self.place,
                        "cannot use RETURN QUERY in a non-SETOF function",
                    ));
                }
                let selected = self.select(as_query(query, self.place)?)?;
                self.emit_selected(out, selected, Sink::Result)
            }
            Kind::Raise(written) => self.raise(written, out),
            Kind::Assert(written) => {
                let (condition, message) = &**written;
                let condition = self.condition(condition, "ASSERT")?;
                let message = message.as_ref().map(|m| self.expr(m)).transpose()?;
                let mut then = Vec::new();
                match message {
                    None => {
                        let text = "assertion failed".to_owned();
                        self.emit_raise(&mut then, b"P0004", text, None);
                    }
                    Some(message) => {
                        let raise = Raise {
                            sqlstate: *b"P0004",
                            message: vec![String::new(), String::new()],
                            arguments: vec![cast(message, DataType::Text)],
                            detail: None,
                            hint: None,
                        };
                        self.emit(&mut then, StatementKind::Raise(raise));
                    }
                }
                // NULL fails too
                let truth = constant(Value::Bool(true), DataType::Boolean);
                let holds = ExprKind::NotDistinct(Box::new(condition), Box::new(truth));
                let condition = negated(scalar(holds, DataType::Boolean));
                self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
                Ok(())
            }
            Kind::RowCount(targets) => {
                for target in targets {
                    let slot = self.target_slot(target)?;
                    let to = self.slot_expr(slot).data_type();
                    let count = self.slot_expr(ROW_COUNT);
                    let value = assign(count, to, Coercion::Explicit, target.place, || {
                        format!("variable \"{}\"", target.parts.join("."))
                    })?;
                    self.emit_assign(out, slot, value);
                }
                Ok(())
            }
        }
    }

    fn assign_statement(
        &mut self,
        target: &Target,
        value: &ast::Expr,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let slot = self.target_slot(target)?;
        if let SqlType::Array(_) = self.slot_expr(slot).sql_type {
            return Err(unsupported(
                target.place,
                "assignment to an array",
                "arrays are read-only parameters",
            ));
        }
        let to = self.slot_expr(slot).data_type();
        let value = self.value_for(value, to, Coercion::Explicit, || {
            format!("variable \"{}\"", target.parts.join("."))
        })?;
        self.emit_assign(out, slot, value);
        self.emit_not_null_checks(out, std::slice::from_ref(target));
        Ok(())
    }

    /// IF ... ELSIF ... ELSE as nested IFs.
    fn emit_arms(
        &self,
        out: &mut Vec<Statement>,
        arms: Vec<(Expr, Vec<Statement>)>,
        mut rest: Vec<Statement>,
    ) {
        for (condition, then) in arms.into_iter().rev() {
            let mut nested = Vec::new();
            self.emit(&mut nested, StatementKind::If { condition, then, otherwise: rest });
            rest = nested;
        }
        out.append(&mut rest);
    }

    fn case_statement(
        &mut self,
        operand: Option<&ast::Expr>,
        arms: &[(Vec<ast::Expr>, Vec<BlockStatement>)],
        otherwise: Option<&Vec<BlockStatement>>,
        statement: &BlockStatement,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let mut compiled = Vec::new();
        for (values, body) in arms {
            let mut conditions = Vec::new();
            for value in values {
                conditions.push(match operand {
                    None => self.condition(value, "CASE/WHEN")?,
                    Some(operand) => self.comparison(operand, CompareOp::Equal, value)?,
                });
            }
            let condition = joined(conditions, ExprKind::Or)
                .ok_or_else(|| syntax(statement.place, "WHEN needs a value"))?;
            let mut then = Vec::new();
            self.statements(body, &mut then)?;
            compiled.push((condition, then));
        }
        let mut rest = Vec::new();
        match otherwise {
            Some(body) => self.statements(body, &mut rest)?,
            None => {
                self.place = statement.place;
                let raise = Raise {
                    sqlstate: *b"20000",
                    message: vec!["case not found".to_owned()],
                    arguments: Vec::new(),
                    detail: None,
                    hint: Some(constant(
                        Value::Text("CASE statement is missing ELSE part.".to_owned()),
                        DataType::Text,
                    )),
                };
                self.emit(&mut rest, StatementKind::Raise(raise));
            }
        }
        self.place = statement.place;
        self.emit_arms(out, compiled, rest);
        Ok(())
    }

    fn for_range(
        &mut self,
        written: &ForRange,
        place: Place,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let bound = |compiler: &mut Self, expr: &ast::Expr, what: &str| {
            compiler.value_for(expr, DataType::Integer, Coercion::Assignment, || {
                format!("{what} of FOR loop")
            })
        };
        let from = bound(self, &written.from, "lower bound")?;
        let to = bound(self, &written.to, "upper bound")?;
        let step = match &written.step {
            Some(step) => bound(self, step, "BY value")?,
            None => integer(1),
        };
        let slot = self.slot(&written.name, SqlType::Scalar(DataType::Integer))?;
        self.names.push(Names::default());
        let variable = Variable::Scalar { slot, constant: false, not_null: false };
        self.declare(&written.name, variable, place)?;
        let mut body = Vec::new();
        self.loop_body(&written.body, &mut body)?;
        self.names.pop();
        self.place = place;
        let reverse = written.reverse;
        self.emit(out, StatementKind::ForRange { slot, from, to, step, reverse, body });
        Ok(())
    }

    fn loop_body(&mut self, body: &[BlockStatement], out: &mut Vec<Statement>) -> Result<()> {
        self.loops += 1;
        self.statements(body, out)?;
        self.loops -= 1;
        Ok(())
    }

    fn for_each(
        &mut self,
        target: &Target,
        array: &ast::Expr,
        body: &[BlockStatement],
        place: Place,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let (array, element) = self.array(array)?;
        let variable = self.target_slot(target)?;
        let to = self.slot_expr(variable).data_type();
        let mut compiled = Vec::new();
        let slot = if to == element {
            variable
        } else {
            let slot = self.temporary("element", element)?;
            let value = self.slot_expr(slot);
            let value = assign(value, to, Coercion::Explicit, target.place, || {
                format!("variable \"{}\"", target.parts.join("."))
            })?;
            self.emit_assign(&mut compiled, variable, value);
            slot
        };
        self.loop_body(body, &mut compiled)?;
        self.place = place;
        self.emit(out, StatementKind::ForEach { slot, array, body: compiled });
        Ok(())
    }

    fn for_query(
        &mut self,
        targets: &[Target],
        query: &ast::Statement,
        body: &[BlockStatement],
        place: Place,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let selected = self.select(as_query(query, place)?)?;
        let columns: Vec<_> =
            selected.columns.iter().map(|(n, e)| (n.clone(), e.data_type())).collect();
        self.names.push(Names::default());
        let slots = match targets {
            [target] if target.parts.len() == 1 => self.loop_variable(target, &columns)?,
            _ => self.slots_of_targets(targets, &columns)?,
        };
        let Some((rows, query)) = self.loop_query(out, selected, &slots)? else {
            // exactly one row: the body runs once, on the values just assigned
            self.statements(body, out)?;
            self.names.pop();
            return Ok(());
        };
        let mut compiled = Vec::new();
        self.loop_body(body, &mut compiled)?;
        self.names.pop();
        self.place = place;
        let query = Box::new(query);
        self.emit(out, StatementKind::ForQuery { rows, query, into: slots, body: compiled });
        Ok(())
    }

    /// The slots of a loop's variable. A record that has another shape already is shadowed in the
    /// loop's body.
    fn loop_variable(
        &mut self,
        target: &Target,
        columns: &[(String, DataType)],
    ) -> Result<Vec<SlotId>> {
        let name = &target.parts[0];
        match self.variable(name).cloned() {
            Some(Variable::Record { fields, open: false }) => {
                let same = fields.len() == columns.len()
                    && fields.iter().zip(columns).all(|((field, slot), (column, data_type))| {
                        field == column && self.slot_expr(*slot).data_type() == *data_type
                    });
                if same {
                    return Ok(fields.into_iter().map(|(_, slot)| slot).collect());
                }
                let fields = self.record_fields(name, columns)?;
                let slots = fields.iter().map(|(_, slot)| *slot).collect();
                self.declare(name, Variable::Record { fields, open: false }, target.place)?;
                Ok(slots)
            }
            Some(_) => self.slots_of_targets(std::slice::from_ref(target), columns),
            None => Err(error(
                b"42601",
                target.place,
                "loop variable of loop over rows must be a record variable or list of scalar \
                 variables",
            )
            .hint(format!("declare it: {name} RECORD;"))),
        }
    }

    /// A statement of SQL inside a block.
    pub(crate) fn sql(
        &mut self,
        statement: &ast::Statement,
        into: Option<&crate::syntax::Into>,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        match statement {
            ast::Statement::Query(query) => {
                let selected = self.select(query)?;
                if into.is_none() && !self.ad_hoc {
                    return Err(syntax(self.place, "query has no destination for result data")
                        .hint(
                            "write SELECT ... INTO variable, PERFORM to ignore the result, or \
                             RETURN QUERY SELECT",
                        ));
                }
                let sink = match into {
                    None => Sink::Result,
                    Some(_) => self.sink_of(into, &selected.columns)?,
                };
                self.emit_selected(out, selected, sink)
            }
            ast::Statement::Insert(insert) => self.insert(out, insert, into),
            ast::Statement::Update(update) => self.update(out, update, into),
            ast::Statement::Delete(delete) => self.delete(out, delete, into),
            _ => Err(unsupported(
                self.place,
                "this statement",
                "write SELECT, INSERT, UPDATE or DELETE",
            )),
        }
    }

    fn return_statement(
        &mut self,
        value: Option<&ast::Expr>,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let values = match (self.returning.clone(), value) {
            (Returning::Value(to), Some(value)) => {
                let what = || "RETURN".to_owned();
                vec![self.value_for(value, to, Coercion::Explicit, what)?]
            }
            (Returning::Value(_), None) => {
                return Err(syntax(self.place, "missing expression after RETURN"));
            }
            (Returning::Outs(slots), None) => slots.iter().map(|s| self.slot_expr(*s)).collect(),
            (_, None) => Vec::new(),
            (Returning::Outs(_), Some(_)) => {
                return Err(error(
                    b"42804",
                    self.place,
                    "RETURN cannot have a parameter in function with OUT parameters",
                ));
            }
            (Returning::Nothing, Some(_)) => {
                return Err(error(
                    b"42804",
                    self.place,
                    "RETURN cannot have a parameter in a procedure or function returning void",
                ));
            }
            (_, Some(_)) => {
                return Err(error(
                    b"42804",
                    self.place,
                    "RETURN cannot have a parameter in function returning set",
                )
                .hint("Use RETURN NEXT or RETURN QUERY."));
            }
        };
        self.emit(out, StatementKind::Return(values));
        Ok(())
    }

    fn return_next(&mut self, value: Option<&ast::Expr>, out: &mut Vec<Statement>) -> Result<()> {
        let values = match (self.returning.clone(), value) {
            (Returning::SetOfValues(to), Some(value)) => {
                let what = || "RETURN NEXT".to_owned();
                vec![self.value_for(value, to, Coercion::Explicit, what)?]
            }
            (Returning::SetOfRows(slots), None) if !slots.is_empty() => {
                slots.iter().map(|s| self.slot_expr(*s)).collect()
            }
            (Returning::SetOfRows(_), Some(ast::Expr::Identifier(ident))) => {
                let name = crate::token::folded(&ident.value, ident.quote_style.is_some());
                let Some(Variable::Record { fields, .. }) = self.variable(&name).cloned() else {
                    return Err(error(b"42804", self.place, "RETURN NEXT needs a record here"));
                };
                let columns: Vec<_> =
                    fields.into_iter().map(|(n, slot)| (n, self.slot_expr(slot))).collect();
                self.result_values(&columns)?
            }
            (Returning::SetOfRows(_) | Returning::SetOfValues(_), _) => {
                return Err(error(
                    b"42804",
                    self.place,
                    "RETURN NEXT does not fit what the function returns",
                )
                .hint("assign the columns of RETURNS TABLE and write RETURN NEXT; alone"));
            }
            _ => {
                return Err(error(
                    b"42804",
                    self.place,
                    "cannot use RETURN NEXT in a non-SETOF function",
                ));
            }
        };
        self.emit(out, StatementKind::ReturnNext(values));
        Ok(())
    }

    fn raise(&mut self, written: &RaiseSyntax, out: &mut Vec<Statement>) -> Result<()> {
        let mut code = written.condition.unwrap_or(*b"P0001");
        let mut message: Vec<String> = Vec::new();
        let mut arguments = Vec::new();
        if let Some(format) = &written.format {
            message = pieces(format);
            for argument in &written.arguments {
                let place = place_in(argument, self.place);
                let value = self.expr(argument)?;
                self.scalar_type(&value, place)?;
                arguments.push(value);
            }
            if message.len() != arguments.len() + 1 {
                let problem = if message.len() > arguments.len() + 1 { "few" } else { "many" };
                return Err(syntax(
                    self.place,
                    format!("too {problem} parameters specified for RAISE"),
                ));
            }
        }
        let (mut detail, mut hint) = (None, None);
        for (option, value, place) in &written.options {
            if option == "errcode" {
                let ast::Expr::Value(literal) = value else {
                    return Err(unsupported(
                        *place,
                        "an ERRCODE that is not a literal",
                        "quote it",
                    ));
                };
                let ast::Value::SingleQuotedString(text) = &literal.value else {
                    return Err(syntax(*place, "ERRCODE needs a code in quotes"));
                };
                code = sqlstate(text, *place)?;
                continue;
            }
            let value = cast(self.expr(value)?, DataType::Text);
            match option.as_str() {
                "message" if message.is_empty() => {
                    message = vec![String::new(), String::new()];
                    arguments = vec![value];
                }
                "message" => {
                    return Err(syntax(*place, "RAISE option already specified: MESSAGE"));
                }
                "detail" => detail = Some(value),
                _ => hint = Some(value),
            }
        }
        if written.only_a_notice {
            return Ok(());
        }
        if message.is_empty() {
            message = vec![String::from_utf8_lossy(&code).into_owned()];
        }
        let raise = Raise { sqlstate: code, message, arguments, detail, hint };
        self.emit(out, StatementKind::Raise(raise));
        Ok(())
    }

    /// What a body that runs off its end does.
    pub(crate) fn emit_end(&mut self, out: &mut Vec<Statement>, end: Place) {
        if matches!(out.last().map(|s| &s.kind), Some(StatementKind::Return(_))) {
            return;
        }
        self.place = end;
        match self.returning.clone() {
            Returning::Value(_) => {
                let message = "control reached end of function without RETURN".to_owned();
                self.emit_raise(out, b"2F005", message, None);
            }
            Returning::Outs(slots) => {
                let values = slots.iter().map(|slot| self.slot_expr(*slot)).collect();
                self.emit(out, StatementKind::Return(values));
            }
            _ => {}
        }
    }
}

/// The text around the `%` of a format; `%%` is a percent sign.
fn pieces(format: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '%' && chars.peek() != Some(&'%') {
            pieces.push(String::new());
            continue;
        }
        if c == '%' {
            chars.next();
        }
        if let Some(last) = pieces.last_mut() {
            last.push(c);
        }
    }
    pieces
}

fn as_query(statement: &ast::Statement, place: Place) -> Result<&ast::Query> {
    match statement {
        ast::Statement::Query(query) => Ok(query),
        _ => Err(unsupported(
            place,
            "a statement other than SELECT here",
            "INSERT, UPDATE and DELETE give rows with RETURNING ... INTO",
        )),
    }
}
