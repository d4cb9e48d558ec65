import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleProgram } from "../../../scripts/bundle-program.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const onBun = process.versions["bun"] !== undefined;
/** What a program is started with, so that nothing is spent on optimising WebAssembly that runs for a moment. */
export const SHORT_LIVED = { BUN_JSC_useOMGJIT: "0" };
/** For the same reason: V8 would spend seconds of processor time on the embedded database, and optimise code too early. */
export const SHORT_LIVED_ON_NODE = ["--liftoff-only", "--interrupt-budget=2000000"];

const bundles = new Map<string, Promise<string>>();
let last: Promise<unknown> = Promise.resolve();

/**
 * What runs a program of ours, on the runtime that runs the tests: command and arguments. Node is given one file, because
 * tests start hundreds of servers.
 *
 * @param program from the root of the project, such as `src/main.ts`.
 */
export async function commandOf(program: string): Promise<readonly string[]> {
  const path = await pathOf(program);
  if (onBun) return [process.execPath, "--no-env-file", path];
  const quiet = "--disable-warning=ExperimentalWarning";
  return [process.execPath, ...SHORT_LIVED_ON_NODE, quiet, path];
}

/** The file that the runtime is given for a program. */
export async function pathOf(program: string): Promise<string> {
  // The command may be run in another folder.
  if (onBun) return resolve(ROOT, program);
  let bundle = bundles.get(program);
  if (bundle === undefined) {
    // One after another: the end of a build stops the bundler for all.
    bundle = last.then(() => bundleProgram(program));
    last = bundle.catch(() => undefined);
    bundles.set(program, bundle);
  }
  return bundle;
}
