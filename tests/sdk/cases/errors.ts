import OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { TEST_KEY } from "../../support/servers/start-gateway.ts";
import { type Engine, type EngineGateway, say } from "../engine-gateway.ts";

export function errorCases(engine: Engine, opened: () => EngineGateway): void {
  describe("7 errors, by the client's classes", () => {
    let world: EngineGateway;
    let client: OpenAI;

    beforeAll(() => {
      world = opened();
      client = world.openai;
    });

    const ask = (params: object = {}, by: OpenAI = client) =>
      caught(
        by.chat.completions.create({
          model: world.modelId("sim-chat"),
          messages: say("hello"),
          ...params,
        } as OpenAI.ChatCompletionCreateParamsNonStreaming),
      );

    it("401 AuthenticationError for a wrong key, and nothing reaches the engine", async () => {
      const stranger = new OpenAI({
        baseURL: `${world.gateway.url}/v1`,
        apiKey: `${TEST_KEY}x`,
        maxRetries: 0,
      });
      const error = await ask({}, stranger);
      expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
      expect(error).toMatchObject({
        status: 401,
        code: "invalid_api_key",
        type: "authentication_error",
        param: null,
      });
      expect(error.headers?.get("www-authenticate")).toBe("Bearer");
      expect(error.requestID).toBe(error.headers?.get("x-request-id"));
      expect(error.requestID).toBeTruthy();
      expect(world.asked()).toEqual([]);
    });

    it("400 BadRequestError for n above 1", async () => {
      const error = await ask({ n: 2 });
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error).toMatchObject({ status: 400, type: "invalid_request_error", param: "n" });
      expect(error.requestID).toBeTruthy();
      expect(world.asked()).toEqual([]);
    });

    it("400 for metadata.ext.tools_scope on a target that is no assistant", async () => {
      for (const metadata of [
        { ext: { tools_scope: ["a"] } },
        { service: { tools_scope: ["a"] } },
      ]) {
        const error = await ask({ metadata });
        expect(error).toBeInstanceOf(OpenAI.BadRequestError);
        expect(error).toMatchObject({
          code: "unsupported_parameter",
          param: "metadata.ext.tools_scope",
        });
      }
      expect(world.asked()).toEqual([]);
    });

    it("400 for a body that is not JSON, in the chat form", async () => {
      for (const body of ["{", "", "null x", '{"model":"a",}', "{'a':1}"]) {
        const response = await world.post(body);
        expect(response.status).toBe(400);
        expect(await response.json()).toEqual({
          error: {
            message: expect.stringMatching(/not valid JSON|The body is empty/),
            type: "invalid_request_error",
            param: null,
            code: "invalid_json",
          },
        });
      }
      expect(world.asked()).toEqual([]);
    });

    it("404 NotFoundError for an assistant that does not exist", async () => {
      for (const stream of [false, true]) {
        const error = await ask({ model: "asst_nope", stream });
        expect(error).toBeInstanceOf(OpenAI.NotFoundError);
        expect(error).toMatchObject({
          status: 404,
          code: "model_not_found",
          type: "invalid_request_error",
          param: "model",
        });
      }
      expect(world.asked()).toEqual([]);
    });

    it("400 context_length_exceeded for a prompt that is too long, in words that clients read", async () => {
      const model = world.modelId("sim-small");
      const messages = [{ role: "user", content: "word ".repeat(9_000) }];
      for (const params of [
        { model, messages },
        { model, messages, max_tokens: 5, stream: true },
      ]) {
        const error = await ask(params);
        expect(error).toBeInstanceOf(OpenAI.BadRequestError);
        expect(error).toMatchObject({ code: "context_length_exceeded", param: "messages" });
        expect(error.message).toMatch(/context/);
      }
      expect(world.calls().every(({ status }) => status !== 200)).toBe(true);
    });

    it("an APIError in the midst of a stream, after what was said until then", async () => {
      world.simulator.script({ text: "one two three four", error: { at: 3 } });
      const stream = await client.chat.completions.create({
        model: world.modelId("sim-chat"),
        messages: say("x"),
        stream: true,
      });
      let heard = "";
      const error = await caught(
        (async () => {
          for await (const chunk of stream) heard += chunk.choices[0]?.delta.content ?? "";
        })(),
      );
      expect(error).toBeInstanceOf(OpenAI.APIError);
      expect(error).toMatchObject({ code: "upstream_error", type: "api_error" });
      expect(heard).toMatch(/^one/);
      expect(heard).not.toContain("four");
    });

    it("ends a stream that failed with an error chunk, then [DONE]", async () => {
      world.simulator.script({ text: "one two three", cut: { at: 3, how: "reset" } });
      const response = await world.post({ messages: say("x"), stream: true });
      expect(response.status).toBe(200);
      const frames = (await response.text()).trimEnd().split("\n\n");
      expect(frames.pop()).toBe("data: [DONE]");
      expect(JSON.parse(frames.pop()?.slice("data: ".length) ?? "")).toEqual({
        error: {
          message: expect.any(String),
          type: "api_error",
          param: null,
          code: "upstream_error",
        },
      });
      expect(frames.filter((frame) => frame.includes('"error"'))).toEqual([]);
      expect(frames.filter((frame) => /"finish_reason":"/.test(frame))).toEqual([]);
    });

    it.each([
      [400, "BadRequestError", 400, "invalid_value"],
      [401, "InternalServerError", 502, "upstream_error"],
      [404, "InternalServerError", 502, "upstream_error"],
      [422, "BadRequestError", 400, "invalid_value"],
      [429, "RateLimitError", 429, "rate_limit_exceeded"],
      [500, "InternalServerError", 502, "upstream_error"],
      [503, "InternalServerError", 503, "overloaded"],
    ] as const)(
      "turns an engine's %i into %s %i, streaming or not",
      async (told, name, status, code) => {
        world.simulator.script({
          respond: { status: told, body: engineError(engine) },
          times: "always",
        });
        for (const stream of [false, true]) {
          const error = await ask({ stream });
          expect(error).toBeInstanceOf(OpenAI[name]);
          expect(error).toMatchObject({ status, code });
          expect(JSON.stringify(error.error)).not.toContain(world.simulator.url);
        }
        world.simulator.reset();
        const { choices } = await client.chat.completions.create({
          model: world.modelId("sim-chat"),
          messages: say("fine again"),
        });
        expect(choices[0]?.message.content).toBe("fine again");
      },
    );

    it("is answered at the second try of the client's own retries", async () => {
      const patient = client.withOptions({ maxRetries: 2 });
      world.simulator.script({ respond: { status: 500, body: engineError(engine) } });
      const { choices } = await patient.chat.completions.create({
        model: world.modelId("sim-chat"),
        messages: say("hello"),
      });
      expect(choices[0]?.message.content).toBe("hello");
      expect(world.calls().map(({ status }) => status)).toEqual([500, 200]);
    });
  });
}

async function caught(promise: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

function engineError(engine: "vllm" | "ollama"): object {
  const message = "the engine's own words";
  if (engine === "ollama") return { error: message };
  return { error: { message, type: "SomeError", param: null, code: 500 } };
}
