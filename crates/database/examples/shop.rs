//! One buyer in the README's shop: `cargo run --release -p hotrow --example shop`

/// As the README prints it.
pub fn main() -> Result<(), hotrow::Error> {
    // Open a directory instead, and what a call has answered survives a crash.
    let db = hotrow::Database::open_in_memory(hotrow::Config::default())?;
    let session = db.session();
    session.execute(include_str!("shop.sql"))?;
    let left: i32 = session.call("buy", (1, 4711_i64, 42))?.one()?;
    println!("{left} left");
    Ok(())
}
