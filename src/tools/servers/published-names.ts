import { createHash } from "node:crypto";

const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/**
 * Returns the names under which the tools of a server are offered: `mcp_<server>_<tool>`, with `_` for each character
 * that models may not get. A name that needs no change always keeps it. Of the others those that are too long, or would
 * be equal to another one, are cut and end with the hash of the server's own name. So a name depends neither on the
 * order of the tools nor on which of them are approved. A tool for which no name is left has none.
 *
 * @param server the name of the server, without `_`: names of different servers are never equal.
 * @param tools the server's own names for all its tools, each once.
 */
export function publishedNames(
  server: string,
  tools: readonly string[],
): ReadonlyMap<string, string> {
  const prefix = `mcp_${server}_`;
  const plain = tools.map((tool) => ({ tool, name: prefix + tool.replaceAll(/[^\w-]/gu, "_") }));
  const isExact = ({ tool, name }: { tool: string; name: string }) =>
    name === prefix + tool && name.length <= MAX_LENGTH;
  const exact = new Set(plain.filter(isExact).map(({ name }) => name));
  const uses = countUses(plain.map(({ name }) => name));
  const wanted = plain.map((each) => {
    const isFree = each.name.length <= MAX_LENGTH && uses.get(each.name) === 1;
    return [each.tool, isExact(each) || isFree ? each.name : withHash(each)] as const;
  });
  const finalUses = countUses(wanted.map(([, name]) => name));
  return new Map(
    wanted.filter(
      ([tool, name]) => finalUses.get(name) === 1 || (exact.has(name) && name === prefix + tool),
    ),
  );
}

function withHash({ tool, name }: { readonly tool: string; readonly name: string }): string {
  const hash = createHash("sha256").update(tool).digest("hex").slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}

function countUses(names: readonly string[]): ReadonlyMap<string, number> {
  const uses = new Map<string, number>();
  for (const name of names) uses.set(name, (uses.get(name) ?? 0) + 1);
  return uses;
}
