import { readFileSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { svelteTesting } from "@testing-library/svelte/vite";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/**
 * Lucide's icons as still pictures. Theirs are put together from data when they are drawn, several components and a dozen
 * derived values each, and a screen has fifty of them; a picture that is a template is one copy. So they take no properties:
 * all are hidden from screen readers, for the words stand beside them.
 */
export function stillIcons(): Plugin {
  return {
    name: "still-icons",
    enforce: "pre",
    load(id) {
      if (!/@lucide\/svelte\/dist\/icons\/[a-z0-9-]+\.svelte$/.test(id)) return null;
      const found = /const iconData = (\{.*\});/.exec(readFileSync(id, "utf8"))?.[1];
      if (found === undefined) throw new Error(`${id} holds its icon in another way than before: see stillIcons in vite.config.ts`);
      const icon = JSON.parse(found) as { name: string; node: [string, Record<string, string>][] };
      const shapes = icon.node.map(([tag, of]) => `<${tag}${Object.entries(of).map(([key, value]) => ` ${key}="${value}"`).join("")} />`).join("");
      return `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" class="lucide lucide-${icon.name}" aria-hidden="true">${shapes}</svg>`;
    },
  };
}

export default defineConfig({
  plugins: [stillIcons(), svelte(), svelteTesting()],
  base: "./",
  clearScreen: false,
  server: { port: 5173, strictPort: true },
  build: {
    // light-dark() must reach the web view as it is written; older targets make the CSS minifier rewrite it.
    target: ["safari17.5", "chrome123"],
    // The policy is `default-src 'self'`: no data: fonts, no inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  test: {
    environment: "jsdom",
    // A module is evaluated once for all files, and transformed once for all runs (by its content and the lock file):
    // that was half of the time. `setup.ts` puts back what a test changed.
    isolate: false,
    experimental: { fsModuleCache: true },
    setupFiles: ["tests/setup.ts"],
    include: ["tests/**/*.test.ts"],
    restoreMocks: true,
    // A busy machine with two cores is slow, not wrong.
    testTimeout: 30_000,
  },
});
