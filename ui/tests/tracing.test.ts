import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { useDoor } from "../src/api";
import { fixtureDoor, type Fixture, type World } from "../src/fixture";
import App from "../src/view/App.svelte";

afterEach(() => {
  cleanup();
  history.replaceState(null, "", "/");
});

async function open(world: World, tracing = ""): Promise<Fixture> {
  history.replaceState(null, "", `/?${tracing === "" ? "" : `tracing=${tracing}`}#/settings/tracing`);
  const door = fixtureDoor(world);
  useDoor(door);
  render(App);
  await screen.findByRole("heading", { level: 2, name: "Destinations" });
  return door;
}
const named = (door: Fixture, command: string) => door.calls.filter((c) => c.command === command).map((c) => c.args);
const card = () => within(screen.getByRole("region", { name: "Send traces" }));
const place = (id: string) => within(screen.getByRole("group", { name: id }));
const text = () => document.body.textContent?.replace(/\s+/g, " ") ?? "";

/** The menu of presets, opened as a keyboard does. */
async function add(name: string) {
  const trigger = screen.getByRole("button", { name: "Add" });
  trigger.focus();
  await fireEvent.keyDown(trigger, { key: "Enter" });
  const item = await screen.findByRole("menuitem", { name });
  await fireEvent.pointerUp(item);
  await fireEvent.click(item);
  return within(await screen.findByRole("form", { name: `New destination: ${name}` }));
}
const write = async (label: string, value: string, form: ReturnType<typeof within>) => fireEvent.input(form.getByLabelText(label), { target: { value } });

describe("r1 r4 destinations", () => {
  it("are added with the difference to hooks.json shown before it is written, and by its token", async () => {
    const door = await open("empty");
    expect(text()).toContain("No destination yet");
    expect(screen.getByRole("switch", { name: "Send traces" })).toBeDisabled();
    const form = await add("Langfuse");
    await write("Endpoint", "https://langfuse.example/api/public/otel", form);
    const secret = form.getByLabelText("Value of header 1");
    expect(secret).toHaveAttribute("type", "password");
    expect(form.getByLabelText("Name of header 1")).toHaveValue("authorization");
    await fireEvent.input(secret, { target: { value: "Basic c2VjcmV0" } });
    await fireEvent.submit(secret.closest("form") as HTMLFormElement);
    const plan = await screen.findByRole("group", { name: "Install will change two files." });
    expect(within(plan).getByRole("region", { name: "Exact difference" })).toHaveTextContent('added: "agenthub-tracing": {');
    expect(plan).toHaveTextContent("Traces go to https://langfuse.example/api/public/otel.");
    const wish = { preset: "langfuse", add: false, endpoint: "https://langfuse.example/api/public/otel", headers: ["authorization: Basic c2VjcmV0"], project: null };
    expect(named(door, "tracing_install")).toEqual([{ wish, dryRun: true }]);
    await fireEvent.click(within(plan).getByRole("button", { name: "Write hooks.json" }));
    expect(await screen.findByText("Tracing is on")).toBeVisible();
    expect(named(door, "tracing_install").at(-1)).toEqual({ wish: { ...wish, token: "install-0" }, dryRun: false });
    expect(await screen.findByRole("group", { name: "langfuse" })).toHaveTextContent("Headers: authorization");
    expect(document.body.innerHTML).not.toContain("c2VjcmV0");
    expect(screen.queryByRole("form")).toBeNull();
    // The next one changes nothing of agy's, so there is nothing to show first.
    const atatus = await add("Atatus");
    expect(atatus.getByLabelText("Endpoint")).toBeRequired();
    await write("Endpoint", "localhost:4318", atatus);
    await fireEvent.submit(atatus.getByLabelText("Endpoint").closest("form") as HTMLFormElement);
    expect(await screen.findByText(/has no scheme. Is it/)).toBeVisible();
    await write("Endpoint", "https://otlp.atatus.example", atatus);
    await fireEvent.submit(atatus.getByLabelText("Endpoint").closest("form") as HTMLFormElement);
    expect(await screen.findByRole("group", { name: "atatus" })).toBeVisible();
  });

  it("say what the backend said, what waits and until when, and what was lost", async () => {
    await open("full");
    expect(screen.getByRole("group", { name: "phoenix" })).toHaveTextContent(/Took 12 spans at .* · 200 in 18 ms.*1,?204 spans sent/);
    const it = screen.getByRole("group", { name: "langfuse" });
    expect(it).toHaveTextContent(/401\..*does not accept the key.*168 spans kept \(48 KiB\).*next try in 3 min.*4 times in a row.*3 spans given up/);
    expect(place("langfuse").getByRole("button", { name: "Edit key… langfuse" })).toBeVisible();
    expect(screen.getByRole("group", { name: "collector" })).toHaveTextContent(/Cannot be used\..*has no scheme/);
    expect(text()).toContain("1 value cannot be used");
  });

  it("are tested, and answer", async () => {
    const door = await open("quiet");
    await fireEvent.click(screen.getByRole("button", { name: "Send a test span" }));
    await waitFor(() => expect(named(door, "tracing_test")).toHaveLength(1));
    await waitFor(() => expect(screen.getByRole("group", { name: "phoenix" })).toHaveTextContent(/Took 1 span at .* · 200 in 7 ms.*Test span in trace 9f41c0d25a7e4b0c8d6e0123456789b7/));
  });

  it("are edited, switched off and removed; an empty endpoint stays as it is", async () => {
    const door = await open("full");
    await fireEvent.click(place("langfuse").getByRole("button", { name: "Edit key… langfuse" }));
    const form = within(await screen.findByRole("form", { name: "Edit langfuse" }));
    await write("Value of header 1", "Basic bmV3", form);
    await fireEvent.click(form.getByRole("button", { name: "GenAI" }));
    await fireEvent.submit(form.getByLabelText("Endpoint").closest("form") as HTMLFormElement);
    await waitFor(() => expect(named(door, "tracing_set")).toEqual([{ patch: { destination: { id: "langfuse", remove: false, enabled: null, endpoint: null, headers: ["authorization: Basic bmV3"], project: "", profiles: "gen_ai" } } }]));
    await waitFor(() => expect(screen.queryByRole("form")).toBeNull());
    await fireEvent.click(screen.getByRole("switch", { name: "Send to phoenix" }));
    await waitFor(() => expect(screen.getByRole("group", { name: "phoenix" })).toHaveTextContent("Off"));
    await fireEvent.click(place("collector").getByRole("button", { name: "Edit… collector" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Remove destination" }));
    expect(screen.getByRole("group", { name: "collector" })).toBeVisible();
    await fireEvent.click(screen.getByRole("button", { name: "Remove, with its headers and what waits for it" }));
    await waitFor(() => expect(screen.queryByRole("group", { name: "collector" })).toBeNull());
  });
});

describe("h2 the tracing hook", () => {
  it("is removed as it was shown, and by no other difference", async () => {
    const door = await open("quiet");
    await fireEvent.click(card().getByRole("button", { name: "Remove hook…" }));
    await screen.findByRole("group", { name: "Remove will change two files." });
    expect(named(door, "tracing_uninstall")).toEqual([{ purge: false, dryRun: true, token: null }]);
    await door.call("tracing_touch");
    await fireEvent.click(screen.getByRole("button", { name: "Write hooks.json" }));
    expect(await screen.findByText(/The file changed after its difference was shown/)).toBeVisible();
    await fireEvent.click(screen.getByRole("button", { name: "Write hooks.json" }));
    expect(await screen.findByText("Tracing is off, and its hook is gone")).toBeVisible();
    expect(named(door, "tracing_uninstall").filter((a) => a?.["dryRun"] === false).map((a) => a?.["token"])).toEqual(["remove-0", "remove-1"]);
    // And back.
    await fireEvent.click(await screen.findByRole("button", { name: "Undo last change…" }));
    await screen.findByRole("group", { name: /^Undo will change/ });
    await fireEvent.click(screen.getByRole("button", { name: "Write hooks.json" }));
    await waitFor(() => expect(screen.getByRole("switch", { name: "Send traces" })).toBeChecked());
    expect(named(door, "tracing_undo")).toEqual([{ token: null }, { token: "undo-1" }]);
  });

  it("closes the preview with Esc, and writes nothing", async () => {
    const door = await open("quiet");
    await fireEvent.click(card().getByRole("button", { name: "Remove hook…" }));
    await screen.findByRole("group", { name: /^Remove will change/ });
    await fireEvent.keyDown(document.activeElement ?? document.body, { key: "Escape" });
    await waitFor(() => expect(screen.queryByRole("group", { name: /^Remove will change/ })).toBeNull());
    expect(named(door, "tracing_uninstall").some((a) => a?.["dryRun"] === false)).toBe(false);
  });

  it("stays where it is while tracing is switched off", async () => {
    const door = await open("quiet");
    await fireEvent.click(screen.getByRole("switch", { name: "Send traces" }));
    await waitFor(() => expect(named(door, "tracing_set")).toEqual([{ patch: { enabled: false } }]));
    expect(await screen.findByText(/what agy tells it is thrown away/)).toBeVisible();
    await fireEvent.click(screen.getByRole("switch", { name: "Send traces" }));
    await waitFor(() => expect(screen.getByRole("switch", { name: "Send traces" })).toBeChecked());
  });
});

describe("r9 r10 r12 what leaves", () => {
  it("is switched one by one, and a refusal stands beside its control", async () => {
    const door = await open("quiet");
    await fireEvent.click(screen.getByRole("switch", { name: "Prompts" }));
    await waitFor(() => expect(screen.getByRole("switch", { name: "Prompts" })).toBeChecked());
    expect(screen.getByRole("switch", { name: "Answers" })).not.toBeChecked();
    await fireEvent.click(screen.getByRole("switch", { name: "Antigravity desktop app" }));
    await waitFor(() => expect(screen.getByRole("switch", { name: "Antigravity desktop app" })).not.toBeChecked());
    expect(text()).not.toContain("No log of agy’s names an address");
    await fireEvent.click(screen.getByRole("button", { name: "E-mail" }));
    expect(await screen.findByText(/No log of agy’s names an address/)).toBeVisible();
    const file = screen.getByRole("textbox", { name: "File" });
    await fireEvent.change(file, { target: { value: "here.jsonl" } });
    expect(await screen.findByText(/it is a whole path/)).toBeVisible();
    await waitFor(() => expect(file).toHaveValue(""));
    expect(named(door, "tracing_set").slice(0, 3)).toEqual([
      { patch: { content: { prompts: true, answers: null, thinking: null, arguments: null, results: null, longest: null } } },
      { patch: { surfaces: { antigravity: false } } }, { patch: { user: "email" } },
    ]);
  });
});
