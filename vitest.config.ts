import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    pool: "forks",
    // Most of a test's time is waiting; more at once would make servers wait for each other.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Bun loses the named exports of these two when they are not bundled.
    server: { deps: { inline: ["zod", "@hono/zod-openapi"] } },
  },
});
