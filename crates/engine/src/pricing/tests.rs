//! Tables, their files, and the choice between them.

use agenthub_core::{
    Model, Tokens,
    price::{Refused, Usd, model_of, price_at},
};

use super::*;

#[test]
fn m1_the_table_that_ships_is_whole_and_holds_only_what_may_be_used() {
    let p = shipped();
    assert_eq!(p.problem, None);
    assert!(p.file.source.starts_with("LiteLLM ") && p.file.licence.contains("MIT"), "{}", p.file.source);
    assert!(p.file.date.parse::<Date>().is_ok() && p.file.synced_at.is_none() && p.file.history.is_empty());
    assert_eq!(p.file.usable().len(), p.file.rows.len());
    assert!(p.table.len() > 40);
    for row in p.file.usable() {
        assert_eq!(model_of(&row.key, &row.label), Ok(row.model()));
        assert!(row.rates.input.is_some_and(|r| !r.is_zero()) && row.rates.output.is_some(), "{}", row.key);
    }
    for (model, prices) in p.table.models() {
        assert!(
            prices.len() == 1 && prices[0].since.is_none(),
            "{model}: what ships holds from the beginning"
        );
    }
    // Made by the generator, and not by hand.
    let again = PriceFile {
        synced_at: None,
        ..PriceFile::new(&p.file.source, &p.file.date, &p.file.usable(), &p.table)
    };
    assert_eq!(again.to_json(), SHIPPED);
}

#[test]
fn m3_every_name_that_agy_uses_leads_to_a_row_of_what_ships() {
    let book = Book::new(shipped().table.clone(), []);
    let row = |id: &str, label: &str| {
        let some = |t: &str| (!t.is_empty()).then(|| t.to_owned());
        let m = Model { number: 1_016, id: some(id), label: some(label) };
        book.row(&m, None).map_or_else(|| "no price".to_owned(), |r| r.key.clone())
    };
    for (id, label, key) in [
        ("gemini-pro-default", "", "gemini-3.1-pro-preview"),
        ("", "Gemini 3.1 Pro (High)", "gemini-3.1-pro-preview"),
        ("", "Gemini 3.5 Flash (Low)", "gemini-3.5-flash"),
        ("", "Claude Sonnet 4.6 (Thinking)", "vertex_ai/claude-sonnet-4-6"),
        ("claude-opus-4-6-thinking", "", "vertex_ai/claude-opus-4-6"),
        ("", "GPT-OSS 120B (Medium)", "vertex_ai/openai/gpt-oss-120b-maas"),
        ("gemini-3-flash-agent", "", "gemini-3.5-flash"),
        ("gemini-3-flash-c", "", "gemini-3-flash-preview"),
        ("gemini-3.6-flash-high", "", "gemini-3.6-flash"),
        ("gemini-3.7-flash", "", "gemini-3.7-flash"),
        ("gemini-3.8-flash-medium", "", "gemini-3.8-flash"),
        ("gemini-exp-1114", "", "no price"),
        ("", "", "no price"),
    ] {
        assert_eq!(row(id, label), key, "{id} {label}");
    }
}

#[test]
fn m4_the_sample_costs_what_its_row_says() {
    let book = Book::new(shipped().table.clone(), []);
    let m = Model { number: 1_016, id: None, label: Some("Gemini 3.1 Pro (High)".to_owned()) };
    let t = Tokens { input: 14_392, output: 846, cache_read: 40_697, cache_write: 0, thinking: 843 };
    let (cost, row) = book.cost(&m, None, &t).unwrap();
    assert_eq!((cost.usd.to_string().as_str(), row.key.as_str()), ("0.0470754", "gemini-3.1-pro-preview"));
}

/// Rows as LiteLLM writes them: every tempting one, digits of every kind, and rows that are none.
const EXTRACT: &str = r#"{
    "gemini-3.8-flash": {"litellm_provider": "vertex_ai-language-models", "mode": "chat",
        "input_cost_per_token": 7.5e-07, "output_cost_per_token": 0.00000375, "cache_read_input_token_cost": 7.5E-8,
        "input_cost_per_token_priority": 9, "input_cost_per_token_batches": 1e-9},
    "vertex_ai/gemini-3.8-flash": {"litellm_provider": "vertex_ai", "mode": "chat",
        "input_cost_per_token": 8e-07, "output_cost_per_token": 4e-06},
    "gemini-3.8-flash-lite": {"litellm_provider": "vertex_ai-language-models", "mode": "chat",
        "input_cost_per_token": 1e-07, "output_cost_per_token": 4e-07},
    "vertex_ai/gemini-3.8-flash-cyber": {"litellm_provider": "vertex_ai", "mode": "chat",
        "input_cost_per_token": 1.5e-06, "output_cost_per_token": 7.5e-06},
    "gemini-3.8-flash-image": {"litellm_provider": "vertex_ai-language-models", "mode": "image_generation",
        "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-05},
    "gemini/gemini-3.8-flash-tts": {"litellm_provider": "gemini", "mode": "audio_speech",
        "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-05},
    "gemini/gemini-exp-1114": {"litellm_provider": "gemini", "mode": "chat",
        "input_cost_per_token": 0, "output_cost_per_token": 0.0},
    "gemini-3.1-pro-preview": {"litellm_provider": "vertex_ai-language-models", "mode": "chat",
        "input_cost_per_token": 2e-06, "output_cost_per_token": 1.2e-05, "cache_read_input_token_cost": 2e-07,
        "cache_creation_input_token_cost_above_200k_tokens": 2.5e-07, "input_cost_per_token_above_200k_tokens": 4e-06,
        "input_cost_per_token_above_200k_tokens_priority": 7.2e-06, "output_cost_per_token_above_200k_tokens": 1.8e-05,
        "cache_read_input_token_cost_above_200k_tokens": 4e-07},
    "vertex_ai/claude-opus-4-6": {"litellm_provider": "vertex_ai-anthropic_models", "mode": "chat",
        "input_cost_per_token": 5e-06, "output_cost_per_token": 2.5e-05, "cache_creation_input_token_cost": 6.25e-06,
        "cache_creation_input_token_cost_above_1hr": 1e-05, "cache_read_input_token_cost": null},
    "kyma/gemini-3.8-flash": {"litellm_provider": "kyma", "mode": "chat",
        "input_cost_per_token": 1e-08, "output_cost_per_token": 1e-08},
    "databricks/databricks-gemini-3-8-flash": {"litellm_provider": "databricks", "mode": "chat",
        "input_cost_per_token": 1e-08, "output_cost_per_token": 1e-08},
    "gemini-3.9-flash": {"mode": "chat", "input_cost_per_token": 1e-08, "output_cost_per_token": 1e-08},
    "gemini-odd-bound": {"litellm_provider": "gemini", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06,
        "input_cost_per_token_above_150k_tokens": 2e-06},
    "gemini-too-fine": {"litellm_provider": "gemini", "input_cost_per_token": 1.2000000000000001e-07,
        "output_cost_per_token": 1e-06},
    "gemini-in-words": {"litellm_provider": "gemini", "input_cost_per_token": "cheap", "output_cost_per_token": 1e-06},
    "gemini-negative": {"litellm_provider": "gemini", "input_cost_per_token": -1e-06, "output_cost_per_token": 1e-06},
    "gemini-a-list": [1, 2, 3],
    "sample_spec": {"litellm_provider": "one of a list", "input_cost_per_token": 0.0}
}"#;

#[test]
fn m2_m6_litellms_rows_are_taken_digit_by_digit_or_refused() {
    let found = litellm::sift(EXTRACT).unwrap();
    let keys: Vec<&str> = found.rows.iter().map(|r| r.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "gemini-3.1-pro-preview",
            "gemini-3.8-flash",
            "gemini-3.8-flash-lite",
            "vertex_ai/claude-opus-4-6",
            "vertex_ai/gemini-3.8-flash",
            "vertex_ai/gemini-3.8-flash-cyber"
        ]
    );
    let refused = |label: &str, why| found.refused.get(&(label.to_owned(), why)).copied().unwrap_or(0);
    assert_eq!((refused("kyma", Refused::Label), refused("databricks", Refused::Label)), (1, 1));
    assert_eq!((refused("gemini", Refused::NoRate), refused("gemini", Refused::Bound)), (1, 1));
    assert_eq!((refused("gemini", Refused::Unreadable), refused("gemini", Refused::Mode)), (3, 1));
    assert_eq!(refused("", Refused::Label), 2);
    let file = PriceFile::new("LiteLLM", "2026-11-30", &found.rows, &PriceTable::new(found.rows.clone()));
    let row = |key: &str| serde_json::to_value(&file.rows[key]).unwrap();
    assert_eq!(
        row("gemini-3.8-flash"),
        serde_json::json!({"label": "vertex_ai-language-models", "input": "0.75", "cache_read": "0.075", "output": "3.75"})
    );
    assert_eq!(
        row("gemini-3.1-pro-preview")["above"],
        serde_json::json!({"200000": {"input": "4", "cache_read": "0.4", "cache_write": "0.25", "output": "18"}})
    );
    assert_eq!(row("vertex_ai/claude-opus-4-6")["cache_write"], "6.25");
    assert!(row("vertex_ai/claude-opus-4-6")["cache_read"].is_null());
    // As written, so read.
    assert_eq!(PriceFile::parse(&file.to_json()).unwrap(), file);
    assert_eq!(file.table(), PriceTable::new(found.rows));
}

#[test]
fn m1_what_is_no_price_table_is_said_in_plain_words() {
    let said = |bad: &str| litellm::sift(bad).unwrap_err().to_string();
    assert_eq!(said(" \n"), "it is empty");
    assert_eq!(said("[]"), "it is no JSON object, `{…}`");
    assert_eq!(said("null"), "it is no JSON object, `{…}`");
    assert_eq!(said("\"prices\""), "it is no JSON object, `{…}`");
    assert_eq!(said("<html></html>"), "it is no JSON from line 1, column 1 on");
    assert_eq!(said("{\"a\": 1}\n}"), "it is no JSON from line 2, column 1 on");
    assert_eq!(said("{\"a\": "), "it is JSON that ends too early, in line 1");
    // The file of a sync; what a row may not be is said elsewhere.
    let said = |bad: &str| PriceFile::parse(bad).unwrap_err().to_string();
    let text = |schema: &str, label: &str| {
        format!(
            "{{\"schema\": {schema}, \"source\": \"x\", \"licence\": \"\", \"date\": \"2026-11-30\", \"unit\": \"x\",\n \
             \"rows\": {{\"gemini-x\": {{\"label\": {label}, \"input\": \"1\", \"output\": \"1\"}}}}}}"
        )
    };
    assert_eq!(said(""), "it is empty");
    assert_eq!(said("{\"schema\": 1,\n \"so"), "it is JSON that ends too early, in line 2");
    assert_eq!(said("{}"), "it is not as AgentHub writes it, at line 1, column 2");
    assert_eq!(said("7"), "it is no JSON object, `{…}`");
    let bad = said(&text("1", "7"));
    assert!(bad.starts_with("it is not as AgentHub writes it, at line 2, column "), "{bad}");
    let bad = said(&text("\"one\"", "\"gemini\""));
    assert!(bad.starts_with("it is not as AgentHub writes it, at line 1, column "), "{bad}");
    // What somebody finds who opened the file and saved it.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("prices.json");
    std::fs::write(&path, b"{\"rows\": \"\xff\"}").unwrap();
    let problem = Prices::load(&path).problem.unwrap();
    assert!(problem.contains("it is not UTF-8 text. Sync again"), "{problem}");
    std::fs::write(&path, "{\"rows\": }").unwrap();
    let problem = Prices::load(&path).problem.unwrap();
    assert!(problem.contains("it is no JSON from line 1, column 10 on. Sync again"), "{problem}");
}

#[test]
fn m2_a_file_with_a_row_that_must_not_be_used_is_no_price_table() {
    let text = |key: &str, label: &str, input: &str| {
        format!(
            r#"{{"schema": 1, "source": "x", "licence": "", "date": "2026-11-30", "unit": "USD for a million tokens",
                "rows": {{"{key}": {{"label": "{label}", "input": "{input}", "output": "1"}}}}}}"#
        )
    };
    assert!(PriceFile::parse(&text("gemini-x", "gemini", "1")).is_ok());
    for bad in [
        text("kyma/gemini-x", "kyma", "1"),
        text("gemini-x", "gemini", "much"),
        text("gemini-x", "gemini", "-1"),
        text("gemini-x", "gemini", "1").replace("\"schema\": 1", "\"schema\": 2"),
        text("gemini-x", "gemini", "1").replace("million", "thousand"),
        "{}".to_owned(),
        "null".to_owned(),
        String::new(),
    ] {
        assert!(PriceFile::parse(&bad).is_err(), "{bad}");
    }
}

#[test]
fn m6_a_cost_is_rounded_only_for_show() {
    for (exact, unpriced, text) in [
        (None, 0, "no price"),
        (None, 5, "no price"),
        (Some("0"), 0, "$0"),
        (Some("0.0470754"), 0, "$0.0471"),
        (Some("0.0470754"), 1, "≥ $0.0471"),
        (Some("0.00005"), 0, "$0.0001"),
        (Some("0.000049"), 0, "< $0.0001"),
        (Some("0.000049"), 1, "≥ $0.000049"),
        (Some("0.99995"), 0, "$1.0000"),
        (Some("1"), 0, "$1.00"),
        (Some("12.345"), 0, "$12.35"),
        (Some("999.999"), 0, "$1,000.00"),
        (Some("1234567.005"), 0, "$1,234,567.01"),
    ] {
        assert_eq!(shown(exact, unpriced), text);
    }
}

#[test]
fn m5_what_a_program_update_brings_holds_from_the_day_of_its_table() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("prices.json");
    assert!(!Prices::load(&path).synced);
    // A sync from before the table that ships: other prices for two models, one that only it knows.
    let mut file = (*shipped().file).clone();
    file.date = "2026-01-05".to_owned();
    file.synced_at = Some("2026-01-05T10:00:00Z".to_owned());
    for key in ["gemini-3.8-flash", "vertex_ai/gemini-3.8-flash", "gemini/gemini-3.8-flash"] {
        file.rows.get_mut(key).unwrap().rates.input = Some("0.5".to_owned());
    }
    let only_there = file.rows["gemini-3.7-flash"].clone();
    file.rows.insert("gemini-once".to_owned(), only_there);
    std::fs::write(&path, file.to_json()).unwrap();
    let now = Prices::load(&path);
    assert!(!now.synced && now.problem.is_none());
    let prices = now.table.model("gemini-3.8-flash").unwrap();
    let input = |at: &str| {
        let at = start_of(at.parse().unwrap(), &TimeZone::UTC).unwrap();
        price_at(prices, Some(at)).unwrap().row.rates.input.unwrap().per_million()
    };
    assert_eq!((input("2026-02-01").as_str(), input(&shipped().file.date).as_str()), ("0.5", "0.75"));
    assert!(now.table.model("gemini-once").is_some());
    assert_eq!(now.table.model("gemini-3.7-flash").unwrap().len(), 1, "the same price has no history");
    // From after it: it is what holds.
    file.date = "9999-01-01".to_owned();
    std::fs::write(&path, file.to_json()).unwrap();
    let now = Prices::load(&path);
    assert!(now.synced);
    assert_eq!(now.table.model("gemini-3.8-flash").unwrap().len(), 1);
    // Damaged: what ships, and why.
    for bad in ["", "{", "[]", "{\"schema\": 7}"] {
        std::fs::write(&path, bad).unwrap();
        let now = Prices::load(&path);
        assert_eq!(now.table, shipped().table);
        assert!(now.problem.unwrap().contains("prices.json"), "{bad}");
    }
}

#[test]
fn u29_what_the_person_set_is_read_anew_and_only_when_it_changed() {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::make(dir.path()).unwrap();
    let shelf = Shelf::new(&places);
    let m = Model { number: 0, id: Some("gemini-3-flash-next".to_owned()), label: None };
    let t = Tokens { input: 2_000_000, ..Tokens::default() };
    let cost = || shelf.now().unwrap().book.cost(&m, None, &t).map(|(c, _)| c.usd.to_string());
    assert_eq!(cost(), None);
    assert!(!places.person().exists(), "looking makes no file");
    let persons = store::PersonStore::open(&places.person(), Time::default()).unwrap();
    assert_eq!(cost(), None);
    let own = store::OwnPrice { model: "gemini-3-flash-next".to_owned(), ..store::OwnPrice::default() };
    let rates = store::OwnPrice { input: Some("0.25".to_owned()), ..own.clone() };
    persons.set_price(&rates, Time::default()).unwrap();
    assert_eq!(cost().as_deref(), Some("0.5"));
    let alias = store::OwnPrice { alias: Some("gemini-3.8-flash".to_owned()), ..own };
    persons.set_price(&alias, Time::default()).unwrap();
    assert_eq!(cost().as_deref(), Some("1.5"));
    let (one, two) = (shelf.now().unwrap().book, shelf.now().unwrap().book);
    assert!(Arc::ptr_eq(&one, &two));
    assert!(persons.clear_price("gemini-3-flash-next").unwrap());
    assert!(!persons.clear_price("gemini-3-flash-next").unwrap());
    assert_eq!(cost(), None);
    assert_eq!(Usd::ZERO.to_string(), "0");
}
