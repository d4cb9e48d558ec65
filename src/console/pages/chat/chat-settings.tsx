import type { ChatDocument, ChatParameters } from "../../chat/chat-document.ts";
import type { LiveChat } from "../../chat/live-chat.ts";
import { TextAreaField } from "../../ui/forms/field.tsx";
import { NumberField } from "../../ui/forms/number-field.tsx";
import { Select, SelectField } from "../../ui/forms/select.tsx";

interface ChatSettingsProps {
  readonly chat: LiveChat;
  /** Its outline. */
  readonly document: ChatDocument;
}

const EFFORTS = ["", "none", "minimal", "low", "medium", "high"];
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

/** How the model answers, on small screens with its effort, which elsewhere stands in the head. */
export function ChatSettings({
  chat,
  document,
  hasEffort,
}: ChatSettingsProps & { readonly hasEffort: boolean }) {
  const { parameters, system } = document;
  return (
    <div className="grid gap-4">
      {hasEffort && (
        <SelectField
          name="effort"
          label="Effort"
          {...effortOf(chat, document)}
          choices={EFFORTS.map((value) => ({ value, label: value || "default" }))}
        />
      )}
      <TextAreaField
        name="system"
        label="System prompt"
        rows={6}
        value={system}
        onChange={(text) => chat.change((now) => ({ ...now, system: text }))}
      />
      {NUMBERS.map((field) => (
        <NumberField
          key={field.name}
          {...field}
          value={parameters[field.name] ?? null}
          onChange={(number) =>
            chat.change((now) => ({
              ...now,
              parameters: withNumber(now.parameters, field.name, number),
            }))
          }
        />
      ))}
    </div>
  );
}

/** How long the model thinks. */
export function EffortSelect({ chat, document }: ChatSettingsProps) {
  return (
    <Select
      label="Effort"
      {...effortOf(chat, document)}
      choices={EFFORTS.map((value) => ({ value, label: `Effort: ${value || "default"}` }))}
    />
  );
}

function effortOf(chat: LiveChat, { parameters }: ChatDocument) {
  return {
    value: parameters.effort ?? "",
    onChange: (effort: string) =>
      chat.change((now) => ({ ...now, parameters: withEffort(now.parameters, effort) })),
  };
}

function withEffort({ effort: _before, ...rest }: ChatParameters, effort: string): ChatParameters {
  return effort === "" ? rest : { ...rest, effort };
}

function withNumber(
  parameters: ChatParameters,
  name: (typeof NUMBERS)[number]["name"],
  number: number | null,
): ChatParameters {
  const { [name]: _before, ...rest } = parameters;
  return number === null ? rest : { ...rest, [name]: number };
}
