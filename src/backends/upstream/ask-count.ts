import type { z } from "zod";
import { askUpstream, type Question } from "./ask-upstream.ts";
import type { Upstream } from "./upstream.ts";

/**
 * A prompt's tokens by an engine's own counter, read from its reply. Undefined where it has no counter or does not
 * answer: an estimate must do. Rejects only when the client leaves.
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
