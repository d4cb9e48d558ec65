import { z } from "zod";
import { ServiceError } from "../../core/service-error.ts";
import { askUpstream } from "../upstream/ask-upstream.ts";
import { parseReply } from "../upstream/parse-reply.ts";
import type { Upstream } from "../upstream/upstream.ts";

/** A model as its server names it, and what the server says it can do, where it says so. */
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

/** Models whose capabilities are asked one by one; of the others the name must tell. */
const MAX_QUESTIONS = 100;

/** All models of a server of the OpenAI format, whose address has the version; none where it does not list them. */
export async function listCards(
  upstream: Upstream,
  signal: AbortSignal,
): Promise<readonly ListedName[]> {
  try {
    const { data } = parseReply(cards, await askUpstream(upstream, { path: "/models", signal }));
    return data.map(({ id }) => ({ name: id, capabilities: undefined }));
  } catch (thrown) {
    // Not every server that embeds or transcribes has the path.
    if (thrown instanceof ServiceError && thrown.upstreamStatus === 404) return [];
    throw thrown;
  }
}

/** All models of an Ollama server. */
export async function listTags(
  upstream: Upstream,
  signal: AbortSignal,
): Promise<readonly ListedName[]> {
  const reply = await askUpstream(upstream, { path: "/api/tags", signal });
  const listed: ListedName[] = [];
  let questionsLeft = MAX_QUESTIONS;
  for (const { name, capabilities } of parseReply(tags, reply).models) {
    // Older servers tell it of one model at a time. One after the other: nobody waits for this but the first call.
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

/** True when a client's word names the model; Ollama's tag may be left out. */
export function isNameOf(listed: string, word: string): boolean {
  return listed === word || listed === `${word}:latest`;
}
