/** The part of a writable stream that is used. */
interface Outlet {
  readonly write: (text: string, done: (error?: Error | null) => void) => unknown;
  readonly on: (event: "error", listener: () => void) => unknown;
}

/** Where log lines go. */
export interface LogOutput {
  /** Takes a text that ends with a line's end. Never waits, never throws. */
  readonly write: (text: string) => void;
  /** Resolves when all that was taken so far is out, or could not be, or the time is over. */
  readonly flush: (limitMs: number) => Promise<void>;
}

/** Lines of so long leave in one write: a system call costs more than they do. */
const GATHER_MS = 20;
/** What waits for a slow reader at most, in characters; lines beyond are counted and dropped. */
const WAITING_MAX_LENGTH = 4 * 1024 * 1024;
/** Lines so many characters long in all leave at once. */
const BATCH_LENGTH = 64 * 1024;
/** Characters that a terminal obeys, or that some readers take for a line's end. In a JSON line they stand in texts only. */
const CONTROLS = /[\x7f-\x9f\u2028\u2029]/g;

/**
 * Writes the log without ever waiting for who reads it: a full pipe holds up no call, a reader that stands still costs
 * bounded memory, and one that is gone does not end the process. How many lines were lost is a line of its own as soon
 * as lines get through again.
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
  // Each failed write tells its own caller.
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
