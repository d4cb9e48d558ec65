import { type Call, type Handler, sendJson } from "../call.ts";
import type { Engine } from "../engine.ts";
import { EngineError } from "../engine-error.ts";
import { bearerOf } from "../http/bearer-of.ts";
import { saysJson } from "../http/says-json.ts";
import { stringOf } from "../json.ts";
import { chat } from "./chat.ts";
import { compatibleModels } from "./compatible-models.ts";
import { invalidField } from "./mistral-error.ts";

const routes: Readonly<Record<string, Handler>> = {
  "GET /v1/models": listModels,
  "POST /v1/chat/completions": chat,
};

/** A cloud that is more or less compatible with OpenAI's chat completions. */
export const compatibleEngine: Engine = {
  models: compatibleModels,
  find: (method, path) => routes[`${method} ${path}`],
  modelOf: (_path, body) => stringOf(body?.["model"]),
  headers: ({ id }) => ({ "x-request-id": id }),
  checkKey({ exchange, options }) {
    const key = bearerOf(exchange.request);
    if (key !== undefined && (options.apiKey === undefined || key === options.apiKey)) return;
    throw new EngineError(401, { detail: "Unauthorized" });
  },
  checkHeaders({ exchange }) {
    if (saysJson(exchange.request)) return;
    const msg = "Input should be a valid dictionary or object to extract fields from";
    throw invalidField([], { type: "model_attributes_type", msg });
  },
  notFound: () => new EngineError(404, { message: "no Route matched with those values" }),
  unreadable: () => invalidField([0], { type: "json_invalid", msg: "JSON decode error" }),
};

function listModels(call: Call): Promise<void> {
  const data = call.options.models.map(({ capabilities, contextLength, name }) => ({
    id: name,
    object: "model",
    created: 1_763_600_000,
    owned_by: "simulator",
    capabilities: {
      completion_chat: true,
      function_calling: capabilities.includes("tools"),
      vision: capabilities.includes("vision"),
    },
    max_context_length: contextLength,
  }));
  return sendJson(call, 200, { object: "list", data });
}
