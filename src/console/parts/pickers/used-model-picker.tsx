import { useUsedModels } from "../../api/queries/usage.ts";
import { Combobox } from "../../ui/forms/combobox.tsx";

interface UsedModelPickerProps {
  /** A model's name, or the empty text. */
  readonly value: string;
  readonly onChange: (model: string) => void;
}

/** Chooses a model by what was called lately: models that are gone have usage still. */
export function UsedModelPicker({ value, onChange }: UsedModelPickerProps) {
  const { data = [], isFetching } = useUsedModels();
  return (
    <Combobox
      label="Model"
      placeholder="Any model"
      value={value}
      onChange={onChange}
      choices={data.map((model) => ({ value: model, label: model }))}
      isLoading={isFetching}
    />
  );
}
