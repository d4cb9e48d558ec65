import { createHmac, timingSafeEqual } from "node:crypto";

/** The values of the ordering columns in the last row of a page, as texts of the database. */
export type PagePlace = readonly (string | null)[];

/** Longer ones do not fit into a request line. */
const MAX_PLACE_CHARACTERS = 6_000;
const MAC_BYTES = 16;

/**
 * Returns the key that authenticates the places of one list: its view, order and filters. The data process gets it with
 * the statement; it opens nothing else.
 *
 * @param secret of the installation, the same on all replicas.
 */
export function placeKey(secret: Buffer, list: readonly unknown[]): string {
  return mac(secret, JSON.stringify(list)).toString("base64url");
}

/** Writes a place as `next` of a page; null where it is too long. */
export function writePlace(place: PagePlace, key: string): string | null {
  const text = Buffer.from(JSON.stringify(place)).toString("base64url");
  const sealed = `${text}.${shortMac(key, text).toString("base64url")}`;
  return sealed.length > MAX_PLACE_CHARACTERS ? null : sealed;
}

/** Reads `after`; undefined for one that was not written with this key. */
export function readPlace(after: string, key: string): PagePlace | undefined {
  const [text = "", given = ""] = after.split(".", 2);
  const bytes = Buffer.from(given, "base64url");
  if (bytes.length !== MAC_BYTES || !timingSafeEqual(bytes, shortMac(key, text))) return undefined;
  return JSON.parse(Buffer.from(text, "base64url").toString()) as PagePlace;
}

function shortMac(key: string, text: string): Buffer {
  return mac(Buffer.from(key, "base64url"), text).subarray(0, MAC_BYTES);
}

function mac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
