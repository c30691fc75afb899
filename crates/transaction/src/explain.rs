//! EXPLAIN PROCEDURE: what planning knows of each access, as text.
//!
//! Role         for people; the text is for reading, not for parsing

use std::fmt::Write;

use crate::catalog::{Catalog, Index};
use crate::compiled::CompiledProcedure;
use crate::frame::TURNS_AHEAD_MAX;
use crate::granule::{Granules, LockMode, Space};
use crate::locks::{self, LockTemplate};
use crate::plan::Plan;
use crate::program::{Effect, Path, Statement, StatementKind};
use crate::routing::{self, Routing};
use crate::slice::{Knowledge, LoopKnowledge, ProtectedKnowledge};
use crate::walk::{self, Site};

/// Explains a procedure: for each access how its rows are found, what is locked, how that becomes
/// known, and which partition has it.
pub fn explain(
    catalog: &Catalog,
    granules: &Granules,
    routing: &Routing,
    compiled: &CompiledProcedure,
) -> String {
    let mut text = String::new();
    let procedure = &compiled.procedure;
    let sites = walk::sites(&procedure.body);
    let plural = if sites.len() == 1 { "" } else { "es" };
    let _ = writeln!(text, "Procedure {}: {} access{plural}", procedure.shown_name(), sites.len());
    let routed = routing::explain_site(catalog, granules, routing, procedure);
    let asked = asked_by_operators(&procedure.body);
    let facts = sites.iter().zip(&compiled.knowledge).zip(&routed);
    for (number, (((site, statement), knowledge), routed)) in facts.enumerate() {
        let place = statement.place;
        let head = head(catalog, site);
        let asked = if asked[number] { ", when operators ask" } else { "" };
        let _ = writeln!(text, "{:>3}. {head}{asked}  (line {})", number + 1, place.line);
        let locks = locks::site_locks(catalog, granules, site);
        for lock in &locks.given {
            let _ = writeln!(text, "       lock {}", lock_text(catalog, granules, lock));
        }
        if let Some((index, mode)) = locks.rows {
            let name = &catalog.index(index).name;
            let _ = writeln!(text, "       lock {} each row found, by {name}", mode.name());
        }
        let _ = writeln!(text, "       {}", knowledge_text(catalog, site, knowledge));
        let _ = writeln!(text, "       {routed}");
    }
    if !procedure.inlined.is_empty() {
        let names = procedure.inlined.join(", ");
        let _ = writeln!(text, "It has in it the statements of what it calls: {names}.");
    }
    text.push_str(&texts(&procedure.body));
    text.push_str(&loops(compiled));
    text.push_str(&protected(compiled));
    text.push_str(&unwritten(catalog, granules, compiled));
    let reads = if compiled.plan.needs_reconnaissance {
        "reads records on trial first (reconnaissance) and is planned again when a guess was wrong"
    } else {
        "needs its parameters only"
    };
    let _ = writeln!(text, "Planning a call {reads}.");
    let reach = routing::explain_procedure(catalog, granules, routing, procedure);
    let _ = writeln!(text, "{reach}");
    text
}

/// What planning does with each loop that has no bound.
fn loops(compiled: &CompiledProcedure) -> String {
    let mut text = String::new();
    let mut known = compiled.loops.iter();
    walk::statements(&compiled.procedure.body, &mut |statement| {
        let StatementKind::Loop { body } = &statement.kind else { return };
        let Some(known) = known.next() else { return };
        let what = match (known, walk::sites(body).is_empty()) {
            (LoopKnowledge::Once, true) => {
                "touches no table and decides no key: planning passes over it".to_owned()
            }
            (LoopKnowledge::Once, false) => {
                "touches the same at each turn: it is planned as one turn".to_owned()
            }
            (LoopKnowledge::Ahead, _) => format!(
                "is ended by parameters: planning runs it ahead, and a call of more than \
                 {TURNS_AHEAD_MAX} turns may run alone"
            ),
            (LoopKnowledge::Trial, _) => {
                let (why, hint) = alone_by_loop();
                format!("{why}. To have it planned from parameters, {hint}")
            }
        };
        let _ = writeln!(text, "The loop at line {} {what}.", statement.place.line);
    });
    text
}

/// Why a call may run alone where rows end a loop, and what to write instead.
pub(crate) fn alone_by_loop() -> (String, String) {
    let why = format!(
        "is ended by rows: planning runs it on trial, and a call that is ended by its own changes, \
         or by more than {TURNS_AHEAD_MAX} turns, may run alone"
    );
    (why, "write FOR i IN 1..n, or a condition on parameters".to_owned())
}

/// Why a call may run alone where an error decides keys, and what to write instead.
pub(crate) fn alone_by_error() -> (String, String) {
    let why = "decides what comes next: a call is planned as if no error came, and one that an \
               error leads elsewhere is run alone";
    let hint = "ask before (IF EXISTS, IF NOT FOUND, ON CONFLICT DO NOTHING), or let handlers \
                assign nothing that keys depend on";
    (why.to_owned(), hint.to_owned())
}

/// What planning does with each block whose errors are caught.
fn protected(compiled: &CompiledProcedure) -> String {
    let mut text = String::new();
    let mut known = compiled.protected.iter();
    walk::statements(&compiled.procedure.body, &mut |statement| {
        let StatementKind::Protected(_) = &statement.kind else { return };
        let Some(known) = known.next() else { return };
        let what = match known {
            ProtectedKnowledge::Held => {
                "is planned with its handlers: a call holds what either of them may touch"
                    .to_owned()
            }
            ProtectedKnowledge::Guessed => {
                let (why, hint) = alone_by_error();
                format!("{why}. To have it planned, {hint}")
            }
        };
        let _ = writeln!(text, "The EXCEPTION block at line {} {what}.", statement.place.line);
    });
    if !text.is_empty() {
        text.push_str(
            "A call with an EXCEPTION block is run as a whole, by one thread, on engines that \
             cut calls into actions, and alone on engines that validate when they commit.\n",
        );
    }
    text
}

/// The statements whose text is known only when a call runs.
fn texts(body: &[Statement]) -> String {
    let mut text = String::new();
    walk::statements(body, &mut |statement| {
        if walk::is_dynamic(statement) {
            let line = statement.place.line;
            let _ = writeln!(
                text,
                "The text of EXECUTE in line {line} is known only when a call runs: it is compiled \
                 and planned then, and a call that touches more than was planned runs alone."
            );
        }
    });
    text
}

/// Per site, whether it is a read that operators ask for.
fn asked_by_operators(body: &[Statement]) -> Vec<bool> {
    let (mut sites, mut reads) = (Vec::new(), 0);
    walk::statements(body, &mut |statement| {
        if let StatementKind::ForOperators(of) = &statement.kind {
            // Their sites come next; those of operators within them are among them.
            let own = of.reads.iter().map(|read| walk::sites(&read.body).len()).sum();
            reads = reads.max(own);
        } else if walk::own_site(statement).is_some() {
            sites.push(reads > 0);
            reads = reads.saturating_sub(1);
        }
    });
    sites
}

/// Of each written table, the columns that nobody writes.
fn unwritten(catalog: &Catalog, granules: &Granules, compiled: &CompiledProcedure) -> String {
    let mut text = String::new();
    for table in compiled.notes.tables() {
        let changed = granules.table(table).changed;
        if changed.is_empty() || changed.is_all() {
            continue;
        }
        let table = catalog.table(table);
        let columns = table.columns.iter().enumerate();
        let fixed = columns.filter(|(at, _)| !changed.may_contain(*at));
        let names: Vec<_> = fixed.map(|(_, column)| column.name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "Nobody writes of {}: {}. Reading them takes no lock, until a procedure or a session \
             sets one of them or a column of varying size, or inserts or deletes rows.",
            table.name,
            names.join(", ")
        );
    }
    text
}

/// The accesses of statements, in their order: of which table, and by which way.
pub fn accesses(catalog: &Catalog, body: &[Statement]) -> Vec<String> {
    walk::sites(body).iter().map(|(site, _)| head(catalog, site)).collect()
}

/// Explains a plan: what the call will hold before it runs.
pub fn explain_plan(catalog: &Catalog, plan: &Plan) -> String {
    let granules = plan.footprint().granules();
    let mut text = match granules.len() {
        0 => "This call holds nothing: it touches no table that a procedure writes.\n".to_owned(),
        1 => "This call holds 1 granule:\n".to_owned(),
        count => format!("This call holds {count} granules:\n"),
    };
    for granule in granules {
        let mode = granule.mode.name();
        let _ = match granule.space {
            Space::Table(table) => {
                writeln!(text, "  lock {mode} table {}", catalog.table(table).name)
            }
            Space::Index(index) => {
                let index = catalog.index(index);
                let key = key_text(index, plan.granule_key(granule));
                writeln!(text, "  lock {mode} {key} of {}", index.name)
            }
        };
    }
    text
}

/// A granule by the values of its key: `granule (1, 7)`.
fn key_text(index: &Index, key: &[u8]) -> String {
    if key.is_empty() {
        return "all".to_owned();
    }
    let values = index.key.decode(key).unwrap_or_default();
    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
    format!("granule ({})", values.join(", "))
}

/// What an access does, to which table and by which way.
pub(crate) fn head(catalog: &Catalog, site: &Site<'_>) -> String {
    match site {
        Site::Insert(insert) => format!("insert into {}", catalog.table(insert.table).name),
        Site::Access(access) => {
            let verb = match access.effect {
                Effect::Read(_) => "read",
                Effect::Update { .. } => "update",
                Effect::Delete { .. } => "delete from",
            };
            let table = &catalog.table(access.table).name;
            format!("{verb} {table} {}", path_text(catalog, &access.path))
        }
    }
}

fn path_text(catalog: &Catalog, path: &Path) -> String {
    let columns = |index, count: usize| {
        let index = catalog.index(index);
        let table = catalog.table(index.table);
        let names: Vec<_> =
            index.columns[..count].iter().map(|c| table.columns[c.index()].name.as_str()).collect();
        (index.name.clone(), names.join(", "))
    };
    match path {
        Path::Point { index, key } => {
            let (name, names) = columns(*index, key.len());
            format!("by key ({names}) of {name}")
        }
        Path::Range { index, prefix, lower, upper, .. } => {
            let (name, names) = columns(*index, prefix.len());
            if prefix.is_empty() && lower.is_none() && upper.is_none() {
                return format!("as a whole, in the order of {name}");
            }
            let ends =
                if lower.is_some() || upper.is_some() { ", a range of the next" } else { "" };
            format!("by prefix ({names}){ends} of {name}")
        }
        Path::Whole => "as a whole".to_owned(),
        Path::Lists { path, .. } => {
            format!("{}, for each key of a list", path_text(catalog, path))
        }
    }
}

fn lock_text(catalog: &Catalog, granules: &Granules, lock: &LockTemplate<'_>) -> String {
    let mode = lock.mode.name();
    match lock.space {
        Space::Table(table) if lock.mode >= LockMode::Shared => {
            format!("{mode} table {} as a whole", catalog.table(table).name)
        }
        Space::Table(table) => format!("{mode} table {}", catalog.table(table).name),
        Space::Index(index) if lock.parts.is_empty() => {
            format!("{mode} all of {}: no key column is known early", catalog.index(index).name)
        }
        Space::Index(index) => {
            let index = catalog.index(index);
            let table = catalog.table(index.table);
            let names: Vec<_> = index.columns[..granules.parts(index.id)]
                .iter()
                .map(|c| table.columns[c.index()].name.as_str())
                .collect();
            format!("{mode} granule ({}) of {}", names.join(", "), index.name)
        }
    }
}

fn knowledge_text(catalog: &Catalog, site: &Site<'_>, knowledge: &Knowledge) -> String {
    match (knowledge, site) {
        (Knowledge::Unlocked, Site::Insert(insert))
            if catalog.table(insert.table).primary.is_none() =>
        {
            "no lock: a row without a key meets no other".to_owned()
        }
        _ => knowledge_of_key(knowledge),
    }
}

fn knowledge_of_key(knowledge: &Knowledge) -> String {
    match knowledge {
        Knowledge::Parameters => "known from parameters".to_owned(),
        Knowledge::Reconnaissance(why) => format!("by reconnaissance, because {why}"),
        Knowledge::Unchanging(why) => format!(
            "by reconnaissance that is never wrong, because {why}, by columns that nobody writes"
        ),
        Knowledge::Unlocked => "no lock: no registered procedure writes this table".to_owned(),
        Knowledge::UnlockedColumns => {
            "no lock: no registered procedure writes the columns that it reads".to_owned()
        }
        Knowledge::WholeTable => {
            "the whole table, because no key column is bound by equality".to_owned()
        }
    }
}
