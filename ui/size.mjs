// How big the page is that ships: what it weighs in the program, and what of it is code. Run after a build.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const folder = "dist/assets";
const kinds = { JavaScript: /\.js$/, CSS: /\.css$/, fonts: /\.woff2$/ };
const kB = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

const parts = Object.entries(kinds).map(([kind, ending]) => {
  const files = readdirSync(folder).filter((file) => ending.test(file)).map((file) => join(folder, file));
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  // Fonts are compressed already.
  if (kind === "fonts") return `${kB(bytes)} of ${kind}`;
  const zipped = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
  return `${kB(bytes)} of ${kind} (${kB(zipped)} with gzip)`;
});
console.log(`The page: ${parts.join(", ")}.`);
