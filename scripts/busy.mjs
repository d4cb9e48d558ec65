// Keeps processors busy, so that a test that depends on an idle machine fails for its author.
// usage: node scripts/busy.mjs PROCESSES [COMMAND [ARGUMENT…]]
// With a command: runs it beside the busy processes and exits with its code. Without one: runs for half an hour, or
// until stopped.
import { spawn } from "node:child_process";

const LIMIT_MS = 1_800_000;
const PROGRAM = "const end = Date.now() + Number(process.argv[1]); while (Date.now() < end);";

const [count, command, ...args] = process.argv.slice(2);
if (!/^[1-9]\d?$/.test(count ?? "")) {
  console.error("usage: node scripts/busy.mjs PROCESSES [COMMAND [ARGUMENT…]]");
  process.exit(2);
}

const busy = Array.from({ length: Number(count) }, () =>
  spawn(process.execPath, ["-e", PROGRAM, `${LIMIT_MS}`], { stdio: "ignore" }),
);
const stop = () => {
  for (const child of busy) child.kill("SIGKILL");
};
process.on("exit", stop);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));

if (command !== undefined) {
  const child = spawn(command, args, { stdio: "inherit" });
  child.once("error", (error) => {
    console.error(error.message);
    process.exit(127);
  });
  child.once("exit", (code) => process.exit(code ?? 1));
}
