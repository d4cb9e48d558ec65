import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Backend } from "../../../src/backends/backend.ts";
import type { FetchImage } from "../../../src/backends/images/fetch-image.ts";
import { createFetchImage, sniffImage } from "../../../src/backends/images/fetch-image.ts";
import { inlineImages, withInlineImages } from "../../../src/backends/images/inline-images.ts";
import type { ChatMessage, ChatRequest, ImagePart } from "../../../src/core/chat/chat-request.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import { createEgress, type Egress } from "../../../src/lib/egress/egress.ts";
import { EgressError } from "../../../src/lib/egress/egress-error.ts";
import { callGateway } from "../../support/clients/call-gateway.ts";
import { startGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator } from "../../support/servers/start-simulator.ts";
import { CHAT_CALLS, ENGINES } from "../../support/stages/engine-stage.ts";
import { chatRequest, MODEL, never, serviceErrorOf } from "../support.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const MAX_IMAGE_BYTES = 20 * 1024 * 1024;

const image = (url: string, at = "messages[0].content[0]"): ImagePart => ({
  type: "image",
  source: { kind: "url", url },
  at,
  detail: "low",
});
const asking = (...content: readonly ImagePart[]): ChatRequest =>
  chatRequest({ messages: [{ role: "user", content }] });
const fetchPng: FetchImage = async () => ({ mediaType: "image/png", bytes: PNG });

describe("a request with images by their addresses", () => {
  it("gets them in its place, with everything else as it was", async () => {
    const messages: ChatMessage[] = [
      { role: "system", content: [{ type: "text", text: "Look." }] },
      { role: "user", content: [{ type: "text", text: "What?" }, image("https://a.test/1")] },
      { role: "tool", callId: "call_1", content: [image("https://a.test/2")] },
    ];
    const request = chatRequest({ messages });
    const inlined = await inlineImages(request, fetchPng, never());
    const source = { kind: "base64", mediaType: "image/png", data: PNG.toString("base64") };
    expect(inlined).toEqual({
      ...request,
      messages: [
        messages[0],
        {
          role: "user",
          content: [
            { type: "text", text: "What?" },
            { ...image("https://a.test/1"), source },
          ],
        },
        {
          role: "tool",
          callId: "call_1",
          content: [{ ...image("https://a.test/2"), source }],
        },
      ],
    });
    expect(inlined.messages[0]).toBe(messages[0]);
  });

  it("has each address fetched once, all side by side", async () => {
    const fetched: string[] = [];
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const fetchImage: FetchImage = async (url, signal) => {
      fetched.push(url);
      if (fetched.length === 3) open();
      await gate;
      return fetchPng(url, signal);
    };
    const urls = ["https://a.test/1", "https://a.test/2", "https://a.test/1", "https://a.test/3"];
    await inlineImages(asking(...urls.map((url) => image(url))), fetchImage, never());
    expect(fetched).toEqual(["https://a.test/1", "https://a.test/2", "https://a.test/3"]);
  });

  it("has no more than three on their way at once", async () => {
    let onTheirWay = 0;
    let most = 0;
    const fetchImage: FetchImage = async (url, signal) => {
      onTheirWay += 1;
      most = Math.max(most, onTheirWay);
      await new Promise((resolve) => setTimeout(resolve, 1));
      onTheirWay -= 1;
      return fetchPng(url, signal);
    };
    const urls = Array.from({ length: 16 }, (_, index) => image(`https://a.test/${index}`));
    const inlined = await inlineImages(asking(...urls), fetchImage, never());
    expect(most).toBe(3);
    expect(JSON.stringify(inlined)).not.toContain("https://");
  });

  it("is refused with the place of the one that fails, and the others are given up", async () => {
    let givenUp: unknown;
    const fetchImage: FetchImage = async (url, signal) => {
      if (url.endsWith("bad"))
        throw new EgressError("status", "its server answered with status 404");
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      givenUp = url;
      throw signal.reason;
    };
    const request = asking(image("https://a.test/slow"), image("https://a.test/bad", "input[3]"));
    const error = await serviceErrorOf(inlineImages(request, fetchImage, never()));
    expect([error.code, error.param]).toEqual(["invalid_value", "input[3]"]);
    expect(error.message).toContain(
      "input[3] could not be fetched: its server answered with status",
    );
    expect(givenUp).toBe("https://a.test/slow");
  });

  it("is refused beyond 16 images and beyond 64 MiB together", async () => {
    const many = Array.from({ length: 17 }, (_, index) =>
      image(`https://a.test/${index}`, `at ${index}`),
    );
    let fetched = 0;
    const counting: FetchImage = (url, signal) => {
      fetched += 1;
      return fetchPng(url, signal);
    };
    const error = await serviceErrorOf(inlineImages(asking(...many), counting, never()));
    expect([error.code, error.param, fetched]).toEqual(["invalid_value", "at 16", 0]);
    await inlineImages(asking(...many.slice(0, 16)), counting, never());
    expect(fetched).toBe(16);

    const large: FetchImage = async () => ({
      mediaType: "image/png",
      bytes: new Uint8Array(MAX_IMAGE_BYTES),
    });
    const tooMuch = await serviceErrorOf(inlineImages(asking(...many.slice(0, 4)), large, never()));
    expect(tooMuch.message).toContain("64 MiB");
  });

  it("ends with the client's reason when it leaves", async () => {
    const leaving = new AbortController();
    const reason = new Error("left");
    const fetchImage: FetchImage = async (_url, signal) => {
      leaving.abort(reason);
      throw signal.reason;
    };
    const inlining = inlineImages(asking(image("https://a.test/1")), fetchImage, leaving.signal);
    await expect(inlining).rejects.toBe(reason);
  });
});

describe("a backend whose images the gateway fetches", () => {
  const seen: ChatRequest[] = [];
  const backend: Backend = {
    name: "seen",
    listModels: async () => [MODEL],
    isReachable: async () => true,
    chat: async (request) => {
      seen.push(request);
      return (async function* () {})();
    },
    countTokens: async () => 7,
  };
  const fetched: string[] = [];
  const wrapped = withInlineImages(backend, (url, signal) => {
    fetched.push(url);
    return fetchPng(url, signal);
  });
  const options = { signal: never() };

  it("gets a request without them as it is", async () => {
    const request = chatRequest();
    await wrapped.chat(request, MODEL, options);
    expect(seen.at(-1)).toBe(request);
    expect(await wrapped.countTokens?.(request, MODEL, options)).toBe(7);
    expect(fetched).toEqual([]);
  });

  it("has none fetched for a model that sees nothing, nor for a tokenizer", async () => {
    const request = asking(image("https://a.test/1"));
    await wrapped.chat(request, { ...MODEL, vision: false }, options);
    expect(seen.at(-1)).toBe(request);
    expect(await wrapped.countTokens?.(request, MODEL, options)).toBeUndefined();
    expect(fetched).toEqual([]);
    await wrapped.chat(request, MODEL, options);
    expect(fetched).toEqual(["https://a.test/1"]);
  });

  it("has them counted until the engine has the body, and none beyond the room", async () => {
    const request = asking(image("https://a.test/1"), image("https://a.test/2"));
    const size = PNG.toString("base64").length;
    let room = 2 * size;
    const log: string[] = [];
    const added = {
      addBytes(bytes: number) {
        room -= bytes;
        if (room < 0) throw new ServiceError("overloaded", "no room");
        log.push(`added ${bytes}`);
      },
      releaseAdded: () => void log.push("released"),
    };
    await wrapped.chat(request, MODEL, { ...options, added });
    expect(log).toEqual([`added ${size}`, `added ${size}`, "released"]);
    const before = seen.length;
    const refused = await serviceErrorOf(wrapped.chat(request, MODEL, { ...options, added }));
    expect(refused.code).toBe("overloaded");
    expect(log.at(-1)).toBe("released");
    expect(seen).toHaveLength(before);
  });
});

it("fetches eight images of all calls at once, and the others in turn", async () => {
  const open: (() => void)[] = [];
  const egress = {
    fetch: () => new Promise((resolve) => open.push(() => resolve({ bytes: new Uint8Array(PNG) }))),
  } as unknown as Egress;
  const fetchImage = createFetchImage(egress);
  const fetching = Array.from({ length: 9 }, (_, at) =>
    fetchImage(`https://a.test/${at}`, never()),
  );
  await expect.poll(() => open.length).toBe(8);
  open[0]?.();
  await fetching[0];
  await expect.poll(() => open.length).toBe(9);
  for (const answer of open) answer();
  expect(await Promise.all(fetching)).toHaveLength(9);
});

it.each([
  ["image/png", "\x89PNG\r\n\x1a\n...."],
  ["image/jpeg", "\xff\xd8\xff\xe0...."],
  ["image/gif", "GIF89a...."],
  ["image/webp", "RIFF\x10\0\0\0WEBPVP8 "],
  ["image/bmp", "BM\x10\0\0\0"],
  ["image/avif", "\0\0\0\x20ftypavif...."],
  [undefined, "<svg xmlns='http://www.w3.org/2000/svg'/>"],
  [undefined, "<html>"],
  [undefined, "RIFF\x10\0\0\0WAVEfmt "],
  [undefined, ""],
])("takes for %s what begins as one", (mediaType, head) => {
  expect(sniffImage(Buffer.from(head, "latin1"))).toBe(mediaType);
});

describe.each(ENGINES)("%s behind a gateway", (engine) => {
  let pictures: Server;
  let port: number;
  let connections = 0;
  beforeAll(async () => {
    pictures = createServer((request, response) => {
      response.setHeader("content-type", "image/png");
      response.end(request.url === "/page" ? "<html>secret of the house</html>" : PNG);
    });
    pictures.on("connection", () => (connections += 1));
    await new Promise<void>((resolve) => pictures.listen(0, "127.0.0.1", resolve));
    port = (pictures.address() as AddressInfo).port;
  });
  afterAll(() => {
    pictures.closeAllConnections();
    pictures.close();
  });

  const body = (url: string) => ({
    model: "sim-chat",
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "What do you see?" },
          { type: "image_url", image_url: { url } },
        ],
      },
    ],
  });

  async function ask(allow: string, paths: readonly string[]) {
    const simulator = await startSimulator({ engine });
    const gateway = await startGateway({
      LLM_BACKEND: engine,
      LLM_BASE_URL: simulator.url,
      EGRESS_ALLOW: allow,
    });
    try {
      const answers = [];
      for (const path of paths) {
        const url = `http://127.0.0.1:${port}${path}`;
        answers.push(await callGateway(gateway.port, { body: body(url) }));
      }
      const calls = simulator.ledger().filter(({ path }) => path === CHAT_CALLS[engine]);
      return { answers, calls };
    } finally {
      await gateway.stop();
      await simulator.stop();
    }
  }

  it("is given nothing of the private network, and nobody is asked there", async () => {
    const before = connections;
    const { answers, calls } = await ask("", ["/picture"]);
    expect(answers[0]?.status).toBe(400);
    expect(JSON.parse(answers[0]?.text ?? "").error).toMatchObject({
      type: "invalid_request_error",
      code: "invalid_value",
      param: "messages[0].content[1]",
      message: expect.stringContaining("private or reserved network"),
    });
    expect(calls).toEqual([]);
    expect(connections).toBe(before);
  });

  it("gets the image itself where the operator allows the address, and no page in its stead", async () => {
    const { answers, calls } = await ask("127.0.0.1", ["/picture", "/page"]);
    expect(answers.map(({ status }) => status)).toEqual([200, 400]);
    expect(calls).toHaveLength(1);
    expect(calls[0]?.body).toContain(PNG.toString("base64"));
    expect(calls[0]?.body).not.toContain(String(port));
    expect(answers[1]?.text).toContain("it is not an image");
    expect(answers[1]?.text).not.toContain("secret");
  });
});

it("an image is given 20 MiB and asked for as one", async () => {
  const server = createServer((request, response) => {
    const size = request.url === "/large" ? MAX_IMAGE_BYTES + 1 : MAX_IMAGE_BYTES;
    const bytes = Buffer.alloc(size);
    PNG.copy(bytes);
    response.end(request.headers.accept === "image/*" ? bytes : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const fetchImage = createFetchImage(createEgress({ allow: ["127.0.0.1"] }));
  const fetched = await fetchImage(`http://127.0.0.1:${port}/right`, never());
  expect([fetched.mediaType, fetched.bytes.length]).toEqual(["image/png", MAX_IMAGE_BYTES]);
  const large = fetchImage(`http://127.0.0.1:${port}/large`, never());
  await expect(large).rejects.toThrow("it is larger than 20 MiB");
  server.closeAllConnections();
  server.close();
});

it("Gemini behind a gateway gets the image itself, and OpenAI its address", async () => {
  const pictures = createServer((_request, response) => response.end(PNG));
  await new Promise<void>((resolve) => pictures.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(pictures.address() as AddressInfo).port}/picture`;
  const [gemini, openai, local] = await Promise.all([
    startSimulator({ engine: "gemini" }),
    startSimulator({ engine: "openai" }),
    startSimulator({ engine: "vllm" }),
  ]);
  const gateway = await startGateway({
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: local.url,
    GEMINI_API_KEY: "a-key-of-gemini",
    GEMINI_BASE_URL: `${gemini.url}/v1beta`,
    GEMINI_MODELS: "gemini-3-flash",
    OPENAI_API_KEY: "a-key-of-openai",
    OPENAI_BASE_URL: `${openai.url}/v1`,
    OPENAI_MODELS: "gpt-5",
    EGRESS_ALLOW: "127.0.0.1",
  });
  const content = [{ type: "image_url", image_url: { url } }];
  for (const model of ["gemini-3-flash", "gpt-5"]) {
    const body = { model, messages: [{ role: "user", content }] };
    await callGateway(gateway.port, { body });
  }
  const bodies = [gemini, openai].map((one) =>
    one
      .ledger()
      .map(({ body }) => body)
      .join(""),
  );
  expect(bodies[0]).toContain(PNG.toString("base64"));
  expect(bodies[0]).not.toContain(url);
  expect(bodies[1]).toContain(url);
  await gateway.stop();
  await Promise.all([gemini, openai, local].map((simulator) => simulator.stop()));
  pictures.closeAllConnections();
  pictures.close();
});
