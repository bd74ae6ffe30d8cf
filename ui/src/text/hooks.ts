// What the hooks card says.
import type { FileChange, HooksAction, HooksEventState, HooksState } from "../bindings/view";

export const hooks = {
  title: "Hooks",
  what: "Hooks tell AgentHub about prompts and stops at once. Without them it still follows agy’s database, within a second.",
  looking: "Looking at hooks.json…",
  noEvent: "no event seen yet",
  lastEvent: (age: string) => `last event ${age} ago`,
  noEventHint: "Start agy anew, or open another session in it: the hooks that an open session has are those it started with.",
  events: "Events",
  event: {
    installed: "installed",
    left_out: "left out: another hook has it, and agy was seen to run only one of two",
    missing: "missing",
    stale: "starts another script than it should",
    unwanted: "is there, and should not be",
  } satisfies Record<HooksEventState, string>,
  tells: {
    PreInvocation: "a prompt, and each model call",
    PostToolUse: "a tool has ended",
    Stop: "the turn has ended",
  } as Record<string, string>,
  never: "not yet",
  ago: (age: string) => `${age} ago`,
  openFolder: "Open folder",
  openFolderHint: "Open agy’s configuration folder",
  file: "In",
  link: "which is a link to",
  preToolUse: (name: string) => `“${name}” runs before every tool and can block agy.`,
  preToolUseHint: "agy takes an answer of `{}` from a `PreToolUse` hook as a denial. It is not ours, so AgentHub leaves it alone: if agy refuses its tools, look there.",
  postToolUse: (name: string) => `“${name}” runs after every tool, too.`,
  postToolUseHint: "agy was seen to run only one of two `PostToolUse` hooks, so AgentHub leaves its own out. It loses nothing: it knows the tools from the database.",
  warning: "Another entry in the file",
  check: "Check again",
  undo: "Undo last change…",
  undoHint: "Shows what would be taken back; nothing is written yet",
  remove: "Remove…",
  cancel: "Cancel",
  diff: "Exact difference",
  scriptDiff: "Exact difference of the script",
  write: "Write hooks.json",
  writeScript: "Write the script",
  backup: "A backup is kept. Nothing is written until you choose Write.",
  backupNot: "Nothing is written until you choose Write.",
  anew: "The file changed after its difference was shown. Nothing was written; this is the difference now.",
  nothing: "Nothing would change.",
  nothingHint: "hooks.json and the script are as they should be.",
  unchanged: "hooks.json stays as it is.",
  linked: (file: string, target: string) => [file, " is a link to ", target, "; it is written through."] as const,
  refused: "Nothing was written.",
  showUndo: "Undo…",
  closed: "The preview was closed. Nothing was written.",
  done: {
    install: "Hooks installed",
    remove: "Hooks removed",
    undo: "The last change was taken back",
  } satisfies Record<HooksAction, string>,
  doneHint: {
    install: "agy sessions that are open keep the hooks they started with.",
    remove: "agy sessions that are open keep the hooks they started with.",
    undo: null,
  } satisfies Record<HooksAction, string | null>,
};

/** How the hooks stand: a word, what that means, and what its button is called. */
export const hooksState: Record<HooksState, { word: string; means: string | null; act: string | null }> = {
  not_installed: { word: "Not installed", means: null, act: "Install…" },
  installed: { word: "Installed", means: null, act: null },
  switched_off: {
    word: "Switched off",
    means: "hooks.json says `\"enabled\": false` for them, so agy does not run them. They stay switched off until you switch them on.",
    act: "Switch on…",
  },
  incomplete: {
    word: "Incomplete",
    means: "One of their events is missing or is not as it should be. AgentHub still follows the database.",
    act: "Refresh…",
  },
  stale_command: {
    word: "Stale",
    means: "They start a script of another place or version, so their events may not arrive here.",
    act: "Refresh…",
  },
  target_missing: {
    word: "Their program is gone",
    means: "The script that agy starts, or the program behind it, is not there. agy is not held up by that, but nothing is told.",
    act: "Refresh…",
  },
  foreign: { word: "Something else is in their place", means: null, act: null },
  unreadable: { word: "hooks.json cannot be used", means: null, act: null },
};

/** What a plan would do, above its difference. */
export function hooksPlan(action: HooksAction, state: HooksState, file: boolean, script: FileChange): string {
  const files = file && script !== "none" ? "two files" : "one file";
  const who =
    action === "undo" ? "Undo" : action === "remove" ? "Remove" : state === "not_installed" ? "Install" : state === "switched_off" ? "Switching on" : "Refresh";
  return `${who} will change ${files}.`;
}

export const hooksScript: Record<FileChange, (script: string) => string> = {
  none: () => "",
  created: (script) => `${script} is made: the script that agy starts. It answers agy at once, and then notes the event.`,
  changed: (script) => `${script}, the script that agy starts, is replaced.`,
  removed: (script) => `${script}, the script that agy starts, is removed.`,
};

/** Why something was refused, by code; Rust's own sentence follows. */
export const hooksRefusal: Record<string, string> = {
  EBADJSON: "It is not valid JSON.",
  EBADSHAPE: "agy drops the whole file.",
  EFOREIGN: "Something that is not AgentHub’s is in the way.",
  ECHANGED: "hooks.json has changed.",
  ENOTAFILE: "hooks.json is no plain file.",
  EREADONLY: "hooks.json cannot be written.",
  ENOTOURS: "hooks.json belongs to another user.",
  ETOOBIG: "hooks.json is too big.",
  ELOOP: "hooks.json is a link that leads to itself.",
  ENOSPACE: "There is no room on the disk.",
  not_found: "There is nothing to undo.",
};
