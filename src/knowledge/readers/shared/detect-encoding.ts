import { isAscii } from "node:buffer";
import { createReadStream } from "node:fs";
import { analyse } from "chardet";
import iconv from "iconv-lite";

/** Detection by statistics reads this much, from the first byte that is not ASCII. */
const SAMPLE_BYTES = 64 * 1024;
/** Below this the statistics of a short text are a guess, and Western European is the most frequent one. */
const CONFIDENT = 25;
const FALLBACK = "windows-1252";
/** Text has hardly any of these control characters. */
const CONTROLS_SHARE = 0.01;
/** So many of the pairs of bytes have a zero only in UTF-16. */
const MANY_ZEROS = 0.5;
/** So many of the bytes stand in even places as often as in odd ones only in other encodings. */
const ALIKE = 0.5;

/**
 * Returns the name of a text file's encoding, or null when the content is no text.
 * @param maxBytes reads no more of the file than this
 */
export async function detectEncoding(
  path: string,
  head: Buffer,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<string | null> {
  const marked = byMark(head);
  if (marked !== undefined) return marked;
  const wide = asUtf16(head);
  if (wide !== undefined) return wide;
  if (hasControls(head)) return null;
  const sample = await sampleBeyondUtf8(path, maxBytes);
  if (sample === undefined) return "utf-8";
  return hasControls(sample) ? null : byStatistics(sample);
}

/** By the byte order mark. */
function byMark(head: Buffer): string | undefined {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return "utf-8";
  if (head[0] === 0xff && head[1] === 0xfe)
    return head[2] === 0 && head[3] === 0 ? "utf-32le" : "utf-16le";
  if (head[0] === 0xfe && head[1] === 0xff) return "utf-16be";
  if (head.length >= 4 && head.readUInt32BE(0) === 0xfeff) return "utf-32be";
  return undefined;
}

/**
 * Without a mark: text in UTF-16 has zeros or other frequent bytes in every second place, because its characters come
 * from few blocks, and its line feeds are two bytes.
 */
function asUtf16(head: Buffer): string | undefined {
  const even = zeros(head, 0);
  const odd = zeros(head, 1);
  if (even + odd === 0) return undefined;
  const pairs = Math.floor(head.length / 2);
  for (const [encoding, high, low] of [
    ["utf-16le", odd, even],
    ["utf-16be", even, odd],
  ] as const) {
    if (high <= low * 4 || low > pairs / 100) continue;
    // Any text may hold a stray zero, and almost any two bytes are a character of UTF-16.
    if (high < pairs * MANY_ZEROS && (isUtf8Aside(head) || arePlacesAlike(head))) continue;
    const text = iconv.decode(head.subarray(0, pairs * 2), encoding);
    // The last character may be half of one.
    if (!/\p{Surrogate}/u.test(text.slice(0, -1)) && controlsOf(text) === 0) return encoding;
  }
  return undefined;
}

/** Whether the bytes other than zeros are text by themselves. */
function isUtf8Aside(head: Buffer): boolean {
  const bytes = head.filter((byte) => byte !== 0);
  return !hasControls(bytes) && isDecodable(new TextDecoder("utf-8", { fatal: true }), bytes);
}

/** Whether even and odd places mostly hold the same bytes, as in text of another encoding; in UTF-16 they differ. */
function arePlacesAlike(head: Buffer): boolean {
  const surplus = new Map<number, number>();
  for (const [at, byte] of head.entries()) {
    surplus.set(byte, (surplus.get(byte) ?? 0) + (at % 2 === 0 ? 1 : -1));
  }
  let differing = 0;
  for (const count of surplus.values()) differing += Math.abs(count);
  return differing < head.length * (1 - ALIKE);
}

function zeros(bytes: Buffer, from: number): number {
  let count = 0;
  for (let at = from; at < bytes.length; at += 2) if (bytes[at] === 0) count += 1;
  return count;
}

function controlsOf(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.match(/[\0-\x08\x0e-\x1a\x1c-\x1f\ufffe\uffff]/g)?.length ?? 0;
}

/** Zeros never occur in text, and other control characters hardly. */
function hasControls(bytes: Uint8Array): boolean {
  let count = 0;
  for (const byte of bytes) {
    if (byte === 0) return true;
    if (byte < 0x20 && (byte < 0x08 || byte > 0x0d) && byte !== 0x1b) count += 1;
  }
  return count > bytes.length * CONTROLS_SHARE;
}

/** Undefined when the whole file is UTF-8; otherwise bytes from the first one that is not ASCII. */
async function sampleBeyondUtf8(path: string, maxBytes: number): Promise<Buffer | undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const sample: Buffer[] = [];
  let sampled = 0;
  let isUtf8 = true;
  for await (const bytes of createReadStream(path, {
    end: maxBytes - 1,
  }) as AsyncIterable<Buffer>) {
    isUtf8 &&= isDecodable(decoder, bytes);
    const start = sampled > 0 ? 0 : beyondAscii(bytes);
    if (start >= 0 && sampled < SAMPLE_BYTES) {
      sample.push(bytes.subarray(start));
      sampled += bytes.length - start;
    }
    if (!isUtf8 && sampled >= SAMPLE_BYTES) break;
  }
  // A file whose last character is cut off is still UTF-8: the decoder reports it only at the end, which is not asked.
  return isUtf8 ? undefined : Buffer.concat(sample).subarray(0, SAMPLE_BYTES);
}

/** The place of the first byte that is not ASCII; -1 when all are, which is known without a call for each. */
function beyondAscii(bytes: Buffer): number {
  return isAscii(bytes) ? -1 : bytes.findIndex((byte) => byte >= 0x80);
}

function isDecodable(decoder: TextDecoder, bytes: Uint8Array): boolean {
  try {
    decoder.decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function byStatistics(sample: Buffer): string {
  const [best] = analyse(sample).filter(({ name }) => iconv.encodingExists(name));
  if (best === undefined || best.confidence < CONFIDENT) return FALLBACK;
  // Browsers read it the same way: the wider table has quotation marks and the euro sign.
  return best.name === "ISO-8859-1" ? FALLBACK : best.name;
}
