// What lets a screen be painted soon: answers that are there already, rows that need no measuring, controls made when they are wanted.
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { tick } from "svelte";
import { afterEach, describe, expect, it } from "vitest";
import { useDoor } from "../src/api";
import { fixtureDoor, type Fixture, type World } from "../src/fixture";
import { Answers, sessionAnswers } from "../src/model/answers";
import { router } from "../src/model/route.svelte";
import { PAGE, SessionList, sessionList } from "../src/model/sessionList.svelte";
import { HEIGHTS, items, opening, rows } from "../src/model/timeline";
import App from "../src/view/App.svelte";

const ID = "7c0b41de-93a2-4f18-b5d6-000000000002";
const count = (door: Fixture, command: string) => door.calls.filter((c) => c.command === command).length;

async function open(world: World = "full", hash = "#/lanes"): Promise<Fixture> {
  const door = fixtureDoor(world);
  useDoor(door);
  location.hash = hash;
  render(App);
  await waitFor(() => expect(screen.getByRole("heading", { level: 1 })).toBeInTheDocument());
  return door;
}
afterEach(cleanup);
/** What Sessions and Usage show first has been asked for, and both were made. */
const warm = (door: Fixture) => waitFor(() => expect([count(door, "sessions"), count(door, "usage")]).toEqual([1, 1]));

describe("a window that was opened", () => {
  it("asks once for what Sessions and Usage show first, and paints them without asking", async () => {
    const door = await open();
    await warm(door);
    await waitFor(() => expect(document.querySelector("[data-row]")).toBeNull());
    router.go({ screen: "sessions" });
    await tick();
    const shown = [...document.querySelectorAll<HTMLElement>("[data-row]")];
    expect(shown.length).toBeGreaterThan(15);
    // Before anything was measured.
    expect(shown.filter((row) => row.parentElement?.style.visibility === "hidden")).toEqual([]);
    router.go({ screen: "usage" });
    await tick();
    expect(document.querySelector(".figs")).not.toBeNull();
    expect(document.querySelector(".charts svg")).not.toBeNull();
    expect([count(door, "sessions"), count(door, "usage")]).toEqual([1, 1]);
    // A session is made, too, but none is asked for, and what was made up is nowhere.
    expect([count(door, "session"), count(door, "turn_tree")]).toEqual([0, 0]);
    await waitFor(() => expect(sessionAnswers.of("made-up", door.view.revision)).toBeNull());
  });

  it("asks nothing beforehand while agy's files are read for the first time", async () => {
    const door = fixtureDoor("full");
    door.view = { ...door.view, scan: { done: 3, total: 218 } };
    useDoor(door);
    // The screen of the test before is drawn until the address was read.
    router.go({ screen: "lanes" });
    render(App);
    await waitFor(() => expect(count(door, "tracks")).toBeGreaterThan(0));
    expect(count(door, "usage")).toBe(0);
    door.view = { ...door.view, scan: null, revision: door.view.revision + 1 };
    door.emit("board://changed", door.view);
    await warm(door);
  });

  it("shows a session again at once, and asks only when the board has changed", async () => {
    const door = await open();
    await warm(door);
    router.go({ screen: "session", id: ID });
    await waitFor(() => expect(document.querySelector(".tl-h")).not.toBeNull());
    // The newest turn's tree comes after: agy's own call for a title stands in no timeline.
    await waitFor(() => expect(document.querySelector(".entry.own")).not.toBeNull());
    router.go({ screen: "sessions" });
    await tick();
    router.go({ screen: "session", id: ID });
    await tick();
    expect(document.querySelector(".tl-h")).not.toBeNull();
    expect(document.querySelectorAll(".tl li").length).toBeGreaterThan(3);
    expect(document.querySelector(".entry.own")).not.toBeNull();
    expect([count(door, "session"), count(door, "turn_tree")]).toEqual([1, 1]);
    door.view = { ...door.view, revision: door.view.revision + 1 };
    door.emit("board://changed", door.view);
    await waitFor(() => expect(count(door, "session")).toBe(2));
  });
});

describe("a filter", () => {
  const lane = () => screen.getByLabelText("Lane");
  const made = () => document.querySelectorAll("[data-select-trigger]").length;
  const there = async () => {
    await open("full", "#/sessions");
    await waitFor(() => expect(document.querySelector("[data-row]")).not.toBeNull());
    expect(made()).toBe(0);
    expect(lane()).toHaveAttribute("aria-haspopup", "listbox");
    expect(lane()).toHaveAttribute("role", "combobox");
    expect(lane()).toHaveAttribute("aria-expanded", "false");
  };

  it("is a plain button until the pointer comes over it", async () => {
    await there();
    lane().focus();
    await fireEvent.pointerEnter(lane(), { pointerType: "mouse" });
    await waitFor(() => expect(made()).toBe(1));
    expect(lane()).toHaveFocus();
    expect(lane()).toHaveAttribute("aria-expanded", "false");
  });

  it.each(["Enter", " ", "ArrowDown"])("opens by %j, keeps the keyboard, and closes", async (key) => {
    await there();
    lane().focus();
    await fireEvent.keyDown(lane(), { key });
    await screen.findByRole("option", { name: /dotfiles/ });
    expect(made()).toBe(1);
    await waitFor(() => expect(lane()).toHaveAttribute("aria-expanded", "true"));
    await fireEvent.keyDown(document.activeElement ?? document.body, { key: "Escape" });
    await waitFor(() => expect(screen.queryByRole("option")).toBeNull());
    await waitFor(() => expect(lane()).toHaveFocus());
  });

  it("picks by typing, opens by a touch's click, and leaves Tab and Ctrl alone", async () => {
    await there();
    lane().focus();
    await fireEvent.keyDown(lane(), { key: "Tab" });
    await fireEvent.keyDown(lane(), { key: "2", ctrlKey: true });
    expect(made()).toBe(0);
    await fireEvent.keyDown(lane(), { key: "d" });
    expect(await screen.findByLabelText("Lane: dotfiles")).toHaveFocus();
    const model = screen.getByLabelText("Model");
    await fireEvent.pointerEnter(model, { pointerType: "touch" });
    await fireEvent.pointerDown(model, { pointerType: "touch" });
    await fireEvent.click(model);
    expect(await screen.findAllByRole("option")).not.toHaveLength(0);
  });
});

describe("the first rows of a list", () => {
  it("are those in sight, with a day's heading where one stands", async () => {
    const door = fixtureDoor("full");
    useDoor(door);
    const list = new SessionList();
    expect(list.inSight(600, 30, 26).rows).toEqual([]);
    await list.ask();
    const { rows: seen, offset, sizes } = list.inSight(600, 30, 26);
    expect([seen[0], offset]).toEqual([0, 0]);
    const high = sizes[0].map((_, i) => (list.startsDay(i) ? 56 : 30));
    expect(sizes[0]).toEqual(high);
    expect(sizes[0]).toHaveLength(PAGE);
    const sum = (n: number) => high.slice(0, n).reduce((a, b) => a + b, 0);
    expect(sum(seen.length)).toBeGreaterThanOrEqual(600);
    expect(sum(seen.length - 1)).toBeLessThan(600);
  });

  it("are those where the list was left, and the top after another question", async () => {
    useDoor(fixtureDoor("full"));
    const list = new SessionList();
    await list.ask();
    list.top = { index: 40, within: 7 };
    const { rows: seen, offset, sizes } = list.inSight(300, 30, 26);
    expect(seen[0]).toBe(40);
    expect(offset).toBe(7 + sizes[0].slice(0, 40).reduce((a, b) => a + b, 0));
    await list.ask();
    expect(list.inSight(300, 30, 26).rows[0]).toBe(0);
  });

  it("of a timeline are its newest turn's, or its end's", async () => {
    const door = fixtureDoor("full");
    useDoor(door);
    const { timeline, turn_sums } = (await door.call("session", { id: ID })) as { timeline: Parameters<typeof items>[0]; turn_sums: Parameters<typeof items>[1] };
    const list = rows(items(timeline, turn_sums), {}).filter((row) => row.kind !== "asked");
    const newest = list.findLastIndex((row) => row.kind === "turn");
    const high = list.map((row) => (row.kind === "turn" ? (row.open ? HEIGHTS.open : HEIGHTS.turn) : HEIGHTS[row.kind as "mark"] + (row.kind === "entry" && row.last ? HEIGHTS.end : 0)));
    const total = high.reduce((a, b) => a + b, 0);
    const low = opening(list, newest, 40);
    expect(low).toMatchObject({ exact: true, offset: high.slice(0, newest).reduce((a, b) => a + b, 0), sizes: [high, HEIGHTS.entry] });
    expect(low.rows[0]).toBe(newest);
    const end = opening(list, "end", 60);
    expect(end.offset).toBe(total - 60);
    expect(end.rows.at(-1)).toBe(list.length - 1);
    // All of it is in sight: nothing is scrolled.
    expect(opening(list, newest, total + 1)).toMatchObject({ offset: 0, rows: list.map((_, i) => i) });
    expect(opening([], "end", 600)).toMatchObject({ offset: 0, rows: [], exact: true });
  });
});

it("keeps the newest answers, each with the board it was of", () => {
  const kept = new Answers<string>(2);
  kept.keep("a", "A", 1);
  kept.keep("b", "B", 1);
  kept.keep("a", "A2", 2);
  kept.keep("c", "C", 2);
  expect(kept.of("b", 1)).toBeNull();
  expect(kept.of("a", 2)).toEqual({ value: "A2", holds: true });
  expect(kept.of("a", 3)).toEqual({ value: "A2", holds: false });
  kept.forget();
  expect(kept.of("c", 2)).toBeNull();
});

describe("a session that somebody opens", () => {
  const held = (door: Fixture, command: string) => {
    let let_go = () => {};
    const gate = new Promise<void>((done) => (let_go = done));
    useDoor({ ...door, call: async (name, args) => {
      const answer = door.call(name, args);
      if (name === command) await gate;
      return answer;
    } });
    return () => let_go();
  };

  const list = async () => {
    const door = await open();
    await warm(door);
    router.go({ screen: "sessions" });
    await tick();
    expect(document.querySelector("[data-row]")).not.toBeNull();
    return door;
  };

  it("is drawn once, whole: the list stays until it and its newest turn have come", async () => {
    const door = await list();
    const go = held(door, "session");
    router.go({ screen: "session", id: ID });
    await tick();
    expect(document.querySelector("[data-row]")).not.toBeNull();
    expect(document.querySelector(".tl-h")).toBeNull();
    go();
    await waitFor(() => expect(document.querySelector("[data-row]")).toBeNull());
    expect(document.querySelector(".tl-h")).not.toBeNull();
    // agy's own call for a title stands in no timeline: it comes with the tree.
    expect(document.querySelector(".entry.own")).not.toBeNull();
    expect([count(door, "session"), count(door, "turn_tree")]).toEqual([1, 1]);
  });

  it("is asked for when somebody begins to press it, once", async () => {
    const door = await list();
    const row = document.querySelector<HTMLElement>('[data-row="1"] [data-c="name"]')!;
    await fireEvent.pointerDown(row, { button: 0 });
    expect([count(door, "session"), count(door, "turn_tree")]).toEqual([1, 1]);
    await waitFor(() => expect(sessionAnswers.of(String(door.calls.find((c) => c.command === "session")?.args?.["id"]), door.view.revision)).not.toBeNull());
    expect(router.route.screen).toBe("sessions");
    await fireEvent.click(row);
    expect(document.querySelector(".tl-h")).not.toBeNull();
    expect([count(door, "session"), count(door, "turn_tree")]).toEqual([1, 1]);
  });

  it("is asked for when the keyboard rests on it, once", async () => {
    const door = await list();
    const row = document.querySelector<HTMLElement>('[data-row="1"]')!;
    document.querySelector<HTMLElement>('[data-row="0"]')!.focus();
    row.focus();
    await waitFor(() => expect(count(door, "session")).toBe(1));
    expect(door.calls.find((c) => c.command === "session")?.args?.["id"]).toBe(sessionList.row(1)!.id);
    await waitFor(() => expect(sessionAnswers.of(sessionList.row(1)!.id, door.view.revision)).not.toBeNull());
    await fireEvent.click(row);
    expect(document.querySelector(".tl-h")).not.toBeNull();
    expect([count(door, "session"), count(door, "turn_tree")]).toEqual([1, 1]);
  });

  it("is gone to all the same when the answer takes long, and asked for once", async () => {
    const door = await list();
    const go = held(door, "session");
    router.go({ screen: "session", id: ID });
    await waitFor(() => expect(screen.getByRole("heading", { level: 1 })).toHaveTextContent("Session"));
    await waitFor(() => expect(document.querySelector("[data-row]")).toBeNull());
    go();
    await waitFor(() => expect(document.querySelector(".tl-h")).not.toBeNull());
    expect(count(door, "session")).toBe(1);
  });

  it("is not gone to when somebody has gone elsewhere meanwhile", async () => {
    const door = await list();
    const go = held(door, "session");
    router.go({ screen: "session", id: ID });
    router.go({ screen: "doctor" });
    await tick();
    expect(screen.getByRole("heading", { level: 1 })).toHaveTextContent("Doctor");
    go();
    await waitFor(() => expect(sessionAnswers.of(ID, door.view.revision)).not.toBeNull());
    await tick();
    expect(router.route.screen).toBe("doctor");
  });

  it("is not gone to when somebody takes it back with Esc", async () => {
    const door = await list();
    const go = held(door, "session");
    router.go({ screen: "session", id: ID });
    await fireEvent.keyDown(document.body, { key: "Escape" });
    expect(location.hash).toBe("#/sessions");
    go();
    await waitFor(() => expect(sessionAnswers.of(ID, door.view.revision)).not.toBeNull());
    await tick();
    expect(router.route.screen).toBe("sessions");
    expect(document.querySelector("[data-row]")).not.toBeNull();
  });

  it("that can't be read says so", async () => {
    await list();
    router.go({ screen: "session", id: "7c0b41de-93a2-4f18-b5d6-00000000dead" });
    expect(await screen.findByRole("heading", { name: /not here any more/ })).toBeInTheDocument();
  });
});

describe("answers that are asked for", () => {
  it("come to all who ask the same meanwhile, and are kept unless they were forgotten or a newer question was asked", async () => {
    const answers = new Answers<string>(4);
    const doors: ((value: string) => void)[] = [];
    const ask = () => new Promise<string>((done) => doors.push(done));
    const both = [answers.ask("a", 1, ask), answers.ask("a", 1, ask)];
    expect(doors.length).toBe(1);
    doors[0]!("one");
    expect(await Promise.all(both)).toEqual(["one", "one"]);
    expect(answers.of("a", 1)).toEqual({ value: "one", holds: true });
    const old = answers.ask("a", 2, ask);
    const next = answers.ask("a", 3, ask);
    doors[2]!("three");
    await next;
    doors[1]!("two");
    expect(await old).toBe("two");
    expect(answers.of("a", 3)).toEqual({ value: "three", holds: true });
    const forgotten = answers.ask("b", 1, ask);
    answers.forget();
    doors[3]!("b");
    await forgotten;
    expect(answers.of("b", 1)).toBeNull();
    await expect(answers.ask("c", 1, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await answers.ask("c", 1, () => Promise.resolve("again"))).toBe("again");
  });
});

it("a link is followed at once", async () => {
  await open();
  const usage = screen.getByRole("link", { name: /Usage/ });
  await fireEvent.click(usage);
  expect(router.route.screen).toBe("usage");
  expect(location.hash).toBe("#/usage");
  // With a key it is the browser's matter.
  await fireEvent.click(screen.getByRole("link", { name: /Doctor/ }), { ctrlKey: true });
  expect(router.route.screen).toBe("usage");
});
