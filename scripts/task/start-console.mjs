import { script, stopWithParent } from "./runtime.mjs";
import { startProcess } from "./start-process.mjs";

const nothingToStop = async () => {};

/**
 * Builds the console beside the server, which does not wait for it: until there is a build, the server answers with a
 * page that says so. With `watch` each change is built, and the types of the API are written, until `stop()`.
 */
export function startConsole({ watch = false } = {}) {
  if (/^(0|false)$/.test(process.env.CONSOLE_ENABLED ?? "")) return { stop: nothingToStop };
  const program = script(
    "scripts/task/build-console.mjs",
    [stopWithParent],
    watch ? ["--watch"] : [],
  );
  const { child, ended } = startProcess(program, { group: "own" });
  return {
    stop: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}
