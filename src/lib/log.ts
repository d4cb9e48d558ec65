import { type DestinationStream, type Logger, pino } from "pino";
import { errorFields } from "./error-fields.ts";

export type Log = Logger;

/** The fields of a plain line. They must contain no secrets and no long texts. */
export type PlainFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/**
 * Creates the log: one JSON line per event. Redaction by name is only a safety net; secrets must not be logged at all.
 * For an error only its type, code, message and stack are written.
 *
 * @param destination receives each line. Defaults to standard output, written synchronously.
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${timeText()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: errorFields, error: errorFields },
    redact: {
      paths: [
        "authorization",
        "cookie",
        "password",
        "key",
        "secret",
        "token",
        "*.authorization",
        "*.cookie",
        "*.password",
        "*.key",
        "*.secret",
        "*.token",
      ],
      censor: "[hidden]",
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/**
 * Writes a line of plain fields at a tenth of the logger's cost, for lines that are written for every request. Nothing
 * is redacted; strings are escaped as in JSON.
 */
export function writePlainLine(
  log: Log,
  level: "debug" | "info" | "warn" | "error",
  fields: PlainFields,
  message: string,
): void {
  if (!log.isLevelEnabled(level)) return;
  const time = timeText();
  const destination = (log as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym];
  destination?.write(`${JSON.stringify({ level, time, ...fields, msg: message })}\n`);
}

let lastMs = 0;
let lastText = "";

/** Cached, because a busy server writes many lines in one millisecond. */
function timeText(): string {
  const now = Date.now();
  if (now !== lastMs) {
    lastMs = now;
    lastText = new Date(now).toISOString();
  }
  return lastText;
}
