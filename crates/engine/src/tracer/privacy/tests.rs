//! Planted secrets must not come through.

use agenthub_core::{
    CallKind, Model, SessionId, Time,
    trace::{Agent, Extent, Provider, SpanIds, StepKey, TraceId},
};
use proptest::prelude::*;

use super::*;

fn privacy(content: Content) -> Privacy {
    Privacy::new(content, Some("/home/ann".into()))
}

fn all_on() -> Content {
    Content {
        prompts: true,
        answers: true,
        thinking: true,
        arguments: true,
        results: true,
        longest: Content::LONGEST,
    }
}

/// What people leave lying about, in the shapes in which it comes. Put together at run time, for scanners of repositories
/// would rightly complain of them.
fn planted() -> Vec<String> {
    let x = |n: usize| "aB3dE6gH9kL2mN5pQ8sT1vW4yZ7cF0".chars().cycle().take(n).collect::<String>();
    vec![
        format!("AIza{}", x(35)),
        format!("sk-{}", x(48)),
        format!("sk-ant-api03-{}", x(60)),
        format!("sk_live_{}", x(24)),
        format!("sk-lf-{}", x(32)),
        format!("ghp_{}", x(36)),
        format!("github_pat_{}", x(60)),
        format!("glpat-{}", x(20)),
        format!("xoxb-{}", x(40)),
        format!("AKIA{}", "ABCD2345EFGH6789"),
        format!("ya29.{}", x(60)),
        format!("GOCSPX-{}", x(28)),
        format!("hf_{}", x(34)),
        format!("npm_{}", x(36)),
        format!("eyJ{}.eyJ{}.{}", x(30), x(40), x(43)),
        format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n-----END RSA PRIVATE KEY-----", x(64), x(64)),
    ]
}

#[test]
fn r10_planted_secrets_do_not_come_through() {
    let p = privacy(all_on());
    for secret in planted() {
        for around in
            ["{}", "key={} rest", "a \"{}\" b", "curl -H 'x-api-key: {}' https://x", "({})", "é{}é ünï"]
        {
            // Word boundaries: a letter before would make it another word.
            let text = around.replace("{}", &secret).replace('é', " é ");
            let out = p.redacted(&text);
            let core: String = secret.chars().skip(secret.len() / 2).take(12).collect();
            assert!(!out.contains(&secret) && !out.contains(&core), "{text} → {out}");
        }
    }
}

#[test]
fn r10_values_of_telling_names_do_not_come_through() {
    let p = privacy(all_on());
    for text in [
        "API_KEY=hunter2hunter2",
        "export DB_PASSWORD='hunter2hunter2'",
        "{\"password\": \"hunter2hunter2\"}",
        "{\\\"token\\\":\\\"hunter2hunter2\\\"}",
        "Authorization: Bearer hunter2hunter2",
        "authorization: Basic hunter2hunter2",
        "postgres://ann:hunter2hunter2@db.example.com/x",
        "https://user:hunter2hunter2@host/path",
        "mysql --password hunter2hunter2",
        "tool --token=hunter2hunter2",
        "client_secret: hunter2hunter2",
        "AWS_SECRET_ACCESS_KEY => hunter2hunter2",
    ] {
        let out = p.redacted(text);
        assert!(!out.contains("hunter2"), "{text} → {out}");
        assert!(out.contains('['), "{out}");
    }
}

#[test]
fn r10_addresses_and_home_folders_do_not_come_through() {
    let p = privacy(all_on());
    for (text, expected) in [
        ("write to ann.b+c@mail.example.co.uk now", "write to [e-mail] now"),
        ("cat /home/ann/src/x.rs", "cat ~/src/x.rs"),
        ("cd /home/ann", "cd ~"),
        ("/home/bob/x and /Users/carol/y", "~/x and ~/y"),
        (r"C:\Users\Dora\x and c:\\users\\dora\\y", r"~\x and ~\\y"),
        ("/homes/x stays, so does /home alone", "/homes/x stays, so does /home alone"),
    ] {
        assert_eq!(p.redacted(text), expected);
    }
    let odd = Privacy::new(all_on(), Some("/srv/people/ann".into()));
    assert_eq!(odd.redacted("/srv/people/ann/x /srv/people/anna/x"), "~/x /srv/people/anna/x");
}

#[test]
fn r10_ordinary_text_stays_as_it_is() {
    let p = privacy(all_on());
    for text in [
        "",
        "cargo test -p agenthub-core --lib trace",
        "let tokens = usage.total(); // input_tokens: 2093",
        "The author is unknown. See https://example.com/docs?page=2#top",
        "{\"CommandLine\":\"ls -la\",\"Cwd\":\"/w\"}",
        "git commit -m 'Fix: it'",
        "a@b is no address, nor is @someone",
        "5f2a9c1e-4643-45db-85df-8abd89b51b1b sha256:abcdef0123456789",
    ] {
        assert_eq!(p.redacted(text), text);
    }
}

fn trace(word: &str) -> Trace {
    let conversation = SessionId::parse("18ee78b4-4643-45db-85df-8abd89b51b1b").unwrap();
    let key = StepKey { step: 0, second: 0 };
    let ids = SpanIds { conversation: &conversation, turn: key };
    let extent = Extent::new(Time::from_micros(0), Time::from_micros(1), false);
    let text = || Some(word.to_owned());
    let failure = || Some(Failure { kind: "error".into(), words: text() });
    let tool = |turns| ToolSpan {
        id: ids.tool(key),
        extent,
        name: "run_command".into(),
        call_id: None,
        arguments: text(),
        result: text(),
        failure: failure(),
        turns,
    };
    let turn = |turns| TurnSpan {
        id: ids.turn(),
        extent,
        conversation: conversation.clone(),
        execution: None,
        agent: Agent::default(),
        model: None,
        provider: Provider::default(),
        finish_reason: None,
        failure: failure(),
        incomplete: false,
        from_transcript: false,
        prompt: text(),
        answer: text(),
        calls: vec![CallSpan {
            id: ids.answer(key),
            extent,
            kind: CallKind::Turn,
            model: Model::default(),
            request_model: None,
            provider: Provider::default(),
            response_id: None,
            finish_reason: None,
            failure: failure(),
            tokens: None,
            cost: None,
            input: text(),
            output: text(),
            thinking: text(),
            tools: vec![tool(turns)],
        }],
        tools: vec![tool(Vec::new())],
    };
    Trace {
        id: TraceId::of(&conversation, &key),
        surface: "antigravity-cli".into(),
        user: None,
        turn: turn(vec![turn(Vec::new())]),
    }
}

#[test]
fn r10_nothing_that_was_written_leaves_unless_its_switch_is_on() {
    let applied = |content: Content| {
        let mut t = trace("PLANTED");
        privacy(content).apply(&mut t);
        format!("{t:?}")
    };
    assert!(!applied(Content::default()).contains("PLANTED"), "all off by default");
    let off = Content::default();
    // Prompt and input of two turns; answer, output and four error texts; …
    for (content, n) in [
        (Content { prompts: true, ..off.clone() }, 4),
        (Content { answers: true, ..off.clone() }, 8),
        (Content { thinking: true, ..off.clone() }, 2),
        (Content { arguments: true, ..off.clone() }, 4),
        (Content { results: true, ..off }, 8),
    ] {
        assert_eq!(applied(content.clone()).matches("PLANTED").count(), n, "{content:?}");
    }
}

#[test]
fn r10_texts_are_cut_after_they_were_cleaned() {
    let secret = planted().remove(0);
    let p = privacy(Content { longest: 20, ..all_on() });
    let mut text = Some(format!("0123456789 {secret}"));
    p.text(&mut text, true);
    assert_eq!(text.as_deref(), Some("0123456789 [key]"));
    let mut long = Some("é".repeat(30));
    p.text(&mut long, true);
    assert_eq!(long.unwrap(), format!("{}…", "é".repeat(20)));
}

proptest! {
    #[test]
    fn q01_any_text_is_cleaned_without_a_panic_and_cleaning_again_changes_nothing_secret(text in "\\PC{0,300}") {
        let p = privacy(all_on());
        let once = p.redacted(&text);
        let _ = p.redacted(&once);
    }
}
