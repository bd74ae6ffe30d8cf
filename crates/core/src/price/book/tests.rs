//! Which row is chosen, over an extract that holds every tempting one.

use super::*;
use crate::price::{LongPrompts, Rate, Refused};

/// Key, label, input and output for a million tokens, as LiteLLM's file would have them. Each model's own price differs
/// from its siblings' and resellers', so that a wrong choice shows.
const EXTRACT: &[(&str, &str, &str, &str)] = &[
    ("gemini-3.8-flash", "vertex_ai-language-models", "0.75", "3.75"),
    ("vertex_ai/gemini-3.8-flash", "vertex_ai", "0.76", "3.76"),
    ("gemini/gemini-3.8-flash", "gemini", "0.77", "3.77"),
    ("gemini-3.8-flash-lite", "vertex_ai-language-models", "0.1", "0.4"),
    ("vertex_ai/gemini-3.8-flash-cyber", "vertex_ai", "1.5", "7.5"),
    ("gemini-3.8-flash-image", "vertex_ai-language-models", "9", "90"),
    ("gemini/gemini-3.8-flash-tts", "gemini", "0.5", "9"),
    ("gemini-3.8-flash-high-image", "vertex_ai-language-models", "9", "91"),
    ("vertex_ai/gemini-3.7-flash", "vertex_ai", "0.71", "3.71"),
    ("gemini/gemini-3.7-flash", "gemini", "0.72", "3.72"),
    ("gemini/gemini-3.6-flash", "gemini", "0.6", "3.6"),
    ("gemini-3.5-flash", "vertex_ai-language-models", "1.5", "9"),
    ("gemini-3.5-flash-lite", "vertex_ai-language-models", "0.3", "2.5"),
    ("vertex_ai/gemini-3-flash-preview", "vertex_ai", "0.5", "3"),
    ("gemini-3.1-pro-preview", "vertex_ai-language-models", "2", "12"),
    ("gemini-3.1-pro-preview-customtools", "vertex_ai-language-models", "3", "13"),
    ("gemini-2.5-flash", "vertex_ai-language-models", "0.3", "2.5"),
    ("gemini-2.5-flash-lite", "vertex_ai-language-models", "0.1", "0.4"),
    ("gemini/gemini-exp-1114", "gemini", "0", "0"),
    ("gemini/gemini-exp-1206", "gemini", "0", "0"),
    ("vertex_ai/claude-opus-4-6", "vertex_ai-anthropic_models", "5", "25"),
    ("vertex_ai/claude-sonnet-4-6", "vertex_ai-anthropic_models", "3", "15"),
    ("claude-opus-4-6", "anthropic", "4", "24"),
    ("vertex_ai/openai/gpt-oss-120b-maas", "vertex_ai-openai_models", "0.09", "0.36"),
    ("vertex_ai/openai/gpt-oss-20b-maas", "vertex_ai-openai_models", "0.07", "0.25"),
    ("kyma/gemini-3.8-flash", "kyma", "0.01", "0.02"),
    ("kyma/gemini-pro-default", "kyma", "0.01", "0.02"),
    ("databricks/databricks-gemini-3-8-flash", "databricks", "0.01", "0.02"),
    ("openrouter/google/gemini-3.8-flash", "openrouter", "0.01", "0.02"),
    ("gpt-oss-120b", "cerebras", "0.01", "0.02"),
    ("gemini-pro-default", "github_copilot", "0.01", "0.02"),
    ("vertex_ai/xai/grok-4.7", "vertex_ai", "0.01", "0.02"),
];

fn rates(input: &str, output: &str) -> Rates {
    let rate = |t| Rate::parse_per_million(t).ok();
    Rates { input: rate(input), output: rate(output), ..Rates::default() }
}

fn table() -> PriceTable {
    let rows = EXTRACT.iter().map(|(key, label, i, o)| Row::new(key, label, rates(i, o), Vec::new()));
    PriceTable::new(rows.filter_map(Result::ok))
}

fn model(number: i32, id: &str, label: &str) -> Model {
    let some = |t: &str| (!t.is_empty()).then(|| t.to_owned());
    Model { number, id: some(id), label: some(label) }
}

fn row_of(book: &Book, m: &Model) -> String {
    book.row(m, None).map_or_else(|| "no price".to_owned(), |r| r.key.clone())
}

#[test]
fn m2_m3_each_model_gets_its_own_row_or_none() {
    let book = Book::new(table(), []);
    for (id, label, row) in [
        // Exact, and of several rows the bare key, then `vertex_ai/`, then `gemini/`.
        ("gemini-3.8-flash", "", "gemini-3.8-flash"),
        ("gemini-3.7-flash", "", "vertex_ai/gemini-3.7-flash"),
        ("gemini-3.6-flash", "", "gemini/gemini-3.6-flash"),
        ("gemini-3.8-flash-lite", "", "gemini-3.8-flash-lite"),
        ("gemini-3.8-flash-cyber", "", "vertex_ai/gemini-3.8-flash-cyber"),
        // agy's routes and labels; the label decides over the route.
        ("gemini-pro-default", "Gemini 3.1 Pro (High)", "gemini-3.1-pro-preview"),
        ("gemini-pro-default", "", "gemini-3.1-pro-preview"),
        ("gemini-pro-agent", "", "gemini-3.1-pro-preview"),
        ("gemini-3.1-pro-high", "", "gemini-3.1-pro-preview"),
        ("gemini-3-flash-a", "", "gemini-3.5-flash"),
        ("gemini-3-flash-agent", "", "gemini-3.5-flash"),
        ("gemini-3-flash-a", "Gemini 3 Flash", "vertex_ai/gemini-3-flash-preview"),
        ("gemini-3-flash-c", "", "vertex_ai/gemini-3-flash-preview"),
        ("", "Gemini 3.5 Flash (Medium)", "gemini-3.5-flash"),
        ("", "Claude Sonnet 4.6 (Thinking)", "vertex_ai/claude-sonnet-4-6"),
        ("", "GPT-OSS 120B (Medium)", "vertex_ai/openai/gpt-oss-120b-maas"),
        // The id without its effort.
        ("gemini-3.8-flash-high", "", "gemini-3.8-flash"),
        ("gemini-3.8-flash-medium", "", "gemini-3.8-flash"),
        ("gemini-3.8-flash-low", "", "gemini-3.8-flash"),
        ("gemini-3.8-flash-tiered", "", "gemini-3.8-flash"),
        ("gemini-3.5-flash-lite-high", "", "gemini-3.5-flash-lite"),
        ("claude-opus-4-6-thinking", "", "vertex_ai/claude-opus-4-6"),
        ("gpt-oss-120b-medium", "", "vertex_ai/openai/gpt-oss-120b-maas"),
        // Nothing is guessed.
        ("gemini-3.7-flash-lite", "", "no price"),
        ("gemini-3.6-flash-cyber", "", "no price"),
        ("gemini-3.8-flash-8b", "", "no price"),
        ("gemini-3.8", "", "no price"),
        ("gemini-3.9-flash", "", "no price"),
        ("GEMINI-3.8-FLASH", "", "no price"),
        ("gemini-exp-1114", "", "no price"),
        ("gemini-exp-1206", "", "no price"),
        ("kyma/gemini-3.8-flash", "", "no price"),
        ("databricks-gemini-3-8-flash", "", "no price"),
        ("grok-4.7", "", "no price"),
        ("xai/grok-4.7", "", "no price"),
        ("claude-opus-4-9", "", "no price"),
        ("model_placeholder_m318", "", "no price"),
        ("", "Gemini 3.8 Flash-Lite (High)", "no price"),
        ("", "Gemini", "no price"),
        ("", "", "no price"),
    ] {
        assert_eq!(row_of(&book, &model(1_318, id, label)), row, "{id} {label}");
    }
    // A number alone is no name: Google may point it at another model tomorrow.
    for number in [1_050, 1_016, 1_318, 342] {
        assert_eq!(row_of(&book, &model(number, "", "")), "no price", "{number}");
    }
}

#[test]
fn m2_no_reseller_and_no_zero_is_in_the_table() {
    for (_, prices) in table().models() {
        for p in prices {
            assert!(crate::price::model_of(&p.row.key, &p.row.label).is_ok(), "{}", p.row.key);
            assert!(p.row.rates.input.is_some_and(|r| !r.is_zero()), "{}", p.row.key);
        }
    }
    let refused = |key: &str, label| Row::new(key, label, rates("1", "1"), Vec::new()).unwrap_err();
    assert_eq!(refused("kyma/gemini-3.8-flash", "kyma"), Refused::Label);
}

#[test]
fn m2_a_row_with_both_rates_comes_before_one_that_lacks_one() {
    let half = Row::new("gemini-x", "gemini", rates("", "3"), Vec::new()).unwrap();
    let whole = Row::new("gemini/gemini-x", "gemini", rates("1", "4"), Vec::new()).unwrap();
    for rows in [[half.clone(), whole.clone()], [whole.clone(), half.clone()]] {
        assert_eq!(PriceTable::new(rows).model("gemini-x").unwrap()[0].row, whole);
    }
    assert_eq!(PriceTable::new([half.clone()]).model("gemini-x").unwrap()[0].row, half);
}

#[test]
fn u28_a_row_of_the_exact_id_comes_before_the_one_without_effort() {
    let with = Row::new("gemini-3.8-flash-high", "gemini", rates("8", "9"), Vec::new()).unwrap();
    let rows = EXTRACT.iter().filter_map(|(k, l, i, o)| Row::new(k, l, rates(i, o), Vec::new()).ok());
    let book = Book::new(PriceTable::new(rows.chain([with])), []);
    assert_eq!(row_of(&book, &model(0, "gemini-3.8-flash-high", "")), "gemini-3.8-flash-high");
    assert_eq!(row_of(&book, &model(0, "gemini-3.8-flash-low", "")), "gemini-3.8-flash");
}

#[test]
fn m4_what_the_person_set_comes_first() {
    let own = |name: &str, own| (name.to_owned(), own);
    let book = Book::new(
        table(),
        [
            own("gemini-3.8-flash", Own::Rates(rates("1", "2"))),
            own("MODEL_PLACEHOLDER_M50", Own::Alias("gemini-2.5-flash-lite".to_owned())),
            own("gemini-3-flash-agent", Own::Alias("vertex_ai/gemini-3-flash-preview".to_owned())),
            own("gemini-y", Own::Alias("gemini-3.8-flash-high".to_owned())),
            own("gemini-z", Own::Alias("gone".to_owned())),
            own("gemini-3.6-flash", Own::Alias("gone".to_owned())),
        ],
    );
    for (number, id, label, row) in [
        (0, "gemini-3.8-flash", "", "own:gemini-3.8-flash"),
        (0, "gemini-3.8-flash-high", "", "own:gemini-3.8-flash"),
        (0, "", "Gemini 3.8 Flash (High)", "own:gemini-3.8-flash"),
        (1_050, "", "", "gemini-2.5-flash-lite"),
        (1_050, "", "Anything", "gemini-2.5-flash-lite"),
        (0, "gemini-3-flash-agent", "", "vertex_ai/gemini-3-flash-preview"),
        (0, "gemini-y", "", "own:gemini-3.8-flash"),
        // One that leads nowhere is no price, and not the price of something else.
        (0, "gemini-z", "", "no price"),
        (0, "gemini-3.6-flash", "", "no price"),
        (0, "gemini-3.7-flash", "", "vertex_ai/gemini-3.7-flash"),
    ] {
        assert_eq!(row_of(&book, &model(number, id, label)), row, "{number} {id} {label}");
    }
    // The person may say that a model is free.
    let free = Book::new(table(), [own("gemini-free", Own::Rates(rates("0", "0")))]);
    let t = Tokens { input: 5, output: 6, ..Tokens::default() };
    let (cost, _) = free.cost(&model(0, "gemini-free", ""), None, &t).unwrap();
    assert_eq!((cost.usd.to_string().as_str(), cost.unpriced_tokens), ("0", 0));
    assert_eq!(free.find(&model(0, "gemini-free", "")).unwrap().how, How::Own);
    // A circle of aliases ends.
    let circle =
        Book::new(table(), [own("a", Own::Alias("b".to_owned())), own("b", Own::Alias("a".to_owned()))]);
    assert_eq!(circle.find(&model(0, "a", "")), None);
}

#[test]
fn m3_what_is_set_for_a_placeholder_prices_only_calls_that_have_no_other_name() {
    for own in [Own::Rates(rates("100", "100")), Own::Alias("gemini-2.5-flash-lite".to_owned())] {
        let book = Book::new(table(), [("MODEL_PLACEHOLDER_M35".to_owned(), own)]);
        let named = model(1_035, "claude-opus-4-6", "Claude Opus 4.6 (Thinking)");
        assert_eq!(row_of(&book, &named), "vertex_ai/claude-opus-4-6");
        assert_eq!(book.own(&named), None);
        // Nor one whose name has no row: that is another model, whose price nobody told.
        assert_eq!(row_of(&book, &model(1_035, "claude-opus-9", "")), "no price");
        let nameless = row_of(&book, &model(1_035, "", ""));
        assert!(["own:MODEL_PLACEHOLDER_M35", "gemini-2.5-flash-lite"].contains(&nameless.as_str()));
    }
}

#[test]
fn m5_u33_older_calls_keep_their_rate() {
    let day = |n: i64| Time::of_slot(96 * n);
    let one = |i: &str, o: &str| {
        let long = vec![LongPrompts { above: 200_000, rates: rates(i, o) }];
        PriceTable::new([Row::new("gemini-3.8-flash", "vertex_ai", rates(i, o), long).unwrap()])
    };
    let t = one("1", "2").followed_by(&one("1", "2"), day(1)).followed_by(&one("0.5", "1"), day(5));
    let prices = t.model("gemini-3.8-flash").unwrap();
    assert_eq!(prices.iter().map(|p| p.since).collect::<Vec<_>>(), [None, Some(day(5))]);
    let input = |at| price_at(prices, at).unwrap().row.rates.input.unwrap().per_million();
    assert_eq!(input(None), "1");
    assert_eq!(input(Some(day(0))), "1");
    assert_eq!(input(Some(Time::of_slot(96 * 5 - 1))), "1");
    assert_eq!(input(Some(day(5))), "0.5");
    assert_eq!(input(Some(day(99))), "0.5");
    // Twice on one day: the last one counts; back to what held before: nothing changed.
    let twice = t.clone().followed_by(&one("0.7", "1"), day(5));
    assert_eq!(twice.model("gemini-3.8-flash").unwrap().len(), 2);
    assert_eq!(
        price_at(twice.model("gemini-3.8-flash").unwrap(), Some(day(6))).unwrap().row.rates,
        rates("0.7", "1")
    );
    let back = t.clone().followed_by(&one("1", "2"), day(5));
    assert_eq!(back, one("1", "2"));
    // Left out: it stays. New: from the beginning.
    let other = PriceTable::new([Row::new("gemini-new", "vertex_ai", rates("3", "4"), Vec::new()).unwrap()]);
    let both = t.clone().followed_by(&other, day(7));
    assert_eq!(both.model("gemini-3.8-flash"), t.model("gemini-3.8-flash"));
    assert_eq!(both.model("gemini-new").unwrap()[0].since, None);
}

#[test]
fn a_books_stamp_tells_whether_a_call_may_cost_otherwise() {
    let plain = Book::new(table(), []);
    assert_eq!(plain.stamp(), Book::new(table(), []).stamp());
    let own = Book::new(table(), [("gemini-x".to_owned(), Own::Rates(rates("1", "2")))]);
    assert_ne!(plain.stamp(), own.stamp());
    assert_ne!(
        own.stamp(),
        Book::new(table(), [("gemini-x".to_owned(), Own::Rates(rates("1", "3")))]).stamp()
    );
}
