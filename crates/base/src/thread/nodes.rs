//! Memory nodes: which cores reach which memory fastest.
//!
//! Role         tells on which node a core is (NUMA). Where the system does not tell, or there is
//!              only one, all cores are on the same

/// By core, the number of its memory node; cores that are not listed are on node 0.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Nodes {
    /// first core, last core, node
    spans: Vec<(usize, usize, u16)>,
}

impl Nodes {
    /// Those of this machine.
    pub fn of_machine() -> Self {
        let read = |path: String| std::fs::read_to_string(path).ok();
        let online = read("/sys/devices/system/node/online".to_owned()).unwrap_or_default();
        let mut nodes = Self::default();
        for node in spans(&online).flat_map(|(first, last)| first..=last) {
            let cores = read(format!("/sys/devices/system/node/node{node}/cpulist"));
            nodes.add(node as u16, &cores.unwrap_or_default());
        }
        nodes
    }

    /// A node with cores as the system lists them, `0-5,12-17`.
    pub fn add(&mut self, node: u16, cores: &str) {
        self.spans.extend(spans(cores).map(|(first, last)| (first, last, node)));
    }

    /// The node of a core.
    pub fn of_core(&self, core: usize) -> u16 {
        #[cfg(hotrow_machine)]
        if let Some(socket) = hotrow_machine::hook::socket(core) {
            return socket;
        }
        let of = |&(first, last, node): &(usize, usize, u16)| {
            (first..=last).contains(&core).then_some(node)
        };
        self.spans.iter().find_map(of).unwrap_or(0)
    }
}

/// First and last numbers of a list; what is none is left out.
fn spans(list: &str) -> impl Iterator<Item = (usize, usize)> {
    list.split(',').filter_map(|span| {
        let (first, last) = span.trim().split_once('-').unwrap_or((span, span));
        Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_on_the_nodes_that_list_them() {
        let mut nodes = Nodes::default();
        nodes.add(0, "0-1,4\n");
        nodes.add(1, "2-3, 5-6\n");
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(|core| nodes.of_core(core)),
            [0, 0, 1, 1, 0, 1, 1, 0]
        );
        nodes.add(2, "");
        nodes.add(3, "none");
        assert_eq!(nodes.of_core(9), 0, "nobody lists it");
    }

    #[test]
    fn this_machine_has_a_node_for_each_core() {
        let nodes = Nodes::of_machine();
        assert!(crate::thread::available_cores().iter().all(|core| nodes.of_core(*core) < 1024));
    }
}
