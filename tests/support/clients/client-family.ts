import { expect } from "vitest";
import { readChatStream } from "./chat-stream.ts";
import { expectChatError, expectChatForm } from "./expect-chat-error.ts";
import type { RawResponse } from "./raw-client.ts";

/** What all families can tell of a stream. */
export interface FamilyStream {
  readonly text: string;
  /** It came to its proper end. */
  readonly isFinished: boolean;
  /** The kind of the error it ended with, in our own word for it. */
  readonly error: string | undefined;
  readonly keepalives: number;
}

/** A client family as the cases of reliability see it: any engine's failure must look like this family's. */
export interface ClientFamily {
  readonly name: "chat" | "messages" | "responses";
  readonly path: string;
  /** One question; further fields as the family names them. */
  readonly body: (model: string, more?: Readonly<Record<string, unknown>>, text?: string) => object;
  /** Reads a whole stream. Fails on anything that has no place in one, or not there. */
  readonly readStream: (response: RawResponse) => FamilyStream;
  /** The text of an answer that is no stream. */
  readonly textOf: (answer: unknown) => string;
  /** Checks that the answer is this error as JSON in the family's form; returns its type. */
  readonly expectError: (response: RawResponse, status: number, code?: string) => string;
  /** A piece of text that shows up in the stream once some of the answer was said. */
  readonly saidMark: string;
  /** The status of an engine that says 529. */
  readonly overloadedStatus: number;
}

const QUESTION = "Tell me something.";

const chat: ClientFamily = {
  name: "chat",
  path: "/v1/chat/completions",
  saidMark: '"content"',
  overloadedStatus: 503,
  body: (model, more = {}, text = QUESTION) => ({
    model,
    messages: [{ role: "user", content: text }],
    ...more,
  }),
  readStream(response) {
    const { text, error, finishReason, isDone, keepalives } = readChatStream(response);
    expect(isDone).toBe(true);
    return {
      text,
      error: error?.code ?? undefined,
      isFinished: finishReason !== undefined,
      keepalives,
    };
  },
  textOf: (answer) =>
    (answer as { choices: [{ message: { content: string } }] }).choices[0].message.content,
  expectError: (response, status, code) => expectChatError(response, status, code).type,
};

/** The messages form says less: several of our codes are one type there. */
const MESSAGE_TYPES: Readonly<Record<string, string>> = {
  invalid_value: "invalid_request_error",
  invalid_json: "invalid_request_error",
  unsupported_media_type: "invalid_request_error",
  request_too_large: "request_too_large",
  rate_limit_exceeded: "rate_limit_error",
  upstream_error: "api_error",
  upstream_timeout: "timeout_error",
  overloaded: "overloaded_error",
};

const messages: ClientFamily = {
  name: "messages",
  path: "/v1/messages",
  saidMark: '"text_delta"',
  overloadedStatus: 529,
  body: (model, more = {}, text = QUESTION) => ({
    model,
    max_tokens: 1_024,
    messages: [{ role: "user", content: text }],
    ...more,
  }),
  readStream(response) {
    const events = readNamedEvents(response);
    const last = events.at(-1);
    const error = last?.type === "error" ? expectMessagesForm(last) : undefined;
    return {
      text: events.map(({ delta }) => delta?.text ?? "").join(""),
      error: error === undefined ? undefined : codeOf(error.type),
      isFinished: last?.type === "message_stop",
      keepalives: events.filter(({ type }) => type === "ping").length,
    };
  },
  textOf: (answer) =>
    (answer as { content: { text?: string }[] }).content.map(({ text }) => text ?? "").join(""),
  expectError(response, status, code) {
    expectJson(response, status);
    expect(response.header("request-id")).toBe(response.header("x-request-id"));
    const { type } = expectMessagesForm(response.json());
    if (code !== undefined) expect(type).toBe(MESSAGE_TYPES[code]);
    return type;
  },
};

const responses: ClientFamily = {
  name: "responses",
  path: "/v1/responses",
  saidMark: "response.output_text.delta",
  overloadedStatus: 503,
  body: (model, more = {}, text = QUESTION) => ({ model, input: text, ...more }),
  readStream(response) {
    const events = readNamedEvents(response);
    const last = events.at(-1);
    const isFailed = last?.type === "response.failed";
    return {
      text: events
        .map(({ type, delta }) => (type === "response.output_text.delta" ? String(delta) : ""))
        .join(""),
      // This family has no word for what failed beneath.
      error: isFailed ? String(last.response?.error?.code) : undefined,
      isFinished: last?.type === "response.completed",
      keepalives: response.text.split("\n\n").filter((frame) => frame.startsWith(":")).length,
    };
  },
  textOf: (answer) =>
    (answer as { output: { content?: { text?: string }[] }[] }).output
      .flatMap(({ content = [] }) => content)
      .map(({ text }) => text ?? "")
      .join(""),
  expectError: (response, status, code) => expectChatError(response, status, code).type,
};

export const CLIENT_FAMILIES: readonly ClientFamily[] = [chat, messages, responses];

/** True when a stream's error is what our code is in its family. */
export function isErrorOf(family: ClientFamily, error: string | undefined, code: string): boolean {
  return family.name === "responses" ? error === "server_error" : error === code;
}

function codeOf(type: string): string {
  const known = ["upstream_error", "upstream_timeout", "overloaded"];
  return known.find((code) => MESSAGE_TYPES[code] === type) ?? type;
}

interface NamedEvent {
  readonly type: string;
  readonly delta?: { readonly text?: string };
  readonly response?: { readonly error?: { readonly code?: string } | null };
}

/** The events of a stream whose frames name them; comments are left out. */
function readNamedEvents({ status, header, text, isComplete }: RawResponse): NamedEvent[] {
  expect({ status, text: status === 200 ? "" : text }).toEqual({ status: 200, text: "" });
  expect(header("content-type")).toMatch(/^text\/event-stream/);
  expect(isComplete).toBe(true);
  const frames = text.split("\n\n");
  expect(frames.pop()).toBe("");
  return frames
    .filter((frame) => !frame.startsWith(":"))
    .map((frame) => {
      expect(frame).toMatch(/^event: [a-z_.]+\ndata: [^\n]*$/);
      const [name = "", data = ""] = frame.split("\n");
      const event: NamedEvent = JSON.parse(data.slice("data: ".length));
      expect(event.type).toBe(name.slice("event: ".length));
      return event;
    });
}

function expectMessagesForm(value: unknown): { type: string; message: string } {
  const { type, error } = value as { type: string; error: { type: string; message: string } };
  expect(type).toBe("error");
  expect(Object.keys(error).sort()).toEqual(["message", "type"]);
  // The same demands on its words as in the chat form.
  expectChatForm({ error: { ...error, param: null, code: null } });
  return error;
}

function expectJson(response: RawResponse, status: number): void {
  expect({ status: response.status, text: response.text }).toMatchObject({ status });
  expect(response.header("content-type")).toMatch(/^application\/json/);
}
