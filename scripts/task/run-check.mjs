import { spawn, spawnSync } from "node:child_process";
import { script } from "./runtime.mjs";

// Each check fails by its exit code. dependency-cruiser must also report modules read, because it passes on none.
const checks = [
  {
    name: "biome",
    ...script(
      "node_modules/@biomejs/biome/bin/biome",
      [],
      ["ci", "--error-on-warnings", "--diagnostic-level=warn", "--colors=off"],
    ),
  },
  ...[
    ["types", "."],
    ["types of the console", "src/console"],
    ["types of the console's tests", "tests/console"],
  ].map(([name, project]) => ({
    name,
    ...script("node_modules/typescript/bin/tsc", [], ["-p", project]),
  })),
  {
    name: "dependency rules",
    ...script(
      "node_modules/dependency-cruiser/bin/dependency-cruise.mjs",
      [],
      ["src", "--config", "tests/architecture/dependency-rules.cjs"],
    ),
    proof: /\(([1-9]\d*) modules/,
  },
  { name: "knip", ...script("node_modules/knip/bin/knip.js") },
  { name: "hygiene", ...script("scripts/check-hygiene.mjs") },
];

/** Runs all checks in parallel and prints their findings; returns 0 when all passed. */
export async function runCheck() {
  // The console's client is typed by the routes.
  const { command, args } = script("scripts/task/write-api-types.mjs");
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) return status ?? 1;
  const results = await Promise.all(checks.map(run));
  for (const { name, passed, output, seconds } of results) {
    if (!passed) console.log(`${output.trim()}\n`);
    console.log(`${passed ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
  }
  return results.every(({ passed }) => passed) ? 0 : 1;
}

function run({ name, command, args, proof = /^/ }) {
  const startedMs = Date.now();
  return new Promise((resolve) => {
    let output = "";
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
    const collect = (chunk) => {
      output += chunk;
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.once("error", (error) => collect(error.message));
    child.once("close", (code) => {
      const passed = code === 0 && proof.test(output);
      resolve({ name, passed, output, seconds: ((Date.now() - startedMs) / 1000).toFixed(1) });
    });
  });
}
