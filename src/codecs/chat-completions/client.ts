import type { ChatEvent } from "../../core/chat/chat-event.ts";
import type { ClientCodec } from "../codec.ts";
import { readErrorMessage } from "../shared/errors/openai-errors.ts";
import { buildRequest } from "./client/build-request.ts";
import { ChunkReader, garbage } from "./client/chunk-reader.ts";
import { createStreamReader } from "./client/client-stream.ts";
import { type Dialect, PLAIN_DIALECT } from "./client/dialect.ts";

/** Creates a client for servers of one dialect. The answers of all dialects are read the same way. */
export function createChatCompletionsClient(dialect: Dialect): ClientCodec {
  return {
    build: (request, model) => buildRequest(request, model, dialect),
    unsaid: ({ tools, parallelToolCalls }) =>
      tools.length > 0 && parallelToolCalls === false && !dialect.takesParallelToolCalls
        ? ["parallel_tool_calls"]
        : [],
    streamReader: createStreamReader,
    readAnswer,
    readErrorMessage,
  };
}

/** The client for vLLM and for every server that is compatible with it. */
export const chatCompletionsClient: ClientCodec = createChatCompletionsClient(PLAIN_DIALECT);

function readAnswer(text: string): readonly ChatEvent[] {
  const chunks = new ChunkReader();
  chunks.readWhole(parseAnswer(text));
  return chunks.writer.take();
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw garbage(cause);
  }
}
