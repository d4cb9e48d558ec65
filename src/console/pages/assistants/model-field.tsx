import { useModels } from "../../api/queries/models.ts";
import { ComboboxField } from "../../ui/forms/combobox.tsx";

interface ModelFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The model that answers for an assistant. */
export function ModelField({ value, onChange }: ModelFieldProps) {
  const models = useModels();
  const choices = (models.data ?? [])
    .filter(({ kind }) => kind === "chat")
    .map(({ id, name, hint }) => ({ value: id, label: name, hint }));
  return (
    <ComboboxField
      name="model"
      label="Model"
      placeholder="The server's default"
      value={value}
      choices={choices}
      onChange={onChange}
      isLoading={models.isPending}
    />
  );
}
