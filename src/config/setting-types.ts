import { z } from "zod";
import { isAllowEntry } from "../lib/egress/egress-allow-list.ts";
import { IpRanges, isIpRange } from "../lib/egress/ip-ranges.ts";

// Types of settings, parsed from the texts of the environment.

const READABLE_NAME = "must have each % in its user name and password written as %25";

/** The drivers decode both. */
function hasReadableName(url: string): boolean {
  if (!URL.canParse(url)) return true;
  const { username, password } = new URL(url);
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

export const fraction = z.coerce.number({
  error: ({ code }) => (code === "invalid_type" ? "must be a number" : undefined),
});
export const number = fraction.int({
  error: ({ code }) => (code === "invalid_type" ? "must be a whole number" : undefined),
});
export const positive = number.positive();
export const milliseconds = positive.max(2_147_483_647);
export const flag = z
  .enum(["1", "0", "true", "false"])
  .transform((word) => word === "1" || word === "true");
export const fullUrl = z.url({
  protocol: /^https?$/,
  error: "must be an address such as http://127.0.0.1:8000",
});
/**
 * An address that paths are appended to, so that it ends with one. It has no credentials, because not every client would
 * send what is before an `@`.
 */
export const httpUrl = fullUrl
  .refine(
    (url) => !URL.canParse(url) || new URL(url).username + new URL(url).password === "",
    "must not hold a user name or a password",
  )
  .refine((url) => !/[?#]/.test(url), "must end with a path: paths are appended to it")
  .transform((url) => url.replace(/\/+$/, ""));
export const httpUrls = z
  .string()
  .transform((list) => list.split(",").map((url) => url.trim()))
  .pipe(z.array(httpUrl).min(1));
export const words = z.string().transform((list) =>
  list
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean),
);

/** The same as of a request, `core/chat/chat-request.ts`, which settings cannot import. */
const MAX_FALLBACKS = 8;
export const fallbackModels = words.pipe(
  z.array(z.string()).max(MAX_FALLBACKS, `must name at most ${MAX_FALLBACKS} models`),
);

/** With `_`, which is no host name of the internet, but one that networks of containers give. */
const HOST_NAME = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/;

/** Names as in the header `Host`, without the port; case-insensitive. */
export const hostNames = words
  .transform((names) => names.map((one) => one.toLowerCase()))
  .pipe(
    z.array(
      z
        .string()
        .regex(
          HOST_NAME,
          "must be only a host name, without scheme, port and path: gw.example.com or [::1]",
        ),
    ),
  );

const ORIGIN =
  /^(?:\*|https?:\/\/[a-z0-9._-]+(?::\d{1,5})?|https?:\/\/\[[0-9a-f:.]+\](?::\d{1,5})?)$/;

/** Origins as in the header `Origin`, in which no browser sends a scheme's own port. */
export const webOrigins = words.pipe(
  z.array(
    z
      .string()
      .regex(ORIGIN, "must be an origin such as https://app.example.com, or *")
      .transform((origin) => (URL.canParse(origin) ? new URL(origin).origin : origin)),
  ),
);

export const egressEntries = words.pipe(
  z.array(
    z
      .string()
      .refine(isAllowEntry, "must be a host, an address or a CIDR range such as 10.0.0.0/8"),
  ),
);

export const trustedProxies = z.string().transform((text, context) => {
  const word = text.trim().toLowerCase();
  if (word === "false") return 0;
  if (word === "true") return 1;
  if (/^\d{1,2}$/.test(word)) return Number(word);
  const entries = word.split(",").map((entry) => entry.trim());
  const wrong = entries.findIndex((entry) => !isIpRange(entry));
  if (wrong >= 0) {
    const message = "must be a number of proxies up to 99, or addresses and CIDR ranges";
    context.addIssue({ code: "custom", message, path: [wrong] });
  }
  return new IpRanges(entries);
});

/** A secret with the prefix of Standard Webhooks must be valid, because receivers decode it. */
const UNREADABLE_SECRET = /^whsec_(?![A-Za-z0-9+/]+={0,2}$)/;

export const webhookSecret = z
  .string()
  .min(16, "must have at least 16 characters")
  .refine((secret) => !UNREADABLE_SECRET.test(secret), "must have base64 after whsec_");

export const name = z.string().min(1);
/** It is sent in a header. */
export const vendorKey = z
  .string()
  .trim()
  .regex(/^[\x20-\x7e]+$/, "must have printable ASCII characters only")
  .optional();

/** The address of a PostgreSQL server. */
export const databaseUrl = z
  .url({ protocol: /^postgres(ql)?$/ })
  .refine(hasReadableName, READABLE_NAME);
export const redisUrl = z
  .url({ protocol: /^rediss?$/, error: "must be an address such as redis://127.0.0.1:6379" })
  .refine(hasReadableName, READABLE_NAME);

export const apiKey = z
  .string()
  .regex(/^sk-[\x21-\x7e]{17,509}$/, "must start with sk- and have 20 to 512 characters");
