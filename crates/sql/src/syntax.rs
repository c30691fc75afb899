//! Syntax trees: what a script holds, and PL/pgSQL blocks around `sqlparser`'s statements.

use std::sync::Arc;

use hotrow_transaction::catalog::SearchPath;
use hotrow_transaction::outcome::NoticeLevel;
use hotrow_transaction::program::{Catch, ErrorPart, Place};
use sqlparser::ast;

use crate::alter_syntax::{AlterSyntax, RefreshSyntax};
use crate::altered_routine::AlterRoutineSyntax;
use crate::ambiguity::Ambiguity;
use crate::anonymous::{Anonymous, DefinitionSyntax};
use crate::call_syntax::{CallArgument, CallSyntax};
use crate::comment::CommentSyntax;
use crate::copy::CopySyntax;
use crate::domain_syntax::DomainSyntax;
use crate::grant::GrantSyntax;
use crate::maintenance::Maintenance;
use crate::policy_syntax::PolicySyntax;
use crate::role::RoleSyntax;
use crate::setting::{Naming, Setting};
use crate::state::Diagnostic;
use crate::transaction_control::TransactionControl;
use crate::trigger_syntax::{DropTriggerSyntax, FiringSyntax, TriggerSyntax};
use crate::written_subscripts::Subscripts;

/// What a script statement is.
#[derive(Debug)]
pub(crate) enum Syntax {
    /// whatever `sqlparser` parses: CREATE TABLE, CREATE INDEX, SELECT, INSERT, ...
    Sql(Box<ast::Statement>),
    /// CREATE FUNCTION or PROCEDURE
    Routine(Box<Routine>),
    /// DO $$ ... $$
    Anonymous(Box<Anonymous>),
    /// CALL name(arguments); also SELECT * FROM name(arguments)
    Call { name: String, arguments: Vec<CallArgument>, place: Place },
    /// EXPLAIN PROCEDURE name or EXPLAIN PROCEDURE name(arguments)
    Explain { name: String, arguments: Option<Vec<CallArgument>>, place: Place },
    /// DROP FUNCTION or PROCEDURE
    DropRoutine { names: Vec<DroppedRoutine>, if_exists: bool, cascades: bool },
    /// REFRESH MATERIALIZED VIEW
    Refresh(RefreshSyntax),
    /// RENAME TO, RENAME CONSTRAINT, OWNED BY
    Alter(Box<AlterSyntax>),
    /// ALTER FUNCTION, PROCEDURE, ROUTINE
    AlterRoutine(Box<AlterRoutineSyntax>),
    /// ALTER SCHEMA ... RENAME TO
    RenameSchema { name: String, to: String, place: Place },
    /// COMMENT
    Comment(Box<CommentSyntax>),
    /// ALTER TABLE ... SET SCHEMA
    SetSchema { table: String, schema: String, if_exists: bool, place: Place },
    /// BEGIN, COMMIT, ...
    Transaction(TransactionControl),
    /// VACUUM, ANALYZE, CHECKPOINT
    Maintenance(Maintenance),
    /// COPY
    Copy(CopySyntax),
    /// SET, SHOW, RESET
    Setting(Setting),
    /// PREPARE, EXECUTE, DEALLOCATE
    Naming(Naming),
    /// CREATE, ALTER, DROP of roles
    Role(RoleSyntax),
    /// GRANT, REVOKE, OWNER TO
    Grant(Box<GrantSyntax>),
    /// CREATE TRIGGER
    Trigger(Box<TriggerSyntax>),
    /// DROP TRIGGER
    DropTrigger(DropTriggerSyntax),
    /// what a trigger does for a row: no text says it
    Firing(FiringSyntax),
    /// CREATE, ALTER and DROP POLICY
    Policy(Box<PolicySyntax>),
    /// CREATE DOMAIN
    Domain(Box<DomainSyntax>),
    /// DROP ... IF EXISTS of an object of a kind that there are none of, and what is said
    Absent(String),
}

impl Syntax {
    /// What stays behind where a statement's syntax was taken.
    pub(crate) const NONE: Self =
        Self::DropRoutine { names: Vec::new(), if_exists: true, cascades: false };
}

/// A routine that DROP names, and its parameters, if they are told.
pub(crate) type DroppedRoutine = (String, Place, Option<Vec<Parameter>>);

/// CREATE FUNCTION or PROCEDURE.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) or_replace: bool,
    pub(crate) is_function: bool,
    /// SECURITY DEFINER
    pub(crate) is_definer: bool,
    /// LANGUAGE sql
    pub(crate) is_in_sql: bool,
    /// SET search_path: where the body's bare names are looked for
    pub(crate) path: Option<SearchPath>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: Option<Returns>,
    pub(crate) body: Block,
    /// settings behind SET that are without effect in it
    pub(crate) without_effect: Vec<String>,
    /// the body's text, and where it begins
    pub(crate) text: (Place, String),
    /// the place of the body's final END
    pub(crate) end: Place,
}

/// IN, OUT or INOUT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    In,
    Out,
    InOut,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) mode: Mode,
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) type_name: TypeName,
    pub(crate) default: Option<ast::Expr>,
    /// VARIADIC
    pub(crate) is_variadic: bool,
}

impl Parameter {
    /// Whether it is known by its number only, as `$1`.
    pub(crate) fn is_unnamed(&self) -> bool {
        self.name.starts_with('$')
    }
}

/// What follows RETURNS.
#[derive(Debug)]
pub(crate) enum Returns {
    Void,
    /// RETURNS record: the OUT parameters
    Record,
    Scalar(TypeName),
    SetOf(TypeName),
    Table(Vec<(String, Place, TypeName)>),
    Trigger,
}

/// A type as written.
#[derive(Clone, Debug)]
pub(crate) struct TypeName {
    pub(crate) place: Place,
    pub(crate) kind: TypeNameKind,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeNameKind {
    Plain(Box<ast::DataType>),
    /// in the place of a polymorphic one, of a call
    Known(hotrow_base::types::SqlType),
    /// `variable%TYPE` or `table.column%TYPE`
    SameAs(Vec<String>),
    /// `table%ROWTYPE`
    RowOf(String),
    Record,
}

/// DECLARE ... BEGIN ... END.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) label: Option<String>,
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) statements: Vec<BlockStatement>,
    /// EXCEPTION; none: errors leave the block
    pub(crate) handlers: Vec<HandlerSyntax>,
}

/// WHEN condition [OR condition ...] THEN
#[derive(Debug)]
pub(crate) struct HandlerSyntax {
    pub(crate) catches: Vec<Catch>,
    pub(crate) statements: Body,
}

/// What stands in DECLARE.
#[derive(Debug)]
pub(crate) enum Declaration {
    Variable(Box<VariableSyntax>),
    /// `name ALIAS FOR variable`
    Alias {
        name: String,
        place: Place,
        of: Vec<String>,
    },
    /// `name CURSOR (parameters) FOR query`
    Cursor(Box<CursorSyntax>),
    /// `#variable_conflict`, before the outermost block
    Ambiguous(Place, Ambiguity),
}

/// A variable in DECLARE.
#[derive(Debug)]
pub(crate) struct VariableSyntax {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) constant: bool,
    pub(crate) not_null: bool,
    pub(crate) type_name: TypeName,
    pub(crate) default: Option<ast::Expr>,
}

/// A cursor whose query is known.
#[derive(Debug)]
pub(crate) struct CursorSyntax {
    pub(crate) name: String,
    pub(crate) place: Place,
    /// not with NO SCROLL
    pub(crate) scrolls: bool,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) query: Arc<ast::Statement>,
}

/// EXECUTE: a statement whose text an expression gives.
#[derive(Debug)]
pub(crate) struct ExecuteSyntax {
    pub(crate) text: ast::Expr,
    /// what `$1`, `$2` ... are in it
    pub(crate) using: Vec<ast::Expr>,
    pub(crate) place: Place,
}

/// A statement that is given as it is written, or by EXECUTE.
#[derive(Debug)]
pub(crate) enum StatementSource {
    Written(Box<ast::Statement>),
    Execute(Box<ExecuteSyntax>),
}

/// OPEN.
#[derive(Debug)]
pub(crate) struct OpenSyntax {
    pub(crate) cursor: Target,
    /// not with NO SCROLL
    pub(crate) scrolls: bool,
    pub(crate) of: OpenOf,
}

/// What a cursor is opened for.
#[derive(Debug)]
pub(crate) enum OpenOf {
    /// its own query, with these arguments
    Arguments(Vec<CallArgument>),
    Query(StatementSource),
}

/// FETCH and MOVE.
#[derive(Debug)]
pub(crate) struct FetchSyntax {
    pub(crate) cursor: Target,
    pub(crate) step: CursorStep,
    /// none: MOVE
    pub(crate) targets: Option<Vec<Target>>,
}

/// Where a cursor goes to.
#[derive(Debug)]
pub(crate) enum CursorStep {
    Next,
    Prior,
    First,
    Last,
    Absolute(ast::Expr),
    Relative(ast::Expr),
}

/// How a procedure ends a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    Commit,
    RollBack,
}

#[derive(Debug)]
pub(crate) struct BlockStatement {
    pub(crate) place: Place,
    pub(crate) kind: BlockStatementKind,
}

/// A variable, `record.field` or `procedure.parameter` that receives a value.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) parts: Vec<String>,
    pub(crate) place: Place,
}

/// INTO [STRICT] targets.
#[derive(Debug)]
pub(crate) struct Into {
    pub(crate) strict: bool,
    pub(crate) targets: Vec<Target>,
}

pub(crate) type Body = Vec<BlockStatement>;

/// What stands between LOOP and END LOOP.
#[derive(Debug)]
pub(crate) struct LoopBody {
    pub(crate) label: Option<String>,
    pub(crate) statements: Body,
}

/// EXIT and CONTINUE.
#[derive(Debug)]
pub(crate) struct LeaveSyntax {
    pub(crate) way: Way,
    /// of what is left, or continued; none: the innermost loop
    pub(crate) label: Option<(String, Place)>,
    /// WHEN
    pub(crate) condition: Option<ast::Expr>,
}

/// Where a statement that leaves the body of a loop goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// behind the loop
    Exit,
    /// at its next turn
    Continue,
}

/// A statement of a block.
#[derive(Debug)]
pub(crate) enum BlockStatementKind {
    Null,
    Block(Block),
    Assign {
        target: Target,
        value: ast::Expr,
    },
    /// `target[index] := value`, `target[from:to] := array`; also of a jsonb
    AssignElement {
        target: Target,
        subscripts: Subscripts,
        value: ast::Expr,
    },
    If {
        arms: Vec<(ast::Expr, Body)>,
        otherwise: Body,
    },
    Case {
        operand: Option<ast::Expr>,
        arms: Vec<(Vec<ast::Expr>, Body)>,
        otherwise: Option<Body>,
    },
    ForRange(Box<ForRange>),
    ForEach {
        target: Target,
        /// the dimensions of what it is set to: 0 of an element
        slice: i32,
        array: ast::Expr,
        body: LoopBody,
    },
    ForQuery {
        targets: Vec<Target>,
        query: StatementSource,
        body: LoopBody,
    },
    /// FOR r IN cursor(arguments)
    ForCursor {
        target: Target,
        cursor: Target,
        arguments: Vec<CallArgument>,
        body: LoopBody,
    },
    /// LOOP, or WHILE with its condition
    Loop {
        condition: Option<ast::Expr>,
        body: LoopBody,
    },
    Leave(Box<LeaveSyntax>),
    Sql {
        statement: Box<ast::Statement>,
        into: Option<Into>,
    },
    Perform(Box<ast::Statement>),
    /// a definition, or a command of sessions
    Definition(DefinitionSyntax),
    Call(Box<CallSyntax>),
    Execute {
        statement: Box<ExecuteSyntax>,
        into: Option<Into>,
    },
    Open(Box<OpenSyntax>),
    Fetch(Box<FetchSyntax>),
    Close(Target),
    /// COMMIT and ROLLBACK; `is_last`: nothing comes behind it
    End {
        ending: Ending,
        is_last: bool,
    },
    Return(Option<ast::Expr>),
    ReturnNext(Option<ast::Expr>),
    ReturnQuery(StatementSource),
    Raise(Box<RaiseSyntax>),
    /// RAISE;
    RaiseAgain,
    Assert(Box<(ast::Expr, Option<ast::Expr>)>),
    /// GET DIAGNOSTICS
    Diagnostics(Vec<(Target, Diagnostic)>),
    /// GET STACKED DIAGNOSTICS
    Stacked(Vec<(Target, ErrorPart)>),
}

#[derive(Debug)]
pub(crate) struct ForRange {
    pub(crate) name: String,
    pub(crate) reverse: bool,
    pub(crate) from: ast::Expr,
    pub(crate) to: ast::Expr,
    pub(crate) step: Option<ast::Expr>,
    pub(crate) body: LoopBody,
}

/// RAISE.
#[derive(Debug)]
pub(crate) struct RaiseSyntax {
    /// none: an error
    pub(crate) level: Option<NoticeLevel>,
    pub(crate) format: Option<String>,
    pub(crate) arguments: Vec<ast::Expr>,
    /// condition name or code in place of a format, as it is written, and its code
    pub(crate) condition: Option<(String, [u8; 5])>,
    /// MESSAGE, DETAIL, HINT, ERRCODE (lower case) and their values
    pub(crate) options: Vec<(String, ast::Expr, Place)>,
}
