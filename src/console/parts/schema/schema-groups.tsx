import { Plus, X } from "lucide-react";
import { type ReactNode, use, useEffect, useRef, useState } from "react";
import { isObject, type JsonValue, type Shape } from "../../lib/json/json-schema.ts";
import { pathOfField, pathOfItem } from "../../lib/json/schema-path.ts";
import { initialValue } from "../../lib/json/schema-value.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { FormErrors } from "../../ui/forms/form-errors.ts";
import { type LeafProps, type SchemaFieldProps, SchemaFormContext } from "./schema-field.ts";

/** Fields of a schema form that hold others. */

interface GroupProps {
  readonly leaf: LeafProps;
  readonly isThere: boolean;
  readonly onAdd?: () => void;
  /** Undefined for what has to stay. */
  readonly onRemove?: (() => void) | undefined;
  readonly children: ReactNode;
}

/** What belongs together, with its name, its hint and its fault. */
export function Group({ leaf, isThere, onAdd, onRemove, children }: GroupProps) {
  const { name, label, hint } = leaf;
  const error = use(FormErrors).errors[name];
  return (
    <fieldset data-field={name} className="grid min-w-0 gap-3 border-l-2 border-line pl-3">
      <legend className="contents">
        <span className="-ml-3 font-medium break-words">{label}</span>
      </legend>
      {hint !== undefined && <p className="text-sm text-muted">{hint}</p>}
      {error !== undefined && <p className="text-sm font-medium text-bad">{error}</p>}
      {isThere && children}
      {!isThere && onAdd !== undefined && (
        <div>
          <Button onClick={onAdd}>
            <Plus size={16} aria-hidden />
            Add {label}
          </Button>
        </div>
      )}
      {isThere && onRemove !== undefined && (
        <div>
          <Button look="quiet" onClick={onRemove}>
            <X size={16} aria-hidden />
            Remove {label}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

type HolderProps<Kind extends Shape["kind"]> = SchemaFieldProps & {
  readonly leaf: LeafProps;
  readonly shape: Shape & { readonly kind: Kind };
  /** Makes the field of a value within. */
  readonly render: (props: SchemaFieldProps) => ReactNode;
};

export function ListFields({ leaf, shape, render, ...props }: HolderProps<"list">) {
  const { root } = use(SchemaFormContext);
  const { path, label, value, onChange, isRequired, depth } = props;
  const items = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
  const keys = useRowKeys(items.length);
  const set = (next: readonly JsonValue[]) =>
    onChange(next.length === 0 && !isRequired ? undefined : next);
  return (
    <Group leaf={leaf} isThere>
      {items.map((item, index) => (
        <Row
          key={keys.of[index]}
          label={`Remove ${label} ${index + 1}`}
          onRemove={() => {
            keys.remove(index);
            set(items.filter((_, place) => place !== index));
          }}
        >
          {render({
            path: pathOfItem(path, index),
            label: `${label} ${index + 1}`,
            schema: shape.item,
            isRequired: true,
            value: item,
            onChange: (next) => set(items.with(index, next ?? null)),
            depth: depth + 1,
          })}
        </Row>
      ))}
      {items.length < shape.most && (
        <div>
          <Button onClick={() => set([...items, initialValue(shape.item, root) ?? null])}>
            <Plus size={16} aria-hidden />
            Add to {label}
          </Button>
        </div>
      )}
    </Group>
  );
}

/** Values by names that are typed, too. */
export function MapFields({ leaf, shape, render, ...props }: HolderProps<"map">) {
  const { root } = use(SchemaFormContext);
  const { path, label, value, onChange, isRequired, depth } = props;
  const [entries, setEntries] = useState(() => entriesOf(value));
  const sent = useRef(JSON.stringify(value));
  const keys = useRowKeys(entries.length);
  const now = JSON.stringify(value);
  useEffect(() => {
    // Changed from elsewhere.
    if (now !== sent.current) setEntries(entriesOf(now === undefined ? {} : JSON.parse(now)));
    sent.current = now;
  }, [now]);
  const set = (next: ReadonlyArray<readonly [string, JsonValue]>) => {
    // Two entries may have one name while it is typed: the later one counts.
    const made = Object.fromEntries(next);
    const given = next.length === 0 && !isRequired ? undefined : made;
    sent.current = JSON.stringify(given);
    setEntries(next);
    onChange(given);
  };
  return (
    <Group leaf={leaf} isThere>
      {entries.map(([name, item], index) => (
        <Row
          key={keys.of[index]}
          label={`Remove ${label} ${name || index + 1}`}
          onRemove={() => {
            keys.remove(index);
            set(entries.filter((_, place) => place !== index));
          }}
        >
          <TextField
            name={`${leaf.name}#${index}`}
            label={`Name ${index + 1} of ${label}`}
            value={name}
            onChange={(next) => set(entries.with(index, [next, item]))}
            spellCheck={false}
          />
          {render({
            path: pathOfField(path, name),
            label: name === "" ? `Value ${index + 1}` : name,
            schema: shape.value,
            isRequired: true,
            value: item,
            onChange: (next) => set(entries.with(index, [name, next ?? null])),
            depth: depth + 1,
          })}
        </Row>
      ))}
      <div>
        <Button onClick={() => set([...entries, ["", initialValue(shape.value, root) ?? null]])}>
          <Plus size={16} aria-hidden />
          Add to {label}
        </Button>
      </div>
    </Group>
  );
}

function entriesOf(value: JsonValue | undefined): ReadonlyArray<readonly [string, JsonValue]> {
  return isObject(value) ? Object.entries(value as Readonly<Record<string, JsonValue>>) : [];
}

function Row(props: {
  readonly label: string;
  readonly onRemove: () => void;
  readonly children: ReactNode;
}) {
  return (
    <div className="flex min-w-0 items-start gap-2">
      <div className="grid min-w-0 flex-1 gap-2">{props.children}</div>
      <IconButton icon={X} label={props.label} isPlain onClick={props.onRemove} />
    </div>
  );
}

/** Keys that stay with their rows while rows before them go. */
function useRowKeys(count: number) {
  const keys = useRef<number[]>([]);
  const next = useRef(0);
  while (keys.current.length < count) keys.current.push(next.current++);
  keys.current.length = count;
  return { of: keys.current, remove: (index: number) => void keys.current.splice(index, 1) };
}
