//! What operators read and make: rows as slots.

use hotrow_transaction::program::SlotId;

use super::{Aggregation, Frame, FrameBound, GroupAggregate, Plan, Window, WindowFunction};

impl Plan {
    /// Calls `visit` with every operator, itself first; subqueries of steps are operators, too.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        self.steps().iter().for_each(|step| step.walk(visit));
        match self {
            Self::One
            | Self::Fetch { .. }
            | Self::System { .. }
            | Self::Values { .. }
            | Self::Round { .. } => {}
            Self::Recursion(recursion) => {
                recursion.start.0.walk(visit);
                recursion.next.0.walk(visit);
            }
            Self::Shared(shared) => shared.rows.0.walk(visit),
            Self::Compute { input, .. }
            | Self::Filter { input, .. }
            | Self::Sort { input, .. }
            | Self::Lock { input, .. }
            | Self::Distinct { input, .. }
            | Self::Extend { input, .. }
            | Self::Given { input, .. }
            | Self::Limit { input, .. } => input.walk(visit),
            Self::Join(join) => {
                join.left.walk(visit);
                join.right.walk(visit);
                if let Some(keyed) = &join.keyed {
                    keyed.walk(visit);
                }
            }
            Self::Group(group) => group.input.walk(visit),
            Self::Window(window) => window.input.walk(visit),
            Self::Set { left, right, .. } => {
                left.0.walk(visit);
                right.0.walk(visit);
            }
        }
    }

    /// The slots of its rows, in the order of their values.
    pub fn layout(&self) -> Vec<SlotId> {
        match self {
            Self::One => Vec::new(),
            Self::Fetch { outputs, .. }
            | Self::Values { outputs, .. }
            | Self::Set { outputs, .. }
            | Self::Round { outputs, .. } => outputs.clone(),
            Self::Recursion(recursion) => recursion.outputs.clone(),
            Self::Shared(shared) => shared.outputs.clone(),
            Self::System { outputs, .. } => outputs.iter().map(|(_, slot)| *slot).collect(),
            Self::Compute { input, outputs, .. } => [&*input.layout(), outputs].concat(),
            Self::Extend { input, step } => [&*input.layout(), &*step.outputs].concat(),
            Self::Filter { input, .. }
            | Self::Given { input, .. }
            | Self::Sort { input, .. }
            | Self::Lock { input, .. }
            | Self::Distinct { input, .. }
            | Self::Limit { input, .. } => input.layout(),
            Self::Join(join) => [join.left.layout(), join.right.layout()].concat(),
            Self::Group(group) => {
                let groupings = group.groupings.iter().map(|(_, slot)| *slot);
                let results = group.aggregates.iter().map(|aggregate| aggregate.output);
                group.keys.iter().copied().chain(groupings).chain(results).collect()
            }
            Self::Window(window) => {
                let results = window.functions.iter().map(|(_, slot)| *slot);
                window.input.layout().into_iter().chain(results).collect()
            }
        }
    }

    /// Slots that it reads and does not make itself: those of rows around it, and the statement's
    /// parameters.
    pub fn free_slots(&self) -> Vec<SlotId> {
        self.free_slots_with(&[])
    }

    /// As [`Plan::free_slots`], for who takes these slots of its rows: they may be of rows around
    /// it, too.
    pub fn free_slots_with(&self, taken: &[SlotId]) -> Vec<SlotId> {
        let (mut read, mut made) = (taken.to_vec(), Vec::new());
        self.walk(&mut |plan| plan.own_slots(&mut read, &mut made));
        made.sort_unstable();
        read.retain(|slot| made.binary_search(slot).is_err());
        read.sort_unstable();
        read.dedup();
        read
    }

    fn own_slots(&self, read: &mut Vec<SlotId>, made: &mut Vec<SlotId>) {
        for step in self.steps() {
            read.extend(step.inputs());
            made.extend(&step.outputs);
        }
        match self {
            Self::Fetch { inputs, outputs, .. } => {
                read.extend(inputs);
                made.extend(outputs);
            }
            Self::System { outputs, .. } => made.extend(outputs.iter().map(|(_, slot)| *slot)),
            Self::Values { rows, outputs } => {
                rows.iter().for_each(|row| row.note_inputs(read));
                made.extend(outputs);
            }
            Self::Compute { scalars, outputs, .. } => {
                scalars.note_inputs(read);
                made.extend(outputs);
            }
            Self::Filter { condition, .. } => condition.note_inputs(read),
            Self::Join(join) => {
                if let Some((left, right)) = &join.equal {
                    left.note_inputs(read);
                    right.note_inputs(read);
                }
                join.condition.iter().for_each(|condition| condition.note_inputs(read));
                join.late.iter().for_each(|late| late.condition.note_inputs(read));
            }
            Self::Group(group) => {
                read.extend(&group.keys);
                group.aggregates.iter().for_each(|aggregate| aggregate.note_slots(read));
                made.extend(group.groupings.iter().map(|(_, slot)| *slot));
                made.extend(group.aggregates.iter().map(|aggregate| aggregate.output));
            }
            Self::Window(window) => {
                window.note_slots(read);
                made.extend(window.functions.iter().map(|(_, slot)| *slot));
            }
            Self::Limit { limit, offset, ties, .. } => {
                read.extend(ties.iter().map(|key| key.slot));
                limit.iter().chain(offset).for_each(|count| count.note_inputs(read));
            }
            Self::Set { left, right, outputs, .. } => {
                read.extend(left.1.iter().chain(&right.1));
                made.extend(outputs);
            }
            Self::Round { outputs, .. } => made.extend(outputs),
            Self::Recursion(recursion) => {
                read.extend(recursion.start.1.iter().chain(&recursion.next.1));
                made.extend(&recursion.outputs);
            }
            Self::Shared(shared) => {
                read.extend(&shared.rows.1);
                made.extend(&shared.outputs);
            }
            Self::Sort { keys, .. } => read.extend(keys.iter().map(|key| key.slot)),
            Self::Distinct { on, .. } => read.extend(on),
            Self::Lock { by_parts, .. } => made.extend(by_parts),
            Self::One | Self::Extend { .. } | Self::Given { .. } => {}
        }
    }
}

impl GroupAggregate {
    fn note_slots(&self, read: &mut Vec<SlotId>) {
        read.extend(self.argument.iter().chain(&self.filter).chain(&self.direct));
        read.extend(self.order.iter().map(|key| key.slot));
        match self.function {
            Aggregation::Text(slot)
            | Aggregation::JsonObject(_, slot)
            | Aggregation::Pair(_, slot) => read.push(slot),
            Aggregation::Plain(_)
            | Aggregation::Spread(_)
            | Aggregation::Bits(_)
            | Aggregation::Intersection
            | Aggregation::All
            | Aggregation::Any
            | Aggregation::Array
            | Aggregation::Ordered(_)
            | Aggregation::JsonArray(_)
            | Aggregation::JsonRows => {}
        }
    }
}

impl Window {
    fn note_slots(&self, read: &mut Vec<SlotId>) {
        read.extend(self.partition.iter().copied());
        read.extend(self.order.iter().map(|key| key.slot));
        if let Some(Frame { start, end, .. }) = self.frame {
            for bound in [start, end] {
                match bound {
                    FrameBound::Before(slot) | FrameBound::After(slot) => read.push(slot),
                    FrameBound::Unbounded | FrameBound::Current => {}
                }
            }
        }
        for (function, _) in &self.functions {
            match function {
                WindowFunction::Buckets(slot)
                | WindowFunction::First(slot)
                | WindowFunction::Last(slot) => read.push(*slot),
                WindowFunction::Lag { value, by, otherwise, .. } => {
                    read.extend([*value, *by].into_iter().chain(*otherwise));
                }
                WindowFunction::Nth { value, at } => read.extend([*value, *at]),
                WindowFunction::Running(aggregate) => aggregate.note_slots(read),
                WindowFunction::RowNumber
                | WindowFunction::Rank
                | WindowFunction::DenseRank
                | WindowFunction::PercentRank
                | WindowFunction::CumeDist => {}
            }
        }
    }
}
