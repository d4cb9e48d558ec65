import { readRetryDelay } from "../../codecs/generate-content/retry-delay.ts";
import { readVendorError } from "../../codecs/shared/vendor-message.ts";
import { isJsonObject } from "../../lib/json.ts";
import type { UpstreamRefusal } from "../upstream/upstream-refusal.ts";

/** What Gemini tells in the body of a refusal alone: that a 400 is about our key, and how long to wait. */
export function readGoogleRefusal(body: string): Partial<UpstreamRefusal> {
  if (isKeyInvalid(readVendorError(body)?.["details"])) return { status: 401 };
  const retryAfterSeconds = readRetryDelay(body);
  return retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
}

function isKeyInvalid(details: unknown): boolean {
  if (!Array.isArray(details)) return false;
  return details.some((detail) => isJsonObject(detail) && detail["reason"] === "API_KEY_INVALID");
}
