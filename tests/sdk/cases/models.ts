import OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { collect, type EngineGateway } from "../engine-gateway.ts";

/** The models as the official client lists and retrieves them. */
export function modelCases(opened: () => EngineGateway): void {
  describe("4.1 GET /v1/models", () => {
    let world: EngineGateway;
    let client: OpenAI;
    beforeAll(() => {
      world = opened();
      client = world.openai;
    });

    it("lists the chat models and no embedding model", async () => {
      const models = await collect(client.models.list());
      expect(models.map(({ id }) => id)).toEqual(
        ["sim-chat", "sim-thinker", "sim-small"].map(world.modelId),
      );
      for (const model of models) {
        expect(model).toMatchObject({ object: "model", owned_by: world.engine });
        expect(model.created).toBeGreaterThan(1_500_000_000);
      }
    });

    it("gives every listed model by its id, and answers with it", async () => {
      for (const { id } of await collect(client.models.list())) {
        expect(await client.models.retrieve(id)).toMatchObject({ id, object: "model" });
        const answer = await client.chat.completions.create({
          model: id,
          messages: [{ role: "user", content: "hello" }],
        });
        expect(answer.model).toBe(id);
      }
    });

    it("answers 404 NotFoundError for a model that is not listed", async () => {
      for (const id of ["gpt-4o", "sim-embed", world.modelId("sim-embed")]) {
        const error = await client.models.retrieve(id).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(OpenAI.NotFoundError);
        expect(error).toMatchObject({ code: "model_not_found", param: "model" });
      }
    });
  });
}
