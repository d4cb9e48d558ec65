import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chatStep as chat } from "../../../src/workflows/steps/chat.ts";
import { CLOSED_PORT } from "../../backends/support.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { type ModelStage, startModelStage } from "../../support/workflows/model-stage.ts";
import { runStep } from "../../support/workflows/step-stage.ts";

describe("A step's model while the local engine has never answered, beside a cloud", () => {
  let stage: ModelStage;
  beforeAll(async () => {
    stage = await startModelStage(databaseServerUrl, {}, (simulatorUrl) => ({
      LLM_BASE_URL: `http://127.0.0.1:${CLOSED_PORT}`,
      ANTHROPIC_API_KEY: "key",
      ANTHROPIC_BASE_URL: simulatorUrl,
      ANTHROPIC_MODELS: "claude-x",
      DEFAULT_CHAT_MODEL: "claude-x",
    }));
    await stage.served.deps.gateway.models.refresh();
  }, 120_000);
  afterAll(() => stage?.close());

  it("can be saved, and its rows fail instead of going to the cloud", async () => {
    const keyId = await stage.createKey();
    expect(await stage.models.fault({ keyId, model: "qwen3", kind: "chat" })).toBeUndefined();
    const running = runStep(stage.kind(chat), {
      settings: { model: "qwen3", prompt: "Say {{ row.name }}" },
      rows: [{ name: "a secret" }],
      run: { id: "run_unheard", keyId },
    });
    await expect(running).rejects.toMatchObject({
      code: "upstream_error",
      message: expect.stringContaining("has not answered yet"),
    });
    expect(stage.simulator.ledger()).toEqual([]);
  });
});
