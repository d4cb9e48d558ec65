import type { ChatParameters } from "../../chat/chat-document.ts";
import { NumberField } from "../../ui/forms/number-field.tsx";

const NUMBERS = [
  {
    name: "temperature",
    label: "Temperature",
    hint: "0 to 2; empty is the model's own.",
    max: 2,
    step: 0.1,
  },
  {
    name: "top_p",
    label: "Top p",
    hint: "0 to 1; empty is the model's own.",
    max: 1,
    step: 0.05,
  },
  {
    name: "max_tokens",
    label: "Tokens of an answer",
    hint: "At most; empty is the model's own limit.",
    min: 1,
  },
] as const;

interface NumberParametersProps {
  readonly parameters: ChatParameters;
  readonly onChange: (change: (now: ChatParameters) => ChatParameters) => void;
}

/** The numbers that are sent with each question; an empty one is not. */
export function NumberParameters({ parameters, onChange }: NumberParametersProps) {
  return NUMBERS.map((field) => (
    <NumberField
      key={field.name}
      {...field}
      value={parameters[field.name] ?? null}
      onChange={(number) => onChange((now) => withNumber(now, field.name, number))}
    />
  ));
}

function withNumber(
  parameters: ChatParameters,
  name: (typeof NUMBERS)[number]["name"],
  number: number | null,
): ChatParameters {
  const { [name]: _before, ...rest } = parameters;
  return number === null ? rest : { ...rest, [name]: number };
}
