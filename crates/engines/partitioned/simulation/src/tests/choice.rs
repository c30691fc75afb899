//! Whether the scheme that is chosen is the fastest one, in virtual time with the costs of table 2.

use crate::{Load, locks, queues, run};
use hotrow_partitioned::choice::Chooser;
use hotrow_partitioned::model::Costs;
use hotrow_partitioned::options::Scheme;
use hotrow_partitioned::protocol::locking::Locks;
use hotrow_partitioned::protocol::owner::Settings;

/// Microseconds of the coordinator for each message.
const COORDINATOR: u64 = 10;
/// Warm-up, and what is measured.
const SECONDS: (f64, f64) = (0.05, 0.25);

fn settings(scheme: Scheme) -> Settings {
    match scheme {
        Scheme::Locking => locks(Locks::Needed),
        scheme => queues(scheme.speculation()),
    }
}

/// What is chosen for a load, looked at again and again as the choice goes, and what each scheme
/// does with it.
fn choose(load: Load) -> (Scheme, Vec<(Scheme, f64)>) {
    let schemes = [Scheme::Blocking, Scheme::Local, Scheme::Speculation, Scheme::Locking];
    let runs =
        schemes.map(|scheme| (scheme, run(settings(scheme), load, (COORDINATOR, 1), SECONDS)));
    let mut chooser = Chooser::new(2, Costs::PAPER.lock_overhead);
    for _ in 0..40 {
        let seen = runs.iter().find(|(scheme, _)| *scheme == chooser.scheme());
        chooser.look(&seen.expect("it may be chosen").1.1);
    }
    println!("{load:?}: {}: {}", chooser.scheme().name(), chooser.reason());
    (chooser.scheme(), runs.iter().map(|(scheme, (rate, _))| (*scheme, *rate)).collect())
}

#[test]
fn what_is_chosen_is_nearly_the_fastest() {
    let mut wrong = Vec::new();
    let mut chosen = Vec::new();
    let mut tried = 0;
    for multi in [0.02, 0.1, 0.4, 1.0] {
        for two_rounds in [0.0, 1.0] {
            for (failing, conflicting) in [(0.0, 0.0), (0.2, 0.0), (0.0, 0.6)] {
                let load = Load { multi, two_rounds, failing, conflicting };
                let (scheme, rates) = choose(load);
                let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
                let own = rates.iter().find(|(other, _)| *other == scheme).expect("one of them").1;
                println!("    {rates:?}: {:.3} of the best", own / best);
                tried += 1;
                chosen.push(scheme);
                if own < 0.9 * best {
                    wrong.push((load, scheme, own / best));
                }
            }
        }
    }
    println!("{} of {tried} wrong: {wrong:?}", wrong.len());
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(chosen.contains(&Scheme::Locking) && chosen.contains(&Scheme::Speculation));
}
