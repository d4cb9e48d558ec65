import { type IncomingMessage, request } from "node:http";
import { CUT_MARK, type ProcessAnswer } from "./data-process.ts";

export interface ProcessQuestion {
  readonly path: string;
  /** Any JSON. */
  readonly body: unknown;
  /** Called once the answer's body was read or given up. */
  readonly isDone: () => void;
}

/**
 * POSTs a value as JSON to the process over its socket. Rejects with the signal's reason, or with what the connection
 * failed with. The body ends with an error when the process ends before it.
 */
export function askProcess(
  socketPath: string,
  { path, body, isDone }: ProcessQuestion,
  signal: AbortSignal,
): Promise<ProcessAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request({
      socketPath,
      path,
      method: "POST",
      headers: { "content-type": "application/json" },
      agent: false,
    });
    const abort = () => {
      asked.destroy();
      reject(signal.reason);
    };
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    const forget = () => signal.removeEventListener("abort", abort);
    asked.once("error", (error) => {
      forget();
      reject(error);
    });
    asked.once("response", (answer) => {
      answer.once("close", () => {
        forget();
        isDone();
      });
      resolve(toAnswer(answer));
    });
    asked.end(JSON.stringify(body));
    return undefined;
  });
}

function toAnswer(answer: IncomingMessage): ProcessAnswer {
  async function* read(): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        const isCut = chunk.at(-1) === CUT_MARK;
        const text = isCut ? chunk.subarray(0, -1) : chunk;
        if (text.length > 0) yield text;
        if (isCut) throw new Error("The answer is cut; its last line says why.");
      }
      // A process that was killed leaves an answer without its end.
      if (!answer.complete) throw new Error("The data process ended in the middle of its answer.");
    } finally {
      answer.destroy();
    }
  }
  const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : [],
  );
  return { status: answer.statusCode ?? 0, headers: Object.fromEntries(headers), body: read() };
}
