import { isJsonObject } from "../../lib/json.ts";
import type { Router } from "../request/router.ts";
import { completeDocument } from "./complete-document.ts";

/**
 * The machine-readable definition of `/v1/*`, straight from the route definitions of the routers.
 * Built once: generating it costs milliseconds, serving it must not.
 */
export function createOpenApiDocument(root: Router, version: string): () => string {
  let text: string | undefined;
  return () => {
    if (text !== undefined) return text;
    const document: unknown = root.hono.getOpenAPI31Document({
      openapi: "3.1.0",
      info: {
        title: "Inference Gateway",
        version,
        description:
          "One address in front of local and cloud language models. Times are UTC. Every response carries `x-request-id`.",
      },
      servers: [{ url: "/" }],
    });
    text = JSON.stringify(isJsonObject(document) ? completeDocument(document) : document);
    return text;
  };
}

/** How a key is sent; named once for all routes. */
export function registerSecuritySchemes(root: Router): void {
  root.hono.openAPIRegistry.registerComponent("securitySchemes", "bearerKey", {
    type: "http",
    scheme: "bearer",
    description: "An API key `sk-…`, or the token `ses_…` of a session.",
  });
  root.hono.openAPIRegistry.registerComponent("securitySchemes", "headerKey", {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "The same key, as clients of the messages format send it.",
  });
}
