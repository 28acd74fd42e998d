//! Adjacency that can grow: dense where it was known from the start, and a small map for what came later.

use std::sync::Arc;

use rpds::RedBlackTreeMapSync;

/// Adjacency in two flat vectors: the targets of node `i` are `targets[starts[i]..starts[i + 1]]`. Nodes whose targets
/// changed since are looked up apart, so that growing by one edge costs the degree of its node, and a copy costs nothing
/// that grows with the graph.
#[derive(Debug, Clone)]
pub struct Edges<T> {
    base: Arc<Base<T>>,
    changed: RedBlackTreeMapSync<u32, Arc<Vec<T>>>,
}

#[derive(Debug)]
struct Base<T> {
    starts: Vec<u32>,
    targets: Vec<T>,
}

impl<T: Copy> Edges<T> {
    /// Builds the adjacency of `nodes` nodes from pairs, keeping the pairs' order within a node.
    pub fn new(nodes: usize, pairs: &[(u32, T)]) -> Self {
        let mut starts = vec![0u32; nodes + 1];
        for (from, _) in pairs {
            starts[*from as usize + 1] += 1;
        }
        for i in 0..nodes {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut targets: Vec<Option<T>> = vec![None; pairs.len()];
        for (from, to) in pairs {
            let slot = &mut next[*from as usize];
            targets[*slot as usize] = Some(*to);
            *slot += 1;
        }
        Self {
            base: Arc::new(Base { starts, targets: targets.into_iter().flatten().collect() }),
            changed: RedBlackTreeMapSync::new_sync(),
        }
    }

    /// The targets of a node. A node that came later and has none yet has none.
    pub fn of(&self, node: impl Into<usize>) -> &[T] {
        let node = node.into();
        if !self.changed.is_empty()
            && let Some(changed) = u32::try_from(node).ok().and_then(|node| self.changed.get(&node))
        {
            return changed;
        }
        let starts = &self.base.starts;
        match (starts.get(node), starts.get(node + 1)) {
            (Some(from), Some(to)) => &self.base.targets[*from as usize..*to as usize],
            _ => &[],
        }
    }

    /// Adds an edge. Costs O(degree of the node).
    pub fn add(&mut self, node: u32, target: T) {
        let mut targets = self.of(node as usize).to_vec();
        targets.push(target);
        self.changed.insert_mut(node, Arc::new(targets));
    }

    /// Takes edges of a node away. Costs O(degree of the node).
    pub fn retain(&mut self, node: u32, keep: impl Fn(&T) -> bool) {
        let targets = self.of(node as usize).iter().copied().filter(keep).collect();
        self.changed.insert_mut(node, Arc::new(targets));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_grow_and_shrink_without_touching_a_copy() {
        let mut edges = Edges::new(2, &[(0, 'a'), (1, 'b'), (0, 'c')]);
        let before = edges.clone();
        edges.add(0, 'd');
        edges.add(7, 'e');
        edges.retain(1, |target| *target != 'b');
        let of =
            |edges: &Edges<char>| [0_usize, 1, 7, 9].map(|node| edges.of(node).iter().collect::<String>());
        assert_eq!(of(&edges), ["acd", "", "e", ""]);
        assert_eq!(of(&before), ["ac", "b", "", ""]);
    }
}
