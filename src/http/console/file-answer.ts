import { CONSOLE_HEADERS } from "./console-headers.ts";
import type { ConsoleFile } from "./read-build.ts";

/** A name made from the content never has another one. */
const FOREVER = "public, max-age=31536000, immutable";
/** Kept, but asked for each time. */
const ASKED = "no-cache";

/** The codings that files are kept in, the smallest first. */
const CODINGS = [
  { coding: "br", form: "br" },
  { coding: "gzip", form: "gz" },
] as const;

/** Answers with a file in the smallest coding that the client takes, or with 304 when it has it. */
export function fileAnswer(file: ConsoleFile, headers: Headers, isHashed: boolean): Response {
  const accepted = acceptedCodings(headers.get("accept-encoding") ?? "");
  const chosen = CODINGS.find(({ coding, form }) => file[form] !== undefined && accepted(coding));
  const body = (chosen && file[chosen.form]) ?? file.plain;
  const etag = `"${file.hash}${chosen === undefined ? "" : `-${chosen.coding}`}"`;
  const kept = {
    ...CONSOLE_HEADERS,
    etag,
    "cache-control": isHashed ? FOREVER : ASKED,
    vary: "accept-encoding",
  };
  if (hasAlready(headers.get("if-none-match"), etag)) {
    return new Response(null, { status: 304, headers: kept });
  }
  return new Response(body, {
    headers: {
      ...kept,
      "content-type": file.type,
      "content-length": String(body.length),
      ...(chosen !== undefined && { "content-encoding": chosen.coding }),
    },
  });
}

/** Returns the function that says whether an `Accept-Encoding` takes a coding: by its name, or else by `*`. */
function acceptedCodings(header: string): (coding: string) => boolean {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim());
    const weight = parameters.find((one) => one.startsWith("q="))?.slice("q=".length);
    weights.set(name, weight === undefined ? 1 : Number(weight) || 0);
  }
  return (coding) => (weights.get(coding) ?? weights.get("*") ?? 0) > 0;
}

function hasAlready(header: string | null, etag: string): boolean {
  if (header === null) return false;
  const tags = header.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}
