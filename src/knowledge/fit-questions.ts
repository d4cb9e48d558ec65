import { halveRefused, isTooMuch } from "./halve-refused.ts";
import { cutToLength } from "./retrieve/cut-question.ts";

const MODELS_MAX = 64;
/** Then a longer text is tried again, because the same number of characters is more tokens in one script than in another. */
const USES_MAX = 16;

interface Fitting {
  /** In characters. */
  readonly length: number;
  uses: number;
}

/**
 * Embeds a question, and of one that is longer than the model reads its beginning and end. Rejects with the first refusal
 * when the model takes it in no length, and otherwise as `embed` does.
 */
export type FitQuestion = <Result>(
  question: { readonly model: string; readonly text: string },
  embed: (text: string) => Promise<Result>,
) => Promise<Result>;

/** Creates the memory of what models read, so that most long questions are not refused first. */
export function createQuestionFitter(): FitQuestion {
  const fitting = new Map<string, Fitting>();
  const fitted = (model: string, text: string) => {
    const known = fitting.get(model);
    if (known === undefined || text.length <= known.length) return text;
    known.uses += 1;
    if (known.uses >= USES_MAX) fitting.delete(model);
    return cutToLength(text, known.length);
  };
  const remember = (model: string, length: number) => {
    fitting.delete(model);
    fitting.set(model, { length, uses: 0 });
    const [oldest] = fitting.keys();
    if (fitting.size > MODELS_MAX && oldest !== undefined) fitting.delete(oldest);
  };
  return async ({ model, text: question }, embed) => {
    let text = fitted(model, question);
    let refusal: unknown;
    for (;;) {
      try {
        const embedded = await embed(text);
        if (refusal !== undefined) remember(model, text.length);
        return embedded;
      } catch (thrown) {
        if (!isTooMuch(thrown)) throw thrown;
        refusal ??= thrown;
        text = cutToLength(text, halveRefused(text, refusal));
      }
    }
  };
}
