import { isObject, type JsonValue } from "./json/json-schema.ts";

/** The steps of a definition and what they read from each other, as the server connects them. */

export interface FlowSource {
  readonly step: string;
  /** `main`, or a named output such as `else`. */
  readonly output: string;
}

export interface FlowStep {
  /** The empty text where the definition gives none. */
  readonly id: string;
  readonly kind: string;
  /** Its place in the list. */
  readonly at: number;
  /** Undefined: it reads from the step above. */
  readonly from: readonly string[] | undefined;
  /** What it reads from, in order. */
  readonly inputs: readonly FlowSource[];
  readonly routesErrors: boolean;
}

export const MAIN = "main";
const ERRORS = "errors";

/** Reads the steps of a definition as far as they can be read. */
export function readSteps(steps: JsonValue | undefined): readonly FlowStep[] {
  const read: FlowStep[] = [];
  if (!Array.isArray(steps)) return read;
  for (const [at, value] of (steps as readonly JsonValue[]).entries()) {
    const fields = isObject(value) ? value : {};
    const from = readFrom(fields["from"]);
    const above = read.at(-1);
    const sources = from ?? (above === undefined || above.id === "" ? [] : [above.id]);
    read.push({
      id: textOf(fields["id"]),
      kind: textOf(fields["kind"]),
      at,
      from,
      inputs: sources.map(splitSource),
      routesErrors: fields["on_row_error"] === "route",
    });
  }
  return read;
}

/** Splits `check.else`. */
export function splitSource(source: string): FlowSource {
  const dot = source.indexOf(".");
  return dot === -1
    ? { step: source, output: MAIN }
    : { step: source.slice(0, dot), output: source.slice(dot + 1) };
}

export function joinSource({ step, output }: FlowSource): string {
  return output === MAIN ? step : `${step}.${output}`;
}

/** How the test of a step, SQL and joins name an input. */
export function inputName({ step, output }: FlowSource): string {
  return output === MAIN ? step : `${step}_${output}`;
}

/** The names of a step's outputs: those of its kind, those that others read, and `errors` where it routes them. */
export function outputsOf(
  step: FlowStep,
  steps: readonly FlowStep[],
  ofKind: readonly string[],
): readonly string[] {
  const read = steps
    .flatMap(({ inputs }) => inputs)
    .filter((source) => source.step === step.id)
    .map(({ output }) => output);
  return [...new Set([MAIN, ...ofKind, ...(step.routesErrors ? [ERRORS] : []), ...read])];
}

/** Returns `classify`, or `classify_2` where that is taken. */
export function freeId(wanted: string, steps: readonly FlowStep[]): string {
  const taken = new Set(steps.map(({ id }) => id));
  let id = wanted;
  for (let number = 2; taken.has(id); number += 1) id = `${wanted}_${number}`;
  return id;
}

/** What a step would read from by itself. */
export function inputsByPlace(steps: readonly FlowStep[], at: number): readonly string[] {
  const above = steps[at - 1]?.id ?? "";
  return above === "" ? [] : [above];
}

function readFrom(from: unknown): readonly string[] | undefined {
  if (typeof from === "string") return [from];
  if (!Array.isArray(from)) return undefined;
  return from.filter((source): source is string => typeof source === "string");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
