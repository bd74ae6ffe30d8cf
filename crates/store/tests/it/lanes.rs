//! What each lane used: a sub-agent stands in the lane of what started it.

use std::collections::BTreeMap;

use agenthub_core::Time;
use agenthub_store::SessionRecord;

use crate::world::{World, at, call, change, id, record};

fn today(w: &World, from: Time, stands: impl Fn(&str) -> Option<String>) -> BTreeMap<String, u64> {
    let lanes = w.store.lanes_since(from.slot(), stands).unwrap();
    lanes.into_iter().map(|(lane, sum)| (lane, sum.tokens.input)).collect()
}

#[test]
fn u20_a_sub_agent_counts_in_the_lane_of_what_started_it_whatever_its_own_folder() {
    let mut w = World::new();
    let under = |n: usize, parent| SessionRecord { parent: Some(id(parent)), ..record(n) };
    let inside = |r: SessionRecord, cwd: &str| SessionRecord {
        cwd: Some(cwd.into()),
        lane: format!("antigravity:{cwd}"),
        ..r
    };
    let used = |r: SessionRecord, input| {
        let key = r.id.to_string();
        change(r, vec![call(&key, input)])
    };
    w.apply(&[
        used(record(0), 1),
        used(under(1, 0), 20),
        used(under(2, 1), 300),
        used(inside(under(3, 0), "/w/elsewhere"), 4_000),
        used(inside(record(4), "/w/api"), 50_000),
        used(under(5, 4), 600_000),
        // What started it is not known, and a circle.
        used(under(6, 77), 7_000_000),
        used(under(7, 8), 80_000_000),
        used(under(8, 7), 900_000_000),
    ]);
    let own = |n| format!("antigravity#{}", id(n));
    let all = today(&w, at(0), |_| None);
    let root = |lane: &str| all.get(lane).copied();
    assert_eq!(root(&own(0)), Some(4_321));
    assert_eq!(root("antigravity:/w/api"), Some(650_000));
    assert_eq!(root(&own(6)), Some(7_000_000));
    assert_eq!(all.values().sum::<u64>(), 987_654_321, "nothing is lost or counted twice: {all:?}");
    // A board that has a sub-agent stand elsewhere is followed, with what is below it.
    let apart = today(&w, at(0), |s| (s == id(1).as_str()).then(|| "run:x".to_owned()));
    assert_eq!((apart.get("run:x"), apart.get(&own(0))), (Some(&320), Some(&4_001)));
    assert_eq!(today(&w, at(900), |_| None), BTreeMap::new(), "from a later slot on");
}
