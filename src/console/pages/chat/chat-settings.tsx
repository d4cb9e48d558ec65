import { Suspense } from "react";
import type { ChatDocument, ChatParameters } from "../../chat/chat-document.ts";
import type { LiveChat } from "../../chat/live-chat.ts";
import { EFFORTS } from "../../lib/efforts.ts";
import { TextAreaField } from "../../ui/forms/field.tsx";
import { type Choice, Select, SelectField } from "../../ui/forms/select.tsx";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";

// The page would be too large with it.
const NumberParameters = lazyPart(
  async () => (await import("./number-parameters.tsx")).NumberParameters,
);

interface ChatSettingsProps {
  readonly chat: LiveChat;
  /** Its outline. */
  readonly document: ChatDocument;
}

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
          choices={choicesOf("")}
        />
      )}
      <TextAreaField
        name="system"
        label="System prompt"
        rows={6}
        value={system}
        onChange={(text) => chat.change((now) => ({ ...now, system: text }))}
      />
      <Suspense fallback={<Skeleton shape="lines" label="More parameters are loading" />}>
        <NumberParameters
          parameters={parameters}
          onChange={(change) =>
            chat.change((now) => ({ ...now, parameters: change(now.parameters) }))
          }
        />
      </Suspense>
    </div>
  );
}

/** How long the model thinks. */
export function EffortSelect({
  chat,
  document,
  onSet,
}: ChatSettingsProps & { readonly onSet: () => void }) {
  const { value, onChange } = effortOf(chat, document);
  return (
    <Select
      label="Effort"
      value={value}
      onChange={(effort) => {
        onChange(effort);
        onSet();
      }}
      choices={choicesOf("Effort: ")}
    />
  );
}

function choicesOf(before: string): ReadonlyArray<Choice> {
  return EFFORTS.map((value) => ({ value, label: `${before}${value || "default"}` }));
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
