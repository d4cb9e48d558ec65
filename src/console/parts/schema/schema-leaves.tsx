import { use, useEffect, useRef, useState } from "react";
import type { JsonValue, Shape } from "../../lib/json/json-schema.ts";
import { lineOf, parseJson } from "../../lib/json/json-text.ts";
import { Checkbox } from "../../ui/forms/checkbox.tsx";
import { ComboboxField } from "../../ui/forms/combobox.tsx";
import { TextAreaField, TextField } from "../../ui/forms/field.tsx";
import { FormErrors } from "../../ui/forms/form-errors.ts";
import { NumberField } from "../../ui/forms/number-field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import { UnreadFields } from "../../ui/forms/unread-fields.ts";
import type { LeafProps } from "./schema-field.ts";

/** Fields of a schema form that hold one value. */

type Of<Kind extends Shape["kind"]> = { readonly shape: Shape & { readonly kind: Kind } };

/** From this many choices on they are found by typing. */
const MANY_CHOICES = 15;
const NOT_SET = "";

export function TextLeaf({
  shape,
  value,
  empty,
  preset,
  onChange,
  isRequired,
  ...field
}: LeafProps & Of<"text">) {
  const shared = {
    ...field,
    value: typeof value === "string" ? value : "",
    onChange: (text: string) =>
      onChange(text === "" && !(isRequired && empty === undefined) ? empty : text),
  };
  const placeholder = typeof preset === "string" ? preset : undefined;
  return shape.isShort ? (
    <TextField {...shared} placeholder={placeholder} spellCheck={false} />
  ) : (
    <TextAreaField {...shared} placeholder={placeholder} isGrowing />
  );
}

export function NumberLeaf({
  shape,
  value,
  empty,
  preset,
  onChange,
  isRequired,
  ...field
}: LeafProps & Of<"number">) {
  return (
    <NumberField
      {...field}
      value={typeof value === "number" ? value : null}
      onChange={(number) => onChange(number ?? empty)}
      {...(typeof preset === "number" && { placeholder: String(preset) })}
      // The receiver judges what is out of range; a field that corrects it would hide what was typed.
      min={Number.MIN_SAFE_INTEGER}
      step={shape.isInteger ? 1 : 0.1}
    />
  );
}

export function BooleanLeaf({ value, empty, preset, onChange, isRequired, ...field }: LeafProps) {
  const { name, label, hint } = field;
  // Without a default, "not sent" and "no" may differ.
  const isSimple = typeof preset === "boolean" || (isRequired && empty === undefined);
  if (isSimple) {
    return (
      <Checkbox
        {...{ name, label, hint, onChange }}
        isChecked={typeof value === "boolean" ? value : preset === true}
      />
    );
  }
  return (
    <SelectField
      {...field}
      value={typeof value === "boolean" ? String(value) : NOT_SET}
      onChange={(text) => onChange(text === NOT_SET ? empty : text === "true")}
      choices={[
        { value: NOT_SET, label: empty === null ? "null" : "Not set" },
        { value: "true", label: "true" },
        { value: "false", label: "false" },
      ]}
    />
  );
}

export function ChoiceLeaf({
  shape,
  value,
  empty,
  preset,
  onChange,
  isRequired,
  ...field
}: LeafProps & Of<"choice">) {
  const texts = shape.values.map((one) => JSON.stringify(one));
  const choices = shape.values.map((one) => ({
    value: JSON.stringify(one),
    label: typeof one === "string" && one !== "" ? one : JSON.stringify(one),
  }));
  const unset = preset === undefined ? "Not set" : `Not set: ${preset}`;
  const text = value === undefined || value === null ? NOT_SET : JSON.stringify(value);
  const choose = (chosen: string) =>
    onChange(chosen === NOT_SET ? empty : shape.values[texts.indexOf(chosen)]);
  if (choices.length >= MANY_CHOICES) {
    return (
      <ComboboxField
        {...field}
        value={text}
        onChange={choose}
        choices={choices}
        placeholder={unset}
      />
    );
  }
  return (
    <SelectField
      {...field}
      value={text}
      onChange={choose}
      choices={[{ value: NOT_SET, label: unset }, ...choices]}
    />
  );
}

/** A value of any form, as JSON. What is typed counts as soon as it is JSON. */
export function JsonLeaf({ value, empty, onChange, name, label, hint }: LeafProps) {
  const { errors } = use(FormErrors);
  const [text, setText] = useState(() => shown(value));
  const sent = useRef(shown(value));
  const now = shown(value);
  useEffect(() => {
    // Changed from elsewhere.
    if (now !== sent.current) setText(now);
    sent.current = now;
  }, [now]);
  const read = readOf(text);
  const isUnread = read.fault !== undefined;
  const countUnread = use(UnreadFields);
  useEffect(() => {
    if (!isUnread) return;
    countUnread(1);
    return () => countUnread(-1);
  }, [isUnread, countUnread]);
  const type = (typed: string) => {
    setText(typed);
    const { fault, value: given } = readOf(typed);
    if (fault !== undefined) return;
    const next = given === undefined ? empty : given;
    sent.current = shown(next);
    onChange(next);
  };
  return (
    <FormErrors value={{ errors: isUnread ? { ...errors, [name]: read.fault } : errors }}>
      <div data-unparsed={isUnread ? "" : undefined}>
        <TextAreaField
          {...{ name, label }}
          hint={hint === undefined ? "JSON" : `${hint} JSON.`}
          value={text}
          onChange={type}
          isCode
          isGrowing
        />
      </div>
    </FormErrors>
  );
}

function shown(value: JsonValue | undefined): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

interface Read {
  /** Undefined of an empty text, and of one that is no JSON. */
  readonly value?: JsonValue;
  readonly fault?: string;
}

/** Reads JSON as the whole definition is read: what a number would round is the text of its digits. */
function readOf(text: string): Read {
  if (text.trim() === "") return {};
  const parsed = parseJson(text);
  if ("root" in parsed) return { value: parsed.root.value };
  const { offset, message } = parsed.fault;
  return { fault: `This is no JSON, in line ${lineOf(text, offset)}: ${message}` };
}
