//! COMMENT: what is said of things, for whoever reads the catalog.
//!
//! ```text
//! COMMENT ON {TABLE | VIEW | MATERIALIZED VIEW | INDEX | SEQUENCE | SCHEMA | DATABASE | FUNCTION |
//!             PROCEDURE | ROUTINE | TYPE | DOMAIN} name IS {'text' | NULL}
//! COMMENT ON COLUMN relation.column IS ...
//! COMMENT ON {CONSTRAINT | TRIGGER | POLICY} name ON relation IS ...
//! COMMENT ON CONSTRAINT name ON DOMAIN domain IS ...
//! ```
//!
//! Role         parses it, and finds what is meant
//! Source       PostgreSQL 15, "COMMENT"

use hotrow_transaction::catalog::{
    Commented, CommentedPart, NamedType, Object, Table, ViewKind, local, qualified,
};
use sqlparser::tokenizer::Token;

use crate::changes::{CatalogChange, left_out};
use crate::error::{Result, error, unsupported};
use crate::grant::{Kind, Thing, kind, named_as};
use crate::scope::Compiler;
use crate::token::Cursor;

/// A COMMENT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CommentSyntax {
    about: About,
    /// none: nothing more
    text: Option<String>,
}

/// What is said something of.
#[derive(Clone, PartialEq, Eq, Debug)]
enum About {
    /// what has a row in `pg_class`: what it is said to be
    Relation(&'static str, Thing),
    Thing(Kind, Thing),
    Column {
        relation: Thing,
        column: String,
    },
    Part {
        part: Part,
        name: String,
        of: Thing,
    },
    DomainConstraint {
        name: String,
        of: Thing,
    },
    /// what is there, and of which nothing is kept
    Other(&'static str),
}

/// What has a name in a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Constraint,
    Trigger,
    Policy,
}

impl Part {
    const ALL: [Self; 3] = [Self::Constraint, Self::Trigger, Self::Policy];

    fn word(self) -> &'static str {
        match self {
            Self::Constraint => "constraint",
            Self::Trigger => "trigger",
            Self::Policy => "policy",
        }
    }

    fn named(self, name: &str) -> CommentedPart {
        match self {
            Self::Constraint => CommentedPart::Constraint(name.into()),
            Self::Trigger => CommentedPart::Trigger(name.into()),
            Self::Policy => CommentedPart::Policy(name.into()),
        }
    }
}

/// What has a row in `pg_class`, as COMMENT calls it.
const RELATIONS: [&str; 5] = ["table", "view", "materialized view", "sequence", "index"];

/// Of these PostgreSQL's tools say something in what they write.
const OTHERS: [&str; 3] = ["extension", "language", "role"];

/// Parses COMMENT; none: it is another statement.
pub(crate) fn comment(cursor: &mut Cursor<'_>) -> Result<Option<CommentSyntax>> {
    if !cursor.accept_all(&["comment", "on"]) {
        return Ok(None);
    }
    let about = about(cursor)?;
    cursor.expect("is")?;
    let text = match cursor.peek() {
        Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) => {
            Some(text.clone())
        }
        Some(Token::DollarQuotedString(text)) => Some(text.value.clone()),
        _ if cursor.is("null") => None,
        _ => return Err(cursor.unexpected("a text or NULL")),
    };
    cursor.bump();
    match cursor.at_end() {
        true => Ok(Some(CommentSyntax { about, text })),
        false => Err(cursor.unexpected("the end")),
    }
}

fn about(cursor: &mut Cursor<'_>) -> Result<About> {
    let place = cursor.place();
    if cursor.accept("column") {
        let mut names = vec![cursor.identifier()?];
        while cursor.accept_token(&Token::Period) {
            names.push(cursor.identifier()?);
        }
        let column = names.pop().unwrap_or_default();
        let name = match names.as_slice() {
            [relation] => relation.clone(),
            [schema, relation] => qualified(schema, relation),
            _ => return Err(error(b"42601", place, "column name must be qualified")),
        };
        return Ok(About::Column { relation: Thing { name, place, parameters: None }, column });
    }
    if let Some(part) = Part::ALL.into_iter().find(|part| cursor.accept(part.word())) {
        let name = cursor.identifier()?;
        cursor.expect("on")?;
        if part == Part::Constraint && cursor.accept("domain") {
            return Ok(About::DomainConstraint { name, of: named_as(cursor, Kind::Type)? });
        }
        return Ok(About::Part { part, name, of: named_as(cursor, Kind::Relation)? });
    }
    if let Some(other) = OTHERS.into_iter().find(|other| cursor.accept(other)) {
        cursor.identifier()?;
        return Ok(About::Other(other));
    }
    let is_next = |word: &&str, cursor: &mut Cursor<'_>| {
        cursor.accept_all(&word.split(' ').collect::<Vec<_>>())
    };
    if let Some(word) = RELATIONS.into_iter().find(|word| is_next(word, cursor)) {
        return Ok(About::Relation(word, named_as(cursor, Kind::Relation)?));
    }
    let Some(kind) = kind(cursor) else {
        let what = cursor.peek().map(Token::to_string).unwrap_or_default();
        let hint = "tables, columns, views, indexes, sequences, schemas, routines, types, \
                    constraints, triggers and policies have comments";
        return Err(unsupported(place, format!("COMMENT ON {}", what.to_uppercase()), hint));
    };
    Ok(About::Thing(kind, named_as(cursor, kind)?))
}

impl Compiler<'_> {
    /// COMMENT.
    pub(crate) fn comment(&self, written: &CommentSyntax) -> Result<Vec<CatalogChange>> {
        let about = match &written.about {
            About::Relation(word, thing) => self.commented_relation(word, thing)?,
            About::Thing(kind, thing) => (self.thing(*kind, thing)?, CommentedPart::Whole),
            About::Column { relation, column } => self.commented_column(relation, column)?,
            About::Part { part, name, of } => self.commented_part(*part, name, of)?,
            About::DomainConstraint { name, of } => {
                let object = self.thing(Kind::Type, of)?;
                let is_it = |(known, _): &(String, String)| known == name;
                let is_there = match self.type_named(&of.name).map(|named| &**named) {
                    Some(NamedType::Domain(domain)) => domain.checks.iter().any(is_it),
                    _ => false,
                };
                if !is_there {
                    let domain = local(&of.name);
                    let message =
                        format!("constraint \"{name}\" for domain {domain} does not exist");
                    return Err(error(b"42704", of.place, message));
                }
                (object, CommentedPart::Constraint(name.as_str().into()))
            }
            About::Other(what) => {
                let text = format!("a comment on {what}s is not kept: nothing reads it");
                return Ok(vec![CatalogChange::Nothing(left_out(text))]);
            }
        };
        // As PostgreSQL has it, saying nothing is saying no more.
        let text = written.text.clone().filter(|text| !text.is_empty());
        Ok(vec![CatalogChange::SetComment { about, text }])
    }

    fn commented_relation(&self, word: &str, thing: &Thing) -> Result<Commented> {
        let Thing { name, place, .. } = thing;
        let whole = |object| (object, CommentedPart::Whole);
        let (is, about) = match (self.view_named(name), self.table_named(name)) {
            (Some(view), _) => {
                let is = match view.kind {
                    ViewKind::Kept { .. } => "materialized view",
                    ViewKind::Partition => "table",
                    ViewKind::Plain | ViewKind::Definition => "view",
                };
                (is, whole(Object::View(view.id)))
            }
            (None, Some(table)) => {
                let is = if table.sequence.is_some() { "sequence" } else { "table" };
                (is, whole(Object::Table(table.id)))
            }
            (None, None) => match self.index_named(name) {
                Some(index) => {
                    ("index", (Object::Table(index.table), CommentedPart::Index(index.id)))
                }
                None => {
                    let message = format!("relation \"{}\" does not exist", local(name));
                    return Err(error(b"42P01", *place, message));
                }
            },
        };
        if is != word {
            let article = if word == "index" { "an" } else { "a" };
            let message = format!("\"{}\" is not {article} {word}", local(name));
            return Err(error(b"42809", *place, message));
        }
        Ok(about)
    }

    fn commented_column(&self, relation: &Thing, column: &str) -> Result<Commented> {
        if let Some(view) = self.view_named(&relation.name) {
            let Some(at) = view.columns.iter().position(|(name, _)| name == column) else {
                let name = &view.name;
                let message = format!("column \"{column}\" of relation \"{name}\" does not exist");
                return Err(error(b"42703", relation.place, message));
            };
            let column = hotrow_base::ids::ColumnId(at as u16);
            return Ok((Object::View(view.id), CommentedPart::Column(column)));
        }
        let table = self.table(&relation.name, relation.place)?;
        let column = self.table_column(table, column, relation.place)?;
        Ok((Object::Table(table.id), CommentedPart::Column(column)))
    }

    fn commented_part(&self, part: Part, name: &str, of: &Thing) -> Result<Commented> {
        let (object, is_there, relation) = match self.view_named(&of.name) {
            Some(view) if view.kind == ViewKind::Plain => {
                let is_there = view.triggers.iter().any(|trigger| trigger.name == name);
                (Object::View(view.id), is_there && part == Part::Trigger, &view.name)
            }
            _ => {
                let table: &Table = self.table(&of.name, of.place)?;
                let is_there = match part {
                    Part::Constraint => self.constraint_names(table).contains(&name),
                    Part::Trigger => table.triggers.iter().any(|trigger| trigger.name == name),
                    Part::Policy => {
                        table.security.policies.iter().any(|policy| policy.name == name)
                    }
                };
                (Object::Table(table.id), is_there, &table.name)
            }
        };
        if !is_there {
            let what = part.word();
            let message = format!("{what} \"{name}\" for table \"{relation}\" does not exist");
            return Err(error(b"42704", of.place, message));
        }
        Ok((object, part.named(name)))
    }
}
