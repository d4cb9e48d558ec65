import { describe, expect, it } from "vitest";
import { describeSettings, SECRET_SETTINGS } from "../../src/config/describe-settings.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { settingsSchema } from "../../src/config/settings.ts";

/** Names that look like those of secrets, of settings that hold none. */
const HARMLESS = [
  "BOOTSTRAP_API_KEY_PASSTHROUGH",
  "DEFAULT_MAX_OUTPUT_TOKENS",
  "LICENSE_PUBLIC_KEY",
  "ALLOW_LICENSE_PUBLIC_KEY",
  "BIKEY_PG_PROXY_ENABLED",
  "BIKEY_PG_PROXY_PORT",
  "BIKEY_PG_PLAIN",
  "BIKEY_TLS_CERT_FILE",
  "BIKEY_TLS_KEY_FILE",
  "BIKEY_PG_MAX_CONNECTIONS",
  "BIKEY_PG_MAX_RUNNING",
];

describe("the description of the settings", () => {
  it("treats as a secret whatever may be one", () => {
    const suspicious = Object.keys(settingsSchema.shape).filter((name) =>
      /KEY|SECRET|PASSWORD|TOKEN|HEADERS|DATABASE_URL|REDIS_URL|WEBHOOK_URL/.test(name),
    );
    expect(suspicious.filter((name) => !SECRET_SETTINGS.has(name)).sort()).toEqual(
      [...HARMLESS].sort(),
    );
    for (const name of SECRET_SETTINGS) expect(Object.keys(settingsSchema.shape)).toContain(name);
  });

  it("shows no credential of an address, and no secret", () => {
    const { settings } = loadConfig({
      DATABASE_URL: "postgres://gateway:hidden@db/gateway",
      OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector.example/path",
      TRUST_PROXY: "10.0.0.0/8,192.0.2.1",
    });
    // As if a setting took an address with a query.
    const address = "https://models.example/v1?key=hidden";
    const described = describeSettings({ ...settings, OPENAI_BASE_URL: address });
    expect(JSON.stringify(described)).not.toContain("hidden");
    const named = (name: string) => described.find((one) => one.name === name);
    expect(named("OPENAI_BASE_URL")?.value).toBe("https://models.example/v1");
    expect(named("TRUST_PROXY")?.value).toEqual(["10.0.0.0/8", "192.0.2.1"]);
    expect(named("DATABASE_URL")).toMatchObject({ isSet: true, isDefault: false, value: null });
    for (const { name, text } of described)
      expect([name, text]).toEqual([name, expect.stringMatching(/./)]);
  });
});
