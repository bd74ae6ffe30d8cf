//! The heavy part of the newest generator row: prompt, tools, plan configuration, token breakdown. Only its size and its
//! fields matter, so it is made once and copied.

use std::sync::OnceLock;

use crate::wire::Msg;

const WORDS: &str = "You are a careful agent that pairs with a person on their code. Prefer the narrowest tool. \
Say what you are about to do in one sentence. Never invent a path; look first. Keep changes small and explain why. ";

fn text(len: usize) -> String {
    WORDS.chars().cycle().take(len).collect()
}

/// The fields of one newest row that a slimmed row lacks.
pub(crate) struct Heavy {
    /// Fields 1 and 2 of the chat model: system prompt and messages.
    pub(crate) prompts: Vec<u8>,
    /// Field 8: tool definitions.
    pub(crate) tools: Vec<u8>,
    /// Field 16: sections of the prompt.
    pub(crate) sections: Vec<u8>,
    /// Field 3 of the generator row: the plan configuration.
    pub(crate) planner_config: Vec<u8>,
}

pub(crate) fn heavy() -> &'static Heavy {
    static HEAVY: OnceLock<Heavy> = OnceLock::new();
    HEAVY.get_or_init(|| {
        let mut prompts = Msg::new().str(1, &text(17_800));
        for source in [1_u64, 2, 1, 2] {
            prompts = prompts.msg(2, &Msg::new().uint(2, source).str(3, &text(6_100)));
        }
        let mut tools = Msg::new();
        for tool in TOOLS {
            tools = tools.msg(8, &Msg::new().str(1, tool).str(2, &text(1_150)).str(3, &text(1_250)));
        }
        let mut sections = Msg::new();
        for section in ["identity", "user_information", "tool_calling", "skills", "communication_style"] {
            sections = sections.msg(16, &Msg::new().str(1, section).str(2, &text(4_300)));
        }
        let planner_config = Msg::new()
            .uint(1, 1016)
            .uint(6, 65_535)
            .uint(7, 1)
            .bytes(13, &Msg::new().str(2, &text(2_050)).into_bytes())
            .str(28, "gemini-pro-agent");
        Heavy {
            prompts: prompts.into_bytes(),
            tools: tools.into_bytes(),
            sections: sections.into_bytes(),
            planner_config: planner_config.into_bytes(),
        }
    })
}

/// Names of agy's tools, for the tool definitions.
const TOOLS: &[&str] = &[
    "run_command",
    "command_status",
    "view_file",
    "list_dir",
    "grep_search",
    "write_to_file",
    "replace_file_content",
    "multi_replace_file_content",
    "read_url_content",
    "search_web",
    "generate_image",
    "invoke_subagent",
    "send_message",
    "ask_question",
    "view_content_chunk",
    "send_command_input",
    "list_permissions",
    "ask_permission",
    "define_subagent",
];

/// `token_breakdown` whose groups add up to `total`.
pub(crate) fn breakdown(total: u64) -> Msg {
    let parts = [("System Prompt", 1, 1, 22), ("Tools", 2, 1, 31), ("Rules", 3, 2, 4), ("Skills", 5, 1, 7)];
    let mut out = Msg::new();
    let mut rest = total;
    for (name, kind, source, percent) in parts {
        let tokens = total * percent / 100;
        rest -= tokens;
        let child = Msg::new().str(1, name).uint(3, tokens);
        out =
            out.msg(1, &Msg::new().str(1, name).uint(2, kind).uint(3, source).uint(4, tokens).msg(5, &child));
    }
    out.msg(1, &Msg::new().str(1, "Chat Messages").uint(2, 7).uint(3, 2).uint(4, rest)).uint(2, total)
}

/// A packed list of experiment ids, 364 bytes as in the real rows.
pub(crate) fn experiments() -> &'static [u8] {
    static IDS: OnceLock<Vec<u8>> = OnceLock::new();
    IDS.get_or_init(|| {
        let ids: Vec<u32> = (0..91).map(|i| 103_800_000 + i * 7919 % 99_991).collect();
        // Keep the packed content only: key and length differ from message to message.
        let packed = Msg::new().packed(1, &ids).into_bytes();
        packed.into_iter().skip(3).collect()
    })
}
