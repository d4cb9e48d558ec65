import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind, type FieldFault } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z
  .strictObject({
    fields: z
      .array(z.string())
      .min(1)
      .optional()
      .describe("The fields that are kept, in this order. A missing one is null. Default: all."),
    rename: z
      .record(z.string(), z.string().min(1))
      .default({})
      .describe(
        "New names, by the old ones. Without `fields`, a renamed field replaces another one that has its new name.",
      ),
  })
  .refine(({ fields, rename }) => fields !== undefined || Object.keys(rename).length > 0, {
    path: ["fields"],
    message: "Name `fields`, or `rename` some.",
  });

export const selectStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "select",
    group: "transform",
    label: "Choose fields",
    help: "Keeps some fields of each row and renames them.",
    example: { fields: ["id", "mail"], rename: { mail: "email" } },
    schema,
    check: async ({ fields, rename }) => sameNames(fields ?? Object.keys(rename), rename),
    async run(context) {
      await runProgram(rowProcess, context, "select");
      return undefined;
    },
  });

/** Two fields of the same new name: the later one would overwrite the other. Without `fields` only new names are known. */
function sameNames(
  fields: readonly string[],
  rename: Readonly<Record<string, string>>,
): readonly FieldFault[] {
  const newNames = new Map(Object.entries(rename));
  const oldNames = new Map<string, string>();
  for (const name of fields) {
    const newName = newNames.get(name) ?? name;
    const other = oldNames.get(newName) ?? name;
    oldNames.set(newName, other);
    if (other === name) continue;
    const message = `The fields '${other}' and '${name}' would both be named '${newName}'. Rename one of them to another name, or leave it out of 'fields'.`;
    return [{ field: "rename", message }];
  }
  return [];
}
