//! What the lanes used today is what Usage says of today.

use agenthub_engine::{UsageBy, UsageQuery};
use agy_sim::{Live, LiveSpec};

use crate::rig::{Rig, Watched, uuid};

#[test]
fn u20_a_lane_counts_its_sub_agents_with_and_without_a_folder() {
    let rig = Rig::new();
    let at_work = agents_with_sub_agents(&rig);
    // All of it is there when the engine looks first.
    is_told_right(&rig.start());
    for agy in at_work.into_iter().rev() {
        agy.close().unwrap();
    }
}

#[test]
fn u20_a_lane_counts_the_sub_agents_that_begin_while_it_is_looked_at() {
    let rig = Rig::new();
    let w = rig.start();
    let at_work = agents_with_sub_agents(&rig);
    is_told_right(&w);
    for agy in at_work.into_iter().rev() {
        agy.close().unwrap();
    }
}

/// One with a folder and one without, each with a sub-agent, all of which have made one call.
fn agents_with_sub_agents(rig: &Rig) -> Vec<Live> {
    let mut at_work = Vec::new();
    for cwd in [Some("/home/user/shop-api"), None] {
        let spec = LiveSpec::new(&uuid());
        let spec = cwd.map_or(spec.clone(), |cwd| spec.cwd(cwd));
        let mut agy = Live::start(&rig.home, spec).unwrap();
        agy.prompt("Look everywhere").unwrap();
        agy.call().unwrap();
        let mut child = agy.subagent("Searcher", "find it").unwrap();
        child.call().unwrap();
        at_work.extend([agy, child]);
    }
    at_work
}

#[track_caller]
fn is_told_right(w: &Watched) {
    let (s, _) = w.until("each lane's today is its session's with its sub-agent", |s| {
        s.board.lanes.len() == 2
            && s.board.lanes.iter().all(|l| {
                let root = l.members.iter().find(|m| m.parent_id.is_none());
                let detail = root.and_then(|root| w.host.session(&root.id).ok());
                detail.and_then(|d| d.with_subagents).is_some_and(|all| {
                    all.calls == 2 && (l.tokens_today, &l.cost_usd_today) == (Some(all.tokens), &all.cost_usd)
                })
            })
    });
    let query = UsageQuery { by: UsageBy::Day, since: None, until: None, tz: None };
    let used = w.host.usage(&query).unwrap();
    let lanes: u64 = s.board.lanes.iter().filter_map(|l| l.tokens_today).map(|t| t.total).sum();
    assert_eq!(lanes, used.totals.tokens.total, "all that was used was used on the board, and just now");
}
