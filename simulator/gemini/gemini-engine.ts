import { type Call, type Handler, sendJson } from "../call.ts";
import type { Engine } from "../engine.ts";
import { headerOf } from "../http/request-reader.ts";
import { saysJson } from "../http/says-json.ts";
import type { Model } from "../models.ts";
import { badPayload, geminiError, invalid } from "./gemini-error.ts";
import { geminiModels, traitsOf } from "./gemini-models.ts";
import { countTokens, generateContent } from "./generate-content.ts";

const MODELS = "/v1beta/models";
const SERVICE = "generativelanguage.googleapis.com";

type Verb = (call: Call, model: Model) => Promise<void>;

const verbs: Readonly<Record<string, Verb>> = {
  generateContent: (call, model) => generateContent(call, model, false),
  streamGenerateContent: (call, model) => generateContent(call, model, true),
  countTokens,
};

/** Google's Gemini API. */
export const geminiEngine: Engine = {
  models: geminiModels,
  find: findHandler,
  modelOf: (path) => readTarget(path)?.model,
  headers: () => ({ vary: "Origin, X-Origin, Referer", "server-timing": "gfet4t7; dur=12" }),
  checkKey,
  checkHeaders({ exchange }) {
    if (saysJson(exchange.request)) return;
    throw badPayload(
      "",
      "Invalid JSON payload received. The content type must be application/json.",
    );
  },
  notFound: () => geminiError(404, "NOT_FOUND", { message: "Requested entity was not found." }),
  unreadable: () =>
    invalid("Invalid JSON payload received. Unexpected end of string. Expected a value."),
};

function findHandler(method: string, path: string): Handler | undefined {
  if (method === "GET" && path === MODELS) return listModels;
  const target = readTarget(path);
  if (!target) return undefined;
  if (method === "GET" && target.verb === undefined) return showModel;
  const verb = verbs[target.verb ?? ""];
  if (method !== "POST" || !verb) return undefined;
  return (call) => verb(call, findModel(call, target.verb));
}

function readTarget(path: string): { model: string; verb: string | undefined } | undefined {
  const [, name, verb] = /^\/v1beta\/models\/([^/]+?)(?::([A-Za-z]+))?$/.exec(path) ?? [];
  return name === undefined ? undefined : { model: decodeURIComponent(name), verb };
}

function findModel({ entry, options }: Call, verb: string | undefined): Model {
  const found = options.models.find(({ name }) => name === entry.model);
  if (found) return found;
  throw geminiError(404, "NOT_FOUND", {
    message: `models/${entry.model} is not found for API version v1beta, or is not supported for ${verb}. Call ListModels to see the list of available models and their supported methods.`,
  });
}

/** Checks the key, which must be in its header: URLs are logged on their way. */
function checkKey({ exchange, options }: Call): void {
  const { request } = exchange;
  if (request.query.has("key")) {
    throw invalid("The simulator accepts no API key in the URL: send x-goog-api-key.");
  }
  const key = headerOf(request, "x-goog-api-key");
  if (!key) {
    throw geminiError(403, "PERMISSION_DENIED", {
      message:
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
    });
  }
  if (options.apiKey === undefined || key === options.apiKey) return;
  throw invalid("API key not valid. Please pass a valid API key.", [
    {
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: "API_KEY_INVALID",
      domain: "googleapis.com",
      metadata: { service: SERVICE },
    },
    {
      "@type": "type.googleapis.com/google.rpc.LocalizedMessage",
      locale: "en-US",
      message: "API key not valid. Please pass a valid API key.",
    },
  ]);
}

function listModels(call: Call): Promise<void> {
  return sendJson(call, 200, { models: call.options.models.map(card) });
}

function showModel(call: Call): Promise<void> {
  return sendJson(call, 200, card(findModel(call, "generateContent")));
}

function card(model: Model): object {
  const { maxOutputTokens, thinks } = traitsOf(model);
  return {
    name: `models/${model.name}`,
    version: "001",
    displayName: model.name,
    inputTokenLimit: model.contextLength,
    outputTokenLimit: maxOutputTokens,
    supportedGenerationMethods: ["generateContent", "countTokens"],
    temperature: 1,
    topP: 0.95,
    topK: 64,
    maxTemperature: 2,
    thinking: thinks,
  };
}
