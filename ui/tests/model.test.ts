import { describe, expect, it, vi } from "vitest";
import { useDoor, type Door } from "../src/api";
import type { TimelineEntry, TurnSum } from "../src/bindings/view";
import { fixtureDoor } from "../src/fixture";
import { intent, moved } from "../src/model/keys";
import { lead, members, nextNeedy, sentence, voice } from "../src/model/lane";
import { Resource, throttled } from "../src/model/resource.svelte";
import { href, parse, SETTINGS } from "../src/model/route.svelte";
import { PAGE, SessionList } from "../src/model/sessionList.svelte";
import { isStop, items, rows } from "../src/model/timeline";
import { inFolder, toolKind } from "../src/model/tool";
import { warningTexts } from "../src/model/warnings";

const now = Date.now();
const lanes = fixtureDoor("full", now).view.lanes;
const lane = (id: string) => lanes.find((l) => l.id === id)!;

describe("a lane", () => {
  it("is as loud as its state", () => {
    expect(lanes.map(voice)).toEqual(["voice", "voice", "running", "running", "running", "idle", "idle", "idle"]);
  });
  it("says itself in one sentence", () => {
    expect(sentence(lane("l2"), now)).toBe(
      "api-server, waiting for 2 minutes 14 seconds: asks to use run_command cargo sqlx migrate run --source ./migrations",
    );
    expect(sentence(lane("l5"), now)).toMatch(/^nightly-dependency-audit, a run, running for 21 minutes/);
    expect(sentence(lane("l8"), now)).toBe("No folder, idle for 47 minutes: ended without finishing");
    expect(sentence({ ...lane("l1"), since: null, last_activity_at: null, detail: null }, now)).toBe("payments-gateway, error: the turn failed");
  });
  it("puts sub-agents beneath their parent and loses none", () => {
    expect(members(lane("l2")).map((m) => m.sub)).toEqual([false, true, false]);
    const [a, b] = members(lane("l2")).map((m) => m.session) as [ReturnType<typeof lead> & object, ReturnType<typeof lead> & object];
    const circle = { ...lane("l2"), members: [{ ...a, parent_id: b.id }, { ...b, parent_id: a.id }] };
    expect(members(circle)).toHaveLength(2);
    expect(members({ ...lane("l2"), members: [{ ...a, parent_id: "elsewhere" }] })).toEqual([{ session: { ...a, parent_id: "elsewhere" }, sub: false }]);
  });
  it("leads with the session in its own state", () => {
    expect(lead(lane("l2"))?.state).toBe("waiting");
    expect(lead(lane("l7"))).toBeNull();
  });
  it("finds the next that needs its person, around the end", () => {
    expect(nextNeedy(lanes, null)?.id).toBe("l1");
    expect(nextNeedy(lanes, "l1")?.id).toBe("l2");
    expect(nextNeedy(lanes, "l2")?.id).toBe("l1");
    expect(nextNeedy(lanes.filter((l) => voice(l) !== "voice"), "l3")).toBeNull();
    expect(nextNeedy([], null)).toBeNull();
  });
});

describe("a timeline", () => {
  const e = (kind: TimelineEntry["kind"], turn: number): TimelineEntry => ({
    kind, turn, step: null, at: null, approximate: false, duration_ms: null, name: null, state: "done", tokens: null, cost_usd: null, tokens_unpriced: 0, text: null, copied_from: null,
  });
  it("is turns, with checkpoints between them", () => {
    const got = items([e("call", 0), e("prompt", 1), e("call", 1), e("checkpoint", 1), e("prompt", 2), e("checkpoint", 2), e("tool", 2)], []);
    expect(got.map((i) => (i.kind === "turn" ? `${i.turn}:${i.entries.map((x) => x.kind)}${i.last ? "!" : ""}` : "mark"))).toEqual([
      "0:call", "1:call", "mark", "2:checkpoint,tool!",
    ]);
    expect(new Set(got.map((i) => i.key)).size).toBe(got.length);
    expect(items([], [])).toEqual([]);
    expect(items([e("checkpoint", 1)], []).map((i) => i.kind)).toEqual(["mark"]);
  });
  it("has Rust's sums at each turn, and none where they do not belong", () => {
    const sum = (turn: number): TurnSum => ({ turn, at: null, approximate: false, duration_ms: 5, calls: 1, tools: 0, tokens: null, cost_usd: null, tokens_unpriced: 0 });
    const turns = items([e("call", 0), e("checkpoint", 1), e("prompt", 2)], [sum(0), sum(1), sum(2)]).filter((i) => i.kind === "turn");
    expect(turns.map((t) => t.sum?.turn)).toEqual([0, 2]);
    expect(items([e("call", 4)], [sum(3)])[0]).toMatchObject({ sum: null });
  });
  it("is one flat list, the newest turn open, each row with a key of its own that outlives a cut", () => {
    const step = (kind: TimelineEntry["kind"], turn: number, n: number, text = "x"): TimelineEntry => ({ ...e(kind, turn), step: n, text });
    const whole = [step("prompt", 1, 0), step("call", 1, 1), step("prompt", 2, 2, "one\ntwo"), step("wait", 2, 3), step("tool", 2, 3), step("tool", 2, 3)];
    const got = rows(items(whole, []), {});
    expect(got.map((r) => r.kind)).toEqual(["turn", "turn", "asked", "entry", "entry", "entry"]);
    expect(new Set(got.map((r) => r.key)).size).toBe(got.length);
    expect(got.filter(isStop)).toHaveLength(5);
    expect(rows(items(whole, []), { t1: true, t2: false }).map((r) => r.kind)).toEqual(["turn", "entry", "turn"]);
    const cut = rows(items(whole.slice(3), []), {});
    expect(cut.map((r) => r.key)).toEqual(got.map((r) => r.key).filter((k) => k.startsWith("t2") && !k.endsWith("asked")));
  });
});

it("knows what a tool does by its name", () => {
  const of = (...names: (string | null)[]) => names.map(toolKind);
  expect(of("run_command", "command_status")).toEqual(["command", "command"]);
  expect(of("view_file", "view_file_outline", "read_resource")).toEqual(["read", "read", "read"]);
  expect(of("list_dir", "list_directory", "grep_search", "find_by_name")).toEqual(["list", "list", "search", "search"]);
  expect(of("write_to_file", "multi_replace_file_content", "code_action")).toEqual(["edit", "edit", "edit"]);
  expect(of("search_web", "read_url_content", "browser_subagent", "invoke_subagent")).toEqual(["web", "web", "agent", "agent"]);
  expect(of("ask_question", "generate_image", "brand_new", "", null)).toEqual(["ask", "image", "other", "other", "other"]);
});

it("calls a path below a folder by its way from there", () => {
  const at = "/home/me/app";
  expect(inFolder("/home/me/app/src/main.rs", at)).toBe("src/main.rs");
  expect(inFolder("C:\\me\\app\\src\\main.rs", "C:\\me\\app")).toBe("src\\main.rs");
  for (const same of ["/home/me/app", "/home/me/app/", "/home/me/application/x", "cat /home/me/app/x", "src/main.rs", ""]) {
    expect(inFolder(same, at)).toBe(same);
  }
  expect(inFolder("/etc/passwd", "/")).toBe("/etc/passwd");
  expect(inFolder("/etc/passwd", null)).toBe("/etc/passwd");
});

describe("keys", () => {
  const press = (key: string, ctrlKey = false) => ({ key, ctrlKey, metaKey: false, altKey: false, shiftKey: false });
  it("mean what the table says", () => {
    expect(intent(press("1", true), false, false)).toEqual({ do: "go", screen: "lanes" });
    expect(intent(press("6", true), true, false)).toEqual({ do: "go", screen: "doctor" });
    expect(intent(press("f", true), false, false)).toEqual({ do: "search" });
    expect(intent(press("n"), false, false)).toEqual({ do: "needy" });
    expect(intent(press("w"), false, false)).toEqual({ do: "why" });
    expect(intent(press("c", true), false, false)).toEqual({ do: "copy" });
  });
  it("leave typing and marked text alone", () => {
    expect(intent(press("n"), true, false)).toBeNull();
    expect(intent(press("c", true), true, false)).toBeNull();
    expect(intent(press("c", true), false, true)).toBeNull();
    expect(intent({ ...press("n"), altKey: true }, false, false)).toBeNull();
  });
  it("move within a list", () => {
    expect(moved("ArrowDown", 2, 3)).toBe(2);
    expect(moved("ArrowUp", 0, 3)).toBe(0);
    expect(moved("End", 0, 3)).toBe(2);
    expect(moved("PageDown", 0, 100)).toBe(10);
    expect(moved("x", 0, 3)).toBeNull();
  });
});

describe("an address", () => {
  it("goes there and back", () => {
    for (const id of ["7c0b41de", "a/b c", "ünïcode"]) expect(parse(href({ screen: "session", id }))).toEqual({ screen: "session", id });
    expect(parse(href({ screen: "lanes", id: "antigravity:/a b+c?#ü" }))).toEqual({ screen: "lanes", id: "antigravity:/a b+c?#ü" });
    // As src-tauri writes it.
    expect(parse("#/lanes/antigravity%3A%2Fa%20b%2Bc%3F%23%C3%BC").id).toBe("antigravity:/a b+c?#ü");
    expect(parse("#/lanes/%E0%A4%A")).toEqual({ screen: "lanes", id: null });
    expect(parse("")).toEqual({ screen: "lanes", id: null });
    for (const screen of ["usage", "notifications", "doctor"] as const) expect(parse(href({ screen }))).toEqual({ screen, id: null });
    for (const id of SETTINGS) expect(parse(href({ screen: "settings", id }))).toEqual({ screen: "settings", id });
    expect(parse("#/settings/nothing")).toEqual({ screen: "settings", id: "general" });
    expect(parse("#/nowhere")).toEqual({ screen: "lanes", id: null });
    expect(parse("#/session/%E0%A4%A")).toEqual({ screen: "sessions", id: null });
  });
});

describe("a resource", () => {
  it("drops the late answer of an older question", async () => {
    const r = new Resource<string>();
    let slow: (v: string) => void = () => {};
    const first = r.load(() => new Promise((done) => (slow = done)));
    await r.load(() => Promise.resolve("new"));
    slow("old");
    await first;
    expect(r.value).toBe("new");
  });
  it("keeps what it had when asking again fails", async () => {
    const r = new Resource<string>();
    await r.load(() => Promise.resolve("kept"));
    await r.load(() => Promise.reject({ code: "store", message: "no" }));
    expect(r.value).toBe("kept");
    expect(r.error).toEqual({ code: "store", message: "no" });
  });
  it("is asked for at most once in a while, and once more at the end", () => {
    vi.useFakeTimers();
    const run = vi.fn();
    const t = throttled(run, 1000);
    for (let i = 0; i < 5; i++) t.call();
    expect(run).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(1000);
    expect(run).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(5000);
    expect(run).toHaveBeenCalledTimes(2);
    vi.useRealTimers();
  });
});

describe("the list of sessions", () => {
  const asked = (door: ReturnType<typeof fixtureDoor>) => door.calls.map((c) => (c.args?.["query"] as { offset: number }).offset);

  it("loads pages as they come into sight", async () => {
    const door = fixtureDoor("many");
    useDoor(door);
    const list = new SessionList();
    await list.ask();
    expect(list.count).toBe(100_000);
    expect(list.row(0)?.name).toContain("Reconcile");
    expect(list.row(PAGE)).toBeUndefined();
    await list.need(99_990, 99_999);
    expect(list.row(99_999)).toBeDefined();
    const last = Math.floor(99_999 / PAGE) * PAGE;
    expect(asked(door)).toEqual([0, last]);
    await list.need(2 * PAGE - 1, 2 * PAGE);
    expect(asked(door)).toEqual([0, last, PAGE, 2 * PAGE]);
  });

  it("asks again only for what is in sight when the store changed", async () => {
    const door = fixtureDoor("many");
    useDoor(door);
    const list = new SessionList();
    await list.ask();
    await list.need(5 * PAGE, 5 * PAGE + 20);
    door.calls.length = 0;
    await list.refresh();
    expect(asked(door)).toEqual([5 * PAGE]);
    await list.need(0, 10);
    expect(asked(door)).toEqual([5 * PAGE, 0]);
  });

  it("heads each day once, and only in order of activity", async () => {
    useDoor(fixtureDoor("full"));
    const list = new SessionList();
    await list.ask();
    expect(list.startsDay(0)).toBe(true);
    const starts = Array.from({ length: PAGE }, (_, i) => i).filter((i) => list.startsDay(i));
    expect(starts.length).toBe(new Set(Array.from({ length: PAGE }, (_, i) => list.row(i)?.day)).size);
    list.setSort("name");
    await vi.waitFor(() => expect(list.page?.rows[0]?.name).toContain("Add soft-delete"));
    expect(list.startsDay(0)).toBe(false);
    expect(list.ascending).toBe(true);
  });

  it("tells why there are no rows", async () => {
    const broken: Door = { call: () => Promise.reject({ code: "store", message: "disk" }), on: () => Promise.resolve(() => {}) };
    useDoor(broken);
    const list = new SessionList();
    await list.ask();
    expect(list.error).toEqual({ code: "store", message: "disk" });
  });
});

it("explains every warning, known or not", () => {
  expect(warningTexts([{ code: "undecodable_row", count: 1 }, { code: "undecodable_row", count: 2 }, { code: "brand_new", count: 3 }])).toEqual([
    "1 row could not be decoded and was skipped; the rest is counted.",
    "2 rows could not be decoded and were skipped; the rest is counted.",
    "brand new (3)",
  ]);
});
