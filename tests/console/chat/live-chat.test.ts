import { expect, it } from "vitest";
import {
  branchOf,
  type ChatDocument,
  emptyDocument,
  textOf,
} from "../../../src/console/chat/chat-document.ts";
import { type ChatRequest, MAX_SENT } from "../../../src/console/chat/chat-request.ts";
import { toMarkdown } from "../../../src/console/chat/export-chat.ts";
import { type ChatWorld, LiveChat } from "../../../src/console/chat/live-chat.ts";

const encoder = new TextEncoder();
const frame = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/** A model whose answers the test writes, piece by piece. */
function stage() {
  const asked: ChatRequest[] = [];
  const kept: ChatDocument[] = [];
  let due: (() => void)[] = [];
  let writer: ReadableStreamDefaultController<Uint8Array> | undefined;
  let refusal: Error | undefined;
  let begun: () => void = () => undefined;
  const world: ChatWorld = {
    async ask(request, signal) {
      asked.push(request);
      if (refusal !== undefined) throw refusal;
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          writer = controller;
          signal.addEventListener("abort", () => controller.error(signal.reason));
        },
      });
      begun();
      return { body, requestId: `req_${asked.length}` };
    },
    settled: (document) => void kept.push(document),
    nextFrame: (callback) => void due.push(callback),
    now: () => 1_000,
  };
  const chat = new LiveChat(emptyDocument("m"), world);
  return {
    ...{ chat, asked, kept },
    write: (text: string) => writer?.enqueue(encoder.encode(text)),
    end: () => writer?.close(),
    refuse: (error: Error | undefined) => {
      refusal = error;
    },
    /** Sends and resolves when the model has been asked. */
    begin: (sending: () => Promise<void>) =>
      new Promise<{ readonly done: Promise<void> }>((resolve) => {
        const done = { done: undefined as unknown as Promise<void> };
        begun = () => queueMicrotask(() => resolve(done));
        done.done = sending();
      }),
    draw: () => {
      const callbacks = due;
      due = [];
      for (const callback of callbacks) callback();
      return callbacks.length;
    },
  };
}

const question = (text: string) => [{ type: "text" as const, text }];
const shown = (chat: LiveChat) => branchOf(chat.state().document).map(textOf);

async function answer(given: ReturnType<typeof stage>, sending: () => Promise<void>, text: string) {
  const { done } = await given.begin(sending);
  given.write(frame({ content: text }));
  given.write(frame({}, "stop"));
  given.end();
  await done;
}

it("leaves its outline as it is while an answer grows, and loses no word to a change meanwhile", async () => {
  const given = stage();
  const { chat } = given;
  let told = 0;
  const { done } = await given.begin(() => chat.send(question("Hello")));
  const outline = chat.outline();
  expect(outline).toMatchObject({ answering: "m2", document: { leaf: "m2" } });
  const unsubscribe = chat.subscribe(() => {
    told += 1;
  });
  given.write(frame({ content: "One" }));
  await expect.poll(() => shown(chat)).toEqual(["Hello", "One"]);
  given.draw();
  expect(told).toBe(1);
  unsubscribe();
  expect(chat.outline()).toBe(outline);
  chat.change((document) => ({ ...document, system: "Be brief." }));
  expect(chat.outline()).toBe(chat.state());
  expect(shown(chat)).toEqual(["Hello", "One"]);
  given.write(frame({ content: " two" }));
  given.write(frame({}, "stop"));
  given.end();
  await done;
  expect(shown(chat)).toEqual(["Hello", "One two"]);
  expect(chat.outline()).toBe(chat.state());
  expect(chat.outline().document.system).toBe("Be brief.");
});

it("keeps the question, then the answer, with its request's id and what it took", async () => {
  const given = stage();
  const { done } = await given.begin(() => given.chat.send(question("Hello")));
  expect(given.kept.map((document) => branchOf(document).length)).toEqual([1]);
  expect(given.chat.state().answering).toBe("m2");
  given.write(frame({ content: "Hi" }));
  given.write(frame({}, "stop"));
  given.write(`data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\n`);
  given.end();
  await done;
  expect(given.chat.state().answering).toBeNull();
  expect(given.kept).toHaveLength(2);
  const [, said] = branchOf(given.kept[1] as ChatDocument);
  expect(said).toMatchObject({
    ...{ state: "done", request_id: "req_1", model: "m" },
    usage: { input_tokens: 3, output_tokens: 1, first_ms: 0, total_ms: 0 },
  });
  expect(toMarkdown("Hello", given.chat.state().document)).toContain(
    "## m\n\n*1970-01-01T00:00:01.000Z*\n\nHi",
  );
});

it("draws once a frame, however many tokens come", async () => {
  const given = stage();
  let told = 0;
  const { done } = await given.begin(() => given.chat.send(question("Count")));
  given.draw();
  given.chat.subscribe(() => {
    told += 1;
  });
  for (let number = 0; number < 500; number++) given.write(frame({ content: `${number} ` }));
  given.write(frame({}, "stop"));
  given.end();
  await done;
  given.draw();
  // One frame, and the end.
  expect(told).toBeLessThanOrEqual(3);
  expect(shown(given.chat)[1]).toMatch(/ 498 499 $/);
});

it("stops at once and keeps what there is, marked", async () => {
  const given = stage();
  const { done } = await given.begin(() => given.chat.send(question("Long")));
  given.write(frame({ content: "Half an" }));
  await new Promise<void>((resolve) => {
    given.chat.subscribe(resolve);
    const look = () => (given.draw() > 0 ? undefined : setImmediate(look));
    look();
  });
  given.chat.stop();
  await done;
  expect(branchOf(given.chat.state().document)[1]).toMatchObject({ state: "stopped" });
  expect(shown(given.chat)[1]).toBe("Half an");
  await answer(given, () => given.chat.send(question("Again")), "Whole");
  expect(given.asked[1]?.messages.map(({ content }) => content)).toEqual([
    "Long",
    "Half an",
    "Again",
  ]);
});

it("has what there is of an answer as if it was stopped, for a tab that may be closed", async () => {
  const given = stage();
  const { done } = await given.begin(() => given.chat.send(question("Long")));
  given.write(frame({ content: "Half an" }));
  const run = { id: "call_1", name: "search_knowledge", status: "running" };
  given.write(`data: ${JSON.stringify({ choices: [], ext: { tool_run: run } })}\n\n`);
  const soFar = () => given.chat.soFar().messages["m2"];
  await expect.poll(() => soFar()?.parts.length).toBe(2);
  expect(soFar()).toMatchObject({
    state: "stopped",
    parts: [{ text: "Half an" }, { type: "tool_run", status: "error" }],
  });
  expect(given.chat.state().document.messages["m2"]?.parts[1]).toMatchObject({ status: "running" });
  given.write(frame({}, "stop"));
  given.end();
  await done;
  expect(given.chat.soFar()).toBe(given.chat.state().document);
});

it("says why an answer failed, before it began and in its middle, and asks again beside it", async () => {
  const given = stage();
  const refused = { code: "license_invalid", requestId: "req_refused", retryAfterSeconds: 30 };
  given.refuse(Object.assign(new Error("The license is over."), refused));
  await given.chat.send(question("One"));
  const failed = branchOf(given.chat.state().document)[1];
  expect(failed).toMatchObject({
    ...{ state: "failed", parts: [], request_id: "req_refused" },
    error: { code: "license_invalid", message: "The license is over.", retry_at: 31_000 },
  });
  given.refuse(undefined);
  const { done } = await given.begin(() => given.chat.retry(failed?.id ?? ""));
  given.write(frame({ content: "Part" }));
  given.end();
  await done;
  const lost = branchOf(given.chat.state().document)[1];
  expect(lost).toMatchObject({ state: "failed", error: { code: "connection_lost" } });
  expect(lost?.siblings).toHaveLength(2);
  expect(shown(given.chat)).toEqual(["One", "Part"]);
});

it("edits a question beside the old one and asks with the branch alone", async () => {
  const given = stage();
  await answer(given, () => given.chat.send(question("A")), "a");
  await answer(given, () => given.chat.send(question("B")), "b");
  await answer(given, () => given.chat.edit("m3", question("C")), "c");
  expect(shown(given.chat)).toEqual(["A", "a", "C", "c"]);
  expect(given.asked[2]?.messages.map(({ content }) => content)).toEqual(["A", "a", "C"]);
  given.chat.show("m3");
  expect(shown(given.chat)).toEqual(["A", "a", "B", "b"]);
});

it("takes no second question while it answers", async () => {
  const given = stage();
  const { done } = await given.begin(() => given.chat.send(question("A")));
  await given.chat.send(question("B"));
  given.chat.show("m1");
  expect(given.asked).toHaveLength(1);
  given.write(frame({}, "stop"));
  given.end();
  await done;
});

it("says that an answer was cut at its limit", async () => {
  const given = stage();
  const { done } = await given.begin(() => given.chat.send(question("A")));
  given.write(frame({ content: "x" }, "length"));
  given.end();
  await done;
  expect(branchOf(given.chat.state().document)[1]).toMatchObject({
    state: "done",
    error: { code: "length" },
  });
});

it("asks again from a question on where a model refuses to begin with an answer", async () => {
  const given = stage();
  for (let turn = 0; turn < MAX_SENT / 2; turn += 1) {
    await answer(given, () => given.chat.send(question("Go on")), "Well");
  }
  given.refuse(Object.assign(new Error("roles must alternate"), { status: 400 }));
  await given.chat.send(question("And now?"));
  const roles = given.asked.slice(-2).map(({ messages }) => messages.map(({ role }) => role));
  expect(roles.map((sent) => [sent.length, sent[0]])).toEqual([
    [MAX_SENT, "assistant"],
    [MAX_SENT - 1, "user"],
  ]);
  expect(given.asked).toHaveLength(MAX_SENT / 2 + 2);
});

it("ends an answer whose message is gone, and takes the next question", async () => {
  const given = stage();
  const { done } = await given.begin(() => given.chat.send(question("Hello")));
  given.write(frame({ content: "One" }));
  await expect.poll(() => shown(given.chat)).toEqual(["Hello", "One"]);
  given.chat.change(() => emptyDocument("m"));
  given.write(frame({ content: " two" }));
  given.write(frame({}, "stop"));
  given.end();
  await done;
  expect(given.chat.state()).toEqual({ answering: null, document: emptyDocument("m") });
  await answer(given, () => given.chat.send(question("Again")), "Here");
  expect(shown(given.chat)).toEqual(["Again", "Here"]);
});
