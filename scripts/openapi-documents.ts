import packageJson from "../package.json" with { type: "json" };
import { createRoutes } from "../src/app.ts";
import { loadConfig } from "../src/config/load-config.ts";
import type { Deps } from "../src/deps.ts";
import { createOpenApiDocument } from "../src/http/openapi/openapi-document.ts";

/** Stands in for every part of the server: routes only keep them until they are called. */
const unused: unknown = new Proxy(() => undefined, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => 0 : unused),
  apply: () => unused,
});

/** Returns the OpenAPI document of an audience as JSON, from the routes alone: no server runs. */
export function buildOpenApiDocument(audience: "public" | "console"): string {
  const { settings } = loadConfig({});
  const deps = new Proxy(
    { settings },
    { get: (known, name) => (name === "settings" ? known.settings : unused) },
  ) as unknown as Deps;
  const definitions = createRoutes(deps).map(({ definition }) => definition);
  return createOpenApiDocument(definitions, audience, packageJson.version)();
}
