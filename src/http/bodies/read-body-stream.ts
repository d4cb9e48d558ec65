import { ServiceError } from "../../core/service-error.ts";
import { withinBodyTime } from "./within-body-time.ts";

/** A body that is read piece by piece. */
export interface BodyStream extends AsyncIterable<Uint8Array> {
  /** True once it has been read to its end. */
  readonly isRead: () => boolean;
}

export interface BodyStreamLimits {
  readonly maxBytes: number;
  /** The setting that says so, for the operator, where there is one. */
  readonly setting?: string;
  /** Ends the reading when its reason is a `ServiceError`. */
  readonly signal?: AbortSignal;
  /** Called with the body's length as announced, then with how much has come. What it throws ends the reading. */
  readonly hold?: (bytes: number) => void;
}

/** How long the client may be waited for in all, and a millisecond more for each of these many bytes it has sent. */
const WAIT_BASE_MS = 20_000;
const WAIT_BYTES_PER_MS = 1;

type Step = IteratorResult<Uint8Array, undefined>;

/**
 * The body of a request while it arrives, pulled as fast as its reader takes it. Only the time spent waiting for the
 * client counts against it. The iterator throws `request_too_large`, `request_timeout`, or `invalid_value` when the
 * client has broken off. Throws `request_too_large` at once when the announced length is over the limit, and what `hold`
 * throws for it.
 *
 * @param onBroken called when the client has broken off.
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
      // Nothing reads the rest.
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
