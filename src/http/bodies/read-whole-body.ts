import type { ServiceError } from "../../core/service-error.ts";
import type { CancelSignal } from "../../lib/cancellation.ts";
import { noteBodyBrokenOff } from "../server/leaves-body-unread.ts";
import { withinBodyTime } from "./within-body-time.ts";

/**
 * A body has this much time, plus a second for each thousand bytes. Slow honest clients pass; one byte a second does
 * not.
 */
const BODY_BASE_MS = 20_000;
const BODY_BYTES_PER_MS = 1;
/**
 * A body with an announced length up to this is given the time of all its bytes at the start, because reading in pieces
 * costs more.
 */
const AT_ONCE_BYTES = 10_000;

export interface WholeBodyOptions {
  /** The length by the request's headers; undefined when they do not give it. */
  readonly announcedBytes: number | undefined;
  readonly maxBytes: number;
  /** Builds the error for a body that is too long. */
  readonly tooLarge: () => ServiceError;
  /** Builds the error for a body that broke off. */
  readonly brokenOff: (thrown: unknown) => ServiceError;
  /** Ends the reading when its reason is a `ServiceError`. */
  readonly signal: CancelSignal | undefined;
  /**
   * Called with the length of the body, or with the number of bytes received so far. An error that it throws ends the
   * reading.
   */
  readonly hold: ((bytes: number) => void) | undefined;
  /** `hold` is called only for bytes that arrived, because anybody may announce a body and send none of it. */
  readonly holdsArrived: boolean;
  /** The body is read to its end, so that its faults are found, but nothing of it is kept: the result is empty. */
  readonly isDropped: boolean;
}

/**
 * Reads a body to its end, within its limits of size and time. Throws or rejects with a `ServiceError`. A longer body earns its time as it arrives, so that an
 * announced body that is never sent does not hold memory for long.
 */
export function readWholeBody(request: Request, options: WholeBodyOptions): Promise<Uint8Array> {
  const { announcedBytes, maxBytes, tooLarge, signal, brokenOff, hold, holdsArrived } = options;
  if (!holdsArrived) hold?.(announcedBytes ?? 0);
  if (announcedBytes === undefined || announcedBytes > AT_ONCE_BYTES) {
    return readInPieces(request, options);
  }
  const allowedMs = BODY_BASE_MS + announcedBytes / BODY_BYTES_PER_MS;
  const reading = request.arrayBuffer().then((buffer) => {
    if (buffer.byteLength > maxBytes) throw tooLarge();
    if (holdsArrived) hold?.(buffer.byteLength);
    return options.isDropped ? new Uint8Array() : new Uint8Array(buffer);
  });
  return withinBodyTime(() => allowedMs, reading, brokenOff, signal);
}

async function readInPieces(request: Request, options: WholeBodyOptions): Promise<Uint8Array> {
  const { maxBytes, tooLarge, brokenOff, signal, hold, isDropped } = options;
  const reader = request.body?.getReader();
  if (reader === undefined) return new Uint8Array();
  const pieces: Uint8Array[] = [];
  let size = 0;
  const readAll = async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      size += value.byteLength;
      if (size > maxBytes) throw tooLarge();
      hold?.(size);
      if (!isDropped) pieces.push(value);
    }
  };
  const allowedMs = () => BODY_BASE_MS + size / BODY_BYTES_PER_MS;
  try {
    await withinBodyTime(allowedMs, readAll(), brokenOff, signal);
  } catch (thrown) {
    // The rest of the body has no reader.
    noteBodyBrokenOff(request);
    reader.cancel().catch(() => undefined);
    throw thrown;
  }
  const [first] = pieces;
  if (isDropped) return new Uint8Array();
  return pieces.length === 1 && first !== undefined ? first : joined(pieces, size);
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
