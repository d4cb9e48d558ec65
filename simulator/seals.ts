import { createHash } from "node:crypto";

/** The kinds of sealed data. A vendor accepts only its own seals, of the right kind. */
export type SealKind = "thinking" | "redacted" | "call" | "encrypted";

/** altered: the seal is genuine, but for another text. foreign: the seal is another maker's, or damaged. */
export type SealState = "intact" | "altered" | "foreign";

/** The prefixes of the vendors' own seals; four characters, so that the rest stays valid base64. */
const prefixes: Readonly<Record<SealKind, string>> = {
  thinking: "EqQB",
  redacted: "EmwK",
  call: "EpwI",
  encrypted: "gAAA",
};

/** Returns an opaque proof that this text came from here; any simulator of the vendor can verify it. */
export function seal(kind: SealKind, text: string): string {
  const digest = hash(text);
  return prefixes[kind] + Buffer.from(`${digest}.${hash(`${kind} ${digest}`)}`).toString("base64");
}

/** Verifies that the seal is genuine and belongs to this text; without a text, only that it is genuine. */
export function openSeal(kind: SealKind, sealed: string, text?: string): SealState {
  if (!sealed.startsWith(prefixes[kind])) return "foreign";
  const inner = Buffer.from(sealed.slice(4), "base64").toString("latin1");
  const [digest = "", proof] = inner.split(".");
  if (proof !== hash(`${kind} ${digest}`)) return "foreign";
  return text === undefined || digest === hash(text) ? "intact" : "altered";
}

function hash(text: string): string {
  return createHash("sha256").update(`simulated seal ${text}`).digest("hex").slice(0, 40);
}
