import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type ResetOptions,
  resetPassword,
} from "../../access/sessions/passwords/reset-password.ts";
import { ServiceError } from "../../core/service-error.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import type { Log } from "../../lib/log.ts";

export const RESET_PATH = "/reset-password";
const NAME_MAX_BYTES = 1_024;

/**
 * Answers the command for a password over the socket of this installation, which only its own user can open. The
 * request is the name, and the answer is JSON or, for an error, its text. Never rejects.
 */
export function createResetAnswer(options: ResetOptions & { readonly log: Log }) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const reset = await resetPassword(options, await readName(request));
      const { username } = reset;
      options.log.warn({ username }, "the password of a user was reset by the command line");
      const head = { "content-type": "application/json" };
      response.writeHead(200, head).end(JSON.stringify(reset));
    } catch (thrown) {
      const isOurs = thrown instanceof ServiceError;
      const message = isOurs ? thrown.message : toDatabaseError(thrown).message;
      if (!isOurs) options.log.warn({ cause: message }, "a password could not be reset");
      const head = { "content-type": "text/plain; charset=utf-8" };
      response.writeHead(isOurs ? thrown.status : 500, head).end(message);
    }
  };
}

async function readName(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > NAME_MAX_BYTES) throw new ServiceError("invalid_value", "The name is too long.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
