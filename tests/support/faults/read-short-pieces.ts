import { expect } from "vitest";
import type { HttpResponse } from "../../../src/lib/http/http-client.ts";

const PIECE_MAX_BYTES = 65_536;

/** Reads a body to its end, expecting no piece longer than 64 KB. Returns its length in bytes. */
export async function readShortPieces(response: Pick<HttpResponse, "next">): Promise<number> {
  let length = 0;
  for (;;) {
    const { done, value } = await response.next();
    if (done === true) return length;
    expect(value?.length).toBeLessThanOrEqual(PIECE_MAX_BYTES);
    length += value?.length ?? 0;
  }
}
