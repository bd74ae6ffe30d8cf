import { afterEach, expect, it, vi } from "vitest";
import * as api from "../src/api";
import { fixtureDoor } from "../src/fixture";

afterEach(() => {
  delete (globalThis as Record<string, unknown>)["__TAURI_INTERNALS__"];
});

it("names each command and its arguments as Rust does", async () => {
  const calls: [string, unknown][] = [];
  api.useDoor({ call: (c, a) => (calls.push([c, a]), Promise.resolve(null)), on: () => Promise.resolve(() => {}) });
  const query = { search: null, lane_id: null, parent_id: null, model: null, since: null, period: null, state: null, sort: "active" as const, ascending: false, offset: 0, limit: 100 };
  await api.board();
  await api.pageListens();
  await api.tracks({ since: "t", until: null, lanes: [] });
  await api.sessions(query);
  await api.session("s");
  await api.turnTree("s", 7);
  await api.doctor();
  await api.diagnostics();
  await api.dismiss("l");
  await api.deleteSession("s");
  await api.restoreSession("s");
  await api.openFolder("/x");
  await api.hooksStatus();
  await api.hooksPlan("install");
  await api.hooksApply("install-1");
  const asked = { range: "custom" as const, measure: "cost" as const, since: "2026-11-01", until: null };
  await api.usage(asked);
  await api.usageExport("model", asked, "csv");
  expect(calls).toEqual([
    ["board", undefined], ["page_listens", undefined], ["tracks", { query: { since: "t", until: null, lanes: [] } }], ["sessions", { query }], ["session", { id: "s" }], ["turn_tree", { id: "s", step: 7 }], ["doctor", undefined], ["diagnostics", undefined], ["dismiss", { laneId: "l" }],
    ["delete_session", { id: "s" }], ["restore_session", { id: "s" }], ["open_folder", { path: "/x" }],
    ["hooks_status", undefined], ["hooks_plan", { action: "install" }], ["hooks_apply", { token: "install-1" }],
    ["usage", { query: asked }], ["usage_export", { by: "model", query: asked, format: "csv" }],
  ]);
});

it("gives every failure the closed shape", async () => {
  const thrown: unknown[] = [{ code: "not_found", message: "gone" }, new Error("boom"), "text", null];
  const seen: unknown[] = [];
  for (const t of thrown) {
    api.useDoor({ call: () => Promise.reject(t), on: () => Promise.resolve(() => {}) });
    await api.board().catch((e: unknown) => seen.push(e));
  }
  expect(seen).toEqual([
    { code: "not_found", message: "gone" }, { code: "internal", message: "boom" }, { code: "internal", message: "text" }, { code: "internal", message: "null" },
  ]);
});

it("listens, and stops", async () => {
  const door = fixtureDoor("full");
  api.useDoor(door);
  const take = vi.fn();
  const stop = await api.onNavigate(take);
  door.emit("navigate", { screen: "doctor" });
  stop();
  door.emit("navigate", { screen: "lanes" });
  expect(take.mock.calls).toEqual([[{ screen: "doctor" }]]);
});

it("goes through Tauri where there is one", async () => {
  const invoke = vi.fn().mockResolvedValue("answer");
  (globalThis as Record<string, unknown>)["__TAURI_INTERNALS__"] = { invoke, transformCallback: () => 1 };
  (window as unknown as Record<string, unknown>)["__TAURI_INTERNALS__"] = { invoke, transformCallback: () => 1 };
  api.useDoor(null);
  expect(await api.session("s")).toBe("answer");
  expect(invoke.mock.calls[0]?.slice(0, 2)).toEqual(["session", { id: "s" }]);
});
