// Why a search found a session: the words are marked where they stand, or the tip says where they do.
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { useDoor } from "../src/api";
import type { SessionRow } from "../src/bindings/view";
import { fixtureDoor } from "../src/fixture";
import { folded } from "../src/model/format";
import { hit, tellWhere } from "../src/model/found";
import App from "../src/view/App.svelte";

afterEach(cleanup);

/** So many nodes a plain row had, and one with sub-agents, before a search could mark anything. */
const PLAIN_NODES = [32, 47];

describe("text that is searched", () => {
  it("is folded as the store does it", () => {
    // The third has no capital in one letter, and the small one has: it is put together after its case went.
    expect(["E\u0301tat", "İ", "J\u030cin", "ΌΣΟΣ", "\u212bng"].map(folded)).toEqual(["\u00e9tat", "i\u0307", "\u01f0in", "όσος", "\u00e5ng"]);
  });

  it("is marked where the words stand, in whole letters", () => {
    expect(hit("Add soft-DELETE to it", folded("Soft-delete"))).toEqual(["Add ", "soft-DELETE", " to it"]);
    expect(hit("twice: a a", "a")).toEqual(["twice: ", "a", " a"]);
    expect([hit("abc", "d"), hit("abc", ""), hit("", "a")]).toEqual([null, null, null]);
    // Two letters of small text are one of capital text, and the other way round.
    expect(hit("nach İzmir", "izmir")).toBeNull();
    expect(hit("nach İzmir", folded("İZMIR"))).toEqual(["nach ", "İzmir", ""]);
    expect(hit("ßİß zu", "zu")).toEqual(["ßİß ", "zu", ""]);
    expect(hit("İİİx", "x")).toEqual(["İİİ", "x", ""]);
    // Letters and marks apart, as macOS writes them.
    expect(hit("le re\u0301sume\u0301 fini", folded("RÉSUMÉ"))).toEqual(["le ", "re\u0301sume\u0301", " fini"]);
    expect(hit("re\u0301sume\u0301", "resume")).toBeNull();
    // Part of a letter marks all of it: nobody sees half a family.
    expect(hit("the 👩‍👧 one", "👩")).toEqual(["the ", "👩‍👧", " one"]);
    expect(hit("ΌΣΟΣ και", folded("όσος"))).toEqual(["", "ΌΣΟΣ", " και"]);
  });

  it("is marked right whatever letters it is made of", () => {
    let state = 20_261_201;
    const below = (n: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * n);
    };
    const PIECES = [
      "a", "B", " ", "/", "-", "İ", "ı", "ß", "ẞ", "é", "e", "\u0301", "\u0307", "\u0323", "J\u030c", "h\u0331", "ǅ", "K", "Å", "ﬁ", "ᾈ", "ﷺ", "م", "ر", "\u0650",
      "가", "\u1100", "\u1161", "\u11a8", "\u09c7", "\u09be", "👩", "\u200d", "👧", "🇩", "🇪", "\ud83d", "\udc69", "𐐀", "क", "्", "ष", "\ufe0f", "\u3099", "は",
    ];
    const letters = new Intl.Segmenter("en", { granularity: "grapheme" });
    let marked = 0;
    for (let round = 0; round < 4000; round++) {
      const text = Array.from({ length: below(24) }, () => PIECES[below(PIECES.length)]).join("");
      const all = [...letters.segment(text)].map((s) => s.segment);
      const from = below(all.length + 1);
      const words = folded(below(8) === 0 ? PIECES[below(PIECES.length)]! : all.slice(from, from + 1 + below(4)).join(""));
      const got = hit(text, words);
      const kept = folded(text);
      const at = words === "" ? -1 : kept.indexOf(words);
      const said = JSON.stringify([text, words, got]);
      if (at < 0) {
        expect(got, said).toBeNull();
        continue;
      }
      marked++;
      expect(got, said).not.toBeNull();
      const [before, found, behind] = got!;
      expect(before + found + behind, said).toBe(text);
      expect(folded(found), said).toContain(words);
      // No letter too many: the words begin in the first one that is marked, and end in the last.
      const own = [...letters.segment(found)].map((s) => s.segment);
      expect(folded(before).length, said).toBeLessThanOrEqual(at);
      expect(folded(before + own[0]!).length, said).toBeGreaterThan(at);
      expect(folded(before + own.slice(0, -1).join("")).length, said).toBeLessThan(at + words.length);
      expect(folded(before + found).length, said).toBeGreaterThanOrEqual(at + words.length);
    }
    expect(marked).toBeGreaterThan(2000);
  });

  it("is said to be elsewhere where it is not in the name that is shown", () => {
    const row = { name: `Tidy up ${"x".repeat(500)} Later`, cwd: "/home/mira/src/Atlas", id: "7c0b41de-93a2-4f18-b5d6-000000000001" } as SessionRow;
    expect([tellWhere(row, ""), tellWhere(row, "tidy"), tellWhere(row, "nowhere")]).toEqual(["", "", ""]);
    expect(tellWhere(row, "later")).toBe("Found further on in its name");
    expect(tellWhere(row, "src/atlas")).toBe("Found in its folder: /home/mira/src/Atlas");
    expect(tellWhere(row, "b5d6-0")).toBe("Found in its id: 7c0b41de-93a2-4f18-b5d6-000000000001");
    expect(tellWhere({ ...row, cwd: null }, "atlas")).toBe("");
  });
});

describe("a search in Sessions", () => {
  const row = (n: number) => document.querySelector<HTMLElement>(`[data-row="${n}"]`)!;
  const marks = () => [...document.querySelectorAll("[data-row] mark")].map((mark) => mark.textContent);
  const type = (value: string) => fireEvent.input(screen.getByRole("textbox", { name: "Search sessions" }), { target: { value } });
  const nodes = (of: Node): number => [...of.childNodes].reduce((n, child) => n + 1 + nodes(child), 0);

  async function open() {
    const door = fixtureDoor("full");
    useDoor(door);
    location.hash = "#/sessions";
    render(App);
    await within(await screen.findByRole("treegrid")).findByText("Today");
    await waitFor(() => expect(row(2)).toBeVisible());
  }

  it("marks what it found, and nothing when it is over", async () => {
    await open();
    // A row without a search is as few nodes as it was before anything could be marked.
    const before = [0, 2].map((n) => nodes(row(n)));
    expect(before.map((n, i) => n <= PLAIN_NODES[i]!), String(before)).toEqual([true, true]);
    const name = row(0).querySelector(".nm bdi")!.textContent!;
    await type("SOFT-delete");
    await waitFor(() => expect(marks()).toContain("soft-delete"));
    expect(new Set(marks())).toEqual(new Set(["soft-delete"]));
    expect(row(0).querySelector(".nm bdi")).toHaveTextContent(/soft-delete/);
    await fireEvent.click(screen.getByRole("button", { name: "Clear search" }));
    await waitFor(() => expect(row(0).querySelector(".nm bdi")!.textContent).toBe(name));
    expect(marks()).toEqual([]);
    expect([0, 2].map((n) => nodes(row(n)))).toEqual(before);
  });

  it("marks sub-agents that it found, and not what they stand inside of", async () => {
    await open();
    await type("load twice");
    await waitFor(() => expect(row(1)).toHaveAttribute("aria-level", "2"));
    await waitFor(() => expect(row(1).querySelector("mark")).toHaveTextContent(/^load twice$/));
    expect(row(0).querySelector("mark")).toBeNull();
  });

  it("shows in the lane's column, or in the tip, what stands in the folder or the id", async () => {
    await open();
    const tip = async (n: number, cell: string) => {
      const there = row(n).querySelector<HTMLElement>(`[data-c="${cell}"]`)!;
      await fireEvent.pointerOver(there);
      return there.title;
    };
    const lane = row(0).querySelector('[data-c="lane"]')!.textContent!;
    expect(document.querySelectorAll(".hit")).toHaveLength(0);
    await type(`northwind/${lane}`);
    await waitFor(async () => expect(await tip(0, "name")).toContain(`Found in its folder: /home/mira/src/northwind/${lane}`));
    // A part of the path that the column does not show is not marked there.
    expect(document.querySelectorAll(".hit")).toHaveLength(0);
    await type(lane.toUpperCase());
    await waitFor(() => expect(row(0).querySelector('[data-c="lane"]')).toHaveClass("hit"));
    await type("d6-000000000002");
    await waitFor(async () => expect(await tip(0, "name")).toContain("Found in its id: 7c0b41de-93a2-4f18-b5d6-000000000002"));
    expect(document.querySelectorAll(".hit")).toHaveLength(0);
  });
});
