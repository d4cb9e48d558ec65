import type { ClientCodec } from "../codec.ts";
import { createSseStreamReader } from "../sse-stream-reader.ts";
import { readVendorMessage } from "../vendor-message.ts";
import { buildRequest, findUnsaid } from "./build-request.ts";
import { AnswerReader } from "./read-answer.ts";

/** The messages format, `POST /v1/messages`, as we speak it to Anthropic. */
export const messagesClient: ClientCodec = {
  build: buildRequest,
  unsaid: findUnsaid,
  streamReader: (maxEventBytes) => createSseStreamReader(maxEventBytes, new AnswerReader()),
  readAnswer(text) {
    const answer = new AnswerReader();
    answer.readWhole(text);
    return answer.writer.take();
  },
  readErrorMessage: readVendorMessage,
};
