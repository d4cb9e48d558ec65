import { expect, it } from "vitest";
import { callGateway, chatBody } from "../support/clients/call-gateway.ts";
import { startGateway } from "../support/servers/start-gateway.ts";
import { startSimulator } from "../support/servers/start-simulator.ts";

it("a call without a stream whose engine says nothing is answered by the model that stands in", async () => {
  const [local, openai] = await Promise.all([
    startSimulator({ engine: "vllm" }),
    startSimulator({ engine: "openai" }),
  ]);
  const gateway = await startGateway({
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: local.url,
    LLM_REQUEST_TIMEOUT: "1",
    OPENAI_API_KEY: "a-key-of-openai",
    OPENAI_BASE_URL: `${openai.url}/v1`,
    OPENAI_MODELS: "gpt-5",
    MODEL_FALLBACKS: "gpt-5",
  });
  local.script({ stall: { at: "headers" } });
  const response = await callGateway(gateway.port, { body: chatBody("no-such-model") });
  expect(response.json()).toMatchObject({ object: "chat.completion", model: "gpt-5" });
  expect(local.ledger().filter(({ path }) => path.endsWith("/chat/completions"))).toHaveLength(1);
  await gateway.stop();
  await Promise.all([local.stop(), openai.stop()]);
});
