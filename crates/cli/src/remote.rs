//! `hotrow bench --remote`: workloads at a server.

use hotrow_bench::{Driver, Existing, RunReport, ServerAddress};
use hotrow_workloads::Workload;

use crate::arguments::BenchRunArguments;
use crate::bench;
use crate::failure::Failure;

/// Runs every workload with every number of clients. What a run makes at the server is dropped
/// again, unless it is to be kept or a check failed.
pub(crate) fn run(
    arguments: &BenchRunArguments,
    workloads: &[Box<dyn Workload>],
    address: &ServerAddress,
    mut driver: Driver,
) -> Result<Vec<RunReport>, Failure> {
    let clients = match arguments.clients.as_slice() {
        [] => &[1][..],
        given => given,
    };
    let mut existing = match arguments.at.replace {
        true => Existing::Replace,
        false => Existing::Refuse,
    };
    let of = workloads.len() * clients.len();
    let mut reports = Vec::with_capacity(of);
    for workload in workloads {
        let mut kept = None;
        for &clients in clients {
            driver.clients = Some(clients.into());
            let mut population = match kept.take() {
                Some(population) => population,
                None => driver.load_remote(&**workload, address, existing)?,
            };
            let ran = driver.run_remote(&mut population, &**workload);
            let holds = ran.as_ref().is_ok_and(RunReport::checks_hold);
            match (arguments.keep, &ran) {
                // What is there from now on is ours.
                (true, _) => {
                    existing = Existing::Replace;
                    kept = Some(population);
                }
                (false, Ok(_)) if !holds => {
                    existing = Existing::Replace;
                    eprintln!("hotrow: a check failed: the tables at {address} stay as they are");
                }
                (false, _) => {
                    let dropped = population.drop_all();
                    // The first error is the reason.
                    if ran.is_ok() {
                        dropped?;
                    }
                }
            }
            let report = ran?;
            if !arguments.quiet {
                bench::tell(reports.len() + 1, of, &report.engine, &report);
            }
            reports.push(report);
        }
    }
    Ok(reports)
}
