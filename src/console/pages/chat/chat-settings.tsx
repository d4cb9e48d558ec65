import type { ChatDocument, ChatParameters } from "../../chat/chat-document.ts";
import type { LiveChat } from "../../chat/live-chat.ts";
import { TextAreaField, TextField } from "../../ui/forms/field.tsx";
import { Select, SelectField } from "../../ui/forms/select.tsx";

interface ChatSettingsProps {
  readonly chat: LiveChat;
  /** Its outline. */
  readonly document: ChatDocument;
}

const EFFORTS = ["", "none", "minimal", "low", "medium", "high"];
const NUMBERS = [
  { name: "temperature", label: "Temperature", hint: "0 to 2; empty is the model's own." },
  { name: "top_p", label: "Top p", hint: "0 to 1; empty is the model's own." },
  {
    name: "max_tokens",
    label: "Tokens of an answer",
    hint: "At most; empty is the model's own limit.",
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
      {NUMBERS.map(({ name, label, hint }) => (
        <TextField
          key={name}
          name={name}
          label={label}
          hint={hint}
          inputMode="decimal"
          value={parameters[name]?.toString() ?? ""}
          onChange={(text) =>
            chat.change((now) => ({ ...now, parameters: withNumber(now.parameters, name, text) }))
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
  text: string,
): ChatParameters {
  const { [name]: _before, ...rest } = parameters;
  const number = Number(text);
  return text.trim() === "" || !Number.isFinite(number) ? rest : { ...rest, [name]: number };
}
