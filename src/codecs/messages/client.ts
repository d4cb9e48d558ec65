import type { ClientCodec } from "../codec.ts";
import { readVendorMessage } from "../shared/errors/vendor-message.ts";
import { createSseStreamReader } from "../shared/sse-stream-reader.ts";
import { buildRequest, findUnsaid } from "./client/build-request.ts";
import { AnswerReader } from "./client/read-answer.ts";

/** The client side of the messages format, `POST /v1/messages`, used to call Anthropic. */
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
