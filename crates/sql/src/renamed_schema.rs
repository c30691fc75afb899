//! What ALTER SCHEMA ... RENAME TO makes of the catalog, and of texts.
//!
//! Role         the catalog's names of what stands in a schema are moved; and texts of definitions
//!              that name the schema are written anew, for whoever reads them again. What a string
//!              says, as the body of a routine is one, stays as it is

use hotrow_base::quote::identifier;
use hotrow_transaction::catalog::{Catalog, Domain, NamedType, View, qualified};
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::Token;

use crate::columns_of_domain::rename_domain;
use crate::script::Offsets;
use crate::search_path::with_path_renamed;
use crate::token::{folded, tokenize};

/// Gives a schema another name, in the texts of views, policies, triggers and domains, too.
pub(crate) fn apply_renamed(catalog: &mut Catalog, from: &str, to: &str) {
    let of_domains = catalog
        .types()
        .filter(|(schema, _, named)| *schema == from && matches!(***named, NamedType::Domain(_)));
    let of_domains: Vec<_> = of_domains.map(|(_, name, _)| name.to_owned()).collect();
    for name in of_domains {
        rename_domain(catalog, &qualified(from, &name), &qualified(to, &name));
    }
    catalog.rename_schema(from, to);
    let text = |text: &String| renamed_in_text(text, from, to);
    for view in catalog.views().cloned().collect::<Vec<_>>() {
        let mut next = View {
            path: view.path.with_renamed(from, to),
            text: text(&view.text),
            ..View::clone(&view)
        };
        next.triggers.iter_mut().for_each(|of| of.when = of.when.as_ref().map(text));
        if next != *view {
            catalog.set_view(next);
        }
    }
    for table in catalog.tables().iter().map(|table| table.id).collect::<Vec<_>>() {
        let of = catalog.table(table);
        let (mut triggers, mut security) = (of.triggers.clone(), of.security.clone());
        triggers.iter_mut().for_each(|of| of.when = of.when.as_ref().map(text));
        for policy in &mut security.policies {
            policy.path = policy.path.with_renamed(from, to);
            policy.using = policy.using.as_ref().map(text);
            policy.check = policy.check.as_ref().map(text);
        }
        if (&triggers, &security) != (&of.triggers, &of.security) {
            let of = catalog.table_mut(table);
            (of.triggers, of.security) = (triggers, security);
        }
    }
    let domains = catalog.types().filter_map(|(schema, name, named)| match &**named {
        NamedType::Domain(of) => Some((qualified(schema, name), of.clone())),
        _ => None,
    });
    for (name, of) in domains.collect::<Vec<_>>() {
        let default = of.default.as_ref().map(text);
        let checks = of.checks.iter().map(|(name, check)| (name.clone(), text(check))).collect();
        let next = Domain { default, checks, ..of.clone() };
        if next != of {
            catalog.set_type(&name, NamedType::Domain(next));
        }
    }
}

/// The text of a definition that has a schema's next name, in its path, too.
pub fn renamed_in_definition(text: &str, from: &str, to: &str) -> String {
    renamed_in_text(&with_path_renamed(text, from, to), from, to)
}

/// A text in which a schema's next name stands before the names of what is in it.
pub fn renamed_in_text(text: &str, from: &str, to: &str) -> String {
    let start = Place { line: 1, column: 1 };
    let Ok(tokens) = tokenize(text, start) else { return text.to_owned() };
    let offsets = Offsets::new(text, start);
    let mut next = text.to_owned();
    for at in (0..tokens.len()).rev() {
        let is_before_name = tokens.get(at + 1).is_some_and(|of| of.token == Token::Period);
        let is_behind_name = at > 0 && tokens[at - 1].token == Token::Period;
        let Token::Word(word) = &tokens[at].token else { continue };
        if folded(&word.value, word.quote_style.is_some()) == from
            && is_before_name
            && !is_behind_name
        {
            let span = tokens[at].span;
            next.replace_range(offsets.of(span.start)..offsets.of(span.end), &identifier(to));
        }
    }
    next
}
