import type { Failure } from "../content/speak.ts";

/** OpenAI's error when its own server fails. */
export const openAiFailure: Failure = {
  status: 500,
  body: {
    error: {
      message:
        "The server had an error while processing your request. Sorry about that! You can retry your request.",
      type: "server_error",
      param: null,
      code: null,
    },
  },
};
