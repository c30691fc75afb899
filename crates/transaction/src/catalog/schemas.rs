//! Schemas: what the names of tables, indexes, views and types stand in.
//!
//! Role         a name as it is written is bare, or has its schema before it. Which schema a bare
//!              one is looked for in is said by a [`SearchPath`], a session's or that of whoever
//!              wrote a definition
//! Invariants   I1 no name has a NUL in it (texts of clients end with one), so that a schema and
//!                 a name with a NUL between them are no other name
//!              I2 what stands in `public` is kept under its bare name

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// The schema that is always there, and searched unless another path is set.
pub const PUBLIC: &str = "public";

/// Between a schema and a name (I1).
const BETWEEN: char = '\0';

/// A name with its schema before it, as statements write it.
pub fn qualified(schema: &str, name: &str) -> String {
    format!("{schema}{BETWEEN}{name}")
}

/// The schema that is written before a name, if there is one, and the name itself.
pub fn split(written: &str) -> (Option<&str>, &str) {
    match written.split_once(BETWEEN) {
        Some((schema, name)) => (Some(schema), name),
        None => (None, written),
    }
}

/// The schema that a name says, which is `public` where it says none.
pub fn schema_of(written: &str) -> &str {
    split(written).0.unwrap_or(PUBLIC)
}

/// What the name itself is, without a schema.
pub fn local(written: &str) -> &str {
    split(written).1
}

/// A text in which names with schemas are shown as people write them, with a point.
pub fn shown(text: String) -> String {
    if text.contains(BETWEEN) { text.replace(BETWEEN, ".") } else { text }
}

/// Under which key the catalog keeps a name in a schema (I2).
pub fn key_in<'n>(schema: &str, name: &'n str) -> Cow<'n, str> {
    if schema == PUBLIC { Cow::Borrowed(name) } else { Cow::Owned(qualified(schema, name)) }
}

/// How schemas of temporary tables begin; a number stands behind it.
const TEMPORARY: &str = "pg_temp_";

/// The schema of temporary tables with a number.
pub fn temporary_schema(number: u32) -> String {
    format!("{TEMPORARY}{number}")
}

/// Whether a schema is one of temporary tables.
pub fn is_temporary(schema: &str) -> bool {
    schema.starts_with(TEMPORARY)
}

/// The schemas that bare names are looked for in, one after the other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SearchPath {
    /// found before all others
    temporary: Option<Arc<TemporaryNames>>,
    schemas: Arc<[String]>,
}

/// What a session has of temporary tables.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct TemporaryNames {
    /// the schema that they are in
    schema: String,
    /// relations that are there for the session; others are kept for the next session that creates
    /// them
    names: BTreeSet<String>,
}

impl Default for SearchPath {
    fn default() -> Self {
        static PUBLIC_ALONE: LazyLock<Arc<[String]>> =
            LazyLock::new(|| Arc::from([PUBLIC.to_owned()]));
        Self { temporary: None, schemas: Arc::clone(&PUBLIC_ALONE) }
    }
}

impl SearchPath {
    /// That of schemas in their order; those that do not exist are passed over.
    pub fn new(schemas: impl IntoIterator<Item = String>) -> Self {
        Self { temporary: None, schemas: schemas.into_iter().collect() }
    }

    /// With temporary relations of these names, in the schema with this number.
    #[must_use]
    pub fn with_temporary(self, number: u32, names: BTreeSet<String>) -> Self {
        let temporary = TemporaryNames { schema: temporary_schema(number), names };
        Self { temporary: Some(Arc::new(temporary)), ..self }
    }

    /// With a schema under its next name.
    #[must_use]
    pub fn with_renamed(&self, from: &str, to: &str) -> Self {
        let next = |name: &String| if name == from { to.to_owned() } else { name.clone() };
        Self { temporary: self.temporary.clone(), schemas: self.schemas.iter().map(next).collect() }
    }

    /// With a schema before all others.
    #[must_use]
    pub fn beginning_with(&self, schema: &str) -> Self {
        let others = self.schemas.iter().filter(|of| *of != schema);
        let schemas = [schema.to_owned()].into_iter().chain(others.cloned());
        Self { temporary: self.temporary.clone(), schemas: schemas.collect() }
    }

    /// Without temporary relations.
    #[must_use]
    pub fn without_temporary(&self) -> Self {
        Self { temporary: None, schemas: Arc::clone(&self.schemas) }
    }

    /// The schema of temporary tables, if there is one.
    pub fn temporary_schema(&self) -> Option<&str> {
        self.temporary.as_ref().map(|temporary| temporary.schema.as_str())
    }

    /// The schema that a written one is: `pg_temp` is that of the session.
    pub fn schema_meant<'s>(&'s self, written: &'s str) -> &'s str {
        match self.temporary_schema() {
            Some(own) if written == "pg_temp" => own,
            _ => written,
        }
    }

    /// Whether a temporary relation has such a name.
    pub fn has_temporary(&self, name: &str) -> bool {
        self.temporary.as_ref().is_some_and(|temporary| temporary.names.contains(name))
    }

    /// Whether somebody may see what stands in a schema under a name: temporary relations are
    /// their session's.
    pub fn shows(&self, schema: &str, name: &str) -> bool {
        !is_temporary(schema) || self.temporary_schema() == Some(schema) && self.has_temporary(name)
    }

    /// That of a list as `search_path` has it: names with commas between them, in quotes where they
    /// need them. `pg_catalog` is always searched, and `$user` is nobody's schema. None: it is no
    /// list.
    pub fn read(list: &str) -> Option<Self> {
        let mut names = Vec::new();
        let mut left = list.trim_start();
        while !left.is_empty() {
            let name = match left.strip_prefix('"') {
                None => {
                    let (name, rest) = left.split_at(left.find(',').unwrap_or(left.len()));
                    left = rest;
                    let name = name.trim();
                    if name.contains(['"', ' ']) {
                        return None;
                    }
                    name.trim_matches('\'').to_lowercase()
                }
                Some(rest) => {
                    let (name, rest) = in_quotes(rest)?;
                    left = rest.trim_start();
                    name
                }
            };
            match left.strip_prefix(',') {
                Some(rest) => left = rest.trim_start(),
                None if left.is_empty() => {}
                None => return None,
            }
            if !matches!(name.as_str(), "" | "$user" | "pg_catalog") && !names.contains(&name) {
                names.push(name);
            }
        }
        Some(Self::new(names))
    }

    /// Whether it is `public` alone, which needs no mention.
    pub fn is_default(&self) -> bool {
        self.temporary.is_none() && matches!(&*self.schemas, [only] if only == PUBLIC)
    }

    /// The schemas, the first one first.
    pub fn schemas(&self) -> impl Iterator<Item = &str> {
        self.schemas.iter().map(String::as_str)
    }

    /// What is under the first of the keys that a written name may have.
    pub(super) fn find<T>(
        &self,
        written: &str,
        mut look: impl FnMut(&str) -> Option<T>,
    ) -> Option<T> {
        let temporary = self.temporary.as_deref();
        match split(written) {
            (Some("pg_temp"), name) => {
                let seen = temporary.filter(|temporary| temporary.names.contains(name))?;
                look(&key_in(&seen.schema, name))
            }
            (Some(schema), name) => look(&key_in(schema, name)),
            (None, name) => {
                let seen = temporary.filter(|temporary| temporary.names.contains(name));
                let first = seen.map(|temporary| temporary.schema.as_str());
                first
                    .into_iter()
                    .chain(self.schemas())
                    .find_map(|schema| look(&key_in(schema, name)))
            }
        }
    }
}

/// A name behind its first quote, and what stands behind its last one.
pub fn in_quotes(mut left: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    loop {
        let (before, behind) = left.split_once('"')?;
        name += before;
        left = behind;
        match left.strip_prefix('"') {
            Some(behind) => {
                name.push('"');
                left = behind;
            }
            None => return Some((name, left)),
        }
    }
}

impl fmt::Display for SearchPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_names(f, self.schemas())?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        let names = temporary.names.iter().map(String::as_str);
        f.write_str("; ")?;
        write_names(f, std::iter::once(temporary.schema.as_str()).chain(names))
    }
}

fn write_names<'n>(
    f: &mut fmt::Formatter<'_>,
    names: impl Iterator<Item = &'n str>,
) -> fmt::Result {
    for (at, name) in names.enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        write!(f, "{comma}\"{}\"", name.replace('"', "\"\""))?;
    }
    Ok(())
}

impl SearchPath {
    /// A path as it is displayed; none: it is no such text.
    pub fn read_displayed(text: &str) -> Option<Self> {
        // Names are in quotes, and so a semicolon before a name's quote is none of theirs.
        match text.split_once("; \"pg_temp_") {
            None => Self::read(text),
            Some((schemas, temporary)) => {
                let list = Self::read(&format!("\"{TEMPORARY}{temporary}"))?;
                let (schema, names) = list.schemas.split_first()?;
                let (schema, names) = (schema.clone(), names.iter().cloned().collect());
                let temporary = Some(Arc::new(TemporaryNames { schema, names }));
                Some(Self { temporary, ..Self::read(schemas)? })
            }
        }
    }
}
