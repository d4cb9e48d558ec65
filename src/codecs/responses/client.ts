import type { ChatEvent } from "../../core/chat/chat-event.ts";
import { namesOfAsked } from "../../core/chat/parameter-names.ts";
import type { ClientCodec } from "../codec.ts";
import { readErrorMessage } from "../shared/errors/openai-errors.ts";
import { buildRequest } from "./client/build-request.ts";
import { createStreamReader } from "./client/client-stream.ts";
import { garbage, ResponseReader } from "./client/response-reader.ts";

/** The client side of the responses format, used to call OpenAI, some of whose models accept no other format. */
export const responsesClient: ClientCodec = {
  build: buildRequest,
  unsaid: ({ parameters }) =>
    namesOfAsked(parameters, ["topK", "stop", "seed", "presencePenalty", "frequencyPenalty"]),
  streamReader: createStreamReader,
  readAnswer,
  readErrorMessage,
};

function readAnswer(text: string): readonly ChatEvent[] {
  const response = new ResponseReader();
  response.readWhole(parse(text));
  return response.writer.take();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw garbage(cause);
  }
}
