const RETURN_MAX_LENGTH = 2_000;

/** Returns the path, if it stays on this server in every reader's eyes; undefined otherwise. */
export function readReturnTo(text: string): string | undefined {
  if (text.length > RETURN_MAX_LENGTH || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return undefined;
  const base = "http://here.invalid";
  if (text.includes("\\") || !URL.canParse(text, base)) return undefined;
  const { origin, pathname, search, hash } = new URL(text, base);
  // `/.//elsewhere` is such a path only before it is resolved.
  return origin === base && !pathname.startsWith("//") ? pathname + search + hash : undefined;
}
