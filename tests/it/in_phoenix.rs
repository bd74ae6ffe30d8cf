//! Traces in a real backend, Arize Phoenix: `cargo xtask test --with-phoenix` starts one, and these tests with it. A simulated agy
//! runs the hooks, and what Phoenix has is read back from Phoenix.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use agy_sim::{HookEnvironment, HookOptions, Live, LiveSpec, ToolEnd};
use serde_json::{Value, json};

use crate::rig::{Rig, uuid};

const CWD: &str = "/home/user/src/traced";
/// Phoenix takes a while to store what it took, and the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(180);

fn phoenix() -> String {
    std::env::var("AGENTHUB_TEST_PHOENIX").expect("`cargo xtask test --with-phoenix` starts these tests")
}

fn install(rig: &Rig, endpoint: &str, project: &str, more: &[&str]) {
    let args = ["trace", "install", "--preset", "phoenix", "--endpoint", endpoint, "--project", project];
    let out = rig.agenthub(&[&args, more].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

fn agy(rig: &Rig, id: &str) -> Live {
    let hooks = HookOptions { environment: HookEnvironment::Empty, ..HookOptions::default() };
    Live::start(&rig.home, LiveSpec::new(id).cwd(CWD).hooks(hooks)).unwrap()
}

/// One turn of `calls` calls, of which all but the last ask for a tool.
fn turn(agy: &mut Live, prompt: &str, calls: usize) {
    agy.prompt(prompt).unwrap();
    for n in 1..=calls {
        agy.call_begins().unwrap();
        let arguments = json!({"CommandLine": format!("make {n}")});
        let mut call = agy.plausible_call().text(&format!("{prompt}: answer {n}"));
        if n < calls {
            call = call.tool("run_command", arguments.clone());
        }
        agy.call_ends(&call).unwrap();
        if n < calls {
            agy.tool_begins("run_command", arguments).unwrap();
            // So that there is something to measure: agy's own tools take no less.
            std::thread::sleep(Duration::from_millis(3));
            agy.tool_ends(ToolEnd::ok()).unwrap();
        }
    }
    agy.end_turn().unwrap();
}

/// A span as Phoenix tells it.
#[derive(Debug)]
struct Span(Value);

impl Span {
    fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_default()
    }

    fn id(&self) -> &str {
        self.0["context"]["span_id"].as_str().unwrap_or_default()
    }

    fn trace(&self) -> &str {
        self.0["context"]["trace_id"].as_str().unwrap_or_default()
    }

    fn attribute(&self, name: &str) -> &Value {
        &self.0["attributes"][name]
    }

    fn micros(&self, key: &str) -> i64 {
        self.text(key)
            .parse::<jiff::Timestamp>()
            .unwrap_or_else(|e| panic!("{key} of {self:?}: {e}"))
            .as_microsecond()
    }

    fn took_us(&self) -> i64 {
        self.micros("end_time") - self.micros("start_time")
    }
}

/// All spans of a project; none before it is there.
fn spans(project: &str) -> Vec<Span> {
    let url = format!("{}/v1/projects/{project}/spans", phoenix());
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let mut request = ureq::get(&url).query("limit", "500");
        if let Some(cursor) = &cursor {
            request = request.query("cursor", cursor);
        }
        let mut answer = match request.call() {
            Err(ureq::Error::StatusCode(404)) => return all,
            other => other.expect("Phoenix answers"),
        };
        let text = answer.body_mut().read_to_string().expect("a body");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        all.extend(document["data"].as_array().expect("data").iter().cloned().map(Span));
        cursor = document["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return all;
        }
    }
}

#[track_caller]
fn wait_for(project: &str, n: usize) -> Vec<Span> {
    let until = Instant::now() + PATIENCE;
    loop {
        let found = spans(project);
        if found.len() >= n {
            return found;
        }
        assert!(Instant::now() < until, "{} of {n} spans in {project}: {found:#?}", found.len());
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Ids are all different, every parent is there, and each trace has one root.
#[track_caller]
fn assert_trees(spans: &[Span]) {
    let ids: BTreeSet<_> = spans.iter().map(|span| (span.trace(), span.id())).collect();
    assert_eq!(ids.len(), spans.len(), "each id once");
    let mut roots: BTreeMap<&str, usize> = spans.iter().map(|span| (span.trace(), 0)).collect();
    for span in spans {
        match span.0["parent_id"].as_str() {
            Some(parent) => assert!(ids.contains(&(span.trace(), parent)), "{span:?} hangs in the air"),
            None => *roots.get_mut(span.trace()).unwrap() += 1,
        }
    }
    assert!(roots.values().all(|n| *n == 1), "{roots:?}");
}

fn of_kind<'a>(spans: &'a [Span], kind: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.text("span_kind") == kind).collect()
}

fn sum(spans: &[&Span], name: &str) -> u64 {
    spans
        .iter()
        .map(|span| span.attribute(name).as_u64().unwrap_or_else(|| panic!("{name} of {span:?}")))
        .sum()
}

#[test]
#[ignore = "needs Phoenix: cargo xtask test --with-phoenix"]
fn r2_r3_a_turn_of_12_calls_and_11_tools_is_there_once_with_its_tokens_cost_and_times() {
    let (rig, project, id) = (Rig::new(), "twelve", uuid());
    install(&rig, &phoenix(), project, &[]);
    let mut agy = agy(&rig, &id);
    turn(&mut agy, "Build it", 12);
    let spans = wait_for(project, 1 + 12 + 11);
    assert_eq!(spans.len(), 24);
    assert_trees(&spans);

    let turns = of_kind(&spans, "AGENT");
    let calls = of_kind(&spans, "LLM");
    let tools = of_kind(&spans, "TOOL");
    assert_eq!((turns.len(), calls.len(), tools.len()), (1, 12, 11));
    let turn = turns[0];
    assert_eq!(turn.text("name"), "invoke_agent antigravity");
    assert_eq!(turn.attribute("session.id"), &json!(id));
    assert!(calls.iter().all(|call| call.text("parent_id") == turn.id()));
    let asked: BTreeSet<_> = tools.iter().map(|tool| tool.text("parent_id")).collect();
    assert_eq!(asked.len(), 11, "each tool below the call that asked for it");
    assert!(asked.iter().all(|parent| calls.iter().any(|call| call.id() == *parent)));
    for tool in &tools {
        assert_eq!(tool.text("name"), "execute_tool run_command");
        assert!((1..1_000_000).contains(&tool.took_us()), "{} us", tool.took_us());
    }
    for call in &calls {
        let model = call.attribute("gen_ai.request.model").as_str().unwrap();
        assert_eq!(call.text("name"), format!("chat {model}"));
        assert!(turn.micros("start_time") <= call.micros("start_time"));
        assert!(call.micros("end_time") <= turn.micros("end_time"));
    }

    // The same numbers as everywhere else.
    let session = rig.json(&["session", &id, "--json"]);
    let of = |key: &str| session["tokens"][key].as_u64().unwrap();
    for (name, tokens) in [
        ("llm.token_count.prompt", of("input") + of("cache_read") + of("cache_write")),
        ("llm.token_count.completion", of("output")),
        ("llm.token_count.total", of("total")),
        ("llm.token_count.prompt_details.cache_read", of("cache_read")),
        ("llm.token_count.completion_details.reasoning", of("thinking")),
        ("gen_ai.usage.input_tokens", of("input") + of("cache_read") + of("cache_write")),
        ("gen_ai.usage.output_tokens", of("output")),
    ] {
        assert_eq!(sum(&calls, name), tokens, "{name}");
    }
    for span in turns.iter().chain(&tools) {
        let text = span.0["attributes"].to_string();
        assert!(
            !text.contains("llm.token_count") && !text.contains("gen_ai.usage") && !text.contains("llm.cost")
        );
    }
    assert_costs(&session, &calls);

    // A second export is the same spans.
    let out = rig.agenthub(&["trace", "export", "--session", &id]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(wait_for(project, 24).len(), 24);
}

/// Each call's cost is the nearest double of the exact decimal; a call without a price says so.
#[track_caller]
fn assert_costs(session: &Value, calls: &[&Span]) {
    let timeline = session["timeline"].as_array().unwrap();
    let mut priced = 0;
    for call in calls {
        let response = call.attribute("gen_ai.response.id");
        let entry = timeline
            .iter()
            .find(|entry| entry["kind"] == "call" && &entry["call"] == response)
            .unwrap_or_else(|| panic!("{response} stands in no timeline"));
        match entry["cost_usd"].as_str() {
            Some(exact) => {
                let nearest: f64 = exact.parse().unwrap();
                assert_eq!(call.attribute("llm.cost.total").as_f64(), Some(nearest), "{exact}");
                assert_eq!(call.attribute("agenthub.price"), "complete");
                priced += 1;
            }
            None => {
                assert_eq!(call.attribute("llm.cost.total"), &Value::Null);
                assert_eq!(call.attribute("agenthub.price"), "missing");
            }
        }
    }
    println!("{priced} of {} calls have a price", calls.len());
}

/// Where nothing listens.
fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr()).unwrap()
}

/// From now on Phoenix is to be had at this address, too.
fn pass_on(address: SocketAddr) {
    fn copy(mut from: TcpStream, mut to: TcpStream) {
        drop(std::io::copy(&mut from, &mut to));
        drop(to.shutdown(Shutdown::Write));
    }
    let listener = TcpListener::bind(address).unwrap();
    let phoenix = phoenix().trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for near in listener.incoming() {
            let near = near.unwrap();
            let far = TcpStream::connect(&phoenix).unwrap();
            let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || copy(near, far));
            std::thread::spawn(move || copy(far_too, near_too));
        }
    });
}

#[test]
#[ignore = "needs Phoenix: cargo xtask test --with-phoenix"]
fn r8_turns_of_a_time_without_a_backend_are_there_once_after_the_next() {
    let (rig, project, id) = (Rig::new(), "later", uuid());
    let address = free_address();
    install(&rig, &format!("http://{address}"), project, &[]);
    let mut agy = agy(&rig, &id);
    for n in 1..=5 {
        turn(&mut agy, &format!("Turn {n}"), 2);
    }
    assert_eq!(spans(project).len(), 0);
    pass_on(address);
    turn(&mut agy, "Turn 6", 1);
    let expected = 5 * (1 + 2 + 1) + 2;
    let spans = wait_for(project, expected);
    assert_eq!(spans.len(), expected);
    assert_trees(&spans);
    assert_eq!(of_kind(&spans, "AGENT").len(), 6);
}

#[test]
#[ignore = "needs Phoenix: cargo xtask test --with-phoenix"]
fn r10_what_was_written_is_there_only_where_it_was_switched_on() {
    let (rig, project, id) = (Rig::new(), "silent", uuid());
    install(&rig, &phoenix(), project, &[]);
    let mut agy = agy(&rig, &id);
    turn(&mut agy, "A very secret plan", 2);
    let spans = wait_for(project, 4);
    let all = format!("{spans:?}");
    for word in ["secret", "answer 1", "make 1"] {
        assert!(!all.contains(word), "{word}: {all}");
    }
}

#[test]
#[ignore = "needs Phoenix: cargo xtask test --with-phoenix"]
fn r11_a_test_says_what_phoenix_says() {
    let (rig, project) = (Rig::new(), "tested");
    install(&rig, &phoenix(), project, &[]);
    let out = rig.agenthub(&["trace", "test"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(String::from_utf8_lossy(&out.stdout).contains("200"), "{}", String::from_utf8_lossy(&out.stdout));
    let spans = wait_for(project, 1);
    assert_eq!(spans[0].text("name"), "AgentHub test");

    install(&rig, &format!("{}/nothing/here", phoenix()), project, &[]);
    let out = rig.agenthub(&["trace", "test"]);
    let said = [out.stdout, out.stderr].concat();
    assert!(!out.status.success(), "{}", String::from_utf8_lossy(&said));
    assert!(
        String::from_utf8_lossy(&said).contains("40"),
        "a 404 or 405: {}",
        String::from_utf8_lossy(&said)
    );
}
