import Anthropic from "@anthropic-ai/sdk";
import type { Answer, End, Family, Line, Question, Turn, Usage } from "../question.ts";

type Body = Anthropic.MessageCreateParamsNonStreaming;
type Param = Anthropic.MessageParam;
type Block = Anthropic.ContentBlockParam;

/** The family demands a limit where a question names none. */
const MAX_TOKENS = 4_096;

/** The messages family, by the `@anthropic-ai/sdk` library. */
export const messages: Family = { name: "messages", ask };

async function ask(line: Line, question: Question): Promise<Answer> {
  const client = new Anthropic({
    baseURL: line.url,
    apiKey: line.key,
    fetch: line.fetch,
    maxRetries: 0,
  });
  const options = line.signal === undefined ? {} : { signal: line.signal };
  const body = toBody(question);
  const message = line.stream
    ? await client.messages.stream(body, options).finalMessage()
    : await client.messages.create(body, options);
  return toAnswer(message);
}

function toBody({ model, system, turns, tools, maxTokens, stop, effort }: Question): Body {
  return {
    model,
    max_tokens: maxTokens ?? MAX_TOKENS,
    messages: turns.map(toMessage),
    ...(system !== undefined && { system }),
    ...(tools && {
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: { type: "object" as const, ...parameters },
      })),
    }),
    ...(stop && { stop_sequences: [...stop] }),
    ...(effort === "none" && { thinking: { type: "disabled" as const } }),
    ...(effort === "high" && {
      thinking: { type: "adaptive" as const },
      output_config: { effort: "high" as const },
    }),
  };
}

function toMessage(turn: Turn): Param {
  switch (turn.who) {
    case "user":
      return { role: "user", content: toBlocks(turn) };
    case "assistant":
      return { role: "assistant", content: turn.answer.replay as Block[] };
    case "tools":
      return {
        role: "user",
        content: turn.results.map((result) => ({
          type: "tool_result" as const,
          tool_use_id: result.callId,
          content: toBlocks(result),
        })),
      };
  }
}

function toBlocks({
  text,
  image,
}: {
  readonly text: string;
  readonly image?: { readonly mediaType: string; readonly data: string };
}): (Anthropic.TextBlockParam | Anthropic.ImageBlockParam)[] {
  const said = { type: "text" as const, text };
  if (image === undefined) return [said];
  const media_type = image.mediaType as "image/png";
  return [said, { type: "image", source: { type: "base64", media_type, data: image.data } }];
}

function toAnswer(message: Anthropic.Message): Answer {
  const { content, model, stop_reason, usage } = message;
  const textOf = (type: "text" | "thinking") =>
    content
      .map((block) => {
        if (type === "text") return block.type === "text" ? block.text : "";
        return block.type === "thinking" ? block.thinking : "";
      })
      .join("");
  return {
    model,
    text: textOf("text"),
    reasoning: textOf("thinking"),
    calls: content.flatMap((block) =>
      block.type === "tool_use"
        ? [{ id: block.id, name: block.name, arguments: JSON.stringify(block.input) }]
        : [],
    ),
    end: toEnd(stop_reason),
    usage: toUsage(usage),
    replay: content,
  };
}

function toEnd(reason: string | null): End {
  switch (reason) {
    case "end_turn":
      return "stop";
    case "stop_sequence":
      return "stop-sequence";
    case "max_tokens":
      return "length";
    case "tool_use":
      return "tool-calls";
    case "refusal":
      return "refusal";
    default:
      throw new Error(`a stop reason of ${reason}`);
  }
}

/** This family counts cached tokens beside the input, not in it. */
function toUsage(usage: Anthropic.Usage): Usage {
  const cached = usage.cache_read_input_tokens ?? 0;
  const { output_tokens_details } = usage as {
    output_tokens_details?: { thinking_tokens?: number };
  };
  return {
    input: usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0),
    output: usage.output_tokens,
    cached,
    reasoning: output_tokens_details?.thinking_tokens ?? 0,
  };
}
