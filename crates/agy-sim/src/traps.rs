//! One conversation per known difficulty, each with the right answer.

use anyhow::Result;
use serde_json::json;

use crate::call::{Call, Outcome, Quirk, ToolUse};
use crate::clock::At;
use crate::conversation::{Conversation, Ending, Turn, TurnEnd};
use crate::home::{Home, Layout};
use crate::recording::Recording;
use crate::rng::Rng;
use crate::trajectory::SubagentSpec;
use crate::truth::{Account, Problem};
use crate::usage::Tokens;
use crate::world::WORLD_END;
use crate::{bad_files, sidecars};

/// What was planted.
#[derive(Debug, Default)]
pub(crate) struct Planted {
    pub(crate) accounts: Vec<Account>,
    pub(crate) problems: Vec<Problem>,
}

struct Gardener<'a> {
    home: &'a Home,
    rng: &'a mut Rng,
    at: At,
    out: Planted,
}

pub(crate) fn plant(home: &Home, rng: &mut Rng) -> Result<Planted> {
    let start = At::micros(WORLD_END.as_micros() - 5 * 86_400_000_000);
    let mut g = Gardener { home, rng, at: start, out: Planted::default() };
    for layout in [Layout::V1_0, Layout::V1_2] {
        g.retries(layout)?;
        g.row_quirks(layout)?;
        g.forks(layout)?;
        g.rewinds(layout)?;
        g.background_calls(layout)?;
        g.ends(layout)?;
        g.wal_only(layout)?;
    }
    g.subagents()?;
    g.workspaces()?;
    g.names()?;
    bad_files::plant(home, g.rng, &mut g.out)?;
    Ok(g.out)
}

impl Gardener<'_> {
    fn conversation(&mut self, layout: Layout) -> Conversation {
        self.at = self.at.plus_ms(3_600_000);
        let id = self.rng.uuid();
        Conversation::new(&id).layout(layout).at(self.at).cwd("/home/user/src/traps")
    }

    fn call(&mut self, model: u32) -> Call {
        let prompt = self.rng.range(9_000..60_000);
        Call::model(model).with(Tokens::random(self.rng, prompt))
    }

    fn keep(&mut self, recording: &Recording) {
        self.out.accounts.push(recording.account());
    }

    fn write(&mut self, conversation: Conversation) -> Result<Recording> {
        let recording = conversation.write(self.home)?;
        self.keep(&recording);
        Ok(recording)
    }

    fn retries(&mut self, layout: Layout) -> Result<()> {
        let (one, two) = (Tokens::random(self.rng, 12_000), Tokens::random(self.rng, 13_000));
        let turn = Turn::prompt("A call with two failed attempts")
            .call(
                self.call(1016)
                    .failed_attempt(one)
                    .failed_attempt(two)
                    .tool("list_dir", json!({"DirectoryPath": "/"})),
            )
            .call(self.call(1016));
        let conversation = self.conversation(layout).turn(turn);
        self.write(conversation)?;
        Ok(())
    }

    fn row_quirks(&mut self, layout: Layout) -> Result<()> {
        for quirk in [
            Quirk::StepStreamed,
            Quirk::GenStreamed,
            Quirk::Split,
            Quirk::NoStepUsage,
            Quirk::NoGen,
            Quirk::NoUsage,
            Quirk::NoIds,
            Quirk::MessageIdOnly,
            Quirk::ProviderIdOnly,
            Quirk::AbsurdTime,
            Quirk::GarbageGen,
            Quirk::GarbageStep,
            Quirk::HugeGen,
            Quirk::Mismatch,
        ] {
            // The odd call stands between ordinary ones, and once more in a later turn.
            let mut first = Turn::prompt(&format!("Something about {quirk:?}"));
            first = first.call(self.call(1298).tool("list_dir", json!({"DirectoryPath": "/src"})));
            first = first.call(self.call(1298).quirk(quirk));
            let second = Turn::prompt("And again").call(self.call(1298).quirk(quirk)).call(self.call(1298));
            let conversation = self.conversation(layout).turn(first).turn(second);
            self.write(conversation)?;
        }
        let mut recording =
            self.conversation(layout).turn(Turn::prompt("An answer that a hook put in")).record()?;
        recording.injected_answer(self.at.plus_ms(60_000), "Put in by a hook.")?;
        let turn = Turn::prompt("A real one").call(self.call(1298));
        self.write(Conversation::go_on(recording).turn(turn))?;
        Ok(())
    }

    fn forks(&mut self, layout: Layout) -> Result<()> {
        let mut conversation = self.conversation(layout).title("The Origin of Forks");
        for i in 0..3 {
            let turn = Turn::prompt(&format!("Turn {i} of the origin"))
                .call(self.call(1016).tool("list_dir", json!({"DirectoryPath": "/src"})))
                .call(self.call(1016));
            conversation = conversation.turn(turn);
        }
        let origin = self.write(conversation)?;
        let hour = 3_600_000;
        // Blob times later than the origin's, earlier, and equal; at the end, in the middle, and a fork of a fork.
        let mut forks = Vec::new();
        for (i, (shift, at_step)) in
            [(hour, None), (-9 * hour, None), (0, Some(origin.next_step() / 2))].into_iter().enumerate()
        {
            let id = self.rng.uuid();
            let fork = origin.fork(&id, origin.blob.created.plus_ms(shift), at_step);
            let turn = Turn::prompt(&format!("First turn inside fork {i}")).call(self.call(1016));
            forks.push(self.write(Conversation::go_on(fork).turn(turn))?);
        }
        if let Some(second) = forks.get(1) {
            let id = self.rng.uuid();
            let fork = second.fork(&id, second.blob.created.plus_ms(-hour), None);
            let turn = Turn::prompt("A fork of a fork").call(self.call(1318));
            self.write(Conversation::go_on(fork).turn(turn))?;
        }
        self.fork_of_rewound(layout)
    }

    /// The origin went back after the fork: some calls are in the fork's file alone.
    fn fork_of_rewound(&mut self, layout: Layout) -> Result<()> {
        let first = Turn::prompt("A turn that stays").call(self.call(1016));
        let second = Turn::prompt("A turn that only the fork keeps").call(self.call(1016));
        let third = Turn::prompt("Another way").call(self.call(1016));
        let before = self.conversation(layout).turn(first).turn(second).record()?;
        let id = self.rng.uuid();
        let fork = before.fork(&id, self.at.plus_ms(600_000), None);
        self.write(Conversation::go_on(before).rewind(1).turn(third))?;
        self.write(Conversation::go_on(fork))?;
        Ok(())
    }

    fn rewinds(&mut self, layout: Layout) -> Result<()> {
        let mut conversation = self.conversation(layout);
        for i in 0..3 {
            conversation = conversation.turn(Turn::prompt(&format!("Turn {i}")).call(self.call(1132)));
        }
        conversation = conversation
            .rewind(1)
            .turn(Turn::prompt("Turn 1, told differently").call(self.call(1132)).call(self.call(1132)))
            .rewind(1)
            .turn(Turn::prompt("Turn 1, a third time").call(self.call(1132)));
        self.write(conversation)?;
        Ok(())
    }

    fn background_calls(&mut self, layout: Layout) -> Result<()> {
        let tokens = Tokens { input: 46, output: 5, ..Tokens::default() };
        let summary = Tokens { input: 4_100, output: 620, cache_read: 31_000, cache_write: 0, thinking: 140 };
        let conversation = self
            .conversation(layout)
            .title("Background Calls Only in Steps")
            .title_tokens(Some(tokens))
            .turn(Turn::prompt("First").call(Call::model(1016)))
            .compaction(summary);
        let turn = Turn::prompt("After the compaction").call(self.call(1016));
        self.write(conversation.turn(turn))?;
        Ok(())
    }

    fn ends(&mut self, layout: Layout) -> Result<()> {
        let error = TurnEnd::ApiError(429, "RESOURCE_EXHAUSTED: quota exceeded, try again later.".to_owned());
        let denied = ToolUse::new("run_command", json!({"CommandLine": "rm -rf build"}))
            .result("The user denied permission for this command.")
            .outcome(Outcome::Denied);
        let conversation = self
            .conversation(layout)
            .turn(Turn::prompt("Ends in an API error").call(self.call(1016)).end(error))
            .turn(Turn::prompt("Ends by Esc").call(self.call(1016)).end(TurnEnd::Esc))
            .turn(Turn::prompt("A denied tool").call(self.call(1016).tool_use(denied)).call(self.call(1016)))
            .turn(Turn::prompt("Never ended").call(self.call(1016)).end(TurnEnd::Open));
        self.write(conversation)?;
        Ok(())
    }

    fn wal_only(&mut self, layout: Layout) -> Result<()> {
        for ending in [Ending::WalLeft, Ending::Died] {
            let conversation = self
                .conversation(layout)
                .ending(ending)
                .turn(Turn::prompt("Checkpointed").call(self.call(1016)))
                .turn(Turn::prompt("Only in the -wal").call(self.call(1016)));
            self.write(conversation)?;
        }
        Ok(())
    }

    fn subagents(&mut self) -> Result<()> {
        for layout in [Layout::V1_0, Layout::V1_2] {
            let roles = ["Readme Reader", "Test Writer"];
            let ids: Vec<String> = roles.iter().map(|_| self.rng.uuid()).collect();
            let result = ids.iter().fold("Created the following subagents:".to_owned(), |text, id| {
                format!(
                    "{text}\n{}",
                    json!({"conversationId": id, "logAbsoluteUri": format!("file:///brain/{id}")})
                )
            });
            let specs: Vec<_> = roles
                .iter()
                .map(|role| json!({"TypeName": "research", "Role": role, "Prompt": "Look and report"}))
                .collect();
            let tool = ToolUse::new("invoke_subagent", json!({"Subagents": specs})).result(&result);
            let turn = Turn::prompt("Have two others look")
                .call(self.call(1016).tool_use(tool))
                .call(self.call(1016));
            let conversation = self.conversation(layout).turn(turn);
            let parent = self.write(conversation)?;
            let spawn = parent.steps.iter().position(|step| step.tool().is_some()).unwrap_or(0) as u32;
            let mut last = parent.clone();
            for (id, role) in ids.iter().zip(roles) {
                last = self.child(&parent, id, role, spawn)?;
            }
            // And one of the second level.
            let id = self.rng.uuid();
            self.child(&last, &id, "Helper of a Helper", 2)?;
        }
        Ok(())
    }

    fn child(&mut self, parent: &Recording, id: &str, role: &str, spawn: u32) -> Result<Recording> {
        let spec = SubagentSpec {
            type_name: "research".to_owned(),
            role: role.to_owned(),
            prompt: format!("Look and report, {role}"),
        };
        let at = parent.blob.created.plus_ms(9_000);
        let turn = Turn::prompt(&spec.prompt).call(self.call(1298));
        let conversation = Conversation::subagent_of(parent, id, at, spawn, spec);
        self.write(conversation.turn(turn))
    }

    fn workspaces(&mut self) -> Result<()> {
        for folder in [
            "/home/user/My Project #1 (50% done)",
            "/home/user/источник/日本語 プロジェクト",
            "/home/user/ספריית-תשלומים",
        ] {
            self.at = self.at.plus_ms(3_600_000);
            let id = self.rng.uuid();
            let turn = Turn::prompt("Where am I?").call(self.call(1016));
            self.write(Conversation::new(&id).at(self.at).cwd(folder).cwd("/home/user/second").turn(turn))?;
        }
        // Without a workspace: nothing, a command's folder, and agy's own scratch folder, which is none.
        for (cwd, found) in [
            (None, None),
            (Some("/home/user/src/found-by-cwd"), Some("/home/user/src/found-by-cwd")),
            (Some("/home/user/.gemini/antigravity-cli/scratch"), None),
        ] {
            self.at = self.at.plus_ms(3_600_000);
            let id = self.rng.uuid();
            let mut call = self.call(1016);
            if let Some(cwd) = cwd {
                call = call.tool("run_command", json!({"CommandLine": "pwd", "Cwd": cwd}));
            }
            let turn = Turn::prompt("No workspace here").call(call).call(self.call(1016));
            let mut recording =
                Conversation::new(&id).at(self.at).layout(Layout::V1_0).turn(turn).record()?;
            recording.folder_elsewhere = found.map(str::to_owned);
            self.write(Conversation::go_on(recording))?;
        }
        // And a folder that only history.jsonl knows.
        self.at = self.at.plus_ms(3_600_000);
        let (id, folder) = (self.rng.uuid(), "/home/user/src/found-in-history");
        let turn = Turn::prompt("History knows where").call(self.call(1016));
        let mut recording = Conversation::new(&id).at(self.at).turn(turn).record()?;
        recording.folder_elsewhere = Some(folder.to_owned());
        sidecars::append_history(self.home, self.at, "History knows where", Some(folder), Some(&id))?;
        self.write(Conversation::go_on(recording))?;
        Ok(())
    }

    fn names(&mut self) -> Result<()> {
        let long = "Überprüfe bitte, ob die Zeilen der Abrechnung auch dann stimmen, wenn zwei Läufe am selben Tag stattfinden.";
        for (prompt, title) in [
            (long, None),
            ("First line of two\nsecond line", None),
            ("A prompt that a title beats", Some("Title with \"quotes\" and \\ backslash")),
        ] {
            let mut conversation = self.conversation(Layout::V1_2);
            if let Some(title) = title {
                conversation = conversation.title(title);
            }
            let turn = Turn::prompt(prompt).call(self.call(1016));
            let recording = self.write(conversation.turn(turn))?;
            // agy's own index is never complete: these three are in it, and no other.
            sidecars::write_summaries(self.home, std::iter::once(&recording))?;
            sidecars::append_history(
                self.home,
                self.at,
                prompt,
                Some("/home/user/src/traps"),
                Some(&recording.id),
            )?;
        }
        Ok(())
    }
}
