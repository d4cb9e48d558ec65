import type { ServerCodec } from "../codec.ts";
import { encodeError } from "../shared/errors/openai-error-body.ts";
import type { ChatForm } from "./server/chat-form.ts";
import { encodeAnswer } from "./server/encode-answer.ts";
import { parseRequest } from "./server/parse-request.ts";
import { createStreamEncoder } from "./server/server-stream.ts";

/** The server side of the chat-completions format, used by clients of the gateway. */
export const chatCompletionsServer: ServerCodec<ChatForm> = {
  parse: parseRequest,
  encodeAnswer: (answer, context, form) => JSON.stringify(encodeAnswer(answer, context, form)),
  streamEncoder: createStreamEncoder,
  keepalive: ": keepalive\n\n",
  encodeError,
};
