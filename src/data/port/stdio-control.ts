import { LineReader } from "../../lib/text/line-reader.ts";
import type { Admission } from "../principal.ts";
import {
  type FromProcess,
  type ProcessConfig,
  type ToProcess,
  TURN_EXIT_CODE,
} from "../process/process-messages.ts";
import type { Control } from "./control.ts";

/** Statements and log lines beyond this many bytes, because the server does not read, are dropped. */
const UNREAD_MAX_BYTES = 4 * 1024 * 1024;
/** What was written to clients and to the server leaves within this time. */
const TURN_EXIT_DELAY_MS = 20;

type EndListener = Parameters<Control["onEnd"]>[0];

export interface StdioControl extends Control {
  /** Says that the socket is served, and what became of the port. */
  readonly open: (port: number | null, failure: string | null) => void;
  readonly onStop: (listener: () => void) => void;
}

/**
 * Speaks with the server over this process' input and output, a line of JSON each way. Resolves with the configuration,
 * which is the first line. The process ends with its input.
 */
export async function openStdioControl(): Promise<{
  readonly config: ProcessConfig;
  readonly control: StdioControl;
}> {
  const logins = new Map<number, (admission: Admission) => void>();
  const endListeners: EndListener[] = [];
  const callListeners: ((lateMs: number | null) => void)[] = [];
  const stopListeners: (() => void)[] = [];
  let lastLogin = 0;
  let configured: ((config: ProcessConfig) => void) | undefined;
  const config = new Promise<ProcessConfig>((resolve) => {
    configured = resolve;
  });
  const take = (message: ToProcess) => {
    switch (message.type) {
      case "admission":
        logins.get(message.id)?.(message.admission);
        logins.delete(message.id);
        return;
      case "end":
        for (const listener of endListeners) listener(message.principalIds, message.reason);
        return;
      case "calls":
        for (const listener of callListeners) listener(message.lateMs);
        return;
      case "stop":
        for (const listener of stopListeners) listener();
    }
  };
  readLines((line) => {
    const value = parseLine(line);
    if (value === undefined) return;
    if (configured === undefined) return take(value as ToProcess);
    configured(value as ProcessConfig);
    configured = undefined;
  });
  const control: StdioControl = {
    login(secret, address) {
      lastLogin += 1;
      const id = lastLogin;
      write({ type: "login", id, secret, address });
      return new Promise((resolve) => logins.set(id, resolve));
    },
    statement: (statement) => writeIfRead({ type: "statement", statement }),
    refused: (code) => writeIfRead({ type: "refused", code }),
    connections: (open) => write({ type: "connections", open }),
    log: (level, text, fields = {}) => writeIfRead({ type: "log", level, text, fields }),
    onEnd: (listener) => void endListeners.push(listener),
    onCalls: (listener) => void callListeners.push(listener),
    exitForTurn() {
      setTimeout(() => process.exit(TURN_EXIT_CODE), TURN_EXIT_DELAY_MS);
    },
    open: (port, failure) => write({ type: "open", port, failure }),
    onStop: (listener) => void stopListeners.push(listener),
  };
  return { config: await config, control };
}

/** Node's and Bun's own readers of lines differ in what ends one; names in these lines may have any character. */
function readLines(take: (line: string) => void): void {
  const lines = new LineReader(Number.POSITIVE_INFINITY);
  process.stdin
    .on("data", (bytes: Buffer) => {
      for (const line of lines.read(bytes)) take(line);
    })
    .on("end", () => process.exit(0));
}

/** Undefined for a line that is no JSON: the sessions of everybody must not end with it. */
function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    write({
      ...{ type: "log", level: "error", fields: { characters: line.length } },
      text: "a line from the server is no JSON, and was left out",
    });
    return undefined;
  }
}

function write(message: FromProcess): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function writeIfRead(message: FromProcess): void {
  if (process.stdout.writableLength < UNREAD_MAX_BYTES) write(message);
}
