import OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { expectChatForm } from "../../support/clients/expect-chat-error.ts";
import { issueKey } from "../../support/clients/issue-key.ts";
import { TEST_KEY } from "../../support/servers/start-gateway.ts";
import type { EngineGateway } from "../engine-gateway.ts";
import { postResponse } from "../post-response.ts";

type Input = OpenAI.Responses.ResponseInput;

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

const tools: OpenAI.Responses.Tool[] = [
  { type: "function", name: "get_weather", parameters: {}, strict: false },
];

export function responseMemoryCases(opened: () => EngineGateway): void {
  describe("the memory of responses", () => {
    let world: EngineGateway;
    let client: OpenAI;
    let model: string;

    beforeAll(() => {
      world = opened();
      client = world.openai;
      model = world.modelId("sim-chat");
    });

    const scriptCall = () =>
      world.simulator.script({
        reasoning: "I need the weather.",
        toolCalls: [{ name: "get_weather", arguments: { city: "Oslo" }, id: "call_w" }],
      });
    const told = () =>
      (world.asked().at(-1) as unknown as Asked).messages.map(({ role, content }) =>
        role === "assistant" ? role : [role, content],
      );
    const output = { type: "function_call_output" as const, call_id: "call_w", output: "Rain" };
    const HISTORY = [
      ["system", "Second."],
      ["user", "What is the weather in Oslo?"],
      "assistant",
      ["tool", "Rain"],
    ];

    it("continues a streamed and a whole answer by previous_response_id, without its instructions", async () => {
      scriptCall();
      const question = "What is the weather in Oslo?";
      const first = await client.responses
        .stream({ model, tools, input: question, instructions: "First." })
        .finalResponse();
      expect(first).toMatchObject({ store: true, previous_response_id: null });
      const second = await client.responses.create({
        model,
        tools,
        instructions: "Second.",
        input: [output],
        previous_response_id: first.id,
      });
      expect(second).toMatchObject({ store: true, previous_response_id: first.id });
      expect(told()).toEqual(HISTORY);
      const input = "And tomorrow?";
      await client.responses.create({ model, tools, input, previous_response_id: second.id });
      expect(told()).toEqual([...HISTORY.slice(1), "assistant", ["user", input]]);
      const name = world.engine === "ollama" ? "thinking" : "reasoning_content";
      const turn = (world.asked().at(-1) as unknown as Asked).messages[1];
      expect(turn).toMatchObject({
        [name]: "I need the weather.",
        tool_calls: [{ function: { name: "get_weather" } }],
      });
    });

    it("puts what was said in the place of an item_reference", async () => {
      scriptCall();
      const question = { role: "user" as const, content: "What is the weather in Oslo?" };
      const first = await client.responses.create({ model, tools, input: [question] });
      const references: Input = first.output.map(({ id }) => ({
        type: "item_reference",
        id: id as string,
      }));
      const input = [question, ...references, output];
      await client.responses.create({ model, tools, input, instructions: "Second." });
      expect(told()).toEqual(HISTORY);
    });

    it("shows a remembered response as it was given, and forgets it when it is deleted", async () => {
      const first = await client.responses.create({ model, input: "Say: Grüße" });
      const {
        _request_id: _,
        output_text: __,
        ...shown
      } = await client.responses.retrieve(first.id);
      const { _request_id: ___, output_text: ____, ...given } = first;
      expect(shown).toEqual(given);
      // Its events are gone, which the client must not take for an answer without any.
      const replayed = client.responses.retrieve(first.id, { stream: true });
      await expect(replayed).rejects.toMatchObject({ status: 400, param: "stream" });
      const headers = { authorization: `Bearer ${TEST_KEY}` };
      const path = `${world.gateway.url}/v1/responses/${first.id}`;
      const deleted = await fetch(path, { method: "DELETE", headers });
      expect(await deleted.json()).toEqual({ id: first.id, object: "response", deleted: true });
      for (const method of ["GET", "DELETE"]) {
        const response = await fetch(path, { method, headers });
        expect(response.status).toBe(404);
        expect(expectChatForm(await response.json()).code).toBe("not_found");
      }
    });

    it("refuses what is not remembered in OpenAI's words, and asks no engine", async () => {
      const forgotten = { input: "x", previous_response_id: "resp_1" };
      const previous = await client.responses.create({ model, ...forgotten }).catch((e) => e);
      expect(previous).toBeInstanceOf(OpenAI.BadRequestError);
      expect(previous).toMatchObject({
        code: "previous_response_not_found",
        type: "invalid_request_error",
        param: "previous_response_id",
      });
      const item = await postResponse(world, { input: [{ type: "item_reference", id: "rs_1" }] });
      expect(item.status).toBe(400);
      expect(await item.json()).toEqual({
        error: {
          message: expect.stringMatching(/^Item with id 'rs_1' not found\. /),
          type: "invalid_request_error",
          param: "input",
          code: null,
        },
      });
      expect(world.asked()).toEqual([]);
    });

    it("shows and continues nothing that another key was answered, nor what store false kept out", async () => {
      const kept = await client.responses.create({ model, input: "Say: hi" });
      const { key } = await issueKey(world.gateway, {});
      const other = new OpenAI({ baseURL: client.baseURL, apiKey: key, maxRetries: 0 });
      const unkept = await client.responses.create({ model, input: "Say: hi", store: false });
      expect(unkept).toMatchObject({ store: false });
      for (const [asking, { id, output: items }] of [
        [other, kept],
        [client, unkept],
      ] as const) {
        const status = (call: Promise<unknown>) =>
          call.then(
            () => 200,
            (error) => error.status,
          );
        const input: Input = [{ type: "item_reference", id: items[0]?.id as string }];
        expect(await status(asking.responses.retrieve(id))).toBe(404);
        expect(await status(asking.responses.create({ model, input }))).toBe(400);
        const previous = { input: "x", previous_response_id: id };
        expect(await status(asking.responses.create({ model, ...previous }))).toBe(400);
      }
      expect((await client.responses.retrieve(kept.id)).id).toBe(kept.id);
    });
  });
}
