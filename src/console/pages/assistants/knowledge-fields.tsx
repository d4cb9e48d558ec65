import { useEffect } from "react";
import { useVectorStores } from "../../api/queries/vector-stores.ts";
import { TextAreaField } from "../../ui/forms/field.tsx";
import { NumberField } from "../../ui/forms/number-field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import type { PartProps } from "./assistant-draft.ts";
import { NamesField } from "./names-field.tsx";

const GROUNDINGS = [
  { value: "", label: "As the server is set" },
  { value: "off", label: "Off: passages are added, nothing is asked of the model" },
  { value: "prefer", label: "Prefer: cite passages, and say what is not from them" },
  { value: "strict", label: "Strict: answer from passages and tools only" },
] as const;
const MAX_STORES = 20;

/** What an assistant answers from. */
export function KnowledgeFields({ draft, set }: PartProps) {
  const list = useVectorStores();
  const { hasMore, more } = list;
  useEffect(() => {
    // All of them are looked through as one types, and a chosen one has its name.
    if (hasMore) more();
  }, [hasMore, more]);
  const choices = list.rows.map(({ id, name, ext }) => ({
    value: id,
    label: name === "" ? id : name,
    hint: ext.embedding_model,
  }));
  return (
    <>
      <NamesField
        name="tool_resources.file_search.vector_store_ids"
        label="Vector stores"
        placeholder="Add a store"
        hint={
          <>
            At most {MAX_STORES}. <Link to="/knowledge">All stores</Link>
          </>
        }
        values={draft.stores}
        choices={choices}
        onChange={(stores) => set({ stores })}
      />
      <SelectField
        name="ext.grounding"
        label="Grounding"
        value={draft.grounding}
        onChange={(grounding) => set({ grounding })}
        choices={GROUNDINGS}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <NumberField
          name="ext.top_k"
          label="Passages of a question"
          placeholder="as the server is set"
          min={1}
          max={50}
          value={draft.topK}
          onChange={(topK) => set({ topK })}
        />
        <NumberField
          name="ext.min_similarity"
          label="Least score of a passage"
          placeholder="as the server is set"
          max={1}
          step={0.05}
          value={draft.minSimilarity}
          onChange={(minSimilarity) => set({ minSimilarity })}
        />
      </div>
      {draft.grounding === "strict" && (
        <TextAreaField
          name="ext.no_answer_text"
          label="The answer when nothing is found"
          hint="Empty is the server's own."
          rows={2}
          value={draft.noAnswerText}
          onChange={(noAnswerText) => set({ noAnswerText })}
        />
      )}
    </>
  );
}
