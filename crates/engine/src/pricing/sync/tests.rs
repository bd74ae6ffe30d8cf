//! Every answer that a server can give, from one that listens on this machine only.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::pricing::{file::FileRow, shipped};

/// Answers each request with these bytes, and closes; or never, if there are none.
fn server(answer: Option<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/prices.json", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut silent: Vec<TcpStream> = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|l| l.is_ok_and(|l| !l.is_empty())) {}
            match &answer {
                // Whoever asked may have hung up.
                Some(bytes) => drop(stream.write_all(bytes)),
                None => silent.push(stream),
            }
        }
    });
    url
}

fn http(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

const QUICK: Limits = Limits { bytes: 1 << 20, patience: Duration::from_secs(30) };

/// LiteLLM's file, as if it had the prices that ship, and `change`d.
fn litellm_file(change: impl Fn(&str, &mut FileRow)) -> String {
    let mut all = serde_json::Map::new();
    for (key, row) in &shipped().file.rows {
        let mut row = row.clone();
        change(key, &mut row);
        let mut fields = serde_json::Map::new();
        fields.insert("litellm_provider".to_owned(), row.label.clone().into());
        let mut add = |suffix: &str, r: &crate::pricing::file::FileRates| {
            for (name, rate) in [
                ("input_cost_per_token", &r.input),
                ("cache_read_input_token_cost", &r.cache_read),
                ("cache_creation_input_token_cost", &r.cache_write),
                ("output_cost_per_token", &r.output),
            ] {
                if let Some(rate) = rate {
                    let digits = format!("{rate}e-6");
                    let digits = serde_json::value::RawValue::from_string(digits).unwrap();
                    fields.insert(format!("{name}{suffix}"), serde_json::json!(format!("#{digits}#")));
                }
            }
        };
        add("", &row.rates);
        for (above, rates) in &row.above {
            add(&format!("_above_{}k_tokens", above / 1_000), rates);
        }
        all.insert(key.clone(), fields.into());
    }
    // The digits as they are: no number of `serde_json` comes between.
    serde_json::to_string(&all).unwrap().replace("\"#", "").replace("#\"", "")
}

fn places() -> (tempfile::TempDir, Places) {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::make(&dir.path().join("data")).unwrap();
    (dir, places)
}

fn at(text: &str) -> Time {
    Time::from_micros(text.parse::<jiff::Timestamp>().unwrap().as_microsecond())
}

#[test]
fn m1_an_address_that_no_prices_are_fetched_from_is_called_that() {
    for url in
        ["file:///home/me/prices.json", "ftp://example.com/x", "prices.json", "", "/prices.json", "http:/x"]
    {
        let e = fetch(url, QUICK).unwrap_err();
        assert_eq!(e.code, "bad_request", "{url}: {e:?}");
        for words in
            [&format!("`{url}`"), "`http://` or `https://`", "AGENTHUB_PRICES_URL", "stay as they were"]
        {
            assert!(e.message.contains(words), "{url}: {e:?}");
        }
    }
    let answer = http("200 OK", "", "{}");
    let url = server(Some(answer)).replace("http://", "HTTP://");
    assert_eq!(fetch(&url, QUICK).unwrap(), "{}");
}

#[test]
fn m1_a_bad_answer_never_replaces_a_good_table() {
    let whole = litellm_file(|_, _| {});
    let json = "content-type: text/plain; charset=utf-8\r\n";
    let mut cut = http("200 OK", json, &whole);
    cut.truncate(cut.len() / 2);
    let broken = whole[..whole.len() / 2].to_owned();
    let few = "{\"gemini-3.8-flash\": {\"litellm_provider\": \"gemini\", \"input_cost_per_token\": 1e-6, \
               \"output_cost_per_token\": 1e-6}}";
    let html = "<!DOCTYPE html><html><body>Please sign in</body></html>";
    let cases: Vec<(&str, Option<Vec<u8>>, &str)> = vec![
        ("short body", Some(cut), "sync_short"),
        ("cut JSON", Some(http("200 OK", json, &broken)), "sync_not_prices"),
        ("few rows", Some(http("200 OK", json, few)), "sync_short"),
        ("no rows", Some(http("200 OK", json, "{}")), "sync_short"),
        ("empty", Some(http("200 OK", json, "")), "sync_not_prices"),
        ("a list", Some(http("200 OK", json, "[1, 2]")), "sync_not_prices"),
        ("HTML", Some(http("200 OK", "content-type: text/html\r\n", html)), "sync_not_prices"),
        ("HTML as text", Some(http("200 OK", json, html)), "sync_not_prices"),
        ("a picture", Some(http("200 OK", "content-type: image/png\r\n", &whole)), "sync_not_prices"),
        ("500", Some(http("500 Oh no", json, &whole)), "sync_status"),
        ("404", Some(http("404 Not Found", json, &whole)), "sync_status"),
        ("204", Some(http("204 No Content", json, "")), "sync_status"),
        (
            "a redirect",
            Some(http("302 Found", "location: http://127.0.0.1:9/else\r\n", &whole)),
            "sync_redirect",
        ),
        ("too large", Some(http("200 OK", json, &" ".repeat((1 << 20) + 1))), "sync_too_large"),
        ("no HTTP", Some(b"SSH-2.0-OpenSSH_9\r\n".to_vec()), "sync_unreachable"),
        ("hung up", Some(Vec::new()), "sync_unreachable"),
    ];
    let (_dir, places) = places();
    let good = server(Some(http("200 OK", json, &whole)));
    run(&places, &good, QUICK, at("2026-12-01T08:00:00Z"), &TimeZone::UTC).unwrap();
    let before = std::fs::read(places.prices()).unwrap();
    let names = || {
        let mut all: Vec<_> =
            std::fs::read_dir(places.data_dir()).unwrap().map(|e| e.unwrap().file_name()).collect();
        all.sort();
        all
    };
    let files = names();
    for (what, answer, code) in cases {
        let url = server(answer);
        let e = run(&places, &url, QUICK, at("2026-12-05T08:00:00Z"), &TimeZone::UTC).unwrap_err();
        assert_eq!(e.code, code, "{what}: {}", e.message);
        assert!(e.message.ends_with("The prices stay as they were."), "{what}: {}", e.message);
        let parsers = ["EOF", "expected", "invalid type", "at line 1 column"];
        assert!(!parsers.iter().any(|words| e.message.contains(words)), "{what}: {}", e.message);
        assert_eq!(std::fs::read(places.prices()).unwrap(), before, "{what}");
        assert_eq!(names(), files, "{what} leaves nothing behind");
    }
    // Nobody listens; nobody answers; half an answer and silence.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let e = fetch(&format!("http://{closed}/"), QUICK).unwrap_err();
    assert_eq!(e.code, "sync_unreachable", "{}", e.message);
    let impatient = Limits { patience: Duration::from_millis(200), ..QUICK };
    let e = fetch(&server(None), impatient).unwrap_err();
    assert_eq!(e.code, "sync_timeout", "{}", e.message);
    let e = fetch("prices", QUICK).unwrap_err();
    assert!(["bad_request", "sync_unreachable"].contains(&e.code.as_str()), "{}", e.message);
    assert_eq!(std::fs::read(places.prices()).unwrap(), before);
}

#[test]
fn m5_what_a_sync_changed_holds_from_the_day_that_it_was_seen() {
    let (_dir, places) = places();
    let zone = TimeZone::get("Asia/Kathmandu").unwrap();
    let sync = |text: String, now: &str| {
        let url = server(Some(http("200 OK", "content-type: application/json\r\n", &text)));
        run(&places, &url, QUICK, at(now), &zone).unwrap()
    };
    // The same prices change nothing.
    let changes = sync(litellm_file(|_, _| {}), "2026-12-03T08:00:00Z");
    assert_eq!(changes, PriceChanges::default());
    let same = Prices::load(&places.prices());
    assert!(same.synced && same.problem.is_none());
    assert_eq!(same.table, shipped().table);
    assert_eq!(same.file.synced_at.as_deref(), Some("2026-12-03T08:00:00.000Z"));
    // Cheaper, seen on the 9th at 4 in the morning there, which is the 8th in UTC.
    let cheaper = |key: &str, row: &mut FileRow| {
        if key.ends_with("gemini-3.8-flash") {
            row.rates.input = Some("0.5".to_owned());
        }
    };
    let changes = sync(litellm_file(cheaper), "2026-12-08T22:15:00Z");
    assert_eq!(changes, PriceChanges { added: 0, changed: 1, kept: 0 });
    let now = Prices::load(&places.prices());
    assert_eq!(now.file.date, "2026-12-09");
    let prices = now.table.model("gemini-3.8-flash").unwrap();
    let input = |when: &str| {
        let p = agenthub_core::price::price_at(prices, Some(at(when))).unwrap();
        p.row.rates.input.unwrap().per_million()
    };
    assert_eq!(input("2026-01-01T00:00:00Z"), "0.75");
    assert_eq!(input("2026-12-08T18:14:59Z"), "0.75");
    assert_eq!(input("2026-12-08T18:15:00Z"), "0.5", "midnight in Kathmandu");
    // And back again later: three prices, each for its time.
    sync(litellm_file(|_, _| {}), "2026-12-20T08:00:00Z");
    let now = Prices::load(&places.prices());
    let prices = now.table.model("gemini-3.8-flash").unwrap();
    assert_eq!(prices.len(), 3);
    // Read from its file, it is what it was when it was written.
    assert_eq!(PriceFile::parse(&std::fs::read_to_string(places.prices()).unwrap()).unwrap(), *now.file);
    // A damaged file is no reason to be without prices, and the next sync mends it.
    std::fs::write(places.prices(), "{").unwrap();
    assert!(Prices::load(&places.prices()).problem.is_some());
    sync(litellm_file(|_, _| {}), "2026-12-21T08:00:00Z");
    assert!(Prices::load(&places.prices()).problem.is_none());
}
