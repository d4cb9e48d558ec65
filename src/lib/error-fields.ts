import { hideAddresses } from "./hide-addresses.ts";

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
