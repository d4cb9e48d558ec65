import { createHash, randomFillSync } from "node:crypto";

/**
 * Creates a generator of request ids: `req_` + time + process + counter. The process part makes them unique over
 * replicas and restarts. They sort by time, and cost far less than a random id per request.
 */
export function createRequestIds(): (nowMs: number) => string {
  const process = randomBase62(8);
  let counter = 0;
  return (nowMs) => {
    counter = (counter + 1) % COUNTER_LIMIT;
    return `req_${nowMs.toString(36)}${process}${(counter + COUNTER_LIMIT).toString(36).slice(1)}`;
  };
}

/** Five base-36 digits: 60 million ids in one millisecond. */
const COUNTER_LIMIT = 36 ** 5;

/** The process and the counter follow the time. */
const ID = /^req_([0-9a-z]{6,9})[0-9A-Za-z]{8}[0-9a-z]{5}$/;

/** Returns when the request arrived, in Unix milliseconds; undefined for an id of another form. */
export function timeOfRequestId(id: string): number | undefined {
  const time = ID.exec(id)?.[1];
  return time === undefined ? undefined : Number.parseInt(time, 36);
}

/**
 * Returns a digest of the text in letters and digits: equal for equal texts and practically unique. At most 32
 * characters.
 */
export function shortDigest(text: string, length: number): string {
  const bytes = createHash("sha256").update(text).digest().subarray(0, length);
  return Array.from(bytes, (byte) => BASE62[byte % BASE62.length]).join("");
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Returns `length` random base62 characters from the system's random source, without bias. */
export function randomBase62(length: number): string {
  let text = "";
  const bytes = new Uint8Array(length * 2);
  while (text.length < length) {
    randomFillSync(bytes);
    for (const byte of bytes) {
      // 248 = 4 * 62: larger bytes would favour the first letters.
      if (byte < 248 && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
}
