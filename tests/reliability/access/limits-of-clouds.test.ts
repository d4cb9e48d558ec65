import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LedgerEntry } from "../../../simulator/ledger.ts";
import { callGateway } from "../../support/clients/call-gateway.ts";
import { CLIENT_FAMILIES } from "../../support/clients/client-family.ts";
import { issueKey, settledUse } from "../../support/clients/issue-key.ts";
import type { TestSimulator } from "../../support/servers/start-simulator.ts";
import {
  startVendorStage,
  VENDORS,
  type Vendor,
  type VendorStage,
} from "../../support/stages/start-vendor-stage.ts";

// K05 before clouds: what is left of a key's tokens is the limit that each of them is told.

const MODELS: Readonly<Record<Vendor, readonly string[]>> = {
  openai: ["gpt-4o", "o3", "gpt-5-pro"],
  anthropic: ["claude-haiku-4-5", "claude-opus-4-8"],
  gemini: ["gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-pro"],
  compatible: ["grok-4", "deepseek-reasoner"],
};
const CASES = VENDORS.flatMap((vendor) => MODELS[vendor].map((model) => ({ vendor, model })));
const LIMIT = 3_000;

/** The limit of the answer, whatever the vendor calls it. */
function capOf(body: string | undefined): number {
  const call = JSON.parse(body ?? "");
  const { max_tokens, max_completion_tokens, max_output_tokens, generationConfig } = call;
  const caps = [max_tokens, max_completion_tokens, max_output_tokens];
  const [cap, ...others] = [...caps, generationConfig?.maxOutputTokens].filter(Boolean);
  expect(others).toEqual([]);
  return Number(cap);
}

/** One question of each family in turn, with a limit of its own and without, streamed and whole. */
function* questions(model: string): Generator<{ path: string; body: object }> {
  for (let round = 0; round < 40; round++) {
    for (const { name, path, body } of CLIENT_FAMILIES) {
      const most = name === "responses" ? "max_output_tokens" : "max_tokens";
      const more = {
        stream: round % 3 === 0,
        ...(round % 2 === 0 && { [most]: 100_000 }),
        ...(name === "chat" && { reasoning_effort: "high" }),
      };
      yield { path, body: body(model, more, "count to 500") };
    }
  }
}

/** Calls that are to be answered: the rest are questions of how many tokens a prompt has. */
function answersAt(cloud: TestSimulator): readonly LedgerEntry[] {
  return cloud.ledger().filter(({ path }) => !/ount_?[tT]okens$/.test(path));
}

function toldBy(cloud: TestSimulator): number {
  const all = cloud
    .ledger()
    .map(({ told }) => (told?.inputTokens ?? 0) + (told?.outputTokens ?? 0));
  return all.reduce((sum, tokens) => sum + tokens, 0);
}

describe("A key of 3,000 tokens", () => {
  let stage: VendorStage;
  beforeAll(async () => {
    stage = await startVendorStage(MODELS);
  });
  afterAll(() => stage?.stop());

  it.each(CASES)("never spends more on $model of $vendor, in any family", async (one) => {
    const { gateway } = stage;
    const cloud = stage.clouds[one.vendor];
    cloud.reset();
    const key = await issueKey(gateway, { token_limit: LIMIT });
    const headers = { authorization: `Bearer ${key.key}` };
    let left = LIMIT;
    let refusals = 0;
    for (const { path, body } of questions(one.model)) {
      const before = answersAt(cloud).length;
      const response = await callGateway(gateway.port, { path, headers, body });
      const sent = answersAt(cloud).slice(before);
      if (response.status === 429) {
        expect(sent).toEqual([]);
        refusals += 1;
      } else {
        expect([response.status, response.text]).toEqual([200, response.text]);
        const [entry] = sent;
        expect(capOf(entry?.body) + (entry?.told?.inputTokens ?? 0)).toBeLessThanOrEqual(left);
      }
      if (refusals === CLIENT_FAMILIES.length) break;
      left = (await settledUse(gateway, key, "tokens")).remaining;
    }
    expect(refusals).toBe(CLIENT_FAMILIES.length);
    const { used } = await settledUse(gateway, key, "tokens");
    expect(used).toBeGreaterThan(LIMIT / 2);
    expect(used).toBeLessThanOrEqual(LIMIT);
    expect(toldBy(cloud)).toBe(used);
  });
});
