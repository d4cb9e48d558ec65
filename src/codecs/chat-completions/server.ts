import type { ServerCodec } from "../codec.ts";
import { encodeAnswer } from "./encode-answer.ts";
import { encodeError } from "./encode-error.ts";
import { parseRequest } from "./parse-request.ts";
import { createStreamEncoder } from "./server-stream.ts";

/** The chat-completion format as clients speak it to us. */
export const chatCompletionsServer: ServerCodec = {
  parse: parseRequest,
  encodeAnswer,
  streamEncoder: createStreamEncoder,
  encodeError,
};
