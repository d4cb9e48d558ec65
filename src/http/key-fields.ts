import { z } from "@hono/zod-openapi";
import { invalidValue } from "../codecs/shared/check-request.ts";
import { isIpRange } from "../lib/egress/ip-ranges.ts";
import { givenTime } from "./fields.ts";
import { search } from "./page.ts";

/** Fields that keys of every kind have, as a client sends them. */

const MAX_NAME_LENGTH = 200;
const MAX_RANGES = 100;
const PRINTABLE = /^[^\p{Cc}\p{Cs}]+$/u;
/** The same pattern for the documentation, which has no flags and where lone surrogates cannot occur. */
const DOCUMENTED = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$";

/** A name for people: of keys, tools and connections. */
export const printableName = z
  .string()
  .max(MAX_NAME_LENGTH)
  .regex(PRINTABLE, "a non-empty text without control characters")
  .openapi({ pattern: DOCUMENTED });

export const keyName = printableName.openapi({
  description: "What people know the key by.",
  example: "monthly report",
});

export const keyState = z
  .enum(["active", "inactive"])
  .openapi({ description: "An inactive key opens nothing until it is active again." });

export const keyIpAllow = z
  .array(z.string().refine(isIpRange, "an address or a CIDR range"))
  .max(MAX_RANGES)
  .openapi({
    description: "Addresses and CIDR ranges that it may be used from; empty allows any.",
    example: ["192.0.2.0/24"],
  });

export const keyExpiry = givenTime
  .nullable()
  .openapi({ description: "When it stops working, a time to come; null is never." });

/** The search parameter of key lists. */
export const keySearch = search(
  "A part of the name, a whole id, or the last four characters of the secret.",
);

/**
 * Throws `invalid_value` for an `expires_at` that is not in the future.
 *
 * @param now in Unix milliseconds.
 */
export function refusePastExpiry(expiresAt: Date | null | undefined, now: number): void {
  if (expiresAt === undefined || expiresAt === null || expiresAt.getTime() > now) return;
  throw invalidValue(["expires_at"], "a time to come", expiresAt.toISOString());
}
