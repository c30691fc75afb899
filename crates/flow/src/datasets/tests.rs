//! Where the datasets of TPC-C's tables are, and what a New-Order has in them.

use std::collections::BTreeSet;

use super::*;
use crate::schedule::tests::{planned, tpcc};

const EXECUTORS: [Address; 2] = [7, 8];

fn view(ranges: u16, spread: Spread) -> View {
    View::of(Arc::new(Layout::new(1, Arc::new(tpcc()), (ranges, spread), &EXECUTORS)))
}

/// The datasets that a New-Order with lines of these warehouses locks something in.
fn visited(view: &View, supply: &[i32]) -> BTreeSet<u16> {
    let batch = planned(&view.world, supply);
    let mut visited = BTreeSet::new();
    view.visit_locks(&batch.plan, |dataset, lock| {
        assert!(lock.is_some(), "it takes no table as a whole");
        visited.insert(dataset);
    });
    visited
}

fn executors(view: &View, datasets: &BTreeSet<u16>) -> BTreeSet<Address> {
    datasets.iter().map(|&dataset| view.executors()[usize::from(dataset)]).collect()
}

#[test]
fn a_call_of_one_range_is_at_one_executor_unless_tables_lie_apart() {
    for (spread, count) in [(Spread::Ranges, 1), (Spread::Tables, 2)] {
        let view = view(2, spread);
        let own = visited(&view, &[1, 1]);
        let ranges: BTreeSet<_> = own.iter().map(|dataset| dataset / view.tables).collect();
        assert_eq!((own.len() > 2, ranges.len()), (true, 1), "{own:?}");
        assert_eq!(executors(&view, &own).len(), count, "{spread:?}");
        let both = visited(&view, &[1, 2]);
        assert_eq!((both.is_superset(&own), executors(&view, &both).len()), (true, 2));
        let lies = view.executor_of_range(0).is_some();
        assert_eq!(lies, spread == Spread::Ranges);
    }
}

#[test]
fn a_granule_is_in_one_dataset_whoever_asks() {
    let view = view(5, Spread::Tables);
    let batch = planned(&view.world, &[1, 2, 3]);
    let visited = visited(&view, &[1, 2, 3]);
    for granule in batch.plan.footprint().granules() {
        let (dataset, at) =
            (view.dataset_of(&batch.plan, granule), view.executor_of(&batch.plan, granule));
        match dataset {
            Concern::One(dataset) => {
                assert!(visited.contains(&dataset));
                assert_eq!(at, Concern::One(view.executors()[usize::from(dataset)]));
            }
            other => assert_eq!((other, at), (Concern::Nobody, Concern::Nobody)),
        }
    }
}

#[test]
fn a_view_stays_as_it_is_until_it_looks_again() {
    let mut view = view(4, Spread::Ranges);
    assert_eq!(
        (0..4).map(|range| view.executor_of_range(range)).collect::<Vec<_>>(),
        [Some(7), Some(8), Some(7), Some(8)]
    );
    let places: Vec<_> = view.places().collect();
    let (moved, _) = places[2].clone();
    assert_eq!((places.len(), moved.len()), (4, usize::from(view.tables)));
    view.note_move(moved.start, 8);
    assert_eq!(view.executor_of_range(2), Some(7), "as planned");
    view.look_again();
    assert_eq!(view.executor_of_range(2), None, "one of its datasets is elsewhere");
    moved.for_each(|dataset| view.note_move(dataset, 8));
    view.look_again();
    assert_eq!(view.executor_of_range(2), Some(8));
    assert_eq!(view.first_executor(places[2].0.start), 7);
    assert!(view.places().all(|(of, at)| view.executors()[usize::from(of.start)] == at));
}
