import { createLog } from "../../../src/lib/log.ts";
import { endOnFaults } from "../../../src/lib/process/end-on-faults.ts";
import { openLogOutput } from "../../../src/lib/process/log-output.ts";

const output = openLogOutput();
const log = createLog("info", output);
endOnFaults(log, output);
log.info("the line before");
const fault = new TypeError("nobody catches it");
if (process.argv[2] === "rejection") void Promise.reject(fault);
else
  setTimeout(() => {
    throw fault;
  }, 1);
setInterval(() => undefined, 1_000);
