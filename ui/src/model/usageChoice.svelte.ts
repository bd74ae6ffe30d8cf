// What the person chose on the Usage screen; it stays while other screens are shown.
import type { UsageBy, UsageMeasure, UsageRange, UsageScreenQuery } from "../bindings/view";

class UsageChoice {
  range = $state<UsageRange>("days30");
  measure = $state<UsageMeasure>("cost");
  /** Of a range of one's own: the first and the last day, as they were typed. */
  since = $state("");
  until = $state("");
  cut = $state<Exclude<UsageBy, "session">>("model");

  get query(): UsageScreenQuery {
    const custom = this.range === "custom";
    const day = (text: string) => (custom && text.trim() !== "" ? text.trim() : null);
    return { range: this.range, measure: this.measure, since: day(this.since), until: day(this.until) };
  }
}

export const usageChoice = new UsageChoice();
