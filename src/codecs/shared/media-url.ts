import type { MediaSource } from "../../core/chat/chat-request.ts";
import { invalidValue } from "./check-request.ts";

const DATA_URL = /^data:([^,;]*)((?:;[^,;]*)*),/i;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** The longest prefix searched for the head of a data URL: enough for any media type with its parameters. */
const MAX_DATA_URL_HEAD = 256;

const KINDS = {
  image: { mediaType: /^image\//, name: "an image" },
  document: { mediaType: /^(application|text)\//, name: "a document" },
} as const;

/**
 * Parses the address of an image or a document. Engines open any address they get, including their own files, so only
 * http(s) addresses and data URLs are accepted. Throws `invalid_value` naming `path`.
 */
export function parseMediaUrl(
  url: string,
  path: readonly PropertyKey[],
  kind: keyof typeof KINDS,
): MediaSource {
  if (/^https?:\/\//i.test(url)) return { kind: "url", url };
  const head = DATA_URL.exec(url.slice(0, MAX_DATA_URL_HEAD));
  const mediaType = head?.[1]?.toLowerCase() ?? "";
  const data = head === null ? "" : url.slice(head[0].length);
  // Some clients omit `;base64`.
  const isBase64 = /;base64$/i.test(head?.[2] ?? "") || BASE64.test(data);
  if (!KINDS[kind].mediaType.test(mediaType) || !isBase64) {
    throw invalidValue(path, `an http(s) address or a base64 data URL of ${KINDS[kind].name}`, url);
  }
  return { kind: "base64", mediaType, data };
}
