//! Circles of imports: how much of a crate has to be read at once.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, report, sources};

/// Crates, and the files of their largest circle at most.
const CRATES: [&str; 7] = ["base", "database", "engine", "query", "server", "sql", "transaction"];
const CIRCLE_FILES_MAX: usize = 8;
/// The upper crates, and the lines of a file at most.
const UPPER_CRATES: [&str; 3] = ["sql", "query", "database"];
const FILE_LINES_MAX: usize = 600;

/// A module by its path: `relation::select` as two names, the crate's root as none.
type Module = Vec<String>;

/// By module, those that it names.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

fn module_of(source: &Source) -> Option<Module> {
    let (_, inside) = source.path.split_once("/src/")?;
    let mut names: Module = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names == ["lib"] {
        names.clear();
    }
    Some(names)
}

/// The text without comments, up to its tests.
fn code_of(source: &Source) -> String {
    let product = source.code().map(|(_, line)| line);
    let product = product.take_while(|line| !line.starts_with("#[cfg(test)]"));
    product.collect::<Vec<_>>().join("\n")
}

/// Takes a name from the beginning of a text.
fn name_of(text: &str) -> (&str, &str) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split_at(text.find(|c| !is_part(c)).unwrap_or(text.len()))
}

/// Paths that begin with `begin` and go on with `text`, which is what stands behind it: one, or
/// those of a group in braces. Gives back what follows.
fn paths<'t>(begin: &[String], text: &'t str, found: &mut Vec<Module>) -> &'t str {
    let Some(rest) = text.strip_prefix("::") else {
        found.push(begin.to_vec());
        return text;
    };
    let Some(mut group) = rest.strip_prefix('{') else {
        let (name, rest) = name_of(rest);
        return paths(&[begin, &[name.to_owned()]].concat(), rest, found);
    };
    while let Some(at) = group.find(|c: char| !c.is_whitespace() && c != ',') {
        if group[at..].starts_with('}') {
            return &group[at + 1..];
        }
        let (name, rest) = name_of(&group[at..]);
        if name.is_empty() {
            return rest; // `*`: the module itself
        }
        group = paths(&[begin, &[name.to_owned()]].concat(), rest, found);
        if let Some(renamed) = group.strip_prefix(" as ") {
            group = name_of(renamed).1;
        }
    }
    group
}

/// What a module's code names within its crate.
fn named(module: &Module, code: &str) -> Vec<Module> {
    let mut found = Vec::new();
    let parent = module.split_last().map_or(&module[..], |(_, parent)| parent);
    for (word, begin) in [("crate::", &[][..]), ("self::", &module[..]), ("super::", parent)] {
        for (at, _) in code.match_indices(word) {
            let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
            if is_whole {
                paths(begin, &code[at + word.len() - 2..], &mut found);
            }
        }
    }
    found
}

fn imports(room: &str, sources: &[Source]) -> Imports {
    let of_room = sources.iter().filter(|source| source.room == room && source.is_product());
    let texts: BTreeMap<Module, String> =
        of_room.filter_map(|source| Some((module_of(source)?, code_of(source)))).collect();
    let file_of = |mut path: Module| {
        while !path.is_empty() && !texts.contains_key(&path) {
            path.pop();
        }
        path
    };
    let of = |(module, code): (&Module, &String)| {
        let named = named(module, code).into_iter().map(file_of);
        let others = named.filter(|other| !other.is_empty() && other != module);
        (module.clone(), others.collect())
    };
    texts.iter().map(of).collect()
}

/// The files that a module leads to, directly or around corners.
fn reached<'i>(from: &'i Module, imports: &'i Imports) -> BTreeSet<&'i Module> {
    let (mut found, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(module) = left.pop() {
        left.extend(imports[module].iter().filter(|other| found.insert(*other)));
    }
    found
}

/// The largest set of modules that all lead to each other.
fn largest_circle(imports: &Imports) -> BTreeSet<&Module> {
    let reached: BTreeMap<_, _> =
        imports.keys().map(|module| (module, reached(module, imports))).collect();
    let circle = |module: &&Module| {
        let back = |other: &&&Module| reached[**other].contains(*module);
        reached[*module].iter().filter(back).copied().collect::<BTreeSet<_>>()
    };
    reached.keys().map(circle).max_by_key(BTreeSet::len).unwrap_or_default()
}

#[test]
fn few_files_have_to_be_read_at_once() {
    let sources = sources();
    let mut faults = Vec::new();
    for room in CRATES {
        let imports = imports(room, &sources);
        assert!(imports.len() > 10, "{room} has files");
        let circle = largest_circle(&imports);
        if circle.len() > CIRCLE_FILES_MAX {
            let names: Vec<_> = circle.iter().map(|module| module.join("::")).collect();
            faults.push(format!("{room}: {} import each other", names.join(", ")));
        }
        let is_upper = UPPER_CRATES.contains(&room);
        let of_room = |source: &&Source| is_upper && source.room == room && source.is_product();
        for source in sources.iter().filter(of_room) {
            let lines = source.text.lines().count();
            if lines > FILE_LINES_MAX {
                faults.push(format!("{} has {lines} lines", source.path));
            }
        }
    }
    report(faults);
}

#[test]
fn a_circle_is_seen_however_it_is_written() {
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Module>();
    let code = "use crate::a::{B, c::{self, D as E}, f};\nfn g() { super::h::i(); not_crate::k() }";
    let found = named(&module("x::y"), code);
    let expected = ["a::B", "a::c::self", "a::c::D", "a::f", "x::h::i"].map(module);
    assert_eq!(found, expected);
    let imports: Imports =
        [("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["a", "d"]), ("d", vec![])]
            .map(|(from, to)| (module(from), to.into_iter().map(module).collect()))
            .into();
    assert_eq!(largest_circle(&imports).len(), 3);
}
