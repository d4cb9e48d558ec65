import type { Egress } from "../../lib/egress/egress.ts";
import { EgressError } from "../../lib/egress/egress-error.ts";
import { sniffImage } from "./sniff-image.ts";

export interface FetchedImage {
  /** By its first bytes. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Rejects with an `EgressError` that says what is wrong with the address, or with the reason of the signal. */
export type FetchImage = (url: string, signal: AbortSignal) => Promise<FetchedImage>;

const MAX_BYTES = 20 * 1024 * 1024;
const TIMEOUT_MS = 10_000;

/** Fetches pictures from addresses that clients give. */
export function createFetchImage(egress: Egress): FetchImage {
  return async (url, signal) => {
    const limits = { accept: "image/*", maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, signal };
    const { bytes } = await egress.fetch(url, limits);
    const mediaType = sniffImage(bytes);
    if (mediaType === undefined) throw new EgressError("no_image", "it is no image");
    return { mediaType, bytes };
  };
}
