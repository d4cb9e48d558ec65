import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { SwaggerUI } from "@hono/swagger-ui";
import type { AccessLevel } from "../../access/authenticate.ts";
import type { Deps } from "../../deps.ts";
import type { AnyRouteDefinition, RouteDefinition } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { createOpenApiDocument } from "./openapi-document.ts";

/** The files of the reference page; no other name is ever read from the disk. */
const ASSETS: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
};

/** Users type keys into the page, so it may call only this server, and no other page may put it in a frame. */
const PAGE_POLICY = "default-src 'self' 'unsafe-inline' data:; frame-ancestors 'none'";

const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));

/** The path of the files of both pages. */
const FILES = "/v1/docs";

/**
 * The two references: one for the routes that accept a key, one for the routes that the console uses with a session.
 */
const REFERENCES = [
  { audience: "public", page: "/v1/docs", document: "/v1/openapi.json", access: "open" },
  { audience: "console", page: "/api/docs", document: "/api/openapi.json", access: "session" },
] as const;

/** Serves each reference as a page and as an OpenAPI document. Every file is served by the gateway itself. */
export function docsRoutes(deps: Deps, routes: readonly AnyRouteDefinition[]): Router {
  const router = createRouter(deps);
  for (const { audience, page, document, access } of REFERENCES) {
    const read = createOpenApiDocument(routes, audience, deps.version);
    router.add(get(document, access), () => text(read(), "application/json"));
    router.add(get(page, "open"), () => {
      const response = text(pageOf(document), "text/html; charset=utf-8");
      response.headers.set("content-security-policy", PAGE_POLICY);
      return response;
    });
  }
  for (const [name, type] of Object.entries(ASSETS)) {
    router.add(get(`${FILES}/${name}`, "open"), async () =>
      text(await readFile(join(folder, name)), type),
    );
  }
  return router;
}

function get<Level extends AccessLevel>(
  path: string,
  access: Level,
): RouteDefinition<Level, "closed"> {
  return { method: "get", path, access, tokens: "closed", audience: "unlisted", responses: {} };
}

function pageOf(document: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Inference Gateway API</title>
<link rel="icon" href="data:,">
</head>
<body>
${SwaggerUI({
  url: document,
  manuallySwaggerUIHtml: () => `<link rel="stylesheet" href="${FILES}/swagger-ui.css">
<div id="reference"></div>
<script src="${FILES}/swagger-ui-bundle.js"></script>
<script>SwaggerUIBundle({ url: "${document}", dom_id: "#reference", deepLinking: true })</script>`,
})}
</body>
</html>`;
}

function text(body: string | Buffer<ArrayBuffer>, type: string): Response {
  return new Response(body, { headers: { "content-type": type } });
}
