/**
 * What a vendor wants replayed unchanged it seals: a signature over thoughts, an encrypted thought. Clients carry seals
 * from turn to turn without reading them, also to another vendor than the one that made them, which would refuse them.
 * So every seal but Anthropic's own, which its clients may hold from elsewhere, is marked with who made it.
 */
export type SealMaker = "anthropic" | "openai" | "gemini" | "gateway";

const MARK = /^(openai|gemini|gateway)\./;

/** A vendor's seal as clients carry it. */
export function markSeal(maker: SealMaker, seal: string): string {
  return maker === "anthropic" ? seal : `${maker}.${seal}`;
}

/** The seal as this vendor made it; undefined when another one did. */
export function openSeal(maker: SealMaker, marked: string | undefined): string | undefined {
  if (marked === undefined || marked === "") return undefined;
  const mark = MARK.exec(marked)?.[1] ?? "anthropic";
  if (mark !== maker) return undefined;
  return maker === "anthropic" ? marked : marked.slice(maker.length + 1);
}
