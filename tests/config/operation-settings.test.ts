import { describe, expect, test } from "vitest";
import { loadConfig, SettingsError } from "../../src/config/load-config.ts";
import { settingsSchema } from "../../src/config/settings.ts";
import { startRefused } from "../support/servers/start-gateway.ts";

/** What each setting of operations refuses, and the ends of what it takes. */
const SETTINGS: Readonly<
  Record<string, { readonly wrong: readonly string[]; readonly right: readonly string[] }>
> = {
  ALERT_WEBHOOK_URL: {
    wrong: ["hooks.example.org/x", "ftp://hooks.example.org/x", "http://"],
    right: ["http://127.0.0.1:9000/hook?token=abc", "https://user:pass%20word@hooks.example.org"],
  },
  ALERT_WEBHOOK_SECRET: {
    wrong: ["too short", "whsec_no base64 at all", "whsec_c2l4dGVlbi1sZXR0ZXJz-_"],
    right: ["sixteen letters.", "whsec_c2l4dGVlbiBsZXR0ZXJzLg==", "whsec-sixteen letters."],
  },
  ALERT_CHECK_INTERVAL_SEC: {
    wrong: ["0", "-1", "1.5", "soon", "86401", "NaN"],
    right: ["1", "86400"],
  },
  ALERT_PIPELINE_CONSECUTIVE_FAILURES: {
    wrong: ["0", "-3", "2.5", "three", "1001"],
    right: ["1", "1000"],
  },
  ALERT_PIPELINE_QUEUE_AGE_SEC: {
    wrong: ["0", "-1", "0.5", "15m", "604801"],
    right: ["1", "604800"],
  },
  ALERT_EVENT_OUTBOX_AGE_SEC: {
    wrong: ["0", "-1", "0.5", "10m", "604801"],
    right: ["1", "604800"],
  },
  OUTBOX_BACKOFF_SCALE: { wrong: ["0", "-1", "slow", "10.1"], right: ["0.0001", "10"] },
  INSTANCE_ID: {
    wrong: [".hidden", "-a", "..", "a/b", "a b", "a".repeat(65)],
    right: ["a", "_a", "1.b-c", "a".repeat(64)],
  },
  DRAIN_TIMEOUT_MS: {
    wrong: ["0", "-1", "0.5", "30s", "86400001", "2147483647"],
    right: ["1", "86400000"],
  },
  EGRESS_ALLOW: {
    wrong: ["10.0.0.0/33", "http://pictures.test", "pictures.test:80", "10.0.0.999", "::1, a b"],
    right: ["pictures.test", "10.0.0.0/8, 127.0.0.1", "[::1]", "fd00::/8"],
  },
  USAGE_RETENTION_DAYS: { wrong: ["0", "-1", "1.5", "a year", "731"], right: ["1", "730"] },
  METRICS_ENABLED: { wrong: ["yes", "on", "2"], right: ["1", "0", "true", "false"] },
  METRICS_TOKEN: { wrong: ["too short"], right: ["sixteen letters."] },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    wrong: ["collector:4318", "grpc://collector:4317"],
    right: ["http://collector:4318"],
  },
};

const cases = (which: "wrong" | "right") =>
  Object.entries(SETTINGS).flatMap(([name, values]) =>
    values[which].map((value) => [name, value] as const),
  );

describe("a setting of operations", () => {
  test.each(cases("wrong"))("%s=%s stops the start by its name alone", (name, value) => {
    let thrown: unknown;
    try {
      loadConfig({ [name]: value });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(SettingsError);
    const lines = (thrown as Error).message.split("\n").filter((line) => line.includes(": "));
    expect(lines.filter((line) => /^\W*[A-Z_]+: /.test(line))).toEqual([
      expect.stringContaining(`${name}: `),
    ]);
  });

  test.each(cases("right"))("%s=%s is taken", (name, value) => {
    expect(() => loadConfig({ [name]: value })).not.toThrow();
  });

  test("of any kind that is a number is not negative", () => {
    const takes = Object.entries(settingsSchema.shape).filter(
      ([, schema]) => typeof schema.safeParse("-1").data === "number",
    );
    expect(takes.map(([name]) => name)).toEqual([]);
  });

  test("has the default that is written down for it", () => {
    expect(loadConfig({}).settings).toMatchObject({
      ALERT_CHECK_INTERVAL_SEC: 900,
      ALERT_PIPELINE_CONSECUTIVE_FAILURES: 3,
      ALERT_PIPELINE_QUEUE_AGE_SEC: 900,
      ALERT_EVENT_OUTBOX_AGE_SEC: 600,
      OUTBOX_BACKOFF_SCALE: 1,
      USAGE_RETENTION_DAYS: 90,
      METRICS_ENABLED: false,
      WATCH_DIRS: [],
      OTEL_SERVICE_NAME: "inference-gateway",
    });
    for (const name of ["ALERT_WEBHOOK_URL", "ALERT_WEBHOOK_SECRET", "METRICS_TOKEN"] as const) {
      expect(loadConfig({}).settings[name]).toBeUndefined();
    }
  });

  test.each([
    ["OUTBOX_BACKOFF_SCALE", "slow", "must be a number"],
    ["OUTBOX_BACKOFF_SCALE", "0", "must be more than 0"],
    ["OUTBOX_BACKOFF_SCALE", "10.1", "must be at most 10"],
    ["ALERT_CHECK_INTERVAL_SEC", "soon", "must be a number"],
    ["ALERT_CHECK_INTERVAL_SEC", "1.5", "must be a whole number"],
    ["EGRESS_ALLOW", "::1, 10.0.0.0/33", "(entry 2 of the list)"],
  ])("%s=%s is told what is wrong with it", (name, value, words) => {
    expect(() => loadConfig({ [name]: value })).toThrow(words);
  });

  test("that is wrong ends the real server at once, and its value is not shown", async () => {
    const { code, output } = await startRefused({
      ALERT_CHECK_INTERVAL_SEC: "canary-1",
      ALERT_WEBHOOK_URL: "canary-2",
      METRICS_TOKEN: "canary-3",
    });
    expect(code).toBe(1);
    for (const name of ["ALERT_CHECK_INTERVAL_SEC", "ALERT_WEBHOOK_URL", "METRICS_TOKEN"]) {
      expect(output).toContain(`${name}: `);
    }
    expect(output).not.toContain("canary");
  }, 60_000);
});
