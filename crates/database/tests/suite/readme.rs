//! The README's examples are the files that are compiled and run here.

use std::path::Path;

#[path = "../../examples/shop.rs"]
mod shop;

const README: &str = include_str!("../../../../README.md");

/// The code blocks of one language, as the README prints them.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    let rest = README.split(opening.as_str()).skip(1);
    rest.map(|block| block.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn the_readmes_rust_and_sql_are_the_example() {
    assert_eq!(blocks("sql"), [include_str!("../../examples/shop.sql")]);
    let example = include_str!("../../examples/shop.rs");
    let printed = example.find("fn main").map(|start| &example[start..]);
    assert_eq!(blocks("rust"), printed.as_slice());
    shop::main().expect("the README's example runs");
}

#[test]
fn what_the_readme_links_to_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let links = README.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for link in links.filter(|link| !link.starts_with("http")) {
        let file = link.split('#').next().unwrap_or_default();
        assert!(file.is_empty() || root.join(file).exists(), "README links to {link}");
    }
}
