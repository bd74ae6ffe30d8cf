// What a tool does, by its name, so that a timeline can be read by its pictures. Names come from agy; a new one is "other".

export type ToolKind = "command" | "read" | "list" | "search" | "edit" | "web" | "ask" | "agent" | "image" | "other";

const WORDS: readonly (readonly [ToolKind, RegExp])[] = [
  ["agent", /subagent/],
  ["web", /^(search_web|read_url|fetch_|web_|browser_)|_browser|_url\b/],
  ["command", /command|terminal|shell|^bash/],
  ["search", /search|grep|^find_/],
  ["list", /^list_/],
  ["image", /image|screenshot/],
  ["ask", /^ask_|question|^notify_user/],
  ["edit", /^(write|edit|replace|multi_replace|create|delete|apply|code_action)|_edit\b/],
  ["read", /^(view|read|open)_/],
];

export function toolKind(name: string | null): ToolKind {
  const short = (name ?? "").slice(0, 80).toLowerCase();
  return WORDS.find(([, words]) => words.test(short))?.[0] ?? "other";
}

/** A path as it is called inside a folder: `src/main.rs` and not `/home/me/app/src/main.rs`. What is no path below it stays. */
export function inFolder(text: string, folder: string | null): string {
  if (folder === null || folder.length < 2 || !text.startsWith(folder)) return text;
  const rest = text.slice(folder.length);
  const inside = /^[/\\]+(?=[^/\\])/.exec(rest);
  return inside ? rest.slice(inside[0].length) : text;
}
