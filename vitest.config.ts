import { defineConfig } from "vitest/config";
import { SHORT_LIVED, SHORT_LIVED_ON_NODE } from "./tests/support/processes/bundled-program.ts";
import { startBundledPrograms } from "./tests/support/processes/start-bundled-programs.ts";
import SlowFirst from "./tests/support/slow-first.ts";

/**
 * Files whose result cannot depend on the runtime: they touch no socket, file, process or store. One runtime runs them in CI.
 * They share one registry of modules, because importing these anew for each file costs more than the tests themselves.
 */
const PURE = [
  "codecs/**/!(openai-client)",
  "core/**/*",
  "access/authenticate",
  "access/sign-in/address-pace",
  "access/sign-in/read-person",
  "license/current-license",
  "license/license-file",
  "license/license-state",
  "limits/call-window",
  "backends/replay/replay-memory",
  "backends/models/trait-table",
  "backends/replicas/breaker",
  "backends/replicas/choose-replica",
  "config/load-config",
  "db/query-gate",
  "queue/backoff",
  "knowledge/ingest/chunks/split-chunks",
  "knowledge/readers/cells",
  "knowledge/retrieve/memory/inner-products",
  "knowledge/retrieve/indexes/remembered-figures",
  "gateway/failure-log",
  "gateway/meter/meter",
  "gateway/open-calls",
  "gateway/resolve-target",
  "usage/journal/scan-records",
  "usage/reports/latency-figures",
  "usage/reports/search-newest-first",
  "http/request/routes/remembering-router",
  "http/page",
  "http/answers/to-json",
  "http/request/request-line",
  "http/request/routes/route-table",
  "http/answers/csv",
  "http/server/edge-guard",
  "lib/text/base64-text",
  "http/request/client-address",
  "db/escape-like",
  "http/bodies/find-json-error",
  "lib/http/bun/http-response-reader",
  "lib/egress/ip-ranges",
  "http/request/is-forwarded-https",
  "lib/json/exact-json",
  "lib/json/object-properties",
  "lib/http/is-origin-of",
  "lib/json/json-depth",
  "lib/concurrency",
  "lib/text/line-reader",
  "lib/log",
  "lib/multipart/read-multipart",
  "lib/sql-gate/tokens/check-tokens",
  "queue/path-glob",
  "lib/json/raw-json",
  "lib/share-runs",
  "lib/http/sse-reader",
  "lib/time/watch-time",
  "operations/backup/stall-limit",
  "operations/health",
  "operations/metrics/job-figures",
  "operations/metrics/render-metrics",
  "scripts/fault-options",
  "simulator/compare-ledger",
  "tools/servers/clean/*",
].map((path) => `tests/${path}.test.ts`);

/** What a browser shows. It does not depend on the server's runtime: one of them runs it in CI. */
const CONSOLE = "tests/console/**/*.test.ts";

const onBun = process.versions["bun"] !== undefined;
// biome-ignore lint/style/noProcessEnv: the processes of the tests inherit it, and Bun reads it when they start
if (onBun) Object.assign(process.env, SHORT_LIVED);

// Bun loads sources quickly by itself.
const plugins = onBun ? [] : [await startBundledPrograms()];

const shared = {
  pool: "forks" as const,
  execArgv: onBun ? [] : SHORT_LIVED_ON_NODE,
  // Limits against a test that never ends; nothing is judged by them, for the machine may be busy.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // Bun loses the named exports of these two when they are not bundled; Node loads them faster as they are.
  server: { deps: { inline: onBun ? ["zod", "@hono/zod-openapi"] : [] } },
  expect: { poll: { timeout: 30_000, interval: 20 } },
};

export default defineConfig({
  test: {
    // Half of a test's time is waiting; more at once would make servers wait for each other.
    maxWorkers: 4,
    sequence: { sequencer: SlowFirst },
    reporters: ["default", "./tests/support/slowest-files.ts", "./tests/support/failed-files.ts"],
    projects: [
      {
        plugins,
        test: { ...shared, name: "pure", include: PURE, isolate: false },
      },
      {
        plugins,
        test: {
          ...shared,
          name: "system",
          isolate: false,
          include: ["tests/**/*.test.ts"],
          exclude: [...PURE, CONSOLE],
          globalSetup: "./tests/support/servers/databases/shared-postgres.ts",
        },
      },
      {
        plugins,
        test: {
          ...shared,
          name: "console",
          isolate: false,
          // Four browsers at once on two cores: a journey of half a minute takes two, and so does filling a gateway for
          // each page.
          testTimeout: 300_000,
          hookTimeout: 600_000,
          include: [CONSOLE],
          globalSetup: "./tests/support/servers/databases/shared-postgres.ts",
        },
      },
    ],
  },
});
