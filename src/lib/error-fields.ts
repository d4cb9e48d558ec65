import { hideAddresses } from "./hide-addresses.ts";

const MESSAGE_MAX_LENGTH = 1_000;
const FRAMES_MAX = 20;
const CAUSES_MAX = 4;
/** Classes of SQLSTATE whose messages quote the values at fault. */
const QUOTES_VALUES = /^2[23]/;

/** An error as the log has it. */
interface ErrorFields {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  /** Where it was thrown, without its message. */
  readonly stack?: string;
  readonly cause?: ErrorFields;
}

/**
 * What a log line tells of whatever was thrown. Nothing else that libraries hang onto their errors comes along: a
 * failed query carries its parameters, a failed call its headers, and either may quote them in its message.
 */
export function errorFields(thrown: unknown): ErrorFields {
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

/** A statement with its parameters, or a database's complaint about a value. */
function quotesValues(error: Error): boolean {
  if ("query" in error || "params" in error || "parameters" in error) return true;
  return "code" in error && QUOTES_VALUES.test(String(error.code)) && "severity" in error;
}

/** Without addresses, which may hold passwords, and without keys. */
function plain(text: string): string {
  return hideAddresses(text, MESSAGE_MAX_LENGTH);
}

function frames(stack: string): string {
  const lines = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return lines.slice(0, FRAMES_MAX).join("\n");
}
