//! Identifiers: small integers that name tables, indexes, procedures, workers.
//!
//! Role         every crate names things by these; the catalog hands them out densely from 0, so
//!              that each can index a vector
//! Invariants   an id is never reused while the database is open

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $inner);

        impl $name {
            /// The id as an index into a vector.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id! {
    /// A table of the catalog.
    TableId(u16)
}
id! {
    /// A column of one table, counted from 0 in the order of CREATE TABLE.
    ColumnId(u16)
}
id! {
    /// An index of the database, primary or secondary. Ids are dense over all tables, so that an
    /// index is also the name of a **lock space**: granules of two indexes never meet.
    IndexId(u16)
}
id! {
    /// A registered procedure.
    ProcedureId(u32)
}
id! {
    /// A thread that touches storage; selects its slabs, free lists, epoch slot and counters.
    WorkerId(u16)
}
id! {
    /// A partition, dataset or lock thread's share of the granules.
    PartitionId(u16)
}
