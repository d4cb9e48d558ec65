import { expect, it } from "vitest";
import type { SimulatorOptions } from "../../simulator/options.ts";
import { postJson } from "../support/clients/post-json.ts";
import { startSimulator } from "../support/servers/start-simulator.ts";
import { readSharedFixtures } from "../support/shared-fixtures.ts";

const engines: Readonly<Record<string, SimulatorOptions["engine"]>> = {
  "api.openai.com": "openai",
  "api.anthropic.com": "anthropic",
  "generativelanguage.googleapis.com": "gemini",
  "api.mistral.ai": "compatible",
  "api.groq.com": "compatible",
  "api.cerebras.ai": "compatible",
};
const headers = {
  authorization: "Bearer x",
  "x-api-key": "x",
  "x-goog-api-key": "x",
  "anthropic-version": "2023-06-01",
};
const VENDORS = ["anthropic", "compatible", "google", "mistral", "openai-chat", "openai-responses"];
/** Sealed by the vendor itself: the simulator must take it for foreign. */
const SEALED = /"(signature|thoughtSignature|encrypted_content)":/;

const jsonOf = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString());
const requests = readSharedFixtures(VENDORS, ".request.json");
const responses = readSharedFixtures(VENDORS, ".response.json");
const recorded = readSharedFixtures(VENDORS, ".meta.json").flatMap(({ bytes, name }) => {
  const { status, url: address } = jsonOf(bytes) as { status: number; url: string };
  const url = new URL(address);
  const engine = engines[url.host];
  const request = requests.find((other) => other.name === name.replace(".meta.", ".request."));
  const isOurs = engine !== undefined && !url.pathname.startsWith("/v1beta/openai");
  return isOurs && request ? [{ name, status, url, engine, body: jsonOf(request.bytes) }] : [];
});

type Recorded = (typeof recorded)[number];

async function replay({ body, engine, status, url }: Recorded) {
  const model = body.model ?? decodeURIComponent(/models\/([^:]+)/.exec(url.pathname)?.[1] ?? "");
  const known = [{ name: model, contextLength: 200_000, capabilities: ["completion" as const] }];
  const simulator = await startSimulator({ engine, models: status === 404 ? [] : known });
  const path = url.pathname.replace(/^\/openai\/v1/, "/v1") + url.search;
  const reply = await postJson(simulator.url + path, body, headers);
  await simulator.stop();
  return reply;
}

function errorOf(name: string): unknown {
  const refusal = responses.find((other) => other.name === name.replace(".meta.", ".response."));
  return jsonOf(refusal?.bytes ?? Buffer.from("{}")).error;
}

it("answers every recorded request as the vendor did, but for what only the vendor can open", async () => {
  for (const request of recorded) {
    const { name, status } = request;
    const isSealed = SEALED.test(JSON.stringify(request.body));
    const reply = await replay(request);
    expect([name, reply.status]).toEqual([name, isSealed ? 400 : status]);
    if (status >= 400) expect(reply.body).toMatchObject({ error: errorOf(name) });
  }
});
