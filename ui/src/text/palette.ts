// What the palette says.

export const palette = {
  open: "Go to",
  title: "Go to a lane, a session, or an action",
  input: "Lane, session or action",
  nothing: (what: string) => `Nothing matches “${what}”`,
  searching: "Searching…",
  screens: "Screens",
  lanes: "Lanes",
  sessions: "Sessions",
  actions: "Actions",
  needy: "Next lane that needs you",
  search: "Search sessions",
  mute: "Mute lane",
  unmute: "Unmute lane",
  folder: "Open folder",
  copy: "Copy session id",
};
