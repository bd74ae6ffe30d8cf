//! What the lanes used today is what Usage says of today.

use agenthub_engine::{UsageBy, UsageQuery};
use agy_sim::{Call, Live, LiveSpec};

use crate::rig::{Rig, Watched, uuid};

#[test]
fn u20_a_lane_counts_its_sub_agents_with_and_without_a_folder() {
    let rig = Rig::new();
    let at_work = agents_with_sub_agents(&rig);
    // All of it is there when the engine looks first.
    let w = rig.start();
    is_told_right(&w);
    let board = w.host.watch().borrow().board.clone();
    let told = rig.json(&["lanes", "--json"]);
    for l in &board.lanes {
        let lane = told["lanes"].as_array().unwrap().iter().find(|t| t["id"] == l.lane.id.as_str()).unwrap();
        assert_eq!(lane["tokens_today"]["total"].as_u64(), l.lane.tokens_today.map(|t| t.total));
        assert_eq!(lane["cost_usd_today"].as_str(), l.lane.cost_usd_today.as_deref());
    }
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

#[test]
fn m4_lanes_say_below_their_costs_how_many_tokens_of_today_have_no_price() {
    let rig = Rig::new();
    let spec = LiveSpec::new(&uuid()).cwd("/home/user/shop-api").model(2_000);
    let mut agy = Live::start(&rig.home, spec).unwrap();
    agy.prompt("Look everywhere").unwrap();
    let mut call = |input: u64| {
        agy.call_begins().unwrap();
        agy.call_ends(&Call::model(2_000).tokens(input, 0, 0, 0).response_id(&uuid())).unwrap();
    };
    let lanes = || String::from_utf8(rig.agenthub(&["lanes"]).stdout).unwrap();
    let foot = |said: &str| said.lines().rfind(|l| l.contains("of today")).map(str::to_owned);
    assert_eq!(foot(&lanes()), None, "nothing was used yet");
    call(1);
    assert_eq!(
        foot(&lanes()).unwrap(),
        "1 token of today has no price and is in none: `agenthub pricing list` says which."
    );
    call(12_299);
    assert_eq!(
        foot(&lanes()).unwrap(),
        "12 k tokens of today have no price and are in none: `agenthub pricing list` says which."
    );
    assert!(lanes().lines().any(|l| l.contains("shop-api") && l.contains("no price")));
    // What it leads to has it, and with a price there is nothing to say.
    let listed = rig.json(&["pricing", "list", "--json"]);
    let none = listed["models"].as_array().unwrap().iter().find(|m| m["price"].is_null()).unwrap();
    let model = none["model"].as_str().unwrap();
    rig.json(&["pricing", "set", model, "--input", "2", "--output", "2", "--cache-read", "2", "--json"]);
    assert_eq!(foot(&lanes()), None);
    assert!(lanes().lines().any(|l| l.contains("shop-api") && l.contains("$0.0246")), "{}", lanes());
    agy.end_turn().unwrap();
    agy.close().unwrap();
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
                    all.calls == 2
                        && (l.lane.tokens_today, &l.lane.cost_usd_today) == (Some(all.tokens), &all.cost_usd)
                })
            })
    });
    let query = UsageQuery { by: UsageBy::Day, since: None, until: None, tz: None };
    let used = w.host.usage(&query).unwrap();
    let lanes: u64 = s.board.lanes.iter().filter_map(|l| l.lane.tokens_today).map(|t| t.total).sum();
    assert_eq!(lanes, used.totals.tokens.total, "all that was used was used on the board, and just now");
}
