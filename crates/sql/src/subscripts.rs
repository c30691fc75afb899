//! Elements of columns that are assigned: `SET a[2] = 5`, `SET a[1:2] = '{8,9}'`, and those of
//! `INSERT INTO t (a[1], a[2])`.
//!
//! Role         the parser knows no subscripts there: it is shown `SET "a[2]" = 5`, and what it
//!              gives is written as `SET a = set(a, 2, 5)`, where `set` is a name that nobody else
//!              has. Two of one column are `set(set(a, 1, x), 2, y)`; of several subscripts, which
//!              jsonb takes, `SET j['a'][0] = x` is `SET j = set(j, 'a', 0, x)`. What is inserted
//!              begins as NULL of the column's type: `a` gets `set(set(NULL, 1, x), 2, y)`

use hotrow_transaction::program::Place;
use sqlparser::ast::{
    self, AssignmentTarget, Ident, MergeAction, MergeUpdateExpr, MergeUpdateKind, ObjectName,
    ObjectNamePart, SetExpr, Statement, TableObject,
};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Result, place_in, unsupported};
use crate::token::{as_written, is_word, parse_expression, tokenize};
use crate::written_subscripts::Subscripts;

/// What a name with subscripts begins with, and the function that assigns: no name of SQL has it.
const SUBSCRIPTED: char = '\u{3}';

/// What the function is called that assigns to a slice.
const SLICE: &str = "\u{3}:";

/// A bracket that has not ended.
#[derive(Default)]
struct Open {
    at: usize,
    is_subscript: bool,
    has_operator: bool,
    is_many: bool,
}

/// Writes `j['a' || 'b']` as `j[('a' || 'b')]`: of a subscript the parser takes no operators that
/// bind as a colon does.
pub(crate) fn put_in_brackets(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| token.token == Token::LBracket) {
        return;
    }
    let (mut open, mut added) = (Vec::<Open>::new(), vec![None; tokens.len()]);
    let mut is_behind_value = false;
    for (at, token) in tokens.iter().enumerate() {
        let token = &token.token;
        match (token, open.last_mut()) {
            (Token::LBracket | Token::LParen, _) => {
                let is_subscript = is_behind_value && *token == Token::LBracket;
                open.push(Open { at, is_subscript, ..Open::default() });
            }
            (Token::RBracket | Token::RParen, _) => {
                if let Some(Open { at: from, is_subscript, has_operator, is_many }) = open.pop()
                    && is_subscript
                    && has_operator
                    && !is_many
                {
                    added[from + 1] = Some(Token::LParen);
                    added[at] = Some(Token::RParen);
                }
            }
            // Neither a slice nor a list.
            (Token::Colon | Token::Comma, Some(around)) => around.is_many = true,
            (
                Token::StringConcat
                | Token::Arrow
                | Token::LongArrow
                | Token::HashArrow
                | Token::HashLongArrow,
                Some(around),
            ) => around.has_operator = true,
            _ => {}
        }
        is_behind_value = match token {
            Token::Word(_) => !is_word(token, "array"),
            token => matches!(token, Token::RBracket | Token::RParen),
        };
    }
    if added.iter().all(Option::is_none) {
        return;
    }
    let all = std::mem::take(tokens);
    for (token, before) in all.into_iter().zip(added) {
        let span = token.span;
        tokens.extend(before.map(|token| TokenWithSpan { token, span }));
        tokens.push(token);
    }
}

/// Where the columns of an INSERT are listed: the first token of each.
fn listed_columns(tokens: &[TokenWithSpan]) -> Vec<usize> {
    const OTHERS: [&str; 6] = ["values", "select", "with", "default", "overriding", "table"];
    let is_other = |at: usize| {
        tokens.get(at).is_none_or(|it| OTHERS.iter().any(|word| is_word(&it.token, word)))
    };
    let mut found = Vec::new();
    for at in 1..tokens.len() {
        if !is_word(&tokens[at].token, "into") || !is_word(&tokens[at - 1].token, "insert") {
            continue;
        }
        let is_name = |at: usize| {
            let token = tokens.get(at).map(|it| &it.token);
            matches!(token, Some(Token::Word(_) | Token::Period)) && !is_other(at)
        };
        let open = (at + 1..).find(|at| !is_name(*at)).unwrap_or(tokens.len());
        let is_list = tokens.get(open).is_some_and(|it| it.token == Token::LParen);
        if !is_list || is_other(open + 1) {
            continue;
        }
        let (mut depth, mut begins) = (0_usize, false);
        for (at, it) in tokens.iter().enumerate().skip(open) {
            if begins {
                found.push(at);
            }
            match it.token {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
                _ => {}
            }
            begins = depth == 1 && matches!(it.token, Token::LParen | Token::Comma);
            if depth == 0 {
                break;
            }
        }
    }
    found
}

/// Writes names with subscripts behind SET, and among the columns of an INSERT, as names.
pub(crate) fn as_names(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    if !tokens.iter().any(|token| token.token == Token::LBracket) {
        return None;
    }
    let listed = listed_columns(tokens);
    let (mut plain, mut depth) = (Vec::with_capacity(tokens.len()), 0_usize);
    let (mut at, mut in_list, mut begins, mut is_changed) = (0, None, false, false);
    while at < tokens.len() {
        let token = &tokens[at].token;
        let is_listed = listed.binary_search(&at).is_ok();
        if (begins || is_listed)
            && let Some(end) = subscripts_end(&tokens[at..], is_listed)
        {
            let text: Vec<_> = tokens[at..at + end].iter().map(|t| as_written(&t.token)).collect();
            let name = format!("{SUBSCRIPTED}{}", text.join(" "));
            let token = Token::make_word(&name, Some('"'));
            plain.push(TokenWithSpan { token, span: tokens[at].span });
            (at, begins, is_changed) = (at + end, false, true);
            continue;
        }
        match token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends = |word| is_word(token, word) && in_list == Some(depth);
        if is_word(token, "set") {
            in_list = Some(depth);
        } else if in_list.is_some_and(|list| depth < list)
            || ["where", "from", "returning"].into_iter().any(ends)
        {
            in_list = None;
        }
        let is_comma = *token == Token::Comma;
        begins = in_list == Some(depth) && (is_word(token, "set") || is_comma);
        plain.push(tokens[at].clone());
        at += 1;
    }
    is_changed.then_some(plain)
}

/// How many tokens a name with subscripts takes that is assigned; none: it is something else.
fn subscripts_end(tokens: &[TokenWithSpan], is_listed: bool) -> Option<usize> {
    let [first, second, ..] = tokens else { return None };
    if !matches!(first.token, Token::Word(_)) || second.token != Token::LBracket {
        return None;
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(1) {
        match token.token {
            Token::Comma | Token::RParen if depth == 0 && is_listed => return Some(at),
            Token::LBracket | Token::LParen => depth += 1,
            Token::RBracket | Token::RParen => depth = depth.checked_sub(1)?,
            Token::Eq if depth == 0 => return Some(at),
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Writes assignments to such names as assignments to columns.
pub(crate) fn as_columns(statement: &mut Statement) -> Result<()> {
    match statement {
        Statement::Update(update) => assignments(&mut update.assignments, None),
        Statement::Merge(merge) => {
            let updates = merge.clauses.iter_mut().map(|clause| &mut clause.action);
            updates.into_iter().try_for_each(|action| match action {
                MergeAction::Update(MergeUpdateExpr {
                    kind: MergeUpdateKind::Set(all), ..
                }) => assignments(all, name_of(&merge.table).as_ref()),
                _ => Ok(()),
            })
        }
        Statement::Insert(insert) => {
            if let Some(ast::OnInsert::OnConflict(conflict)) = &mut insert.on
                && let ast::OnConflictAction::DoUpdate(update) = &mut conflict.action
            {
                // The row that is there, and not the one that was to be inserted.
                let named = match (&insert.table_alias, &insert.table) {
                    (Some(alias), _) => Some(alias.alias.clone()),
                    (None, TableObject::TableName(name)) => last_of(name),
                    _ => None,
                };
                assignments(&mut update.assignments, named.as_ref())?;
            }
            listed(insert)?;
            insert.source.as_deref_mut().map_or(Ok(()), in_query)
        }
        Statement::Query(query) => in_query(query),
        Statement::Explain { statement, .. } => as_columns(statement),
        _ => Ok(()),
    }
}

fn in_query(query: &mut ast::Query) -> Result<()> {
    for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
        in_query(&mut cte.query)?;
    }
    match &mut *query.body {
        SetExpr::Update(statement) | SetExpr::Insert(statement) => as_columns(statement),
        _ => Ok(()),
    }
}

fn last_of(name: &ObjectName) -> Option<Ident> {
    name.0.last().and_then(|part| part.as_ident()).cloned()
}

fn name_of(table: &ast::TableFactor) -> Option<Ident> {
    match table {
        ast::TableFactor::Table { alias: Some(alias), .. } => Some(alias.name.clone()),
        ast::TableFactor::Table { name, .. } => last_of(name),
        _ => None,
    }
}

/// `of`: the name of the rows whose columns are changed, where others are in sight.
fn assignments(all: &mut Vec<ast::Assignment>, of: Option<&Ident>) -> Result<()> {
    for mut assignment in std::mem::take(all) {
        let place = place_in(&assignment, Place::default());
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            all.push(assignment);
            continue;
        };
        let [ObjectNamePart::Identifier(marked)] = name.0.as_slice() else {
            all.push(assignment);
            continue;
        };
        let Some((column, subscripts)) = subscripted(marked, place)? else {
            all.push(assignment);
            continue;
        };
        let target = AssignmentTarget::ColumnName(ObjectName(vec![ObjectNamePart::Identifier(
            column.clone(),
        )]));
        let before = all.iter().position(|other| other.target == target);
        let array = match before {
            Some(before) if is_set(&all[before].value) => all.remove(before).value,
            _ => match of {
                Some(of) => ast::Expr::CompoundIdentifier(vec![of.clone(), column]),
                None => ast::Expr::Identifier(column),
            },
        };
        let value = with_element(array, subscripts, assignment.value);
        assignment = ast::Assignment { target, value };
        all.push(assignment);
    }
    Ok(())
}

/// The column and the subscripts of a name that has some.
fn subscripted(marked: &Ident, place: Place) -> Result<Option<(Ident, Subscripts)>> {
    let Some(text) = marked.value.strip_prefix(SUBSCRIPTED) else { return Ok(None) };
    let written = parse_expression(&tokenize(text, place)?, place)?;
    let refused = || unsupported(place, "this target", "write column[i] or column[i:j]");
    let ast::Expr::CompoundFieldAccess { root, access_chain } = written else {
        return Err(refused());
    };
    let ast::Expr::Identifier(mut column) = *root else { return Err(refused()) };
    column.span = marked.span;
    let subscripts = Subscripts::of_chain(&access_chain, place)?.ok_or_else(refused)?;
    Ok(Some((column, subscripts)))
}

/// `set(array, bounds, value)`
fn with_element(array: ast::Expr, subscripts: Subscripts, value: ast::Expr) -> ast::Expr {
    let function = if subscripts.is_slice { SLICE.to_owned() } else { SUBSCRIPTED.to_string() };
    let given = [array].into_iter().chain(subscripts.bounds).chain([value]);
    called(&function, given.collect())
}

/// Writes the columns of an INSERT that have subscripts as columns.
fn listed(insert: &mut ast::Insert) -> Result<()> {
    let mut targets = Vec::with_capacity(insert.columns.len());
    for name in &insert.columns {
        let target = match name.0.as_slice() {
            [ObjectNamePart::Identifier(marked)] => {
                subscripted(marked, place_in(name, Place::default()))?
            }
            _ => None,
        };
        targets.push(target);
    }
    let Some(first) = targets.iter().position(Option::is_some) else { return Ok(()) };
    let place = place_in(&insert.columns[first], Place::default());
    let Some(SetExpr::Values(values)) = insert.source.as_deref_mut().map(|query| &mut *query.body)
    else {
        let advice = "insert the rows, or values made with ARRAY[...]";
        return Err(unsupported(place, "a subscript of INSERT ... SELECT", advice));
    };
    let mut columns = Vec::<ObjectName>::new();
    // Per column that is written, the place among those that are left.
    let mut places = Vec::with_capacity(targets.len());
    for (name, target) in insert.columns.iter().zip(&targets) {
        let name = match target {
            Some((column, _)) => ObjectName(vec![ObjectNamePart::Identifier(column.clone())]),
            None => name.clone(),
        };
        let before = columns.iter().position(|other| *other == name && target.is_some());
        places.push(before.unwrap_or(columns.len()));
        if before.is_none() {
            columns.push(name);
        }
    }
    for row in &mut values.rows {
        if row.content.len() != targets.len() {
            continue; // which is refused
        }
        let mut content = Vec::<ast::Expr>::with_capacity(columns.len());
        for ((value, target), at) in
            std::mem::take(&mut row.content).into_iter().zip(&targets).zip(&places)
        {
            let Some((_, subscripts)) = target else {
                content.push(value);
                continue;
            };
            match content.get_mut(*at) {
                Some(before) => {
                    let array = std::mem::replace(before, nothing());
                    *before = with_element(array, subscripts.clone(), value);
                }
                None => content.push(with_element(nothing(), subscripts.clone(), value)),
            }
        }
        row.content = content;
    }
    insert.columns = columns;
    Ok(())
}

/// NULL of the type of the column that is inserted into.
fn nothing() -> ast::Expr {
    ast::Expr::Identifier(Ident::with_quote('"', SUBSCRIPTED.to_string()))
}

/// Whether this is [`nothing`].
pub(crate) fn is_nothing(written: &ast::Expr) -> bool {
    matches!(written, ast::Expr::Identifier(name) if name.value.starts_with(SUBSCRIPTED))
}

/// The assignment to elements of a column that is inserted into.
pub(crate) fn assigned_to_nothing(written: &ast::Expr) -> Option<&ast::Function> {
    let ast::Expr::Function(function) = written else { return None };
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let first = match list.args.first()? {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(first)) => first,
        _ => return None,
    };
    let is_it =
        is_assignment(function) && (is_nothing(first) || assigned_to_nothing(first).is_some());
    is_it.then_some(function)
}

fn is_set(value: &ast::Expr) -> bool {
    matches!(value, ast::Expr::Function(function) if is_assignment(function))
}

/// Whether a call is an assignment to elements.
pub(crate) fn is_assignment(function: &ast::Function) -> bool {
    let name = function.name.0.first().and_then(|part| part.as_ident());
    name.is_some_and(|name| name.value.starts_with(SUBSCRIPTED))
}

/// Whether a call is an assignment to a slice.
pub(crate) fn is_slice_assignment(function: &ast::Function) -> bool {
    let name = function.name.0.first().and_then(|part| part.as_ident());
    name.is_some_and(|name| name.value == SLICE)
}

/// The call of a function that users have a name for, or that they have none for.
pub(crate) fn called(name: &str, arguments: Vec<ast::Expr>) -> ast::Expr {
    let of = |argument| ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument));
    let name = Ident::with_quote('"', name);
    ast::Expr::Function(ast::Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(name)]),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.into_iter().map(of).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
