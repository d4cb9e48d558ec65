// Prints the OpenAPI document of the console's routes, as GET /api/openapi.json answers it. Opens no database.
import packageJson from "../package.json" with { type: "json" };
import { createApp } from "../src/app.ts";
import { loadConfig } from "../src/config/load-config.ts";
import type { Deps } from "../src/deps.ts";
import { createOpenApiDocument } from "../src/http/openapi/openapi-document.ts";

/** Stands for everything that handlers would use; the definitions of routes use none of it. */
function unused(): unknown {
  return new Proxy(() => undefined, {
    get: (_, name) => (name === Symbol.toPrimitive ? () => "" : unused()),
    apply: () => unused(),
  });
}

function describeRoutes(): string {
  const { settings } = loadConfig({});
  const known: Record<PropertyKey, unknown> = { settings, version: packageJson.version };
  const deps = new Proxy(known, { get: (_, name) => known[name] ?? unused() });
  const { routes } = createApp(deps as unknown as Deps);
  return createOpenApiDocument(routes, "console", packageJson.version)();
}

process.stdout.write(describeRoutes());
