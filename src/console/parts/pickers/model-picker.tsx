import { useModels } from "../../api/queries/models.ts";
import { Combobox } from "../../ui/forms/combobox.tsx";

interface ModelPickerProps {
  /** A model's or assistant's id, or the empty text. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  readonly label?: string;
  /** Shown where none is chosen. */
  readonly placeholder?: string;
  readonly className?: string;
}

/** Chooses a chat model or an assistant by name. */
export function ModelPicker(props: ModelPickerProps) {
  const { label = "Model", placeholder = "Choose a model", ...rest } = props;
  const models = useModels();
  const choices = (models.data ?? []).map(({ id, name, hint }) => ({
    value: id,
    label: name,
    hint,
  }));
  return (
    <Combobox
      {...rest}
      label={label}
      placeholder={placeholder}
      choices={choices}
      isLoading={models.isFetching}
    />
  );
}
