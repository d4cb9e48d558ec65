import type { ServerCodec } from "../codec.ts";
import { encodeError } from "../openai-error-body.ts";
import { encodeAnswer } from "./encode-answer.ts";
import { parseRequest } from "./parse-request.ts";
import type { ResponsesForm } from "./responses-form.ts";
import { createStreamEncoder } from "./server-stream.ts";

/** The responses format as clients speak it to us. */
export const responsesServer: ServerCodec<ResponsesForm> = {
  parse: parseRequest,
  encodeAnswer,
  streamEncoder: createStreamEncoder,
  keepalive: ": keepalive\n\n",
  encodeError,
};
