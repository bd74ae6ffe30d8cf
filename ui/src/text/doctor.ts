// What Doctor says.

export const doctor = {
  title: "Doctor",
  findings: (n: number) => (n === 1 ? "1 finding" : `${n} findings`),
  noFindings: "Nothing is wrong",
  findingsTitle: "Findings",
  notesTitle: "Good to know",
  checksTitle: "Checks",
  mend: "Show in Settings",
  files: (n: string) => `Show the ${n} files`,
  moreFiles: (n: string) => `and ${n} more; all of them are in the report.`,
  problemsTitle: "Files that could not be read",
  countsTitle: "Counted",
  limitsTitle: "What AgentHub cannot know",
  again: "Check again",
  copy: "Copy report",
  copied: "Report copied",
  copyFailed: "The report could not be copied",
  version: (version: string, agy: string | null) => `AgentHub ${version}${agy ? `, agy ${agy}` : ""}`,
  level: { ok: "fine", note: "note", warning: "warning", error: "error" },
};
