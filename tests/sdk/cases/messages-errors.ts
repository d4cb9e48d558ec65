import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { readMessageStream } from "../../support/clients/message-stream.ts";
import { anthropicBefore, postMessages } from "../ask-messages.ts";
import { type Engine, type EngineGateway, say } from "../engine-gateway.ts";

type Params = Anthropic.MessageCreateParamsNonStreaming;

export function messageErrorCases(engine: Engine, opened: () => EngineGateway): void {
  describe("7 errors of POST /v1/messages, by the client's classes", () => {
    let world: EngineGateway;
    let client: Anthropic;

    beforeAll(() => {
      world = opened();
      client = anthropicBefore(world);
    });

    const params = (more: Partial<Params> = {}): Params => ({
      model: world.modelId("sim-chat"),
      max_tokens: 64,
      messages: say("hello"),
      ...more,
    });
    const refused = (more: Partial<Params> = {}, by = client) =>
      caught(by.messages.create(params(more)));

    it("401 AuthenticationError for a wrong key, and nothing reaches the engine", async () => {
      const error = await refused(
        {},
        client.withOptions({ apiKey: "sk-unknown-0123456789abcdef" }),
      );
      expect(error).toBeInstanceOf(Anthropic.AuthenticationError);
      expect(error).toMatchObject({ status: 401, type: "authentication_error" });
      expect(error.headers?.get("www-authenticate")).toBe("Bearer");
      expect(error.requestID).toBe(error.headers?.get("x-request-id"));
      expect(error.error).toEqual({
        type: "error",
        error: { type: "authentication_error", message: expect.any(String) },
        request_id: error.requestID,
      });
      expect(world.asked()).toEqual([]);
    });

    it("400 for a body that is not JSON, in the messages form", async () => {
      for (const body of ["{", "", "null x", '{"model":"a",}', "{'a':1}"]) {
        const response = await postMessages(world, body);
        expect(response.status).toBe(400);
        expect(await response.json()).toEqual({
          type: "error",
          error: {
            type: "invalid_request_error",
            message: expect.stringMatching(/not valid JSON|The body is empty/),
          },
          request_id: response.headers.get("request-id"),
        });
      }
    });

    it("400 for a thread, with the code by which clients send the whole conversation themselves", async () => {
      for (const path of ["/v1/messages?beta=true", "/v1/messages/count_tokens"]) {
        for (const thread of [{ type: "create" }, { previous_message_id: "msg_1" }, "x"]) {
          const response = await postMessages(world, { ...params(), thread }, { path });
          expect(response.status).toBe(400);
          expect(await response.json()).toEqual({
            type: "error",
            error: {
              type: "invalid_request_error",
              message: expect.stringMatching(/^'thread' cannot be used.*whole conversation/),
              details: { error_code: "thread_unsupported_request" },
            },
            request_id: response.headers.get("request-id"),
          });
        }
      }
      expect(world.asked()).toEqual([]);
      const response = await postMessages(world, { ...params(), thread: null });
      expect(response.status).toBe(200);
    });

    it("404 NotFoundError for an assistant that does not exist", async () => {
      const error = await refused({ model: "asst_nope" });
      expect(error).toBeInstanceOf(Anthropic.NotFoundError);
      expect(error).toMatchObject({ status: 404, type: "not_found_error" });
      expect(error.message).toContain("model");
    });

    it("400 for a prompt that is too long, in the words that agents look for", async () => {
      const long = {
        model: world.modelId("sim-small"),
        messages: [{ role: "user" as const, content: "word ".repeat(9_000) }],
      };
      for (const error of [
        await refused(long),
        await caught(client.messages.stream(params(long)).finalMessage()),
      ]) {
        expect(error).toBeInstanceOf(Anthropic.BadRequestError);
        expect(error).toMatchObject({ status: 400, type: "invalid_request_error" });
        const { error: body } = error.error as { error: { message: string } };
        expect(body.message).toMatch(/^prompt is too long: \d+ tokens > 8192 maximum$/);
      }
    });

    it("an APIError in the midst of a stream, after what was said until then", async () => {
      world.simulator.script({ text: "one two three four", error: { at: 3 } });
      const stream = client.messages.stream(params());
      let heard = "";
      stream.on("text", (text) => {
        heard += text;
      });
      const error = await caught(stream.finalMessage());
      expect(error.error).toMatchObject({ type: "error", error: { type: "api_error" } });
      expect(heard).toMatch(/^one/);
      expect(heard).not.toContain("four");
    });

    it("ends a stream that broke off with an error event and no message_stop", async () => {
      world.simulator.script({ text: "one two three", cut: { at: 3, how: "reset" } });
      const response = await postMessages(world, { ...params(), stream: true });
      expect(response.status).toBe(200);
      const { error, end } = readMessageStream(await response.text());
      expect(error?.type).toBe("api_error");
      expect(end).toBeUndefined();
    });

    it.each([
      [400, 400, "invalid_request_error"],
      [401, 502, "api_error"],
      [404, 502, "api_error"],
      [422, 400, "invalid_request_error"],
      [429, 429, "rate_limit_error"],
      [500, 502, "api_error"],
      [503, 503, "overloaded_error"],
      [529, 529, "overloaded_error"],
    ] as const)("turns an engine's %i into %i %s, streaming or not", async (told, status, type) => {
      world.simulator.script({
        respond: { status: told, body: engineError(engine) },
        times: "always",
      });
      for (const error of [
        await refused(),
        await caught(client.messages.stream(params()).finalMessage()),
      ]) {
        expect(error).toMatchObject({ status, type });
        expect(JSON.stringify(error.error)).not.toContain(world.simulator.url);
        const waits = status === 429 || status === 503 || status === 529;
        expect(error.headers?.has("retry-after")).toBe(waits);
      }
    });
  });
}

async function caught(promise: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Anthropic.APIError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

function engineError(engine: Engine): object {
  const message = "the engine's own words";
  if (engine === "ollama") return { error: message };
  return { error: { message, type: "SomeError", param: null, code: 500 } };
}
