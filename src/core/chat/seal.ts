/**
 * A seal is data that a vendor wants replayed unchanged: a signature over reasoning, or encrypted reasoning. Clients
 * carry seals from turn to turn without reading them, and may send them to another vendor, which would refuse them. So
 * every seal is marked with its maker, except Anthropic's: its clients may hold unmarked seals from elsewhere.
 */
export type SealMaker = "anthropic" | "openai" | "gemini" | "gateway";

const MARK = /^(openai|gemini|gateway)\./;

/** Returns a vendor's seal in the form that clients carry. */
export function markSeal(maker: SealMaker, seal: string): string {
  return maker === "anthropic" ? seal : `${maker}.${seal}`;
}

/** Returns the seal as this vendor made it; undefined when another vendor made it. */
export function openSeal(maker: SealMaker, marked: string | undefined): string | undefined {
  if (marked === undefined || marked === "") return undefined;
  const mark = MARK.exec(marked)?.[1] ?? "anthropic";
  if (mark !== maker) return undefined;
  return maker === "anthropic" ? marked : marked.slice(maker.length + 1);
}
