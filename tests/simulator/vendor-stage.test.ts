import { afterAll, beforeAll, expect, it } from "vitest";
import { callGateway, chatBody } from "../support/clients/call-gateway.ts";
import { TEST_KEY } from "../support/servers/start-gateway.ts";
import {
  startVendorStage,
  VENDOR_KEYS,
  VENDORS,
  type VendorStage,
} from "../support/stages/start-vendor-stage.ts";

const models = {
  openai: ["gpt-4.1"],
  anthropic: ["claude-sonnet-4-5"],
  gemini: ["gemini-2.5-flash"],
  compatible: ["mistral-large"],
};
const keyHeaders = {
  openai: "authorization",
  anthropic: "x-api-key",
  gemini: "x-goog-api-key",
  compatible: "authorization",
};

let stage: VendorStage;
beforeAll(async () => {
  stage = await startVendorStage(models);
});
afterAll(() => stage.stop());

it.each(VENDORS)("%s answers through the gateway, and sees no key but its own", async (vendor) => {
  const [model = ""] = models[vendor];
  const { status, text } = await callGateway(stage.gateway.port, { body: chatBody(model) });
  expect([status, text]).toEqual([200, expect.stringContaining(`standing in for ${model}`)]);
  const [entry] = stage.clouds[vendor].ledger().slice(-1);
  const secrets = [TEST_KEY, ...Object.values(VENDOR_KEYS)];
  const holders = (entry?.headers ?? []).filter(([, value]) =>
    secrets.some((secret) => value.includes(secret)),
  );
  expect(holders.map(([name, value]) => [name.toLowerCase(), value])).toEqual([
    [keyHeaders[vendor], expect.stringMatching(new RegExp(`(^|Bearer )${VENDOR_KEYS[vendor]}$`))],
  ]);
  for (const secret of secrets) {
    expect(`${entry?.query}${entry?.body}${text}${stage.gateway.output()}`).not.toContain(secret);
  }
});
