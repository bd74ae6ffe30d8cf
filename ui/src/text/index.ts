// Every word that the page says: one file per screen.
export * from "./shell";
export * from "./states";
export * from "./lanes";
export * from "./sessions";
export * from "./session";
export * from "./doctor";
export * from "./money";
export * from "./settings";
export * from "./hooks";
export * from "./usage";
export * from "./notifications";
export * from "./pricing";
export * from "./tracing";
export * from "./palette";
