import { createContext, type ReactNode, use } from "react";
import { type JsonSchema, type JsonValue, resolve } from "../../lib/json/json-schema.ts";
import { limitsOf } from "../../lib/json/schema-value.ts";

/** A place in a schema form. */
export interface SchemaFieldProps {
  /** Such as `values.revenue.op`; the empty path is the whole. */
  readonly path: string;
  readonly label: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  readonly value: JsonValue | undefined;
  readonly onChange: (value: JsonValue | undefined) => void;
  readonly depth: number;
}

export interface SchemaFormParts {
  /** Has the definitions that schemas within refer to. */
  readonly root: JsonSchema;
  readonly prefix: string;
  readonly custom: ((field: SchemaFieldProps) => ReactNode | undefined) | undefined;
}

export const SchemaFormContext = createContext<SchemaFormParts>({
  root: {},
  prefix: "",
  custom: undefined,
});

/** What a field of one value needs of its schema. */
export interface LeafProps {
  /** Its path in the whole form; the server's `param` marks it. */
  readonly name: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly value: JsonValue | undefined;
  readonly onChange: (value: JsonValue | undefined) => void;
  readonly isRequired: boolean;
  /** What an empty field stands for: null where something has to be sent and null may be, else nothing is sent. */
  readonly empty: null | undefined;
  /** What the receiver takes where nothing is sent. */
  readonly preset: JsonValue | undefined;
}

export function useLeaf(props: SchemaFieldProps, isNullable: boolean): LeafProps {
  const { root, prefix } = use(SchemaFormContext);
  const { path, label, schema, isRequired, value, onChange } = props;
  const { description, default: preset } = resolve(schema, root);
  const limits = limitsOf(schema, root).join(", ");
  const hints = [
    typeof description === "string" ? description.trim() : "",
    limits === "" ? "" : `${limits.charAt(0).toUpperCase()}${limits.slice(1)}.`,
  ].filter((text) => text !== "");
  return {
    name: `${prefix}${path}`,
    label: isRequired && path !== "" ? `${label} (required)` : label,
    hint: hints.length === 0 ? undefined : hints.join(" "),
    value,
    onChange,
    isRequired,
    empty: isRequired && isNullable ? null : undefined,
    preset: preset as JsonValue | undefined,
  };
}
