// Runs the tests; what failed beside other files is run once more with nothing beside it.
// usage: node scripts/run-tests.mjs COMMAND… [: PATH…]     such as `npm test -- --retry=1 : tests/db tests/usage`
// A machine that is slow or busy makes a test fail now and then. A file that fails alone, too, has a fault; both runs
// are printed whole, so that a race is seen although it stops nobody. An error that no test has caught is always a
// failure: files share processes, so that nobody knows whose it was.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

/** With more failed files than these something is broken for all, and another run would only take its time. */
const FILES_MAX = 12;

const given = process.argv.slice(2);
const colon = given.indexOf(":");
const [command, wanted] = colon < 0 ? [given, []] : [given.slice(0, colon), given.slice(colon + 1)];
const folder = mkdtempSync(join(tmpdir(), "failed-files-"));
const list = join(folder, "list");

let child;
// A limit of time outside ends the tests, not this program alone.
process.once("SIGTERM", () => {
  child?.kill("SIGTERM");
  process.exit(1);
});

async function run(paths, more = []) {
  const env = { ...process.env, FAILED_FILES: list };
  const [program, ...args] = [...command, ...more, ...paths];
  child = spawn(program, args, { env, stdio: ["ignore", "inherit", "inherit"] });
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (status) => resolve(status ?? 1));
  });
}

function failedFiles() {
  try {
    return readFileSync(list, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}

let code = await run(wanted);
const files = failedFiles();
if (code !== 0 && files.length > 0 && files.length <= FILES_MAX && !files.includes("?")) {
  const paths = files.map((file) => relative(process.cwd(), file));
  console.log(`\nOnce more, one after another: ${paths.join(" ")}\n`);
  code = await run(paths, ["--no-file-parallelism"]);
}
rmSync(folder, { recursive: true, force: true });
process.exitCode = code;
