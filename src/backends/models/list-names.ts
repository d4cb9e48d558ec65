import { z } from "zod";
import { ServiceError } from "../../core/service-error.ts";
import { askUpstream } from "../upstream/ask-upstream.ts";
import { parseReply } from "../upstream/parse-reply.ts";
import type { Upstream } from "../upstream/upstream.ts";

/** A model's name on its server, and its capabilities where the server reports them. */
export interface ListedName {
  readonly name: string;
  readonly capabilities: readonly string[] | undefined;
}

const cards = z.object({ data: z.array(z.object({ id: z.string().min(1) })) });
const tags = z.object({
  models: z.array(
    z.object({
      name: z.string().min(1),
      capabilities: z.array(z.string()).optional().catch(undefined),
    }),
  ),
});
const details = z.object({ capabilities: z.array(z.string()).optional().catch(undefined) });

/** The most models whose capabilities are requested one by one. Of the others, only the name is used. */
const MAX_QUESTIONS = 100;

/**
 * Lists all models of a server of the OpenAI format, whose address includes the version. Empty where it does not list
 * them.
 */
export async function listCards(
  upstream: Upstream,
  signal: AbortSignal,
): Promise<readonly ListedName[]> {
  try {
    const { data } = parseReply(cards, await askUpstream(upstream, { path: "/models", signal }));
    return data.map(({ id }) => ({ name: id, capabilities: undefined }));
  } catch (thrown) {
    // Not every embedding or speech server has the path.
    if (thrown instanceof ServiceError && thrown.upstreamStatus === 404) return [];
    throw thrown;
  }
}

/** Lists all models of an Ollama server. */
export async function listTags(
  upstream: Upstream,
  signal: AbortSignal,
): Promise<readonly ListedName[]> {
  const reply = await askUpstream(upstream, { path: "/api/tags", signal });
  const listed: ListedName[] = [];
  let questionsLeft = MAX_QUESTIONS;
  for (const { name, capabilities } of parseReply(tags, reply).models) {
    // Older servers report capabilities of one model at a time. Sequential, because only the first call waits for this.
    const isAsked = capabilities === undefined && questionsLeft-- > 0;
    listed.push({
      name,
      capabilities: isAsked ? await askCapabilities(upstream, name, signal) : capabilities,
    });
  }
  return listed;
}

async function askCapabilities(
  upstream: Upstream,
  model: string,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  try {
    const body = JSON.stringify({ model });
    const reply = await askUpstream(upstream, { path: "/api/show", body, signal });
    return parseReply(details, reply).capabilities;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Returns true when the requested name means the model; Ollama's tag `:latest` may be omitted. */
export function isNameOf(listed: string, word: string): boolean {
  return listed === word || listed === `${word}:latest`;
}
