//! Views and types: what has a name and is no table.

use hotrow_base::enumeration::EnumType;
use hotrow_base::types::{DataType, SqlType};

use super::schemas::{self, SearchPath};

/// A view: a query with a name.
#[derive(Clone, PartialEq, Debug)]
pub struct View {
    /// tells it from all others there ever were; given by [`super::Catalog::set_view`]
    pub id: u32,
    /// its name in its schema
    pub name: String,
    /// the schema that it is in
    pub schema: String,
    /// names and types of its columns
    pub columns: Vec<(String, SqlType)>,
    /// where its query finds bare names
    pub path: SearchPath,
    /// the query, as SQL
    pub text: String,
    /// which rows may be written through it
    pub check: ViewCheck,
    /// what the query itself calls its columns: it has to go on giving these
    pub given: Vec<String>,
}

/// WITH CHECK OPTION: whether rows that are written through a view have to be rows of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ViewCheck {
    /// they need not
    #[default]
    None,
    /// they have to satisfy its own condition
    Local,
    /// and those of the views that it stands on
    Cascaded,
}

impl View {
    pub(super) fn key(&self) -> String {
        schemas::key(&self.schema, &self.name).into_owned()
    }

    /// Its name as statements find it whatever their path is.
    pub fn qualified_name(&self) -> String {
        schemas::qualified(&self.schema, &self.name)
    }
}

/// A type that has been given a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamedType {
    /// CREATE TYPE ... AS ENUM
    Enum(EnumType),
    /// CREATE TYPE ... AS (...): names and types of its fields
    Composite(Vec<(String, SqlType)>),
    /// CREATE DOMAIN
    Domain(Domain),
}

/// Another type, some of whose values are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// the type
    pub of: DataType,
    /// what a column has that is given nothing, as SQL
    pub default: Option<String>,
    /// names of constraints, and what holds for each `VALUE`, as SQL
    pub checks: Vec<(String, String)>,
}
