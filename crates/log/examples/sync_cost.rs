//! What a commit to disk costs here: fdatasync after one block, by how its place was prepared.
//!
//! `cargo run --release -p hotrow-log --example sync_cost [DIRECTORY [BLOCK_BYTES]]`
//!
//! The directory (the temporary one by default) decides which disk is measured; a file of some
//! megabytes is made in it and removed.

use hotrow_base::clock::Ticks;
use hotrow_log::files::{Directory, File, Files};

const SYNCS: usize = 1500;
const NAME: &str = "hotrow-sync-cost";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().map_or_else(std::env::temp_dir, Into::into);
    let block_bytes = arguments.next().map_or(Ok(8192), |text| text.parse())?;
    let files = Directory::open(directory)?;
    for round in 1..=2 {
        println!("round {round}, {SYNCS} syncs of {block_bytes} bytes each, us:");
        measure(&files, "file grows", block_bytes, |_, _| Ok(()))?;
        measure(&files, "length set", block_bytes, |file, bytes| file.set_length(bytes))?;
        measure(&files, "zeros written", block_bytes, |file, bytes| file.allocate(0, bytes))?;
    }
    Ok(())
}

fn measure(
    files: &dyn Files,
    how: &str,
    block_bytes: usize,
    prepare: impl FnOnce(&dyn File, u64) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let file = files.create(NAME)?;
    prepare(&*file, (SYNCS * block_bytes) as u64)?;
    file.sync_data()?;
    let block = vec![7; block_bytes];
    let mut nanos = Vec::new();
    for index in 0..SYNCS {
        file.write_at(&block, (index * block_bytes) as u64)?;
        let begin = Ticks::now();
        file.sync_data()?;
        nanos.push(begin.elapsed_nanos());
    }
    files.remove(NAME)?;
    nanos.sort_unstable();
    let us = |nanos: u64| nanos as f64 / 1000.0;
    let mean = us(nanos.iter().sum::<u64>()) / SYNCS as f64;
    let (median, slow) = (us(nanos[SYNCS / 2]), us(nanos[SYNCS * 99 / 100]));
    println!("  {how:14} median {median:6.0}   mean {mean:6.0}   99 % below {slow:6.0}");
    Ok(())
}
