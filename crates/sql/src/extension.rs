//! CREATE EXTENSION: what migrations begin with. What extensions have is built in, or not there.

use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::changes::{CatalogChange, left_out};
use crate::error::{Result, ident_place, unsupported};
use crate::written::ident_name;

/// Extensions of which something is built in, and what.
const BUILT_IN: [(&str, &str); 4] = [
    ("citext", "the type, and its comparisons"),
    ("plpgsql", "PL/pgSQL"),
    ("pgcrypto", "digest(), hmac(), gen_random_uuid() and gen_random_bytes()"),
    ("uuid-ossp", "uuid_generate_v4()"),
];

/// Nothing is made: who uses what an extension has finds it, or is told so there.
pub(crate) fn create_extension(
    written: &ast::CreateExtension,
    place: Place,
) -> Result<Vec<CatalogChange>> {
    let (name, place) = (ident_name(&written.name), ident_place(&written.name, place));
    let Some((_, has)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
        let known = BUILT_IN.map(|(known, _)| known).join(", ");
        let hint = format!("what there is of these is built in: {known}");
        return Err(unsupported(place, format!("extension \"{name}\""), hint));
    };
    let text = format!("of extension \"{name}\" there is {has}, and always was");
    Ok(vec![CatalogChange::Nothing(left_out(text))])
}
