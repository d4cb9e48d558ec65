import OpenAI from "openai";
import type { Answer, End, Family, Line, Question, Turn, Usage } from "../question.ts";

type Body = OpenAI.ChatCompletionCreateParams;
type Message = OpenAI.ChatCompletionMessageParam;
type Thoughtful = { readonly reasoning_content?: string | null };

/** The chat-completions family, by the `openai` library. */
export const chat: Family = { name: "chat", ask };

async function ask(line: Line, question: Question): Promise<Answer> {
  const client = new OpenAI({
    baseURL: `${line.url}/v1`,
    apiKey: line.key,
    fetch: line.fetch,
    maxRetries: 0,
  });
  const options = line.signal === undefined ? {} : { signal: line.signal };
  const body = toBody(question);
  if (!line.stream) {
    const completion = await client.chat.completions.create({ ...body, stream: false }, options);
    return toAnswer(completion, thoughtOf(completion.choices[0]?.message));
  }
  const stream = client.chat.completions.stream(
    { ...body, stream: true, stream_options: { include_usage: true } },
    options,
  );
  let thought = "";
  stream.on("chunk", ({ choices: [choice] }) => {
    thought += thoughtOf(choice?.delta);
  });
  return toAnswer(await stream.finalChatCompletion(), thought);
}

function toBody(question: Question): Body {
  const { model, system, turns, tools, maxTokens, stop, effort } = question;
  return {
    model,
    messages: [
      ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
      ...turns.flatMap(toMessages),
    ],
    ...(tools && {
      tools: tools.map((tool) => ({ type: "function" as const, function: { ...tool } })),
    }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(stop && { stop: [...stop] }),
    ...(effort && { reasoning_effort: effort }),
  };
}

function toMessages(turn: Turn): Message[] {
  switch (turn.who) {
    case "user":
      return [{ role: "user", content: withImage(turn) as string }];
    case "assistant":
      return [turn.answer.replay as Message];
    case "tools":
      return turn.results.map((result) => ({
        role: "tool",
        tool_call_id: result.callId,
        content: withImage(result) as string,
      }));
  }
}

function withImage({
  text,
  image,
}: Extract<Turn, { who: "user" }> | { text: string; image?: { mediaType: string; data: string } }) {
  if (image === undefined) return text;
  const url = `data:${image.mediaType};base64,${image.data}`;
  return [
    { type: "text", text },
    { type: "image_url", image_url: { url } },
  ];
}

function toAnswer(completion: OpenAI.ChatCompletion, thought: string): Answer {
  const [choice] = completion.choices;
  if (choice === undefined) throw new Error("the answer has no choice");
  const { message, finish_reason } = choice;
  const calls = (message.tool_calls ?? []).flatMap((call) =>
    call.type === "function"
      ? [{ id: call.id, name: call.function.name, arguments: call.function.arguments }]
      : [],
  );
  const { content, refusal, tool_calls } = message;
  return {
    model: completion.model,
    text: content ?? refusal ?? "",
    reasoning: thought,
    calls,
    end: toEnd(finish_reason),
    usage: toUsage(completion.usage),
    replay: {
      role: "assistant",
      content,
      ...(thought !== "" && { reasoning_content: thought }),
      ...(tool_calls?.length && { tool_calls }),
    },
  };
}

function toEnd(reason: string): End {
  switch (reason) {
    case "stop":
      return "stop";
    case "length":
      return "length";
    case "tool_calls":
      return "tool-calls";
    case "content_filter":
      return "refusal";
    default:
      throw new Error(`a finish reason of ${reason}`);
  }
}

function toUsage(usage: OpenAI.CompletionUsage | undefined): Usage {
  if (usage === undefined) throw new Error("the answer tells no usage");
  if (usage.total_tokens !== usage.prompt_tokens + usage.completion_tokens) {
    throw new Error("the total is not the sum");
  }
  return {
    input: usage.prompt_tokens,
    output: usage.completion_tokens,
    cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
    reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}

function thoughtOf(holder: object | undefined): string {
  return (holder as Thoughtful | undefined)?.reasoning_content ?? "";
}
