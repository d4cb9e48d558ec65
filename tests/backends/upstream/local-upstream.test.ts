import { Writable } from "node:stream";
import { afterEach, expect, it } from "vitest";
import { callUpstream } from "../../../src/backends/upstream/call-upstream.ts";
import { concealError } from "../../../src/backends/upstream/conceal.ts";
import {
  dedicatedUpstream,
  withVersion,
} from "../../../src/backends/upstream/dedicated-upstream.ts";
import { localUpstream } from "../../../src/backends/upstream/local-upstream.ts";
import type { Upstream } from "../../../src/backends/upstream/upstream.ts";
import { settingsSchema } from "../../../src/config/settings.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import { createHttpClient } from "../../../src/lib/http/create-http-client.ts";
import { createLog } from "../../../src/lib/log.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import { startSimulator } from "../../support/servers/start-simulator.ts";
import { never } from "../support.ts";

const log = createLog("silent", new Writable());
const cleanUps: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  await Promise.all(cleanUps.splice(0).map((cleanUp) => cleanUp()));
});

function upstreamFor(environment: Record<string, string>): Upstream {
  const settings = settingsSchema.parse({ LLM_BACKEND: "vllm", ...environment });
  const upstream = localUpstream({ settings, client: createHttpClient(), clock: systemClock, log });
  cleanUps.push(() => upstream.replicas?.close());
  return upstream;
}

it.each([
  ["", "http://127.0.0.1:8000"],
  ["http://gpu-1:8000/v1", "http://gpu-1:8000"],
  ["http://gpu-1:8000,http://gpu-1:8000/v1/", "http://gpu-1:8000"],
])("LLM_BASE_URL=%s is one server, without anything that chooses", (list, address) => {
  const upstream = upstreamFor(list === "" ? {} : { LLM_BASE_URL: list });
  expect(upstream.address).toBe(address);
  expect(upstream.replicas).toBeUndefined();
});

it.each([
  // [addresses, GATEWAY_RETRIES, calls while all of them refuse]
  [2, 1, 2],
  [4, 1, 4],
  [2, 0, 2],
  [2, 3, 4],
  [1, 2, 3],
])("%i addresses and %i retries make %i calls while all refuse", async (count, retries, calls) => {
  const simulators = await Promise.all(Array.from({ length: count }, () => startSimulator()));
  cleanUps.push(...simulators.map((simulator) => simulator.stop));
  for (const simulator of simulators)
    simulator.script({ respond: { status: 503 }, times: "always" });
  const upstream = upstreamFor({
    LLM_BASE_URL: simulators.map(({ url }) => url).join(","),
    GATEWAY_RETRIES: String(retries),
  });
  const call = { path: "/v1/chat/completions", body: "{}", stream: false, signal: never() };
  const response = await callUpstream(upstream, call);
  response.cancel();
  expect(response.status).toBe(503);
  const posts = simulators.flatMap((one) => one.ledger().filter(({ method }) => method === "POST"));
  expect(posts).toHaveLength(calls);
});

it("no address of a replica reaches a client", () => {
  const upstream = upstreamFor({ LLM_BASE_URL: "http://10.0.0.1:8000,http://gpu-2.lan:8000" });
  const error = new ServiceError(
    "invalid_value",
    "http://gpu-2.lan:8000/v1 and 10.0.0.1 and gpu-2.lan refuse",
  );
  expect(concealError(error, upstream).message).toBe(
    "[hidden]/v1 and [hidden] and [hidden] refuse",
  );
});

it("a server of its own gets its calls, though its address is a replica's", async () => {
  const simulators = await Promise.all([startSimulator(), startSimulator()]);
  cleanUps.push(...simulators.map((simulator) => simulator.stop));
  const [first, second] = simulators;
  const local = upstreamFor({ LLM_BASE_URL: `${first.url},${second.url}` });
  const named = {
    address: first.url,
    addressSetting: "EMBEDDING_BASE_URL",
    apiKey: undefined,
    retries: 1,
  };
  const dedicated = dedicatedUpstream(named, local);
  if (dedicated === undefined) throw new Error("there is no such server");
  const ask = async (upstream: Upstream) => {
    const call = { path: "/embeddings", body: "{}", stream: false, signal: never() };
    (await callUpstream(withVersion(upstream), call)).cancel();
  };
  const posts = () =>
    simulators.map((one) => one.ledger().filter(({ path }) => path === "/v1/embeddings").length);
  for (let call = 0; call < 4; call += 1) await ask(dedicated);
  expect(posts()).toEqual([4, 0]);
  // The local engine's own are shared.
  for (let call = 0; call < 4; call += 1) await ask(local);
  expect(posts()).toEqual([6, 2]);
});
