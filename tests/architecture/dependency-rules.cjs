// Who may import whom. Checked by: depcruise src --config tests/architecture/dependency-rules.cjs
//
// Read left to right: a folder (or root file) may import only what stands to its left.
const order = [
  "lib",
  "config",
  "core",
  "codecs",
  "db",
  "queue",
  "backends",
  "limits",
  "access",
  "license",
  "usage",
  "chats",
  "knowledge",
  "tools",
  "gateway",
  "data",
  "workflows",
  "operations",
  "deps",
  "http",
  "app",
  "jobs",
  "main",
];

// The same inside the console, which has nothing to do with the rest.
const consoleOrder = [
  "lib",
  "api",
  "ui",
  "chat",
  "parts",
  "pages",
  "page-definition.ts",
  "pages.ts",
  "app",
  "main.tsx",
];

const place = (names) => `^src/(${names})(/|\\.ts$)`;
const npm = (names) => `(^|node_modules/)(${names})(/|$)`;
const rule = (name, from, to) => ({ name, severity: "error", from, to });

const vendors = "^src/backends/vendors/";
/** What vendors share, and their registry. */
const sharedByVendors = `${vendors}(cloud|cloud-backends|llama-cpp-refusal)\\.ts$`;

const leftwardsOnly = order
  .slice(0, -1)
  .map((name, index) =>
    rule(
      `${name}-imports-leftwards-only`,
      { path: place(name) },
      { path: place(order.slice(index + 1).join("|")) },
    ),
  );

const consolePlace = (name) =>
  `^src/console/${name.replace(".", "\\.")}${name.includes(".") ? "$" : "/"}`;
const consoleLeftwardsOnly = consoleOrder.slice(0, -1).map((name, index) =>
  rule(
    `console-${name}-imports-leftwards-only`,
    { path: consolePlace(name) },
    {
      path: consoleOrder
        .slice(index + 1)
        .map(consolePlace)
        .join("|"),
    },
  ),
);

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    ...leftwardsOnly,
    ...consoleLeftwardsOnly,
    rule("no-cycles", {}, { circular: true }),

    // The middle of the gateway never sees a wire format; the edges never see a table.
    rule(
      "core-and-codecs-are-pure",
      { path: place("core|codecs") },
      { path: `${place("config|db")}|${npm("drizzle-orm|hono|@hono")}` },
    ),
    rule(
      "core-and-codecs-touch-no-runtime",
      { path: place("core|codecs") },
      { dependencyTypes: ["core"] },
    ),
    rule(
      "only-backends-and-http-speak-wire-formats",
      { pathNot: place("codecs|backends|http") },
      { path: place("codecs") },
    ),
    rule(
      "backends-know-no-database",
      { path: place("backends") },
      { path: `${place("db")}|${npm("drizzle-orm")}` },
    ),
    rule(
      "http-calls-verbs-not-tables",
      { path: place("http") },
      { path: `${place("db")}|${npm("drizzle-orm")}` },
    ),
    rule(
      "hono-stays-at-the-edge",
      { pathNot: place("http|app|main") },
      { path: npm("hono|@hono") },
    ),
    rule(
      "console-is-a-client",
      { path: place("console"), pathNot: "^src/console/vite\\.config\\.ts$" },
      { path: "^(src|scripts|simulator)/", pathNot: place("console") },
    ),
    rule(
      "console-is-served-not-imported",
      { pathNot: place("console") },
      { path: place("console") },
    ),
    rule(
      "console-touches-no-runtime",
      { path: place("console"), pathNot: "^src/console/vite\\.config\\.ts$" },
      { dependencyTypes: ["core"] },
    ),
    rule(
      "console-ui-calls-no-api",
      { path: "^src/console/(lib|ui)/" },
      { path: `^src/console/api/(?!errors\\.ts$)|${npm("@tanstack/react-query|openapi-fetch")}` },
    ),

    // Things of one kind are strangers to each other; only their registry knows them all.
    rule(
      "codecs-are-strangers",
      { path: "^src/codecs/([^/]+)/" },
      { path: "^src/codecs/[^/]+/", pathNot: "^src/codecs/($1|shared)/" },
    ),
    rule(
      "tools-are-strangers",
      { path: "^src/tools/builtin/([^/]+)$" },
      { path: "^src/tools/builtin/", pathNot: "^src/tools/builtin/$1$" },
    ),
    rule(
      "pages-are-strangers",
      { path: "^src/console/pages/([^/]+)/" },
      { path: "^src/console/pages/", pathNot: "^src/console/pages/$1/" },
    ),
    rule(
      "steps-and-readers-are-strangers",
      {
        path: "^src/(workflows/steps|knowledge/readers)/",
        pathNot: "/(step-kind|step-services|reader|registry|read-documents)\\.ts$",
      },
      { path: "^src/$1/", pathNot: "/(step-kind|step-services|reader)\\.ts$|^src/$1/shared/" },
    ),
    rule(
      "resources-are-strangers",
      { path: "^src/http/resources/([^/]+)$" },
      { path: "^src/http/resources/", pathNot: "^src/http/resources/$1$" },
    ),
    rule(
      "vendors-are-strangers",
      { path: vendors, pathNot: sharedByVendors },
      { path: vendors, pathNot: sharedByVendors },
    ),

    rule(
      "no-orphans",
      {
        orphan: true,
        pathNot:
          "\\.d\\.mts$|^src/(main\\.ts$|lib/|console/(main\\.tsx|theme\\.ts|vite\\.config\\.ts|api/schema\\.d\\.ts)$)",
      },
      {},
    ),
    rule("no-test-code-in-src", { path: "^src/" }, { path: "^tests/" }),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
  },
};
