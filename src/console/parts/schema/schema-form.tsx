import { Braces, ListTree } from "lucide-react";
import { type ReactNode, use, useMemo, useState } from "react";
import {
  isObject,
  type JsonSchema,
  type JsonValue,
  resolve,
  type Shape,
  shapeOf,
} from "../../lib/json/json-schema.ts";
import { pathOfField, shownPath } from "../../lib/json/schema-path.ts";
import {
  fieldIn,
  initialValue,
  isOfShape,
  variantOf,
  withField,
} from "../../lib/json/schema-value.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { FormErrors } from "../../ui/forms/form-errors.ts";
import { Select } from "../../ui/forms/select.tsx";
import {
  type LeafProps,
  type SchemaFieldProps,
  SchemaFormContext,
  useLeaf,
} from "./schema-field.ts";
import { Group, ListFields, MapFields } from "./schema-groups.tsx";
import { BooleanLeaf, ChoiceLeaf, JsonLeaf, NumberLeaf, TextLeaf } from "./schema-leaves.tsx";

interface SchemaFormProps {
  /** A JSON Schema; its `$defs` are found from here. */
  readonly schema: JsonSchema;
  readonly value: JsonValue | undefined;
  readonly onChange: (value: JsonValue | undefined) => void;
  /** What is wrong, by path: `labels`, `values.revenue.op`, `by[0]`; the empty path is the whole. */
  readonly faults?: Readonly<Record<string, string>>;
  /** What the whole is called where it is one field: "Arguments". */
  readonly label: string;
  /** Stands before the paths in the names of fields, where a page has several forms. */
  readonly prefix?: string;
  /** Makes a field of its own kind, such as an editor; undefined leaves it to the form. */
  readonly custom?: (field: SchemaFieldProps) => ReactNode | undefined;
  /** Leaves out the switch to JSON, where the page has one. */
  readonly hasNoJson?: boolean;
}

const MAX_DEPTH = 8;

/**
 * A form made from a JSON Schema. Fields that are left empty are not sent; what has no simple field is JSON, and the
 * whole can be edited as JSON. It judges nothing but JSON: the receiver does, and its faults mark the fields.
 */
export function SchemaForm(props: SchemaFormProps) {
  const { schema, value, onChange, faults = {}, label, prefix = "", custom, hasNoJson } = props;
  const [isJson, setJson] = useState(false);
  const outer = use(FormErrors).errors;
  const parts = useMemo(() => ({ root: schema, prefix, custom }), [schema, prefix, custom]);
  const placed = Object.entries(faults).map(
    ([path, text]) => [isJson ? "" : shownPath(path, { schema, value }), text] as const,
  );
  const own = Object.fromEntries(placed.map(([path, text]) => [`${prefix}${path}`, text]));
  const whole = placed.find(([path]) => path === "")?.[1];
  const root = { path: "", label, schema, isRequired: true, value, onChange, depth: 0 };
  const isForm =
    shapeOf(schema, schema).kind === "object" && (value === undefined || isObject(value));
  return (
    <SchemaFormContext value={parts}>
      <FormErrors value={{ errors: { ...outer, ...own } }}>
        <div className="grid gap-4">
          {isForm && whole !== undefined && !isJson && (
            <p role="alert" className="font-medium text-bad">
              {whole}
            </p>
          )}
          {isForm && !isJson ? <RootFields {...root} /> : <Json {...root} />}
          {isForm && hasNoJson !== true && (
            <div>
              <Button look="quiet" onClick={() => setJson(!isJson)}>
                {isJson ? <ListTree size={16} aria-hidden /> : <Braces size={16} aria-hidden />}
                {isJson ? "Edit as form" : "Edit as JSON"}
              </Button>
            </div>
          )}
        </div>
      </FormErrors>
    </SchemaFormContext>
  );
}

function RootFields(props: SchemaFieldProps) {
  const shape = shapeOf(props.schema, props.schema);
  if (shape.kind !== "object") return null;
  if (shape.fields.length === 0) return <p className="text-muted">It takes nothing.</p>;
  return <Fields {...props} shape={shape} />;
}

/** The fields of an object, and the names of what it has beside them. */
function Fields({ shape, path, value, onChange, depth }: SchemaFieldProps & Of<"object">) {
  const known = new Set(shape.fields.map(({ name }) => name));
  const others = isObject(value) ? Object.keys(value).filter((name) => !known.has(name)) : [];
  return (
    <>
      {shape.fields.map(({ name, schema, isRequired }) => (
        <Field
          key={name}
          path={pathOfField(path, name)}
          label={name}
          schema={schema}
          isRequired={isRequired}
          value={fieldIn(value, name)}
          onChange={(field) => onChange(withField(value, name, field))}
          depth={depth + 1}
        />
      ))}
      {others.length > 0 && (
        <p className="break-words text-sm text-muted">Only in the JSON: {others.join(", ")}</p>
      )}
    </>
  );
}

type Of<Kind extends Shape["kind"]> = { readonly shape: Shape & { readonly kind: Kind } };

/** A field of any schema. */
function Field(props: SchemaFieldProps) {
  const { root, custom } = use(SchemaFormContext);
  const made = custom?.(props);
  if (made !== undefined) return made;
  const shape = shapeOf(props.schema, root);
  const isOdd = props.value !== undefined && !isOfShape(props.value, shape);
  if (isOdd || props.depth > MAX_DEPTH) return <Json {...props} />;
  return <Shaped {...props} shape={shape} />;
}

function Shaped({ shape, ...props }: SchemaFieldProps & { readonly shape: Shape }) {
  const leaf = useLeaf(props, shape.isNullable);
  switch (shape.kind) {
    case "text":
      return <TextLeaf {...leaf} shape={shape} />;
    case "number":
      return <NumberLeaf {...leaf} shape={shape} />;
    case "boolean":
      return <BooleanLeaf {...leaf} />;
    case "choice":
      return <ChoiceLeaf {...leaf} shape={shape} />;
    case "list":
      return <ListFields {...props} leaf={leaf} shape={shape} render={render} />;
    case "map":
      return <MapFields {...props} leaf={leaf} shape={shape} render={render} />;
    case "object":
      return <ObjectFields {...props} shape={shape} leaf={leaf} />;
    case "variants":
      return <Variants {...props} shape={shape} leaf={leaf} />;
    case "json":
      return <JsonLeaf {...leaf} />;
  }
}

function render(props: SchemaFieldProps): ReactNode {
  return <Field key={props.path} {...props} />;
}

function Json(props: SchemaFieldProps) {
  return <JsonLeaf {...useLeaf(props, false)} />;
}

/** An object that may be left out is added by a button, which also ends schemas that hold themselves. */
function ObjectFields({
  leaf,
  ...props
}: SchemaFieldProps & Of<"object"> & { readonly leaf: LeafProps }) {
  const { root } = use(SchemaFormContext);
  const { value, onChange, schema, isRequired } = props;
  const isThere = isObject(value);
  return (
    <Group
      leaf={leaf}
      isThere={isThere}
      onAdd={() => onChange(initialValue(schema, root) ?? {})}
      onRemove={isRequired ? undefined : () => onChange(undefined)}
    >
      <Fields {...props} />
    </Group>
  );
}

/** Alternatives: which one, and its field. */
function Variants({
  leaf,
  shape,
  ...props
}: SchemaFieldProps & Of<"variants"> & { readonly leaf: LeafProps }) {
  const { root } = use(SchemaFormContext);
  const { value, onChange, path, label } = props;
  const [chosen, setChosen] = useState<number>();
  const fitting = variantOf(value, shape.variants, root);
  const index = value === undefined ? (chosen ?? 0) : fitting;
  const variant = shape.variants[chosen ?? index] ?? {};
  const choices = shape.variants.map((one, place) => ({
    value: String(place),
    label: nameOfVariant(one, root, place),
  }));
  return (
    <Group leaf={leaf} isThere>
      <Select
        label={`Form of ${label}`}
        value={String(chosen ?? index)}
        onChange={(next) => {
          setChosen(Number(next));
          onChange(initialValue(shape.variants[Number(next)] ?? {}, root));
        }}
        choices={choices}
      />
      <Field
        {...props}
        key={chosen ?? index}
        path={path}
        schema={variant}
        depth={props.depth + 1}
      />
    </Group>
  );
}

function nameOfVariant(schema: JsonSchema, root: JsonSchema, place: number): string {
  const { title, type } = resolve(schema, root);
  if (typeof title === "string") return title;
  const { kind } = shapeOf(schema, root);
  if (kind === "json") return typeof type === "string" ? type : `Form ${place + 1}`;
  return { choice: "one of a list", map: "names and values" }[kind as string] ?? kind;
}
