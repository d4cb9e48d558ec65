import type { ChatEvent, Usage } from "../core/chat-event.ts";
import { ServiceError, toServiceError } from "../core/service-error.ts";
import { type MeteredCall, meter, meterFailure } from "./meter.ts";

/**
 * Writes the usage row of a call whose answer comes whole, and resolves with the answer once the row is safe. The row
 * of a failure is written too, and what its client is told is thrown: a `ServiceError`.
 */
export async function meteredAnswer<Answer>(
  call: MeteredCall,
  answering: Promise<Answer>,
  usageOf: (answer: Answer) => Usage,
): Promise<Answer> {
  let answer: Answer;
  try {
    answer = await answering;
  } catch (thrown) {
    return failMetered(call, thrown);
  }
  // To the meter it is a conversation of one batch.
  for await (const batch of meter(wholeAnswer(usageOf(answer)), call)) {
    const last = batch.at(-1);
    if (last?.type === "error") throw last.error;
  }
  return answer;
}

/** Writes the row of a call that failed before it was answered, and throws what its client is told. */
export async function failMetered(call: MeteredCall, thrown: unknown): Promise<never> {
  const { reason } = call.signal;
  // A call that the gateway itself ended says why; what the engine's side made of it is only an echo.
  const error = reason instanceof ServiceError ? reason : toServiceError(thrown);
  await meterFailure(call, error);
  throw error;
}

async function* wholeAnswer(usage: Usage): AsyncGenerator<readonly ChatEvent[]> {
  yield [{ type: "start" }, { type: "finish", reason: "stop", usage }];
}
