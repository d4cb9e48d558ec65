import type { ServerCodec } from "../codec.ts";
import { encodeAnswer } from "./server/encode-answer.ts";
import { encodeError } from "./server/encode-error.ts";
import { eventFrame } from "./server/event-frame.ts";
import type { MessagesForm } from "./server/messages-form.ts";
import { parseRequest } from "./server/parse-request.ts";
import { createStreamEncoder } from "./server/server-stream.ts";

/** The server side of the messages format, used by clients of the gateway. */
export const messagesServer: ServerCodec<MessagesForm> = {
  parse: parseRequest,
  encodeAnswer,
  streamEncoder: createStreamEncoder,
  keepalive: eventFrame({ type: "ping" }),
  encodeError,
};
