/** The part of a writable stream that is used here. */
interface Outlet {
  readonly write: (text: string, done: (error?: Error | null) => void) => unknown;
  readonly on: (event: "error", listener: () => void) => unknown;
}

/** The destination of log lines. */
export interface LogOutput {
  /** Takes text that ends with a line end. Never waits, never throws. */
  readonly write: (text: string) => void;
  /** Resolves when everything taken so far is written or failed, or after `limitMs`. */
  readonly flush: (limitMs: number) => Promise<void>;
}

/** Lines of this period are written together: a system call costs more than the lines. */
const GATHER_MS = 20;
/** The most characters buffered for a slow reader. Further lines are counted and dropped. */
const WAITING_MAX_LENGTH = 4 * 1024 * 1024;
/** This many buffered characters are written immediately. */
const BATCH_LENGTH = 64 * 1024;
/**
 * Terminal control characters, and characters that some readers take for a line end. In a JSON line they occur only in
 * strings.
 */
const CONTROLS = /[\x7f-\x9f\u2028\u2029]/g;

/**
 * Writes the log without ever waiting for its reader. A full pipe delays no call, a stalled reader costs bounded
 * memory, and a closed pipe does not end the process. When lines get through again, a line reports how many were
 * dropped.
 */
export function openLogOutput(outlet: Outlet = process.stdout): LogOutput {
  let waiting = "";
  let dropped = 0;
  let isWriting = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onIdle: (() => void)[] = [];

  const writeNow = () => {
    clearTimeout(timer);
    timer = undefined;
    if (isWriting) return;
    if (waiting === "") {
      for (const resolve of onIdle.splice(0)) resolve();
      return;
    }
    const batch = waiting;
    waiting = "";
    isWriting = true;
    outlet.write(batch.replace(CONTROLS, escaped), (error) => {
      isWriting = false;
      if (error != null) dropped += batch.split("\n").length - 1;
      else if (dropped > 0) {
        waiting += droppedLine(dropped);
        dropped = 0;
      }
      writeNow();
    });
  };
  // Each failed write is reported to its own callback.
  outlet.on("error", () => undefined);

  return {
    write(text) {
      if (waiting.length + text.length > WAITING_MAX_LENGTH) {
        dropped += 1;
        return;
      }
      waiting += text;
      if (isWriting) return;
      if (waiting.length >= BATCH_LENGTH) writeNow();
      else timer ??= setTimeout(writeNow, GATHER_MS);
    },
    flush(limitMs) {
      return new Promise((resolve) => {
        const limit = setTimeout(resolve, limitMs);
        onIdle.push(() => {
          clearTimeout(limit);
          resolve();
        });
        writeNow();
      });
    },
  };
}

function droppedLine(count: number): string {
  const fields = {
    level: "warn",
    time: new Date().toISOString(),
    lines: count,
    msg: "lines of the log were dropped: who reads it is too slow, or was away",
  };
  return `${JSON.stringify(fields)}\n`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
