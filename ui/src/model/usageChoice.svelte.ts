// What the person chose on the Usage screen; it stays while other screens are shown.
import type { UsageBy, UsageMeasure, UsageRange } from "../bindings/view";

class UsageChoice {
  range = $state<UsageRange>("days30");
  measure = $state<UsageMeasure>("cost");
  cut = $state<Exclude<UsageBy, "session">>("model");
}

export const usageChoice = new UsageChoice();
