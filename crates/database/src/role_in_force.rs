//! The role that a session has.

use std::sync::Arc;

/// A role; none: the database's maker.
pub(crate) type RoleInForce = Option<Arc<str>>;

/// Whether two are the same one. Names of sessions are shared, so that this looks at no letters.
pub(crate) fn is_same(one: &RoleInForce, other: &RoleInForce) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}
