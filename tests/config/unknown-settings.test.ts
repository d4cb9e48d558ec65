import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { settingsSchema } from "../../src/config/settings.ts";
import { findUnknownSettings, namesInEnvironmentFile } from "../../src/config/unknown-settings.ts";

const KNOWN = Object.keys(settingsSchema.shape);
const NOTHING: ReadonlySet<string> = new Set();

describe("A name that is no setting", () => {
  it.each([
    ["LLM_BASEURL", "LLM_BASE_URL"],
    ["LLM_BACKENT", "LLM_BACKEND"],
    ["DATABSE_URL", "DATABASE_URL"],
    ["DATA_DRI", "DATA_DIR"],
    ["PROT", "PORT"],
    ["metrics_token", "METRICS_TOKEN"],
    ["ADMIN-PASSWORD", "ADMIN_PASSWORD"],
    ["ALERT_WEBHOK_URL", "ALERT_WEBHOOK_URL"],
  ])("is told with the setting that it resembles: %s", (name, meant) => {
    expect(findUnknownSettings([name], KNOWN, NOTHING)).toEqual([{ name, meant }]);
  });

  it("is read from .env without its value", async () => {
    const folder = await mkdtemp(join(tmpdir(), "settings-"));
    const file = join(folder, ".env");
    await writeFile(file, '# PORT=1\nexport EMAIL_SENDER=me\nPORT="80"\n');
    expect([...namesInEnvironmentFile(file)].sort()).toEqual(["EMAIL_SENDER", "PORT"]);
    await rm(folder, { recursive: true });
    expect(namesInEnvironmentFile(file).size).toBe(0);
  });

  it("is told whatever it is called when .env sets it, but not one for the runtime", () => {
    const given = ["EMAIL_SENDER", "NODE_ENV", "TZ", "HTTPS_PROXY", "PORT"];
    expect(findUnknownSettings(given, KNOWN, new Set(given))).toEqual([
      { name: "EMAIL_SENDER", meant: undefined },
    ]);
  });

  it.each([
    "PATH",
    "HOME",
    "HOSTNAME",
    "LOGNAME",
    "SHELL",
    "PWD",
    "OLDPWD",
    "TERM",
    "USER",
    "LANG",
  ])("is no business of ours when the shell sets it: %s", (name) => {
    expect(findUnknownSettings([name], KNOWN, NOTHING)).toEqual([]);
  });

  it("is part of what the settings are read with", () => {
    expect(loadConfig({ PORT: "1", METRICS_TOKE: "x", USER: "me" }).unknown).toEqual([
      { name: "METRICS_TOKE", meant: "METRICS_TOKEN" },
    ]);
  });

  it("never makes one setting out of another", () => {
    for (const name of KNOWN) expect(findUnknownSettings([name], KNOWN, NOTHING)).toEqual([]);
  });
});
