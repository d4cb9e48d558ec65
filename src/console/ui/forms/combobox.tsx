import { Combobox as Base } from "@base-ui/react/combobox";
import { Check, ChevronsUpDown } from "lucide-react";
import { classes } from "../classes.ts";
import { Field, type FieldProps } from "./field.tsx";
import type { Choice } from "./select.tsx";

interface ComboboxProps {
  /** The empty text is none. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly choices: readonly Choice[];
  /** Shown while nothing is chosen: "Any owner". */
  readonly placeholder: string;
  readonly label?: string;
  /** Called with what is typed, for choices that the server finds. */
  readonly onSearch?: (typed: string) => void;
  readonly isLoading?: boolean;
  readonly className?: string;
}

/** One of many choices, found by typing. Its input stands in the popup: elsewhere it would hide the page from readers. */
export function Combobox(props: ComboboxProps) {
  const { value, onChange, choices, placeholder, label, onSearch, isLoading, className } = props;
  const chosen =
    choices.find((choice) => choice.value === value) ??
    (value === "" ? null : { value, label: value });
  return (
    <Base.Root<Choice>
      items={choices}
      value={chosen}
      isItemEqualToValue={(left, right) => left.value === right.value}
      onValueChange={(next) => onChange(next?.value ?? "")}
      {...(onSearch && { onInputValueChange: onSearch, filter: null })}
    >
      <Base.Trigger
        aria-label={label === undefined ? undefined : `${label}: ${chosen?.label ?? placeholder}`}
        className={classes("control inline-flex items-center justify-between gap-2", className)}
      >
        <span className={classes("truncate", chosen === null && "text-muted")}>
          {chosen?.label ?? placeholder}
        </span>
        <ChevronsUpDown size={14} className="shrink-0 text-muted" aria-hidden />
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner className="z-50" sideOffset={4} align="start">
          <Base.Popup
            aria-label={label ?? placeholder}
            className="appear flex max-h-(--available-height) w-2xs max-w-(--available-width) flex-col rounded-lg border border-line bg-surface p-1 shadow-raised"
          >
            <Base.Input
              aria-label={`Search ${label ?? placeholder}`}
              placeholder="Type to search"
              className="control mb-1 shrink-0"
            />
            <Base.Empty>
              <p className="px-2 py-2 text-muted">{isLoading ? "Searching…" : "Nothing found"}</p>
            </Base.Empty>
            <div className="min-h-0 overflow-y-auto">
              {value !== "" && (
                <Base.Clear className="flex min-h-(--control) w-full items-center rounded-md px-2 text-muted hover:bg-sunken">
                  {placeholder}
                </Base.Clear>
              )}
              <Base.List>
                {(choice: Choice) => <Option key={choice.value} choice={choice} />}
              </Base.List>
            </div>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

function Option({ choice }: { readonly choice: Choice }) {
  return (
    <Base.Item
      value={choice}
      className="grid min-h-(--control) grid-cols-[16px_1fr] items-center gap-x-2 rounded-md px-2 py-1 outline-none data-[highlighted]:bg-accent-soft"
    >
      <Base.ItemIndicator>
        <Check size={14} aria-hidden />
      </Base.ItemIndicator>
      <span className="col-start-2 min-w-0 break-words">{choice.label}</span>
      {choice.hint !== undefined && (
        <span className="col-start-2 text-sm text-muted">{choice.hint}</span>
      )}
    </Base.Item>
  );
}

/** A labelled combobox. */
export function ComboboxField({
  name,
  label,
  hint,
  ...combobox
}: Omit<ComboboxProps, "label"> & Omit<FieldProps, "children">) {
  return (
    <Field name={name} label={label} hint={hint}>
      <Combobox {...combobox} label={label} className="w-full" />
    </Field>
  );
}
