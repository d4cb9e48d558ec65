import type { Call, Handler } from "../call.ts";
import type { Engine } from "../engine.ts";
import { EngineError } from "../engine-error.ts";
import { headerOf } from "../http/request-reader.ts";
import { saysJson } from "../http/says-json.ts";
import { objectOf, stringOf } from "../json.ts";
import { anthropicError, invalid } from "./anthropic-error.ts";
import { anthropicModels } from "./anthropic-models.ts";
import { listModels, showModel } from "./list-models.ts";
import { countTokens, messages } from "./messages.ts";

const routes: Readonly<Record<string, Handler>> = {
  "GET /v1/models": listModels,
  "POST /v1/messages": messages,
  "POST /v1/messages/count_tokens": countTokens,
};
const VERSIONS = ["2023-01-01", "2023-06-01", "2026-10-21"];

/** Anthropic's API. */
export const anthropicEngine: Engine = {
  models: anthropicModels,
  find(method, path) {
    const isShown = method === "GET" && path.startsWith("/v1/models/");
    const handler = isShown ? showModel : routes[`${method} ${path}`];
    return handler && ((call) => withRequestId(call, handler));
  },
  modelOf: (_path, body) => stringOf(body?.["model"]),
  headers: ({ id }) => ({
    "request-id": `req_${id}`,
    "anthropic-ratelimit-requests-limit": "4000",
    "anthropic-ratelimit-requests-remaining": "3999",
  }),
  checkKey: (call) => identified(call.entry.id, () => checkKey(call)),
  checkHeaders: (call) => identified(call.entry.id, () => checkHeaders(call)),
  notFound: (_request, { id }) => withId(anthropicError(404, "not_found_error", "Not Found"), id),
  unreadable: (_request, { id }) =>
    withId(
      invalid("The request body is not valid JSON: expected value: line 1 column 1 (char 0)"),
      id,
    ),
};

/** Adds the request id to an error, because every error body of Anthropic repeats it. */
async function withRequestId(call: Call, handler: Handler): Promise<void> {
  try {
    await handler(call);
  } catch (error) {
    throw error instanceof EngineError ? withId(error, call.entry.id) : error;
  }
}

function identified(id: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw error instanceof EngineError ? withId(error, id) : error;
  }
}

function withId({ body, status }: EngineError, id: string): EngineError {
  return new EngineError(status, { ...objectOf(body), request_id: `req_${id}` });
}

function checkKey({ exchange, options }: Call): void {
  const key = headerOf(exchange.request, "x-api-key");
  if (!key) throw anthropicError(401, "authentication_error", "x-api-key header is required");
  if (options.apiKey !== undefined && key !== options.apiKey) {
    throw anthropicError(401, "authentication_error", "invalid x-api-key");
  }
}

function checkHeaders({ exchange }: Call): void {
  const version = headerOf(exchange.request, "anthropic-version");
  if (!version) throw invalid("anthropic-version: header is required");
  if (!VERSIONS.includes(version)) {
    throw invalid(`anthropic-version: "${version}" is not a valid version`);
  }
  if (!saysJson(exchange.request)) {
    throw invalid("content-type: the request body must be application/json");
  }
}
