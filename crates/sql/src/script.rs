//! Scripts: text split into statements, each parsed.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use hotrow_base::conventions::Conventions;
use hotrow_base::interrupt::current;
use hotrow_base::memory::Charge;
use hotrow_base::stack::with_room;
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use crate::absent_syntax::absent;
use crate::alter_routine_syntax::alter_routine;
use crate::alter_syntax::with_data;
use crate::altering::{altering, refresh, rename_schema};
use crate::call_syntax::CallArgument;
use crate::comment::comment;
use crate::copy::copy;
use crate::domain_syntax::domain;
use crate::error::{Result, place_of, syntax, unsupported};
use crate::grant::grant;
use crate::like_syntax::in_known_columns;
use crate::maintenance::maintenance;
use crate::parser_order::{
    columns_of_query, in_parsers_order, with_check_option, with_values_of_options,
};
use crate::policy_syntax::policy;
use crate::role::role;
use crate::routine::{anonymous, end_of_atomic, routine};
use crate::schema_elements::schema_with_elements;
use crate::script_statement::ScriptStatement;
use crate::search_path::{
    Sender, conventions_before, maker_before, path_before, role_before, with_sender,
};
use crate::setting::{naming, setting};
use crate::state::Overriding;
use crate::syntax::Syntax;
use crate::table_syntax::{recursive_view, table_of_select, table_of_table};
use crate::token::{Cursor, folded, is_word, parse_expression, parse_statement, tokenize};
use crate::transaction_control::transaction_control;
use crate::trigger_syntax::{drop_trigger, is_trigger, trigger};

/// Statements of a script whose trees are kept from the first look at them to their turn. A tree
/// takes some 10 KB for a `SELECT 1`, so those of longer scripts are made again instead.
pub const TREES_MAX: usize = 64;

/// What a statement takes beside its tokens, as a tree and compiled. Measured with 2,000 prepared
/// statements: a `SELECT 1` takes 18 KB, an UPDATE by key 17 KB, a join with GROUP BY 55 KB.
pub(crate) const STATEMENT_BYTES: usize = 16 << 10;
/// What a token becomes: the tree's part, and that of the program. Measured with VALUES, whose rows
/// of four tokens take 2,600 bytes, and IN, 280 bytes a token without the program.
const TOKEN_BYTES: usize = 512;

/// What each SELECT beyond the first becomes in addition while it is compiled. Measured with chains
/// of 7,000 WITH queries, two SELECTs each, which took 190 MiB.
const SELECT_BYTES: usize = 8 << 10;

/// Statements up to here are charged to nobody: the process's account would be written by all
/// sessions with each of them.
pub(crate) const FREE_BYTES: usize = 80 << 10;

/// The statements of a script, all of which can be read, one after the other.
#[derive(Default, Debug)]
pub struct Script {
    text: String,
    /// where they stand in the text, and their places; the first comes last
    rest: Vec<(Range<usize>, Place)>,
    /// trees of all that are left, the first one last; none: they are made in their turn
    trees: Option<Vec<ScriptStatement>>,
}

impl Script {
    /// Reads a script whole, and fails as [`parse_script`] does. Memory grows with the text, not
    /// with what its statements take once they are parsed.
    pub fn read(text: &str) -> Result<Self> {
        let (mut rest, mut trees) = (Vec::new(), Some(Vec::new()));
        each_statement(text, Place { line: 1, column: 1 }, |statement, range| {
            rest.push((range, statement.place));
            if rest.len() > TREES_MAX {
                trees = None;
            }
            if let Some(trees) = &mut trees {
                trees.push(statement);
            }
        })?;
        rest.reverse();
        if let Some(trees) = &mut trees {
            trees.reverse();
        }
        let text = if trees.is_some() { String::new() } else { text.to_owned() };
        Ok(Self { text, rest, trees })
    }

    /// How many are left.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

impl Iterator for Script {
    type Item = Result<ScriptStatement>;

    /// The next statement. That it can be read was seen before, so this is no error in practice.
    fn next(&mut self) -> Option<Self::Item> {
        let (range, place) = self.rest.pop()?;
        if let Some(statement) = self.trees.as_mut().and_then(Vec::pop) {
            return Some(Ok(statement));
        }
        let mut again = None;
        let text = self.text.get(range).unwrap_or_default();
        let read = each_statement(text, place, |statement, _| again = Some(statement));
        match (read, again) {
            (Ok(()), Some(statement)) => Some(Ok(statement)),
            (Err(error), _) => Some(Err(error)),
            (Ok(()), None) => Some(Err(syntax(place, "a statement is no statement any more"))),
        }
    }
}

/// Parses a script: statements separated by semicolons.
///
/// Errors: 42601 with the place of what could not be read, 0A000 for statements of SQL that
/// Hotrow does not have, 54001 for a text that is too long or nests too deeply.
pub fn parse_script(text: &str) -> Result<Vec<ScriptStatement>> {
    parse_script_at(text, Place { line: 1, column: 1 })
}

/// As [`parse_script`], of a text that starts at `origin`.
pub(crate) fn parse_script_at(text: &str, origin: Place) -> Result<Vec<ScriptStatement>> {
    let mut statements = Vec::new();
    each_statement(text, origin, |statement, _| statements.push(statement))?;
    Ok(statements)
}

/// Parses a script that starts at `origin`, telling each statement and where in the text it
/// stands. Takes time by the length of the text, however its lines are long.
fn each_statement(
    text: &str,
    origin: Place,
    tell: impl FnMut(ScriptStatement, Range<usize>),
) -> Result<()> {
    with_room(|| each_statement_here(text, origin, tell))
}

fn each_statement_here(
    text: &str,
    origin: Place,
    mut tell: impl FnMut(ScriptStatement, Range<usize>),
) -> Result<()> {
    let (path, role, maker) = (path_before(text), role_before(text), maker_before(text));
    let conventions: Option<Arc<str>> = conventions_before(text).map(Arc::from);
    let tokens = tokenize(text, origin)?;
    let offsets = Offsets::new(text, origin);
    let range_of = |tokens: &[TokenWithSpan]| {
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return 0..0 };
        let from = offsets.of(first.span.start);
        from..offsets.of(last.span.end).max(from)
    };
    let text_of =
        |tokens: &[TokenWithSpan]| text.get(range_of(tokens)).unwrap_or_default().to_owned();
    for range in statements_of(&tokens) {
        let Some(first) = range.first() else { continue };
        let at = range_of(range);
        let own = text.get(at.clone()).unwrap_or_default().to_owned();
        let mut statement = read_statement(range, place_of(first.span.start), own, &text_of)?;
        if let Some(path) = &path {
            statement = statement.in_path(path);
        }
        if role.is_some() || maker.is_some() || conventions.is_some() {
            // Kept in its text: whoever logs that again must not lose it.
            let known = conventions.as_deref().and_then(Conventions::of_kept).unwrap_or_default();
            let (role_name, maker_name) = (role.as_deref(), maker.as_deref());
            let sender = Sender { role: role_name, maker: maker_name, conventions: known };
            let text = with_sender(&statement.text, sender);
            statement.text = text.into_owned();
            statement.role = role.as_deref().map(Arc::from);
            statement.maker = maker.as_deref().map(Arc::from);
            statement.conventions.clone_from(&conventions);
        }
        current::check()?;
        tell(statement, at);
    }
    Ok(())
}

/// The tokens of each statement: semicolons stand between them, and in BEGIN ATOMIC ... END.
pub(crate) fn statements_of(
    mut tokens: &[TokenWithSpan],
) -> impl Iterator<Item = &[TokenWithSpan]> {
    std::iter::from_fn(move || {
        let is = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
        if tokens.is_empty() {
            return None;
        }
        let at_semicolon = |from: usize| {
            let found = tokens[from..].iter().position(|t| t.token == Token::SemiColon);
            found.map_or(tokens.len(), |at| from + at)
        };
        let mut end = at_semicolon(0);
        if is(0, "create") {
            let atomic = (1..end).find(|at| is(at - 1, "begin") && is(*at, "atomic"));
            let last = atomic.and_then(|at| Some(at + 1 + end_of_atomic(&tokens[at + 1..])?));
            end = last.map_or(end, at_semicolon);
        }
        let statement = &tokens[..end];
        tokens = tokens.get(end + 1..).unwrap_or_default();
        Some(statement)
    })
}

/// The statement that tokens are, whose text stands at a place.
pub(crate) fn read_statement(
    tokens: &[TokenWithSpan],
    place: Place,
    text: String,
    text_of: &impl Fn(&[TokenWithSpan]) -> String,
) -> Result<ScriptStatement> {
    let bytes = STATEMENT_BYTES + tokens.len() * TOKEN_BYTES;
    let selects = tokens.iter().filter(|token| is_word(&token.token, "select")).count();
    let compiled = bytes + selects.saturating_sub(1) * SELECT_BYTES;
    let mut charge = Charge::default();
    if compiled > FREE_BYTES {
        charge = current::charge();
        charge.add(compiled)?;
    }
    let end = tokens.last().map_or(place, |last| place_of(last.span.end));
    let (overriding, tokens) = overriding(tokens);
    let tokens = whole_table(tokens);
    let syntax = statement(&tokens, end, text_of)?;
    let mut statement = ScriptStatement::new(text, syntax);
    (statement.place, statement.overriding) = (place, overriding);
    (statement.bytes, statement.charge) = (bytes, charge);
    Ok(statement)
}

/// `TABLE name` as the query that it stands for.
fn whole_table(tokens: Cow<'_, [TokenWithSpan]>) -> Cow<'_, [TokenWithSpan]> {
    let [first, rest @ ..] = &*tokens else { return tokens };
    if !is_word(&first.token, "table") || rest.is_empty() {
        return tokens;
    }
    let stands = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
    let query = stands.map(|token| TokenWithSpan { token, span: first.span });
    Cow::Owned(query.into_iter().chain(rest.iter().cloned()).collect())
}

/// Takes OVERRIDING SYSTEM VALUE, or USER VALUE, out of an INSERT, which the parser does not know.
fn overriding(tokens: &[TokenWithSpan]) -> (Overriding, Cow<'_, [TokenWithSpan]>) {
    let is_insert = tokens.first().is_some_and(|first| is_word(&first.token, "insert"));
    let found = |whose: &str| {
        let words = ["overriding", whose, "value"];
        let mut places = tokens.windows(words.len());
        places.position(|of| of.iter().zip(words).all(|(token, word)| is_word(&token.token, word)))
    };
    let without = |at: usize| Cow::Owned([&tokens[..at], &tokens[at + 3..]].concat());
    match (found("system").filter(|_| is_insert), found("user").filter(|_| is_insert)) {
        (Some(at), _) => (Overriding::System, without(at)),
        (None, Some(at)) => (Overriding::User, without(at)),
        (None, None) => (Overriding::Neither, Cow::Borrowed(tokens)),
    }
}

/// Characters between two marks.
const MARK_EVERY: usize = 64;

/// Byte offsets of places in a text, whose columns count characters. Finding one looks at
/// [`MARK_EVERY`] characters at most, so that all tokens of a long line take time by its length.
pub struct Offsets<'t> {
    text: &'t str,
    origin: Place,
    /// of each line, how many characters come before it
    lines: Vec<usize>,
    /// the byte at which each [`MARK_EVERY`]th character begins
    marks: Vec<usize>,
}

impl<'t> Offsets<'t> {
    /// Of a text that starts at `origin`.
    pub fn new(text: &'t str, origin: Place) -> Self {
        let (mut lines, mut marks) = (vec![0], Vec::new());
        for (number, (at, c)) in text.char_indices().enumerate() {
            if number % MARK_EVERY == 0 {
                marks.push(at);
            }
            if c == '\n' {
                lines.push(number + 1);
            }
        }
        Self { text, origin, lines, marks }
    }

    /// The byte offset of a location; the text's end where it has none such.
    pub fn of(&self, location: Location) -> usize {
        let within = |number: u64, origin: u32| {
            usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(origin as usize)
        };
        let line = within(location.line, self.origin.line);
        let first_column = if line == 0 { self.origin.column } else { 1 };
        let column = within(location.column, first_column);
        let character = self.lines.get(line).map(|before| before.saturating_add(column));
        let found = character.and_then(|character| {
            let mark = *self.marks.get(character / MARK_EVERY)?;
            let (at, _) = self.text[mark..].char_indices().nth(character % MARK_EVERY)?;
            Some(mark + at)
        });
        found.unwrap_or(self.text.len())
    }
}

/// One statement; `text_of` gives the text that tokens were.
fn statement(
    tokens: &[TokenWithSpan],
    end: Place,
    text_of: &impl Fn(&[TokenWithSpan]) -> String,
) -> Result<Syntax> {
    let mut cursor = Cursor::new(tokens, end);
    let place = cursor.place();
    if cursor.accept("create") {
        let or_replace = cursor.accept_all(&["or", "replace"]);
        if cursor.is("function") || cursor.is("procedure") {
            return Ok(Syntax::Routine(Box::new(routine(&mut cursor, or_replace)?)));
        }
        if is_trigger(&cursor) {
            let written = trigger(&mut cursor, or_replace, text_of)?;
            return Ok(Syntax::Trigger(Box::new(written)));
        }
    } else if cursor.accept("copy") {
        return Ok(Syntax::Copy(copy(&mut cursor, place, text_of)?));
    } else if cursor.accept("do") {
        return Ok(Syntax::Anonymous(Box::new(anonymous(&mut cursor)?)));
    } else if cursor.accept("call") {
        let (name, place, arguments) = invocation(&mut cursor)?;
        return Ok(Syntax::Call { name, arguments: arguments.unwrap_or_default(), place });
    } else if cursor.accept_all(&["explain", "procedure"])
        || cursor.accept_all(&["explain", "function"])
        || cursor.accept_all(&["explain", "call"])
    {
        let (name, place, arguments) = invocation(&mut cursor)?;
        return Ok(Syntax::Explain { name, arguments, place });
    } else if ["function", "procedure", "routine"]
        .iter()
        .any(|kind| cursor.accept_all(&["drop", kind]))
    {
        return drop_routine(&mut cursor);
    } else if cursor.accept_all(&["drop", "trigger"]) {
        return drop_trigger(&mut cursor).map(Syntax::DropTrigger);
    }
    if let Some(block) = schema_with_elements(tokens, end, text_of)? {
        return Ok(Syntax::Anonymous(Box::new(block)));
    }
    if let Some(refreshed) = refresh(&mut Cursor::new(tokens, end))? {
        return Ok(refreshed);
    }
    if let Some(altered) = alter_routine(&mut Cursor::new(tokens, end))? {
        return Ok(altered);
    }
    if let Some(renamed) = rename_schema(&mut Cursor::new(tokens, end))? {
        return Ok(renamed);
    }
    if let Some(altered) = altering(&mut Cursor::new(tokens, end))? {
        return Ok(altered);
    }
    if let Some(comment) = comment(&mut Cursor::new(tokens, end))? {
        return Ok(Syntax::Comment(Box::new(comment)));
    }
    if let Some(moved) = set_schema(&mut Cursor::new(tokens, end))? {
        return Ok(moved);
    }
    if let Some(control) = transaction_control(&mut Cursor::new(tokens, end))? {
        return Ok(Syntax::Transaction(control));
    }
    if let Some(setting) = setting(&mut Cursor::new(tokens, end))? {
        return Ok(Syntax::Setting(setting));
    }
    if let Some(naming) = naming(&mut Cursor::new(tokens, end), text_of)? {
        return Ok(Syntax::Naming(naming));
    }
    if let Some(role) = role(&mut Cursor::new(tokens, end))? {
        return Ok(Syntax::Role(role));
    }
    if let Some(written) = policy(&mut Cursor::new(tokens, end), text_of)? {
        return Ok(Syntax::Policy(Box::new(written)));
    }
    if let Some(written) = domain(&mut Cursor::new(tokens, end))? {
        return Ok(Syntax::Domain(Box::new(written)));
    }
    if let Some(written) = grant(&mut Cursor::new(tokens, end))? {
        return Ok(Syntax::Grant(Box::new(written)));
    }
    if let Some(maintenance) = maintenance(&mut Cursor::new(tokens, end))? {
        return Ok(Syntax::Maintenance(maintenance));
    }
    if let Some(absent) = absent(&mut Cursor::new(tokens, end))? {
        return Ok(absent);
    }
    let mut unlogged = Cursor::new(tokens, end);
    if unlogged.accept_all(&["create", "unlogged", "table"]) {
        // Logged all the same: more than was asked for.
        let rest = tokens.iter().enumerate().filter(|(at, _)| *at != 1);
        let rest: Vec<_> = rest.map(|(_, token)| token.clone()).collect();
        return Ok(Syntax::Sql(Box::new(parse_statement(&rest, end)?)));
    }
    refuse(&Cursor::new(tokens, end), place)?;
    let mut tokens = in_parsers_order(tokens);
    table_of_table(&mut tokens);
    recursive_view(&mut tokens);
    with_values_of_options(&mut tokens);
    with_check_option(&mut tokens);
    in_known_columns(&mut tokens);
    columns_of_query(&mut tokens);
    with_data(&mut tokens);
    let parsed = table_of_select(parse_statement(&tokens, end)?, place)?;
    Ok(Syntax::Sql(Box::new(parsed)))
}

/// ALTER TABLE ... SET SCHEMA, which the parser does not know.
fn set_schema(cursor: &mut Cursor<'_>) -> Result<Option<Syntax>> {
    if !cursor.accept_all(&["alter", "table"]) && !cursor.accept_all(&["alter", "sequence"]) {
        return Ok(None);
    }
    let if_exists = cursor.accept_all(&["if", "exists"]);
    let place = cursor.place();
    let Ok(table) = cursor.object_name() else { return Ok(None) };
    if !cursor.accept_all(&["set", "schema"]) {
        return Ok(None);
    }
    let schema = cursor.identifier()?;
    match cursor.at_end() {
        true => Ok(Some(Syntax::SetSchema { table, schema, if_exists, place })),
        false => Err(cursor.unexpected("the end")),
    }
}

/// Statements refused by their first word, before the parser sees them.
fn refuse(cursor: &Cursor<'_>, place: Place) -> Result<()> {
    const ADVICE: &[(&str, &str)] = &[("cluster", "rows have no order on pages: leave it out")];
    for (word, hint) in ADVICE {
        if cursor.is(word) {
            return Err(unsupported(place, word.to_ascii_uppercase(), *hint));
        }
    }
    Ok(())
}

/// `name` or `name(arguments)`.
pub(crate) fn invocation(
    cursor: &mut Cursor<'_>,
) -> Result<(String, Place, Option<Vec<CallArgument>>)> {
    let place = cursor.place();
    let name = cursor.routine_name()?;
    let mut arguments = None;
    if cursor.peek() == Some(&Token::LParen) {
        let list = cursor.take_brackets()?;
        let items = cursor.inside(list).split_commas();
        arguments = Some(items.into_iter().map(argument).collect::<Result<_>>()?);
    }
    if cursor.at_end() { Ok((name, place, arguments)) } else { Err(cursor.unexpected("the end")) }
}

fn argument(mut cursor: Cursor<'_>) -> Result<CallArgument> {
    let place = cursor.place();
    let name = match (cursor.peek(), cursor.peek_at(1)) {
        (Some(Token::Word(word)), Some(Token::RArrow | Token::Assignment)) => {
            cursor.bump();
            cursor.bump();
            Some(folded(&word.value, word.quote_style.is_some()))
        }
        _ => None,
    };
    let tokens = cursor.rest();
    Ok(CallArgument { name, value: parse_expression(tokens, cursor.place())?, place })
}

fn drop_routine(cursor: &mut Cursor<'_>) -> Result<Syntax> {
    let if_exists = cursor.accept_all(&["if", "exists"]);
    let mut names = Vec::new();
    loop {
        let place = cursor.place();
        let name = cursor.routine_name()?;
        let parameters = match cursor.peek() {
            Some(Token::LParen) => Some(crate::routine::parameters(cursor)?),
            _ => None,
        };
        names.push((name, place, parameters));
        if !cursor.accept_token(&Token::Comma) {
            break;
        }
    }
    let cascades = !cursor.accept("restrict") && cursor.accept("cascade");
    if cursor.at_end() {
        Ok(Syntax::DropRoutine { names, if_exists, cascades })
    } else {
        Err(cursor.unexpected("the end"))
    }
}
