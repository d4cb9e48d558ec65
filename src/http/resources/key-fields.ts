import { z } from "@hono/zod-openapi";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import { isIpRange } from "../../lib/egress/ip-ranges.ts";
import { timeText } from "../answers/time-text.ts";

/** Fields that keys of every kind have, as a client sends them. */

const MAX_NAME_LENGTH = 200;
const MAX_RANGES = 100;
const PRINTABLE = /^[^\p{Cc}\p{Cs}]+$/u;
/** The same for the documentation, where a pattern has no flags and no surrogates come alone. */
const DOCUMENTED = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$";

/** A name that people read: of keys, tools and connections. */
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

export const keyExpiry = timeText
  .nullable()
  .openapi({ description: "When it stops working, a time to come; null is never." });

/**
 * The moment that `expires_at` names. Throws `invalid_value` when it is not to come.
 *
 * @param now Unix milliseconds.
 */
export function expiryOf(text: z.infer<typeof keyExpiry>, now: number): Date | null {
  if (text === null) return null;
  const time = Date.parse(text);
  if (time > now) return new Date(time);
  throw invalidValue(["expires_at"], "a time to come", text);
}
