import type { HttpResponse } from "../../lib/http/http-client.ts";
import { BodyTooLarge } from "../../lib/http/read-body-text.ts";

interface Watcher {
  /** Called once, when something of the body has come, or its end. */
  readonly began: () => void;
  /** Called once, when the body was read to its end, cancelled, or broke. */
  readonly ended: () => void;
  readonly broke: () => void;
}

/** Wraps a response and reports when its body begins and when it is over. */
export function countResponse(response: HttpResponse, watcher: Watcher): HttpResponse {
  let hasBegun = false;
  let isOver = false;
  const begin = () => {
    if (hasBegun) return;
    hasBegun = true;
    watcher.began();
  };
  const end = () => {
    if (isOver) return;
    isOver = true;
    watcher.ended();
  };
  const fail = (thrown: unknown) => {
    if (!isOver && !(thrown instanceof BodyTooLarge)) watcher.broke();
    end();
    return thrown;
  };
  return {
    status: response.status,
    header: (name) => response.header(name),
    async next() {
      try {
        const chunk = await response.next();
        begin();
        if (chunk.done === true) end();
        return chunk;
      } catch (thrown) {
        throw fail(thrown);
      }
    },
    async text(maxBytes) {
      try {
        const text = await response.text(maxBytes);
        begin();
        end();
        return text;
      } catch (thrown) {
        throw fail(thrown);
      }
    },
    cancel() {
      end();
      response.cancel();
    },
  };
}
