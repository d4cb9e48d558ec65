import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { SwaggerUI } from "@hono/swagger-ui";
import type { Deps } from "../../deps.ts";
import { hiddenRoute } from "../request/hidden-route.ts";
import type { Route } from "../request/route.ts";
import { createRouter, type Router } from "../request/router.ts";
import { createOpenApiDocument } from "./openapi-document.ts";

/** The files of the reference page; no other name is ever read from the disk. */
const ASSETS: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
};

/** Keys are typed into the page: it talks to this server alone, and no other page may hold it in a frame. */
const PAGE_POLICY = "default-src 'self' 'unsafe-inline' data:; frame-ancestors 'none'";

const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Inference Gateway API</title>
<link rel="icon" href="data:,">
</head>
<body>
${SwaggerUI({
  url: "/v1/openapi.json",
  manuallySwaggerUIHtml: () => `<link rel="stylesheet" href="/v1/docs/swagger-ui.css">
<div id="reference"></div>
<script src="/v1/docs/swagger-ui-bundle.js"></script>
<script>SwaggerUIBundle({ url: "/v1/openapi.json", dom_id: "#reference", deepLinking: true })</script>`,
})}
</body>
</html>`;

/** `GET /v1/docs` and `GET /v1/openapi.json`: the reference, with every file served from here. */
export function docsRoutes(deps: Deps, routes: readonly Route[]): Router {
  const router = createRouter(deps);
  const document = createOpenApiDocument(routes, deps.version);
  const open = (path: string) => hiddenRoute("get", path, "open");
  router.add(open("/v1/openapi.json"), () => text(document(), "application/json"));
  router.add(open("/v1/docs"), () => {
    const response = text(page, "text/html; charset=utf-8");
    response.headers.set("content-security-policy", PAGE_POLICY);
    return response;
  });
  for (const [name, type] of Object.entries(ASSETS)) {
    router.add(open(`/v1/docs/${name}`), async () =>
      text(await readFile(join(folder, name)), type),
    );
  }
  return router;
}

function text(body: string | Buffer<ArrayBuffer>, type: string): Response {
  return new Response(body, { headers: { "content-type": type } });
}
