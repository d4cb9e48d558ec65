import type { HttpChunk } from "./http-client.ts";

/** The body is larger than its reader allows. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
}

/** Reads a body to its end as UTF-8 text. Rejects with `BodyTooLarge` beyond `maxBytes` and leaves the rest unread. */
export async function readBodyText(
  next: () => Promise<HttpChunk>,
  maxBytes: number,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await next();
    if (done === true) return text + decoder.decode();
    if (value === undefined) continue;
    bytes += value.length;
    if (bytes > maxBytes) throw new BodyTooLarge(`more than ${maxBytes} bytes`);
    text += decoder.decode(value, { stream: true });
  }
}

/** Returns true when the declared length shows that the body may be read whole, without counting. */
export function fitsDeclared(contentLength: string | undefined, maxBytes: number): boolean {
  return contentLength !== undefined && Number(contentLength) <= maxBytes;
}
