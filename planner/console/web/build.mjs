// Builds ../static/console.js: npm ci && npm run build. The first line has the hash of all sources,
// by which a test notices that they have changed since.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const shared = ["dom.js", "floor_plan.js"].map((name) => `../../replay/report/assets/${name}`);
const sources = [...readdirSync(`${here}src`).sort().map((name) => `src/${name}`), ...shared];
const hash = createHash("sha256");
for (const name of sources) hash.update(readFileSync(here + name));
await build({
  absWorkingDir: here,
  entryPoints: ["src/main.ts"],
  outfile: process.argv[2] ?? "../static/console.js",
  bundle: true,
  format: "iife",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  banner: { js: `/* built from planner/console/web, sha256 of its sources ${hash.digest("hex")} */` },
});
