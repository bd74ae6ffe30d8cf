// What Doctor says.
import { count, plural } from "../model/format";

export const doctor = {
  title: "Doctor",
  findings: (n: number) => plural(n, "finding", "findings"),
  noFindings: "Nothing is wrong",
  findingsTitle: "Findings",
  notesTitle: "Good to know",
  checksTitle: "Checks",
  mend: "Show in Settings",
  files: (n: number) => `Show the ${plural(n, "file", "files")}`,
  moreFiles: (n: number) => `and ${count(n)} more; all of them are in the report.`,
  problemsTitle: "Files that could not be read",
  countsTitle: "Counted",
  limitsTitle: "What AgentHub cannot know",
  again: "Check again",
  copy: "Copy report",
  copied: "Report copied",
  copyFailed: "The report could not be copied",
  bundle: "Save diagnostics",
  bundleHint: "A file for whoever helps you, in your downloads: versions, findings and the log; nothing that you or a model wrote, no names, no addresses, no secrets",
  bundled: "Diagnostics saved",
  openFolder: "Open folder",
  version: (version: string, agy: string | null) => `AgentHub ${version}${agy ? `, agy ${agy}` : ""}`,
  level: { ok: "fine", note: "note", warning: "warning", error: "error" },
};
