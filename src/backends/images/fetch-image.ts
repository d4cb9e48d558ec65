import { ServiceError } from "../../core/service-error.ts";
import { limitWork } from "../../lib/concurrency.ts";
import type { Egress } from "../../lib/egress/egress.ts";
import { EgressError } from "../../lib/egress/egress-error.ts";

/** The signature of each image format; `at` is its offset. */
const SIGNATURES: readonly {
  readonly mediaType: string;
  readonly at: number;
  readonly bytes: string;
}[] = [
  { mediaType: "image/png", at: 0, bytes: "\x89PNG\r\n\x1a\n" },
  { mediaType: "image/jpeg", at: 0, bytes: "\xff\xd8\xff" },
  { mediaType: "image/gif", at: 0, bytes: "GIF87a" },
  { mediaType: "image/gif", at: 0, bytes: "GIF89a" },
  { mediaType: "image/webp", at: 8, bytes: "WEBP" },
  { mediaType: "image/bmp", at: 0, bytes: "BM" },
  { mediaType: "image/tiff", at: 0, bytes: "II*\0" },
  { mediaType: "image/tiff", at: 0, bytes: "MM\0*" },
  { mediaType: "image/avif", at: 4, bytes: "ftypavif" },
  { mediaType: "image/heic", at: 4, bytes: "ftypheic" },
  { mediaType: "image/heif", at: 4, bytes: "ftypmif1" },
];
const LONGEST_HEAD = 16;

/** Returns an image's media type by its first bytes, whatever its server declares; undefined for anything else. */
export function sniffImage(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, LONGEST_HEAD)).toString("latin1");
  const found = SIGNATURES.find((signature) => head.startsWith(signature.bytes, signature.at));
  return found?.mediaType;
}

export interface FetchedImage {
  /** Detected from its first bytes. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/**
 * Rejects with an `EgressError` that describes the fault of the address, with `overloaded` when too many are fetched, or
 * with the reason of the signal.
 */
export type FetchImage = (url: string, signal: AbortSignal) => Promise<FetchedImage>;

const MAX_BYTES = 20 * 1024 * 1024;
const TIMEOUT_MS = 10_000;
/** Of all calls together. A fetch in progress is in no budget of memory yet, so they could hold this many at once. */
const FETCHES_AT_ONCE = 8;
const MOST_WAITING = 256;
const RETRY_AFTER_SECONDS = 2;

/** Fetches images from addresses that clients give, a limited number at once. */
export function createFetchImage(egress: Egress): FetchImage {
  const inTurn = limitWork({ running: FETCHES_AT_ONCE, waiting: MOST_WAITING, refusal: tooMany });
  return async (url, signal) => {
    const limits = { accept: "image/*", maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, signal };
    const { bytes } = await inTurn(() => {
      signal.throwIfAborted();
      return egress.fetch(url, limits);
    });
    const mediaType = sniffImage(bytes);
    if (mediaType === undefined) throw new EgressError("no_image", "it is not an image");
    return { mediaType, bytes };
  };
}

function tooMany(): ServiceError {
  return new ServiceError(
    "overloaded",
    "The gateway fetches too many images at once; send the request again.",
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
