import { ServiceError } from "../../core/service-error.ts";
import type { CancelSignal } from "../../lib/cancellation.ts";
import { isDeeperThan } from "../../lib/json/json-depth.ts";
import { findJsonError } from "./find-json-error.ts";
import { inLargeTurn } from "./large-turns.ts";
import { readWholeBody } from "./read-whole-body.ts";

export interface BodyLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
  /** Set when `maxBytes` is the path's own limit instead of GATEWAY_MAX_BODY_BYTES. */
  readonly isFixed?: true | undefined;
  /** Ends the reading when its reason is a `ServiceError`. */
  readonly signal?: CancelSignal;
  /**
   * Called with the length of the body, or with the number of bytes received so far. An error that it throws ends the
   * reading.
   */
  readonly hold?: (bytes: number) => void;
  /**
   * Rewrites the text before it is parsed, for values that a number cannot hold. The text that is returned, and the
   * place of an error in it, are those that were received.
   */
  readonly rewrite?: (text: string) => string;
}

export interface BytesLimits extends Omit<BodyLimits, "maxDepth"> {
  /** Set when `hold` is called only for bytes that arrived: the sender is not known and may send none. */
  readonly holdsArrived?: true;
  /** Set when the body is read to its end only to find its faults: the result is empty. */
  readonly isDropped?: true;
}

/** Longer bodies are parsed one at a time: a body of 30 MiB holds the event loop for some 100 ms. */
const LARGE_BYTES = 1024 * 1024;
const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A body in two forms: parsed, and as the received text. */
export interface JsonBody {
  readonly body: unknown;
  readonly text: string;
}

/**
 * Reads a JSON body under its limits: type, size while it arrives, time, UTF-8 and depth, and parses it only after
 * these. Throws a `ServiceError` for each.
 */
export async function readJsonBody(request: Request, limits: BodyLimits): Promise<JsonBody> {
  const bytes = await readJsonBytes(request, limits);
  return bytes.length > LARGE_BYTES
    ? inLargeTurn((pause) => parseInSteps(bytes, limits, pause))
    : parse(bytes, limits);
}

/**
 * Reads a body that is declared to be JSON, under its limits of type, size and time, without looking at its bytes.
 * Throws or rejects with a `ServiceError`.
 */
export function readJsonBytes(request: Request, limits: BytesLimits): Promise<Uint8Array> {
  checkHeaders(request.headers);
  const announced = announcedBytes(request.headers);
  if (announced !== undefined && announced > limits.maxBytes) throw tooLarge(limits);
  return readWholeBody(request, {
    announcedBytes: announced,
    maxBytes: limits.maxBytes,
    tooLarge: () => tooLarge(limits),
    brokenOff,
    signal: limits.signal,
    hold: limits.hold,
    holdsArrived: limits.holdsArrived ?? false,
    isDropped: limits.isDropped ?? false,
  });
}

function checkHeaders(headers: Headers): void {
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new ServiceError("unsupported_media_type", "Send the body without a content encoding.", {
      param: "Content-Encoding",
    });
  }
  const type = headers.get("content-type");
  if (type === null || !JSON_TYPE.test(type)) {
    throw new ServiceError(
      "unsupported_media_type",
      "Send the body as Content-Type: application/json in UTF-8.",
      { param: "Content-Type" },
    );
  }
}

function announcedBytes(headers: Headers): number | undefined {
  const length = headers.get("content-length");
  return length === null ? undefined : Number(length);
}

function brokenOff(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError("invalid_json", "The body broke off before its end.", { cause: thrown });
}

function parse(bytes: Uint8Array, { maxDepth, rewrite }: BodyLimits): JsonBody {
  const text = decode(bytes, maxDepth);
  return { body: parseText(text, rewrite?.(text)), text };
}

/** Parses in steps, so that other requests are served between the steps and before the next use of the body. */
async function parseInSteps(
  bytes: Uint8Array,
  { maxDepth, signal, rewrite }: BodyLimits,
  pause: () => Promise<void>,
): Promise<JsonBody> {
  await pause();
  signal?.throwIfAborted();
  const text = decode(bytes, maxDepth);
  await pause();
  const rewritten = rewrite?.(text);
  if (rewritten !== undefined) await pause();
  const body = parseText(text, rewritten);
  await pause();
  return { body, text };
}

function decode(bytes: Uint8Array, maxDepth: number): string {
  if (bytes.length === 0) {
    throw new ServiceError("invalid_json", "The body is empty; send a JSON object.");
  }
  if (isDeeperThan(maxDepth, bytes)) {
    throw new ServiceError("invalid_json", `The body nests deeper than ${maxDepth} levels.`);
  }
  try {
    return utf8.decode(bytes);
  } catch (thrown) {
    throw notJson(thrown, "it is not UTF-8");
  }
}

function parseText(text: string, rewritten = text): unknown {
  try {
    return JSON.parse(rewritten);
  } catch (thrown) {
    throw notJson(thrown, whereWrong(text));
  }
}

/** The runtime's own error is not the cause, because it may contain a part of the body. */
function notJson(_thrown: unknown, reason: string): ServiceError {
  return new ServiceError("invalid_json", `The body is not valid JSON: ${reason}.`);
}

function whereWrong(text: string): string {
  const found = findJsonError(text);
  if (found === undefined) return "it does not parse";
  const { line, column, isEnd } = found;
  return isEnd ? "it ends before its value does" : `see line ${line}, column ${column}`;
}

function tooLarge({ maxBytes, isFixed }: Pick<BodyLimits, "maxBytes" | "isFixed">): ServiceError {
  const hint = isFixed ? "" : "; the operator sets GATEWAY_MAX_BODY_BYTES";
  return new ServiceError("request_too_large", `The body is larger than ${maxBytes} bytes${hint}.`);
}
