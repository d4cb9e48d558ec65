import type { z } from "zod";
import { askUpstream, type Question } from "./ask-upstream.ts";
import type { Upstream } from "./upstream.ts";

/**
 * Returns a prompt's tokens by the engine's own counter. Undefined where it has none or does not answer; the caller
 * then uses an estimate. Rejects only when the client leaves.
 */
export async function askCount(
  upstream: Upstream,
  question: Question,
  reply: z.ZodType<number>,
): Promise<number | undefined> {
  try {
    return reply.safeParse(await askUpstream(upstream, question)).data;
  } catch {
    question.signal.throwIfAborted();
    return undefined;
  }
}
