import { svelte } from "@sveltejs/vite-plugin-svelte";
import { svelteTesting } from "@testing-library/svelte/vite";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [svelte(), svelteTesting()],
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
