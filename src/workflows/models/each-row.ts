import type { RowWork, StepContext } from "../steps/step-kind.ts";
import type { StepServices } from "../steps/step-services.ts";
import { StepRefusal } from "./to-step-failure.ts";

/** One row with its texts, as `eachRow` passes it on. */
export type RowItem = Parameters<RowWork["work"]>[0];

export interface TextWork {
  readonly concurrency: number;
  /** Texts with `{{ }}` that are rendered for each row, by name. Undefined ones are left out. */
  readonly texts: Readonly<Record<string, string | undefined>>;
  readonly work: (
    item: RowItem,
    texts: Readonly<Record<string, string>>,
  ) => ReturnType<RowWork["work"]>;
}

/**
 * Renders texts for each row and works on it. What no other row would be spared ends the step, whatever `on_row_error`
 * says. Rejects with a `StepFailure`, or with the signal's reason.
 */
export async function eachRowWithTexts(
  { rowProcess }: Pick<StepServices, "rowProcess">,
  context: StepContext<object>,
  { concurrency, texts, work }: TextWork,
): Promise<void> {
  const given = Object.entries(texts).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const templates = Object.fromEntries(
    given.map(([name, text]) => [name, { kind: "text", text } as const]),
  );
  try {
    await context.eachRow({
      concurrency,
      async prepare(rows, signal) {
        return rowProcess.evaluate(templates, rows, context.scope, signal);
      },
      async work(item) {
        try {
          return await work(item, textsOf(item.prepared));
        } catch (thrown) {
          throw thrown instanceof StepRefusal ? new AllRowsRefused(thrown) : thrown;
        }
      },
    });
  } catch (thrown) {
    throw thrown instanceof AllRowsRefused ? thrown.refusal : thrown;
  }
}

/** No `StepFailure`, because that would be an error of its row alone. */
class AllRowsRefused extends Error {
  override readonly name = "AllRowsRefused";
  readonly refusal: StepRefusal;

  constructor(refusal: StepRefusal) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
  }
}

function textsOf(prepared: unknown): Readonly<Record<string, string>> {
  return (prepared as { readonly values: Readonly<Record<string, string>> }).values;
}
