//! What a schema tells statements that are compiled while a call runs.
//!
//! Invariants   I1 a procedure that is added beside calls shows here from then on, as it does to
//!              whoever reads the log: where there are routines whose texts may name it, it does
//!              not come beside calls ([`SharedSchema::add`](super::SharedSchema::add))

use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::dynamic::Definitions;
use hotrow_transaction::granule::Granules;
use hotrow_transaction::program::{Procedure, routine_name};
use hotrow_transaction::walk;

use super::Schema;

impl Schema {
    /// Those that were added beside calls, and are called by names.
    fn added_named(&self) -> impl Iterator<Item = &Procedure> {
        let added = self.added.from(self.procedures.len()).map(|compiled| &compiled.procedure);
        added.filter(|procedure| !procedure.is_statement())
    }

    /// Whether any procedure has a statement whose text is known only when a call runs.
    pub(super) fn has_dynamic(&self) -> bool {
        let mut there = self.named_procedures().map(|(_, compiled)| &compiled.procedure);
        let has = |procedure: &Procedure| walk::has_dynamic(&procedure.body);
        there.any(has) || self.added_named().any(has)
    }
}

impl Definitions for Schema {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn granules(&self) -> &Granules {
        &self.granules
    }

    fn procedure(&self, key: &str) -> Option<&Procedure> {
        let there = self.procedure_named(key).map(|(_, compiled)| &compiled.procedure);
        there.or_else(|| self.added_named().find(|procedure| procedure.name == key))
    }

    fn overloads(&self, name: &str) -> Vec<&Procedure> {
        let there = Self::overloads(self, name).map(|(_, compiled)| &compiled.procedure);
        let added = self.added_named().filter(|procedure| routine_name(&procedure.name) == name);
        there.chain(added).collect()
    }

    fn procedure_names(&self) -> Vec<String> {
        let there = self.named_procedures().map(|(_, compiled)| &compiled.procedure);
        there.chain(self.added_named()).map(|procedure| procedure.name.clone()).collect()
    }
}
