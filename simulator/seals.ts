import { createHash } from "node:crypto";

/** What a vendor seals: each opens only what it sealed itself, as the same kind. */
export type SealKind = "thinking" | "redacted" | "call" | "encrypted";

/** altered: the seal is real, but of another text. foreign: not ours, or damaged. */
export type SealState = "intact" | "altered" | "foreign";

/** As the vendors' own begin; four characters, so that base64 stays base64. */
const prefixes: Readonly<Record<SealKind, string>> = {
  thinking: "EqQB",
  redacted: "EmwK",
  call: "EpwI",
  encrypted: "gAAA",
};

/** An opaque proof that this text came from here; any simulator of the vendor can open it. */
export function seal(kind: SealKind, text: string): string {
  const digest = hash(text);
  return prefixes[kind] + Buffer.from(`${digest}.${hash(`${kind} ${digest}`)}`).toString("base64");
}

/** Whether the seal is real and of this text; without a text only whether it is real. */
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
