import type { ServerCodec } from "../codec.ts";
import { encodeError } from "../openai-error-body.ts";
import type { ChatForm } from "./chat-form.ts";
import { encodeAnswer } from "./encode-answer.ts";
import { parseRequest } from "./parse-request.ts";
import { createStreamEncoder } from "./server-stream.ts";

/** The chat-completion format as clients speak it to us. */
export const chatCompletionsServer: ServerCodec<ChatForm> = {
  parse: parseRequest,
  encodeAnswer: (answer, context, form) => JSON.stringify(encodeAnswer(answer, context, form)),
  streamEncoder: createStreamEncoder,
  keepalive: ": keepalive\n\n",
  encodeError,
};
