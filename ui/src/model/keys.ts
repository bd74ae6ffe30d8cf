// Which keys mean what. Pure, so that the table in one place can be tested.
import type { Screen } from "../api";

const mac = /Mac|iPhone|iPad/.test(globalThis.navigator?.userAgent ?? "");
export const modifier = mac ? "⌘" : "Ctrl ";

export type Intent = { do: "go"; screen: Screen } | { do: "search" | "needy" | "why" | "mute" | "copy" | "folder" | "back" | "palette" };

interface Press {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** What a key asks for; `typing`: the focus is in a text field; `selected`: some text is marked. */
export function intent(press: Press, typing: boolean, selected: boolean): Intent | null {
  if (press.altKey) return null;
  const command = mac ? press.metaKey : press.ctrlKey;
  if (command && !press.shiftKey) {
    switch (press.key.toLowerCase()) {
      case "1": return { do: "go", screen: "lanes" };
      case "2": return { do: "go", screen: "sessions" };
      case "3": return { do: "go", screen: "usage" };
      case "4": return { do: "go", screen: "notifications" };
      case ",": return { do: "go", screen: "settings" };
      case "6": return { do: "go", screen: "doctor" };
      case "k": return { do: "palette" };
      case "f": return { do: "search" };
      case "o": return { do: "folder" };
      // A marked text is what the person wants to copy.
      case "c": return typing || selected ? null : { do: "copy" };
      default: return null;
    }
  }
  if (typing || press.ctrlKey || press.metaKey || press.shiftKey) return null;
  // Caps lock does not take the keys away.
  switch (press.key.length === 1 ? press.key.toLowerCase() : press.key) {
    case "n": return { do: "needy" };
    case "w": return { do: "why" };
    case "m": return { do: "mute" };
    case "Escape": return { do: "back" };
    default: return null;
  }
}

/** Where an arrow, Home, End or a page key leads in a list; `null`: not such a key. */
export function moved(key: string, at: number, length: number, page = 10): number | null {
  const last = length - 1;
  switch (key) {
    case "ArrowDown": return Math.min(last, at + 1);
    case "ArrowUp": return Math.max(0, at - 1);
    case "PageDown": return Math.min(last, at + page);
    case "PageUp": return Math.max(0, at - page);
    case "Home": return 0;
    case "End": return last;
    default: return null;
  }
}
