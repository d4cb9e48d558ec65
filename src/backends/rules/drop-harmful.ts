import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";

type Member = JsonObject[string];

/** The engine compiles patterns on the thread that serves all calls, so a long pattern delays them all. */
const PATTERN_MAX_BYTES = 4 * 1024;
const PATTERNS: ReadonlySet<string> = new Set([
  "ebnf",
  "grammar",
  "guided_grammar",
  "guided_regex",
  "regex",
]);
/** Objects with harmful members: a template runs in the engine; a pattern may be long. */
const HARMFUL_MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  chat_template_kwargs: new Set(["chat_template", "tokenize"]),
  structured_outputs: new Set(),
};

/**
 * Removes from the extra parameters of a call to a local engine the values that harm other users. These are patterns
 * that take long to compile, templates among the template's arguments, and an answer that may not end before its limit.
 */
export function dropHarmful(extra: JsonObject): JsonObject {
  const isEndless = (extra["min_tokens"] ?? 0) !== 0 && extra["ignore_eos"] === true;
  const isHarmless = ([name, value]: [string, Member]) => {
    if (isEndless && (name === "min_tokens" || name === "ignore_eos")) return false;
    return !isLongPattern(name, value);
  };
  return Object.fromEntries(
    Object.entries(extra)
      .filter(isHarmless)
      .map(([name, value]) => [name, withoutHarmfulMembers(name, value)]),
  );
}

function withoutHarmfulMembers(name: string, value: Member): Member {
  const harmful = Object.hasOwn(HARMFUL_MEMBERS, name) ? HARMFUL_MEMBERS[name] : undefined;
  if (harmful === undefined || !isJsonObject(value)) return value;
  const members = Object.entries(value);
  const kept = members.filter(([member, of]) => !harmful.has(member) && !isLongPattern(member, of));
  return kept.length === members.length ? value : Object.fromEntries(kept);
}

function isLongPattern(name: string, value: Member): boolean {
  return (
    PATTERNS.has(name) && typeof value === "string" && Buffer.byteLength(value) > PATTERN_MAX_BYTES
  );
}
