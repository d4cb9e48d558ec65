import { estimateInputTokens } from "../backends/rules/estimate-input-tokens.ts";
import { fitOutput } from "../backends/rules/fit-output.ts";
import type { ChatEvents } from "../core/chat/chat-event.ts";
import { reserveRound } from "./admit.ts";
import { type ChatCall, callOptions, type Round, withBudget } from "./chat-call.ts";
import { fallBack } from "./fall-back.ts";

/**
 * Runs one round of an admitted call: fits the request to its model and to the rest of the reservation, calls the
 * model, and falls back to others when its server fails. It may be called any number of times for one call, but each
 * round must end before the next one begins (`meterRound`). Resolves before the first event is read. Rejects with a
 * `ServiceError`; the meter has then counted the round, and the call must still be closed.
 */
export async function askModel(call: ChatCall, round: Round): Promise<ChatEvents> {
  const { meter, reservation } = call;
  const { target } = round;
  const model = target.model.id;
  // The first round has the whole reservation, which was measured for it.
  const isMeasured = !meter.isOpen && round.isUnmeasured === undefined;
  round.budget = isMeasured ? reservation?.budget : await reserveRound(call, round);
  const { budget } = round;
  const request = withBudget(round);
  const options = callOptions(call, round);
  const fitting = fitOutput(request, target, options);
  const fitted =
    fitting instanceof Promise
      ? await fitting.catch(async (thrown: unknown) => {
          // The engine may already have received a request, so a call whose prompt is too long has a usage row too.
          await meter.begin({ model, inputTokens: estimateInputTokens(request), budget });
          throw thrown;
        })
      : fitting;
  // Most calls have nothing to wait for here.
  const beginning = meter.begin({ model, inputTokens: fitted.inputTokens, budget });
  if (beginning !== undefined) await beginning;
  try {
    return await target.backend.chat(fitted.request, target.model, options);
  } catch (thrown) {
    return fallBack(call, round, thrown);
  }
}
