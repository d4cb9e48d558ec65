import type { ClientCodec } from "../codec.ts";
import { readVendorMessage } from "../shared/errors/vendor-message.ts";
import { createSseStreamReader } from "../shared/sse-stream-reader.ts";
import { findUnsaid } from "./build-generation-config.ts";
import { buildRequest } from "./build-request.ts";
import { AnswerReader } from "./read-answer.ts";

/** The client for Gemini's `:generateContent` and `:streamGenerateContent?alt=sse`, used to call Google. */
export const generateContentClient: ClientCodec = {
  build: buildRequest,
  unsaid: findUnsaid,
  streamReader: (maxEventBytes) => createSseStreamReader(maxEventBytes, new AnswerReader()),
  readAnswer(text) {
    const answer = new AnswerReader();
    answer.readEvent(text);
    answer.finish();
    return answer.writer.take();
  },
  readErrorMessage: readVendorMessage,
};
