import { median, medianOf } from "./report.ts";
import { type Run, runOnce, type Scenario, streams } from "./scenarios.ts";
import type { Targets } from "./targets.ts";

/** Results for streams of the model server's own format and of another family, one after the other on the gateway. */
export interface Translation {
  readonly chat: readonly Run[];
  readonly messages: readonly Run[];
}

const STREAMS = 32;
const TOKENS = 128;

/**
 * Measures the cost of translating to another family with alternating bursts, so that drift of the machine affects both
 * alike.
 */
export async function measureTranslation(targets: Targets, quick: boolean): Promise<Translation> {
  const load = { streams: STREAMS, seconds: quick ? 2 : 6, tokens: TOKENS, intervalMs: 0 };
  const scenario = (family: "chat" | "messages"): Pick<Scenario, "load"> => ({
    load: (address) => streams(address, { ...load, family }),
  });
  const chat: Run[] = [];
  const messages: Run[] = [];
  for (let round = 0; round < (quick ? 2 : 4); round++) {
    chat.push(await runOnce(scenario("chat"), targets, "gateway"));
    messages.push(await runOnce(scenario("messages"), targets, "gateway"));
  }
  return { chat, messages };
}

/** Returns the tokens/s of the other family as a share of the own family's, each round against its own neighbour. */
export function translationRatio({ chat, messages }: Translation): number | undefined {
  return median(
    messages.flatMap((run, round) => {
      const other = chat[round];
      return other === undefined ? [] : [run.tokensPerS / other.tokensPerS];
    }),
  );
}

/** Builds the table of both families side by side. */
export function translationTable(translation: Translation): string {
  const rate = (runs: readonly Run[]) =>
    Math.round(medianOf(runs, (run) => run.tokensPerS) ?? Number.NaN).toLocaleString("en");
  const { chat, messages } = translation;
  const ratio = translationRatio(translation)?.toFixed(2);
  return `\nburst streams of ${TOKENS} tokens, ${STREAMS} at once, on the gateway\n  tokens/s: chat ${rate(chat)}, messages ${rate(messages)}, ratio ${ratio}`;
}
