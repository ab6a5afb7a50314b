//! Maps that are made of other maps: not of themselves, and not without end.

use std::collections::HashMap;

use super::super::context::Context;
use crate::map::Map;
use crate::table::{Key, NamedMap, Table};
use crate::template::{Template, Variable};

/// Maps within maps: each one may multiply what the next gives.
const MAX_NESTING: usize = 8;

/// Reports the first circle, or the first map that is nested too deep.
pub(super) fn check(cx: &mut Context<'_>, maps: &Table<NamedMap, Map>) {
    let mut search = Search { uses: maps.iter().map(uses).collect(), depths: HashMap::new() };
    for (key, map) in maps.entries() {
        let detail = match search.depth(key, &mut Vec::new()) {
            Ok(depth) if depth <= MAX_NESTING => continue,
            Ok(_) => format!("The map must not lead through more than {MAX_NESTING} maps."),
            Err(circle) => {
                let names: Vec<_> = circle.iter().map(|&key| format!("\"{}\"", maps[key].name)).collect();
                format!("The map is made of itself: {}.", names.join(", then "))
            }
        };
        return cx.at(map.name.as_bytes(), |cx| cx.problem(detail));
    }
}

/// The maps that a map names.
fn uses(map: &Map) -> Vec<Key<NamedMap>> {
    let mut uses = Vec::new();
    for variable in map.templates().flat_map(Template::variables) {
        if let Variable::Map(name) = variable
            && !uses.contains(&name.key)
        {
            uses.push(name.key);
        }
    }
    uses
}

/// The way through all maps.
struct Search {
    uses: Table<NamedMap, Vec<Key<NamedMap>>>,
    /// Depths that are known already.
    depths: HashMap<Key<NamedMap>, usize>,
}

impl Search {
    /// How many maps a map leads through, itself among them, or the circle that it leads into. `way` has those that
    /// led to it; one that is too long is not followed to its end.
    fn depth(
        &mut self,
        map: Key<NamedMap>,
        way: &mut Vec<Key<NamedMap>>,
    ) -> Result<usize, Vec<Key<NamedMap>>> {
        if let Some(depth) = self.depths.get(&map) {
            return Ok(*depth);
        }
        if let Some(start) = way.iter().position(|&passed| passed == map) {
            return Err([&way[start..], &[map]].concat());
        }
        let mut deepest = 0;
        if way.len() <= MAX_NESTING {
            way.push(map);
            for used in self.uses.get(map).cloned().unwrap_or_default() {
                deepest = deepest.max(self.depth(used, way)?);
            }
            way.pop();
        }
        self.depths.insert(map, deepest + 1);
        Ok(deepest + 1)
    }
}
