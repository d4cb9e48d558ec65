import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { LineReader } from "../../lib/text/line-reader.ts";
import { spawnProgram } from "../../lib/worker/spawn-program.ts";
import type { FromProcess, ProcessConfig, ToProcess } from "./process-messages.ts";

const PROGRAM = fileURLToPath(new URL("../port/program.ts", import.meta.url));
/** Answers pass through in chunks; what is held are statements and their trees. */
const HEAP_BYTES = 512 * 1024 * 1024;
/** A statement's text is cut far below this. */
const LINE_MAX_BYTES = 1024 * 1024;
/** A third of the processor time that the server gets where both want all of it. */
const LOWER_PRIORITY = 5;
const STOP_MS = 2_000;
const START_TIMEOUT_MS = 20_000;

/** A started data process. */
export interface StartedProcess {
  readonly pid: number | undefined;
  readonly send: (message: ToProcess) => void;
  /** Resolves when it serves its socket. Rejects when it ends before that. */
  readonly opened: Promise<void>;
  /** Resolves with how it ended: `exit code 1`, `SIGKILL` or why it did not start. */
  readonly ended: Promise<string>;
  /** Asks it to end, and kills it when it does not. */
  readonly stop: () => Promise<void>;
  readonly kill: () => void;
}

/** Starts the process, and hands each of its lines to `receive`. A line that is no message ends it. */
export function startProcess(
  config: ProcessConfig,
  receive: (message: FromProcess) => void,
): StartedProcess {
  const child = spawnProgram(PROGRAM, { heapBytes: HEAP_BYTES });
  const write = (value: ToProcess | ProcessConfig) => {
    if (child.stdin.writable) child.stdin.write(`${JSON.stringify(value)}\n`);
  };
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  child.stdin.on("error", () => undefined);
  const { promise: opened, resolve: isOpen, reject: isOver } = withResolvers();
  const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
  void ended.then((cause) => {
    clearTimeout(timer);
    isOver(new Error(cause));
  });
  const lines = new LineReader(LINE_MAX_BYTES);
  child.stdout.on("data", (bytes: Buffer) => {
    try {
      for (const line of lines.read(bytes)) {
        const message = JSON.parse(line) as FromProcess;
        receive(message);
        if (message.type !== "open") continue;
        clearTimeout(timer);
        yieldToCalls(child.pid);
        isOpen();
      }
    } catch {
      child.kill("SIGKILL");
    }
    if (lines.tooLong) child.kill("SIGKILL");
  });
  write(config);
  return {
    pid: child.pid,
    send: write,
    opened,
    ended,
    async stop() {
      write({ type: "stop" });
      const patience = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(patience);
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

/** Once it has started, it takes what processor time the calls leave. */
function yieldToCalls(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, LOWER_PRIORITY);
  } catch {
    // It has ended, or the system does not let it.
  }
}

function withResolvers() {
  let resolve: () => void = () => undefined;
  let reject: (cause: Error) => void = () => undefined;
  const promise = new Promise<void>((onOpen, onOver) => {
    resolve = onOpen;
    reject = onOver;
  });
  // Its end may come when nobody waits for it any more.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
