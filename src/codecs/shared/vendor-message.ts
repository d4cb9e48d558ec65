import { hideAddresses } from "../../lib/hide-addresses.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";

const MAX_MESSAGE_LENGTH = 2_000;

/** A vendor's own words in the body of an error, freed of addresses and keys; undefined when it says nothing readable. */
export function readVendorMessage(body: string): string | undefined {
  const error = readVendorError(body);
  return error === undefined ? undefined : vendorMessage(error);
}

/** The object that tells of the error in a body `{error: {…}}`, or in a list of one; undefined when there is none. */
export function readVendorError(body: string): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(body);
    const outer: unknown = Array.isArray(json) ? json[0] : json;
    const { error } = isJsonObject(outer) ? outer : {};
    return isJsonObject(error) ? error : undefined;
  } catch {
    return undefined;
  }
}

/** The words of an error object, likewise. */
export function vendorMessage({ message }: JsonObject): string | undefined {
  return typeof message === "string" && message.trim() !== ""
    ? hideAddresses(message, MAX_MESSAGE_LENGTH)
    : undefined;
}
