import { z } from "zod";
import { defineStepKind } from "./step-kind.ts";

/** The rows of the trigger. They are the step's only input. */
export const inputStep = () =>
  defineStepKind({
    kind: "input",
    group: "source",
    label: "Rows of the trigger",
    help: "Passes on the rows that started the run: those of a webhook's body, or one for each event.",
    example: {},
    schema: z.strictObject({}),
    async run({ inputs, output }) {
      const main = output();
      for (const input of inputs) for await (const chunk of input.chunks()) await main.chunk(chunk);
      return undefined;
    },
  });
