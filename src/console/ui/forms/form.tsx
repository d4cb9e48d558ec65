import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { ApiError } from "../../api/errors.ts";
import { Button } from "../buttons/button.tsx";
import { ErrorCard } from "../status/error-card.tsx";
import { FormErrors } from "./form-errors.ts";
import { focusUnread } from "./unread-fields.ts";

interface FormProps {
  /** Sends the form. What it rejects with is shown: at the field that `param` names, else above the buttons. */
  readonly onSubmit: () => Promise<unknown>;
  /** The button's verb with its object. */
  readonly action: string;
  readonly look?: "primary" | "danger";
  readonly onCancel?: () => void;
  readonly disabledReason?: string | undefined;
  readonly children: ReactNode;
}

interface Failure {
  readonly error: unknown;
  /** The field that it marks. */
  readonly field: string | undefined;
}

/**
 * A form: it sends once however often it is asked, keeps what was typed when it fails, marks the field that the server
 * names and goes there.
 */
export function Form({ onSubmit, action, look, onCancel, disabledReason, children }: FormProps) {
  const [failure, setFailure] = useState<Failure>();
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const isSending = useRef(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    if (isSending.current || disabledReason !== undefined) return;
    // A field whose text cannot be read says so itself; without it something else would be sent than is shown.
    if (focusUnread(form.current)) return;
    // A time of which a part is missing is the empty text to scripts.
    const time = form.current?.querySelector<HTMLInputElement>("[type=datetime-local]:invalid");
    if (time?.validity.badInput) {
      return setFailure({ error: new Error("This is not a whole time yet."), field: time.name });
    }
    isSending.current = true;
    setBusy(true);
    setFailure(undefined);
    try {
      await onSubmit();
    } catch (error) {
      setFailure({ error, field: fieldOf(error, form.current) });
    } finally {
      isSending.current = false;
      setBusy(false);
    }
  };
  useEffect(() => {
    if (failure?.field !== undefined) focusField(form.current, failure.field);
  }, [failure]);
  const message = failure?.error instanceof Error ? failure.error.message : "";
  const errors = failure?.field === undefined ? {} : { [failure.field]: message };
  return (
    <FormErrors value={{ errors }}>
      <form ref={form} onSubmit={(event) => void submit(event)} noValidate className="grid gap-4">
        {children}
        {failure !== undefined && failure.field === undefined && (
          <ErrorCard what={`${action} failed`} error={failure.error} />
        )}
        <div className="flex flex-wrap justify-end gap-2">
          {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
          <Button
            type="submit"
            look={look ?? "primary"}
            isBusy={isBusy}
            disabledReason={disabledReason}
          >
            {action}
          </Button>
        </div>
      </form>
    </FormErrors>
  );
}

/** Returns the field that an error names, where the form has it: `tool_scope.tools[0]` marks `tool_scope`, too. */
function fieldOf(error: unknown, form: HTMLFormElement | null): string | undefined {
  if (!(error instanceof ApiError) || error.param === null || form === null) return undefined;
  let name = error.param;
  while (name !== "" && findField(form, name) === null)
    name = name.replace(/(?:^|[.[])[^.[]*$/, "");
  return name === "" ? undefined : name;
}

function findField(form: HTMLFormElement, name: string): HTMLElement | null {
  return form.querySelector(`[data-field="${CSS.escape(name)}"]`);
}

function focusField(form: HTMLFormElement | null, name: string): void {
  const field = form && findField(form, name);
  field
    ?.querySelector<HTMLElement>("input:not([aria-hidden=true]), textarea, button, [role=checkbox]")
    ?.focus();
}
