import type { ServerCodec } from "../codec.ts";
import { encodeAnswer } from "./encode-answer.ts";
import { encodeError } from "./encode-error.ts";
import { eventFrame } from "./event-frame.ts";
import type { MessagesForm } from "./messages-form.ts";
import { parseRequest } from "./parse-request.ts";
import { createStreamEncoder } from "./server-stream.ts";

/** The messages format as clients speak it to us. */
export const messagesServer: ServerCodec<MessagesForm> = {
  parse: parseRequest,
  encodeAnswer,
  streamEncoder: createStreamEncoder,
  keepalive: eventFrame({ type: "ping" }),
  encodeError,
};
