// The only door to Rust: commands, events and their errors. Nothing else in the page imports Tauri.
import type {
  BoardView, Bundle, DoctorDocument, ErrorView, HooksAction, HooksPlan, HooksStatus, Notification, NotificationsDocument, SessionDetail, SessionsPage, SessionsQuery, SettingsView, Tracks, TracksQuery,
  ExportFormat, Exported, UsageBy, UsageScreen, UsageScreenQuery,
  TracingChange, TracingPatch, TracingSaved, TracingScreen, TracingTests, TracingWish, TurnTree,
  OwnPrice, PricedModel, PricingStatus, PricingView,
} from "./bindings/view";

export interface Door {
  call(command: string, args?: Record<string, unknown>): Promise<unknown>;
  on(event: string, take: (payload: unknown) => void): Promise<() => void>;
}

export type Screen = "lanes" | "sessions" | "session" | "usage" | "notifications" | "settings" | "doctor";
/** Any part of the settings. */
export type SettingsPatch = Patch<SettingsView["values"]>;
type Patch<T> = { [K in keyof T]?: (T[K] extends unknown[] ? T[K] : T[K] extends object ? Patch<T[K]> : T[K]) | null };

export interface Navigation {
  screen: Screen;
  /** A lane, a session, or a part of the settings. */
  id?: string;
}

export const EVENTS = { board: "board://changed", settings: "settings://changed", navigate: "navigate" } as const;

let door: Promise<Door> | null = null;

function theDoor(): Promise<Door> {
  door ??= openDoor();
  return door;
}

async function openDoor(): Promise<Door> {
  if ("__TAURI_INTERNALS__" in globalThis) {
    const [core, event] = await Promise.all([import("@tauri-apps/api/core"), import("@tauri-apps/api/event")]);
    return {
      call: (command, args) => core.invoke(command, args),
      on: (name, take) => event.listen(name, (e) => take(e.payload)),
    };
  }
  // The condition is a constant in a build, so the made-up board never ships.
  if (import.meta.env.DEV) return (await import("./fixture")).fixtureDoor();
  const closed: ErrorView = { code: "internal", message: "This page works only inside AgentHub." };
  return { call: () => Promise.reject(closed), on: () => Promise.resolve(() => {}) };
}

/** Tests put another backend behind the door; `null` opens the usual one again. */
export function useDoor(other: Door | null): void {
  door = other === null ? null : Promise.resolve(other);
}

/** Whatever a call threw, as the closed shape that the page branches on. */
export function errorView(thrown: unknown): ErrorView {
  if (typeof thrown === "object" && thrown !== null && "code" in thrown && "message" in thrown) {
    return { code: String(thrown.code), message: String(thrown.message) };
  }
  return { code: "internal", message: thrown instanceof Error ? thrown.message : String(thrown) };
}

async function call<T>(command: string, args?: Record<string, unknown>): Promise<T> {
  try {
    return (await (await theDoor()).call(command, args)) as T;
  } catch (thrown) {
    throw errorView(thrown);
  }
}

async function on<T>(event: string, take: (payload: T) => void): Promise<() => void> {
  return (await theDoor()).on(event, (payload) => take(payload as T));
}

export const board = () => call<BoardView>("board");
/** Say it once `onNavigate` is in place: gives the place that the page was sent to before that. */
export const pageListens = () => call<Navigation | null>("page_listens");
export const tracks = (query: TracksQuery) => call<Tracks>("tracks", { query });
export const sessions = (query: SessionsQuery) => call<SessionsPage>("sessions", { query });
export const session = (id: string) => call<SessionDetail>("session", { id });
/** One turn as the tree that tracing sends, by the step that began it: its prompt's. */
export const turnTree = (id: string, step: number) => call<TurnTree>("turn_tree", { id, step });
export const doctor = () => call<DoctorDocument>("doctor");
export const diagnostics = () => call<Bundle>("diagnostics");
export const dismiss = (laneId: string) => call<null>("dismiss", { laneId });
export const deleteSession = (id: string) => call<null>("delete_session", { id });
export const restoreSession = (id: string) => call<null>("restore_session", { id });
export const openFolder = (path: string) => call<null>("open_folder", { path });
export const settings = () => call<SettingsView>("settings");
/** A merge patch: what it names is set, `null` gives back the default. Throws `bad_settings` and sets nothing if a value can't be. */
export const setSettings = (patch: SettingsPatch) => call<SettingsView>("set_settings", { patch });
/** The history of notifications; ask again when the board's revision grows. */
export const notifications = () => call<NotificationsDocument>("notifications");
/** Shows one, whatever is muted; its `fate` and `why` say whether the system took it. */
export const testNotification = () => call<Notification>("test_notification");
export const muteLane = (laneId: string, mute: boolean) => call<SettingsView>("mute_lane", { laneId, mute });
export const hooksStatus = () => call<HooksStatus>("hooks_status");
export const hooksPlan = (action: HooksAction) => call<HooksPlan>("hooks_plan", { action });
/** Writes what the plan with this token showed, and nothing else. */
export const hooksApply = (token: string) => call<HooksPlan>("hooks_apply", { token });
export const tracingStatus = () => call<TracingScreen>("tracing_status");
/** What needs no change of agy's files; what it does not name stays. */
export const tracingSet = (patch: Partial<TracingPatch>) => call<TracingSaved>("tracing_set", { patch });
/** With `dryRun` nothing is written: the answer has the difference, and its plan's token for the wish that carries it out. */
export const tracingInstall = (wish: Partial<TracingWish>, dryRun: boolean) => call<TracingChange>("tracing_install", { wish, dryRun });
/** Likewise: `token` is of the plan that was shown. */
export const tracingUninstall = (purge: boolean, dryRun: boolean, token: string | null) => call<TracingChange>("tracing_uninstall", { purge, dryRun, token });
/** Without a token, what taking back would change. */
export const tracingUndo = (token: string | null) => call<HooksPlan>("tracing_undo", { token });
/** One span to each destination, and what each backend said. */
export const tracingTest = () => call<TracingTests>("tracing_test");
export const usage = (query: UsageScreenQuery) => call<UsageScreen>("usage", { query });
/** Writes a new file into the downloads folder, and says where. */
export const usageExport = (by: UsageBy, query: UsageScreenQuery, format: ExportFormat) => call<Exported>("usage_export", { by, query, format });
/** The price table, which row prices which model, and which models have no price. Ask again when the board's revision grows. */
export const pricing = () => call<PricingView>("pricing");
/** Asks the network, so only on the person's click. Throws `sync_…`, and the good table stays. */
export const pricingSync = () => call<PricingStatus>("pricing_sync");
/** Rates or an alias, at once effective for all costs. `null`: no call names this model yet. */
export const setPrice = (model: string, price: OwnPrice) => call<PricedModel | null>("set_price", { model, price });
export const clearPrice = (model: string) => call<PricedModel | null>("clear_price", { model });

export const onBoard = (take: (board: BoardView) => void) => on<BoardView>(EVENTS.board, take);
export const onSettings = (take: (settings: SettingsView) => void) => on<SettingsView>(EVENTS.settings, take);
export const onNavigate = (take: (to: Navigation) => void) => on<Navigation>(EVENTS.navigate, take);
