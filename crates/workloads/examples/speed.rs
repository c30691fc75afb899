//! Prints what loaders and generators cost by themselves: `cargo run --release --example speed`.

use std::ops::ControlFlow;
use std::time::Instant;

use hotrow_base::ids::ProcedureId;
use hotrow_transaction::invocation::Invocation;
use hotrow_workloads::{NAMES, Share, workload_named};

const CALLS: u32 = 1_000_000;

fn main() {
    for name in NAMES {
        let mut workload = workload_named(name).expect("the name is listed");
        if *name == "tpcc" {
            workload.parameters_mut().set("warehouses", "4").expect("a legal setting");
        }
        let start = Instant::now();
        let (mut rows, mut bytes) = (0_u64, 0_usize);
        let _ = workload.load(Share::WHOLE, 1, &mut |_, row, heap| {
            rows += 1;
            bytes += row.len() + heap.len();
            ControlFlow::Continue(())
        });
        println!("{name}: {rows} rows ({bytes}) in {:?}", start.elapsed());
        let mut generator = workload.generator(Share::WHOLE, 1, &|_| ProcedureId(0));
        let mut invocation = Invocation::default();
        let start = Instant::now();
        for _ in 0..CALLS {
            generator.next(&mut invocation);
        }
        println!("{name}: {} ns a call", start.elapsed().as_nanos() / u128::from(CALLS));
    }
}
