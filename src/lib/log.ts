import { type DestinationStream, type Logger, pino } from "pino";
import { errorFields } from "./error-fields.ts";

export type Log = Logger;

/** What a plain line may hold: nothing that is secret, and no text that is long. */
export type PlainFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/**
 * One JSON line an event. Secrets are redacted by name as a last net: they are not to be logged at all. Of an error
 * only its kind, code, message and place are written.
 *
 * @param destination takes each line; standard output, waited for, when there is none.
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
 * Writes a line of plain fields at a tenth of the logger's cost, for what is written with every request. Nothing is
 * redacted, and a text is escaped as JSON does it.
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

/** A busy server writes many lines in one millisecond. */
function timeText(): string {
  const now = Date.now();
  if (now !== lastMs) {
    lastMs = now;
    lastText = new Date(now).toISOString();
  }
  return lastText;
}
