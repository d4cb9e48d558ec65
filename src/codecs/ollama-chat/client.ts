import type { ChatEvent } from "../../core/chat/chat-event.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { ClientCodec } from "../codec.ts";
import { AnswerReader } from "./answer-reader.ts";
import { buildBody, findUnsaid } from "./build-body.ts";
import { OllamaStreamReader } from "./client-stream.ts";
import { readErrorMessage } from "./engine-errors.ts";

/** The client for Ollama's own chat format, `POST /api/chat`. */
export const ollamaChatClient: ClientCodec = {
  build: buildBody,
  unsaid: findUnsaid,
  streamReader: (maxEventBytes) => new OllamaStreamReader(maxEventBytes),
  readAnswer,
  readErrorMessage,
};

function readAnswer(text: string): readonly ChatEvent[] {
  const answer = new AnswerReader();
  answer.read(text);
  if (answer.writer.ended) return answer.writer.take();
  throw new ServiceError("upstream_error", "The engine ended its answer before it was complete.");
}
