//! Prices as a person meets them: set, aliased, synced, and effective at once.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use agenthub_engine::{
    Host, Options,
    view::{OwnPrice, PriceRates, UsageRange, UsageScreenQuery},
};
use agy_sim::{Call, Conversation, Quirk, Turn};
use serde_json::{Value, json};

use crate::rig::{Rig, usd, uuid};

/// Serves LiteLLM's file on this machine, and counts who asks.
struct Server {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn new(status: &str, body: String) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/prices.json", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: text/plain\r\nconnection: close\r\n");
        let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        let counted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines.next().is_some_and(|l| l.is_ok_and(|l| !l.is_empty())) {}
                // Whoever asked may have hung up.
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Server { url, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// The rows that ship as LiteLLM would have them, all at one price, and one more model.
fn litellm_file(rig: &Rig) -> String {
    let view = rig.json(&["pricing", "list", "--json"]);
    let row = |label: &Value| json!({"litellm_provider": label, "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6});
    let rows = view["rows"].as_array().unwrap();
    let mut all: serde_json::Map<String, Value> =
        rows.iter().map(|r| (r["row"].as_str().unwrap().to_owned(), row(&r["label"]))).collect();
    all.insert(format!("gemini/{NEXT_ID}"), row(&json!("gemini")));
    all.insert("kyma/gemini-other".to_owned(), row(&json!("kyma")));
    Value::Object(all).to_string()
}

/// A model that only a newer table knows, and one that every table does.
const NEXT: u32 = 1_411;
const NEXT_ID: &str = "gemini-4-preview-exp";
const FLASH: u32 = 1_318;

/// A session with a call of each of these models.
fn session(rig: &Rig, models: &[u32]) -> String {
    let id = uuid();
    let mut turn = Turn::prompt("Hello");
    for model in models {
        turn = turn.call(Call::model(*model).tokens(1_000_000, 0, 500_000, 0));
    }
    Conversation::new(&id).cwd("/home/user/x").turn(turn).write(&rig.home).unwrap();
    id
}

fn with(mut command: Command, url: &str) -> Command {
    command.env("AGENTHUB_PRICES_URL", url);
    command
}

fn answer(mut command: Command) -> (Option<i32>, Value) {
    let out = command.output().unwrap();
    (out.status.code(), serde_json::from_slice(&out.stdout).unwrap_or(Value::Null))
}

#[test]
fn m4_u29_an_own_price_or_alias_is_effective_at_once_and_can_be_taken_back() {
    let rig = Rig::new();
    let id = session(&rig, &[NEXT]);
    let cost = |rig: &Rig| rig.json(&["session", &id, "--json"])["cost_usd"].clone();
    assert_eq!(cost(&rig), Value::Null);
    let text = String::from_utf8(rig.agenthub(&["sessions"]).stdout).unwrap();
    assert!(text.contains("no price") && !text.contains("$0"), "{text}");
    assert!(text.contains("list prices, not a bill") && text.contains(NEXT_ID), "{text}");
    let foot = format!("tokens of {NEXT_ID} have no price and are in none: `agenthub pricing set`");
    let one = String::from_utf8(rig.agenthub(&["session", &id]).stdout).unwrap();
    assert!(text.contains(&foot) && one.contains(&foot), "{text}{one}");
    let listed = rig.json(&["pricing", "list", "--json"]);
    assert_eq!(listed["models"][0]["model"], NEXT_ID, "what has no price comes first");
    assert!(listed["models"][0]["price"].is_null() && listed["models"][0]["hint"].is_string());

    let set = rig.json(&["pricing", "set", NEXT_ID, "--input", "0.30", "--output", "2.5", "--json"]);
    assert_eq!(set["model"]["price"]["by"], "own");
    assert_eq!(set["model"]["cost_usd"], cost(&rig));
    let first = usd([&cost(&rig)]);
    assert!(first > 0);
    rig.json(&["pricing", "set", NEXT_ID, "--alias", "gemini-3.8-flash", "--json"]);
    let session = rig.json(&["session", &id, "--json"]);
    assert_eq!(session["models"][0]["price_row"], "gemini-3.8-flash");
    assert_ne!(usd([&session["cost_usd"]]), first);
    assert_eq!(session["unpriced_models"], json!([]));
    rig.json(&["pricing", "unset", NEXT_ID, "--json"]);
    assert_eq!(cost(&rig), Value::Null);

    // Wrong use is told by its code, and sets nothing.
    let long = "x".repeat(201);
    for (args, code, exit) in [
        (vec!["pricing", "set", "m", "--alias", "no-such-model"], "bad_request", 2),
        (vec!["pricing", "set", "m", "--alias", " "], "bad_request", 2),
        (vec!["pricing", "set", "m", "--alias", &long], "bad_request", 2),
        (vec!["pricing", "set", "m", "--input", "-1"], "bad_request", 2),
        (vec!["pricing", "set", "m", "--input", "cheap"], "bad_request", 2),
        (vec!["pricing", "set", "m", "--output", "1e99"], "bad_request", 2),
        (vec!["pricing", "set", "m"], "bad_request", 2),
        (vec!["pricing", "set", "", "--input", "1"], "bad_request", 2),
        (vec!["pricing", "unset", "m"], "not_found", 1),
    ] {
        let (status, said) = answer(rig.command(&[args.as_slice(), &["--json"]].concat()));
        assert_eq!((status, &said["error"]["code"]), (Some(exit), &json!(code)), "{args:?}: {said}");
    }
    assert_eq!(cost(&rig), Value::Null);
}

#[test]
fn m3_a_price_for_a_placeholder_is_of_the_calls_alone_that_have_no_other_name() {
    let rig = Rig::new();
    let id = uuid();
    let call = || Call::model(1_035).tokens(1_000_000, 0, 500_000, 0);
    let turn = Turn::prompt("Hello").call(call()).call(call().quirk(Quirk::NoGen));
    Conversation::new(&id).cwd("/home/user/x").turn(turn).write(&rig.home).unwrap();
    const NAMED: &str = "claude-sonnet-4-6";
    const NUMBER: &str = "MODEL_PLACEHOLDER_M35";
    // What each view says of a model: its calls and cost.
    let of = |rows: &Value, key: &str, name: &str| {
        let row = rows.as_array().unwrap().iter().find(|r| r[key] == name).unwrap_or(&Value::Null);
        (row["calls"].clone(), row["cost_usd"].clone())
    };
    let views = |name: &str| {
        let listed = of(&rig.json(&["pricing", "list", "--json"])["models"], "model", name);
        assert_eq!(of(&rig.json(&["usage", "--by", "model", "--json"])["rows"], "key", name), listed);
        listed
    };
    let named = views(NAMED);
    assert_eq!((&named.0, named.1.is_string()), (&json!(1), true), "{named:?}");
    assert_eq!(views(NUMBER), (json!(1), Value::Null));
    let session = || rig.json(&["session", &id, "--json"]);
    assert_eq!(session()["unpriced_models"], json!([NUMBER]));
    assert_eq!(session()["models"][0]["model"], NAMED, "of a number's names the one that says something");
    let text = String::from_utf8(rig.agenthub(&["session", &id]).stdout).unwrap();
    assert!(text.contains(&format!("tokens of {NUMBER} have no price")), "{text}");

    for how in [&["--input", "100", "--output", "100"][..], &["--alias", "gemini-3.8-flash"]] {
        let set = rig.json(&[&["pricing", "set", NUMBER][..], how, &["--json"]].concat());
        assert_eq!((&set["model"]["model"], &set["model"]["calls"]), (&json!(NUMBER), &json!(1)), "{set}");
        assert_eq!(views(NAMED), named, "{how:?}");
        assert_eq!(views(NUMBER).1, set["model"]["cost_usd"]);
        assert_eq!(session()["unpriced_models"], json!([]));
        assert_eq!(usd([&session()["cost_usd"]]), usd([&named.1, &views(NUMBER).1]));
    }
    // What was left out is named, with the option that gives it.
    let said = |args: &[&str]| String::from_utf8(rig.agenthub(args).stdout).unwrap();
    let text = said(&["pricing", "set", NUMBER, "--input", "100", "--output", "100"]);
    assert!(text.contains("no rate for cache reads") && text.contains("`--cache-read USD`"), "{text}");
    // The foot of a session and of a list name the calls' own name, not the model that they stand with.
    for text in [said(&["session", &id]), said(&["sessions"])] {
        assert!(text.contains(&format!("500 k tokens of {NUMBER} have no price")), "{text}");
        assert!(!text.contains(&format!("tokens of {NAMED}")), "{text}");
    }
    // Each call says so, and its turn: what they show is no whole cost.
    let timeline = session()["timeline"].clone();
    let lacking = timeline.as_array().unwrap().iter().map(|e| e["tokens_unpriced"].as_u64().unwrap());
    let all = session()["tokens_unpriced"].as_u64().unwrap();
    assert!(all > 0 && lacking.sum::<u64>() == all, "{timeline}");
    let (turns, screen) = {
        let host = Host::once(rig.config(), Options::default()).unwrap();
        let query = UsageScreenQuery { range: UsageRange::All, ..UsageScreenQuery::default() };
        (host.session(&id).unwrap().turn_sums, host.usage_screen(&query).unwrap())
    };
    assert_eq!(turns.iter().map(|t| t.tokens_unpriced).sum::<u64>(), all);
    let parts = screen.bars.iter().flat_map(|b| &b.parts).map(|p| p.tokens_unpriced);
    assert_eq!((parts.sum::<u64>(), screen.totals.tokens_unpriced), (all, all));
    let text = said(&["pricing", "set", NUMBER, "--input", "1", "--output", "1", "--cache-read", "1"]);
    assert!(text.contains(NUMBER) && !text.contains("no rate"), "{text}");
    let text = said(&["pricing", "set", "zz", "--input", "1"]);
    assert!(
        text.contains("No call names `zz` yet") && text.contains("`--cache-read USD --output USD`"),
        "{text}"
    );
    let text = said(&["pricing", "unset", "zz"]);
    assert!(text.contains("taken back") && !text.contains("holds from"), "{text}");
    rig.json(&["pricing", "unset", NUMBER, "--json"]);
    assert_eq!((views(NAMED), views(NUMBER).1), (named, Value::Null));
}

#[test]
fn m4_what_is_set_before_any_call_names_it_is_listed_and_can_be_taken_back() {
    let rig = Rig::new();
    session(&rig, &[FLASH]);
    let counts = || {
        let s = rig.json(&["pricing", "status", "--json"]);
        ["models_priced", "models_unpriced", "models_own"].map(|key| s[key].as_u64().unwrap())
    };
    let [priced, unpriced, _] = counts();
    let set = rig.json(&["pricing", "set", "gemini-9", "--input", "1", "--output", "2", "--json"]);
    assert!(set["model"].is_null(), "no call names it: {set}");
    rig.json(&["pricing", "set", "their-name", "--alias", "gemini-3.8-flash", "--json"]);
    let list = || rig.json(&["pricing", "list", "--json"])["models"].as_array().unwrap().clone();
    let of = |name: &str| list().into_iter().find(|m| m["model"] == name);
    for (name, by) in [("gemini-9", "own"), ("their-name", "own_alias")] {
        let m = of(name).unwrap_or_else(|| panic!("{name} is not listed"));
        assert_eq!((&m["calls"], &m["price"]["by"]), (&json!(0), &json!(by)), "{m}");
        assert_eq!(m["tokens"]["total"], 0);
        assert!(m["cost_usd"].is_null() && m["hint"].is_null(), "{m}");
    }
    let text = String::from_utf8(rig.agenthub(&["pricing", "list"]).stdout).unwrap();
    assert!(
        text.contains("gemini-9") && text.contains("your price") && text.contains("your alias"),
        "{text}"
    );
    // What a price is missing for is counted among the models of calls.
    assert_eq!(counts(), [priced, unpriced, 2]);
    for name in ["gemini-9", "their-name"] {
        rig.json(&["pricing", "unset", name, "--json"]);
        assert_eq!(of(name), None);
    }
}

#[test]
fn m4_a_change_says_what_it_does_to_models_that_an_alias_leads_to_it() {
    let rig = Rig::new();
    session(&rig, &[NEXT]);
    let said = |args: &[&str]| String::from_utf8(rig.agenthub(args).stdout).unwrap();
    rig.json(&[
        "pricing",
        "set",
        "house-rate",
        "--input",
        "1",
        "--cache-read",
        "1",
        "--output",
        "2",
        "--json",
    ]);
    let row =
        |text: &str| text.lines().find(|l| l.trim_start().starts_with("house-rate")).unwrap().to_owned();
    let listed = row(&said(&["pricing", "list"]));
    assert!(!listed.contains("no price") && listed.contains('–'), "it has a price and no calls: {listed}");
    let set = rig.json(&["pricing", "set", NEXT_ID, "--alias", "house-rate", "--json"]);
    assert_eq!((&set["model"]["price"]["by"], &set["others"]), (&json!("own_alias"), &json!([])));
    let text = said(&["pricing", "set", "house-rate", "--input", "3", "--cache-read", "1", "--output", "2"]);
    assert!(text.contains(&format!("`{NEXT_ID}` is priced by own:house-rate")), "{text}");
    let text = said(&["pricing", "unset", "house-rate"]);
    assert!(text.contains("No call names it itself") && text.contains(NEXT_ID), "{text}");
    assert!(text.contains("1 call has no price now"), "{text}");
    // As a document, too.
    rig.json(&["pricing", "set", "house-rate", "--input", "1", "--output", "2", "--json"]);
    let unset = rig.json(&["pricing", "unset", "house-rate", "--json"]);
    assert_eq!((&unset["model"], &unset["others"][0]["model"]), (&Value::Null, &json!(NEXT_ID)), "{unset}");
    assert!(unset["others"][0]["price"].is_null());
}

#[test]
fn m4_what_is_set_by_a_label_holds_though_something_stands_for_the_id() {
    const LABEL: &str = "Gemini 4 Preview (High)";
    let rig = Rig::new();
    session(&rig, &[NEXT]);
    let set = |name: &str, price: &[&str]| {
        rig.json(&[&["pricing", "set", name][..], price, &["--json"]].concat())["model"].clone()
    };
    let stands = || {
        let all = rig.json(&["pricing", "list", "--json"])["models"].clone();
        all.as_array().unwrap().iter().find(|m| m["model"] == NEXT_ID).unwrap().clone()
    };
    set(NEXT_ID, &["--alias", "gemini-3.8-flash"]);
    let set_by_label = set(LABEL, &["--input", "7", "--output", "9"]);
    assert_eq!((&set_by_label["model"], &set_by_label["price"]["by"]), (&json!(NEXT_ID), &json!("own")));
    assert_eq!(stands()["own"]["rates"]["input"], "7", "{}", stands());
    set(LABEL, &["--alias", "gemini-3.8-flash"]);
    assert_eq!(stands()["price"]["by"], "own_alias");
    // By either name it is taken back, and nothing is left behind.
    rig.json(&["pricing", "unset", LABEL, "--json"]);
    assert!(stands()["own"].is_null() && stands()["price"].is_null(), "{}", stands());
    set(LABEL, &["--input", "7"]);
    rig.json(&["pricing", "unset", NEXT_ID, "--json"]);
    assert!(stands()["own"].is_null(), "{}", stands());
    assert_eq!(rig.json(&["pricing", "status", "--json"])["models_own"], 0);
}

#[test]
fn m4_a_label_of_an_id_that_has_others_is_refused_where_the_id_counts_first() {
    // Two labels of one id.
    let (high, low, id) = ("Gemini 3.1 Pro (High)", "Gemini 3.1 Pro (Low)", "gemini-pro-default");
    let rig = Rig::new();
    session(&rig, &[1016, 1036]);
    let row = |label: &str| {
        let all = rig.json(&["pricing", "list", "--json"])["models"].clone();
        all.as_array().unwrap().iter().find(|m| m["model_label"] == label).unwrap().clone()
    };
    // Without anything for the id each label has its own.
    rig.json(&["pricing", "set", high, "--input", "7", "--json"]);
    assert_eq!((&row(high)["price"]["by"], row(low)["own"].is_null()), (&json!("own"), true));
    rig.json(&["pricing", "unset", high, "--json"]);
    rig.json(&["pricing", "set", id, "--alias", "gemini-3.8-flash", "--json"]);
    for args in
        [&["set", low, "--input", "7"][..], &["set", low, "--alias", "gemini-3.8-flash"], &["unset", low]]
    {
        let (status, said) = answer(rig.command(&[&["pricing"][..], args, &["--json"]].concat()));
        let message = said["error"]["message"].as_str().unwrap();
        assert_eq!((status, &said["error"]["code"]), (Some(2), &json!("bad_request")), "{said}");
        assert!(
            message.contains(&format!("agenthub pricing unset {id}")) && message.contains(low),
            "{message}"
        );
    }
    assert_eq!(row(low)["price"]["by"], "own_alias");
}

#[test]
fn m4_an_alias_of_itself_or_in_a_circle_is_called_that() {
    let rig = Rig::new();
    let refused = |args: &[&str]| {
        let (status, said) = answer(rig.command(&[&["pricing", "set"], args, &["--json"]].concat()));
        assert_eq!((status, &said["error"]["code"]), (Some(2), &json!("bad_request")), "{said}");
        said["error"]["message"].as_str().unwrap().to_owned()
    };
    assert!(refused(&["m", "--alias", "m"]).contains("can't be an alias of itself"));
    // `b` has a price as long as it takes to become an alias of `a`.
    rig.json(&["pricing", "set", "b", "--input", "1", "--json"]);
    rig.json(&["pricing", "set", "a", "--alias", "b", "--json"]);
    let text = refused(&["b", "--alias", "a"]);
    assert!(text.contains("an alias of yours, of `b`") && text.contains("in a circle"), "{text}");
    let text = refused(&["c", "--alias", "a"]);
    assert!(text.contains("an alias of yours, of `b`") && !text.contains("circle"), "{text}");
    assert!(refused(&["c", "--alias", "nobody"]).contains("leads to no price"));
}

#[test]
fn m4_the_part_that_has_no_rate_is_named_where_the_sum_stands() {
    let rig = Rig::new();
    session(&rig, &[NEXT]);
    rig.json(&["pricing", "set", NEXT_ID, "--input", "1", "--output", "2", "--json"]);
    let host = Host::once(rig.config(), Options::default()).unwrap();
    let asked = UsageScreenQuery { range: UsageRange::All, ..Default::default() };
    let screen = host.usage_screen(&asked).unwrap();
    let m = screen.models.iter().find(|m| m.row.key.as_deref() == Some(NEXT_ID)).unwrap();
    assert_eq!((m.row.cost_usd.as_deref(), m.row.tokens_unpriced), (Some("1"), 500_000));
    let hint = "There is no rate for cache reads: 500000 tokens are not in the cost.";
    assert_eq!(m.hint.as_deref(), Some(hint), "and nothing of cache writes, which there are none of");
    let text = String::from_utf8(rig.agenthub(&["pricing", "list"]).stdout).unwrap();
    assert!(text.contains(hint), "{text}");
}

#[test]
fn m4_a_running_engine_has_the_new_price_when_the_command_ends() {
    let rig = Rig::new();
    let id = session(&rig, &[NEXT]);
    let engine = rig.start();
    let cost = || engine.host.session(&id).unwrap().row.session.cost_usd;
    assert_eq!(cost(), None);
    // Said by another process: it is true here when that ends.
    rig.json(&["pricing", "set", NEXT_ID, "--input", "2", "--json"]);
    assert!(cost().is_some());
    assert_eq!(engine.host.all_sessions().unwrap().totals.cost_usd, cost());
    // Said here, with 0 for what is free: that is a price.
    let rates = PriceRates {
        input: Some("0".to_owned()),
        output: Some("0".to_owned()),
        cache_read: Some("0".to_owned()),
        ..PriceRates::default()
    };
    let own = OwnPrice { alias: None, rates: Some(rates) };
    let model = engine.host.set_price(NEXT_ID, &own).unwrap().unwrap();
    assert_eq!((model.cost_usd.as_deref(), cost().as_deref()), (Some("0"), Some("0")));
    engine.until("the board has it", |s| {
        s.board.lanes.iter().all(|l| l.members.iter().all(|m| m.cost_usd.as_deref() == Some("0")))
    });
    engine.host.clear_price(NEXT_ID).unwrap();
    assert_eq!(cost(), None);
}

#[test]
fn p4_m1_m5_a_sync_is_made_on_command_alone_and_keeps_what_older_calls_cost() {
    let rig = Rig::new();
    let id = session(&rig, &[FLASH, NEXT]);
    let server = Server::new("200 OK", litellm_file(&rig));
    let session = || {
        let (status, doc) = answer(with(rig.command(&["session", &id, "--json"]), &server.url));
        assert_eq!(status, Some(0));
        doc
    };
    for args in [
        vec!["sessions"],
        vec!["lanes"],
        vec!["usage", "--by", "model"],
        vec!["doctor"],
        vec!["pricing", "list"],
        vec!["pricing", "status"],
    ] {
        assert!(with(rig.command(&args), &server.url).output().unwrap().status.success(), "{args:?}");
    }
    let before = session();
    assert_eq!(server.asked(), 0, "nobody asked for a sync");
    let priced = usd([&before["cost_usd"]]);
    assert!(priced > 0 && before["unpriced_models"].as_array().unwrap().len() == 1, "{before}");

    let (status, synced) = answer(with(rig.command(&["pricing", "sync", "--json"]), &server.url));
    assert_eq!((status, server.asked()), (Some(0), 1), "{synced}");
    assert_eq!(synced["table"]["origin"], "synced");
    assert_eq!(synced["synced"]["added"], 1);
    assert!(synced["synced"]["changed"].as_u64().unwrap() > 40, "{synced}");
    // The calls of before keep their rate; a model that had none has one from the beginning.
    let after = session();
    let of = |doc: &Value, number: u32| {
        let all = doc["models"].as_array().unwrap();
        usd(all.iter().filter(|m| m["model_enum"] == number).map(|m| &m["cost_usd"]))
    };
    assert_eq!(of(&after, FLASH), of(&before, FLASH));
    assert_eq!(of(&before, NEXT), 0);
    assert!(of(&after, NEXT) > 0);
    assert_eq!(after["unpriced_models"], json!([]));
    assert_eq!(usd([&after["cost_usd"]]), priced + of(&after, NEXT));

    // What fails says how, and changes nothing.
    let bad = Server::new("500 Oh no", "{}".to_owned());
    let (status, said) = answer(with(rig.command(&["pricing", "sync", "--json"]), &bad.url));
    assert_eq!((status, &said["error"]["code"]), (Some(1), &json!("sync_status")), "{said}");
    assert_eq!(session()["cost_usd"], after["cost_usd"]);
}

#[test]
fn p4_m1_the_weekly_sync_is_made_by_the_engine_when_it_is_on() {
    let rig = Rig::new();
    session(&rig, &[FLASH]);
    let server = Server::new("200 OK", litellm_file(&rig));
    std::fs::create_dir_all(rig.config().config_dir).unwrap();
    let settings = rig.config().config_dir.join("settings.json");
    std::fs::write(&settings, r#"{"prices": {"weekly_sync": true}}"#).unwrap();
    // A command looks once: it is not the one that syncs.
    assert!(with(rig.command(&["sessions"]), &server.url).output().unwrap().status.success());
    assert_eq!(server.asked(), 0);
    let mut watch = with(rig.command(&["watch"]), &server.url);
    let mut child = watch.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while !rig.data_dir().join("prices.json").exists() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(rig.data_dir().join("prices.json").exists(), "it was never fetched");
    assert_eq!(server.asked(), 1, "and not more often than due");
    assert_eq!(rig.json(&["pricing", "status", "--json"])["table"]["origin"], "synced");
}

#[test]
fn m3_ten_thousand_models_without_a_name_are_listed_with_a_hint() {
    let rig = Rig::new();
    let mut turn = Turn::prompt("Hello");
    for n in 0..10_000 {
        turn = turn.call(Call::model(2_000 + n).tokens(10, 0, 1, 0));
    }
    Conversation::new(&uuid()).turn(turn).write(&rig.home).unwrap();
    let view = rig.json(&["pricing", "list", "--json"]);
    // One more: the small model that gave the title may be among them.
    let models = view["models"].as_array().unwrap();
    let nameless: Vec<_> =
        models.iter().filter(|m| m["model_label"].is_null() && m["price"].is_null()).collect();
    assert_eq!(nameless.len(), 10_000);
    assert!(nameless.iter().all(|m| m["hint"].as_str().is_some_and(|h| h.contains("a number"))));
    let text = rig.agenthub(&["pricing", "list"]);
    assert!(text.status.success() && text.stdout.split(|b| *b == b'\n').count() > 10_000);
}
