// Nothing in the page moves for ever: on a machine without a graphics card each frame is painted by the processor.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? sources(path) : /\.(svelte|css|ts)$/.test(entry.name) ? [path] : [];
  });
}

const all = sources("src").filter((path) => !path.includes("bindings"));
const code = (path: string) => readFileSync(path, "utf8").replace(/\/\*[\s\S]*?\*\//g, "");

it("has no endless animation", () => {
  expect(all.length).toBeGreaterThan(50);
  expect(all.filter((path) => /\binfinite\b|iterations:\s*Infinity/.test(code(path)))).toEqual([]);
});

it("names how often each animation runs, where it runs more than once", () => {
  const animations = all.flatMap((path) => [...code(path).matchAll(/animation:\s*([^;}]+)/g)].map((m) => m[1] ?? ""));
  expect(animations.length).toBeGreaterThan(3);
  // The name, the time, the curve, and then a bare number or none.
  for (const one of animations.filter((a) => !a.startsWith("none"))) expect(one).toMatch(/^\w+ \S+ (?:[\w-]+(?:\([^)]*\))?)(?: \d+(?: alternate)?)?$/);
});
