import { expect } from "vitest";
import type { RawResponse } from "./raw-client.ts";

export interface ChatError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** Checks that the value is an error in the chat form, with all four keys and nothing of our inside, and returns it. */
export function expectChatForm(value: unknown): ChatError {
  expect(Object.keys(value as object)).toEqual(["error"]);
  const { error } = value as { error: ChatError };
  expect(Object.keys(error).sort()).toEqual(["code", "message", "param", "type"]);
  expect(error.message).toEqual(expect.any(String));
  expect(error.message).not.toMatch(/\n\s+at |node_modules|src\/|insert into|select /i);
  expect(error.type).toMatch(/(_error|_too_large)$/);
  return error;
}

/** Checks that the answer is this error as JSON, and returns its object. */
export function expectChatError(response: RawResponse, status: number, code?: string): ChatError {
  expect({ status: response.status, text: response.text }).toMatchObject({ status });
  expect(response.header("content-type")).toMatch(/^application\/json/);
  const error = expectChatForm(response.json());
  if (code !== undefined) expect(error).toMatchObject({ code });
  return error;
}
