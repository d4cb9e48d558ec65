import { type Call, type Handler, sendJson } from "../call.ts";
import type { Engine } from "../engine.ts";
import { bearerOf } from "../http/bearer-of.ts";
import { headerOf } from "../http/request-reader.ts";
import { saysJson } from "../http/says-json.ts";
import { stringOf } from "../json.ts";
import type { Model } from "../models.ts";
import { chat } from "./chat.ts";
import { invalid, openAiError } from "./openai-error.ts";
import { openAiModels } from "./openai-models.ts";
import { countInputTokens, responses } from "./responses.ts";

const routes: Readonly<Record<string, Handler>> = {
  "GET /v1/models": (call) => {
    const data = call.options.models.map(card);
    return sendJson(call, 200, { object: "list", data });
  },
  "POST /v1/chat/completions": chat,
  "POST /v1/responses": responses,
  "POST /v1/responses/input_tokens": countInputTokens,
};

/** OpenAI's API. */
export const openAiEngine: Engine = {
  models: openAiModels,
  find(method, path) {
    if (method === "GET" && path.startsWith("/v1/models/")) return showModel;
    return routes[`${method} ${path}`];
  },
  modelOf: (_path, body) => stringOf(body?.["model"]),
  headers: ({ id }) => ({
    "x-request-id": `req_${id}`,
    "openai-processing-ms": "12",
    "openai-version": "2020-10-01",
    "x-ratelimit-limit-requests": "10000",
    "x-ratelimit-remaining-requests": "9999",
    "x-ratelimit-reset-requests": "6ms",
  }),
  checkKey,
  checkHeaders({ exchange }) {
    if (saysJson(exchange.request)) return;
    const type = headerOf(exchange.request, "content-type") ?? "";
    const message = `Unsupported content type: '${type}'. This API method only accepts 'application/json' requests, but you specified the header 'Content-Type: ${type}'. Please try again with a supported content type.`;
    throw invalid(message, null, "unsupported_content_type");
  },
  notFound: ({ method, path }) => openAiError(404, `Invalid URL (${method} ${path})`),
  unreadable: () =>
    openAiError(
      400,
      "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)",
    ),
};

function checkKey({ exchange, options }: Call): void {
  const key = bearerOf(exchange.request);
  if (key === undefined) {
    throw openAiError(
      401,
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    );
  }
  if (options.apiKey === undefined || key === options.apiKey) return;
  const shown = `${key.slice(0, 3)}${"*".repeat(8)}${key.slice(-4)}`;
  const message = `Incorrect API key provided: ${shown}. You can find your API key at https://platform.openai.com/account/api-keys.`;
  throw openAiError(401, message, { code: "invalid_api_key" });
}

function showModel(call: Call): Promise<void> {
  const id = decodeURIComponent(call.exchange.request.path.slice("/v1/models/".length));
  const model = call.options.models.find(({ name }) => name === id);
  if (model) return sendJson(call, 200, card(model));
  const message = `The model '${id}' does not exist`;
  throw openAiError(404, message, { param: "model", code: "model_not_found" });
}

function card({ name }: Model): object {
  return { id: name, object: "model", created: 1_763_600_000, owned_by: "system" };
}
