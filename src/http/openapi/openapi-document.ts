import { OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import { SESSION_COOKIE } from "../../access/sent-credential.ts";
import { scopeFor } from "../../core/callers/service-scope.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import type { AnyRouteDefinition } from "../request/routes/route.ts";
import { completeDocument } from "./complete-document.ts";

type Audience = "public" | "console";

const SERVICE_TOKEN = {
  type: "http",
  scheme: "bearer",
  description: "A service token `sv-…` with the scope that the route names.",
} as const;
const HEADER_KEY = {
  type: "apiKey",
  in: "header",
  name: "x-api-key",
  description: "The same key, as clients of the messages format send it.",
} as const;

/** The audience of each document and how its callers authenticate. The schemes are named once for all routes. */
const DOCUMENTS = {
  public: {
    title: "Inference Gateway",
    description:
      "One address in front of local and cloud language models. Times are UTC. Every response carries `x-request-id`.",
    schemes: {
      bearerKey: {
        type: "http",
        scheme: "bearer",
        description: "An API key `sk-…`, or the token `ses_…` of a session.",
      },
      headerKey: HEADER_KEY,
      bearerBiKey: {
        type: "http",
        scheme: "bearer",
        description: "A BI key `bk-…`, or the token `ses_…` of a session.",
      },
      serviceToken: SERVICE_TOKEN,
    },
  },
  console: {
    title: "Inference Gateway: console and administration",
    description:
      "What the web console uses, by session: users, sessions, license, usage, audit log and events, and below " +
      "`/api/v1` all that an API key may call under `/v1`. Changes by cookie are taken from pages of this server alone. " +
      "Times are UTC. Every response carries `x-request-id`.",
    schemes: {
      bearerSession: {
        type: "http",
        scheme: "bearer",
        description: "The token `ses_…` of a session.",
      },
      consoleCookie: {
        type: "apiKey",
        in: "cookie",
        name: SESSION_COOKIE,
        description: "The same token, as a browser sends it to pages of this server.",
      },
      bearerKey: { type: "http", scheme: "bearer", description: "An API key `sk-…`." },
      headerKey: HEADER_KEY,
      serviceToken: SERVICE_TOKEN,
    },
  },
} as const;

/**
 * Creates a function that returns the OpenAPI document of one audience, generated from the route definitions. It is
 * built once, because generating takes milliseconds and serving must not.
 */
export function createOpenApiDocument(
  routes: readonly AnyRouteDefinition[],
  audience: Audience,
  version: string,
): () => string {
  let text: string | undefined;
  return () => {
    text ??= JSON.stringify(generate(routes, audience, version));
    return text;
  };
}

function generate(
  routes: readonly AnyRouteDefinition[],
  audience: Audience,
  version: string,
): unknown {
  const { title, description, schemes } = DOCUMENTS[audience];
  const generator = new OpenAPIHono();
  const { openAPIRegistry } = generator;
  for (const [name, scheme] of Object.entries(schemes)) {
    openAPIRegistry.registerComponent("securitySchemes", name, scheme);
  }
  for (const definition of routes) {
    if (definition.audience === audience) openAPIRegistry.registerPath(documented(definition));
  }
  const document: unknown = generator.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { title, version, description },
    servers: [{ url: "/" }],
  });
  return isJsonObject(document) ? completeDocument(document) : document;
}

/**
 * Returns the parts of a definition that belong in the document, with the scope that a service token needs; the generator
 * would copy every property that it does not know.
 */
function documented(definition: AnyRouteDefinition): RouteConfig {
  const { method, path, operationId, tags, summary, tokens = "closed" } = definition;
  const { security = [], request, responses } = definition;
  const isOpenToTokens = tokens !== "closed";
  const scope = isOpenToTokens && `Scope of a service token: \`${scopeFor(tokens, method)}\`.`;
  const description = [definition.description, scope].filter(Boolean).join(" ");
  return {
    ...{ method, path, operationId, tags, summary, request, responses },
    ...(description !== "" && { description }),
    security: isOpenToTokens ? [...security, { serviceToken: [] }] : security,
  } as RouteConfig;
}
