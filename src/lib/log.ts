import { type DestinationStream, type Logger, pino } from "pino";
import { hideAddresses } from "./text/hide-addresses.ts";

const MESSAGE_MAX_LENGTH = 1_000;
const FRAMES_MAX = 20;
const CAUSES_MAX = 4;
/** SQLSTATE classes whose messages quote the offending values. */
const QUOTES_VALUES = /^2[23]/;

/** An error as it is logged. */
interface ErrorFields {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  /** The stack frames, without the message. */
  readonly stack?: string;
  readonly cause?: ErrorFields;
}

/**
 * Returns the loggable fields of a thrown value. Other properties that libraries attach to their errors are left out: a
 * failed query carries its parameters, a failed call its headers. Either may also quote them in its message.
 */
function errorFields(thrown: unknown): ErrorFields {
  return fieldsOf(thrown, 0);
}

function fieldsOf(thrown: unknown, depth: number): ErrorFields {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: plain(String(thrown)) };
  const { cause } = thrown;
  return {
    type: thrown.name,
    ...("code" in thrown && { code: plain(String(thrown.code)) }),
    message: plain(quotesValues(thrown) ? "[it quotes values]" : thrown.message),
    ...(depth === 0 && thrown.stack !== undefined && { stack: frames(thrown.stack) }),
    ...(cause !== undefined && depth < CAUSES_MAX && { cause: fieldsOf(cause, depth + 1) }),
  };
}

/** Returns true for an error that carries a statement's parameters, and for a database error that quotes a value. */
function quotesValues(error: Error): boolean {
  if ("query" in error || "params" in error || "parameters" in error) return true;
  return "code" in error && QUOTES_VALUES.test(String(error.code)) && "severity" in error;
}

/** Removes addresses, which can contain passwords, and keys. */
function plain(text: string): string {
  return hideAddresses(text, MESSAGE_MAX_LENGTH);
}

function frames(stack: string): string {
  const lines = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return lines.slice(0, FRAMES_MAX).join("\n");
}

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
  // Joined as text: a copy of the fields would cost more than their serialisation.
  const members = JSON.stringify(fields).slice(1, -1);
  const comma = members === "" ? "" : ",";
  const rest = `${members}${comma}"msg":${JSON.stringify(message)}}`;
  destination?.write(`{"level":"${level}","time":"${time}",${rest}\n`);
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

/** Returns the message of the error's cause, or its own message if it has none, for the log. */
export function causeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause instanceof Error ? thrown.cause.message : thrown.message;
}
