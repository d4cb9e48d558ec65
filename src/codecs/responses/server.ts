import type { ServerCodec } from "../codec.ts";
import { encodeError } from "../shared/errors/openai-error-body.ts";
import { encodeAnswer } from "./server/encode-answer.ts";
import { parseRequest } from "./server/parse/parse-request.ts";
import type { ResponsesForm } from "./server/responses-form.ts";
import { createStreamEncoder } from "./server/server-stream.ts";

/** The server side of the responses format, used by clients of the gateway. */
export const responsesServer: ServerCodec<ResponsesForm> = {
  parse: parseRequest,
  encodeAnswer,
  streamEncoder: createStreamEncoder,
  keepalive: ": keepalive\n\n",
  encodeError,
};
