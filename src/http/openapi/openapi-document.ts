import { OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import { isJsonObject } from "../../lib/json.ts";
import type { Route } from "../request/route.ts";
import { completeDocument } from "./complete-document.ts";

/** How a key is sent; named once for all routes. */
const SECURITY_SCHEMES = {
  bearerKey: {
    type: "http",
    scheme: "bearer",
    description: "An API key `sk-…`, or the token `ses_…` of a session.",
  },
  headerKey: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "The same key, as clients of the messages format send it.",
  },
} as const;

/**
 * The machine-readable definition of `/v1/*`, straight from the definitions of the routes.
 * Built once: generating it costs milliseconds, serving it must not.
 */
export function createOpenApiDocument(routes: readonly Route[], version: string): () => string {
  let text: string | undefined;
  return () => {
    text ??= JSON.stringify(generate(routes, version));
    return text;
  };
}

function generate(routes: readonly Route[], version: string): unknown {
  const generator = new OpenAPIHono();
  const { openAPIRegistry } = generator;
  for (const [name, scheme] of Object.entries(SECURITY_SCHEMES)) {
    openAPIRegistry.registerComponent("securitySchemes", name, scheme);
  }
  for (const { definition } of routes) {
    if (definition.hide !== true) openAPIRegistry.registerPath(documented(definition));
  }
  const document: unknown = generator.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Inference Gateway",
      version,
      description:
        "One address in front of local and cloud language models. Times are UTC. Every response carries `x-request-id`.",
    },
    servers: [{ url: "/" }],
  });
  return isJsonObject(document) ? completeDocument(document) : document;
}

/** What of a definition the generator writes: it would copy every property that it does not know. */
function documented(definition: Route["definition"]): RouteConfig {
  const { method, path, operationId, tags, summary, description } = definition;
  const { security, request, responses } = definition;
  const texts = { operationId, tags, summary, description };
  return { method, path, ...texts, security, request, responses } as RouteConfig;
}
