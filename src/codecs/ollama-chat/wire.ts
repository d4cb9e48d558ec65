import * as z from "zod";

const count = z.number().int().nonnegative().nullish();

const tokenLogprob = z.object({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.number()).nullish(),
});

const logprob = tokenLogprob.extend({ top_logprobs: z.array(tokenLogprob).nullish() });

const toolCall = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string().min(1), arguments: z.unknown() }),
});

const message = z.object({
  content: z.string().nullish(),
  thinking: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
});

/** What we read of an answer of `POST /api/chat`: one line of a stream, or the whole body of a non-streaming call. */
export const answerLine = z.object({
  created_at: z.string().nullish(),
  message: message.nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  prompt_eval_count: count,
  eval_count: count,
  logprobs: z.array(logprob).nullish(),
});

export type AnswerLine = z.infer<typeof answerLine>;
export type WireLogprob = z.infer<typeof logprob>;
export type WireToolCall = z.infer<typeof toolCall>;
