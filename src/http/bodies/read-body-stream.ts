import { ServiceError } from "../../core/service-error.ts";
import type { CancelSignal } from "../../lib/cancellation.ts";
import { withinBodyTime } from "./within-body-time.ts";

/** A body that is read in pieces. */
export interface BodyStream extends AsyncIterable<Uint8Array> {
  /** True once the body has been read to its end. */
  readonly isRead: () => boolean;
}

export interface BodyStreamLimits {
  readonly maxBytes: number;
  /** The setting that sets this limit, for the operator; undefined if there is no such setting. */
  readonly setting?: string;
  /** Ends the reading when its reason is a `ServiceError`. */
  readonly signal?: CancelSignal;
  /**
   * Called with the announced length of the body, then with the number of bytes received. An error that it throws ends
   * the reading.
   */
  readonly hold?: (bytes: number) => void;
}

/** The total time that may be spent waiting for the client, plus a millisecond for this many received bytes. */
const WAIT_BASE_MS = 20_000;
const WAIT_BYTES_PER_MS = 1;

type Step = IteratorResult<Uint8Array, undefined>;

/**
 * Returns the body of a request as it arrives, pulled as fast as its reader takes it. Only the time spent waiting for
 * the client counts. The iterator throws `request_too_large`, `request_timeout`, or `invalid_value` when the client has
 * broken off. The function itself throws `request_too_large` when the announced length exceeds the limit, and the error
 * that `hold` throws for that length.
 *
 * @param onBroken is called when the client has broken off.
 */
export function readBodyStream(
  request: Request,
  limits: BodyStreamLimits,
  onBroken: () => void,
): BodyStream {
  const announced = Number(request.headers.get("content-length") ?? Number.NaN);
  if (announced > limits.maxBytes) throw tooLarge(limits);
  limits.hold?.(Number.isFinite(announced) ? announced : 0);
  let isRead = request.body === null;
  let bytes = 0;
  let waitedMs = 0;
  const brokenOff = (cause: unknown) => {
    onBroken();
    return new ServiceError("invalid_value", "The body broke off before its end.", { cause });
  };

  async function* read(): AsyncGenerator<Uint8Array, undefined> {
    const reader = request.body?.getReader();
    if (reader === undefined) return;
    try {
      for (;;) {
        const startedAt = performance.now();
        const leftMs = WAIT_BASE_MS + bytes / WAIT_BYTES_PER_MS - waitedMs;
        const reading = reader.read() as Promise<Step>;
        const { done, value } = await withinBodyTime(
          () => leftMs,
          reading,
          brokenOff,
          limits.signal,
        );
        waitedMs += performance.now() - startedAt;
        if (done === true) break;
        bytes += value.byteLength;
        if (bytes > limits.maxBytes) throw tooLarge(limits);
        limits.hold?.(bytes);
        yield value;
      }
      isRead = true;
    } finally {
      // The rest of the body has no reader.
      if (!isRead) reader.cancel().catch(() => {});
    }
  }
  return { isRead: () => isRead, [Symbol.asyncIterator]: read };
}

function tooLarge({ maxBytes, setting }: BodyStreamLimits): ServiceError {
  return new ServiceError(
    "request_too_large",
    `The body is larger than ${maxBytes} bytes${setting === undefined ? "" : `; the operator sets ${setting}`}.`,
  );
}
