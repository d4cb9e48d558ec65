import type { Answer } from "../content/answer.ts";
import { logProbability } from "../content/log-probabilities.ts";
import { tokenize } from "../content/tokenizer.ts";
import type { ChatSpeech } from "./chat-frames.ts";

/** Renders a non-streaming chat completion. */
export function wholeChat(answer: Answer, speech: ChatSpeech): object {
  const { finishReason, script, style, topLogprobs } = speech;
  const message = style.message({
    text: answer.text.join("").repeat(answer.repeat),
    reasoning: style.reasoningDelta ? answer.reasoning.join("") : "",
    refusal: script?.refusal,
    calls: answer.toolCalls.map((call, index) => {
      const { index: _, ...rest } = style.callOf(call, index);
      return rest;
    }),
  });
  const logprobs =
    topLogprobs === undefined
      ? {}
      : {
          logprobs: {
            content: tokenize(answer.text.join("")).map((token) =>
              logProbability(token, topLogprobs),
            ),
            refusal: null,
          },
        };
  const choice = {
    index: 0,
    message,
    ...style.wholeChoice,
    ...logprobs,
    finish_reason: finishReason,
  };
  const { usage } = answer;
  return {
    ...style.head,
    object: "chat.completion",
    choices: [choice],
    ...(usage ? { usage: style.renderUsage(usage) } : {}),
    ...style.wholeTail(usage),
  };
}
