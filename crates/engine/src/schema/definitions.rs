//! What a schema tells statements that are compiled while a call runs.
//!
//! Invariants   I1 a procedure that is added beside calls shows here from then on, as it does to
//!              whoever reads the log: where there are routines whose texts may name it, it does
//!              not come beside calls ([`SharedSchema::add`](super::SharedSchema::add))

use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::dynamic::Definitions;
use hotrow_transaction::granule::Granules;
use hotrow_transaction::program::Procedure;

use super::Schema;

impl Schema {
    /// The procedures that are called by names, those included that were added.
    fn all_named(&self) -> impl Iterator<Item = &CompiledProcedure> {
        let there = self.named_procedures().map(|(_, compiled)| &**compiled);
        let added = self.added.from(self.procedures.len()).map(|compiled| &**compiled);
        there.chain(added.filter(|compiled| !compiled.procedure.is_statement()))
    }

    /// Whether any of them has a statement whose text is known only when a call runs.
    pub(super) fn has_dynamic(&self) -> bool {
        self.all_named().any(|compiled| compiled.program.has_dynamic())
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
        if let Some((_, compiled)) = self.procedure_named(key) {
            return Some(&compiled.procedure);
        }
        let mut all = self.all_named().map(|compiled| &compiled.procedure);
        all.find(|procedure| procedure.name == key)
    }

    fn overloads(&self, name: &str) -> Vec<&Procedure> {
        let all = self.all_named().map(|compiled| &compiled.procedure);
        all.filter(|procedure| procedure.shown_name() == name).collect()
    }

    fn procedure_names(&self) -> Vec<String> {
        self.all_named().map(|compiled| compiled.procedure.name.clone()).collect()
    }
}
