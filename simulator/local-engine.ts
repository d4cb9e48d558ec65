import type { Handler } from "./call.ts";
import type { Engine } from "./engine.ts";
import { EngineError } from "./engine-error.ts";
import { headerOf } from "./http/request-reader.ts";
import { stringOf } from "./json.ts";
import { defaultModels } from "./models.ts";

/** Creates a self-hosted engine from its routes. The path determines whether other errors follow vLLM or Ollama. */
export function localEngine(routes: Readonly<Record<string, Handler>>): Engine {
  return {
    models: defaultModels,
    find: (method, path) => routes[`${method} ${path}`],
    modelOf: (_path, body) => stringOf(body?.["model"]),
    headers: () => ({}),
    checkKey({ exchange, options }) {
      const { apiKey } = options;
      if (apiKey === undefined || !exchange.request.path.startsWith("/v1/")) return;
      const isKnown = headerOf(exchange.request, "authorization") === `Bearer ${apiKey}`;
      if (!isKnown) throw new EngineError(401, { error: "Unauthorized" });
    },
    checkHeaders: () => undefined,
    notFound: ({ path }) => {
      const isOllama = path.startsWith("/api/");
      return new EngineError(
        404,
        isOllama ? { error: "404 page not found" } : { detail: "Not Found" },
      );
    },
    unreadable: ({ path }) => new EngineError(400, unreadable(path)),
  };
}

function unreadable(path: string): unknown {
  if (path.startsWith("/api/")) return { error: "invalid character in the request body" };
  const message = "the request body is not a JSON object";
  return { error: { message, type: "Bad Request", param: null, code: 400 } };
}
