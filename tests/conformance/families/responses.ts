import OpenAI from "openai";
import type { Answer, End, Family, Line, Question, Turn, Usage } from "../question.ts";

type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type Item = OpenAI.Responses.ResponseInputItem;
type WholeResponse = OpenAI.Responses.Response;

/** The responses family, by the `openai` library. */
export const responses: Family = { name: "responses", ask };

async function ask(line: Line, question: Question): Promise<Answer> {
  const client = new OpenAI({
    baseURL: `${line.url}/v1`,
    apiKey: line.key,
    fetch: line.fetch,
    maxRetries: 0,
  });
  const options = line.signal === undefined ? {} : { signal: line.signal };
  const body = toBody(question);
  if (!line.stream) return toAnswer(await client.responses.create(body, options));
  const stream = await client.responses.create({ ...body, stream: true }, options);
  return toAnswer(await readStream(stream));
}

/** The library leaves it to its users to tell the ends of a stream apart. */
async function readStream(stream: AsyncIterable<StreamEvent>): Promise<WholeResponse> {
  let text = "";
  let last: WholeResponse | undefined;
  for await (const event of stream) {
    if (last !== undefined) throw new Error(`${event.type} after the end`);
    text += said(event);
    last = endOf(event);
  }
  if (last === undefined) throw new Error("the stream has no end");
  if (textOf(last) !== text) throw new Error("the deltas are not the text");
  return last;
}

type StreamEvent = OpenAI.Responses.ResponseStreamEvent;

function said(event: StreamEvent): string {
  const isSaid =
    event.type === "response.output_text.delta" || event.type === "response.refusal.delta";
  return isSaid ? event.delta : "";
}

/** The whole answer that a stream ends with; undefined before its end. */
function endOf(event: StreamEvent): WholeResponse | undefined {
  switch (event.type) {
    case "response.completed":
    case "response.incomplete":
      return event.response;
    case "response.failed":
      throw new Error(event.response.error?.message);
    case "error":
      throw new Error(event.message);
    default:
      return undefined;
  }
}

function toBody({ model, system, turns, tools, maxTokens, effort }: Question): Body {
  return {
    model,
    input: turns.flatMap(toItems),
    store: false,
    include: ["reasoning.encrypted_content"],
    ...(system !== undefined && { instructions: system }),
    ...(tools && {
      tools: tools.map((tool) => ({ type: "function" as const, strict: false, ...tool })),
    }),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(effort && { reasoning: { effort } }),
  };
}

function toItems(turn: Turn): Item[] {
  switch (turn.who) {
    case "user":
      return [{ role: "user", content: toParts(turn) }];
    case "assistant":
      return turn.answer.replay as Item[];
    case "tools":
      return turn.results.map((result) => ({
        type: "function_call_output",
        call_id: result.callId,
        output: result.image === undefined ? result.text : toParts(result),
      }));
  }
}

function toParts({
  text,
  image,
}: {
  readonly text: string;
  readonly image?: { readonly mediaType: string; readonly data: string };
}) {
  const said = { type: "input_text" as const, text };
  if (image === undefined) return [said];
  const image_url = `data:${image.mediaType};base64,${image.data}`;
  return [said, { type: "input_image" as const, detail: "auto" as const, image_url }];
}

function toAnswer(response: WholeResponse): Answer {
  const { output, model, usage } = response;
  const calls = output.flatMap((item) =>
    item.type === "function_call"
      ? [{ id: item.call_id, name: item.name, arguments: item.arguments }]
      : [],
  );
  return {
    model,
    text: textOf(response),
    reasoning: output
      .flatMap((item) => (item.type === "reasoning" ? item.summary : []))
      .map(({ text }) => text)
      .join(""),
    calls,
    end: toEnd(response, calls.length > 0),
    usage: toUsage(usage),
    replay: output,
  };
}

function textOf({ output }: WholeResponse): string {
  return output
    .flatMap((item) => (item.type === "message" ? item.content : []))
    .map((part) => (part.type === "refusal" ? part.refusal : part.text))
    .join("");
}

function toEnd({ status, incomplete_details, output }: WholeResponse, hasCalls: boolean): End {
  if (status === "incomplete") {
    return incomplete_details?.reason === "content_filter" ? "refusal" : "length";
  }
  if (status !== "completed") throw new Error(`a status of ${status}`);
  const refused = output.some(
    (item) => item.type === "message" && item.content.some(({ type }) => type === "refusal"),
  );
  if (refused) return "refusal";
  return hasCalls ? "tool-calls" : "stop";
}

function toUsage(usage: OpenAI.Responses.ResponseUsage | undefined): Usage {
  if (usage === undefined) throw new Error("the answer tells no usage");
  if (usage.total_tokens !== usage.input_tokens + usage.output_tokens) {
    throw new Error("the total is not the sum");
  }
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    cached: usage.input_tokens_details.cached_tokens,
    reasoning: usage.output_tokens_details.reasoning_tokens,
  };
}
