// Takes the lock of the folder given and holds it until it is ended. Says "held", or why not.
import { writeSync } from "node:fs";
import { acquireProcessLock } from "../../../src/lib/process-lock/process-lock.ts";

const folder = process.argv[2] ?? "";
try {
  await acquireProcessLock(folder);
  writeSync(1, "held\n");
  setInterval(() => undefined, 60_000);
} catch (thrown) {
  writeSync(1, `refused: ${thrown instanceof Error ? thrown.message : thrown}\n`);
  process.exitCode = 1;
}
