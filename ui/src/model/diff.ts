// A difference as lines with their numbers, and with what changed within a line marked. Pure.
import type { DiffLine } from "../bindings/view";

export interface Shown {
  kind: "same" | "add" | "del" | "gap";
  number: number | null;
  /** Plain, changed, plain: the middle is what the line and its counterpart do not share. */
  parts: [string, string, string];
}

/** Lines as they are shown; a gap stands for lines that are left out. */
export function shown(lines: readonly DiffLine[]): Shown[] {
  const out: Shown[] = [];
  let before = 1;
  let after = 1;
  lines.forEach((line, at) => {
    switch (line.kind) {
      case "place": {
        const place = /^@@ -(\d+),\d+ \+(\d+),\d+ @@/.exec(line.text);
        before = place ? Math.max(1, Number(place[1])) : before;
        after = place ? Math.max(1, Number(place[2])) : after;
        if (out.length > 0 || after > 1) out.push({ kind: "gap", number: null, parts: ["", "", ""] });
        break;
      }
      case "same":
        out.push({ kind: "same", number: after, parts: [line.text, "", ""] });
        before++;
        after++;
        break;
      case "removed":
        out.push({ kind: "del", number: before++, parts: marked(line.text, partner(lines, at)) });
        break;
      case "added":
        out.push({ kind: "add", number: after++, parts: marked(line.text, partner(lines, at)) });
        break;
    }
  });
  return out;
}

/** The line on the other side that a changed line took the place of, where as many went as came. */
function partner(lines: readonly DiffLine[], at: number): string | null {
  const kind = lines[at]?.kind;
  const edge = (from: number, step: 1 | -1, want: string | undefined) => {
    let i = from;
    while (lines[i + step]?.kind === want && want !== undefined) i += step;
    return i;
  };
  const first = edge(at, -1, kind);
  const last = edge(at, 1, kind);
  const other = kind === "removed" ? "added" : "removed";
  const start = kind === "removed" ? last + 1 : edge(first - 1, -1, other);
  if (lines[start]?.kind !== other || lines[kind === "removed" ? start : first - 1]?.kind !== other) return null;
  const count = edge(start, 1, other) - start + 1;
  return count === last - first + 1 ? (lines[start + at - first]?.text ?? null) : null;
}

function marked(text: string, other: string | null): [string, string, string] {
  if (other === null) return [text, "", ""];
  const most = Math.min(text.length, other.length);
  let head = 0;
  while (head < most && text[head] === other[head]) head++;
  let tail = 0;
  while (tail < most - head && text[text.length - 1 - tail] === other[other.length - 1 - tail]) tail++;
  // Lines with little in common are two lines, not one that changed.
  if (head + tail < most / 3) return [text, "", ""];
  return [text.slice(0, head), text.slice(head, text.length - tail), text.slice(text.length - tail)];
}
